//! What differs between kernels.

use super::*;

#[test]
fn releases_by_version_and_name() {
    for (version, release) in [
        ("3.7.2", Release::V3_7),
        ("6.1.0-57-amd64", Release::V6_1),
        ("6.9.5", Release::V6_9),
        ("6.12.117+deb13-amd64", Release::V6_12),
        ("6.18.44", Release::V6_18),
        ("7.0", Release::V6_18),
    ] {
        assert_eq!(Release::from_uname(version), Some(release), "{version}");
        assert_eq!(Release::from_name(release.name()), Some(release));
    }
    assert_eq!(Release::from_uname("next"), None);
    for &rule in VlanFeatures::ALL {
        assert_eq!(VlanFeatures::from_name(rule.name()), Some(rule));
    }
}

/// The AccECN bit came in between, and moved two others.
#[test]
fn words_of_a_later_kernel_mean_the_same() {
    let set = Features::SG | Features::GSO_ACCECN | Features::FCOE_CRC | Features::NTUPLE;
    let word = set.to_word(Release::V6_18);
    assert_eq!(word, 1 | 1 << 35 | 1 << 36 | 1 << 38);
    assert_eq!(Features::from_word(word, Release::V6_18), set);
    let sctp = Features::SCTP_CRC;
    assert_eq!(sctp.to_word(Release::V6_18), 1 << 37);
    assert_eq!(sctp.to_word(Release::V6_12), 1 << 36);
    assert_eq!(Features::from_word(1 << 37, Release::V6_18), sctp);
}

/// From 6.12 on UDP segmentation goes with the checksum; before it stays.
#[test]
fn udp_segmentation_needs_a_checksum_from_6_12_on() {
    for (release, goes) in [
        (Release::V6_1, false),
        (Release::V6_9, false),
        (Release::V6_12, true),
        (Release::V6_18, true),
    ] {
        let mut host = host(release);
        let eth = host
            .add_base("eth0", nic(full() | Features::GSO_UDP_L4))
            .unwrap();
        let vlan = host.add_vlan("v1", eth, VlanSpec::new(1)).unwrap();
        host.ethtool_set(eth, &[("tx", false)]).unwrap();
        for d in [eth, vlan] {
            let there = features(&host, d).has(Features::GSO_UDP_L4);
            assert_eq!(there, !goes, "{release:?}");
        }
        let lltx = features(&host, vlan).has(Features::LLTX);
        assert_eq!(lltx, release < Release::V6_12, "{release:?}");
    }
}

/// Where a VLAN's four bytes go: room in front, or a longer header unless the hardware inserts tags.
#[test]
fn four_bytes_for_the_tag() {
    let lengths = |release, tags: Features| {
        let mut host = host(release);
        let mut spec = BaseSpec::nic(full() | tags, full(), Driver::Other);
        spec.words.needed_headroom = 12;
        let eth = host.add_base("eth0", spec).unwrap();
        let v1 = host.add_vlan("v1", eth, VlanSpec::new(1)).unwrap();
        let v2 = host.add_vlan("v1.2", v1, VlanSpec::new(2)).unwrap();
        let mv = host
            .add_macvlan("mv", eth, None)
            .map(|d| host.dev(d).words.needed_headroom);
        let lengths = [v1, v2].map(|d| {
            let w = host.dev(d).words;
            (
                w.hard_header_len,
                w.needed_headroom,
                host.dev(d).vlan().unwrap().header,
            )
        });
        (lengths, mv.ok())
    };
    let none = Features::NONE;
    let own = HeaderOps::Own;
    let room = ([(14, 16, own), (14, 20, own)], Some(12));
    let tag = Features::HW_VLAN_CTAG_TX;
    for release in [Release::V6_1, Release::V6_12, Release::V6_18] {
        assert_eq!(lengths(release, none), room);
        assert_eq!(lengths(release, tag), room);
    }
    let long = [(18, 12, own), (22, 12, own)];
    let pass = [(14, 12, HeaderOps::PassThrough), (18, 12, own)];
    assert_eq!(lengths(Release::V6_9, none), (long, Some(0)));
    assert_eq!(lengths(Release::V6_9, tag), (pass, Some(0)));
    assert_eq!(lengths(Release::V3_7, none), (long, None));
    assert_eq!(lengths(Release::V3_7, tag), (pass, None));
}

