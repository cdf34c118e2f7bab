//! What a command talks to: where data and talk go, how things look, and who runs simulations.
//!
//! Everything a test wants to replace is in here, so commands take a session and touch no global.

use crate::exit::{Exit, Stop};
use crate::library::{Registry, Scenario};
use sim_core::config::Config;
use sim_core::world::{Options, Outcome};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs one configuration; [`sim_core::world::run`] outside of tests.
pub type Runner = dyn Fn(&Config, &Options) -> Outcome + Sync;

/// The surroundings of one command.
pub struct Session<'a> {
    /// stdout: data only.
    pub out: Box<dyn Write + 'a>,
    /// stderr: talk only.
    pub err: Box<dyn Write + 'a>,
    /// What the outputs look like.
    pub look: Look,
    /// Variants from outside the tree.
    pub registry: &'a Registry,
    /// Who runs simulations.
    pub runner: &'a Runner,
    /// Set when the user pressed Ctrl-C.
    pub interrupted: Arc<AtomicBool>,
    /// Makes Ctrl-C set [`Session::interrupted`]; called before a batch, since only a batch has
    /// something to keep.
    pub catch_interrupts: fn(&Arc<AtomicBool>),
}

/// What the outputs look like.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Colours on stdout.
    pub color: bool,
    /// Colours on stderr.
    pub err_color: bool,
    /// Draw progress on stderr.
    pub progress: bool,
    /// stdin and stdout are a terminal.
    pub terminal: bool,
    /// No notes on stderr.
    pub quiet: bool,
}

/// A colour by what it means.
#[derive(Clone, Copy, Debug)]
pub enum Tone {
    /// A finding or a failure.
    Bad,
    /// A success.
    Good,
}

impl Look {
    /// `text` in the colour of `tone`, if stdout takes colours.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Bad => "1;31",
            Tone::Good => "32",
        };
        if self.color {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

impl Session<'_> {
    /// Loads the scenario that the user named, or says all that is wrong with it.
    pub fn load(&mut self, file: &str, set: &[(String, String)]) -> Result<Scenario, Stop> {
        crate::library::load(self.registry, file, set).map_err(|problem| match problem {
            crate::library::Problem::Missing(text) => Stop::new(Exit::Invalid, text),
            crate::library::Problem::Rejected(rejected) => {
                Stop::new(Exit::Invalid, rejected.render(self.look.err_color))
            }
        })
    }

    /// A note on stderr, unless quiet.
    pub fn note(&mut self, text: &str) -> Result<(), Stop> {
        if !self.look.quiet {
            writeln!(self.err, "{text}")?;
        }
        Ok(())
    }

    /// Whether the user pressed Ctrl-C.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// The command line that makes one run again, as text to paste.
#[derive(Clone, Debug)]
pub struct Again {
    file: String,
    set: Vec<(String, String)>,
}

impl Again {
    /// For this file and these overrides, in the order they apply.
    pub fn new(file: &str, set: &[(String, String)]) -> Again {
        Again {
            file: file.to_owned(),
            set: set.to_vec(),
        }
    }

    /// With more overrides, for one point of a sweep.
    pub fn with(&self, more: &[(String, String)]) -> Again {
        Again {
            file: self.file.clone(),
            set: self.set.iter().chain(more).cloned().collect(),
        }
    }

    /// `skbsim run FILE --seed N [--set ...]`
    pub fn run(&self, seed: u64) -> String {
        format!(
            "skbsim run {} --seed {seed}{}",
            crate::value::shell(&self.file),
            self.sets()
        )
    }

    /// `skbsim view FILE --seed N --at TIME [--set ...]`
    pub fn view(&self, seed: u64, at: u64) -> String {
        let file = crate::value::shell(&self.file);
        format!(
            "skbsim view {file} --seed {seed} --at {}{}",
            crate::text::ns(at),
            self.sets()
        )
    }

    /// `skbsim explore FILE [--set ...]`
    pub fn explore(&self) -> String {
        format!(
            "skbsim explore {}{}",
            crate::value::shell(&self.file),
            self.sets()
        )
    }

    /// `skbsim run FILE [--set ...] --schedule TOKEN`
    pub fn run_schedule(&self, token: &str) -> String {
        self.with_schedule("run", token)
    }

    /// `skbsim view FILE [--set ...] --schedule TOKEN`
    pub fn view_schedule(&self, token: &str) -> String {
        self.with_schedule("view", token)
    }

    fn with_schedule(&self, command: &str, token: &str) -> String {
        format!(
            "skbsim {command} {}{} --schedule {}",
            crate::value::shell(&self.file),
            self.sets(),
            crate::value::shell(token)
        )
    }

    fn sets(&self) -> String {
        let one = |(path, value): &(String, String)| {
            format!(" --set {}", crate::value::shell(&format!("{path}={value}")))
        };
        self.set.iter().map(one).collect()
    }
}
