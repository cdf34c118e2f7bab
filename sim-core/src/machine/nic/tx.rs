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
    /// The device reports when it is done with this one (and so with all before it).
    pub signalled: bool,
    /// When the device has learnt of it.
    ready: Instant,
}

/// What the device does when it is done with a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// It reports a completion.
    pub reported: bool,
    /// The descriptor line that it writes back for that; an entry of a completion queue is the driver's
    /// to place.
    pub written_back: Option<LineId>,
}

/// When a device reports that it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Report {
    /// After each packet.
    #[default]
    Packet,
    /// After the last packet of each doorbell.
    Doorbell,
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
    /// How many of them the device knows of, and with how many it is done.
    known: Cell<usize>,
    /// How many the device is done with, and how many of these it has reported.
    finished: Cell<usize>,
    reported: Cell<usize>,
    report: Report,
    /// Frames that have not left, oldest first.
    out: RefCell<VecDeque<TxFrame>>,
    /// Segments of the first of them that have left.
    segment: Cell<u16>,
    /// Bytes that the device fetches ahead of the wire, and how many of `out` it has fetched whole.
    ahead: Cell<u32>,
    fetched: Cell<usize>,
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
            finished: Cell::new(0),
            reported: Cell::new(0),
            report: Report::Packet,
            out: RefCell::default(),
            segment: Cell::new(0),
            ahead: Cell::new(0),
            fetched: Cell::new(0),
        }
    }

    /// The same ring of a device that reports so.
    pub fn reporting(self, report: Report) -> TxRing {
        TxRing { report, ..self }
    }

    /// The device has memory for `bytes`, which it fetches ahead of the wire: it is done with a frame once
    /// the last byte is in there. Without, once the frame has left.
    pub fn set_ahead(&self, bytes: u32) {
        self.ahead.set(bytes);
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
            signalled: self.report == Report::Packet,
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
        if let Some(last) = frames.back_mut() {
            last.signalled = true;
        }
        for f in frames.range_mut(self.known.get()..) {
            f.ready = at;
            self.out.borrow_mut().push_back(*f);
        }
        self.known.set(frames.len());
    }

    /// The segment that goes out next, and when it is ready.
    pub(super) fn next_out(&self) -> Option<(Frame, Instant)> {
        let out = self.out.borrow();
        let f = out.front()?;
        Some((f.frame.segment(self.segment.get()), f.ready))
    }

    /// The segment went out. What that completes.
    pub(super) fn went_out(&self) -> Option<Done> {
        let mut out = self.out.borrow_mut();
        let f = *out.front()?;
        self.segment.set(self.segment.get() + 1);
        if self.segment.get() < f.frame.segs.max(1) {
            return None;
        }
        self.segment.set(0);
        out.pop_front();
        if self.fetched.get() > 0 {
            // Done with before.
            self.fetched.set(self.fetched.get() - 1);
            return None;
        }
        Some(self.finish(&f))
    }

    /// The next frame whose last byte is in the device's memory, ahead of the wire: what that completes.
    pub fn fetch(&self) -> Option<Done> {
        if self.ahead.get() == 0 {
            return None;
        }
        let out = self.out.borrow();
        let next = out.get(self.fetched.get())?;
        let left = u32::from(self.segment.get()) * u32::from(out.front()?.frame.gso_size);
        let bytes: u32 = out.range(..=self.fetched.get()).map(|f| f.frame.len).sum();
        if bytes - left > self.ahead.get() {
            return None;
        }
        self.fetched.set(self.fetched.get() + 1);
        Some(self.finish(next))
    }

    fn finish(&self, f: &TxFrame) -> Done {
        self.finished.set(self.finished.get() + 1);
        self.completed
            .set(self.completed.get() + u64::from(f.descs));
        if !f.signalled {
            return Done::default();
        }
        self.reported.set(self.finished.get());
        let last = self.line(f.first + u64::from(f.descs) - 1);
        Done {
            reported: true,
            written_back: (self.report == Report::Packet).then_some(last),
        }
    }

    /// The oldest frame, if the device has reported that it is done with it.
    pub fn done(&self) -> Option<TxFrame> {
        if self.reported.get() == 0 {
            return None;
        }
        self.frames.borrow().front().copied()
    }

    /// The driver takes that frame back.
    pub fn take_done(&self) -> Option<TxFrame> {
        let f = self.done()?;
        self.frames.borrow_mut().pop_front();
        self.finished.set(self.finished.get() - 1);
        self.reported.set(self.reported.get() - 1);
        self.known.set(self.known.get() - 1);
        self.freed.set(self.freed.get() + u64::from(f.descs));
        Some(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::memory::Placement;

    /// With memory of its own the device is done with a frame before it has left, and each is finished once.
    #[test]
    fn a_device_fetches_ahead() {
        let lines = Placement::new(false).lines("ring", 2);
        let ring = TxRing::new(8, lines, 4);
        ring.set_ahead(2500);
        for n in 0..3 {
            let frame = Frame {
                len: 1000,
                segs: 1,
                ..Frame::default()
            };
            ring.post(n, 1, frame);
        }
        ring.doorbell(Instant::ZERO);
        assert!(ring.fetch().is_some());
        assert!(ring.fetch().is_some());
        assert!(ring.fetch().is_none(), "the third does not fit yet");
        assert_eq!(ring.take_done().map(|f| f.cookie), Some(0));
        assert!(ring.went_out().is_none(), "finished before");
        assert!(ring.fetch().is_some());
        assert!(ring.went_out().is_none() && ring.went_out().is_none());
        assert!(ring.next_out().is_none());
        assert_eq!(ring.counts(), (3, 3, 3));
        assert_eq!(ring.take_done().map(|f| f.cookie), Some(1));
        assert_eq!(ring.take_done().map(|f| f.cookie), Some(2));
        assert!(ring.take_done().is_none());
    }
}
