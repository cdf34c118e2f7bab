//! The `skbsim` binary: the library with no variants beyond the built-in ones.
//! A binary of your own registers its variants in the [`Registry`](cli::Registry) first.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main_with(cli::Registry::new())
}
