//! Masters: bond, team and bridge, and their ports.
//!
//! Follows `drivers/net/bonding/{bond_main,bond_options}.c` and `drivers/net/team/team.c` of Linux 6.1.192, and of 6.9.5 and 6.12.117 where they differ.

use super::bits::Features;
use super::bridge::{bridge_common, is_bridge};
use super::device::{
    DevId, Device, ETH_HLEN, ETH_MAX_MTU, GSO_MAX_SEGS, GSO_MAX_SIZE, Kind, Words,
};
use super::rules::{Release, Rules};
use super::set::{DeviceSet, Error, refused};
use std::collections::BTreeMap;

/// Which kind of master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MasterKind {
    /// Bonding driver.
    Bond,
    /// Team driver.
    Team,
    /// Bridge.
    Bridge,
}

/// `mode` of a bond, as far as features ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BondMode {
    /// `active-backup`: may hand IPsec to its active port.
    ActiveBackup,
    /// `balance-xor` or `802.3ad`: a flow may stay on one port.
    Hashed,
    /// Any other.
    Other,
}

impl BondMode {
    /// The mode that `ip link` calls `name`, or its number.
    pub fn from_name(name: &str) -> Option<BondMode> {
        match name {
            "active-backup" | "1" => Some(BondMode::ActiveBackup),
            "balance-xor" | "802.3ad" | "2" | "4" => Some(BondMode::Hashed),
            "balance-rr" | "broadcast" | "balance-tlb" | "balance-alb" | "0" | "3" | "5" | "6" => {
                Some(BondMode::Other)
            }
            _ => None,
        }
    }
}

/// `xmit_hash_policy` of a bond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashPolicy {
    /// `layer3+4`: with a hashing mode a connection stays on one port, so TLS may be offloaded.
    Layer34,
    /// Any other.
    Other,
}

/// The private part of a master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Master {
    /// Which kind.
    pub kind: MasterKind,
    /// Bond mode.
    pub mode: BondMode,
    /// Bond hash policy.
    pub policy: HashPolicy,
    /// It is just telling everybody; its own event is none of its business.
    pub(super) notifier_ctx: bool,
    /// A bridge whose MTU was set by hand no longer follows its ports.
    pub(super) mtu_set_by_user: bool,
    /// MTUs of the ports before they were ports.
    pub(super) port_mtu: BTreeMap<DevId, u32>,
}

/// The groups that a bond or team promises at most.
struct Groups {
    vlan: Features,
    enc: Features,
    mpls: Features,
}

impl Groups {
    fn of(rules: Rules, kind: MasterKind) -> Groups {
        let common = Features::HW_CSUM | Features::SG | rules.gso_software();
        let encap = Features::GSO_ENCAP_ALL.if_(rules.release != Release::V6_9);
        let partial = Features::GSO_PARTIAL.if_(rules.recent() && kind == MasterKind::Bond);
        Groups {
            vlan: common | Features::FRAGLIST | encap | Features::HIGHDMA | Features::LRO,
            enc: common | Features::RXCSUM | partial,
            mpls: common,
        }
    }
}

/// Limits of all ports so far, and of one more.
pub(super) fn least((size, segs): (u32, u32), w: &Words) -> (u32, u32) {
    (size.min(w.tso_max_size), segs.min(w.tso_max_segs))
}

impl DeviceSet {
    /// `ip link add NAME type bond`.
    ///
    /// # Errors
    /// If the name is taken, or under 3.7.
    pub fn add_bond(
        &mut self,
        name: &str,
        mode: BondMode,
        policy: HashPolicy,
    ) -> Result<DevId, Error> {
        self.add_master(name, MasterKind::Bond, mode, policy)
    }

    /// `ip link add NAME type team`.
    ///
    /// # Errors
    /// If the name is taken, or under 3.7.
    pub fn add_team(&mut self, name: &str) -> Result<DevId, Error> {
        self.add_master(name, MasterKind::Team, BondMode::Other, HashPolicy::Other)
    }

    /// `ip link add NAME type bridge`.
    ///
    /// # Errors
    /// If the name is taken, or under 3.7.
    pub fn add_bridge(&mut self, name: &str) -> Result<DevId, Error> {
        self.add_master(name, MasterKind::Bridge, BondMode::Other, HashPolicy::Other)
    }

