//! What a device's features mean for one packet, and what software has to do before the driver gets it.
//!
//! Follows `net/core/dev.c` of Linux 3.7.2 (`netif_skb_features`, `harmonize_features`, `dev_hard_start_xmit`), 3.19
//! and 6.9.5 (`netif_skb_features`, `validate_xmit_skb`, `skb_csum_hwoffload_help`), and
//! `net/8021q/vlan_dev.c`. Of 3.19, that a tag beside the data and one in it count as two is from the fix of its last
//! weeks ("net: Fix stacked vlan offload features computation"), not read in place.

use super::bits::Features;
use super::device::{DevId, Device};
use super::rules::{Intersect, Release, Rules};
use super::set::DeviceSet;
use super::shape::{CsumTarget, EtherType, IpSummed, SkbShape};
use super::vlan::{HeaderOps, Vlan, tag_feature};

/// Which `netif_skb_features` a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkbRules {
    /// 3.7: sees tags in the data or the one beside it, never both; no checksum means no SG.
    V3_7,
    /// 3.19: counts both; knows 802.1ad and encapsulation; keeps SG.
    V3_19,
    /// 6.9 (and 6.1): no checksum means no segmentation in hardware.
    V6_9,
}

impl SkbRules {
    /// Those of a modelled release.
    pub fn of(release: Release) -> SkbRules {
        match release {
            Release::V3_7 => SkbRules::V3_7,
            _ => SkbRules::V6_9,
        }
    }
}

/// The words of a device that decide about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevFeatures {
    /// `features`.
    pub features: Features,
    /// `vlan_features`.
    pub vlan_features: Features,
    /// `hw_enc_features`.
    pub hw_enc_features: Features,
    /// `mpls_features`.
    pub mpls_features: Features,
    /// `gso_partial_features`.
    pub gso_partial_features: Features,
    /// `gso_max_size`, bytes.
    pub gso_max_size: u32,
    /// `gso_max_segs`.
    pub gso_max_segs: u32,
    /// `gso_min_segs` (3.18 to 4.5), 0: no limit.
    pub gso_min_segs: u32,
    /// What the driver's `ndo_features_check` lets through; everything if it has none. A driver that has one does
    /// its own check of packets with several tags.
    pub driver_check: Option<Features>,
}

impl From<&Device> for DevFeatures {
    fn from(dev: &Device) -> DevFeatures {
        let w = &dev.words;
        DevFeatures {
            features: w.features,
            vlan_features: w.vlan_features,
            hw_enc_features: w.hw_enc_features,
            mpls_features: w.mpls_features,
            gso_partial_features: w.gso_partial_features,
            gso_max_size: w.gso_max_size,
            gso_max_segs: w.gso_max_segs,
            gso_min_segs: 0,
            driver_check: None,
        }
    }
}

/// What is still allowed for packets with several tags, apart from the checksum: no segmentation.
fn multi_tag(rules: SkbRules) -> Features {
    let both = Features::SG | Features::HIGHDMA | Features::FRAGLIST | Features::HW_CSUM;
    both | match rules {
        SkbRules::V3_7 => Features::HW_VLAN_CTAG_TX,
        _ => Features::TAG_TX,
    }
}

/// `can_checksum_protocol`.
pub fn can_checksum(f: Features, protocol: EtherType) -> bool {
    f.has(Features::HW_CSUM)
        || match protocol {
            EtherType::IP => f.has(Features::IP_CSUM),
            EtherType::IPV6 => f.has(Features::IPV6_CSUM),
            EtherType::FCOE => f.has(Features::FCOE_CRC),
            _ => false,
        }
}

/// `harmonize_features`: no offload that this protocol or these pages do not allow.
fn harmonize(rules: SkbRules, skb: &SkbShape, mut f: Features, protocol: EtherType) -> Features {
    if skb.ip_summed != IpSummed::None && !can_checksum(f, protocol) {
        f -= match rules {
            SkbRules::V3_7 => Features::CSUM_MASK | Features::SG,
            SkbRules::V3_19 => Features::CSUM_MASK,
            SkbRules::V6_9 => Features::CSUM_MASK | Features::GSO_MASK,
        };
        if rules == SkbRules::V3_7 {
            return f;
        }
    }
    f - Features::SG.if_(skb.highmem && !f.has(Features::HIGHDMA))
}

