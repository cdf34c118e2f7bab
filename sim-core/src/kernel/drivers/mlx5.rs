//! Mellanox ConnectX: `mlx5e`.
//!
//! Follows Linux 5.5 `drivers/net/ethernet/mellanox/mlx5/core/en/xdp.c` and `en_rx.c`, `en_tx.c`, one
//! channel a vector: a receive queue, a send queue for the stack (rings `0..channels`) and one for
//! redirected frames (rings `channels..2 * channels`). A doorbell is a record in memory, a barrier and an
//! 8-byte uncached write; the device writes one completion entry a doorbell, which the channel's NAPI
//! poll reads. Frames for redirection go into one multi-packet descriptor until the doorbell.
//! Approximated: every send descriptor takes one slot of 64 bytes. Absent: striding receive queue's
//! fragments, LRO, TLS, ICO queue.

use crate::frame::Frame;
use crate::kernel::napi::napi_complete_done;
use crate::kernel::netdev::{NET_XMIT_SUCCESS, NETDEV_TX_BUSY, TxQueue};
use crate::kernel::skb::{Skb, line};
use crate::kernel::softirq::netif_tx_wake_queue;
use crate::kernel::xdp::{self, Pages, Program, Verdict, XdpFrame};
use crate::kernel::{Cost, Cpu, Func};
use crate::machine::Footprint;
use crate::machine::memory::LineId;
use crate::machine::nic::Port;
use crate::trace::Kind;
use std::cell::Cell;

/// `MLX5E_TX_CQ_POLL_BUDGET`: completion entries of one poll.
const TX_CQ_BUDGET: u32 = 128;
/// Descriptor slots that must be free for the queue to run (`stop_room`): the largest descriptor, 16
/// slots, and the padding at the ring's end.
const STOP_ROOM: u32 = 32;

/// State of one NIC.
#[derive(Debug)]
pub struct Mlx5 {
    /// The hardware.
    pub port: Port,
    /// Channels.
    pub channels: usize,
    /// Receive buffers.
    pub pages: Pages,
    /// The program, if one is loaded.
    pub(crate) program: Cell<Option<Program>>,
    /// Completion entries of receive queue, send queue and XDP send queue of each channel, 64 bytes each.
    pub(crate) cqs: LineId,
    /// Frames in the open multi-packet descriptor of each XDP send queue.
    pub(crate) session: Vec<Cell<u32>>,
    /// Frames redirected out by `ndo_xdp_xmit`.
    pub xdp_xmit: Cell<u64>,
    /// Those that found no room.
    pub xdp_xmit_full: Cell<u64>,
    /// Frames that a program dropped.
    pub xdp_drop: Cell<u64>,
}

/// Lines of the three completion queues of a channel.
pub(crate) const CQ_LINES: u32 = 3;

impl Mlx5 {
    fn cqe(&self, channel: usize, which: u32) -> Footprint {
        Footprint {
            base: self.cqs.nth(channel as u32 * CQ_LINES + which),
            reads: 1,
            writes: 0,
        }
    }

    fn xdp_ring(&self, channel: usize) -> usize {
        self.channels + channel
    }
}

/// `mlx5e_xmit`.
pub(crate) async fn xmit(cpu: Cpu<'_>, nic: &Mlx5, txq: &TxQueue, skb: Skb, more: bool) -> i32 {
    let _span = cpu.enter(Func::Mlx5Xmit);
    let queue = txq.index as usize % nic.channels;
    let ring = &nic.port.tx[queue];
    if ring.size() - ring.used() < 1 {
        txq.stop(cpu).await;
        return NETDEV_TX_BUSY;
    }
    cpu.spend(Cost::Mlx5Xmit);
    let skbs = &cpu.k.skbs;
    cpu.touch([
        skbs.struct_lines(skb, line::L1 | line::L2 | line::L3, 0),
        skbs.head_lines(skb, line::HEADERS | line::SHINFO, 0),
        Footprint {
            base: ring.line(ring.next()),
            reads: 0,
            writes: 1,
        },
    ])
    .await;
    ring.post(skb.0, 1, skbs.frame(skb));
    if ring.size() - ring.used() < STOP_ROOM.min(ring.size() / 2) {
        txq.stop(cpu).await;
        if cpu.k.config.stop_recheck {
            cpu.smp_mb().await;
            if ring.size() - ring.used() >= STOP_ROOM.min(ring.size() / 2) {
                txq.start(cpu).await;
            }
        }
    }
    if txq.sent_queue(cpu, skbs.len(skb), more).await {
        doorbell(cpu, nic, queue, txq).await;
    }
    NET_XMIT_SUCCESS
}

