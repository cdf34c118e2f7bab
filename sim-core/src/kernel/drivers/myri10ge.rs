//! Myricom 10 Gbit/s: `myri10ge`.
//!
//! Follows Linux 3.7.2 `drivers/net/ethernet/myricom/myri10ge/myri10ge.c`, one slice. The send ring lies in
//! the NIC: descriptors are copied into it through write-combining, two at a time with a barrier behind,
//! and the last write makes them valid, so there is no doorbell. Completed packets are freed in the hard
//! interrupt (`dev_kfree_skb_irq`), receiving is NAPI with LRO over tags in the data. No BQL; the queue is
//! stopped and woken without a second look.
//! Approximated: a copy of two descriptors costs the CPU one uncached write; payload lies in 4 KB pieces.

use crate::frame::{Frame, L4};
use crate::kernel::lro::Lro;
use crate::kernel::napi::{napi_complete_done, napi_schedule};
use crate::kernel::netdev::{NET_XMIT_SUCCESS, NETDEV_TX_BUSY, TxQueue};
use crate::kernel::offload::hardware_frame;
use crate::kernel::skb::{RxPages, Skb, line};
use crate::kernel::softirq::{__netif_schedule, dev_kfree_skb_irq};
use crate::kernel::{Cost, Cpu, Func};
use crate::machine::memory::{LineId, Word};
use crate::machine::nic::Port;
use crate::machine::{Footprint, Order, Rmw};
use crate::trace::Kind;

/// `MXGEFW_MAX_SEND_DESC`: descriptors of a frame.
const MAX_SEND_DESC: u32 = 12;
/// `MYRI10GE_MAX_SEND_DESC_TSO`: those of a frame to be segmented.
const MAX_SEND_DESC_TSO: u32 = 64;
/// `tx_boundary`: a descriptor's bytes do not cross it.
const TX_BOUNDARY: u32 = 4096;
/// `MAX_SKB_FRAGS`, to which `myri10ge_lro_max_pkts` is cut: segments of an aggregate.
pub(crate) const LRO_MAX: u16 = 17;

/// State of one NIC.
#[derive(Debug)]
pub struct Myri10ge {
    /// The hardware: one ring each way, one vector.
    pub port: Port,
    /// Its aggregate.
    pub lro: Lro,
    /// First line of each receive buffer.
    pub(crate) buffers: LineId,
    /// `_count` of each page, of which two buffers are.
    pub(crate) pages: Word,
    /// `req` line of the transmit ring (the sender's), then `done` line (the interrupt's), then the lines of
    /// `info[]`.
    pub(crate) tx: LineId,
}

impl Myri10ge {
    /// Pages of the buffers from `first` on, counted from the start of the run.
    fn rx_pages(&self, first: u32) -> RxPages {
        RxPages {
            counts: self.pages,
            pages: self.port.rx[0].size().div_ceil(2),
            first,
        }
    }

    fn avail(&self) -> u32 {
        let ring = &self.port.tx[0];
        (ring.size() - 2).saturating_sub(ring.used())
    }
}

/// Descriptors that a frame takes.
fn descriptors(frame: &Frame, frags: u8) -> u32 {
    let payload = match frame.l4 {
        L4::Tcp(tcp) if frags > 0 => tcp.len,
        _ => 0,
    };
    1 + payload.div_ceil(TX_BOUNDARY)
}

/// `myri10ge_xmit`.
pub(crate) async fn xmit(cpu: Cpu<'_>, nic: &Myri10ge, txq: &TxQueue, skb: Skb) -> i32 {
    let _span = cpu.enter(Func::MyriXmit);
    let skbs = &cpu.k.skbs;
    let frame = hardware_frame(cpu, txq.dev, skb);
    let tso = frame.segs > 1;
    let most = if tso {
        MAX_SEND_DESC_TSO
    } else {
        MAX_SEND_DESC
    };
    if nic.avail() < most {
        // We are out of transmit resources.
        txq.stop(cpu).await;
        return NETDEV_TX_BUSY;
    }
    let descs = descriptors(&frame, skbs.meta(skb).nr_frags);
    cpu.spend(Cost::OffloadXmit);
    for _ in 0..descs {
        cpu.spend(Cost::OffloadXmitDesc);
    }
    let ring = &nic.port.tx[0];
    cpu.touch([
        skbs.struct_lines(skb, line::L1 | line::L2 | line::L3, 0),
        skbs.head_lines(skb, line::HEADERS | line::SHINFO, line::HEADERS),
        Footprint {
            base: nic.tx,
            reads: 3,
            writes: 1,
        },
    ])
    .await;
    // myri10ge_submit_req: pairs, each behind a barrier, then the flags that make them valid.
    for _ in 0..descs.div_ceil(2) {
        cpu.elapse(cpu.machine().costs.mmio);
    }
    cpu.smp_mb().await;
    ring.post(skb.0, descs, frame);
    super::ring_doorbell(cpu, &nic.port, 0, txq).await;
    if nic.avail() < MAX_SEND_DESC {
        txq.stop(cpu).await;
    }
    NET_XMIT_SUCCESS
}

