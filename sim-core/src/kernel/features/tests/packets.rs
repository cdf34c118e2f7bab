//! `netif_skb_features` and what software does: the passes of a packet through a stack of devices.

use super::*;

/// The hardware of the thread's NIC.
const HARDWARE: Features = Features::SG.or(Features::HW_CSUM).or(Features::TSO);
const TAGS: Features = Features::HW_VLAN_CTAG_TX;

/// A 64 KB TCP packet: 45 segments of 1448 bytes.
fn big() -> SkbShape {
    SkbShape::tcp4(65_226, 66, 1448, 17)
}

/// What a stack made of one packet.
#[derive(Debug, PartialEq, Eq)]
struct Walk {
    /// Frames that the hardware got.
    frames: u32,
    /// Device whose pass segmented.
    segmented_at: Option<usize>,
    /// Payload was copied, or read for a checksum, by the CPU.
    touched: bool,
    /// Tags on the frame that the hardware got, and whether segmentation or a checksum was left to it.
    tags: usize,
    offloaded: (bool, bool),
}

/// `levels` VLANs with `reorder` on a NIC with `base`; a packet is sent on the topmost.
fn walk(rules: Rules, skb_rules: SkbRules, base: Features, reorder: &[bool]) -> Walk {
    let mut host = DeviceSet::new(rules);
    let spec = BaseSpec::nic(base, HARDWARE & base, Driver::Other);
    let mut stack = vec![host.add_base("r", spec).unwrap()];
    for (level, &reorder_hdr) in reorder.iter().enumerate() {
        let spec = VlanSpec {
            reorder_hdr,
            ..VlanSpec::new(level as u16 + 1)
        };
        let below = stack[level];
        stack.push(host.add_vlan(&format!("v{level}"), below, spec).unwrap());
    }
    let top = *stack.last().unwrap();
    // TCP asks the device it sends on for what it may build.
    let f = host.dev(top).words.features;
    let can = f.has(Features::SG) && f.any(Features::CSUM_MASK);
    let gso = can && f.has(Features::GSO);
    let mut skb = if gso {
        big()
    } else {
        SkbShape::tcp4(1514, 66, 1448, 0)
    };
    if !can {
        skb.ip_summed = IpSummed::None;
    }
    let mut walk = Walk {
        frames: if gso { 1 } else { 45 },
        segmented_at: None,
        touched: !can,
        tags: 0,
        offloaded: (false, false),
    };
    skb = host.hard_header(top, skb);
    for (level, &id) in stack.iter().enumerate().rev() {
        let dev = host.dev(id);
        let plan = skb_rules.plan(&skb, &DevFeatures::from(dev));
        if plan.segment {
            walk.frames *= skb.gso_segs;
            walk.segmented_at = Some(level);
            walk.touched |= !plan.features.has(Features::SG);
        }
        walk.touched |= plan.linearize || plan.csum_help;
        skb = plan.result(&skb);
        if let Some(vlan) = dev.vlan() {
            skb = vlan.start_xmit(skb);
        }
    }
    walk.tags = skb.tag_count();
    walk.offloaded = (skb.is_gso(), skb.ip_summed == IpSummed::Partial);
    walk
}

const V3_7: Rules = Rules::new(Release::V3_7);
const PATCHED: Rules = Rules {
    vlan_features: VlanFeatures::ThreadPatch,
    ..V3_7
};
const MODERN: Rules = Rules {
    vlan_features: VlanFeatures::Modern,
    ..V3_7
};

/// One TSO packet to the hardware, untouched.
fn whole(tags: usize) -> Walk {
    Walk {
        frames: 1,
        segmented_at: None,
        touched: false,
        tags,
        offloaded: (true, true),
    }
}

/// 45 segments, each copied and summed by the CPU.
fn by_hand(at: Option<usize>, tags: usize) -> Walk {
    Walk {
        frames: 45,
        segmented_at: at,
        touched: true,
        tags,
        offloaded: (false, false),
    }
}

#[test]
fn v_on_r_with_reordering_is_fast() {
    assert_eq!(walk(V3_7, SkbRules::V3_7, HARDWARE, &[true]), whole(1));
}

