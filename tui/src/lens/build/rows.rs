//! Rows that are put together from more than one record each.

use crate::lens::track::{Class, Steps, Track};
use crate::lens::{LineStats, LineTracks, QdiscTracks, first};
use sim_core::trace::{Kind, NO_CPU, Source};

/// The record at which each violation happened: of those at its time, a failed trylock on its CPU if there
/// is one, else any on its CPU.
pub(super) fn decisive_records(source: &dyn Source) -> Vec<(u32, u32)> {
    let find = |(n, violation): (usize, &sim_core::violation::Violation)| {
        let from = first(source.len(), |i| source.get(i).time >= violation.time);
        let same = (from..source.len()).take_while(|&i| source.get(i).time == violation.time);
        let here = |i: &usize| violation.cpu.is_none_or(|cpu| source.get(*i).cpu == cpu);
        let mut candidates = same.filter(here).take(1_000).peekable();
        let first = candidates.peek().copied();
        let best = candidates
            .find(|&i| source.get(i).kind() == Kind::TrylockFail)
            .or(first);
        let record = best.unwrap_or(from).min(source.len().checked_sub(1)?);
        Some((record as u32, n as u32))
    };
    source
        .violations()
        .iter()
        .enumerate()
        .filter_map(find)
        .collect()
}

/// The call that a row of functions shows from record `i` on.
pub(super) fn set_span(track: &mut Steps, i: u32, span: Option<u32>) {
    match span {
        Some(span) => track.set(i, Class::TASK, span),
        None => track.set(i, Class::NONE, u32::MAX),
    }
}

/// A line that nobody touched has an empty lane.
pub(super) fn finish_line(line: Option<(Steps, LineStats)>, records: u32) -> LineTracks {
    match line {
        Some((owner, stats)) => LineTracks {
            owner: owner.finish(records),
            stats,
        },
        None => LineTracks::default(),
    }
}

/// Turns waits that overlap into one row: the CPU that has waited longest, and failed trylocks as points.
pub(super) fn waiters(waits: &[(u32, u32, u16)], failed: &[(u32, u16)], records: u32) -> Track {
    let begins = waits.iter().map(|&(began, _, cpu)| (began, 1, cpu));
    let ends = waits.iter().map(|&(_, ended, cpu)| (ended, 0, cpu));
    let fails = failed.iter().map(|&(at, cpu)| (at, 2, cpu));
    let mut changes: Vec<(u32, u8, u16)> = begins
        .chain(ends)
        .chain(fails)
        .filter(|&(at, ..)| at < records)
        .collect();
    changes.sort_unstable();
    let mut steps = Steps::new(Class::NONE);
    let mut queue: Vec<u16> = Vec::new();
    for (at, change, cpu) in changes {
        match change {
            0 => queue.retain(|&waiting| waiting != cpu),
            1 => queue.push(cpu),
            _ => steps.point(at, Class::TRYLOCK, u32::from(cpu)),
        }
        match queue.first() {
            Some(&cpu) => steps.set(at, Class::SPIN, u32::from(cpu)),
            None => steps.set(at, Class::NONE, u32::from(NO_CPU)),
        }
    }
    steps.finish(records)
}

/// Chooses the scale once for the whole run, rounding up, so that a waiting packet is never shown as 0.
pub(super) fn qdisc(lengths: &[(u32, u32)], records: u32) -> QdiscTracks {
    let max = lengths.iter().map(|&(_, len)| len).max().unwrap_or(0);
    let mut per_digit = 1u32;
    while max.div_ceil(per_digit) > 9 {
        per_digit *= 10;
    }
    let mut steps = Steps::new(Class::digit(0));
    for &(at, len) in lengths {
        steps.set(at, Class::digit(len.div_ceil(per_digit)), len);
    }
    QdiscTracks {
        len: steps.finish(records),
        per_digit,
    }
}
