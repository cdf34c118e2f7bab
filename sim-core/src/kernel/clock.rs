//! A coarse clock: clocksource and clockevent of a kernel whose clock has a visible grain.
//!
//! Follows `kernel/time/{hrtimer,clockevents}.c` of Linux 6.1 on user-mode Linux in time travel: the
//! clock reads in steps of `grain`; the clockevent is programmed relative to what was read, but fires
//! relative to the instant itself; and a timer that finds itself early is programmed again, by no less
//! than `min_delta`. On other machines timers are exact and there is no `Clock`.

use crate::config::ClockSource;
use crate::engine::time::{Instant, Span};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// State of a coarse clock.
#[derive(Debug)]
pub struct Clock {
    grain: u64,
    min_delta: u64,
    /// By how much the instant is ahead of what the clock reads. It changes when a timer fires.
    phase: Cell<u64>,
    /// The next interrupt of the clockevent, if a timer waits for it.
    next: Cell<Option<Instant>>,
    waiting: RefCell<BTreeSet<u32>>,
}

impl Clock {
    /// A clock as configured.
    pub fn new(source: ClockSource) -> Clock {
        Clock {
            grain: source.grain.max(1),
            min_delta: source.min_delta,
            phase: Cell::new(source.phase % source.grain.max(1)),
            next: Cell::default(),
            waiting: RefCell::default(),
        }
    }

    /// What the clock reads at `now`.
    pub fn read(&self, now: Instant) -> Instant {
        Instant::from_ps(now.ps() - now.ps() % self.grain)
    }

    /// The next event `timer` is no timer: it fires when it is due.
    pub fn at_once(&self, timer: u32) {
        self.waiting.borrow_mut().insert(timer);
    }

    /// The event `timer` is due now: `None` if it fires, or when it will. `busy` is when the code
    /// that runs lets interrupts in again.
    pub fn late(&self, timer: u32, now: Instant, busy: Option<Instant>) -> Option<Instant> {
        if self.waiting.borrow_mut().remove(&timer) {
            return self.fires(now);
        }
        let pending = self.next.get().filter(|&at| self.read(at) >= now);
        let at = pending.unwrap_or_else(|| {
            let mut at = busy
                .unwrap_or(now + Span::from_ps(self.phase.get()))
                .max(now);
            while self.read(at) < now {
                at = at + Span::from_ps(self.min_delta.max(1));
            }
            at
        });
        if at == now {
            return self.fires(now);
        }
        self.next.set(Some(at));
        self.waiting.borrow_mut().insert(timer);
        Some(at)
    }

    fn fires(&self, now: Instant) -> Option<Instant> {
        self.phase.set(now.ps() % self.grain);
        self.next.set(None);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(phase: u64) -> Clock {
        Clock::new(ClockSource {
            grain: 256,
            min_delta: 500,
            phase,
        })
    }

    /// Due at 1000: the clock reads 768 until 1024. Ahead by 24 or more it reads 1024 in time.
    #[test]
    fn a_timer_that_is_early_comes_back() {
        let at = Instant::from_ps;
        assert_eq!(clock(0).late(1, at(1000), None), Some(at(1500)));
        assert_eq!(clock(23).late(1, at(1000), None), Some(at(1523)));
        assert_eq!(clock(24).late(1, at(1000), None), Some(at(1024)));
        assert_eq!(clock(0).late(1, at(1024), None), None);
    }

    /// Code that runs is interrupted when it is done; the clock has moved on by then.
    #[test]
    fn running_code_delays_a_timer() {
        let at = Instant::from_ps;
        assert_eq!(clock(0).late(1, at(1000), Some(at(1024))), Some(at(1024)));
    }

    /// Firing leaves the phase behind; timers that are due meanwhile fire with the first.
    #[test]
    fn timers_share_an_interrupt() {
        let at = Instant::from_ps;
        let c = clock(0);
        assert_eq!(c.late(1, at(1000), None), Some(at(1500)));
        assert_eq!(c.late(2, at(1200), None), Some(at(1500)));
        assert_eq!(c.late(1, at(1500), None), None);
        assert_eq!(c.late(2, at(1500), None), None);
        assert_eq!(c.phase.get(), 1500 % 256);
    }
}
