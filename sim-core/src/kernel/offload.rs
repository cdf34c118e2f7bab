//! Offloads at run time: what each device of the host can do, and what a packet may use of it.
//!
//! The rules are [`super::features`]'; here its words are joined with skbs and hardware. What
//! hardware does with an offload that it was handed beyond its means is modelled as a broken frame.

use super::core::validate::Todo;
use super::features::{
    self, BaseSpec, DevFeatures, EtherType, Features, HeaderOps, Release, Rules, SkbRules,
    SkbShape, VlanFeatures, VlanSpec,
};
use super::skb::{IpSummed, Meta, Skb};
use super::{Cpu, Func, Kernel};
use crate::config::{self, DeviceKind};
use crate::frame::{Frame, L4, Protocol, Tpid};
use crate::violation::{Law, Violation};
use std::cell::Cell;

/// What the upper layers look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// Scatter-gather.
    pub sg: bool,
    /// Checksums of TCP over IPv4.
    pub csum: bool,
    /// Segmentation, by somebody below TCP.
    pub gso: bool,
}

/// A device's offloads.
#[derive(Debug)]
pub struct Offload {
    words: DevFeatures,
    caps: Caps,
    /// A VLAN whose header ops are those of the device below.
    pub(crate) passthru: bool,
    /// Tags that the hardware parses when it segments or sums.
    max_tags: u8,
    /// A frame beyond that was reported.
    reported: Cell<bool>,
}

impl Offload {
    /// What the upper layers look at.
    pub fn caps(&self) -> Caps {
        self.caps
    }
    /// Its feature words.
    pub fn words(&self) -> &DevFeatures {
        &self.words
    }
}

/// The rules of a kernel whose VLAN devices promise `vlan`.
fn rules(vlan: VlanFeatures) -> Rules {
    let release = match vlan {
        VlanFeatures::V3_7 | VlanFeatures::ThreadPatch => Release::V3_7,
        VlanFeatures::Modern => Release::V6_9,
    };
    Rules {
        vlan_features: vlan,
        ..Rules::new(release)
    }
}

/// The offloads of all devices of a host, in their order.
///
/// # Panics
/// If the configuration could not have come from a checked scenario.
pub(crate) fn offloads(host: &config::Host) -> Vec<Offload> {
    let mut set = features::DeviceSet::new(rules(host.kernel.vlan_features));
    let mut ids = vec![None; host.devices.len()];
    // A VLAN may stand before the device it lies on.
    while ids.contains(&None) {
        let before = ids.clone();
        for (i, d) in host
            .devices
            .iter()
            .enumerate()
            .filter(|(i, _)| before[*i].is_none())
        {
            ids[i] = match &d.kind {
                DeviceKind::Vlan(v) => before[v.on].map(|on| {
                    let spec = VlanSpec {
                        proto: ether_type(v.tag.tpid),
                        reorder_hdr: v.reorder_hdr,
                        ..VlanSpec::new(v.tag.vid)
                    };
                    set.add_vlan(&d.name, on, spec).expect("checked")
                }),
                kind => {
                    let (f, vlan) = match kind {
                        DeviceKind::Nic(nic) => (nic.features, nic.vlan_features),
                        // As the driver says, as far as it is modelled.
                        DeviceKind::Loopback | DeviceKind::Veth(_) => {
                            let all = Features::SG | Features::HW_CSUM | Features::TSO;
                            (all, all)
                        }
                        _ => (Features::NONE, Features::NONE),
                    };
                    let spec = BaseSpec::nic(f, vlan, features::Driver::Other);
                    Some(set.add_base(&d.name, spec).expect("checked"))
                }
            };
        }
        assert!(before != ids, "VLAN devices lie on each other in a circle");
    }
    let devices = ids.into_iter().flatten().map(|id| set.dev(id));
    devices
        .zip(&host.devices)
        .map(|(dev, d)| {
            let words = DevFeatures::from(dev);
            let f = words.features;
            let gso = f.has(Features::GSO);
            Offload {
                words,
                // sk_setup_caps: who can segment can also gather and sum.
                caps: Caps {
                    gso,
                    sg: gso || f.has(Features::SG),
                    csum: gso || features::can_checksum(f, EtherType::IP),
                },
                passthru: dev
                    .vlan()
                    .is_some_and(|v| v.header == HeaderOps::PassThrough),
                max_tags: match &d.kind {
                    DeviceKind::Nic(nic) => nic.max_tags_offload,
                    _ => u8::MAX,
                },
                reported: Cell::new(false),
            }
        })
        .collect()
}

