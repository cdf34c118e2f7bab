//! `drivers/net/veth.c`: a pair of devices; what one sends the other receives.
//!
//! Follows Linux 6.1. Modelled: the way through this CPU's backlog, and, at a receiver with NAPI (GRO on, or
//! an XDP program attached), the ring of 256 slots with `rx_notify_masked` and its pair of barriers.
//! Absent: XDP itself, GRO of what is received, more than one queue, peers in other hosts.

use crate::kernel::backlog::{NET_RX_SUCCESS, netif_rx};
use crate::kernel::napi::{__napi_schedule, napi_complete_done};
use crate::kernel::netdev::{Driver, NET_XMIT_SUCCESS};
use crate::kernel::sched::ptr_ring::PtrRing;
use crate::kernel::skb::{Skb, line};
use crate::kernel::{Cost, Cpu, Func, Reason};
use crate::machine::memory::{Placement, Word};
use crate::machine::{Order, Rmw};
use std::cell::Cell;

/// `VETH_RING_SIZE`.
const RING_SIZE: u32 = 256;

/// One end of a pair.
#[derive(Debug)]
pub struct Veth {
    /// The other end.
    pub peer: usize,
    /// `priv->dropped`.
    dropped: Word,
    /// Its receive queue, if it polls.
    pub rq: Option<VethRq>,
}

/// `struct veth_rq`.
#[derive(Debug)]
pub struct VethRq {
    /// `xdp_ring`.
    pub ring: PtrRing,
    masked: Word,
    /// Number of its NAPI instance.
    pub(crate) napi: Cell<usize>,
}

impl Veth {
    pub(crate) fn place(
        memory: &mut Placement,
        name: &str,
        peer: usize,
        napi: bool,
        locks: &mut Vec<String>,
    ) -> Veth {
        let rq = napi.then(|| {
            let ring = format!("{name} xdp_ring");
            locks.push(format!("{ring} producer_lock"));
            VethRq {
                ring: PtrRing::place(memory, &ring, RING_SIZE, locks.len() as u32 - 1),
                masked: memory.lone_word(format_args!("veth_rq {name} rx_notify_masked"), 0),
                napi: Cell::new(usize::MAX),
            }
        });
        Veth {
            peer,
            dropped: memory.lone_word(format_args!("veth_priv {name} dropped"), 0),
            rq,
        }
    }
}

/// `veth_xmit`.
pub(crate) async fn veth_xmit(cpu: Cpu<'_>, veth: &Veth, skb: Skb) -> i32 {
    let _span = cpu.enter(Func::VethXmit);
    cpu.spend(Cost::VethXmit);
    let k = cpu.k;
    // __dev_forward_skb: scrubbed, and the header looked at for the receiver.
    cpu.touch([
        k.skbs
            .struct_lines(skb, line::L1 | line::L3, line::L0 | line::L2),
        k.skbs.head_lines(skb, line::HEADERS, 0),
    ])
    .await;
    let peer = k.dev(veth.peer);
    let Driver::Veth(Veth { rq, .. }) = &peer.driver else {
        unreachable!("the peer of a veth is a veth")
    };
    let received = match rq {
        Some(rq) => {
            let queued = rq.ring.produce(cpu, skb, || {}).await;
            if !queued {
                k.drop_skb(cpu, skb, Reason::FullRing).await;
            }
            xdp_flush(cpu, rq).await;
            queued
        }
        None => netif_rx(cpu, veth.peer, skb).await == NET_RX_SUCCESS,
    };
    if received {
        // dev_lstats_add
        cpu.this_cpu_op();
        k.bump(&peer.rx_packets, 1);
    } else {
        cpu.rmw(veth.dropped, Rmw::Add(1), Order::Relaxed).await;
        if rq.is_some() {
            k.bump(&peer.rx_dropped, 1);
        }
    }
    NET_XMIT_SUCCESS
}

/// `__veth_xdp_flush`: whoever puts something in the ring sees to it that it is polled.
async fn xdp_flush(cpu: Cpu<'_>, rq: &VethRq) {
    // The ring is written before the flag is read; the poll does both the other way round.
    if cpu.k.config.veth_mb {
        cpu.smp_mb().await;
    }
    if cpu.load(rq.masked).await == 0 {
        schedule(cpu, rq).await;
    }
}

async fn schedule(cpu: Cpu<'_>, rq: &VethRq) {
    let number = rq.napi.get();
    if cpu.k.napis[number].schedule_prep(cpu).await {
        cpu.store(rq.masked, 1).await;
        __napi_schedule(cpu, number);
    }
}

/// `veth_poll`.
pub(crate) async fn poll(cpu: Cpu<'_>, dev: usize, rq: &VethRq, weight: u32) -> u32 {
    let _span = cpu.enter(Func::VethPoll);
    let mut work = 0;
    while work < weight
        && let Some(skb) = rq.ring.consume(cpu).await
    {
        cpu.spend(Cost::VethRcv);
        crate::kernel::core::receive::netif_receive_skb(cpu, dev, skb).await;
        work += 1;
    }
    if work < weight && napi_complete_done(cpu, rq.napi.get()).await {
        // smp_store_mb: the flag is written before the ring is read.
        cpu.store(rq.masked, 0).await;
        if cpu.k.config.veth_mb {
            cpu.smp_mb().await;
        }
        if !rq.ring.is_empty(cpu).await {
            schedule(cpu, rq).await;
        }
    }
    work
}
