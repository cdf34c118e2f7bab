//! Which pair of accesses matters: how far each deviation can move before the run passes.

use super::usual::{Deviating, Deviation};
use super::{Job, Step};
use crate::engine::schedule::{AccessKind, Agent};
use crate::machine::explored::NO_WORD;
use crate::violation::Law;

/// Two accesses of one word whose order decides: the run breaks the law only if `first` comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// Place of the access that comes first, in the steps of the run.
    pub first: usize,
    /// Place of the one that comes second.
    pub second: usize,
}

/// How far a deviation is moved at most.
const FARTHEST: u32 = 60;

/// The pairs that matter in the run of `deviations`, whose steps are `log`, that breaks `law`.
pub(super) fn races(job: &Job<'_>, deviations: &[Deviation], law: Law, log: &[Step]) -> Vec<Race> {
    let mut found: Vec<Race> = Vec::new();
    for i in 0..deviations.len() {
        for later in [true, false] {
            if let Some(race) = edge(job, deviations, i, law, later, log)
                && !found.contains(&race)
            {
                found.push(race);
            }
        }
    }
    found.sort_by_key(|r| (r.first, r.second));
    found
}

/// Moves deviation `i` until the run passes; the pair whose order changed then, in terms of `log`.
fn edge(
    job: &Job<'_>,
    deviations: &[Deviation],
    i: usize,
    law: Law,
    later: bool,
    log: &[Step],
) -> Option<Race> {
    let mut moved = deviations.to_vec();
    let mut fails = log.to_vec();
    // A store that is held: whoever runs into it would have to come earlier.
    let step = |s: &&Step| s.at == moved[i].step;
    if !later
        && log
            .iter()
            .find(step)
            .is_some_and(|s| Some(s.agent) == holder(log, moved[i]))
    {
        let after = log.iter().filter(|s| s.at > moved[i].step);
        let mut others = after.filter_map(|s| s.agent.cpu());
        let other = others.find(|c| Some(*c) != moved[i].agent.cpu())?;
        moved[i].agent = Agent::Cpu(other);
    }
    let mut turned = moved[i].agent != deviations[i].agent;
    for _ in 0..FARTHEST {
        let step = moved[i].step;
        moved[i].step = match later {
            true => step + 1,
            // First somebody else at the same step.
            false if std::mem::take(&mut turned) => step,
            false => step.checked_sub(1)?,
        };
        let inside = |a: usize, b: usize| {
            moved
                .get(a)
                .zip(moved.get(b))
                .is_none_or(|(a, b)| a.step < b.step)
        };
        if !inside(i, i + 1) || i > 0 && !inside(i - 1, i) {
            return None;
        }
        let mut schedule = Deviating::new(&moved);
        let run = job.run_logged(&mut schedule);
        if schedule.missed().is_some() {
            return None;
        }
        if run.violations.iter().any(|v| v.law == law) {
            fails = run.log;
            continue;
        }
        return changed(&fails, &run.log).and_then(|(a, b)| locate(log, &a, &b));
    }
    None
}

/// Whose store a deviation holds by going on.
fn holder(log: &[Step], d: Deviation) -> Option<Agent> {
    let held = log.iter().rev().filter(|s| s.at < d.step);
    let last = held.take_while(|s| s.agent == d.agent).next()?;
    last.held.then_some(d.agent)
}

/// An access, by whom it was and how often they had done the like before.
type Event = (Step, usize);

fn same(a: &Step, b: &Step) -> bool {
    (a.agent.cpu(), a.word, a.kind, a.function) == (b.agent.cpu(), b.word, b.kind, b.function)
}

fn conflict(a: &Step, b: &Step) -> bool {
    let reads = |s: &Step| s.kind == AccessKind::Read || s.held;
    a.word != NO_WORD
        && a.word == b.word
        && a.agent.cpu() != b.agent.cpu()
        && !(reads(a) && reads(b))
        && !a.held
        && !b.held
}

fn name(log: &[Step], at: usize) -> Event {
    let before = log[..at].iter().filter(|s| same(s, &log[at])).count();
    (log[at], before)
}

fn place(log: &[Step], event: &Event) -> Option<usize> {
    let mut alike = log.iter().enumerate().filter(|(_, s)| same(s, &event.0));
    alike.nth(event.1).map(|(at, _)| at)
}

/// The first conflicting pair of `fails` that is the other way round in `passes`.
fn changed(fails: &[Step], passes: &[Step]) -> Option<(Event, Event)> {
    let differ = fails.iter().zip(passes).position(|(a, b)| a != b)?;
    for second in differ..fails.len() {
        for first in differ..second {
            if !conflict(&fails[first], &fails[second]) {
                continue;
            }
            let (a, b) = (name(fails, first), name(fails, second));
            if let (Some(pa), Some(pb)) = (place(passes, &a), place(passes, &b))
                && pb < pa
            {
                return Some((a, b));
            }
        }
    }
    None
}

fn locate(log: &[Step], a: &Event, b: &Event) -> Option<Race> {
    let (first, second) = (place(log, a)?, place(log, b)?);
    (first < second).then_some(Race { first, second })
}
