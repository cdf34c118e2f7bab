//! The command line: what can be written, and the one-screen help with examples.

use crate::value;
use clap::{Args, Parser, Subcommand, ValueEnum};
use sim_core::explore::Token;
use std::ops::Range;
use std::path::PathBuf;

/// A deterministic simulator of the Linux network stack.
#[derive(Debug, Parser)]
#[command(
    name = "skbsim",
    version,
    about,
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
#[command(after_help = "\
Examples:
  skbsim list                                    what there is
  skbsim run lockless-stuck --seeds 0..1000      search seeds for stuck packets
  skbsim run my.ron --seed 7 --set kernel.lockless=v5
  skbsim view my.ron --seed 7 --at 1234.5ns      look at the moment
  skbsim repro lockless                          published numbers, simulated
  skbsim explore lockless-qdisc                  search the order that loses a packet
  skbsim test scenarios/library --junit out.xml

Exit: 0 ok, 1 expectation failed, 2 usage, 3 invalid scenario, 4 nothing to do, 5 violation found,
      6 limit hit, 8 unreadable recording, 70 internal error, 130 interrupted")]
pub struct Cli {
    /// Colours: auto asks the terminal, NO_COLOR and CLICOLOR_FORCE
    #[arg(long, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    pub color: When,
    /// No progress and no notes on stderr
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One document with a schema name.
    Json,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate a scenario: one seed in detail, or many in parallel
    Run(Run),
    /// Reproduce published numbers: printed, simulated, error, fitted or predicted
    Repro(Repro),
    /// Search for an order of steps that breaks a law, or show that there is none
    Explore(Explore),
    /// Show all errors of scenario files
    Check(Check),
    /// Show scenarios, machine profiles, variants and experiments
    List(List),
    /// Show which fields of a struct share a cache line
    Layout(Layout),
    /// Look into a run, or into a file that `run --trace` wrote
    View(View),
    /// Run scenarios with expectations, saved regressions first
    Test(Test),
    /// Fit the values that a machine profile marks as fitted, to the rows they name
    #[cfg(feature = "calibrate")]
    Calibrate(Calibrate),
}

/// Which scenario, and what to change in it.
#[derive(Clone, Debug, Args)]
pub struct Input {
    /// Scenario file, or the name of a built-in scenario (`skbsim list`)
    pub file: String,
    /// Override any field of the scenario (repeatable)
    #[arg(long = "set", value_name = "PATH=RON", value_parser = value::set)]
    pub set: Vec<(String, String)>,
}

/// `skbsim run`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skbsim run two-senders.ron --seed 42
  skbsim run two-senders.ron --seeds 0..1000 -j 4
  skbsim run two-senders.ron --seed 42 --set kernel.lockless=v5 --trace out.skbtrace
  skbsim run two-senders.ron --effective")]
pub struct Run {
    /// Which scenario.
    #[command(flatten)]
    pub input: Input,
    /// Run this seed [default: 0]
    #[arg(long, value_name = "N", value_parser = value::seed, conflicts_with = "seeds")]
    pub seed: Option<u64>,
    /// Run these seeds, half-open: 0..64 is 64 seeds
    #[arg(long, value_name = "A..B", value_parser = value::seeds)]
    pub seeds: Option<Range<u64>>,
    /// Threads [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = value::jobs)]
    pub jobs: Option<usize>,
    /// Run this schedule, as `skbsim explore` printed it
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["seed", "seeds"])]
    pub schedule: Option<Token>,
    /// Write a recording of the run for `skbsim view`
    #[arg(long, value_name = "OUT", conflicts_with = "seeds")]
    pub trace: Option<PathBuf>,
    /// Most memory for the recording
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = value::size)]
    pub memory: usize,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Print the scenario with all its defaults, and do not run it
    #[arg(long)]
    pub effective: bool,
    /// Print all violating seeds in full, all locks and all lines
    #[arg(short, long)]
    pub verbose: bool,
}

/// `skbsim explore`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skbsim explore lockless-qdisc --set kernel.lockless=v0
  skbsim explore my.ron --size 2x1 --bound 2 --set machine.memory=tso
  skbsim explore my.ron --save lost-skb          keeps a finding for `skbsim test`

