//! Laws that a run broke.

use std::fmt;

/// Which law was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Law {
    /// A packet is queued at quiescence and nothing is due to send it.
    PacketStuck,
    /// A packet vanished without any counter saying so.
    PacketLost,
    /// Two packets of one flow and band left in another order than they were sent.
    Reordered,
    /// Contexts wait for each other and nothing else can happen.
    Deadlock,
    /// The CPUs go round in circles, and a packet stays queued (found in explored runs).
    Livelock,
    /// Counters that must add up do not.
    CounterMismatch,
    /// A lock is owned although nothing runs any more.
    LockHeld,
    /// A device was handed an offload that it cannot do for this frame.
    BadOffload,
    /// A redirected frame waits in a bulk queue and no poll is due to flush it.
    BulkNotFlushed,
    /// The device was not told of a descriptor, and nobody is due to tell it.
    DoorbellMissing,
}

impl Law {
    /// Every law, in the order of its definition.
    pub const ALL: [Law; 10] = [
        Law::PacketStuck,
        Law::PacketLost,
        Law::Reordered,
        Law::Deadlock,
        Law::Livelock,
        Law::CounterMismatch,
        Law::LockHeld,
        Law::BadOffload,
        Law::BulkNotFlushed,
        Law::DoorbellMissing,
    ];

    /// The name used in scenarios (`expect: (violations: Require([PacketStuck]))`).
    pub fn name(self) -> &'static str {
        match self {
            Law::PacketStuck => "PacketStuck",
            Law::PacketLost => "PacketLost",
            Law::Reordered => "Reordered",
            Law::Deadlock => "Deadlock",
            Law::Livelock => "Livelock",
            Law::CounterMismatch => "CounterMismatch",
            Law::LockHeld => "LockHeld",
            Law::BadOffload => "BadOffload",
            Law::BulkNotFlushed => "BulkNotFlushed",
            Law::DoorbellMissing => "DoorbellMissing",
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One broken law: what, where and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which law.
    pub law: Law,
    /// When the decisive step happened, in picoseconds (for a stuck packet: the failed trylock
    /// after which nobody looked again).
    pub time: u64,
    /// On which logical CPU, if on one.
    pub cpu: Option<u16>,
    /// In which kernel function.
    pub function: &'static str,
    /// What, in words, e.g. `skb 7 stays in qdisc d0:0 pfifo_fast (1 packet), nobody is due to send it`.
    pub what: String,
    /// The packet concerned, if one.
    pub skb: Option<u32>,
    /// For a stuck packet: whether one later packet gets it out.
    pub freed_by_next: Option<bool>,
}
