//! `drivers/net/loopback.c`: what is sent is received, by way of this CPU's backlog.
//!
//! Follows Linux 6.1. LLTX, no queue; the packet keeps its route.

use crate::kernel::backlog::{NET_RX_SUCCESS, netif_rx};
use crate::kernel::netdev::NET_XMIT_SUCCESS;
use crate::kernel::skb::{Skb, line};
use crate::kernel::{Cost, Cpu, Func};

/// `loopback_xmit`.
pub(crate) async fn loopback_xmit(cpu: Cpu<'_>, dev: usize, skb: Skb) -> i32 {
    let _span = cpu.enter(Func::LoopbackXmit);
    cpu.spend(Cost::LoopbackXmit);
    let skbs = &cpu.k.skbs;
    // Orphaned before it is queued: the loopback's queue is no reason to keep the sender waiting.
    skbs.orphan(cpu, skb).await;
    cpu.touch([
        skbs.struct_lines(skb, line::L1 | line::L3, line::L0 | line::L2),
        skbs.head_lines(skb, line::HEADERS, 0),
    ])
    .await;
    if netif_rx(cpu, dev, skb).await == NET_RX_SUCCESS {
        // dev_lstats_add
        cpu.this_cpu_op();
        cpu.k.bump(&cpu.k.dev(dev).rx_packets, 1);
    }
    NET_XMIT_SUCCESS
}
