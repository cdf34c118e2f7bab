//! `__netif_receive_skb_core`: from a driver to a protocol, through the VLAN devices on the way.
//!
//! Follows Linux 3.7 to 6.1 `net/core/dev.c` and `net/8021q/vlan_core.c`. Absent: taps, rx handlers, other
//! protocols than IPv4 with TCP or UDP.

use crate::frame::L4;
use crate::kernel::backlog;
use crate::kernel::netdev::Driver;
use crate::kernel::netdev_fields::{self, Reads};
use crate::kernel::skb::{Skb, line};
use crate::kernel::{Cost, Cpu, Func, Reason};

/// `netif_receive_skb` of what `dev` received: to the stack, or to the CPU that RPS says.
pub(crate) async fn netif_receive_skb(cpu: Cpu<'_>, dev: usize, skb: Skb) {
    if let Some(target) = backlog::get_rps_cpu(cpu, dev, skb).await {
        backlog::enqueue_to_backlog(cpu, dev, skb, target).await;
        return;
    }
    __netif_receive_skb(cpu, dev, skb, Cost::NetifReceiveCore).await;
}

/// `__netif_receive_skb`; `cost` is what the way there took, beside the core.
pub(crate) async fn __netif_receive_skb(cpu: Cpu<'_>, mut dev: usize, skb: Skb, cost: Cost) {
    let span = cpu.enter(Func::NetifReceive);
    let (k, skbs) = (cpu.k, &cpu.k.skbs);
    cpu.spend(cost);
    backlog::count_processed(cpu).await;
    cpu.touch([skbs.struct_lines(skb, line::L1 | line::L2 | line::L3, line::L0)])
        .await;
    netdev_fields::read(cpu, dev, Reads::Receive).await;
    // another_round: each VLAN device takes one tag off.
    loop {
        let mut meta = skbs.meta(skb);
        if meta.vlan_tag.is_none() {
            let mut frame = skbs.frame(skb);
            let Some(tag) = frame.tags.pop() else { break };
            cpu.spend(Cost::VlanUntag);
            cpu.touch([
                skbs.struct_lines(skb, 0, line::L1 | line::L2),
                skbs.head_lines(skb, 0, line::HEADERS),
            ])
            .await;
            frame.len -= crate::frame::VLAN_HLEN;
            skbs.set_frame(skb, frame);
            meta.vlan_tag = Some(tag);
            skbs.set_meta(skb, meta);
        }
        let _span = cpu.enter(Func::VlanDoReceive);
        let Some(upper) = k.vlan_on(dev, meta.vlan_tag) else {
            // PACKET_OTHERHOST.
            return k.drop_skb(cpu, skb, Reason::OtherHost).await;
        };
        crate::kernel::drivers::vlan::do_receive(cpu, upper, skb).await;
        dev = upper;
    }
    drop(span);
    cpu.spend(Cost::IpRcv);
    cpu.touch([skbs.struct_lines(skb, 0, line::L0 | line::L1 | line::L2)])
        .await;
    if let L4::Udp = skbs.frame(skb).l4 {
        // ip_rcv_core: whoever sent it on this host is done with it.
        skbs.orphan(cpu, skb).await;
        cpu.spend(Cost::IpRcvFinish);
        // What comes over loopback kept its route.
        if !matches!(k.dev(dev).driver, Driver::Loopback) {
            cpu.spend(Cost::IpRouteInput);
        }
        cpu.spend(Cost::IpLocalDeliver);
        return crate::kernel::udp::udp_rcv(cpu, dev, skb).await;
    }
    cpu.spend(Cost::IpLocalDeliver);
    crate::kernel::tcp::tcp_v4_rcv(cpu, skb).await;
}
