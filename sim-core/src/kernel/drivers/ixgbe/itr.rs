//! Adaptive interrupt moderation: `ixgbe_update_itr` and `ixgbe_set_itr`.
//!
//! Follows Linux 3.19. Times are in units of a quarter of a microsecond, as the driver keeps them.

use crate::engine::time::Span;
use std::cell::Cell;

/// `IXGBE_100K_ITR`: 10 us.
const ITR_100K: u32 = 40;
/// `IXGBE_20K_ITR`: 50 us.
const ITR_20K: u32 = 200;
/// `IXGBE_8K_ITR`: 125 us.
const ITR_8K: u32 = 500;
/// `IXGBE_MAX_EITR`: bits of the register; its grain is 2 us.
const MAX_EITR: u32 = 0xff8;

/// Classes of traffic (`enum latency_range`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Latency {
    /// `lowest_latency`.
    #[default]
    Lowest,
    /// `low_latency`.
    Low,
    /// `bulk_latency`.
    Bulk,
}

/// `struct ixgbe_ring_container`: one direction of a vector.
#[derive(Debug, Default)]
pub struct Container {
    bytes: Cell<u64>,
    packets: Cell<u64>,
    class: Cell<Latency>,
}

impl Container {
    /// Counts what a poll took.
    pub fn add(&self, packets: u64, bytes: u64) {
        self.packets.set(self.packets.get() + packets);
        self.bytes.set(self.bytes.get() + bytes);
    }

    /// `ixgbe_update_itr`: bytes a microsecond since the last interrupt decide the class.
    fn update(&self, itr: u32) {
        let us = u64::from(itr >> 2);
        if self.packets.get() == 0 || us == 0 {
            return;
        }
        let rate = self.bytes.get() / us;
        self.class.set(match self.class.get() {
            Latency::Lowest if rate > 10 => Latency::Low,
            Latency::Low if rate > 20 => Latency::Bulk,
            Latency::Low if rate <= 10 => Latency::Lowest,
            Latency::Bulk if rate <= 20 => Latency::Low,
            same => same,
        });
        self.packets.set(0);
        self.bytes.set(0);
    }
}

/// Moderation of one vector.
#[derive(Debug)]
pub struct Itr {
    /// Transmit.
    pub tx: Container,
    /// Receive.
    pub rx: Container,
    /// `q_vector->itr`.
    itr: Cell<u32>,
    /// `rx_itr_setting` is 1: it adapts.
    adaptive: bool,
}

impl Itr {
    /// A vector that serves both directions starts at 20000 interrupts a second.
    pub fn new(adaptive: bool) -> Itr {
        Itr {
            tx: Container::default(),
            rx: Container::default(),
            itr: Cell::new(ITR_20K),
            adaptive,
        }
    }

    /// What EITR holds at first, for a vector that adapts.
    pub fn first() -> Span {
        gap(ITR_20K)
    }

    /// `ixgbe_set_itr`: the new time between interrupts, if EITR is to be written.
    pub fn set(&self) -> Option<Span> {
        if !self.adaptive {
            return None;
        }
        let old = self.itr.get();
        self.tx.update(old);
        self.rx.update(old);
        let target = match self.tx.class.get().max(self.rx.class.get()) {
            Latency::Lowest => ITR_100K,
            Latency::Low => ITR_20K,
            Latency::Bulk => ITR_8K,
        };
        if target == old {
            return None;
        }
        let new = smoothed(target, old);
        self.itr.set(new);
        Some(gap(new))
    }
}

/// A step towards `target`: nine parts of what is, one of what should be, of their rates.
fn smoothed(target: u32, old: u32) -> u32 {
    10 * target * old / (9 * target + old)
}

/// `ixgbe_write_eitr`.
fn gap(itr: u32) -> Span {
    Span::from_ps(u64::from(itr & MAX_EITR) * 250_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(from: u32, target: u32) -> Vec<u32> {
        std::iter::successors(Some(from), |&old| Some(smoothed(target, old)))
            .take(9)
            .collect()
    }

    /// By the formula of 3.19.
    #[test]
    fn smoothing() {
        assert_eq!(steps(40, 500), [40, 44, 48, 52, 57, 62, 67, 73, 79]);
        assert_eq!(steps(500, 40), [500, 232, 156, 120, 100, 86, 77, 70, 65]);
        assert_eq!(
            steps(200, 500),
            [200, 212, 224, 237, 250, 263, 276, 288, 300]
        );
    }

    #[test]
    fn classes_change_by_bytes_a_microsecond() {
        let class = |from, rate: u64| {
            let c = Container::default();
            c.class.set(from);
            c.add(1, rate * 50);
            c.update(ITR_20K);
            c.class.get()
        };
        use Latency::*;
        assert_eq!([class(Lowest, 10), class(Lowest, 11)], [Lowest, Low]);
        assert_eq!(
            [
                class(Low, 10),
                class(Low, 11),
                class(Low, 20),
                class(Low, 21)
            ],
            [Lowest, Low, Low, Bulk]
        );
        assert_eq!([class(Bulk, 20), class(Bulk, 21)], [Low, Bulk]);
    }

    /// Bulk traffic is a step a poll away from 20000 interrupts a second, and 8000 is where it ends.
    #[test]
    fn bulk_goes_towards_8000_interrupts() {
        let itr = Itr::new(true);
        let mut gaps = Vec::new();
        for _ in 0..60 {
            itr.tx.add(100, 150_000);
            gaps.extend(itr.set());
        }
        assert!(gaps.windows(2).skip(2).all(|w| w[0] <= w[1]), "{gaps:?}");
        let last = gaps.last().expect("it adapts").ps();
        assert!((120_000_000..=125_000_000).contains(&last), "{last}");
        assert!(Itr::new(false).set().is_none(), "fixed rx-usecs stay");
    }

    #[test]
    fn nothing_sent_changes_nothing() {
        let c = Container::default();
        c.class.set(Latency::Bulk);
        c.update(ITR_20K);
        assert_eq!(c.class.get(), Latency::Bulk);
    }
}
