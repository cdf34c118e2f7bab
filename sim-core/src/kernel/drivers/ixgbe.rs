//! Intel 82599: `ixgbe`. Transmit side; see [`clean`] for completion and receiving, [`itr`] for moderation.
//!
//! Follows Linux 3.19 `drivers/net/ethernet/intel/ixgbe/ixgbe_main.c`; when the tail is written, and
//! whether the queue is stopped before or after that, follows `kernel.tx_kick`. One transmit and one
//! receive ring a vector. Costs of functions are e1000e's as counted: the steps are the same.
//! Approximated: no IOMMU, so a DMA map is instructions only; fragments of an skb are equally long.
//! Absent: flow director (ATR), FCoE, DCB, SR-IOV, receive-side scaling.

pub mod clean;
pub mod itr;

use crate::frame::Frame;
use crate::kernel::netdev::{NET_XMIT_SUCCESS, NETDEV_TX_BUSY, TxQueue};
use crate::kernel::offload::hardware_frame;
use crate::kernel::skb::{IpSummed, Skb, line};
use crate::kernel::{Cost, Cpu, Func};
use crate::machine::Footprint;
use crate::machine::layout::{LINE_BYTES, Layout, LayoutSet};
use crate::machine::memory::{LineId, Placement, Word};
use crate::machine::nic::Port;
use itr::Itr;
use std::cell::Cell;

/// `IXGBE_MAX_DATA_PER_TXD`.
const MAX_DATA_PER_TXD: u32 = 1 << 14;
/// `DESC_NEEDED`: `MAX_SKB_FRAGS` + 4; the queue is stopped when fewer are free.
pub const DESC_NEEDED: u32 = 21;
/// `TX_WAKE_THRESHOLD`: it is woken when so many are.
pub const TX_WAKE_THRESHOLD: u32 = 2 * DESC_NEEDED;
/// `IXGBE_MIN_TXD`.
pub const MIN_RING: u32 = 64;
/// `IXGBE_MAX_TXD`.
pub const MAX_RING: u32 = 4096;
/// `sizeof(struct ixgbe_tx_buffer)` on x86-64.
const TX_BUFFER_BYTES: u32 = 48;

/// When the driver or the core tells the device that descriptors were posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TxKick {
    /// `ndo_start_xmit` writes the tail for each packet (before v3.18).
    Always,
    /// It never does; the core calls `ndo_xmit_flush` (the RFC of August 2014). Its `mmiowb()` is a
    /// compiler barrier on x86, so this is the same as `FlushOpNoMmiowb`.
    FlushOp,
    /// That without `mmiowb()`.
    FlushOpNoMmiowb,
    /// The tail is written unless more follows; always if the queue is stopped (v3.18).
    XmitMore,
    /// As it should not be: the driver returns BUSY for a full ring, and nobody rings for what is in it.
    XmitMoreBusyBug,
    /// As it should not be: the tail is written unless more follows, stopped or not.
    XmitMoreNaive,
}

impl TxKick {
    /// All of them.
    pub const ALL: &'static [TxKick] = &[
        TxKick::Always,
        TxKick::FlushOp,
        TxKick::FlushOpNoMmiowb,
        TxKick::XmitMore,
        TxKick::XmitMoreBusyBug,
        TxKick::XmitMoreNaive,
    ];

    /// The name used in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            TxKick::Always => "always",
            TxKick::FlushOp => "flush_op",
            TxKick::FlushOpNoMmiowb => "flush_op_no_mmiowb",
            TxKick::XmitMore => "xmit_more",
            TxKick::XmitMoreBusyBug => "xmit_more_busy_bug",
            TxKick::XmitMoreNaive => "xmit_more_naive",
        }
    }

    /// What kernel `version` shipped.
    pub fn shipped(version: (u32, u32)) -> TxKick {
        if version < (3, 18) {
            TxKick::Always
        } else {
            TxKick::XmitMore
        }
    }

    /// The core rings, not the driver.
    pub fn in_core(self) -> bool {
        matches!(self, TxKick::FlushOp | TxKick::FlushOpNoMmiowb)
    }

    /// The queue is stopped in advance and only then the tail written (v3.18); else after it.
    fn stops_first(self) -> bool {
        matches!(self, TxKick::XmitMore | TxKick::XmitMoreNaive)
    }
}

/// `struct ixgbe_ring` of v3.19, x86-64: what the sender writes shares line 1 with what completion writes
/// and with the pointer to the tail register that the sender reads.
pub fn ixgbe_ring_layout() -> Layout {
    Layout::new(
        "ixgbe_ring",
        &[
            ("desc", 40, 8),
            ("tx_buffer_info", 48, 8),
            ("state", 56, 8),
            ("tail", 64, 8),
            ("count", 84, 2),
            ("next_to_use", 88, 2),
            ("next_to_clean", 90, 2),
            ("stats", 96, 16),
        ],
    )
}

