//! NIC hardware: rings, the wire, interrupt vectors. It does not know Linux: drivers post frames and
//! take them back, ring doorbells, and mask interrupts.
//!
//! A CPU's side (uncached writes, misses on lines written by DMA) is priced where the driver does it.
//! Approximated: descriptor fetch and payload DMA are a fixed latency after the doorbell, pipelined
//! behind the wire, and PCIe bandwidth does not limit; a device writes one line back for each frame.

mod rx;
mod tx;
mod vector;
mod wire;

pub use rx::{Flood, RxRing};
pub use tx::{Done, Report, TxFrame, TxRing};
pub use vector::{Moderation, Vector};
pub use wire::{ETH_ZLEN, ETHERNET_OVERHEAD, Wire};

use crate::engine::time::{Instant, Span};
use crate::frame::Frame;
use std::cell::Cell;

/// A port: its rings, vectors and its half of the link.
#[derive(Debug)]
pub struct Port {
    /// The wire out.
    pub wire: Wire,
    /// Transmit rings.
    pub tx: Vec<TxRing>,
    /// Receive rings.
    pub rx: Vec<RxRing>,
    /// Interrupt vectors.
    pub vectors: Vec<Vector>,
    /// From the CPU's doorbell to the descriptors and payload being in the device.
    pub fetch: Span,
    /// The ring whose segment is on the wire.
    sending: Cell<Option<usize>>,
    turn: Cell<usize>,
    in_air: std::cell::RefCell<std::collections::VecDeque<Frame>>,
}

/// A segment that has left.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// From which ring.
    pub queue: usize,
    /// What left.
    pub frame: Frame,
    /// What the device does if that completes the frame.
    pub done: Done,
}

impl Port {
    /// Vector `v`'s driver has looked at its rings: what it was told of is no longer news, unless
    /// something has come since that it did not take. (Forgetting such a
    /// completion leaves a stopped queue stopped; `skbsim explore` found it.)
    pub fn seen(&self, v: usize) {
        let vectors = self.vectors.len().max(1);
        let tx = self.tx.iter().enumerate();
        let finished = tx.filter(|(queue, _)| queue % vectors == v);
        let left = finished.into_iter().any(|(_, ring)| ring.done().is_some());
        if !left && self.rx.get(v).is_none_or(|ring| ring.linked() == 0) {
            self.vectors[v].seen();
        }
    }

    /// A port without rings or vectors.
    pub fn new(wire: Wire, fetch: Span) -> Port {
        Port {
            wire,
            tx: Vec::new(),
            rx: Vec::new(),
            vectors: Vec::new(),
            fetch,
            sending: Cell::new(None),
            turn: Cell::new(0),
            in_air: std::cell::RefCell::default(),
        }
    }

    /// Starts to send if the wire is idle and something is ready, the rings in turn. Returns when the
    /// segment will have left: call [`sent`](Port::sent) then.
    pub fn start(&self, now: Instant) -> Option<Instant> {
        if self.sending.get().is_some() {
            return None;
        }
        let n = self.tx.len();
        let mut best: Option<(usize, Frame, Instant)> = None;
        for i in 0..n {
            let queue = (self.turn.get() + i) % n;
            if let Some((frame, ready)) = self.tx[queue].next_out()
                && best.is_none_or(|(.., at)| ready.max(now) < at.max(now))
            {
                best = Some((queue, frame, ready));
            }
        }
        let (queue, frame, ready) = best?;
        self.turn.set((queue + 1) % n);
        self.sending.set(Some(queue));
        Some(self.wire.send(ready, frame.len))
    }

    /// The segment on the wire has left.
    ///
    /// # Panics
    /// If none was.
    pub fn sent(&self) -> Sent {
        let queue = self.sending.take().expect("a segment is on the wire");
        let ring = &self.tx[queue];
        let (frame, _) = ring.next_out().expect("a segment is on the wire");
        Sent {
            queue,
            frame,
            done: ring.went_out().unwrap_or_default(),
        }
    }

    /// A frame is on its way to this port.
    pub fn incoming(&self, frame: Frame) {
        self.in_air.borrow_mut().push_back(frame);
    }

    /// The first frame on its way is there.
    pub fn landed(&self) -> Option<Frame> {
        self.in_air.borrow_mut().pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::memory::Placement;

    fn port(queues: u32) -> Port {
        let mut memory = Placement::new(false);
        let mut port = Port::new(Wire::new(10_000_000, 0, 0), Span::ZERO);
        for _ in 0..queues {
            let lines = memory.lines("ring", 2);
            port.tx.push(TxRing::new(8, lines, 4));
        }
        port
    }

    fn frame(len: u32) -> Frame {
        Frame {
            len,
            segs: 1,
            ..Frame::default()
        }
    }

    fn us(n: u64) -> Instant {
        Instant::from_ps(n * 1_000_000)
    }

    #[test]
    fn nothing_leaves_without_a_doorbell() {
        let port = port(1);
        port.tx[0].post(1, 1, frame(1000));
        assert_eq!(port.start(us(0)), None);
        port.tx[0].doorbell(us(5));
        assert_eq!(port.start(us(5)), Some(us(805)), "1000 bytes at 10 Mbit/s");
        assert_eq!(port.start(us(6)), None, "busy");
        assert!(port.tx[0].take_done().is_none());
        assert!(port.sent().done.written_back.is_some());
        assert_eq!(port.tx[0].take_done().map(|f| f.cookie), Some(1));
        assert_eq!(port.tx[0].counts(), (1, 1, 1));
        assert_eq!(port.tx[0].used(), 0);
    }

    /// A device that reports once a doorbell: the driver sees three packets at once, and no sooner.
    #[test]
    fn one_report_a_doorbell() {
        let mut port = port(1);
        let ring = port.tx.pop().expect("one");
        port.tx.push(ring.reporting(Report::Doorbell));
        for n in 0..3 {
            port.tx[0].post(n, 1, frame(100));
        }
        port.tx[0].doorbell(us(0));
        for n in 0..3 {
            assert!(port.tx[0].done().is_none(), "{n} have left");
            assert!(port.start(us(0)).is_some());
            assert_eq!(port.sent().done.reported, n == 2);
        }
        let taken: Vec<bool> = std::iter::from_fn(|| port.tx[0].take_done())
            .map(|f| f.signalled)
            .collect();
        assert_eq!(taken, [false, false, true]);
    }

    #[test]
    fn rings_take_turns() {
        let port = port(2);
        for n in 0..2 {
            port.tx[0].post(n, 1, frame(100));
            port.tx[1].post(10 + n, 1, frame(100));
        }
        port.tx[0].doorbell(us(0));
        port.tx[1].doorbell(us(0));
        let mut order = Vec::new();
        let mut now = us(0);
        while let Some(end) = port.start(now) {
            now = end;
            order.push(port.sent().queue);
        }
        assert_eq!(order, [0, 1, 0, 1]);
    }

    #[test]
    fn a_chain_leaves_segment_by_segment() {
        let port = port(1);
        let chain = Frame {
            segs: 3,
            gso_size: 1000,
            len: 42 + 3000,
            ..frame(0)
        };
        port.tx[0].post(7, 2, chain);
        port.tx[0].doorbell(us(0));
        let mut lengths = Vec::new();
        let mut now = us(0);
        while let Some(end) = port.start(now) {
            now = end;
            let sent = port.sent();
            lengths.push((sent.frame.len, sent.done.written_back.is_some()));
        }
        assert_eq!(lengths, [(1042, false), (1042, false), (1042, true)]);
        assert_eq!(port.tx[0].counts(), (2, 2, 2));
    }
}
