//! macvlan.
//!
//! Follows `drivers/net/macvlan.c` of Linux 6.1.192.

use super::bits::Features;
use super::device::{DevId, Device, ETH_MAX_MTU, Kind, Words};
use super::rules::{Release, Rules};
use super::set::{DeviceSet, Error, refused};

/// `MACVLAN_FEATURES`: what it takes from the device below.
fn taken() -> Features {
    Features::SG
        | Features::HW_CSUM
        | Features::HIGHDMA
        | Features::FRAGLIST
        | Features::GSO
        | Features::TSO
        | Features::LRO
        | Features::TSO_ECN
        | Features::TSO6
        | Features::GRO
        | Features::RXCSUM
        | Features::HW_VLAN_CTAG_FILTER
        | Features::HW_VLAN_STAG_FILTER
}

/// `ALWAYS_ON_OFFLOADS`: what it can leave to software below.
fn always(rules: Rules) -> Features {
    Features::SG
        | Features::HW_CSUM
        | rules.gso_software()
        | Features::GSO_ROBUST
        | Features::GSO_ENCAP_ALL
}

impl DeviceSet {
    /// macvlan devices on `id`, oldest first.
    pub(super) fn macvlans_on(&self, id: DevId) -> Vec<DevId> {
        let mut found = self.dev(id).uppers.clone();
        found.retain(|&d| matches!(self.dev(d).kind, Kind::Macvlan { .. }));
        found
    }

    /// `ip link add link LOWER name NAME type macvlan`. On a macvlan it goes to the device below that.
    ///
    /// # Errors
    /// If the name is taken, the MTU above that of the device below, the device a loopback, or under 3.7.
    pub fn add_macvlan(
        &mut self,
        name: &str,
        lower: DevId,
        mtu: Option<u32>,
    ) -> Result<DevId, Error> {
        self.modern("macvlan")?;
        self.name_is_free(name)?;
        let lower = match self.dev(lower).kind {
            Kind::Macvlan { lower } => lower,
            _ => lower,
        };
        let below = self.dev(lower);
        if below.loopback {
            return refused("EINVAL", format!("no macvlan on loopback `{}`", below.name));
        }
        let mtu = mtu.unwrap_or(below.words.mtu);
        if mtu > below.words.mtu {
            return refused("EINVAL", format!("mtu {mtu} is above `{}`'s", below.name));
        }
        self.may_link(lower, None)?;
        let on = always(self.rules);
        let l = self.dev(lower).words;
        let features = (l.features & taken()) | on | self.rules.lltx();
        let mut words = Words {
            features,
            hw_features: Features::LRO,
            vlan_features: (l.vlan_features & taken()) | on,
            hw_enc_features: features,
            mtu,
            min_mtu: 0,
            max_mtu: ETH_MAX_MTU,
            hard_header_len: l.hard_header_len,
            ..Words::default()
        };
        words.set_tso_max(l.tso_max_size, l.tso_max_segs);
        self.macvlan_headroom(l, &mut words);
        let id = self.register(Device::new(name, Kind::Macvlan { lower }, words));
        self.link(lower, id);
        Ok(id)
    }

    fn macvlan_headroom(&self, lower: Words, w: &mut Words) {
        if self.rules.release != Release::V6_9 {
            w.needed_headroom = lower.needed_headroom;
        }
    }

    /// `macvlan_fix_features`. A user's own mask has no effect, since nothing of it can be switched.
    pub(super) fn macvlan_fix(&self, lower: DevId, f: Features) -> Features {
        let on = always(self.rules) | self.rules.lltx();
        let mask = f | Features::ALL_FOR_ALL;
        let below = self.dev(lower).words.features & (mask | !Features::LRO);
        let f = self.rules.increment(below, mask, mask) | on;
        f & (on | taken())
    }

    /// `NETDEV_FEAT_CHANGE` of the device below.
    pub(super) fn macvlan_lower_changed(&mut self, lower: DevId, id: DevId) {
        let l = self.dev(lower).words;
        let mut w = self.dev(id).words;
        w.set_tso_max(l.tso_max_size, l.tso_max_segs);
        self.macvlan_headroom(l, &mut w);
        self.dev_mut(id).words = w;
        self.update(id);
    }
}
