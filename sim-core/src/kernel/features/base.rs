//! Devices at the bottom: drivers of hardware, veth, dummy.
//!
//! Follows `ndo_fix_features` and `ndo_set_features` of e1000, e1000e and virtio_net and `drivers/net/{veth,dummy}.c`
//! of Linux 6.1.192. From general knowledge, not read: igb, igc, vmxnet3 and tun. Drivers without either keep what they are given.

use super::bits::Features;
use super::device::{DevId, Device, ETH_MAX_MTU, GSO_MAX_SEGS, GSO_MAX_SIZE, Kind, Words};
use super::rules::Rules;
use super::set::{DeviceSet, Error, refused};

/// What a driver says to a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// Tags are inserted if and only if they are stripped: e1000, e1000e, igb, igc.
    TagsTogether,
    /// LRO only with receive checksums.
    Vmxnet3,
    /// Cannot change GRO_HW under XDP.
    VirtioNet,
    /// tun and tap: of what its user has to be able to take, only this (`TUNSETOFFLOAD`).
    Tun(Features),
    /// Takes everything.
    Other,
}

impl Driver {
    /// The driver that `ethtool -i` calls `name`, of a device that has `features` now.
    pub fn from_name(name: &str, features: Features) -> Driver {
        match name {
            "e1000" | "e1000e" | "igb" | "igc" => Driver::TagsTogether,
            "vmxnet3" => Driver::Vmxnet3,
            "virtio_net" => Driver::VirtioNet,
            "tun" => Driver::Tun(features),
            _ => Driver::Other,
        }
    }

    pub(super) fn fix(self, f: Features) -> Features {
        match self {
            Driver::TagsTogether => {
                let insert = Features::HW_VLAN_CTAG_TX;
                (f - insert) | insert.if_(f.has(Features::HW_VLAN_CTAG_RX))
            }
            Driver::Vmxnet3 => f - Features::LRO.if_(!f.has(Features::RXCSUM)),
            Driver::Tun(taken) => f & (taken | !TUN_USER_FEATURES),
            Driver::VirtioNet | Driver::Other => f,
        }
    }

    pub(super) fn takes(self, changed: Features, xdp: bool) -> bool {
        !(self == Driver::VirtioNet && xdp && changed.has(Features::GRO_HW))
    }
}

/// `TUN_USER_FEATURES`.
const TUN_USER_FEATURES: Features = Features::HW_CSUM
    .or(Features::TSO)
    .or(Features::TSO_ECN)
    .or(Features::TSO6)
    .or(Features::GSO_UDP_L4);

/// A base device before it is registered.
#[derive(Clone, Copy, Debug)]
pub struct BaseSpec {
    /// The words as the driver's probe sets them.
    pub words: Words,
    /// The driver.
    pub driver: Driver,
    /// `IFF_LOOPBACK`.
    pub loopback: bool,
    /// `IFF_PHONY_HEADROOM`.
    pub phony_headroom: bool,
}

impl BaseSpec {
    /// A NIC that has `features`, all switchable, and promises `vlan_features` under one tag.
    pub fn nic(features: Features, vlan_features: Features, driver: Driver) -> BaseSpec {
        BaseSpec {
            words: Words {
                features,
                hw_features: features,
                vlan_features,
                max_mtu: 9000,
                ..Words::default()
            },
            driver,
            loopback: false,
            phony_headroom: false,
        }
    }

    fn device(self, name: &str) -> Device {
        Device {
            loopback: self.loopback,
            phony_headroom: self.phony_headroom,
            ..Device::new(name, Kind::Base(self.driver), self.words)
        }
    }
}

/// What veth and dummy have in common.
fn software(rules: Rules) -> Features {
    Features::SG
        | Features::FRAGLIST
        | rules.gso_software()
        | Features::HW_CSUM
        | Features::HIGHDMA
        | Features::GSO_ENCAP_ALL
}

