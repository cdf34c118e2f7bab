//! VLAN devices, stacked on another device to any depth.
//!
//! Follows Linux 3.7 and 6.9 `net/8021q/vlan_dev.c`. Noqueue and LLTX; counters for each CPU, so their
//! cost is private. With `reorder_hdr` off the tag is put into the data when the header is built, unless
//! the device below inserts tags itself. Absent: priorities, macvlan and bridge ports on top.

use crate::frame::{Tag, VLAN_HLEN};
use crate::kernel::core::dev_xmit::dev_queue_xmit;
use crate::kernel::netdev::{Driver, NET_XMIT_CN, NET_XMIT_SUCCESS};
use crate::kernel::skb::{Skb, line};
use crate::kernel::{Cost, Cpu, Func};

/// State of one VLAN device.
#[derive(Debug)]
pub struct Vlan {
    /// The device below (`real_dev`).
    pub on: usize,
    /// Its tag.
    pub tag: Tag,
    /// `VLAN_FLAG_REORDER_HDR`.
    pub reorder_hdr: bool,
}

/// `dev_hard_header` of `dev`: Ethernet, and below each VLAN device without `reorder_hdr` its tag.
pub(crate) fn hard_header(cpu: Cpu<'_>, mut dev: usize, skb: Skb) {
    let skbs = &cpu.k.skbs;
    while let Driver::Vlan(vlan) = &cpu.k.dev(dev).driver {
        if cpu.k.dev(dev).offload.passthru {
            // The header ops are those of the device below.
            return;
        }
        cpu.spend(Cost::VlanHardHeader);
        if !vlan.reorder_hdr {
            let mut frame = skbs.frame(skb);
            push_inner(&mut frame, vlan.tag);
            skbs.set_frame(skb, frame);
        }
        dev = vlan.on;
    }
}

/// Each device down the stack pushes its tag outside those of the devices above it.
fn push_inner(frame: &mut crate::frame::Frame, tag: Tag) {
    frame.tags.push(tag);
    frame.len += VLAN_HLEN;
}

/// `vlan_dev_hard_start_xmit`.
pub(crate) async fn xmit(cpu: Cpu<'_>, vlan: &Vlan, dev: usize, skb: Skb) -> i32 {
    let _span = cpu.enter(Func::VlanXmit);
    let (k, skbs) = (cpu.k, &cpu.k.skbs);
    cpu.spend(Cost::VlanXmit);
    cpu.touch([
        skbs.struct_lines(skb, line::L2 | line::L3, line::L0 | line::L2),
        skbs.head_lines(skb, line::HEADERS, 0),
    ])
    .await;
    let outer = skbs.frame(skb).tags.outer();
    if vlan.reorder_hdr || outer.is_none_or(|tag| tag.tpid != vlan.tag.tpid) {
        let mut meta = skbs.meta(skb);
        meta.vlan_tag = Some(vlan.tag);
        skbs.set_meta(skb, meta);
    }
    let len = skbs.len(skb);
    // The one place where the stack's recursion is cut: a device below may be a VLAN itself.
    let rc = Box::pin(dev_queue_xmit(cpu, vlan.on, 0, skb)).await;
    cpu.this_cpu_op();
    let device = k.dev(dev);
    if rc == NET_XMIT_SUCCESS || rc == NET_XMIT_CN {
        k.bump(&device.tx_packets, 1);
        k.bump(&device.tx_bytes, u64::from(len));
    } else {
        k.bump(&device.tx_dropped, 1);
    }
    rc
}

/// `vlan_do_receive` into VLAN device `dev`: the tag is taken off; without `reorder_hdr` it goes back
/// into the data, for taps.
pub(crate) async fn do_receive(cpu: Cpu<'_>, dev: usize, skb: Skb) {
    let (k, skbs) = (cpu.k, &cpu.k.skbs);
    cpu.spend(Cost::VlanDoReceive);
    if let Driver::Vlan(vlan) = &k.dev(dev).driver
        && !vlan.reorder_hdr
    {
        cpu.spend(Cost::VlanPutTag);
        cpu.touch([skbs.head_lines(skb, 0, line::HEADERS)]).await;
    }
    cpu.touch([skbs.struct_lines(skb, 0, line::L0 | line::L2)])
        .await;
    let mut meta = skbs.meta(skb);
    meta.vlan_tag = None;
    skbs.set_meta(skb, meta);
    cpu.this_cpu_op();
    k.bump(&k.dev(dev).rx_packets, 1);
}