#[test]
fn v_on_r_without_reordering_is_slow() {
    assert_eq!(
        walk(V3_7, SkbRules::V3_7, HARDWARE, &[false]),
        by_hand(Some(1), 1)
    );
}

/// The header functions are the NIC's then, and put nothing into the data.
#[test]
fn hardware_that_inserts_tags_makes_reordering_irrelevant() {
    let with = HARDWARE | TAGS;
    assert_eq!(walk(V3_7, SkbRules::V3_7, with, &[false]), whole(1));
}

#[test]
fn the_patch_makes_it_fast() {
    assert_eq!(walk(PATCHED, SkbRules::V3_7, HARDWARE, &[false]), whole(1));
}

#[test]
fn so_does_the_modern_rule() {
    assert_eq!(walk(MODERN, SkbRules::V3_7, HARDWARE, &[false]), whole(1));
    let modern = Rules::new(Release::V6_9);
    for reorder in [false, true] {
        assert_eq!(walk(modern, SkbRules::V6_9, HARDWARE, &[reorder]), whole(1));
    }
}

/// The sender sees a device without SG and builds small packets itself.
#[test]
fn w_on_v_on_r_is_slow_and_safe() {
    let small = Walk {
        frames: 45,
        segmented_at: None,
        touched: true,
        tags: 2,
        offloaded: (false, false),
    };
    assert_eq!(walk(V3_7, SkbRules::V3_7, HARDWARE, &[true, true]), small);
}

/// The violation: hardware that promised offloads for one tag gets a TSO packet with two.
#[test]
fn the_patch_hands_two_tags_to_hardware() {
    let wrong = walk(PATCHED, SkbRules::V3_7, HARDWARE, &[true, true]);
    assert_eq!(wrong, whole(2));
    // Both tags in the data are seen, and nothing is left to the hardware but what HW_CSUM can do.
    let seen = walk(PATCHED, SkbRules::V3_7, HARDWARE, &[false, false]);
    assert!(
        !seen.offloaded.0 && seen.frames == 45 && seen.tags == 2,
        "{seen:?}"
    );
}

/// Software segments at the bottom with SG; hardware sums.
#[test]
fn w_on_v_on_r_is_right_since_both_tags_count() {
    let right = Walk {
        frames: 45,
        segmented_at: Some(0),
        touched: false,
        tags: 2,
        offloaded: (false, true),
    };
    for release in [Release::V6_1, Release::V6_9, Release::V6_12] {
        let rules = Rules::new(release);
        assert_eq!(walk(rules, SkbRules::V6_9, HARDWARE, &[true, true]), right);
    }
}

fn nic_words(features: Features, vlan_features: Features) -> DevFeatures {
    DevFeatures {
        features,
        vlan_features,
        hw_enc_features: Features::NONE,
        mpls_features: Features::NONE,
        gso_partial_features: Features::NONE,
        gso_max_size: 65_536,
        gso_max_segs: 65_535,
        gso_min_segs: 0,
        driver_check: None,
    }
}

/// A checksum that cannot be done costs SG too in 3.7, nothing more in 3.19, and hardware segmentation in 6.9.
#[test]
fn what_a_lost_checksum_takes_along() {
    let f = Features::SG | Features::IPV6_CSUM | Features::TSO | Features::TSO6;
    let dev = nic_words(f, f);
    let lost = |rules: SkbRules| f - rules.skb_features(&big(), &dev);
    let csum = Features::IPV6_CSUM;
    assert_eq!(lost(SkbRules::V3_7), csum | Features::SG);
    assert_eq!(lost(SkbRules::V3_19), csum);
    assert_eq!(lost(SkbRules::V6_9), csum | Features::TSO | Features::TSO6);
    let mut v6 = big();
    v6.network = EtherType::IPV6;
    assert_eq!(SkbRules::V6_9.skb_features(&v6, &dev), f);
}

