//! `fix_common`, the arithmetic, `ethtool -K`, and what register and limits do.

use super::*;

const V6_1: Rules = Rules::new(Release::V6_1);

fn fixed(f: Features) -> Features {
    V6_1.fix_common(f, Features::NONE)
}

/// One line a dependency: what is there, and what is dropped of it.
#[test]
fn every_dependency_drops_what_depends() {
    use Features as F;
    let sum = F::SG | F::HW_CSUM;
    let cases = [
        (
            "1 HW_CSUM beside others",
            F::HW_CSUM | F::PROTO_CSUM,
            F::PROTO_CSUM,
        ),
        ("1 with one other", F::HW_CSUM | F::IP_CSUM, F::IP_CSUM),
        (
            "2 TSO without SG",
            F::HW_CSUM | F::TSO | F::TSO6,
            F::TSO | F::TSO6,
        ),
        (
            "3 TSO without an IPv4 sum",
            F::SG | F::IPV6_CSUM | F::TSO | F::TSO_ECN,
            F::TSO | F::TSO_ECN,
        ),
        (
            "4 TSO6 without an IPv6 sum",
            F::SG | F::IP_CSUM | F::TSO | F::TSO6,
            F::TSO6,
        ),
        (
            "5 MANGLEID without TSO",
            sum | F::TSO6 | F::TSO_MANGLEID,
            F::TSO_MANGLEID,
        ),
        ("6 only ECN left", sum | F::TSO_ECN, F::TSO_ECN),
        ("7 GSO without SG", F::HW_CSUM | F::GSO, F::GSO),
        ("9 GRO_HW without RXCSUM", F::GRO_HW, F::GRO_HW),
        (
            "10 RXFCS",
            F::RXFCS | F::RXCSUM | F::LRO | F::GRO_HW,
            F::LRO | F::GRO_HW,
        ),
        (
            "11 GRO_HW against LRO",
            F::RXCSUM | F::GRO_HW | F::LRO,
            F::LRO,
        ),
        (
            "12 TLS_TX without sums",
            F::IP_CSUM | F::HW_TLS_TX,
            F::HW_TLS_TX,
        ),
        ("12 TLS_RX without RXCSUM", F::HW_TLS_RX, F::HW_TLS_RX),
    ];
    for (what, given, dropped) in cases {
        assert_eq!(given - fixed(given), dropped, "{what}");
        assert!(given.has(fixed(given)), "{what}: nothing is added");
    }
    let kept = [
        sum | F::TSO | F::TSO_ECN | F::TSO_MANGLEID | F::TSO6 | F::GSO,
        F::SG | F::IP_CSUM | F::TSO | F::TSO_ECN,
        F::RXCSUM | F::GRO_HW | F::HW_TLS_RX,
        F::PROTO_CSUM | F::HW_TLS_TX,
        F::GSO_UDP_L4 | F::GSO_SCTP | F::GSO_FRAGLIST,
    ];
    for f in kept {
        assert_eq!(fixed(f), f, "{f}");
    }
}

/// 8: what is segmented only in part needs GSO_PARTIAL.
#[test]
fn partial_segmentation_needs_its_bit() {
    let partial = Features::GSO_GRE;
    let f = Features::SG | Features::HW_CSUM | partial;
    assert_eq!(V6_1.fix_common(f, partial), f - partial);
    let with = f | Features::GSO_PARTIAL;
    assert_eq!(V6_1.fix_common(with, partial), with);
}

#[test]
fn a_general_checksum_includes_the_others() {
    let (hw, ip) = (Features::HW_CSUM, Features::IP_CSUM);
    assert_eq!(V6_1.intersect(hw, ip), ip);
    assert_eq!(V6_1.intersect(ip, hw), ip);
    assert_eq!(V6_1.intersect(hw, hw), hw);
    assert_eq!(Rules::new(Release::V3_7).intersect(hw, ip), Features::NONE);
}

/// A bit that a dependency took away waits in `wanted`, and comes back with what it depends on.
#[test]
fn a_wish_waits() {
    let mut host = host(Release::V6_1);
    let eth = host.add_base("eth0", nic(full())).unwrap();
    let before = features(&host, eth);
    let gone = host.ethtool_set(eth, &[("sg", false)]).unwrap();
    let dependent = Features::TSO | Features::TSO6 | Features::GSO;
    assert_eq!(gone, Features::SG | dependent);
    assert!(host.dev(eth).words.wanted_features.has(dependent));
    host.ethtool_set(eth, &[("sg", true)]).unwrap();
    assert_eq!(features(&host, eth), before);
}

/// TSO_MANGLEID becomes switchable after the wishes of register were taken: off until the user says tso on.
#[test]
fn tso_off_and_on_does_not_restore() {
    let mut host = host(Release::V6_1);
    let eth = host.add_base("eth0", nic(full())).unwrap();
    assert!(!features(&host, eth).has(Features::TSO_MANGLEID));
    host.ethtool_set(eth, &[("tso", false)]).unwrap();
    host.ethtool_set(eth, &[("tso", true)]).unwrap();
    assert!(features(&host, eth).has(Features::TSO_MANGLEID));
}

