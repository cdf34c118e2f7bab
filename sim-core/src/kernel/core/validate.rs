//! `validate_xmit_skb`: what software does for a device that cannot.
//!
//! Follows Linux 3.7 `dev_hard_start_xmit` and 6.9 `validate_xmit_skb` of `net/core/dev.c`, and
//! `skb_segment` of `net/core/skbuff.c`. Which of it is needed is
//! [`features`](crate::kernel::features)' to say; here is what it costs and does.
//! Absent: failures of memory other than dropping the packet whole.

use crate::frame::{L4, VLAN_HLEN};
use crate::kernel::skb::{IpSummed, Meta, Skb, line};
use crate::kernel::{Cost, Cpu, Func, Reason};

/// What is to be done with a packet before its driver gets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Todo {
    /// The tag goes into the data.
    pub push_tag: bool,
    /// Segmentation.
    pub segment: bool,
    /// Payload is copied together: segmentation copies it, and without segmentation it is linearised.
    pub copy: bool,
    /// The checksum is computed.
    pub checksum: bool,
}

/// What [`validate_xmit_skb`] made of a packet.
pub(crate) struct Validated {
    /// The packet, or its segments in a list.
    pub head: Skb,
    /// The last of them.
    pub last: Skb,
    /// 3.7: the packet that was segmented; it is freed when its segments are sent.
    pub whole: Option<Skb>,
}

/// Makes `skb` fit for `dev`; `None` if it had to be dropped.
pub(crate) async fn validate_xmit_skb(cpu: Cpu<'_>, dev: usize, skb: Skb) -> Option<Validated> {
    let todo = cpu.k.todo(dev, skb);
    if todo.push_tag {
        vlan_put_tag(cpu, skb).await;
    }
    if todo.segment {
        return skb_segment(cpu, dev, skb, todo).await;
    }
    if todo.copy {
        linearize(cpu, skb).await;
    }
    if todo.checksum {
        checksum_help(cpu, skb).await;
    }
    Some(Validated {
        head: skb,
        last: skb,
        whole: None,
    })
}

/// `__vlan_put_tag`: the tag beside the data goes into them. TCP gives up its headers
/// (`skb_header_release`), so those of its clones are nobody else's and are not copied.
async fn vlan_put_tag(cpu: Cpu<'_>, skb: Skb) {
    let skbs = &cpu.k.skbs;
    let mut meta = skbs.meta(skb);
    let Some(tag) = meta.vlan_tag.take() else {
        return;
    };
    cpu.spend(Cost::VlanPutTag);
    cpu.touch([
        skbs.struct_lines(skb, 0, line::L2 | line::L3),
        skbs.head_lines(skb, line::HEADERS, line::HEADERS),
    ])
    .await;
    let mut frame = skbs.frame(skb);
    frame.tags.push(tag);
    frame.len += VLAN_HLEN;
    skbs.set_frame(skb, frame);
    skbs.set_meta(skb, meta);
}

/// `__skb_linearize`: the fragments are copied behind the headers.
async fn linearize(cpu: Cpu<'_>, skb: Skb) {
    let _span = cpu.enter(Func::Linearize);
    let skbs = &cpu.k.skbs;
    let mut meta = skbs.meta(skb);
    cpu.spend(Cost::Linearize);
    for _ in 0..meta.nr_frags {
        cpu.spend(Cost::PutPage);
    }
    copy_payload(cpu, meta, meta.data_len);
    cpu.touch([skbs.head_lines(skb, line::SHINFO, line::HEADERS | line::SHINFO)])
        .await;
    meta.nr_frags = 0;
    meta.data_len = 0;
    skbs.set_meta(skb, meta);
}

/// `skb_checksum_help`: one pass over the payload.
async fn checksum_help(cpu: Cpu<'_>, skb: Skb) {
    let _span = cpu.enter(Func::ChecksumHelp);
    let skbs = &cpu.k.skbs;
    cpu.spend(Cost::ChecksumHelp);
    copy_payload(cpu, skbs.meta(skb), payload(cpu, skb));
    cpu.touch([skbs.head_lines(skb, line::HEADERS, line::HEADERS)])
        .await;
    let mut meta = skbs.meta(skb);
    meta.ip_summed = IpSummed::None;
    skbs.set_meta(skb, meta);
}

