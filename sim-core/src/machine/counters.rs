//! What a CPU counts, as `perf stat` would.

use std::cell::Cell;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Counters of one logical CPU; they only grow.
        #[derive(Debug, Default)]
        pub struct Counters { $($(#[$doc])* pub $name: Cell<u64>),* }

        /// The counters at one instant.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Reading { $($(#[$doc])* pub $name: u64),* }

        impl Counters {
            /// The counters now.
            pub fn read(&self) -> Reading {
                Reading { $($name: self.$name.get()),* }
            }
        }

        impl Reading {
            /// What was counted since `earlier`.
            pub fn since(&self, earlier: &Reading) -> Reading {
                Reading { $($name: self.$name - earlier.$name),* }
            }
        }
    };
}

counters! {
    /// Picoseconds in process context.
    task,
    /// Picoseconds in softirq context.
    softirq,
    /// Picoseconds in hard interrupts.
    hardirq,
    /// Picoseconds idle.
    idle,
    /// Picoseconds spent spinning, part of the busy time.
    spin,
    /// Picoseconds stalled on line transfers outside spins, part of the busy time.
    stall,
    /// Picoseconds in user mode, part of the process context's.
    user,
    /// Instructions retired in kernel mode.
    instructions,
    /// Instructions retired in user mode.
    user_instructions,
    /// Misses in the core's own caches.
    llc_references,
    /// Of those, the ones no other core could serve.
    llc_misses,
    /// Lines taken dirty from another core.
    hitm,
    /// Mispredicted spin-loop exits.
    branch_misses,
    /// Task switches.
    context_switches,
    /// NET_TX softirqs run.
    net_tx,
    /// NET_RX softirqs run.
    net_rx,
    /// Times `__do_softirq` gave up and woke ksoftirqd.
    squeezed,
}

/// Adds to a counter.
#[inline(always)]
pub fn add(counter: &Cell<u64>, n: u64) {
    counter.set(counter.get() + n);
}