Costs play no part: every order of accesses is possible, and those with the fewest oddities are tried first.
Exit: 5 a law is broken, 0 none within the bound, 6 a limit was hit before")]
pub struct Explore {
    /// Which scenario.
    #[command(flatten)]
    pub input: Input,
    /// CPUs that send x packets of each [default: the scenario's, or 2x2 if it never ends]
    #[arg(long, value_name = "CxP")]
    pub size: Option<sim_core::explore::Size>,
    /// Try all schedules with so many preemptions [default: the scenario's, or 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=8))]
    pub bound: Option<u32>,
    /// Before that, all with so many deviations from the usual one [default: the scenario's, or 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=4))]
    pub deviations: Option<u32>,
    /// PCT schedules
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub pct: u64,
    /// Random walks at the end
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub walks: u64,
    /// Stop after so many schedules
    #[arg(long, value_name = "N", default_value_t = 5_000_000)]
    pub runs: u64,
    /// Seed of PCT and walks
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value::seed)]
    pub seed: u64,
    /// Look only for these laws (repeatable) [default: what the scenario requires, or all]
    #[arg(long = "law", value_name = "LAW", value_parser = value::law)]
    pub laws: Vec<sim_core::violation::Law>,
    /// Go on after a finding: every different one within --deviations
    #[arg(long)]
    pub all: bool,
    /// Keep a finding as regressions/NAME.ron beside the scenario
    #[arg(long, value_name = "NAME")]
    pub save: Option<String>,
    /// Threads [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = value::jobs)]
    pub jobs: Option<usize>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// All steps in the table, also those that only one CPU can see
    #[arg(short, long)]
    pub verbose: bool,
}

/// `skbsim layout`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skbsim layout net_device.txt       what `pahole -C net_device vmlinux` printed
  skbsim layout vmlinux.txt --struct Qdisc
  skbsim layout patched              a built-in layout: 6.1, 6.18, before, patched, watchdog_moved")]