/// A pass over `bytes` of a payload: most often this CPU has just copied them from the user.
fn copy_payload(cpu: Cpu<'_>, meta: Meta, bytes: u32) {
    if meta.cached_on == Some(cpu.id()) {
        cpu.copy_warm(bytes);
    } else {
        cpu.copy(bytes);
    }
}

fn payload(cpu: Cpu<'_>, skb: Skb) -> u32 {
    match cpu.k.skbs.frame(skb).l4 {
        L4::Tcp(tcp) => tcp.len,
        L4::Udp => 0,
    }
}

/// `__skb_gso_segment`: all segments are made before the first is sent.
async fn skb_segment(cpu: Cpu<'_>, dev: usize, skb: Skb, todo: Todo) -> Option<Validated> {
    let _span = cpu.enter(Func::SkbSegment);
    let (k, skbs) = (cpu.k, &cpu.k.skbs);
    let (frame, meta) = (skbs.frame(skb), skbs.meta(skb));
    cpu.spend(Cost::GsoSkb);
    cpu.touch([
        skbs.struct_lines(skb, line::L1 | line::L2 | line::L3, 0),
        skbs.head_lines(skb, line::HEADERS | line::SHINFO, 0),
    ])
    .await;
    let mut list: Option<(Skb, Skb)> = None;
    for n in 0..frame.segs {
        let part = frame.segment(n);
        let Some(new) = skbs.alloc_frame(cpu, part).await else {
            drop_list(cpu, list.map(|(head, _)| head)).await;
            k.bump(&k.dev(dev).tx_dropped, 1);
            k.drop_skb(cpu, skb, Reason::NoMem).await;
            return None;
        };
        let L4::Tcp(tcp) = part.l4 else {
            unreachable!("only TCP is segmented")
        };
        let mut own = Meta {
            cloned: false,
            ..meta
        };
        if todo.copy {
            // Copied, and with the same loop summed if nobody else will.
            cpu.spend(Cost::GsoSegmentCopy);
            copy_payload(cpu, meta, tcp.len);
            own.nr_frags = 0;
            own.data_len = 0;
        } else {
            cpu.spend(Cost::GsoSegment);
            let offset = u32::from(n) * u32::from(frame.gso_size);
            let frag = |at: u32| at / crate::kernel::tcp::PAGE_FRAG;
            own.nr_frags = (frag(offset + tcp.len - 1) - frag(offset) + 1) as u8;
            own.data_len = tcp.len;
            for _ in 0..own.nr_frags {
                cpu.spend(Cost::PutPage);
            }
            if todo.checksum {
                cpu.spend(Cost::ChecksumHelp);
                copy_payload(cpu, meta, tcp.len);
            }
        }
        if todo.checksum {
            own.ip_summed = IpSummed::None;
        }
        skbs.set_meta(new, own);
        skbs.set_born(new, skbs.born(skb));
        cpu.touch([
            skbs.struct_lines(new, 0, line::L1 | line::L2 | line::L3),
            skbs.head_lines(new, 0, line::HEADERS | line::SHINFO),
        ])
        .await;
        match &mut list {
            None => list = Some((new, new)),
            Some((_, last)) => {
                skbs.set_next(*last, Some(new));
                *last = new;
            }
        }
    }
    let (head, last) = list?;
    let whole = if k.config.validate_in_lock {
        Some(skb)
    } else {
        // The last segment takes over what the socket waits for.
        skbs.set_owner(last, skbs.owner(skb));
        skbs.set_owner(skb, None);
        skbs.put(cpu, skb).await;
        None
    };
    Some(Validated { head, last, whole })
}

async fn drop_list(cpu: Cpu<'_>, mut head: Option<Skb>) {
    while let Some(skb) = head {
        head = cpu.k.skbs.next(skb);
        cpu.k.skbs.put(cpu, skb).await;
    }
}
