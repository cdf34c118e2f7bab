//! From a finished run to what is visible. Pure: no terminal, no clock, no state of the screen.
//!
//! [`Trace`] reads the run once and keeps one [`Track`] a lane; everything else asks it.

pub mod build;
pub mod cells;
pub mod cost;
pub mod journey;
pub mod lanes;
pub mod links;
pub mod overview;
pub mod search;
pub mod tables;
pub mod time;
pub mod track;
pub mod words;

use cells::{Axis, EVENT_UNIT};
use sim_core::trace::{Kind, Names, Record, Source};
use std::cell::Cell;
use track::Track;

/// One call of a kernel function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The record that entered it.
    pub enter: u32,
    /// The record that left it; the number of records if none did.
    pub leave: u32,
    /// Index into the names of functions.
    pub function: u32,
    /// The CPU it was entered on.
    pub cpu: u16,
    /// How many calls of the same context are around it.
    pub depth: u16,
}

/// The lanes of one CPU.
#[derive(Clone, Debug, Default)]
pub struct CpuTracks {
    /// Its contexts, with findings as points. Values: a task, or the word spun on.
    pub contexts: Track,
    /// The innermost function. Values: a span.
    pub innermost: Track,
    /// One track for each depth of calls. Values: a span.
    pub depths: Vec<Track>,
}

/// The lanes of one lock and what is to be said of it in sum.
#[derive(Clone, Debug, Default)]
pub struct LockTracks {
    /// Who holds it. Values: a CPU.
    pub owner: Track,
    /// Who has waited longest, with failed trylocks as points. Values: a CPU.
    pub waiters: Track,
    /// Sums over the run.
    pub stats: LockStats,
}

/// Sums over one lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockStats {
    /// Times it was acquired.
    pub acquired: u64,
    /// Times somebody had to wait first.
    pub contended: u64,
    /// Failed trylocks.
    pub failed: u64,
    /// Nanoseconds waited in all.
    pub wait_total: u64,
    /// Longest wait in nanoseconds.
    pub wait_max: u64,
    /// Nanoseconds held in all.
    pub hold_total: u64,
    /// Longest hold in nanoseconds.
    pub hold_max: u64,
}

/// Sums over one cache line or one word on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineStats {
    /// Times it had to be fetched.
    pub transfers: u64,
    /// Of these, times the dirty copy of another core was taken.
    pub hitm: u64,
    /// Picoseconds that CPUs stalled for it.
    pub stall: u64,
    /// Plain loads.
    pub loads: u64,
    /// Plain and release stores.
    pub stores: u64,
    /// Atomic read-modify-writes.
    pub rmws: u64,
}

/// The lane of one cache line.
#[derive(Clone, Debug, Default)]
pub struct LineTracks {
    /// Which core had it last, with moves of dirty copies as points. Values: a core.
    pub owner: Track,
    /// Sums over the run.
    pub stats: LineStats,
}

/// The lane of one qdisc.
#[derive(Clone, Debug, Default)]
pub struct QdiscTracks {
    /// How many packets it holds. Values: the number; classes: the digit shown.
    pub len: Track,
    /// What one step of the digit stands for: a power of ten.
    pub per_digit: u32,
}

/// Something the run is to be blamed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The record at which to look.
    pub record: u32,
    /// The broken law, as an index into the violations; `None` for a dropped packet.
    pub violation: Option<u32>,
}