fn ether_type(tpid: Tpid) -> EtherType {
    match tpid {
        Tpid::Q => EtherType::Q,
        Tpid::Ad => EtherType::AD,
    }
}

/// The packet as feature rules see it.
fn shape(frame: &Frame, meta: &Meta) -> SkbShape {
    let gso = frame.segs > 1;
    let mut shape = SkbShape::tcp4(frame.len, frame.header_len(), u32::MAX, 0);
    shape.network = match frame.protocol {
        Protocol::Ipv4 => EtherType::IP,
        Protocol::Ipv6 => EtherType::IPV6,
        Protocol::Other => EtherType(0x88b5),
    };
    for tag in frame.tags.as_slice().iter().rev() {
        shape.tags = shape.tags.push(ether_type(tag.tpid));
    }
    shape.accel_tag = meta.vlan_tag.map(|tag| ether_type(tag.tpid));
    if gso {
        shape.gso_size = u32::from(frame.gso_size);
        shape.gso_segs = u32::from(frame.segs);
        shape.gso_type = match (frame.l4, frame.protocol) {
            (L4::Tcp(_), Protocol::Ipv6) => Features::TSO6,
            _ => Features::TSO,
        };
    }
    shape.ip_summed = match meta.ip_summed {
        IpSummed::None => features::IpSummed::None,
        IpSummed::Partial => features::IpSummed::Partial,
        IpSummed::Unnecessary => features::IpSummed::Unnecessary,
    };
    shape.nr_frags = u32::from(meta.nr_frags);
    shape.data_len = meta.data_len;
    shape
}

impl Kernel {
    /// What is to be done with `skb` before the driver of `dev` gets it.
    pub(crate) fn todo(&self, dev: usize, skb: Skb) -> Todo {
        let shape = shape(&self.skbs.frame(skb), &self.skbs.meta(skb));
        let plan = self.skb_rules().plan(&shape, &self.dev(dev).offload.words);
        let copy = if plan.segment {
            !plan.features.has(Features::SG)
        } else {
            plan.linearize
        };
        let checksum = if plan.segment {
            copy && self.config.vlan_features != VlanFeatures::Modern
                || !features::can_checksum(plan.features, shape.network)
        } else {
            plan.csum_help
        };
        Todo {
            push_tag: plan.push_tag,
            segment: plan.segment,
            copy,
            checksum,
        }
    }

    fn skb_rules(&self) -> SkbRules {
        SkbRules::of(rules(self.config.vlan_features).release)
    }
}

/// The frame that the hardware of `dev` makes of `skb`: it inserts the tag beside the data. A frame with
/// more tags than it parses comes out broken if it was to segment it, or to find where to sum.
pub(crate) fn hardware_frame(cpu: Cpu<'_>, dev: usize, skb: Skb) -> Frame {
    let k = cpu.k;
    let (mut frame, meta) = (k.skbs.frame(skb), k.skbs.meta(skb));
    if let Some(tag) = meta.vlan_tag {
        frame.tags.push(tag);
        frame.len += crate::frame::VLAN_HLEN;
    }
    let tags = frame.tags.as_slice().len();
    let offload = &k.dev(dev).offload;
    let told_where = offload.words.features.has(Features::HW_CSUM);
    let parses = frame.segs > 1 || meta.ip_summed == IpSummed::Partial && !told_where;
    if parses && tags > usize::from(offload.max_tags) {
        frame.corrupt = true;
        if !offload.reported.replace(true) {
            k.violations.borrow_mut().push(Violation {
                law: Law::BadOffload,
                time: cpu.now().ps(),
                cpu: Some(cpu.machine().first_cpu() + cpu.id()),
                function: Func::from_number(cpu.function()).name(),
                what: format!(
                    "{} is handed a frame with {tags} tags to {}, but it parses {} (later ones are not reported)",
                    k.dev(dev).name,
                    if frame.segs > 1 {
                        format!("segment into {}", frame.segs)
                    } else {
                        "sum".to_owned()
                    },
                    offload.max_tags
                ),
                skb: Some(k.skbs.id(skb)),
                freed_by_next: None,
            });
        }
    }
    frame
}