fn skb_features_v3_7(skb: &SkbShape, dev: &DevFeatures) -> Features {
    let rules = SkbRules::V3_7;
    let mut f = dev.features;
    if skb.is_gso() && skb.gso_segs > dev.gso_max_segs {
        f -= Features::GSO_MASK;
    }
    let mut protocol = skb.protocol();
    if protocol == EtherType::Q {
        protocol = skb.behind(1);
    } else if skb.accel_tag.is_none() {
        return harmonize(rules, skb, f, protocol);
    }
    f &= dev.vlan_features | Features::HW_VLAN_CTAG_TX;
    if protocol == EtherType::Q {
        f &= multi_tag(rules);
    }
    harmonize(rules, skb, f, protocol)
}

/// `netdev_intersect_features`, which this function has had since 3.12 whatever the host's rules for devices.
fn intersect(a: Features, b: Features) -> Features {
    let rules = Rules {
        intersect: Intersect::Superset,
        ..Rules::new(Release::V6_1)
    };
    rules.intersect(a, b)
}

/// Whether the packet has more than one tag, and whether it has any: `skb_vlan_tagged_multi`.
fn tagged(skb: &SkbShape) -> (bool, bool) {
    let in_data = skb.tags.as_slice().len();
    match skb.accel_tag {
        Some(_) => (true, in_data >= 1),
        None => (in_data >= 1, in_data >= 2),
    }
}

fn skb_features_v3_19(skb: &SkbShape, dev: &DevFeatures) -> Features {
    let rules = SkbRules::V3_19;
    let mut f = dev.features;
    if skb.is_gso() && (skb.gso_segs > dev.gso_max_segs || skb.gso_segs < dev.gso_min_segs) {
        f -= Features::GSO_MASK;
    }
    if skb.encapsulation {
        f &= dev.hw_enc_features;
    }
    let (any, several) = tagged(skb);
    if any {
        f = intersect(f, dev.vlan_features | Features::TAG_TX);
    }
    if several {
        f = intersect(f, multi_tag(rules));
    }
    f &= dev.driver_check.unwrap_or(!Features::NONE);
    harmonize(rules, skb, f, skb.network)
}

/// `gso_features_check`.
fn gso_check(skb: &SkbShape, dev: &DevFeatures, f: Features) -> Features {
    let too_much = skb.gso_segs > dev.gso_max_segs || skb.len >= dev.gso_max_size;
    if too_much || skb.gso_type.is_empty() {
        return f - Features::GSO_MASK;
    }
    let partial = !skb.gso_type.has(Features::GSO_PARTIAL);
    let mangled = skb.gso_type.has(Features::TSO) && !skb.dont_fragment;
    f - dev.gso_partial_features.if_(partial) - Features::TSO_MANGLEID.if_(mangled)
}

fn skb_features_v6_9(skb: &SkbShape, dev: &DevFeatures) -> Features {
    let rules = SkbRules::V6_9;
    let mut f = dev.features;
    if skb.is_gso() {
        f = gso_check(skb, dev, f);
    }
    if skb.encapsulation {
        f &= dev.hw_enc_features;
    }
    let (any, several) = tagged(skb);
    if any {
        f = intersect(f, dev.vlan_features | Features::TAG_TX);
    }
    f &= match dev.driver_check {
        Some(mask) => mask,
        // A plain AND: a device with a checksum by protocol loses it.
        None if several => multi_tag(rules),
        None => !Features::NONE,
    };
    if skb.network.is_mpls() {
        f &= dev.mpls_features;
    }
    harmonize(rules, skb, f, skb.network)
}

impl SkbRules {
    /// `netif_skb_features`: the offloads of the device that may be used for this packet.
    pub fn skb_features(self, skb: &SkbShape, dev: &DevFeatures) -> Features {
        match self {
            SkbRules::V3_7 => skb_features_v3_7(skb, dev),
            SkbRules::V3_19 => skb_features_v3_19(skb, dev),
            SkbRules::V6_9 => skb_features_v6_9(skb, dev),
        }
    }

    /// Whether a checksum left to do must be done by software now (`skb_checksum_help`).
    pub fn needs_csum_help(self, skb: &SkbShape, f: Features) -> bool {
        if skb.ip_summed != IpSummed::Partial {
            return false;
        }
        if self < SkbRules::V6_9 {
            return !f.any(Features::CSUM_MASK);
        }
        match skb.csum {
            CsumTarget::Sctp => !f.has(Features::SCTP_CRC),
            CsumTarget::TcpUdp => !f.any(Features::CSUM_MASK),
            CsumTarget::Other => !f.has(Features::HW_CSUM),
        }
    }