/// A finished run, read once.
pub struct Trace<'s> {
    source: &'s dyn Source,
    /// The run's names, made safe to draw.
    pub names: Names,
    /// When the run ended, in picoseconds; never before its last record.
    pub end: u64,
    /// Lanes of each CPU.
    pub cpus: Vec<CpuTracks>,
    /// Lanes of each lock.
    pub locks: Vec<LockTracks>,
    /// Lane of each qdisc.
    pub qdiscs: Vec<QdiscTracks>,
    /// State bits of each transmit queue, with transmissions and doorbells as points.
    pub txqs: Vec<Track>,
    /// Lane of each cache line.
    pub lines: Vec<LineTracks>,
    /// Sums over each word.
    pub words: Vec<LineStats>,
    /// Every call of a function, in order of entry.
    pub spans: Vec<Span>,
    /// Violations and drops, in order.
    pub findings: Vec<Finding>,
    /// The findings and failed trylocks of all CPUs.
    pub marks: Track,
    /// How busy the machine was.
    pub load: overview::Load,
    /// Lines that moved, those that moved most first.
    pub busiest_lines: Vec<u32>,
    /// Index entries looked at so far; the tests hold frames to a bound on it.
    pub touched: Cell<u64>,
}

impl<'s> Trace<'s> {
    /// Reads a run.
    pub fn new(source: &'s dyn Source) -> Trace<'s> {
        build::build(source)
    }

    /// The run itself.
    pub fn source(&self) -> &'s dyn Source {
        self.source
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.source.len()
    }

    /// Whether the run kept no record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A record; past the last one, an empty one at the end of the run.
    pub fn record(&self, i: usize) -> Record {
        match i < self.len() {
            true => self.source.get(i),
            false => Record {
                time: self.end,
                kind: Kind::Mark as u16,
                a: u32::MAX,
                ..Record::default()
            },
        }
    }

    /// When record `i` happened; the end of the run past the last one.
    pub fn time(&self, i: usize) -> u64 {
        match i < self.len() {
            true => self.source.get(i).time,
            false => self.end,
        }
    }

    /// Where record `i` stands on the axis.
    pub fn position(&self, axis: Axis, i: usize) -> u64 {
        match axis {
            Axis::Linear => self.time(i),
            Axis::Event => i as u64 * EVENT_UNIT,
        }
    }

    /// Length of the whole axis, at least 1.
    pub fn extent(&self, axis: Axis) -> u64 {
        self.position(axis, self.len()).max(1)
    }

    /// The first record at or after a position of the axis.
    pub fn record_at(&self, axis: Axis, position: u64) -> usize {
        match axis {
            Axis::Linear => first(self.len(), |i| self.source.get(i).time >= position),
            Axis::Event => (position.div_ceil(EVENT_UNIT) as usize).min(self.len()),
        }
    }

    /// The record nearest to a time.
    pub fn nearest(&self, time: u64) -> usize {
        let after = self
            .record_at(Axis::Linear, time)
            .min(self.len().saturating_sub(1));
        let before = after.saturating_sub(1);
        match time.abs_diff(self.time(before)) < time.abs_diff(self.time(after)) {
            true => before,
            false => after,
        }
    }

    /// The innermost function span that record `i` lies in, its own for an entry or a return.
    pub fn span_of(&self, i: usize) -> Option<u32> {
        let record = (i < self.len()).then(|| self.source.get(i))?;
        let cpu = self.cpus.get(usize::from(record.cpu))?;
        // A return belongs to the call that it ends, so look at the moment before it.
        let at = if record.kind() == Kind::FnLeave {
            i.saturating_sub(1)
        } else {
            i
        };
        let mine = |item: &&track::Item| {
            record.kind() != Kind::FnLeave || self.spans[item.value as usize].leave == i as u32
        };
        cpu.innermost
            .item_at(at as u32)
            .filter(mine)
            .map(|item| item.value)
            .or_else(|| self.span_left_at(cpu, i))
    }

    fn span_left_at(&self, cpu: &CpuTracks, i: usize) -> Option<u32> {
        let ended = |track: &Track| {
            let after = track
                .items()
                .partition_point(|item| (item.first as usize) < i);
            track.items()[..after].last().map(|item| item.value)
        };
        cpu.depths
            .iter()
            .filter_map(ended)
            .find(|&span| self.spans[span as usize].leave == i as u32)
    }
}

/// The first of `0..len` for which `holds`, which is false and then true.
fn first(len: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