    fn add_master(
        &mut self,
        name: &str,
        kind: MasterKind,
        mode: BondMode,
        policy: HashPolicy,
    ) -> Result<DevId, Error> {
        self.modern("bond, team or bridge")?;
        self.name_is_free(name)?;
        let master = Master {
            kind,
            mode,
            policy,
            notifier_ctx: false,
            mtu_set_by_user: false,
            port_mtu: BTreeMap::new(),
        };
        let words = self.master_setup(kind);
        Ok(self.register(Device::new(name, Kind::Master(master), words)))
    }

    /// `bond_setup`, `team_setup`, `br_dev_setup`.
    fn master_setup(&self, kind: MasterKind) -> Words {
        let rules = self.rules;
        let mut w = Words {
            max_mtu: ETH_MAX_MTU,
            ..Words::default()
        };
        let fixed = rules.lltx() | rules.netns_local();
        if kind == MasterKind::Bridge {
            let common = bridge_common(rules);
            w.hw_features = common | Features::TAG_TX;
            w.features = w.hw_features | fixed;
            w.vlan_features = common;
            return w;
        }
        let tags = Features::VLAN_FEATURES - Features::TAG_TX;
        w.hw_features = Groups::of(rules, kind).vlan | tags | Features::GSO_ENCAP_ALL;
        w.features = w.hw_features | fixed | Features::TAG_TX;
        if kind == MasterKind::Team {
            w.features |= Features::GRO;
        } else {
            // Off until the mode is chosen once more: the mode of a fresh device is that of the module.
            w.hw_features |= Features::XFRM;
            w.features |= Features::GSO_PARTIAL.if_(rules.recent());
        }
        w
    }

    /// `bond_sk_check`: whether a connection stays on one port.
    fn tls(&self, master: &Master) -> bool {
        master.mode == BondMode::Hashed && master.policy == HashPolicy::Layer34
    }

    /// `bond_fix_features`, `team_fix_features`, `br_features_recompute`.
    pub(super) fn master_fix(&self, id: DevId, master: &Master, f: Features) -> Features {
        let rules = self.rules;
        let ports = &self.dev(id).lowers;
        let (mut mask, mut f) = (f, f);
        match master.kind {
            MasterKind::Bridge => {
                if ports.is_empty() {
                    return f;
                }
                f -= rules.one_for_all();
            }
            MasterKind::Bond | MasterKind::Team => {
                if master.kind == MasterKind::Bond && rules.release != Release::V6_9 {
                    mask = (f - Features::TLS) | Features::TLS.if_(self.tls(master));
                }
                f = rules.base(mask);
            }
        }
        for &port in ports {
            f = rules.increment(f, self.dev(port).words.features, mask);
        }
        rules.add_tso(f, mask)
    }

    /// `bond_compute_features`, `__team_compute_features` and the event that follows them; from 6.12 on
    /// `netdev_compute_master_upper_features` for the bond.
    pub(super) fn compute(&mut self, id: DevId) {
        let rules = self.rules;
        let Some(master) = self.dev(id).master_part() else {
            return;
        };
        let bond = master.kind == MasterKind::Bond;
        let max = Groups::of(rules, master.kind);
        let ports: Vec<Words> = self
            .dev(id)
            .lowers
            .iter()
            .map(|&p| self.dev(p).words)
            .collect();
        let mut w = self.dev(id).words;

        let helper = bond && rules.recent();
        let start = |f: Features| {
            if rules.recent() && (helper || !ports.is_empty()) {
                rules.base(f)
            } else if rules.recent() || (bond && ports.is_empty()) {
                f
            } else {
                f & Features::ALL_FOR_ALL
            }
        };
        let (mut vlan, mut mpls) = (start(max.vlan), start(max.mpls));
        // Before 6.12 this one was forgotten: it starts full and never loses anything.
        let mut enc = if rules.recent() {
            start(max.enc)
        } else {
            max.enc
        };
        let (mut xfrm, mut partial) = (Features::XFRM, Features::GSO_ESP);
        let (mut header, mut headroom, mut tailroom) = (ETH_HLEN, 0, 0);
        let mut tso = (GSO_MAX_SIZE, GSO_MAX_SEGS);
        for port in &ports {
            vlan = rules.increment(vlan, port.vlan_features, max.vlan);
            enc = rules.increment(enc, port.hw_enc_features, max.enc);
            xfrm = rules.increment(xfrm, port.hw_enc_features, Features::XFRM);
            mpls = rules.increment(mpls, port.mpls_features, max.mpls);
            partial = rules.increment(partial, port.gso_partial_features, Features::GSO_ESP);
            header = header.max(port.hard_header_len);
            headroom = headroom.max(port.needed_headroom);
            tailroom = tailroom.max(port.needed_tailroom);
            tso = least(tso, port);
        }

        w.vlan_features = vlan;
        w.hw_enc_features = enc | Features::GSO_ENCAP_ALL | Features::TAG_TX;
        if helper || !bond || !ports.is_empty() {
            w.hard_header_len = header;
        }
        if bond {
            w.hw_enc_features |= xfrm;
            w.mpls_features = mpls;
            w.set_tso_max(tso.0, tso.1);
        }
        if helper {
            w.gso_partial_features = partial;
            w.needed_headroom = headroom;
            w.needed_tailroom = tailroom;
        }
        self.dev_mut(id).words = w;
        self.change(id);
    }

