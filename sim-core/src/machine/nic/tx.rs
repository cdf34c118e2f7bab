//! A transmit ring and the engine that empties it.

use crate::engine::time::Instant;
use crate::frame::Frame;
use crate::machine::memory::LineId;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// A packet on the ring.
#[derive(Clone, Copy, Debug)]
pub struct TxFrame {
    /// What the driver knows it by.
    pub cookie: u32,
    /// Number of its first descriptor, counted from the start of the run.
    pub first: u64,
    /// Descriptors it takes.
    pub descs: u32,
    /// What goes out.
    pub frame: Frame,
    /// When the device has learnt of it.
    ready: Instant,
}

/// A descriptor ring in memory and its state. Indices count from the start of the run and do not wrap:
/// `freed <= completed <= fetched <= posted <= freed + ring`.
#[derive(Debug)]
pub struct TxRing {
    ring: u32,
    lines: LineId,
    per_line: u32,
    posted: Cell<u64>,
    rung: Cell<u64>,
    completed: Cell<u64>,
    freed: Cell<u64>,
    doorbells: Cell<u64>,
    used_max: Cell<u32>,
    /// Frames that the driver has not taken back, oldest first.
    frames: RefCell<VecDeque<TxFrame>>,
    /// How many of them the device knows of, and how many have left.
    known: Cell<usize>,
    left: Cell<usize>,
    /// Segments of the frame being sent that have left.
    segment: Cell<u16>,
}

impl TxRing {
    /// A ring of `ring` descriptors, `per_line` of them on each line from `lines`.
    pub fn new(ring: u32, lines: LineId, per_line: u32) -> TxRing {
        TxRing {
            ring,
            lines,
            per_line,
            posted: Cell::new(0),
            rung: Cell::new(0),
            completed: Cell::new(0),
            freed: Cell::new(0),
            doorbells: Cell::new(0),
            used_max: Cell::new(0),
            frames: RefCell::default(),
            known: Cell::new(0),
            left: Cell::new(0),
            segment: Cell::new(0),
        }
    }

    /// Descriptors of the ring.
    pub fn size(&self) -> u32 {
        self.ring
    }
    /// Descriptors in use: posted and not taken back by the driver.
    pub fn used(&self) -> u32 {
        (self.posted.get() - self.freed.get()) as u32
    }
    /// Descriptors posted, known to the device, completed by it: posted >= rung >= completed.
    pub fn counts(&self) -> (u64, u64, u64) {
        (self.posted.get(), self.rung.get(), self.completed.get())
    }
    /// Doorbells rung.
    pub fn doorbells(&self) -> u64 {
        self.doorbells.get()
    }
    /// `next_to_use`, unwrapped.
    pub fn next(&self) -> u64 {
        self.posted.get()
    }
    /// Descriptors taken back by the driver: the first that it looks at next.
    pub fn next_to_clean(&self) -> u64 {
        self.freed.get()
    }
    /// Most descriptors that were in use at a time.
    pub fn used_max(&self) -> u32 {
        self.used_max.get()
    }
    /// Frames on the ring.
    pub fn frames(&self) -> usize {
        self.frames.borrow().len()
    }
    /// What the driver knows the frames on the ring by.
    pub fn cookies(&self) -> Vec<u32> {
        self.frames.borrow().iter().map(|f| f.cookie).collect()
    }
    /// The line of descriptor `n`.
    pub fn line(&self, n: u64) -> LineId {
        self.lines
            .nth((n % u64::from(self.ring)) as u32 / self.per_line)
    }

    /// The driver writes a frame of `descs` descriptors. The device does not know of it yet.
    ///
    /// # Panics
    /// If the ring has no room: a bug of the driver.
    pub fn post(&self, cookie: u32, descs: u32, frame: Frame) {
        assert!(
            self.used() + descs <= self.ring,
            "the driver overran its ring"
        );
        self.frames.borrow_mut().push_back(TxFrame {
            cookie,
            first: self.posted.get(),
            descs,
            frame,
            ready: Instant::NEVER,
        });
        self.posted.set(self.posted.get() + u64::from(descs));
        self.used_max.set(self.used_max.get().max(self.used()));
    }

    /// The driver writes the tail; the device sees it at `at` and has fetched what was posted.
    pub fn doorbell(&self, at: Instant) {
        self.doorbells.set(self.doorbells.get() + 1);
        self.rung.set(self.posted.get());
        let mut frames = self.frames.borrow_mut();
        frames
            .range_mut(self.known.get()..)
            .for_each(|f| f.ready = at);
        self.known.set(frames.len());
    }

    /// The segment that goes out next, and when it is ready.
    pub(super) fn next_out(&self) -> Option<(Frame, Instant)> {
        if self.left.get() == self.known.get() {
            return None;
        }
        let frames = self.frames.borrow();
        let f = &frames[self.left.get()];
        Some((f.frame.segment(self.segment.get()), f.ready))
    }

    /// The segment went out. True (and the line to write back) if it was its frame's last.
    pub(super) fn went_out(&self) -> Option<LineId> {
        let frames = self.frames.borrow();
        let f = &frames[self.left.get()];
        self.segment.set(self.segment.get() + 1);
        if self.segment.get() < f.frame.segs.max(1) {
            return None;
        }
        self.segment.set(0);
        self.left.set(self.left.get() + 1);
        self.completed
            .set(self.completed.get() + u64::from(f.descs));
        Some(self.line(f.first + u64::from(f.descs) - 1))
    }

    /// The oldest frame, if the device is done with it.
    pub fn done(&self) -> Option<TxFrame> {
        if self.left.get() == 0 {
            return None;
        }
        self.frames.borrow().front().copied()
    }

    /// The driver takes that frame back.
    pub fn take_done(&self) -> Option<TxFrame> {
        let f = self.done()?;
        self.frames.borrow_mut().pop_front();
        self.left.set(self.left.get() - 1);
        self.known.set(self.known.get() - 1);
        self.freed.set(self.freed.get() + u64::from(f.descs));
        Some(f)
    }
}