/// `mlx5e_notify_hw`: doorbell record, barrier, 8-byte write.
async fn doorbell(cpu: Cpu<'_>, nic: &Mlx5, queue: usize, txq: &TxQueue) {
    cpu.spend(Cost::Mlx5Notify);
    // wmb() is a fence on every architecture: the device must not see the doorbell first.
    cpu.smp_mb().await;
    super::ring_doorbell(cpu, &nic.port, queue, txq).await;
}

/// `ndo_xdp_xmit`: how many of `frames` it took. Those that it did not are freed here (up to 5.12).
pub(crate) async fn xdp_xmit(
    cpu: Cpu<'_>,
    dev: usize,
    nic: &Mlx5,
    frames: &[XdpFrame],
    flush: bool,
) -> u32 {
    let _span = cpu.enter(Func::Mlx5XdpXmit);
    cpu.spend(Cost::Mlx5XdpXmit);
    let channel = usize::from(cpu.id()) % nic.channels;
    let queue = nic.xdp_ring(channel);
    let ring = &nic.port.tx[queue];
    let mut sent = 0;
    for frame in frames {
        if ring.used() == ring.size() {
            cpu.k.bump(&nic.xdp_xmit_full, 1);
            cpu.k.xdp_return(cpu, *frame, false);
            continue;
        }
        cpu.spend(Cost::Mlx5XdpFrame);
        nic.session[channel].set(nic.session[channel].get() + 1);
        cpu.touch([Footprint {
            base: ring.line(ring.next()),
            reads: 0,
            writes: 1,
        }])
        .await;
        ring.post(cookie(frame), 1, frame.frame);
        cpu.k.bump(&nic.xdp_xmit, 1);
        let device = cpu.k.dev(dev);
        cpu.k.bump(&device.tx_packets, 1);
        cpu.k.bump(&device.tx_bytes, u64::from(frame.frame.len));
        sent += 1;
    }
    if flush && nic.session[channel].replace(0) > 0 {
        // The session is closed, and everything posted is told.
        cpu.spend(Cost::Mlx5XdpSession);
        let txq = cpu.k.txq(cpu.k.dev(dev).txqs.start);
        doorbell(cpu, nic, queue, txq).await;
    }
    sent
}

/// What the ring knows a redirected frame by: receiving device and page.
fn cookie(frame: &XdpFrame) -> u32 {
    (frame.rx_dev as u32) << 24 | frame.page
}

/// `mlx5e_napi_poll` of channel `channel`.
pub(crate) async fn poll(cpu: Cpu<'_>, dev: usize, nic: &Mlx5, napi: usize, weight: u32) -> u32 {
    let _span = cpu.enter(Func::Mlx5Poll);
    let channel = cpu.k.napis[napi].vector;
    let busy = clean_tx(cpu, dev, nic, channel).await | clean_xdp(cpu, nic, channel).await;
    let work = poll_rx(cpu, dev, nic, channel, weight).await;
    if busy || work == weight {
        return weight;
    }
    nic.port.seen(channel);
    if napi_complete_done(cpu, napi).await {
        // mlx5e_cq_arm of each completion queue.
        cpu.spend(Cost::Mlx5CqArm);
        super::unmask(cpu, dev, channel).await;
    }
    work
}

