//! Sending contexts: what each offered, what got through, in which order and how fast.

use super::skb::Skb;
use super::{Cpu, Func, Kernel};
use crate::violation::{Law, Violation};
use hdrhistogram::Histogram;
use std::cell::{Cell, RefCell};

/// A sending context. `offered = sent + errors` whenever it is between two packets.
#[derive(Debug)]
pub struct Flow {
    /// e.g. `d0@0`.
    pub name: String,
    /// Logical CPU.
    pub cpu: u16,
    pub(crate) offered: Cell<u64>,
    pub(crate) sent: Cell<u64>,
    pub(crate) errors: Cell<u64>,
    pub(crate) bytes: Cell<u64>,
    pub(crate) latency: RefCell<Histogram<u64>>,
    /// Number of the last packet that reached a driver.
    last: Cell<Option<u64>>,
}

impl Flow {
    pub(crate) fn new(name: String, cpu: u16) -> Flow {
        Flow {
            name,
            cpu,
            offered: Cell::new(0),
            sent: Cell::new(0),
            errors: Cell::new(0),
            bytes: Cell::new(0),
            latency: RefCell::new(Histogram::new(3).expect("3 digits are allowed")),
            last: Cell::new(None),
        }
    }
}

/// A packet on its way into a driver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    flow: u32,
    latency_ns: u64,
}

impl Kernel {
    /// Notes that `skb` reaches a driver, and that its flow is in order.
    pub(crate) fn note_xmit(&self, cpu: Cpu<'_>, skb: Skb, dev: usize) -> Seen {
        let (flow, number) = self.skbs.flow(skb);
        let last = self.flow(flow).last.get();
        if last.is_some_and(|last| number < last) {
            self.violations.borrow_mut().push(Violation {
                law: Law::Reordered,
                time: cpu.now().ps(),
                cpu: Some(cpu.machine().first_cpu() + cpu.id()),
                function: Func::DevHardStartXmit.name(),
                what: format!(
                    "packet {number} of flow {} reaches {} after packet {}",
                    self.flow(flow).name,
                    self.dev(dev).name,
                    last.unwrap_or_default()
                ),
                skb: Some(self.skbs.id(skb)),
                freed_by_next: None,
            });
        }
        self.flow(flow).last.set(last.max(Some(number)));
        Seen {
            flow,
            latency_ns: cpu.now().since(self.skbs.born(skb)).ns(),
        }
    }

    /// Notes that the driver took it.
    pub(crate) fn sent(&self, seen: Seen) {
        // Auto-resizing: every u64 can be recorded.
        let recorded = self
            .flow(seen.flow)
            .latency
            .borrow_mut()
            .record(seen.latency_ns.max(1));
        debug_assert!(recorded.is_ok());
    }

    /// Notes that a frame came to nothing.
    pub(crate) fn note_drop(&self, frame: crate::frame::Frame) {
        self.note_result(frame.flow, super::netdev::NET_XMIT_DROP, frame.len);
    }

    /// Notes what the sender was told.
    pub(crate) fn note_result(&self, flow: u32, rc: i32, len: u32) {
        let flow = self.flow(flow);
        if rc == super::netdev::NET_XMIT_SUCCESS {
            self.bump(&flow.sent, 1);
            self.bump(&flow.bytes, u64::from(len));
        } else {
            self.bump(&flow.errors, 1);
        }
    }
}
