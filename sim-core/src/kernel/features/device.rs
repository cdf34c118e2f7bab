//! A device: its words, what it is, and who is above and below.
//!
//! Follows `struct net_device`: only what decides features and what features decide.

use super::base::Driver;
use super::bits::Features;
use super::master::Master;
use super::vlan::Vlan;

/// A device of a `DeviceSet`. Numbers are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevId(pub(super) u32);

/// `GSO_LEGACY_MAX_SIZE` and `TSO_LEGACY_MAX_SIZE`, bytes: the limits of a device that says nothing.
pub(super) const LEGACY_MAX_SIZE: u32 = 65_536;
/// `GSO_MAX_SIZE` and `TSO_MAX_SIZE`, bytes (`8 * GSO_MAX_SEGS`).
pub(super) const GSO_MAX_SIZE: u32 = 524_280;
/// `GSO_MAX_SEGS` and `TSO_MAX_SEGS`, segments.
pub(super) const GSO_MAX_SEGS: u32 = 65_535;
/// `ETH_HLEN`, bytes.
pub(super) const ETH_HLEN: u32 = 14;
/// `ETH_DATA_LEN`, bytes.
pub(super) const ETH_DATA_LEN: u32 = 1500;
/// `ETH_MIN_MTU`, bytes.
pub(super) const ETH_MIN_MTU: u32 = 68;
/// `ETH_MAX_MTU`, bytes.
pub(super) const ETH_MAX_MTU: u32 = 65_535;

/// The fields of `struct net_device` that this module keeps. Lengths in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// What is on.
    pub features: Features,
    /// What a user may switch.
    pub hw_features: Features,
    /// What the user wants on; a bit may wait here until what it depends on is back.
    pub wanted_features: Features,
    /// What the device can do for a frame that carries one tag.
    pub vlan_features: Features,
    /// What it can do for an encapsulated frame.
    pub hw_enc_features: Features,
    /// What it can do for an MPLS frame.
    pub mpls_features: Features,
    /// Segmentations that need software for the outer headers.
    pub gso_partial_features: Features,
    /// MTU.
    pub mtu: u32,
    /// Least MTU.
    pub min_mtu: u32,
    /// Greatest MTU; 0: no limit.
    pub max_mtu: u32,
    /// Link-layer header.
    pub hard_header_len: u32,
    /// Room in front of it.
    pub needed_headroom: u32,
    /// Room behind the packet.
    pub needed_tailroom: u32,
    /// Greatest GSO packet, as configured.
    pub gso_max_size: u32,
    /// Most segments of a GSO packet, as configured.
    pub gso_max_segs: u32,
    /// Greatest packet the hardware segments.
    pub tso_max_size: u32,
    /// Most segments it makes of one.
    pub tso_max_segs: u32,
}

impl Default for Words {
    /// `ether_setup` and `alloc_netdev`.
    fn default() -> Words {
        Words {
            features: Features::NONE,
            hw_features: Features::NONE,
            wanted_features: Features::NONE,
            vlan_features: Features::NONE,
            hw_enc_features: Features::NONE,
            mpls_features: Features::NONE,
            gso_partial_features: Features::NONE,
            mtu: ETH_DATA_LEN,
            min_mtu: ETH_MIN_MTU,
            max_mtu: ETH_DATA_LEN,
            hard_header_len: ETH_HLEN,
            needed_headroom: 0,
            needed_tailroom: 0,
            gso_max_size: LEGACY_MAX_SIZE,
            gso_max_segs: GSO_MAX_SEGS,
            tso_max_size: LEGACY_MAX_SIZE,
            tso_max_segs: GSO_MAX_SEGS,
        }
    }
}

impl Words {
    /// `netif_set_tso_max_size` and `netif_set_tso_max_segs`: lowers the configured limits too, never raises them.
    pub(super) fn set_tso_max(&mut self, size: u32, segs: u32) {
        self.tso_max_size = size.min(GSO_MAX_SIZE);
        self.tso_max_segs = segs;
        self.gso_max_size = self.gso_max_size.min(size);
        self.gso_max_segs = self.gso_max_segs.min(segs);
    }
}

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Hardware, or whatever else is at the bottom.
    Base(Driver),
    /// One end of a pair. `peer` is `None` once the other end is gone.
    Veth {
        /// The other end.
        peer: Option<DevId>,
        /// What the peer's master asked for, bytes.
        requested_headroom: u32,
    },
    /// 802.1Q or 802.1ad.
    Vlan(Vlan),
    /// macvlan on `lower`.
    Macvlan {
        /// The device below.
        lower: DevId,
    },
    /// bond, team or bridge.
    Master(Master),
    /// vxlan, perhaps bound to a device.
    Vxlan {
        /// `dev` of its configuration.
        lower: Option<DevId>,
        /// Bytes of the outer headers: 50 over IPv4, 70 over IPv6.
        overhead: u32,
    },
}

/// A device of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Interface name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Its words.
    pub words: Words,
    /// `IFF_UP`.
    pub up: bool,
    /// `IFF_LOOPBACK`.
    pub loopback: bool,
    /// `IFF_PHONY_HEADROOM`: a bridge does not count its headroom.
    pub phony_headroom: bool,
    /// An XDP program is attached.
    pub xdp: bool,
    /// The master that this is a port of.
    pub master: Option<DevId>,
    /// Devices directly above, oldest first.
    pub uppers: Vec<DevId>,
    /// Devices directly below, oldest first.
    pub lowers: Vec<DevId>,
}

impl Device {
    pub(super) fn new(name: &str, kind: Kind, words: Words) -> Device {
        Device {
            name: name.to_owned(),
            kind,
            words,
            up: false,
            loopback: false,
            phony_headroom: false,
            xdp: false,
            master: None,
            uppers: Vec::new(),
            lowers: Vec::new(),
        }
    }

    /// The VLAN part, if it is one.
    pub fn vlan(&self) -> Option<&Vlan> {
        match &self.kind {
            Kind::Vlan(vlan) => Some(vlan),
            _ => None,
        }
    }

    pub(super) fn master_part(&self) -> Option<&Master> {
        match &self.kind {
            Kind::Master(master) => Some(master),
            _ => None,
        }
    }
}
