//! Scenarios whose schedules are explored: how a search is set up, and how a found schedule is run again.

use crate::exit::{Exit, Stop};
use crate::library::{Scenario, Violations};
use sim_core::config::Config;
use sim_core::explore::{Hunt, Limits, Refused, Replay, Size, Token, USUAL_SIZE, cut_to, size_of};
use sim_core::trace::Mode;
use sim_core::violation::Law;

/// A search of `config`, cut to `size` or to what the scenario says.
///
/// # Errors
/// If a load never ends even so.
pub fn hunt(
    scenario: &Scenario,
    config: Config,
    size: Option<Size>,
    limits: Limits,
    laws: &[Law],
    threads: Option<usize>,
) -> Result<Hunt, Stop> {
    let said = scenario.explore().and_then(|e| e.size);
    let endless = || size_of(&config).is_none().then_some(USUAL_SIZE);
    let config = match size.or(said).or_else(endless) {
        Some(size) => cut_to(&config, size),
        None => config,
    };
    if size_of(&config).is_none() {
        let text = "error: a load of this scenario never ends, so its schedules cannot be explored; give it `packets: N`";
        return Err(Stop::new(Exit::Usage, text));
    }
    Ok(Hunt {
        label: label(scenario.name(), &config),
        config,
        limits,
        laws: if laws.is_empty() {
            required(scenario)
        } else {
            laws.to_vec()
        },
        threads: threads.unwrap_or_else(cores),
    })
}

/// Laws that the scenario requires to be broken: what is looked for in it.
fn required(scenario: &Scenario) -> Vec<Law> {
    match &scenario.expect().violations {
        Violations::Require(laws) if scenario.explore().is_some() => laws.clone(),
        _ => Vec::new(),
    }
}

/// Runs the schedule `token` of `config` again.
///
/// # Errors
/// If it is not of this configuration; the text says why.
pub fn replay(
    scenario: &Scenario,
    config: Config,
    token: &Token,
    trace: Mode,
) -> Result<Replay, Stop> {
    let hunt = Hunt {
        label: label(scenario.name(), &config),
        config,
        limits: Limits::default(),
        laws: Vec::new(),
        threads: cores(),
    };
    hunt.replay(token, trace)
        .map_err(|why| refused(token, &why))
}

fn refused(token: &Token, why: &Refused) -> Stop {
    Stop::new(
        Exit::Invalid,
        format!("error: the schedule {token} is not run: {why}"),
    )
}

/// Scenario and variant, short enough to be pasted.
fn label(scenario: &str, config: &Config) -> String {
    let variant = config
        .hosts
        .first()
        .map_or("-", |h| h.kernel.lockless.name());
    let mut name: String = scenario.chars().take(20).collect();
    name.retain(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    format!("{name}/{variant}")
}

/// Threads that run at once here.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
