//! `__netif_receive_skb_core`: from a driver to a protocol, through the VLAN devices on the way.
//!
//! Follows Linux 3.7 `net/core/dev.c` and `net/8021q/vlan_core.c`. Absent: taps, RPS, rx handlers, other
//! protocols than IPv4 with TCP.

use crate::kernel::netdev_fields::{self, Reads};
use crate::kernel::skb::{Skb, line};
use crate::kernel::{Cost, Cpu, Func, Reason};

/// `netif_receive_skb` of what `dev` received.
pub(crate) async fn netif_receive_skb(cpu: Cpu<'_>, mut dev: usize, skb: Skb) {
    let span = cpu.enter(Func::NetifReceive);
    let (k, skbs) = (cpu.k, &cpu.k.skbs);
    cpu.spend(Cost::NetifReceiveCore);
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
    cpu.spend(Cost::IpLocalDeliver);
    crate::kernel::tcp::tcp_v4_rcv(cpu, skb).await;
}