/// One tag, by the promise for one tag; two, by what any hardware can do.
#[test]
fn tags_are_counted() {
    let f = HARDWARE | Features::TSO6 | Features::TAG_TX | Features::HIGHDMA;
    let dev = nic_words(f, HARDWARE);
    let data = |n| (0..n).fold(big(), |skb, _| skb.with_tag(EtherType::Q));
    let beside = |mut skb: SkbShape| {
        skb.accel_tag = Some(EtherType::Q);
        skb
    };
    let two = Features::SG | Features::HW_CSUM;
    let (c, cs) = (TAGS, Features::TAG_TX);
    let cases = [
        (data(0), [f, f, f]),
        (data(1), [HARDWARE | c, HARDWARE | cs, HARDWARE | cs]),
        (
            beside(data(0)),
            [HARDWARE | c, HARDWARE | cs, HARDWARE | cs],
        ),
        (data(2), [two | c, two | cs, two | cs]),
        // 3.7 looks into the data and forgets the tag beside it.
        (beside(data(1)), [HARDWARE | c, two | cs, two | cs]),
        (data(3), [two | c, two | cs, two | cs]),
    ];
    for (skb, expected) in cases {
        let rules = [SkbRules::V3_7, SkbRules::V3_19, SkbRules::V6_9];
        let got = rules.map(|rules| rules.skb_features(&skb, &dev));
        assert_eq!(got, expected, "{} tags", skb.tag_count());
    }
    let mut ad = data(0);
    ad.accel_tag = Some(EtherType::AD);
    let stag = nic_words(f - Features::HW_VLAN_STAG_TX, HARDWARE);
    assert!(
        SkbRules::V6_9.plan(&ad, &stag).push_tag,
        "CTAG_TX is not enough"
    );
    assert!(!SkbRules::V6_9.plan(&ad, &dev).push_tag);
}

/// A NIC that sums one protocol loses that with two tags in 6.9, but not in 3.19.
#[test]
fn a_checksum_by_protocol_under_two_tags() {
    let f = Features::SG | Features::IP_CSUM | Features::TSO;
    let dev = nic_words(f, f);
    let two = big().with_tag(EtherType::Q).with_tag(EtherType::AD);
    assert_eq!(SkbRules::V6_9.skb_features(&two, &dev), Features::SG);
    let with = Features::SG | Features::IP_CSUM;
    assert_eq!(SkbRules::V3_19.skb_features(&two, &dev), with);
    let plan = SkbRules::V6_9.plan(&two, &dev);
    assert!(plan.segment && !plan.linearize);
    let segment = plan.result(&two);
    assert_eq!((segment.len, segment.gso_segs), (66 + 8 + 1448, 1));
    assert!(
        SkbRules::V6_9.plan(&segment, &dev).csum_help,
        "in the next pass"
    );
}

/// Too many segments, too many bytes, no type, partial and mangled segmentation.
#[test]
fn limits_of_segmentation() {
    let f = HARDWARE | Features::TSO_MANGLEID | Features::GSO_GRE;
    let full = nic_words(f, f);
    let few = DevFeatures {
        gso_max_segs: 44,
        ..full
    };
    for rules in [SkbRules::V3_7, SkbRules::V3_19, SkbRules::V6_9] {
        assert!(rules.skb_features(&big(), &full).has(Features::TSO));
        assert!(!rules.skb_features(&big(), &few).has(Features::TSO));
        let small = SkbShape::tcp4(1514, 66, 1448, 1);
        assert!(
            rules.skb_features(&small, &few).has(Features::TSO),
            "not GSO"
        );
    }
    let some = DevFeatures {
        gso_min_segs: 46,
        ..full
    };
    assert!(
        !SkbRules::V3_19
            .skb_features(&big(), &some)
            .has(Features::TSO)
    );
    let short = DevFeatures {
        gso_max_size: 65_226,
        ..full
    };
    assert!(
        !SkbRules::V6_9
            .skb_features(&big(), &short)
            .has(Features::TSO)
    );
    let mut skb = big();
    skb.gso_type = Features::NONE;
    assert!(
        !SkbRules::V6_9
            .skb_features(&skb, &full)
            .any(Features::GSO_MASK)
    );
    skb = big();
    skb.dont_fragment = false;
    assert_eq!(
        SkbRules::V6_9.skb_features(&skb, &full),
        f - Features::TSO_MANGLEID
    );
    let partial = DevFeatures {
        gso_partial_features: Features::GSO_GRE,
        ..full
    };
    assert_eq!(
        SkbRules::V6_9.skb_features(&big(), &partial),
        f - Features::GSO_GRE
    );
    skb = big();
    skb.gso_type |= Features::GSO_PARTIAL;
    assert_eq!(SkbRules::V6_9.skb_features(&skb, &partial), f);
}