impl DeviceSet {
    /// Registers a base device.
    ///
    /// # Errors
    /// If the name is taken or no name.
    pub fn add_base(&mut self, name: &str, spec: BaseSpec) -> Result<DevId, Error> {
        self.name_is_free(name)?;
        Ok(self.register(spec.device(name)))
    }

    /// Takes a device that a running kernel has registered, with the words it has there.
    ///
    /// # Errors
    /// If the name is taken or no name.
    pub fn adopt(&mut self, name: &str, spec: BaseSpec) -> Result<DevId, Error> {
        self.name_is_free(name)?;
        Ok(self.insert(spec.device(name)))
    }

    pub(super) fn modern(&self, what: &str) -> Result<(), Error> {
        if self.rules.old() {
            return Err(Error::NotModelled(format!("{what} under Linux 3.7")));
        }
        Ok(())
    }

    /// `ip link add NAME type dummy`. Promises nothing for tagged frames.
    ///
    /// # Errors
    /// If the name is taken, or under 3.7.
    pub fn add_dummy(&mut self, name: &str) -> Result<DevId, Error> {
        self.modern("dummy")?;
        self.name_is_free(name)?;
        let all = software(self.rules) | self.rules.lltx();
        let words = Words {
            features: all,
            hw_features: all,
            hw_enc_features: all,
            min_mtu: 0,
            max_mtu: 0,
            ..Words::default()
        };
        let driver = Kind::Base(Driver::Other);
        Ok(self.register(Device::new(name, driver, words)))
    }

    /// `ip link add NAME type veth peer name PEER`.
    ///
    /// # Errors
    /// If a name is taken, or under 3.7.
    pub fn add_veth(&mut self, name: &str, peer_name: &str) -> Result<(DevId, DevId), Error> {
        self.modern("veth")?;
        self.name_is_free(name)?;
        self.name_is_free(peer_name)?;
        if name == peer_name {
            return refused("EEXIST", format!("both ends are called `{name}`"));
        }
        let tags = Features::VLAN_FEATURES
            - (Features::HW_VLAN_CTAG_FILTER | Features::HW_VLAN_STAG_FILTER);
        let all = software(self.rules) | Features::RXCSUM | Features::SCTP_CRC | tags;
        let mut words = Words {
            features: all | self.rules.lltx(),
            hw_features: all,
            vlan_features: (all | self.rules.lltx()) - tags,
            hw_enc_features: all,
            mpls_features: Features::HW_CSUM | self.rules.gso_software(),
            max_mtu: ETH_MAX_MTU,
            ..Words::default()
        };
        words.set_tso_max(GSO_MAX_SIZE, GSO_MAX_SEGS);
        let mut end = |name| {
            let kind = Kind::Veth {
                peer: None,
                requested_headroom: 0,
            };
            let id = self.register(Device {
                phony_headroom: true,
                ..Device::new(name, kind, words)
            });
            // `veth_disable_gro`
            let w = &mut self.dev_mut(id).words;
            w.features -= Features::GRO;
            w.wanted_features -= Features::GRO;
            self.update(id);
            id
        };
        let (b, a) = (end(peer_name), end(name));
        for (end, other) in [(a, b), (b, a)] {
            if let Kind::Veth { peer, .. } = &mut self.dev_mut(end).kind {
                *peer = Some(other);
            }
        }
        Ok((a, b))
    }

    /// `ndo_set_rx_headroom`, which only veth has here: what a bridge wants in front of received packets. −1 from
    /// the kernel is 0 here.
    pub(super) fn set_rx_headroom(&mut self, id: DevId, headroom: u32) {
        let Kind::Veth {
            peer: Some(peer),
            requested_headroom,
        } = &mut self.dev_mut(id).kind
        else {
            return;
        };
        *requested_headroom = headroom;
        let peer = *peer;
        let other = match self.dev(peer).kind {
            Kind::Veth {
                requested_headroom, ..
            } => requested_headroom,
            _ => 0,
        };
        for end in [id, peer] {
            self.dev_mut(end).words.needed_headroom = headroom.max(other);
        }
    }
}
