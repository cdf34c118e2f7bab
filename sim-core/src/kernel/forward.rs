//! IPv4 forwarding: from `netif_receive_skb` to `dev_queue_xmit`.
//!
//! Follows Linux 5.11 `net/ipv4/{ip_input,ip_forward,ip_output,route}.c`. One FIB walk a packet, a
//! cached dst without a reference count, a connected neighbour. The tables are read only and hot, so
//! only their instructions count. Absent: ICMP errors, GRO merging, route hints, netfilter.

use super::core::dev_xmit::dev_queue_xmit;
use super::skb::{Skb, line};
use super::{Cost, Cpu, Func};

/// Receives `skb` and forwards it out of device `to`; the result is `dev_queue_xmit`'s.
pub(crate) async fn ip_forward_rx(cpu: Cpu<'_>, skb: Skb, to: usize) -> i32 {
    cpu.spend(Cost::NetifReceive);
    let skbs = &cpu.k.skbs;
    {
        let _span = cpu.enter(Func::IpRcv);
        cpu.spend(Cost::IpRcv);
        // IPCB, transport header, dst.
        cpu.touch([skbs.struct_lines(skb, 0, line::L0 | line::L1 | line::L2)])
            .await;
        cpu.spend(Cost::IpRouteInput);
        cpu.indirect_call();
    }
    {
        let _span = cpu.enter(Func::IpForward);
        cpu.spend(Cost::IpForward);
        // ttl and checksum.
        cpu.touch([skbs.head_lines(skb, 0, line::HEADERS)]).await;
        cpu.indirect_call();
    }
    let _span = cpu.enter(Func::IpOutput);
    cpu.spend(Cost::IpFinishOutput2);
    // Six per-CPU SNMP counters on the way.
    for _ in 0..6 {
        cpu.this_cpu_op();
    }
    cpu.touch([
        skbs.struct_lines(skb, 0, line::L3),
        skbs.head_lines(skb, 0, line::HEADERS),
    ])
    .await;
    dev_queue_xmit(cpu, to, 0, skb).await
}
