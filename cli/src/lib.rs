//! The command line of skbsim, as a library.
//!
//! [`main_with`] is the whole program. The `skbsim` binary calls it with an empty [`Registry`]; a
//! binary of your own registers its variants first, and then scenarios, tests and the viewer know
//! them by name.
//!
//! Inside, a command ([`cmd`]) loads a scenario ([`library`]), runs it once or as a [`batch`], and
//! hands the outcome to a [`report`]. Everything outside of the process (stdout, stderr, Ctrl-C,
//! the simulator itself) is behind a [`session::Session`], so that tests can put a fake there.

pub mod args;
pub mod batch;
pub mod cmd;
pub mod crash;
pub mod exit;
pub mod expect;
pub mod library;
pub mod published;
pub mod recording;
pub mod report;
pub mod schedule;
pub mod session;
pub mod sweep;
#[cfg(test)]
mod testing;
pub mod text;
pub mod value;

pub use library::Registry;

use args::{Cli, Command, When};
use clap::Parser;
use exit::{Exit, Stop};
use session::{Look, Session};
use std::io::{BufWriter, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

/// The program: reads the process's arguments, runs the command, gives its exit code.
///
/// `registry` holds variants from outside the tree; scenarios choose them by name like built-in ones.
pub fn main_with(registry: Registry) -> ExitCode {
    crash::install_hook();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error).into(),
    };
    let mut session = Session {
        out: Box::new(BufWriter::new(std::io::stdout())),
        err: Box::new(std::io::stderr()),
        look: look(&cli, &|name| {
            std::env::var_os(name).is_some_and(|v| !v.is_empty())
        }),
        registry: &registry,
        runner: &sim_core::world::run,
        interrupted: Arc::default(),
        catch_interrupts,
    };
    crash::guarded(|| main_in(&mut session, cli.command))
        .unwrap_or_else(|panic| {
            let line: Vec<String> = std::env::args().skip(1).map(|a| value::shell(&a)).collect();
            let _ = tell(
                &mut std::io::stderr(),
                crash::report(&panic, &format!("skbsim {}", line.join(" "))),
            );
            Exit::Internal
        })
        .into()
}

/// Runs one command in a session: what [`main_with`] does once the surroundings are known.
pub fn main_in(session: &mut Session<'_>, command: Command) -> Exit {
    let result = dispatch(session, command).and_then(|exit| {
        session.out.flush()?;
        Ok(exit)
    });
    match result {
        Ok(exit) => exit,
        Err(stop) => {
            // What was printed before the problem stays true; it must come out before the message.
            let flushed = session.out.flush().map_err(Stop::from);
            let exit = tell(&mut session.err, stop);
            match flushed {
                Err(Stop::Quiet(pipe)) => pipe,
                _ => exit,
            }
        }
    }
}

fn dispatch(session: &mut Session<'_>, command: Command) -> Result<Exit, Stop> {
    match command {
        Command::Run(args) => cmd::run::run(session, &args),
        Command::Repro(args) => cmd::repro::run(session, &args),
        Command::Explore(args) => cmd::explore::run(session, &args),
        Command::Check(args) => cmd::check::run(session, &args),
        Command::Layout(args) => cmd::layout::run(session, &args),
        Command::List(args) => cmd::list::run(session, &args),
        Command::View(args) => cmd::view::run(session, &args),
        Command::Test(args) => cmd::test::run(session, &args),
        #[cfg(feature = "calibrate")]
        Command::Calibrate(args) => cmd::repro::calibrate::run(session, &args),
    }
}

fn tell(err: &mut dyn Write, stop: Stop) -> Exit {
    match stop {
        Stop::Quiet(exit) => exit,
        Stop::Said(exit, text) => {
            // A closed stderr must not hide the exit code.
            let _ = writeln!(err, "{}", text.trim_end());
            exit
        }
    }
}

/// clap prints help on stdout and mistakes on stderr; only the exit code is ours.
fn usage(error: &clap::Error) -> Exit {
    let printed = error.print();
    match (printed, error.use_stderr()) {
        (Err(e), false) if e.kind() == std::io::ErrorKind::BrokenPipe => Exit::BrokenPipe,
        (_, true) => Exit::Usage,
        (_, false) => Exit::Ok,
    }
}

/// The look of the outputs by options, environment and terminal. `set` says whether a variable is set.
fn look(cli: &Cli, set: &dyn Fn(&str) -> bool) -> Look {
    let (out, err) = (
        std::io::stdout().is_terminal(),
        std::io::stderr().is_terminal(),
    );
    let color = |terminal: bool| match cli.color {
        When::Always => true,
        When::Never => false,
        When::Auto if set("NO_COLOR") => false,
        When::Auto if set("CLICOLOR_FORCE") => true,
        When::Auto => terminal && !set("CI"),
    };
    Look {
        color: color(out),
        err_color: color(err),
        progress: err && !cli.quiet && !set("CI"),
        terminal: out && std::io::stdin().is_terminal(),
        quiet: cli.quiet,
    }
}

/// From now on the first Ctrl-C lets a batch end at its next run, and the second ends the process at
/// once. Where handlers cannot be installed, Ctrl-C keeps its ordinary meaning.
fn catch_interrupts(interrupted: &Arc<AtomicBool>) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // In this order: the shutdown must look at the flag before this very signal sets it.
        let _ = signal_hook::flag::register_conditional_shutdown(
            signal_hook::consts::SIGINT,
            Exit::Interrupted as i32,
            Arc::clone(interrupted),
        );
        let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(interrupted));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn color(line: &str, variables: &[&str]) -> bool {
        let cli = Cli::parse_from(line.split_whitespace());
        look(&cli, &|name| variables.contains(&name)).color
    }

    /// An explicit option beats the environment; NO_COLOR beats CLICOLOR_FORCE.
    #[test]
    fn colour_policy() {
        assert!(color("skbsim list --color always", &["NO_COLOR"]));
        assert!(!color("skbsim list --color never", &["CLICOLOR_FORCE"]));
        assert!(!color("skbsim list", &["NO_COLOR", "CLICOLOR_FORCE"]));
        assert!(color("skbsim list", &["CLICOLOR_FORCE"]));
    }
}
