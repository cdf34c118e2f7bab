//! A plain NIC and its driver: one ring each way, one vector, one NAPI instance, BQL if wanted.
//!
//! Costs of the driver's functions are e1000e's as counted. The protocol is that of most drivers: stop
//! the queue when a further packet might not fit and look again, ring the doorbell unless more follows,
//! clean in NAPI, report to BQL, wake. Absent: offloads, multiple queues.

use crate::frame::{Frame, L4};
use crate::kernel::netdev::{NET_XMIT_SUCCESS, NETDEV_TX_BUSY, TxQueue};
use crate::kernel::netdev_fields::{self, Reads};
use crate::kernel::skb::{Skb, line};
use crate::kernel::softirq::netif_tx_wake_queue;
use crate::kernel::{Cost, Cpu, Func};
use crate::machine::Footprint;
use crate::machine::nic::{Port, RxRing};
use crate::trace::Kind;
use std::cell::Cell;

/// State of one NIC.
#[derive(Debug)]
pub struct Nic {
    /// The hardware: one ring each way, one vector.
    pub port: Port,
    /// The queue is stopped when fewer descriptors than this are free,
    pub stop_thresh: u32,
    /// and woken when at least this many are.
    pub wake_thresh: u32,
    /// Device to which received frames are forwarded (IPv4).
    pub(crate) forward_to: Cell<Option<usize>>,
}

impl Nic {
    fn free(&self) -> u32 {
        self.port.tx[0].size() - self.port.tx[0].used()
    }
}

/// `ndo_start_xmit`.
pub(crate) async fn xmit(cpu: Cpu<'_>, nic: &Nic, txq: &TxQueue, skb: Skb, more: bool) -> i32 {
    let _span = cpu.enter(Func::NicXmit);
    let ring = &nic.port.tx[0];
    if nic.free() == 0 {
        // The queue was not stopped in time.
        txq.stop(cpu).await;
        return NETDEV_TX_BUSY;
    }
    cpu.spend(Cost::NicXmit);
    let skbs = &cpu.k.skbs;
    cpu.touch([
        skbs.struct_lines(skb, line::L1 | line::L2 | line::L3, 0),
        skbs.head_lines(skb, line::SHINFO, 0),
        Footprint {
            base: ring.line(ring.next()),
            reads: 0,
            writes: 1,
        },
    ])
    .await;
    ring.post(
        skb.0,
        1,
        crate::kernel::offload::hardware_frame(cpu, txq.dev, skb),
    );
    if nic.free() < nic.stop_thresh {
        txq.stop(cpu).await;
        // Room may have come between the test and the stop; then nobody would wake the queue.
        if cpu.k.config.stop_recheck {
            cpu.smp_mb().await;
            if nic.free() >= nic.wake_thresh {
                txq.start(cpu).await;
            }
        }
    }
    if txq.sent_queue(cpu, skbs.len(skb), more).await {
        super::ring_doorbell(cpu, &nic.port, 0, txq).await;
    }
    NET_XMIT_SUCCESS
}

/// The driver's NAPI poll.
pub(crate) async fn poll(cpu: Cpu<'_>, dev: usize, nic: &Nic, napi: usize, weight: u32) -> u32 {
    let _span = cpu.enter(Func::NicPoll);
    clean_tx(cpu, dev, nic).await;
    let mut work = 0;
    while work < weight
        && let Some(frame) = nic.port.rx[0].take(cpu.now())
    {
        let ring = &nic.port.rx[0];
        ring.refill();
        receive(cpu, dev, ring, nic.forward_to.get(), frame).await;
        work += 1;
    }
    if work == weight {
        return work;
    }
    nic.port.seen(0);
    if crate::kernel::napi::napi_complete_done(cpu, napi).await {
        super::unmask(cpu, dev, 0).await;
    }
    work
}

/// Frees what the wire has taken, reports it to BQL, wakes the queue.
async fn clean_tx(cpu: Cpu<'_>, dev: usize, nic: &Nic) {
    let _span = cpu.enter(Func::NicCleanTx);
    let ring = &nic.port.tx[0];
    let (mut packets, mut bytes) = (0, 0);
    while let Some(done) = ring.done() {
        cpu.spend(Cost::NicClean);
        // The descriptor that the device wrote back.
        cpu.touch([Footprint {
            base: ring.line(done.first),
            reads: 1,
            writes: 0,
        }])
        .await;
        ring.take_done();
        let skb = Skb(done.cookie);
        packets += 1;
        bytes += cpu.k.skbs.len(skb);
        cpu.k.skbs.put(cpu, skb).await;
    }
    if packets == 0 {
        return;
    }
    let txq = cpu.k.txq(cpu.k.dev(dev).txqs.start);
    txq.tx_completed_queue(cpu, packets, bytes).await;
    if cpu.k.config.stop_recheck {
        cpu.smp_mb().await;
    }
    if nic.free() >= nic.wake_thresh && txq.drv_stopped(cpu).await {
        netif_tx_wake_queue(cpu, txq).await;
    }
}

/// One frame: from `ring`, which has just been asked for it, through IPv4 forwarding to device
/// `forward_to`.
pub(super) async fn receive(
    cpu: Cpu<'_>,
    dev: usize,
    ring: &RxRing,
    forward_to: Option<usize>,
    frame: Frame,
) {
    let k = cpu.k;
    let at = ring.next() - 1;
    let descriptor = ring.line(at);
    if at.is_multiple_of(u64::from(ring.per_line())) {
        cpu.machine().dma_write(descriptor);
    }
    cpu.spend(Cost::NicRx);
    let Some(skb) = k.skbs.alloc_frame(cpu, frame).await else {
        ring.missed.set(ring.missed.get() + 1);
        if frame.dport != 0 {
            k.bump(&k.udp.missed, 1);
        }
        return;
    };
    k.bump(&k.dev(dev).rx_packets, 1);
    netdev_fields::count_rx(cpu, dev).await;
    k.skbs.set_born(skb, cpu.now());
    // A generator's frames are the host's own flows; others were counted where they were sent.
    let forward_to = forward_to.filter(|_| !matches!(frame.l4, L4::Tcp(_)));
    if forward_to.is_some() {
        k.bump(&k.flow(frame.flow).offered, 1);
    }
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
    match forward_to {
        Some(to) => {
            netdev_fields::read(cpu, dev, Reads::Receive).await;
            let rc = crate::kernel::forward::ip_forward_rx(cpu, skb, to).await;
            k.note_result(frame.flow, rc, frame.len);
        }
        None => crate::kernel::core::receive::netif_receive_skb(cpu, dev, skb).await,
    }
}
