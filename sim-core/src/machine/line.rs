//! Cache lines: who holds them, what a move costs, how moves queue.
//!
//! MESI between cores: a read of a dirty line leaves it shared, a write takes it from all and
//! pays the farthest sharer. One transaction a line at a time, first come first served, each
//! occupying the line for its whole latency. The old owner still hits during the first part of a
//! transfer. Absent: cache capacity (a line, once held, stays until somebody takes it).

use super::cost::{Param, Profile};
use super::topology::{CoreSet, Distance, Topology};
use crate::engine::time::{Instant, Span};
use std::cell::Cell;

/// No core.
pub(super) const NOBODY: u16 = u16::MAX;
/// End of a list of contexts or waiting stores.
pub(super) const NONE: u32 = u32::MAX;

/// One cache line; on one of the host's own, for most of a run's memory is these.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Line {
    /// The core that holds it dirty, or [`NOBODY`].
    owner: Cell<u16>,
    /// The last core that lost it to a writer, and until when it still hits.
    prev: Cell<u16>,
    prev_until: Cell<Instant>,
    /// When the transaction in flight, if any, is over.
    pub busy: Cell<Instant>,
    /// Cores with a copy, the owner included.
    sharers: Cell<CoreSet>,
    /// Written by a device since any core read it.
    dma: Cell<bool>,
    /// First store that waits to become visible.
    pub pending: Cell<u32>,
    /// First context that watches the line.
    pub watcher: Cell<u32>,
}

impl Default for Line {
    fn default() -> Line {
        Line {
            owner: Cell::new(NOBODY),
            prev: Cell::new(NOBODY),
            prev_until: Cell::default(),
            busy: Cell::default(),
            sharers: Cell::default(),
            dma: Cell::new(false),
            pending: Cell::new(NONE),
            watcher: Cell::new(NONE),
        }
    }
}

impl Line {
    /// Whether `core` holds it dirty.
    #[inline(always)]
    pub fn owned_by(&self, core: u16) -> bool {
        self.owner.get() == core
    }
}

const _: () = assert!(size_of::<Line>() == 64);

/// How often a line moved between cores, and how often as a dirty copy.
#[derive(Debug, Default)]
pub(super) struct Moves {
    pub transfers: Cell<u64>,
    pub hitm: Cell<u64>,
}

impl Moves {
    /// Counts a move from `source`.
    #[inline(always)]
    pub fn count(&self, source: Source) {
        self.transfers
            .set(self.transfers.get() + u64::from(source != Source::Hit));
        self.hitm
            .set(self.hitm.get() + u64::from(matches!(source, Source::Dirty(_))));
    }
}

/// Where a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// It was there.
    Hit,
    /// Only the others' copies had to go.
    Upgrade,
    /// From another core's clean copy.
    Clean,
    /// From this core's dirty copy (HITM).
    Dirty(u16),
    /// From memory or the last-level cache.
    Memory,
}

/// The result of asking for a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    /// When the line is there.
    pub at: Instant,
    /// Where it came from.
    pub source: Source,
}

/// What moving lines costs on a machine.
#[derive(Debug)]
pub(super) struct Coherence {
    pub topology: Topology,
    transfer: [Span; 5],
    memory: Span,
    dma: Span,
    hold_permille: u64,
}

impl Coherence {
    pub fn new(profile: &Profile) -> Coherence {
        let span = |p| Span::from_ps(profile.get(p));
        Coherence {
            topology: Topology::new(&profile.topology),
            transfer: [
                Span::ZERO,
                span(Param::TransferCluster),
                span(Param::TransferDie),
                span(Param::TransferSocket),
                span(Param::TransferRemote),
            ],
            memory: span(Param::Memory),
            dma: span(Param::DmaLine),
            hold_permille: profile.get(Param::Hold),
        }
    }

    #[inline(always)]
    fn cost(&self, distance: Distance) -> Span {
        self.transfer[distance as usize]
    }

    /// `core` asks for a copy to read.
    #[inline(always)]
    pub fn read(&self, line: &Line, core: u16, now: Instant) -> Grant {
        if line.sharers.get().has(core) {
            return Grant {
                at: now,
                source: Source::Hit,
            };
        }
        self.read_miss(line, core, now)
    }

    fn read_miss(&self, line: &Line, core: u16, now: Instant) -> Grant {
        if line.prev.get() == core && now < line.prev_until.get() {
            return Grant {
                at: now,
                source: Source::Hit,
            };
        }
        let mut sharers = line.sharers.get();
        let owner = line.owner.get();
        let (latency, source) = if owner != NOBODY {
            (
                self.cost(self.topology.distance(core, owner)),
                Source::Dirty(owner),
            )
        } else if !sharers.is_empty() {
            (
                self.cost(self.topology.nearest(core, &sharers)),
                Source::Clean,
            )
        } else {
            (self.outside_latency(line), Source::Memory)
        };
        let at = now.max(line.busy.get()) + latency;
        line.busy.set(at);
        line.owner.set(NOBODY);
        sharers.insert(core);
        line.sharers.set(sharers);
        Grant { at, source }
    }

    /// `core` asks for the only copy, to write.
    #[inline(always)]
    pub fn own(&self, line: &Line, core: u16, now: Instant) -> Grant {
        if line.owned_by(core) {
            return Grant {
                at: now.max(line.busy.get()),
                source: Source::Hit,
            };
        }
        self.own_miss(line, core, now)
    }

    fn own_miss(&self, line: &Line, core: u16, now: Instant) -> Grant {
        let owner = line.owner.get();
        let (latency, source) = if owner != NOBODY {
            (
                self.cost(self.topology.distance(core, owner)),
                Source::Dirty(owner),
            )
        } else {
            self.own_clean(line, core)
        };
        let start = now.max(line.busy.get());
        let at = start + latency;
        line.busy.set(at);
        line.prev.set(owner);
        line.prev_until
            .set(start + Span::from_ps(latency.ps() * self.hold_permille / 1000));
        line.owner.set(core);
        line.sharers.set(CoreSet::only(core));
        Grant { at, source }
    }

    /// What it takes to own a line that nobody holds dirty.
    fn own_clean(&self, line: &Line, core: u16) -> (Span, Source) {
        let sharers = line.sharers.get();
        let others = sharers.without(core);
        match (sharers.has(core), others.is_empty()) {
            (true, true) => (Span::ZERO, Source::Hit),
            (true, false) => (
                self.cost(self.topology.farthest(core, &others)),
                Source::Upgrade,
            ),
            (false, false) => (
                self.cost(self.topology.farthest(core, &others)),
                Source::Clean,
            ),
            (false, true) => (self.outside_latency(line), Source::Memory),
        }
    }

    /// A device writes the line: every copy goes.
    pub fn dma_write(&self, line: &Line) {
        line.owner.set(NOBODY);
        line.prev.set(NOBODY);
        line.sharers.set(CoreSet::default());
        line.dma.set(true);
    }

    fn outside_latency(&self, line: &Line) -> Span {
        if line.dma.replace(false) {
            self.dma
        } else {
            self.memory
        }
    }
}