#[test]
fn what_no_user_may_ask_for_is_refused_whole() {
    let mut host = host(Release::V6_1);
    let eth = host.add_base("eth0", nic(full())).unwrap();
    let before = host.dev(eth).clone();
    for wishes in [
        [("tso", false), ("tx-lockless", true)],
        [("tso", false), ("vlan-challenged", true)],
        [("tso", false), ("tx-warp", true)],
        [("tso", false), ("tx-*", true)],
    ] {
        host.ethtool_set(eth, &wishes).expect_err("refused");
        assert_eq!(host.dev(eth), &before);
    }
}

/// Old names: every bit of the pattern, whether the device has it or not.
#[test]
fn old_names_are_groups() {
    use Features as F;
    let of = |name| F::from_ethtool(name).unwrap();
    assert_eq!(of("sg"), F::SG | F::FRAGLIST);
    assert_eq!(of("tx"), F::CSUM_MASK | F::FCOE_CRC | F::SCTP_CRC);
    let tso = F::TSO | F::TSO_ECN | F::TSO_MANGLEID | F::TSO6;
    assert_eq!(of("tso") & V6_1.known(), tso);
    assert_eq!(of("tso"), tso | F::GSO_ACCECN);
    assert_eq!(of("txvlan"), F::HW_VLAN_CTAG_TX);
    assert_eq!(F::from_ethtool("tx-tcp"), None);
    assert_eq!(
        (F::SG | F::TSO).to_string(),
        "tx-scatter-gather tx-tcp-segmentation"
    );
    assert_eq!(F::NONE.to_string(), "none");
}

/// What is off above cannot come on below, and what goes off above goes off below.
#[test]
fn lro_is_off_below_a_device_without_it() {
    let mut host = host(Release::V6_1);
    let eth = host.add_base("eth0", nic(full() | Features::LRO)).unwrap();
    assert!(features(&host, eth).has(Features::LRO));
    let vlan = host.add_vlan("v1", eth, VlanSpec::new(1)).unwrap();
    assert!(
        !features(&host, eth).has(Features::LRO),
        "a VLAN has no LRO"
    );
    host.ethtool_set(eth, &[("lro", true)]).unwrap();
    assert!(!features(&host, eth).has(Features::LRO), "and keeps it off");
    assert!(host.dev(eth).words.wanted_features.has(Features::LRO));
    host.delete(vlan).unwrap();
    let changed = host.ethtool_set(eth, &[("tso", false)]).unwrap();
    assert!(
        changed.has(Features::LRO),
        "the wish waited for nobody to be above"
    );
}

/// Limits go down with those of the device below, and never up.
#[test]
fn configured_limits_are_lowered_only() {
    let mut host = host(Release::V6_1);
    let mut spec = nic(full());
    (spec.words.tso_max_size, spec.words.tso_max_segs) = (32_000, 20);
    (spec.words.gso_max_size, spec.words.gso_max_segs) = (32_000, 20);
    let eth = host.add_base("eth0", spec).unwrap();
    let vlan = host.add_vlan("v1", eth, VlanSpec::new(1)).unwrap();
    let w = host.dev(vlan).words;
    assert_eq!(
        (w.tso_max_size, w.gso_max_size, w.gso_max_segs),
        (32_000, 32_000, 20)
    );
    host.set_gso_max(eth, Some(16_000), None).unwrap();
    assert_eq!(
        host.dev(vlan).words.gso_max_size,
        32_000,
        "this device only"
    );
    host.set_gso_max(eth, Some(32_001), None)
        .expect_err("above the hardware's");
    host.set_gso_max(eth, None, Some(21))
        .expect_err("above the hardware's");
    let w = host.dev(eth).words;
    assert_eq!((w.gso_max_size, w.gso_max_segs), (16_000, 20));
}

/// MTUs above follow down, not up; a device above is never larger.
#[test]
fn mtus_follow_down() {
    let mut host = host(Release::V6_1);
    let eth = host.add_base("eth0", nic(full())).unwrap();
    let v1 = host.add_vlan("v1", eth, VlanSpec::new(1)).unwrap();
    let v2 = host.add_vlan("v1.2", v1, VlanSpec::new(2)).unwrap();
    let mv = host.add_macvlan("mv", eth, None).unwrap();
    host.set_user_mtu(v2, 1200).unwrap();
    host.set_user_mtu(eth, 1400).unwrap();
    let mtus = |host: &DeviceSet| [eth, v1, v2, mv].map(|d| host.dev(d).words.mtu);
    assert_eq!(mtus(&host), [1400, 1400, 1200, 1400]);
    host.set_user_mtu(eth, 1500).unwrap();
    assert_eq!(mtus(&host), [1500, 1400, 1200, 1400]);
    host.set_user_mtu(v1, 1501).expect_err("above eth0's");
    host.set_user_mtu(mv, 1501).expect_err("above eth0's");
    host.set_user_mtu(eth, 9001)
        .expect_err("above its own most");
    host.set_user_mtu(eth, 67).expect_err("below its own least");
}