/// The driver's side of a transmit ring.
#[derive(Debug)]
pub struct Ring {
    /// The first line of `struct ixgbe_ring`: pointers, read only.
    head: LineId,
    tail: Word,
    next_to_use: Word,
    next_to_clean: Word,
    stats: Word,
    buffer_info: LineId,
    count: u32,
    /// `tx_stats.tx_busy`.
    pub tx_busy: Cell<u64>,
    /// `tx_stats.restart_queue`.
    pub restart_queue: Cell<u64>,
}

impl Ring {
    pub(crate) fn place(
        memory: &mut Placement,
        layouts: &LayoutSet,
        name: &str,
        count: u32,
    ) -> Ring {
        let layout = layouts.get("ixgbe_ring", ixgbe_ring_layout);
        let placed = memory.object(format_args!("ixgbe_ring {name}"), layout);
        let mut field = |f: &str| memory.field(&placed, f);
        let (tail, next_to_use) = (field("tail"), field("next_to_use"));
        let (next_to_clean, stats) = (field("next_to_clean"), field("stats"));
        let bytes = count * TX_BUFFER_BYTES;
        Ring {
            head: placed.line_of("desc"),
            tail,
            next_to_use,
            next_to_clean,
            stats,
            buffer_info: memory.lines(
                format_args!("ixgbe_ring {name} tx_buffer_info"),
                bytes.div_ceil(LINE_BYTES),
            ),
            count,
            tx_busy: Cell::new(0),
            restart_queue: Cell::new(0),
        }
    }

    /// The lines of entry `n` of `tx_buffer_info`: entries are not aligned, so some lie on two.
    fn buffer(&self, n: u64, write: bool) -> Footprint {
        let first = (n % u64::from(self.count)) as u32 * TX_BUFFER_BYTES;
        let line = first / LINE_BYTES;
        let lines = (first + TX_BUFFER_BYTES - 1) / LINE_BYTES - line + 1;
        let mask = (1 << lines) - 1;
        Footprint {
            base: self.buffer_info.nth(line),
            reads: if write { 0 } else { mask },
            writes: if write { mask } else { 0 },
        }
    }

    /// `ixgbe_desc_unused`.
    async fn unused(&self, cpu: Cpu<'_>) -> u32 {
        let clean = cpu.load(self.next_to_clean).await as u32;
        let used = cpu.load(self.next_to_use).await as u32;
        let wrap = if clean > used { 0 } else { self.count };
        wrap + clean - used - 1
    }

    /// `ixgbe_maybe_stop_tx`: true if the queue is stopped because fewer than `size` are free.
    async fn maybe_stop_tx(&self, cpu: Cpu<'_>, txq: &TxQueue, size: u32) -> bool {
        if self.unused(cpu).await >= size {
            return false;
        }
        txq.stop(cpu).await;
        if !cpu.k.config.stop_recheck {
            return true;
        }
        // The bit before the second look, or a completion in between wakes nobody.
        cpu.smp_mb().await;
        if self.unused(cpu).await < size {
            return true;
        }
        // A reprieve.
        txq.start(cpu).await;
        cpu.k.bump(&self.restart_queue, 1);
        false
    }
}

/// State of one NIC.
#[derive(Debug)]
pub struct Ixgbe {
    /// The hardware: a ring each way and a vector for each queue.
    pub port: Port,
    /// `adapter->tx_ring[]`.
    pub rings: Vec<Ring>,
    /// `adapter->q_vector[]`, where moderation adapts.
    pub(crate) itr: Vec<Itr>,
    /// The line of `adapter->tx_ring[]`.
    pub(crate) adapter: LineId,
    /// Device to which received frames are forwarded (IPv4).
    pub(crate) forward_to: Cell<Option<usize>>,
}

/// Descriptors of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Descriptors {
    /// Of data.
    data: u32,
    /// A context descriptor goes before them.
    context: bool,
}

fn descriptors(cpu: Cpu<'_>, skb: Skb, frame: &Frame) -> Descriptors {
    let skbs = &cpu.k.skbs;
    let (frags, bytes) = skbs.fragments(skb);
    let of = |bytes: u32| bytes.div_ceil(MAX_DATA_PER_TXD);
    let head = of(skbs.len(skb) - bytes);
    let each = if frags == 0 {
        0
    } else {
        of(bytes.div_ceil(frags))
    };
    let meta = skbs.meta(skb);
    Descriptors {
        data: head + frags * each,
        context: frame.segs > 1 || meta.ip_summed == IpSummed::Partial || meta.vlan_tag.is_some(),
    }
}