/// `myri10ge_intr`: completed packets are freed here; frames are left to the poll.
pub(crate) async fn intr(cpu: Cpu<'_>, dev: usize, nic: &Myri10ge, napi: usize) {
    tx_done(cpu, dev, nic).await;
    if nic.port.rx[0].waiting(cpu.now()) > 0 {
        napi_schedule(cpu, napi).await;
    } else {
        // Claimed at once.
        super::unmask(cpu, dev, 0).await;
    }
}

/// `myri10ge_tx_done`.
async fn tx_done(cpu: Cpu<'_>, dev: usize, nic: &Myri10ge) {
    let _span = cpu.enter(Func::MyriTxDone);
    let ring = &nic.port.tx[0];
    let mut any = false;
    while let Some(done) = ring.done() {
        any = true;
        cpu.spend(Cost::OffloadClean);
        for _ in 1..done.descs {
            cpu.spend(Cost::OffloadCleanDesc);
        }
        cpu.touch([Footprint {
            base: nic.tx,
            reads: 1,
            writes: 2,
        }])
        .await;
        ring.take_done();
        dev_kfree_skb_irq(cpu, Skb(done.cookie));
    }
    let txq = cpu.k.txq(cpu.k.dev(dev).txqs.start);
    // Start the queue if we've stopped it and have enough descriptors: half the ring.
    if any
        && ring.used() < (ring.size() - 1) / 2
        && txq.drv_stopped(cpu).await
        && txq.test_and_clear_stopped(cpu).await
        && let Some(q) = txq.qdisc
    {
        __netif_schedule(cpu, cpu.k.qdisc(q)).await;
    }
}

/// `myri10ge_poll`.
pub(crate) async fn poll(
    cpu: Cpu<'_>,
    dev: usize,
    nic: &Myri10ge,
    napi: usize,
    weight: u32,
) -> u32 {
    let _span = cpu.enter(Func::MyriPoll);
    let ring = &nic.port.rx[0];
    let mut work = 0;
    while work < weight
        && let Some(frame) = ring.take(cpu.now())
    {
        rx_done(cpu, dev, nic, frame).await;
        work += 1;
    }
    if work < weight && nic.port.tx[0].done().is_none() {
        // What comes from here on is for the next interrupt.
        nic.port.vectors[0].seen();
    }
    if let Some(frame) = nic.lro.flush() {
        deliver(cpu, dev, nic, frame).await;
    }
    refill(cpu, nic).await;
    if work == weight {
        return work;
    }
    if napi_complete_done(cpu, napi).await {
        super::unmask(cpu, dev, 0).await;
    }
    work
}

/// `myri10ge_alloc_rx_pages`: a page for each two buffers; eight descriptors are copied into the NIC at a
/// time (`myri10ge_submit_8rx`).
async fn refill(cpu: Cpu<'_>, nic: &Myri10ge) {
    let ring = &nic.port.rx[0];
    let first = ring.next() as u32 - ring.withheld();
    let pages = nic.rx_pages(first);
    for n in 0..ring.withheld() {
        cpu.spend(Cost::RxPage);
        cpu.rmw(pages.count(n), Rmw::Add(1), Order::Relaxed).await;
        if (first + n).is_multiple_of(8) {
            cpu.elapse(cpu.machine().costs.mmio);
        }
    }
    ring.refill();
}

/// `myri10ge_rx_done`: one frame into the aggregate.
async fn rx_done(cpu: Cpu<'_>, dev: usize, nic: &Myri10ge, frame: Frame) {
    let _span = cpu.enter(Func::MyriRxDone);
    let ring = &nic.port.rx[0];
    let at = ring.next() - 1;
    let descriptor = ring.line(at);
    if at.is_multiple_of(u64::from(ring.per_line())) {
        cpu.machine().dma_write(descriptor);
    }
    let headers = nic.buffers.nth((at % u64::from(ring.size())) as u32);
    cpu.machine().dma_write(headers);
    cpu.spend(Cost::LroFrame);
    let read = |base| Footprint {
        base,
        reads: 1,
        writes: 0,
    };
    cpu.touch([read(descriptor), read(headers)]).await;
    cpu.k.bump(&cpu.k.dev(dev).rx_packets, 1);
    crate::kernel::netdev_fields::count_rx(cpu, dev).await;
    for whole in nic.lro.add(frame).into_iter().flatten() {
        deliver(cpu, dev, nic, whole).await;
    }
}

async fn deliver(cpu: Cpu<'_>, dev: usize, nic: &Myri10ge, frame: Frame) {
    let pages = nic.rx_pages((nic.port.rx[0].next() as u32).wrapping_sub(u32::from(frame.segs)));
    let Some(skb) = nic.lro.gen_skb(cpu, frame, pages).await else {
        let missed = &nic.port.rx[0].missed;
        missed.set(missed.get() + u64::from(frame.segs));
        return;
    };
    cpu.k.skbs.set_born(skb, cpu.now());
    cpu.record(Kind::NetRx, cpu.k.skbs.id(skb), dev as u32);
    crate::kernel::core::receive::netif_receive_skb(cpu, dev, skb).await;
}