/// 3.7: no SG without a checksum, and no promise of a VLAN, so a stack loses everything.
#[test]
fn linux_3_7_stack() {
    let mut host = host(Release::V3_7);
    let hardware = Features::SG | Features::HW_CSUM | Features::TSO | Features::HIGHDMA;
    let eth = host.add_base("eth0", nic(hardware)).unwrap();
    let v = host.add_vlan("v", eth, VlanSpec::new(1)).unwrap();
    let w = host.add_vlan("w", v, VlanSpec::new(2)).unwrap();
    assert!(features(&host, v).has(hardware));
    assert_eq!(host.dev(v).words.vlan_features, Features::HIGHDMA);
    let left = Features::HIGHDMA | Features::GRO | Features::LLTX;
    assert_eq!(features(&host, w), left);
    host.ethtool_set(eth, &[("tx", false)]).unwrap();
    let gone = Features::SG | Features::GSO | Features::TSO;
    for d in [eth, v] {
        assert!(!features(&host, d).any(gone), "all go with the checksum");
    }
    assert!(matches!(host.add_bridge("br0"), Err(Error::NotModelled(_))));
}

/// The thread's patch: what the hardware promises for one tag is promised for any number.
#[test]
fn the_patch_leaks_upwards() {
    let rules = Rules {
        vlan_features: VlanFeatures::ThreadPatch,
        ..Rules::new(Release::V3_7)
    };
    let mut host = DeviceSet::new(rules);
    let hardware = Features::SG | Features::HW_CSUM | Features::TSO;
    let mut top = host.add_base("eth0", nic(hardware)).unwrap();
    for level in 1..=3 {
        let name = format!("v{level}");
        top = host.add_vlan(&name, top, VlanSpec::new(level)).unwrap();
        assert!(features(&host, top).has(hardware), "level {level}");
        assert!(host.dev(top).words.vlan_features.has(hardware));
    }
}

/// 6.12: a bond starts from nothing in tunnels too, has room for its ports, and needs ports for no promise.
#[test]
fn a_bond_of_6_12() {
    let mut spec = nic(full());
    spec.words.needed_headroom = 12;
    let words = |release| {
        let mut host = host(release);
        let eth = host.add_base("eth0", spec).unwrap();
        let bond = host
            .add_bond("bond0", BondMode::Other, HashPolicy::Other)
            .unwrap();
        host.set_master(eth, bond).unwrap();
        let with = host.dev(bond).words;
        host.set_nomaster(eth);
        (with, host.dev(bond).words)
    };
    let (old, old_empty) = words(Release::V6_1);
    let (new, new_empty) = words(Release::V6_12);
    assert!(old.hw_enc_features.has(Features::TSO) && !new.hw_enc_features.has(Features::TSO));
    assert_eq!((old.needed_headroom, new.needed_headroom), (0, 12));
    assert!(old_empty.vlan_features.has(Features::SG | Features::TSO));
    assert!(!new_empty.vlan_features.any(Features::SG | Features::TSO));
    assert!(new.features.has(Features::GSO_PARTIAL));
    assert_eq!(new.gso_partial_features, Features::GSO_ESP);
    assert_eq!(new_empty.needed_headroom, 0);
}

/// 6.9: add_tso leaves no ALL_FOR_ALL bit, and a bond promises no tunnels under a tag.
#[test]
fn a_bond_of_6_9() {
    let fresh = |release| {
        let mut host = host(release);
        let bond = host
            .add_bond("bond0", BondMode::Other, HashPolicy::Other)
            .unwrap();
        features(&host, bond)
    };
    assert!(fresh(Release::V6_1).has(Features::ALL_FOR_ALL));
    assert!(!fresh(Release::V6_9).any(Features::ALL_FOR_ALL));
}

/// A new VLAN switches LRO off below it at once, if its creation ends with an update; 6.9 leaves that to the next.
#[test]
fn a_new_vlan_looks_below_or_not() {
    for (release, stays) in [
        (Release::V6_1, false),
        (Release::V6_9, true),
        (Release::V6_12, false),
    ] {
        let mut host = host(release);
        let eth = host.add_base("eth0", nic(full() | Features::LRO)).unwrap();
        host.add_vlan("v1", eth, VlanSpec::new(1)).unwrap();
        assert_eq!(
            features(&host, eth).has(Features::LRO),
            stays,
            "{release:?}"
        );
        host.ethtool_set(eth, &[("tso", false)]).unwrap();
        assert!(!features(&host, eth).has(Features::LRO), "{release:?}");
    }
}