/// `first->bytecount`: what BQL is told; each segment has headers of its own.
fn bytecount(cpu: Cpu<'_>, skb: Skb) -> u32 {
    let frame = cpu.k.skbs.frame(skb);
    frame.len + (u32::from(frame.segs.max(1)) - 1) * frame.header_len()
}

fn read(base: LineId) -> Footprint {
    Footprint {
        base,
        reads: 1,
        writes: 0,
    }
}

/// `ixgbe_xmit_frame_ring`, under the transmit lock.
pub(crate) async fn xmit(cpu: Cpu<'_>, nic: &Ixgbe, txq: &TxQueue, skb: Skb, more: bool) -> i32 {
    let _span = cpu.enter(Func::IxgbeXmit);
    let queue = txq.index as usize;
    let (k, kick) = (cpu.k, cpu.k.config.tx_kick);
    let (ring, hw) = (&nic.rings[queue], &nic.port.tx[queue]);
    let need = descriptors(cpu, skb, &k.skbs.frame(skb));
    // Head and fragments, a context descriptor, and a gap of two.
    if ring.maybe_stop_tx(cpu, txq, need.data + 3).await {
        k.bump(&ring.tx_busy, 1);
        return NETDEV_TX_BUSY;
    }
    let frame = hardware_frame(cpu, txq.dev, skb);
    let first = hw.next();
    cpu.spend(Cost::NicXmit);
    cpu.touch([
        read(ring.head),
        k.skbs.struct_lines(skb, line::L1 | line::L2 | line::L3, 0),
        k.skbs.head_lines(skb, line::HEADERS | line::SHINFO, 0),
        ring.buffer(first, true),
    ])
    .await;
    let count = need.data + u32::from(need.context);
    tx_map(cpu, nic, queue, count).await;
    let bytes = bytecount(cpu, skb);
    txq.tx_sent_queue(cpu, bytes).await;
    // wmb: descriptors before next_to_watch, which is what completion looks at; both before the tail.
    cpu.wmb().await;
    cpu.touch([ring.buffer(first, true)]).await;
    hw.post(skb.0, count, frame);
    let next = hw.next() % u64::from(ring.count);
    cpu.store(ring.next_to_use, next).await;
    if kick.stops_first() {
        ring.maybe_stop_tx(cpu, txq, DESC_NEEDED).await;
    }
    let now = match kick {
        TxKick::Always => true,
        TxKick::FlushOp | TxKick::FlushOpNoMmiowb => false,
        TxKick::XmitMore | TxKick::XmitMoreBusyBug => txq.stopped(cpu).await || !more,
        TxKick::XmitMoreNaive => !more,
    };
    if now {
        write_tail(cpu, nic, txq).await;
    }
    if !kick.stops_first() && kick != TxKick::XmitMoreBusyBug {
        ring.maybe_stop_tx(cpu, txq, DESC_NEEDED).await;
    }
    NET_XMIT_SUCCESS
}

/// `ixgbe_tx_map`, and `ixgbe_tx_ctxtdesc` for the first of them if there is one: each descriptor with its
/// entry in `tx_buffer_info`.
async fn tx_map(cpu: Cpu<'_>, nic: &Ixgbe, queue: usize, count: u32) {
    let (ring, hw) = (&nic.rings[queue], &nic.port.tx[queue]);
    for n in 0..count {
        if n > 0 {
            cpu.spend(Cost::OffloadXmitDesc);
        }
        let n = hw.next() + u64::from(n);
        cpu.touch([
            Footprint {
                base: hw.line(n),
                reads: 0,
                writes: 1,
            },
            ring.buffer(n, true),
        ])
        .await;
    }
}

/// `writel(next_to_use, tail)`.
async fn write_tail(cpu: Cpu<'_>, nic: &Ixgbe, txq: &TxQueue) {
    let queue = txq.index as usize;
    cpu.load(nic.rings[queue].tail).await;
    cpu.uncached_write().await;
    super::posted_doorbell(cpu, &nic.port, queue, txq);
}

/// `ixgbe_xmit_flush`: from the adapter to the ring, and the tail. `mmiowb()` behind it costs nothing.
pub(crate) async fn xmit_flush(cpu: Cpu<'_>, nic: &Ixgbe, txq: &TxQueue) {
    let _span = cpu.enter(Func::IxgbeXmitFlush);
    cpu.spend(Cost::XmitFlush);
    cpu.touch([read(nic.adapter)]).await;
    cpu.load(nic.rings[txq.index as usize].next_to_use).await;
    write_tail(cpu, nic, txq).await;
}
