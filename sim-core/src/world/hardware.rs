//! From a configuration to NIC hardware and what arrives at it.

use crate::config::{self, DeviceKind};
use crate::engine::time::{Instant, Span};
use crate::frame::Frame;
use crate::kernel::dql;
use crate::kernel::drivers::ixgbe::itr::Itr;
use crate::kernel::drivers::mlx5::{CQ_LINES, Mlx5};
use crate::kernel::xdp::Pages;
use crate::machine::memory::{Placement, Word};
use crate::machine::nic::{
    ETH_ZLEN, Flood, Moderation, Port, Report, RxRing, TxRing, Vector, Wire,
};
use std::cell::Cell;

/// Descriptors of 16 bytes in a line.
const DESCS_PER_LINE: u32 = 4;

/// The hardware of a NIC: a ring each way and a vector for each of its CPUs.
pub(super) fn port(memory: &mut Placement, name: &str, nic: &config::Nic) -> Port {
    let least = if nic.wire_overhead == 0 { 0 } else { ETH_ZLEN };
    let mut port = Port::new(Wire::new(nic.rate, nic.wire_overhead, least), Span::ZERO);
    let mut ring = |which: &str, size: u32| {
        memory.lines(
            format_args!("{name} {which} ring"),
            size.div_ceil(DESCS_PER_LINE),
        )
    };
    for &cpu in &nic.irq_cpus {
        let (tx, rx) = (nic.tx_ring, nic.rx_ring);
        let tx = TxRing::new(tx, ring("tx", tx), DESCS_PER_LINE);
        tx.set_ahead(nic.tx_memory);
        port.tx.push(tx);
        port.rx
            .push(RxRing::new(rx, ring("rx", rx), DESCS_PER_LINE));
        port.vectors
            .push(Vector::new(cpu, hardware(nic.moderation)));
    }
    port
}

/// `_count` of each page of receive buffers, on a line of its own; two buffers are on a page.
pub(super) fn rx_pages(memory: &mut Placement, name: &str, rx_ring: u32) -> Word {
    let word =
        |memory: &mut Placement, n| memory.lone_word(format_args!("{name} rx page {n} _count"), 0);
    let first = word(memory, 0);
    for n in 1..rx_ring.div_ceil(2) {
        word(memory, n);
    }
    first
}

/// A second transmit ring for each channel, for redirected frames; reports once a doorbell.
pub(super) fn mlx5(memory: &mut Placement, name: &str, nic: &config::Nic) -> Mlx5 {
    let channels = nic.irq_cpus.len();
    let mut port = port(memory, name, nic);
    for _ in 0..channels {
        // Descriptors of 64 bytes.
        let lines = memory.lines(format_args!("{name} xdp ring"), nic.tx_ring);
        port.tx.push(TxRing::new(nic.tx_ring, lines, 1));
    }
    port.tx = std::mem::take(&mut port.tx)
        .into_iter()
        .map(|ring| ring.reporting(Report::Doorbell))
        .collect();
    let pages = (nic.rx_ring + nic.tx_ring) * channels as u32 * 2;
    Mlx5 {
        port,
        channels,
        pages: Pages::place(memory, name, pages),
        program: Cell::new(None),
        cqs: memory.lines(
            format_args!("{name} completion queues"),
            channels as u32 * CQ_LINES,
        ),
        session: (0..channels).map(|_| Cell::new(0)).collect(),
        xdp_xmit: Cell::new(0),
        xdp_xmit_full: Cell::new(0),
        xdp_drop: Cell::new(0),
    }
}

/// Frames of a traffic generator: `pps` a second, or as many as the ring takes.
pub(super) fn flood(flow: u32, len: u32, pps: Option<u64>, packets: Option<u64>) -> Flood {
    Flood {
        frame: Frame {
            flow,
            len,
            port: flow,
            segs: 1,
            ..Frame::default()
        },
        every: pps.map_or(Span::ZERO, |n| Span::from_ps(1_000_000_000_000 / n)),
        frames: packets.unwrap_or(u64::MAX),
        start: Instant::ZERO,
    }
}

fn hardware(moderation: config::Moderation) -> Moderation {
    match moderation {
        config::Moderation::Delay { after, frames } => Moderation::Delay {
            after: Span::from_ps(after),
            frames,
        },
        config::Moderation::Adaptive => Moderation::Throttle(Cell::new(Itr::first())),
        config::Moderation::Throttle(gap) => Moderation::Throttle(Cell::new(Span::from_ps(gap))),
    }
}

pub(super) fn bql_limits(d: &config::Device, hz: u32) -> Option<dql::Limits> {
    match &d.kind {
        DeviceKind::Nic(nic) => nic.bql.map(|(min, max)| dql::Limits { min, max, hz }),
        _ => None,
    }
}
