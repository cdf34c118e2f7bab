//! The subcommands, one a file.

pub mod check;
pub mod explore;
pub mod layout;
pub mod list;
pub mod repro;
pub mod run;
pub mod test;
pub mod view;
