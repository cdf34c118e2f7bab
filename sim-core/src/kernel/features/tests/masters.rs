//! Bond, team and bridge: several ports, modes, MTU and headroom.

use super::*;

fn bond(host: &mut DeviceSet, mode: BondMode) -> DevId {
    host.add_bond("bond0", mode, HashPolicy::Other).unwrap()
}

/// One port is enough for what software can do; every port is needed for the rest.
#[test]
fn one_for_all_and_all_for_all() {
    let mut host = host(Release::V6_1);
    let poor = host.add_base("poor", nic(Features::RXCSUM)).unwrap();
    let rich = host
        .add_base("rich", nic(full() | Features::NOCACHE_COPY))
        .unwrap();
    for kind in ["bond", "team", "bridge"] {
        let master = match kind {
            "bond" => bond(&mut host, BondMode::Other),
            "team" => host.add_team("team0").unwrap(),
            _ => host.add_bridge("br0").unwrap(),
        };
        host.set_master(poor, master).unwrap();
        assert!(!features(&host, master).has(Features::SG), "{kind}");
        host.set_master(rich, master).unwrap();
        let one = Features::SG | Features::TSO | Features::TSO6;
        assert!(features(&host, master).has(one), "{kind}");
        assert!(
            !features(&host, master).has(Features::NOCACHE_COPY),
            "{kind}"
        );
        let promise = host.dev(master).words.vlan_features;
        assert!(promise.has(Features::SG | Features::HW_CSUM), "{kind}");
        host.set_nomaster(rich);
        assert!(!features(&host, master).has(Features::SG), "{kind}");
        host.delete(master).unwrap();
        assert!([poor, rich].iter().all(|&d| host.dev(d).uppers.is_empty()));
    }
}

/// A bond's limits are the least of its ports'; a bridge's too; a team has none.
#[test]
fn limits_of_ports() {
    let mut host = host(Release::V6_1);
    let mut spec = nic(full());
    let mut ports = Vec::new();
    for (name, size, segs) in [("a", 100_000, 40), ("b", 200_000, 30)] {
        (spec.words.tso_max_size, spec.words.tso_max_segs) = (size, segs);
        (spec.words.gso_max_size, spec.words.gso_max_segs) = (65_536, segs);
        ports.push(host.add_base(name, spec).unwrap());
    }
    let limits = |host: &DeviceSet, d| {
        let w = host.dev(d).words;
        (w.tso_max_size, w.tso_max_segs, w.gso_max_segs)
    };
    let masters = [
        (bond(&mut host, BondMode::Other), (100_000, 30, 30)),
        (host.add_bridge("br0").unwrap(), (100_000, 30, 30)),
        (host.add_team("team0").unwrap(), (65_536, 65_535, 65_535)),
    ];
    for (master, expected) in masters {
        for &port in &ports {
            host.set_master(port, master).unwrap();
        }
        assert_eq!(limits(&host, master), expected);
        host.set_nomaster(ports[0]);
    }
}

/// A port of a master without LRO loses it, and so does what is below the port.
#[test]
fn enslaving_switches_lro_off() {
    for kind in ["bond", "team", "bridge"] {
        let mut host = host(Release::V6_1);
        let eth = host.add_base("eth0", nic(full() | Features::LRO)).unwrap();
        let mv = host.add_macvlan("mv", eth, None).unwrap();
        let master = match kind {
            "bond" => bond(&mut host, BondMode::Other),
            "team" => host.add_team("team0").unwrap(),
            _ => host.add_bridge("br0").unwrap(),
        };
        assert!(features(&host, eth).has(Features::LRO), "{kind}");
        if kind != "bridge" {
            host.ethtool_set(master, &[("lro", false)]).unwrap();
        }
        host.set_master(mv, master).unwrap();
        for d in [mv, eth] {
            assert!(!features(&host, d).has(Features::LRO), "{kind}");
        }
    }
}

/// The wish goes too, even if LRO was not on at the time: it does not come back with what it waited for.
#[test]
fn enslaving_forgets_the_wish_for_lro() {
    for kind in ["bond", "team", "bridge"] {
        let mut host = host(Release::V6_1);
        let base = full() | Features::LRO | Features::RXFCS;
        let eth = host.add_base("eth0", nic(base)).unwrap();
        let wanted = |host: &DeviceSet| host.dev(eth).words.wanted_features.has(Features::LRO);
        assert!(wanted(&host) && !features(&host, eth).has(Features::LRO));
        let master = match kind {
            "bond" => bond(&mut host, BondMode::Other),
            "team" => host.add_team("team0").unwrap(),
            _ => host.add_bridge("br0").unwrap(),
        };
        if kind != "bridge" {
            host.ethtool_set(master, &[("lro", false)]).unwrap();
        }
        host.set_master(eth, master).unwrap();
        assert!(!wanted(&host), "{kind}");
        host.delete(master).unwrap();
        host.ethtool_set(eth, &[("rx-fcs", false)]).unwrap();
        assert!(!features(&host, eth).has(Features::LRO), "{kind}");
    }
}

