//! VLAN devices.
//!
//! Follows `net/8021q/{vlan,vlan_dev}.c` of Linux 3.7.2, 6.1.192, 6.9.5 and 6.12.117. `reorder_hdr` and
//! `loose_binding` have no part in any feature word; the first decides where the tag is pushed (`xmit`), the second
//! whether the device goes down with the one below.

use super::bits::Features;
use super::device::{DevId, Device, ETH_MAX_MTU, Kind, Words};
use super::rules::{Release, VlanFeatures};
use super::set::{DeviceSet, Error, refused};
use super::shape::EtherType;

/// `VLAN_HLEN`, bytes.
pub(super) const VLAN_HLEN: u32 = 4;

/// Whose `header_ops` a VLAN device uses. Chosen when it is made, never switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderOps {
    /// `vlan_header_ops`: without `reorder_hdr` the tag is pushed into the data with the header.
    Own,
    /// Those of the device below, which inserts tags in hardware: the data never has the tag.
    PassThrough,
}

/// What is asked for in `ip link add link LOWER name NAME type vlan ...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanSpec {
    /// `id`, 0 to 4094.
    pub id: u16,
    /// `protocol`: 802.1Q or 802.1ad.
    pub proto: EtherType,
    /// `reorder_hdr`.
    pub reorder_hdr: bool,
    /// `loose_binding`.
    pub loose_binding: bool,
    /// `mtu`; `None`: that of the device below.
    pub mtu: Option<u32>,
}

impl VlanSpec {
    /// 802.1Q with the kernel's defaults.
    pub fn new(id: u16) -> VlanSpec {
        VlanSpec {
            id,
            proto: EtherType::Q,
            reorder_hdr: true,
            loose_binding: false,
            mtu: None,
        }
    }
}

/// The private part of a VLAN device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// The device directly below.
    pub real: DevId,
    /// Tag protocol.
    pub proto: EtherType,
    /// VLAN id.
    pub id: u16,
    /// The tag is out of the data when a tap or a qdisc sees it.
    pub reorder_hdr: bool,
    /// Does not follow the device below up and down.
    pub loose_binding: bool,
    /// Whose header functions.
    pub header: HeaderOps,
}

/// The feature that inserts tags of `proto`.
pub(super) fn tag_feature(proto: EtherType) -> Features {
    match proto {
        EtherType::Q => Features::HW_VLAN_CTAG_TX,
        EtherType::AD => Features::HW_VLAN_STAG_TX,
        _ => Features::NONE,
    }
}

/// `vlan_hw_offload_capable`. 3.7 has one bit for both.
fn inserts(features: Features, proto: EtherType) -> bool {
    !tag_feature(proto).is_empty() && features.has(tag_feature(proto))
}

impl DeviceSet {
    /// VLAN devices on `id`, by protocol and number as in the kernel's table.
    pub(super) fn vlans_on(&self, id: DevId) -> Vec<DevId> {
        let key = |&d: &DevId| self.dev(d).vlan().map(|v| (v.proto, v.id));
        let mut found: Vec<DevId> = self.dev(id).uppers.clone();
        found.retain(|d| key(d).is_some());
        found.sort_by_key(key);
        found
    }

    /// `ip link add link LOWER name NAME type vlan`.
    ///
    /// # Errors
    /// As the kernel refuses: name or id taken, id out of range, MTU above that of the device below, a device that
    /// cannot carry VLANs, too many levels.
    pub fn add_vlan(&mut self, name: &str, real: DevId, spec: VlanSpec) -> Result<DevId, Error> {
        self.name_is_free(name)?;
        let lower = self.dev(real);
        if spec.id > 4094 {
            return refused("ERANGE", format!("VLAN id {} is above 4094", spec.id));
        }
        if tag_feature(spec.proto).is_empty() || (self.rules.old() && spec.proto != EtherType::Q) {
            return refused("EPROTONOSUPPORT", format!("{:?} is no VLAN", spec.proto));
        }
        if lower.words.features.has(Features::VLAN_CHALLENGED) {
            return refused("EOPNOTSUPP", format!("no VLANs on `{}`", lower.name));
        }
        let twin = self.vlans_on(real).into_iter().any(|d| {
            let v = self.dev(d).vlan();
            v.is_some_and(|v| (v.proto, v.id) == (spec.proto, spec.id))
        });
        if twin {
            return refused("EEXIST", format!("VLAN {} is taken", spec.id));
        }
        let mtu = spec.mtu.unwrap_or(lower.words.mtu);
        if mtu > lower.words.mtu {
            return refused("EINVAL", format!("mtu {mtu} is above `{}`'s", lower.name));
        }
        self.may_link(real, None)?;

        let header = self.header_ops(real, spec.proto);
        let vlan = Vlan {
            real,
            proto: spec.proto,
            id: spec.id,
            reorder_hdr: spec.reorder_hdr,
            loose_binding: spec.loose_binding,
            header,
        };
        let words = self.vlan_init(&vlan, mtu);
        let id = self.register(Device::new(name, Kind::Vlan(vlan), words));
        self.link(real, id);
        if !matches!(self.rules.release, Release::V3_7 | Release::V6_9) {
            self.update(id);
        }
        Ok(id)
    }

    fn header_ops(&self, real: DevId, proto: EtherType) -> HeaderOps {
        let pass = matches!(self.rules.release, Release::V3_7 | Release::V6_9);
        if pass && inserts(self.dev(real).words.features, proto) {
            HeaderOps::PassThrough
        } else {
            HeaderOps::Own
        }
    }