pub struct Layout {
    /// Output of pahole, or the name of a built-in layout
    pub file: String,
    /// Which struct [default: the first; net_device of a built-in layout]
    #[arg(long = "struct", value_name = "NAME")]
    pub name: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// `skbsim repro`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skbsim repro                       the experiments there are, and run them
  skbsim repro lockless --seeds 0..3
  skbsim repro lockless --format json > lockless.json

Exit: 1 if a judged number is out of its band or a claim does not hold")]
pub struct Repro {
    /// Which experiment [default: all]
    pub name: Option<String>,
    /// Seeds of each configuration [default: the scenario's `measure: (seeds: N)`]
    #[arg(long, value_name = "A..B", value_parser = value::seeds)]
    pub seeds: Option<Range<u64>>,
    /// Threads [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = value::jobs)]
    pub jobs: Option<usize>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// `skbsim calibrate`
#[cfg(feature = "calibrate")]
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skbsim calibrate lockless -o fitted           writes fitted/kunpeng-920.ron
  skbsim calibrate lockless --row S3.table.vanilla.t1 --steps 20

Only values with `fitted` move, inside their `range`, and only the rows they name are looked at")]
pub struct Calibrate {
    /// Which experiment
    pub name: String,
    /// Only values that name this row (repeatable) [default: all]
    #[arg(long = "row", value_name = "ID")]
    pub rows: Vec<String>,
    /// Seeds of each configuration [default: the scenario's `measure: (seeds: N)`]
    #[arg(long, value_name = "A..B", value_parser = value::seeds)]
    pub seeds: Option<Range<u64>>,
    /// Steps of the optimiser, each one evaluation or a few
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub steps: u64,
    /// Threads [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = value::jobs)]
    pub jobs: Option<usize>,
    /// Folder for the profiles with the new values
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// Overwrite profiles that are there
    #[arg(long)]
    pub force: bool,
}

/// `skbsim check`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skbsim check scenarios/*.ron
  skbsim check my.ron --message-format json      one JSON object a line, for editors")]
pub struct Check {
    /// Scenario files, or names of built-in scenarios
    #[arg(required = true)]
    pub files: Vec<String>,
    /// Override any field of the scenarios (repeatable)
    #[arg(long = "set", value_name = "PATH=RON", value_parser = value::set)]
    pub set: Vec<(String, String)>,
    /// How to print problems
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub message_format: Format,
}

/// `skbsim list`
#[derive(Debug, Args)]
pub struct List {
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// `skbsim view`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skbsim view lockless-stuck --seed 131 --at 1234.5ns
  skbsim view out.skbtrace
  skbsim view my.ron > screen.txt                without a terminal: one screen of 120x40 as text")]
pub struct View {
    /// Scenario file, name of a built-in scenario, or a recording
    #[command(flatten)]
    pub input: Input,
    /// Run this seed [default: 0]
    #[arg(long, value_name = "N", value_parser = value::seed)]
    pub seed: Option<u64>,
    /// Show this schedule, as `skbsim explore` printed it; a step counts as 1ns
    #[arg(long, value_name = "TOKEN", conflicts_with = "seed")]
    pub schedule: Option<Token>,
    /// Open at this time, for example 1234.5ns or 12.3us
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub at: Option<u64>,
    /// Most memory for the recording
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = value::size)]
    pub memory: usize,
    /// Only ASCII characters
    #[arg(long)]
    pub ascii: bool,
}

/// `skbsim test`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skbsim test                                    every scenario under this directory
  skbsim test tests/two-senders.ron --seeds 0..500
  skbsim test scenarios/library --junit out.xml

Files in a `regressions` folder, beside a scenario or below a directory, run first.")]
pub struct Test {
    /// Scenario files, or directories to search [default: .]
    pub paths: Vec<PathBuf>,
    /// Seeds of each scenario [default: the scenario's `measure: (seeds: N)`, or seed 0]
    #[arg(long, value_name = "A..B", value_parser = value::seeds)]
    pub seeds: Option<Range<u64>>,
    /// Override any field of the scenarios (repeatable)
    #[arg(long = "set", value_name = "PATH=RON", value_parser = value::set)]
    pub set: Vec<(String, String)>,
    /// Threads [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = value::jobs)]
    pub jobs: Option<usize>,
    /// Also write a JUnit report
    #[arg(long, value_name = "OUT")]
    pub junit: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Cli, String> {
        Cli::try_parse_from(line.split_whitespace()).map_err(|e| e.to_string())
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn run_takes_seeds_and_overrides() {
        let cli =
            parse("skbsim run a.ron --seeds 0..64 -j 2 --set x=1 --set y.z=v5").expect("valid");
        let Command::Run(run) = cli.command else {
            panic!("run")
        };
        assert_eq!(run.seeds, Some(0..64));
        assert_eq!(run.jobs, Some(2));
        assert_eq!(
            run.input.set,
            [("x".into(), "1".into()), ("y.z".into(), "v5".into())]
        );
    }

    #[test]
    fn seed_and_seeds_exclude_each_other() {
        assert!(parse("skbsim run a.ron --seed 1 --seeds 0..4").is_err());
        assert!(parse("skbsim run a.ron --trace t --seeds 0..4").is_err());
    }

    /// A refused value names the one to write; a mistyped command or flag is answered with the nearest.
    #[test]
    fn refusals_help() {
        let error = parse("skbsim run a.ron --seeds 0-63").expect_err("not half-open");
        assert!(error.contains("0..64"), "{error}");
        let error = parse("skbsim rum a.ron").expect_err("no such command");
        assert!(error.contains("'run'"), "{error}");
        let error = parse("skbsim run a.ron --sed 4").expect_err("no such flag");
        assert!(error.contains("--seed"), "{error}");
    }

    /// Help is a screen, not a book.
    #[test]
    fn help_fits_a_screen() {
        for name in ["run", "repro", "check", "list", "view", "test"] {
            let mut top = Cli::command();
            let command = top.find_subcommand_mut(name).expect(name);
            assert!(
                command.render_help().to_string().lines().count() <= 40,
                "{name}"
            );
        }
        #[cfg(feature = "calibrate")]
        {
            let mut top = Cli::command();
            let command = top.find_subcommand_mut("calibrate").expect("calibrate");
            assert!(command.render_help().to_string().lines().count() <= 40);
        }
        assert!(Cli::command().render_help().to_string().lines().count() <= 40);
    }
}
