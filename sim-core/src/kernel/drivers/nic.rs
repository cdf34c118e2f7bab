//! A minimal NIC with priced steps: enough for forwarding and for a stopped queue.
//!
//! Costs of the driver's functions are e1000e's as counted. Modelled: descriptor rings, a doorbell a
//! packet (none before another packet of a burst), stop and wake of the queue, NAPI with budget 64,
//! interrupt moderation by a fixed interval, wire time with preamble, FCS and gap, receive by DMA into
//! lines that the CPU then misses on. Approximated: PCIe is part of the doorbell and DMA costs.
//! Absent: BQL, multiple receive queues, offloads.

use crate::engine::time::{Instant, Span};
use crate::kernel::netdev::{NET_XMIT_SUCCESS, NETDEV_TX_BUSY, TxQueue};
use crate::kernel::skb::{Packet, Skb, line};
use crate::kernel::softirq::{__netif_schedule, NET_RX, raise_softirq};
use crate::kernel::{Cost, Cpu, Func};
use crate::machine::Footprint;
use crate::machine::memory::{LineId, Placement};
use crate::trace::Kind;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// NAPI weight.
const WEIGHT: u32 = 64;
/// Wire overhead of a frame: preamble 8, FCS 4, gap 12 bytes.
const WIRE_OVERHEAD: u64 = 24;
/// Least time between two interrupts (e1000e's default `InterruptThrottleRate` of 20,000 a second).
const MODERATION: Span = Span::from_ns(50_000);
/// Descriptors in a line (16 bytes each).
const PER_LINE: u32 = 4;

/// State of one NIC.
#[derive(Debug)]
pub struct Nic {
    tx_ring: u32,
    rx_ring: u32,
    ps_per_byte: u64,
    /// Logical CPU of its interrupt.
    pub irq_cpu: u16,
    tx_lines: LineId,
    rx_lines: LineId,
    tx_next: Cell<u32>,
    rx_next: Cell<u32>,
    /// Frames on the ring, with the instant at which each has left.
    in_flight: RefCell<VecDeque<(Skb, Instant)>>,
    wire_free: Cell<Instant>,
    napi_scheduled: Cell<bool>,
    last_irq: Cell<Instant>,
    irq_armed: Cell<bool>,
    /// What arrives.
    pub(crate) rx: Cell<Option<RxLoad>>,
    rx_taken: Cell<u64>,
    /// Frames lost because the ring was full.
    pub rx_dropped: Cell<u64>,
    /// Descriptors written, doorbells rung, descriptors completed.
    pub posted: Cell<u64>,
    /// Doorbells.
    pub doorbells: Cell<u64>,
    /// Completions.
    pub completed: Cell<u64>,
}

/// Frames that arrive at a NIC.
#[derive(Clone, Copy, Debug)]
pub struct RxLoad {
    /// Flow number of the frames.
    pub flow: u32,
    /// Frame length without FCS.
    pub len: u32,
    /// Interval between arrivals, or zero for a ring that is never empty.
    pub every: Span,
    /// How many come.
    pub frames: u64,
    /// When the first comes.
    pub start: Instant,
    /// Device they are forwarded to.
    pub to: usize,
}

impl Nic {
    pub(crate) fn place(
        memory: &mut Placement,
        name: &str,
        tx_ring: u32,
        rx_ring: u32,
        rate: u64,
        irq_cpu: u16,
    ) -> Nic {
        Nic {
            tx_ring,
            rx_ring,
            ps_per_byte: 8_000_000_000_000 / rate,
            irq_cpu,
            tx_lines: memory.lines(&format!("{name} tx ring"), tx_ring.div_ceil(PER_LINE)),
            rx_lines: memory.lines(&format!("{name} rx ring"), rx_ring.div_ceil(PER_LINE)),
            tx_next: Cell::new(0),
            rx_next: Cell::new(0),
            in_flight: RefCell::default(),
            wire_free: Cell::default(),
            napi_scheduled: Cell::new(false),
            last_irq: Cell::default(),
            irq_armed: Cell::new(false),
            rx: Cell::new(None),
            rx_taken: Cell::new(0),
            rx_dropped: Cell::new(0),
            posted: Cell::new(0),
            doorbells: Cell::new(0),
            completed: Cell::new(0),
        }
    }

    /// skbs on the transmit ring.
    pub fn in_flight(&self) -> usize {
        self.in_flight.borrow().len()
    }