    /// `vlan_dev_init`.
    fn vlan_init(&self, vlan: &Vlan, mtu: u32) -> Words {
        let rules = self.rules;
        let real = &self.dev(vlan.real).words;
        let mut w = Words {
            mtu,
            min_mtu: 0,
            max_mtu: ETH_MAX_MTU,
            hw_features: Features::SG
                | Features::FRAGLIST
                | Features::HIGHDMA
                | Features::SCTP_CRC
                | rules.all_fcoe(),
            ..Words::default()
        };
        if rules.old() {
            w.hw_features |= Features::CSUM_MASK | rules.all_tso();
            w.features = real.vlan_features | Features::LLTX;
            w.gso_max_size = real.gso_max_size;
        } else {
            w.hw_features |= Features::HW_CSUM | rules.gso_software() | Features::GSO_ENCAP_ALL;
            w.hw_features |= real.vlan_features & Features::HW_MACSEC.if_(self.macsec_inherited());
            w.features = w.hw_features | rules.lltx();
            w.set_tso_max(real.tso_max_size, real.tso_max_segs);
            w.hw_enc_features = self.vlan_tnl_features(vlan.real);
            w.mpls_features = real.mpls_features;
        }
        w.vlan_features = match rules.vlan_features {
            VlanFeatures::V3_7 => Features::NONE,
            VlanFeatures::ThreadPatch => w.features,
            VlanFeatures::Modern => real.vlan_features - rules.all_fcoe(),
        };
        self.vlan_headers(vlan, &mut w);
        w
    }

    fn macsec_inherited(&self) -> bool {
        self.rules.release >= Release::V6_9
    }

    /// Header lengths, at creation and when the device below changed.
    fn vlan_headers(&self, vlan: &Vlan, w: &mut Words) {
        let real = &self.dev(vlan.real).words;
        match self.rules.release {
            Release::V3_7 | Release::V6_9 => {
                let inserted = inserts(real.features, vlan.proto);
                w.hard_header_len = real.hard_header_len + if inserted { 0 } else { VLAN_HLEN };
                w.needed_headroom = real.needed_headroom;
            }
            Release::V6_1 | Release::V6_12 | Release::V6_18 => {
                w.hard_header_len = real.hard_header_len;
                w.needed_headroom = real.needed_headroom + VLAN_HLEN;
            }
        }
    }

    /// `vlan_tnl_features`: what the device below can do inside a tunnel, of use only with a checksum.
    fn vlan_tnl_features(&self, real: DevId) -> Features {
        let csum = Features::CSUM_MASK;
        let of = csum | self.rules.gso_software() | Features::GSO_ENCAP_ALL;
        let x = self.dev(real).words.hw_enc_features & of;
        if x.any(Features::GSO_ENCAP_ALL) && x.any(csum) {
            (x - csum) | Features::HW_CSUM
        } else {
            Features::NONE
        }
    }

    /// `vlan_dev_fix_features`.
    pub(super) fn vlan_fix(&self, vlan: &Vlan, f: Features) -> Features {
        let rules = self.rules;
        let real = &self.dev(vlan.real).words;
        if rules.old() {
            let kept = ((f & real.vlan_features) | Features::RXCSUM) & real.features;
            return kept | (f & Features::SOFT) | Features::LLTX;
        }
        let mut low = rules.intersect(real.vlan_features | Features::RXCSUM, real.features);
        // So that the user can switch checksums on the VLAN, whichever kind the device below has.
        low |= Features::HW_CSUM.if_(low.any(Features::PROTO_CSUM));
        let kept = f & (Features::SOFT | rules.gso_software());
        rules.intersect(f, low) | kept | rules.lltx()
    }

    /// `vlan_transfer_features`: the device below has changed. `vlan_features` and the header functions stay
    /// what they were; `hw_enc_features` loses what register had added.
    pub(super) fn vlan_transfer_features(&mut self, real: DevId, id: DevId) {
        let rules = self.rules;
        let below = self.dev(real).words;
        let Some(&vlan) = self.dev(id).vlan() else {
            return;
        };
        let mut w = self.dev(id).words;
        if rules.old() {
            w.gso_max_size = below.gso_max_size;
        } else {
            w.set_tso_max(below.tso_max_size, below.tso_max_segs);
            w.hw_enc_features = self.vlan_tnl_features(real);
            w.needed_tailroom = below.needed_tailroom;
        }
        self.vlan_headers(&vlan, &mut w);
        self.dev_mut(id).words = w;
        self.update(id);
    }

    /// `ip link set NAME type vlan reorder_hdr ... loose_binding ...`.
    ///
    /// # Errors
    /// If the device is no VLAN.
    pub fn change_vlan(
        &mut self,
        id: DevId,
        reorder_hdr: Option<bool>,
        loose_binding: Option<bool>,
    ) -> Result<(), Error> {
        let dev = self.dev_mut(id);
        let Kind::Vlan(vlan) = &mut dev.kind else {
            return refused("EINVAL", format!("`{}` is no VLAN device", dev.name));
        };
        vlan.reorder_hdr = reorder_hdr.unwrap_or(vlan.reorder_hdr);
        vlan.loose_binding = loose_binding.unwrap_or(vlan.loose_binding);
        Ok(())
    }
}
