//! A receive ring.

use crate::engine::time::{Instant, Span};
use crate::frame::Frame;
use crate::machine::memory::LineId;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Frames that a traffic generator puts on the wire, all alike but for their number.
#[derive(Clone, Copy, Debug)]
pub struct Flood {
    /// The frame; its number counts up.
    pub frame: Frame,
    /// Interval between arrivals, or zero for a ring that is never empty.
    pub every: Span,
    /// How many come.
    pub frames: u64,
    /// When the first comes.
    pub start: Instant,
}

/// A receive ring: frames wait here until the driver takes them. Buffers are given back at once or in
/// batches by the driver.
#[derive(Debug)]
pub struct RxRing {
    ring: u32,
    lines: LineId,
    per_line: u32,
    next: Cell<u64>,
    /// Descriptors the driver took and did not give back yet.
    withheld: Cell<u32>,
    frames: RefCell<VecDeque<(Frame, Instant)>>,
    flood: Cell<Option<Flood>>,
    flood_taken: Cell<u64>,
    /// Frames lost because the ring was full (`rx_missed_errors`).
    pub missed: Cell<u64>,
    flood_missed: Cell<u64>,
}

impl RxRing {
    /// A ring of `ring` descriptors, `per_line` of them on each line from `lines`.
    pub fn new(ring: u32, lines: LineId, per_line: u32) -> RxRing {
        RxRing {
            ring,
            lines,
            per_line,
            next: Cell::new(0),
            withheld: Cell::new(0),
            frames: RefCell::default(),
            flood: Cell::new(None),
            flood_taken: Cell::new(0),
            missed: Cell::new(0),
            flood_missed: Cell::new(0),
        }
    }

    /// Number of the descriptor that the driver looks at next, counted from the start of the run.
    pub fn next(&self) -> u64 {
        self.next.get()
    }
    /// Descriptors of the ring.
    pub fn size(&self) -> u32 {
        self.ring
    }
    /// Descriptors that share a line.
    pub fn per_line(&self) -> u32 {
        self.per_line
    }
    /// The line of descriptor `n`.
    pub fn line(&self, n: u64) -> LineId {
        self.lines
            .nth((n % u64::from(self.ring)) as u32 / self.per_line)
    }

    /// What arrives from a traffic generator.
    pub fn set_flood(&self, flood: Flood) {
        self.flood.set(Some(flood));
    }

    fn room(&self) -> u64 {
        u64::from(self.ring.saturating_sub(self.withheld.get()))
    }

    /// A frame arrives; false if there is no buffer for it.
    pub fn arrive(&self, frame: Frame, at: Instant) -> bool {
        let mut frames = self.frames.borrow_mut();
        let fits = (frames.len() as u64) < self.room();
        if fits {
            frames.push_back((frame, at));
        } else {
            self.missed.set(self.missed.get() + 1);
        }
        fits
    }

    /// Frames that wait at `now`; those of a flood that did not fit are counted as missed.
    pub fn waiting(&self, now: Instant) -> u64 {
        let frames = self.frames.borrow().len() as u64;
        let Some(flood) = self.flood.get().filter(|f| now >= f.start) else {
            return frames;
        };
        let taken = self.flood_taken.get();
        let arrived = if flood.every == Span::ZERO {
            (taken + self.room()).min(flood.frames)
        } else {
            (now.since(flood.start).ps() / flood.every.ps() + 1).min(flood.frames)
        };
        let waiting = arrived - taken - self.flood_missed.get();
        let lost = waiting.saturating_sub(self.room());
        self.flood_missed.set(self.flood_missed.get() + lost);
        self.missed.set(self.missed.get() + lost);
        frames + waiting - lost
    }

    /// When the oldest frame that waits or will wait is there.
    pub fn next_arrival(&self, now: Instant) -> Option<Instant> {
        if !self.frames.borrow().is_empty() {
            return Some(now);
        }
        let flood = self.flood.get()?;
        let done = self.flood_taken.get() + self.flood_missed.get();
        let at = flood.start + Span::from_ps(flood.every.ps() * done);
        (done < flood.frames).then_some(at.max(now))
    }

    /// Frames that came over a link and wait.
    pub fn linked(&self) -> usize {
        self.frames.borrow().len()
    }

    /// The driver takes the oldest frame out of its descriptor; the buffer is withheld until
    /// [`refill`](RxRing::refill).
    pub fn take(&self, now: Instant) -> Option<Frame> {
        let linked = self.frames.borrow_mut().pop_front();
        let frame = match linked {
            Some((frame, _)) => frame,
            None => {
                if self.waiting_flood(now) == 0 {
                    return None;
                }
                let flood = self.flood.get()?;
                let number = self.flood_taken.get();
                self.flood_taken.set(number + 1);
                Frame {
                    number,
                    ..flood.frame
                }
            }
        };
        self.next.set(self.next.get() + 1);
        self.withheld.set(self.withheld.get() + 1);
        Some(frame)
    }

    fn waiting_flood(&self, now: Instant) -> u64 {
        self.waiting(now) - self.frames.borrow().len() as u64
    }

    /// The driver gives all buffers it withheld back to the device; how many.
    pub fn refill(&self) -> u32 {
        self.withheld.replace(0)
    }
    /// Buffers that the driver withholds.
    pub fn withheld(&self) -> u32 {
        self.withheld.get()
    }
}