    /// Frames that wait in the receive ring at `now`; what did not fit is counted as dropped.
    fn rx_waiting(&self, now: Instant) -> u64 {
        let Some(load) = self.rx.get() else { return 0 };
        if now < load.start {
            return 0;
        }
        let arrived = if load.every == Span::ZERO {
            (self.rx_taken.get() + u64::from(self.rx_ring)).min(load.frames)
        } else {
            (now.since(load.start).ps() / load.every.ps() + 1).min(load.frames)
        };
        let waiting = arrived - self.rx_taken.get() - self.rx_dropped.get();
        let lost = waiting.saturating_sub(u64::from(self.rx_ring));
        self.rx_dropped.set(self.rx_dropped.get() + lost);
        waiting - lost
    }

    /// When something next wants the driver's attention.
    pub(crate) fn next_work(&self, now: Instant) -> Option<Instant> {
        let sent = self.in_flight.borrow().front().map(|&(_, at)| at);
        let rx = self.rx.get().and_then(|load| {
            let taken = self.rx_taken.get() + self.rx_dropped.get();
            let at = load.start + Span::from_ps(load.every.ps() * taken);
            (taken < load.frames).then_some(at)
        });
        let at = match (sent, rx) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b)?,
        };
        Some(at.max(now))
    }
}

/// Queues the device event at which NIC `dev` interrupts, if it has a reason to and NAPI is idle.
pub(crate) fn arm_irq(
    k: &crate::kernel::Kernel,
    m: &crate::machine::Machine,
    dev: usize,
    nic: &Nic,
) {
    if nic.napi_scheduled.get() || nic.irq_armed.get() {
        return;
    }
    let now = m.engine.now();
    if let Some(at) = nic.next_work(now) {
        nic.irq_armed.set(true);
        m.push_device(at.max(nic.last_irq.get() + MODERATION), k.device_event(dev));
    }
}

/// The device event of NIC `dev`: it raises its interrupt.
pub(crate) fn interrupt(m: &crate::machine::Machine, dev: usize, nic: &Nic) {
    nic.irq_armed.set(false);
    nic.last_irq.set(m.engine.now());
    m.raise_irq(nic.irq_cpu, dev as u32);
}

/// Body of a CPU's hard interrupt context.
pub(crate) async fn hardirq_context(cpu: Cpu<'_>) {
    loop {
        while let Some(vector) = cpu.take_irq() {
            let _span = cpu.enter(Func::NicIrq);
            cpu.elapse(cpu.machine().costs.irq_entry);
            cpu.spend(Cost::HardIrq);
            if let Some(nic) = cpu.k.nic(vector as usize)
                && !nic.napi_scheduled.replace(true)
            {
                cpu.k.softnet(cpu.id()).add_poll(vector as usize);
                raise_softirq(cpu, NET_RX);
            }
            cpu.settle().await;
        }
        cpu.finish(cpu.k.softnet(cpu.id()).is_pending());
        cpu.started().await;
    }
}

/// `ndo_start_xmit`.
pub(crate) async fn xmit(cpu: Cpu<'_>, nic: &Nic, txq: &TxQueue, skb: Skb, more: bool) -> i32 {
    let _span = cpu.enter(Func::NicXmit);
    if nic.in_flight() >= nic.tx_ring as usize {
        return NETDEV_TX_BUSY;
    }
    cpu.spend(Cost::NicXmit);
    let at = nic.tx_next.get();
    nic.tx_next.set((at + 1) % nic.tx_ring);
    cpu.touch([
        cpu.k
            .skbs
            .struct_lines(skb, line::L1 | line::L2 | line::L3, 0),
        cpu.k.skbs.head_lines(skb, line::SHINFO, 0),
        Footprint {
            base: nic.tx_lines.nth(at / PER_LINE),
            reads: 0,
            writes: 1,
        },
    ])
    .await;
    cpu.k.bump(&nic.posted, 1);
    let wire =
        Span::from_ps((u64::from(cpu.k.skbs.len(skb)).max(60) + WIRE_OVERHEAD) * nic.ps_per_byte);
    let leaves = nic.wire_free.get().max(cpu.now()) + wire;
    nic.wire_free.set(leaves);
    nic.in_flight.borrow_mut().push_back((skb, leaves));
    if nic.in_flight() >= nic.tx_ring as usize {
        txq.stop(cpu).await;
        // Room may have come between the test and the stop.
        cpu.smp_mb().await;
    }
    if !more || nic.in_flight() >= nic.tx_ring as usize {
        cpu.smp_wmb().await;
        cpu.elapse(cpu.machine().costs.mmio);
        cpu.k.bump(&nic.doorbells, 1);
        cpu.record(Kind::Doorbell, txq.number, nic.tx_next.get());
    }
    arm_irq(cpu.k, cpu.machine(), txq.dev, nic);
    NET_XMIT_SUCCESS
}

