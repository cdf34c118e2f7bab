//! The wire: a frame after the other at line rate.

use crate::engine::time::{Instant, Span};
use std::cell::Cell;

/// Preamble with SFD 8, FCS 4, inter-frame gap 12 bytes (IEEE 802.3).
pub const ETHERNET_OVERHEAD: u32 = 24;
/// Least frame without FCS.
pub const ETH_ZLEN: u32 = 60;

/// One direction of a link.
#[derive(Debug)]
pub struct Wire {
    rate: u64,
    overhead: u32,
    min: u32,
    free: Cell<Instant>,
}

impl Wire {
    /// A wire of `rate` bits a second on which each frame of at least `min` bytes costs `overhead` more.
    ///
    /// # Panics
    /// If `rate` is 0.
    pub fn new(rate: u64, overhead: u32, min: u32) -> Wire {
        assert!(rate > 0, "a wire has a rate");
        Wire {
            rate,
            overhead,
            min,
            free: Cell::default(),
        }
    }

    /// How long a frame of `len` bytes (without FCS) occupies it, rounded down to a picosecond.
    pub fn time(&self, len: u32) -> Span {
        let bits = u64::from(len.max(self.min) + self.overhead) * 8;
        Span::from_ps((u128::from(bits) * 1_000_000_000_000 / u128::from(self.rate)) as u64)
    }

    /// Sends a frame that is ready at `ready`; when its last bit has left.
    pub fn send(&self, ready: Instant, len: u32) -> Instant {
        let end = self.free.get().max(ready) + self.time(len);
        self.free.set(end);
        end
    }
}