#[test]
fn what_the_kernel_refuses_is_refused() {
    let mut host = host(Release::V6_1);
    let eth = host.add_base("eth0", nic(full())).unwrap();
    let v1 = host.add_vlan("v1", eth, VlanSpec::new(1)).unwrap();
    host.add_vlan("v1", eth, VlanSpec::new(2))
        .expect_err("name taken");
    host.add_vlan("v2", eth, VlanSpec::new(1))
        .expect_err("id taken");
    host.add_vlan("v2", eth, VlanSpec::new(4095))
        .expect_err("id out of range");
    host.add_vlan("sixteen-letters!", eth, VlanSpec::new(2))
        .expect_err("no name");
    let s1 = VlanSpec {
        proto: EtherType::AD,
        ..VlanSpec::new(1)
    };
    host.add_vlan("s1", eth, s1)
        .expect("another protocol has its own ids");
    let old = host
        .add_base("old", nic(Features::VLAN_CHALLENGED))
        .unwrap();
    host.add_vlan("v2", old, VlanSpec::new(1))
        .expect_err("cannot carry VLANs");
    host.set_up(v1).expect_err("eth0 is down");
    let br = host.add_bridge("br0").unwrap();
    let on = host.add_vlan("br0.1", br, VlanSpec::new(1)).unwrap();
    host.set_master(on, br).expect_err("a cycle");
    host.set_master(eth, v1).expect_err("a VLAN takes no ports");
    let mut top = eth;
    for level in 2..=8 {
        let name = format!("q{level}");
        top = host
            .add_vlan(&name, top, VlanSpec::new(9))
            .expect("up to 8 levels");
    }
    host.add_vlan("q9", top, VlanSpec::new(9))
        .expect_err("9 levels");
    host.delete(eth).unwrap();
    let left: Vec<_> = host.iter().map(|(_, d)| d.name.as_str()).collect();
    assert_eq!(
        left,
        ["old", "br0", "br0.1"],
        "all that stood on it is gone"
    );
}

#[test]
fn vlans_go_up_and_down_with_the_device_below() {
    let mut host = host(Release::V6_1);
    let eth = host.add_base("eth0", nic(full())).unwrap();
    let tight = host.add_vlan("v1", eth, VlanSpec::new(1)).unwrap();
    let loose = VlanSpec {
        loose_binding: true,
        ..VlanSpec::new(2)
    };
    let loose = host.add_vlan("v2", eth, loose).unwrap();
    host.set_up(loose).expect("does not ask");
    host.set_up(eth).unwrap();
    assert!(host.dev(tight).up);
    host.set_down(eth);
    assert_eq!([tight, loose].map(|d| host.dev(d).up), [false, true]);
}

/// virtio_net refuses to change GRO_HW under XDP; then nothing changes, wishes apart.
#[test]
fn a_driver_may_refuse() {
    let mut host = host(Release::V6_1);
    let all = full() | Features::GRO_HW;
    let spec = BaseSpec::nic(all, all, Driver::VirtioNet);
    let eth = host.add_base("eth0", spec).unwrap();
    host.set_xdp(eth, true);
    let none = host.ethtool_set(eth, &[("rx-gro-hw", false)]).unwrap();
    assert!(none.is_empty() && features(&host, eth).has(Features::GRO_HW));
    host.set_xdp(eth, false);
    let off = host.ethtool_set(eth, &[("tso", false)]).unwrap();
    assert!(off.has(Features::GRO_HW), "the wish was kept");
}

#[test]
fn a_veth_does_not_segment_for_a_peer_with_xdp() {
    let mut host = host(Release::V6_1);
    let (a, b) = host.add_veth("a", "b").unwrap();
    let soft = host.rules().gso_software();
    assert!(features(&host, a).has(soft));
    host.set_xdp(b, true);
    assert!(!features(&host, a).any(soft) && features(&host, b).has(soft));
    host.set_xdp(b, false);
    assert!(features(&host, a).has(soft));
    host.delete(a).unwrap();
    assert!(host.get(b).is_none(), "both ends go");
}

/// e1000 and its kin: tags are inserted if and only if they are stripped.
#[test]
fn some_drivers_bind_insertion_to_stripping() {
    let mut host = host(Release::V6_1);
    let (tx, rx) = (Features::HW_VLAN_CTAG_TX, Features::HW_VLAN_CTAG_RX);
    let spec = BaseSpec::nic(
        full() | tx | rx,
        full(),
        Driver::from_name("e1000e", Features::NONE),
    );
    let eth = host.add_base("eth0", spec).unwrap();
    assert!(
        host.ethtool_set(eth, &[("txvlan", false)])
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        host.ethtool_set(eth, &[("rxvlan", false)]).unwrap(),
        rx | tx
    );
    let vmxnet3 = Driver::from_name("vmxnet3", Features::NONE);
    assert!(!vmxnet3.fix(Features::LRO).has(Features::LRO));
    let tun = Driver::from_name("tun", Features::SG | Features::TSO);
    let wish = Features::SG | Features::TSO | Features::HW_CSUM | Features::HIGHDMA;
    assert_eq!(tun.fix(wish), wish - Features::HW_CSUM);
}
