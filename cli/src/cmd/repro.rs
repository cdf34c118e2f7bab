//! `skbsim repro`: published numbers, simulated.

mod claims;
mod lockless;

use crate::args::{Format, Repro};
use crate::exit::{Exit, Stop};
use crate::library::distance;
use crate::report::repro as report;
use crate::session::Session;
use std::io::Write;

/// A publication whose numbers can be simulated.
pub struct Experiment {
    /// Name on the command line.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    run: fn(&mut Session<'_>, &Repro) -> Result<report::Results, Stop>,
}

/// Every experiment there is so far.
pub const EXPERIMENTS: &[Experiment] = &[Experiment {
    name: "lockless",
    about: "S3: packet stuck in lockless qdiscs (2021): pktgen through pfifo_fast, 1 to 16 threads, six kernels",
    run: lockless::run,
}];

/// Experiments that have a name but are not there yet.
const PLANNED: [&str; 4] = ["lltx", "xdp-redirect", "vlan", "doorbell"];

/// Runs the command.
pub fn run(session: &mut Session<'_>, args: &Repro) -> Result<Exit, Stop> {
    let chosen: Vec<&Experiment> = match &args.name {
        None => EXPERIMENTS.iter().collect(),
        Some(name) => vec![
            EXPERIMENTS
                .iter()
                .find(|e| e.name == name)
                .ok_or_else(|| unknown(name))?,
        ],
    };
    if args.seeds.as_ref().is_some_and(|range| range.is_empty()) {
        return Err(Stop::new(
            Exit::Nothing,
            "nothing to do: the range of seeds is empty (ranges are half-open)",
        ));
    }
    let mut results = Vec::new();
    for experiment in chosen {
        results.push((experiment.run)(session, args)?);
    }
    let text = match args.format {
        Format::Json => report::json(&results),
        Format::Text => results
            .iter()
            .map(report::text)
            .collect::<Vec<_>>()
            .join("\n"),
    };
    write!(session.out, "{text}")?;
    if let Some(r) = results.iter().find(|r| r.finished < r.asked) {
        session.out.flush()?;
        let text = format!("interrupted: {} of {} runs finished", r.finished, r.asked);
        return Err(Stop::new(Exit::Interrupted, text));
    }
    Ok(if results.iter().all(report::Results::holds) {
        Exit::Ok
    } else {
        Exit::Failed
    })
}

fn unknown(name: &str) -> Stop {
    let there: Vec<&str> = EXPERIMENTS.iter().map(|e| e.name).collect();
    let near = there.iter().find(|known| distance(known, name) <= 2);
    let what = match near {
        Some(near) => format!("there is no experiment `{name}`; did you mean `{near}`?"),
        None if PLANNED.contains(&name) => format!("the experiment `{name}` is not there yet"),
        None => format!("there is no experiment `{name}`"),
    };
    Stop::new(
        Exit::Usage,
        format!("error: {what}\n  there are: {}", there.join(", ")),
    )
}