/// Encapsulated and MPLS packets by their own words; a driver's veto; memory the device cannot reach.
#[test]
fn other_words() {
    let f = HARDWARE | Features::FRAGLIST;
    let mut dev = nic_words(f, f);
    dev.hw_enc_features = HARDWARE;
    dev.mpls_features = Features::SG | Features::HW_CSUM;
    let mut skb = big();
    skb.encapsulation = true;
    assert_eq!(SkbRules::V3_7.skb_features(&skb, &dev), f);
    for rules in [SkbRules::V3_19, SkbRules::V6_9] {
        assert_eq!(rules.skb_features(&skb, &dev), HARDWARE);
    }
    skb = big();
    skb.network = EtherType::MPLS_UC;
    assert_eq!(SkbRules::V6_9.skb_features(&skb, &dev), dev.mpls_features);
    let vetoed = DevFeatures {
        driver_check: Some(!Features::TSO),
        ..dev
    };
    assert!(
        !SkbRules::V6_9
            .skb_features(&big(), &vetoed)
            .has(Features::TSO)
    );
    skb = big();
    skb.highmem = true;
    for rules in [SkbRules::V3_7, SkbRules::V3_19, SkbRules::V6_9] {
        let plan = rules.plan(&skb, &dev);
        assert!(!plan.features.has(Features::SG));
    }
}

#[test]
fn fallbacks() {
    let mut skb = SkbShape::tcp4(1514, 66, 1448, 2);
    assert!(needs_linearize(&skb, Features::NONE) && !needs_linearize(&skb, Features::SG));
    skb.frag_list = true;
    assert!(needs_linearize(&skb, Features::SG));
    assert!(!needs_linearize(&skb, Features::SG | Features::FRAGLIST));
    skb.data_len = 0;
    assert!(
        !needs_linearize(&skb, Features::NONE),
        "there is nothing to copy"
    );
    let mut big = big();
    assert!(needs_gso(&big, Features::SG) && !needs_gso(&big, HARDWARE));
    big.frag_list = true;
    assert!(needs_gso(&big, HARDWARE));
    big.frag_list = false;
    big.ip_summed = IpSummed::None;
    assert!(needs_gso(&big, HARDWARE), "hardware sums what it segments");

    for (target, f, before, now) in [
        (CsumTarget::TcpUdp, Features::IP_CSUM, false, false),
        (CsumTarget::TcpUdp, Features::SCTP_CRC, true, true),
        (CsumTarget::Sctp, Features::SCTP_CRC, true, false),
        (CsumTarget::Sctp, Features::HW_CSUM, false, true),
        (CsumTarget::Other, Features::IP_CSUM, false, true),
        (CsumTarget::Other, Features::HW_CSUM, false, false),
    ] {
        let mut skb = SkbShape::tcp4(1514, 66, 1448, 0);
        skb.csum = target;
        assert_eq!(
            SkbRules::V3_19.needs_csum_help(&skb, f),
            before,
            "{target:?}"
        );
        assert_eq!(SkbRules::V6_9.needs_csum_help(&skb, f), now, "{target:?}");
        skb.ip_summed = IpSummed::Unnecessary;
        assert!(!SkbRules::V6_9.needs_csum_help(&skb, Features::NONE));
    }
    assert!(can_checksum(Features::FCOE_CRC, EtherType::FCOE));
    assert!(!can_checksum(Features::PROTO_CSUM, EtherType::Q));
    assert_eq!(SkbRules::of(Release::V6_12), SkbRules::V6_9);
}