/// The driver's NAPI poll: packets received, and whether it wants to be polled again.
pub(crate) async fn poll(cpu: Cpu<'_>, dev: usize) -> (u32, bool) {
    let _span = cpu.enter(Func::NicPoll);
    let k = cpu.k;
    let nic = k.nic(dev).expect("only NICs are on poll lists");
    cpu.spend(Cost::NapiPoll);
    let cleaned = clean_tx(cpu, dev, nic).await;
    let mut work = 0;
    while work < WEIGHT && nic.rx_waiting(cpu.now()) > 0 {
        receive(cpu, dev, nic).await;
        work += 1;
    }
    if work == WEIGHT || cleaned {
        return (work.max(1), true);
    }
    // napi_complete_done: interrupts on again.
    nic.napi_scheduled.set(false);
    cpu.elapse(cpu.machine().costs.mmio);
    cpu.settle().await;
    arm_irq(k, cpu.machine(), dev, nic);
    (work, false)
}

/// Frees what the wire has taken, at most a budget; true if there is more. Wakes the queue.
async fn clean_tx(cpu: Cpu<'_>, dev: usize, nic: &Nic) -> bool {
    let _span = cpu.enter(Func::NicCleanTx);
    let mut n = 0;
    while n < WEIGHT {
        let due = nic
            .in_flight
            .borrow()
            .front()
            .is_some_and(|&(_, at)| at <= cpu.now());
        if !due {
            break;
        }
        let (skb, _) = nic
            .in_flight
            .borrow_mut()
            .pop_front()
            .expect("looked at above");
        cpu.spend(Cost::NicClean);
        cpu.k.bump(&nic.completed, 1);
        cpu.k.skbs.put(cpu, skb).await;
        n += 1;
    }
    let txq = cpu.k.txq(cpu.k.dev(dev).txqs.start);
    if n > 0
        && nic.in_flight() < nic.tx_ring as usize
        && txq.frozen_or_stopped(cpu).await
        && txq.test_and_clear_stopped(cpu).await
        && let Some(q) = txq.qdisc
    {
        __netif_schedule(cpu, cpu.k.qdisc(q)).await;
    }
    n == WEIGHT
}

/// One frame: from the ring through IPv4 forwarding to the egress device.
async fn receive(cpu: Cpu<'_>, dev: usize, nic: &Nic) {
    let k = cpu.k;
    let load = nic.rx.get().expect("frames come from a load");
    let number = nic.rx_taken.get();
    nic.rx_taken.set(number + 1);
    let at = nic.rx_next.get();
    nic.rx_next.set((at + 1) % nic.rx_ring);
    let descriptor = nic.rx_lines.nth(at / PER_LINE);
    if at.is_multiple_of(PER_LINE) {
        cpu.machine().dma_write(descriptor);
    }
    cpu.spend(Cost::NicRx);
    let packet = Packet {
        flow: load.flow,
        number,
        len: load.len,
        priority: 0,
    };
    let Some(skb) = k.skbs.alloc(cpu, packet).await else {
        k.bump(&nic.rx_dropped, 1);
        return;
    };
    k.bump(&k.dev(dev).rx_packets, 1);
    k.skbs.set_born(skb, cpu.now());
    k.bump(&k.flow(load.flow).offered, 1);
    cpu.record(Kind::NetRx, k.skbs.id(skb), dev as u32);
    // The packet's first line was written by DMA.
    let headers = k.skbs.head_lines(skb, line::HEADERS, 0);
    cpu.machine().dma_write(headers.base);
    cpu.touch([
        headers,
        Footprint {
            base: descriptor,
            reads: 1,
            writes: 0,
        },
    ])
    .await;
    let rc = crate::kernel::forward::ip_forward_rx(cpu, skb, load.to).await;
    k.note_result(load.flow, rc, load.len);
}