    /// `ip link set NAME type bond mode ... xmit_hash_policy ...`.
    ///
    /// # Errors
    /// If the device is no bond, or the mode of one that is up or has ports is to change.
    pub fn change_bond(
        &mut self,
        id: DevId,
        mode: Option<BondMode>,
        policy: Option<HashPolicy>,
    ) -> Result<(), Error> {
        let dev = self.dev_mut(id);
        let Kind::Master(master) = &mut dev.kind else {
            return refused("EINVAL", format!("`{}` is no bond", dev.name));
        };
        if master.kind != MasterKind::Bond {
            return refused("EINVAL", format!("`{}` is no bond", dev.name));
        }
        if mode.is_some() && (dev.up || !dev.lowers.is_empty()) {
            return refused("EBUSY", format!("`{}` is up or has ports", dev.name));
        }
        if mode.is_none() && policy.is_none() {
            return Ok(());
        }
        master.mode = mode.unwrap_or(master.mode);
        master.policy = policy.unwrap_or(master.policy);
        let now = master.clone();
        let tls = self.tls(&now);
        let switched = Features::XFRM.if_(mode.is_some())
            | Features::TLS.if_(self.rules.release != Release::V6_9);
        let on = Features::XFRM.if_(now.mode == BondMode::ActiveBackup) | Features::TLS.if_(tls);
        let w = &mut self.dev_mut(id).words;
        w.wanted_features = (w.wanted_features - switched) | (on & switched);
        self.update(id);
        Ok(())
    }

    /// `bond_enslave`, `team_port_add`, `br_add_if`: `port` has no master.
    pub(super) fn enslave(&mut self, id: DevId, port: DevId) -> Result<(), Error> {
        let (master, dev) = (self.dev(id), self.dev(port));
        let Some(part) = master.master_part() else {
            return refused("EOPNOTSUPP", format!("`{}` takes no ports", master.name));
        };
        let kind = part.kind;
        if dev.loopback {
            return refused("EINVAL", format!("`{}` is a loopback", dev.name));
        }
        if id == port || (kind == MasterKind::Bridge && is_bridge(dev)) {
            return refused("ELOOP", format!("`{}` cannot be a port", dev.name));
        }
        if dev.up && kind != MasterKind::Bridge {
            return refused("EBUSY", format!("`{}` is up: set it down first", dev.name));
        }
        self.may_link(port, Some(id))?;
        if kind == MasterKind::Bridge {
            self.bridge_add(id, port);
            return Ok(());
        }
        let (own, was) = (master.words.mtu, dev.words.mtu);
        self.set_mtu(port, own)?;
        self.set_up(port)?;
        if let Kind::Master(part) = &mut self.dev_mut(id).kind {
            part.port_mtu.insert(port, was);
        }
        if !self.dev(id).words.features.has(Features::LRO) {
            self.disable_lro(port);
        }
        self.link(port, id);
        self.dev_mut(port).master = Some(id);
        self.compute(id);
        Ok(())
    }

    /// `__bond_release_one`, `team_port_del`, `br_del_if`: no effect on a device that is no port.
    pub(super) fn release(&mut self, port: DevId) {
        let Some(id) = self.dev_mut(port).master.take() else {
            return;
        };
        self.unlink(port, id);
        if is_bridge(self.dev(id)) {
            self.bridge_del(id, port);
            return;
        }
        let was = match &mut self.dev_mut(id).kind {
            Kind::Master(part) => part.port_mtu.remove(&port),
            _ => None,
        };
        self.compute(id);
        self.set_down(port);
        if let Some(mtu) = was {
            // What the port had before it had then too; the kernel does not look at the result either.
            let _ = self.set_mtu(port, mtu);
        }
    }
}