/// A bond hands IPsec down once `active-backup` was chosen, and TLS while a connection stays on one port.
#[test]
fn modes_of_a_bond() {
    let mut host = host(Release::V6_1);
    let id = bond(&mut host, BondMode::ActiveBackup);
    assert!(
        !features(&host, id).any(Features::XFRM),
        "not of a fresh one"
    );
    host.change_bond(id, Some(BondMode::Other), None).unwrap();
    host.change_bond(id, Some(BondMode::ActiveBackup), None)
        .unwrap();
    assert!(features(&host, id).has(Features::XFRM));
    host.change_bond(id, Some(BondMode::Hashed), None).unwrap();
    assert!(!features(&host, id).any(Features::XFRM | Features::TLS));
    host.change_bond(id, None, Some(HashPolicy::Layer34))
        .unwrap();
    assert!(features(&host, id).has(Features::HW_TLS_TX));
    assert!(!features(&host, id).any(Features::XFRM));
    host.change_bond(id, None, Some(HashPolicy::Other)).unwrap();
    assert!(!features(&host, id).any(Features::TLS));
    host.set_up(id).unwrap();
    host.change_bond(id, Some(BondMode::Other), None)
        .expect_err("it is up");
    let br = host.add_bridge("br0").unwrap();
    host.change_bond(br, None, Some(HashPolicy::Other))
        .expect_err("no bond");
}

/// A bond and a team set the MTU of their ports and give it back; a bridge takes the least of its ports'.
#[test]
fn mtus_of_ports() {
    let mut host = host(Release::V6_1);
    let eth = host.add_base("eth0", nic(full())).unwrap();
    let mtu = |host: &DeviceSet, d| host.dev(d).words.mtu;
    host.set_user_mtu(eth, 1400).unwrap();
    let br = host.add_bridge("br0").unwrap();
    host.set_master(eth, br).unwrap();
    assert_eq!(mtu(&host, br), 1400);
    host.set_user_mtu(eth, 1300).unwrap();
    assert_eq!(mtu(&host, br), 1300);
    host.set_user_mtu(br, 1200).unwrap();
    host.set_user_mtu(eth, 1400).unwrap();
    assert_eq!(mtu(&host, br), 1200, "set by hand");

    let team = host.add_team("team0").unwrap();
    host.set_master(eth, team).unwrap();
    assert_eq!(mtu(&host, eth), 1500);
    host.set_user_mtu(eth, 1400)
        .expect_err("the team's business");
    host.set_user_mtu(team, 4000).unwrap();
    assert_eq!(mtu(&host, eth), 4000);
    host.set_user_mtu(team, 9001)
        .expect_err("above the port's most");
    assert_eq!([team, eth].map(|d| mtu(&host, d)), [4000, 4000]);
    host.set_nomaster(eth);
    assert_eq!(mtu(&host, eth), 1400);
    assert!(!host.dev(eth).up);
    host.set_up(eth).unwrap();
    host.set_master(eth, team).expect_err("it is up");
}

/// A bridge's headroom is that of the port with most, and reaches both ends of a veth.
#[test]
fn headroom_of_a_bridge() {
    let mut host = host(Release::V6_1);
    let eth = host.add_base("eth0", nic(full())).unwrap();
    let v1 = host.add_vlan("v1", eth, VlanSpec::new(1)).unwrap();
    let (a, b) = host.add_veth("a", "b").unwrap();
    let br = host.add_bridge("br0").unwrap();
    let room = |host: &DeviceSet| [br, a, b].map(|d| host.dev(d).words.needed_headroom);
    host.set_master(a, br).unwrap();
    assert_eq!(room(&host), [0, 0, 0]);
    host.set_master(v1, br).unwrap();
    assert_eq!(room(&host), [4, 4, 4]);
    host.set_nomaster(v1);
    assert_eq!(room(&host), [0, 0, 0]);
}

/// VLANs on a bond keep the promise they copied, whatever ports come later.
#[test]
fn a_vlan_copies_the_promise_once() {
    let mut host = host(Release::V6_1);
    let eth = host.add_base("eth0", nic(full())).unwrap();
    let bond = bond(&mut host, BondMode::Other);
    let vlan = host.add_vlan("bond0.1", bond, VlanSpec::new(1)).unwrap();
    let before = host.dev(vlan).words.vlan_features;
    host.set_master(eth, bond).unwrap();
    assert_ne!(host.dev(bond).words.vlan_features, before);
    assert_eq!(host.dev(vlan).words.vlan_features, before);
    assert!(features(&host, vlan).has(Features::TSO | Features::HW_CSUM));
}