    /// What happens to the packet between the qdisc and the driver (`dev_hard_start_xmit` of 3.7,
    /// `validate_xmit_skb` later). The features are not worked out anew after a tag was pushed.
    pub fn plan(self, skb: &SkbShape, dev: &DevFeatures) -> Plan {
        let features = self.skb_features(skb, dev);
        let tag = skb.accel_tag.map(|proto| match self {
            SkbRules::V3_7 => Features::HW_VLAN_CTAG_TX,
            _ => tag_feature(proto),
        });
        let segment = needs_gso(skb, features);
        Plan {
            features,
            push_tag: tag.is_some_and(|tag| !features.has(tag)),
            segment,
            linearize: !segment && needs_linearize(skb, features),
            csum_help: !segment && self.needs_csum_help(skb, features),
        }
    }
}

/// `netif_needs_gso`: whether a GSO packet must be segmented by software.
pub fn needs_gso(skb: &SkbShape, f: Features) -> bool {
    let gso_ok = f.has(skb.gso_type) && (!skb.frag_list || f.has(Features::FRAGLIST));
    skb.is_gso() && (!gso_ok || skb.ip_summed == IpSummed::None)
}

/// `skb_needs_linearize`: whether fragments must be copied into one piece.
pub fn needs_linearize(skb: &SkbShape, f: Features) -> bool {
    let list = skb.frag_list && !f.has(Features::FRAGLIST);
    let frags = skb.nr_frags > 0 && !f.has(Features::SG);
    skb.is_nonlinear() && (list || frags)
}

/// What software has to do for a packet, in this order: push the tag, then segment, or else linearise and sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The offloads that may be used.
    pub features: Features,
    /// Push the tag beside the data into it.
    pub push_tag: bool,
    /// Segment.
    pub segment: bool,
    /// Copy all fragments into one piece.
    pub linearize: bool,
    /// Sum the payload.
    pub csum_help: bool,
}

impl Plan {
    /// The packet as the driver gets it; if it is segmented, each full segment, as `skb_segment` makes it: with SG its
    /// fragments are shared and the checksum stays to do; without, the payload is copied and summed in one pass.
    /// Whether the segments' checksums are then left to the driver is asked again by whoever sends them.
    pub fn result(&self, skb: &SkbShape) -> SkbShape {
        let mut out = if self.push_tag { skb.push_tag() } else { *skb };
        if self.segment {
            let sg = self.features.has(Features::SG);
            out.len = out.header_len + out.gso_size;
            out.data_len = if sg { out.gso_size } else { 0 };
            out.nr_frags = u32::from(sg);
            out.frag_list = false;
            (out.gso_size, out.gso_segs, out.gso_type) = (0, 1, Features::NONE);
            if !sg {
                out.ip_summed = IpSummed::None;
            }
        }
        if self.linearize {
            (out.data_len, out.nr_frags, out.frag_list) = (0, 0, false);
        }
        if self.csum_help {
            out.ip_summed = IpSummed::None;
        }
        out
    }
}

impl Vlan {
    /// `vlan_dev_hard_start_xmit`: sets the tag beside the data, unless the header already has it. Without
    /// hardware below it was pushed into the data before (`Plan::push_tag`), so none is lost.
    #[must_use]
    pub fn start_xmit(&self, mut skb: SkbShape) -> SkbShape {
        if self.reorder_hdr || skb.protocol() != self.proto {
            skb.accel_tag = Some(self.proto);
        }
        skb
    }
}

impl DeviceSet {
    /// `dev_hard_header` of a packet sent on `id`: what each VLAN device down the stack pushes into the data,
    /// which is its tag if it uses its own header functions (`vlan_dev_hard_header`) and has no `reorder_hdr`.
    #[must_use]
    pub fn hard_header(&self, id: DevId, skb: SkbShape) -> SkbShape {
        match self.dev(id).vlan() {
            None => skb,
            Some(vlan) if vlan.header == HeaderOps::PassThrough => self.hard_header(vlan.real, skb),
            Some(vlan) if vlan.reorder_hdr => self.hard_header(vlan.real, skb),
            Some(vlan) => self.hard_header(vlan.real, skb.with_tag(vlan.proto)),
        }
    }
}