/// `mlx5e_poll_rx_cq`.
async fn poll_rx(cpu: Cpu<'_>, dev: usize, nic: &Mlx5, channel: usize, weight: u32) -> u32 {
    let ring = &nic.port.rx[channel];
    let (mut work, mut redirected, mut bounced) = (0, false, false);
    while work < weight
        && let Some(frame) = ring.take(cpu.now())
    {
        work += 1;
        cpu.spend(Cost::Mlx5RxCqe);
        // The completion entry, then the headers: both written by DMA.
        let cqe = nic.cqe(channel, 0);
        cpu.machine().dma_write(cqe.base);
        cpu.touch([cqe]).await;
        cpu.k.bump(&cpu.k.dev(dev).rx_packets, 1);
        cpu.k.bump(&cpu.k.flow(frame.flow).offered, 1);
        let Some(buffer) = nic.pages.fill(cpu, dev, frame) else {
            ring.missed.set(ring.missed.get() + 1);
            cpu.k.note_drop(frame);
            continue;
        };
        cpu.record(Kind::NetRx, buffer.page, dev as u32);
        cpu.touch([nic.pages.read_headers(buffer.page)]).await;
        let program = nic.program.get();
        let verdict = program.map_or(Verdict::Pass, |program| xdp::run(cpu, program));
        match verdict {
            Verdict::Redirect => {
                redirected = true;
                if xdp::do_redirect(cpu, buffer).await.is_err() {
                    cpu.k.xdp_return(cpu, buffer, false);
                }
            }
            Verdict::Tx => {
                bounced = true;
                xdp_xmit(cpu, dev, nic, &[buffer], false).await;
            }
            Verdict::Pass => pass(cpu, dev, nic, buffer).await,
            Verdict::Aborted | Verdict::Drop => {
                cpu.k.bump(&nic.xdp_drop, 1);
                cpu.k.xdp_return(cpu, buffer, false);
            }
        }
    }
    if bounced {
        xdp_xmit(cpu, dev, nic, &[], true).await;
    }
    if redirected {
        xdp::flush(cpu).await;
    }
    if work > 0 {
        // mlx5e_post_rx_wqes: buffers back to the device, told by a record in memory.
        ring.refill();
    }
    work
}

/// `XDP_PASS`: an skb for the stack. Nobody listens there yet, so it is counted and freed.
async fn pass(cpu: Cpu<'_>, dev: usize, nic: &Mlx5, buffer: XdpFrame) {
    let frame: Frame = buffer.frame;
    let skb = cpu.k.skbs.alloc_frame(cpu, frame).await;
    nic.pages.recycle(cpu, buffer.page);
    match skb {
        Some(skb) => {
            cpu.record(Kind::NetRx, cpu.k.skbs.id(skb), dev as u32);
            cpu.k.note_result(frame.flow, NET_XMIT_SUCCESS, frame.len);
            cpu.k.skbs.put(cpu, skb).await;
        }
        None => cpu.k.note_drop(frame),
    }
}

/// `mlx5e_poll_xdpsq_cq`: true if there is more. One entry a doorbell stands for all its frames.
async fn clean_xdp(cpu: Cpu<'_>, nic: &Mlx5, channel: usize) -> bool {
    let ring = &nic.port.tx[nic.xdp_ring(channel)];
    let mut entries = 0;
    while ring.done().is_some() && entries < TX_CQ_BUDGET {
        entries += 1;
        cpu.spend(Cost::Mlx5XdpCqe);
        let cqe = nic.cqe(channel, 2);
        cpu.machine().dma_write(cqe.base);
        cpu.touch([cqe]).await;
        while let Some(done) = ring.take_done() {
            cpu.spend(Cost::Mlx5XdpClean);
            let (rx_dev, page) = ((done.cookie >> 24) as usize, done.cookie & 0xff_ffff);
            if let Some(pages) = cpu.k.pages(rx_dev) {
                let frame = pages.frame(page);
                cpu.k.xdp_return(cpu, frame, true);
            }
            if done.signalled {
                break;
            }
        }
    }
    entries == TX_CQ_BUDGET
}

/// `mlx5e_poll_tx_cq`: true if there is more.
async fn clean_tx(cpu: Cpu<'_>, dev: usize, nic: &Mlx5, channel: usize) -> bool {
    let ring = &nic.port.tx[channel];
    let (mut entries, mut packets, mut bytes) = (0, 0, 0);
    while ring.done().is_some() && entries < TX_CQ_BUDGET {
        entries += 1;
        cpu.spend(Cost::Mlx5TxCqe);
        let cqe = nic.cqe(channel, 1);
        cpu.machine().dma_write(cqe.base);
        cpu.touch([cqe]).await;
        while let Some(done) = ring.take_done() {
            cpu.spend(Cost::NicClean);
            let skb = Skb(done.cookie);
            packets += 1;
            bytes += cpu.k.skbs.len(skb);
            cpu.k.skbs.put(cpu, skb).await;
            if done.signalled {
                break;
            }
        }
    }
    if packets > 0 {
        let txq = cpu
            .k
            .txq(cpu.k.dev(dev).txqs.start + channel % cpu.k.dev(dev).txqs.len());
        txq.tx_completed_queue(cpu, packets, bytes).await;
        if ring.size() - ring.used() >= STOP_ROOM.min(ring.size() / 2) && txq.drv_stopped(cpu).await
        {
            netif_tx_wake_queue(cpu, txq).await;
        }
    }
    entries == TX_CQ_BUDGET
}
