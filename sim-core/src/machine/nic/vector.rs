//! An interrupt vector and its moderation.

use crate::engine::time::{Instant, Span};
use std::cell::Cell;

/// When a vector that has something to report may interrupt.
#[derive(Debug)]
pub enum Moderation {
    /// `after` the first event that was not reported, or at once when `frames` of them wait
    /// (`ethtool -C` usecs and frames).
    Delay {
        /// usecs.
        after: Span,
        /// frames.
        frames: u32,
    },
    /// Not sooner than this after the last interrupt (Intel's ITR). The driver may change it.
    Throttle(Cell<Span>),
}

/// One MSI-X vector.
#[derive(Debug)]
pub struct Vector {
    /// Logical CPU it interrupts.
    pub cpu: u16,
    /// Its moderation.
    pub moderation: Moderation,
    masked: Cell<bool>,
    unreported: Cell<u32>,
    first: Cell<Instant>,
    last: Cell<Option<Instant>>,
    armed: Cell<Option<Instant>>,
    /// Interrupts so far.
    pub interrupts: Cell<u64>,
}

impl Vector {
    /// A vector that interrupts `cpu`.
    pub fn new(cpu: u16, moderation: Moderation) -> Vector {
        Vector {
            cpu,
            moderation,
            masked: Cell::new(false),
            unreported: Cell::new(0),
            first: Cell::default(),
            last: Cell::new(None),
            armed: Cell::new(None),
            interrupts: Cell::new(0),
        }
    }

    /// Something of this vector happened or will have happened at `at`. Returns when to look at it
    /// with [`fire`](Vector::fire), if nothing is due sooner.
    pub fn note(&self, now: Instant, at: Instant) -> Option<Instant> {
        if self.unreported.get() == 0 || at < self.first.get() {
            self.first.set(at);
        }
        self.unreported.set(self.unreported.get() + 1);
        self.arm(now)
    }

    fn arm(&self, now: Instant) -> Option<Instant> {
        if self.masked.get() || self.unreported.get() == 0 {
            return None;
        }
        let due = match &self.moderation {
            Moderation::Delay { frames, .. } if self.unreported.get() >= *frames => {
                self.first.get()
            }
            Moderation::Delay { after, .. } => self.first.get() + *after,
            Moderation::Throttle(gap) => self.last.get().map_or(self.first.get(), |last| {
                self.first.get().max(last + gap.get())
            }),
        }
        .max(now);
        if self.armed.get().is_some_and(|armed| armed <= due) {
            return None;
        }
        self.armed.set(Some(due));
        Some(due)
    }

    /// The time that [`note`](Vector::note) or [`unmask`](Vector::unmask) gave has come: true if the
    /// vector interrupts now. It masks itself (auto-mask) until unmasked.
    pub fn fire(&self, now: Instant) -> bool {
        if self.armed.get().is_none_or(|due| due > now) {
            return false;
        }
        self.armed.set(None);
        if self.masked.get() || self.unreported.get() == 0 {
            return false;
        }
        self.masked.set(true);
        self.unreported.set(0);
        self.last.set(Some(now));
        self.interrupts.set(self.interrupts.get() + 1);
        true
    }

    /// The driver has seen all events there were.
    pub fn seen(&self) {
        self.unreported.set(0);
    }

    /// The driver's write that lets it interrupt again. Events while it was masked are not lost.
    pub fn unmask(&self, now: Instant) -> Option<Instant> {
        self.masked.set(false);
        self.arm(now)
    }

    /// Whether the driver has it masked.
    pub fn is_masked(&self) -> bool {
        self.masked.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Instant {
        Instant::from_ps(n * 1_000_000)
    }

    #[test]
    fn delay_counts_from_the_first_event() {
        let delay = Moderation::Delay {
            after: Span::from_ns(10_000),
            frames: 3,
        };
        let v = Vector::new(0, delay);
        assert_eq!(v.note(us(1), us(1)), Some(us(11)));
        assert_eq!(v.note(us(2), us(2)), None);
        assert_eq!(v.note(us(3), us(3)), Some(us(3)), "three frames wait");
        assert!(v.fire(us(3)));
        assert_eq!(v.note(us(4), us(4)), None, "masked");
        assert!(!v.fire(us(11)), "the timer is stale");
        assert_eq!(v.unmask(us(5)), Some(us(14)));
        assert!(v.fire(us(14)));
    }

    #[test]
    fn throttle_keeps_a_gap() {
        let v = Vector::new(0, Moderation::Throttle(Cell::new(Span::from_ns(50_000))));
        assert_eq!(v.note(us(1), us(1)), Some(us(1)));
        assert!(v.fire(us(1)));
        assert_eq!(v.unmask(us(2)), None, "nothing happened");
        assert_eq!(v.note(us(9), us(9)), Some(us(51)));
        assert!(v.fire(us(51)));
        assert_eq!(v.unmask(us(60)), None);
        v.note(us(200), us(200));
        assert!(v.fire(us(200)), "long idle: at once");
    }
}
