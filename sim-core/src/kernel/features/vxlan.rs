//! vxlan, as far as features go: it takes limits from the device it is bound to when it is made, and follows
//! nothing afterwards.
//!
//! Follows `drivers/net/vxlan/vxlan_core.c` of Linux 6.1.192.

use super::bits::Features;
use super::device::{DevId, Device, ETH_HLEN, ETH_MAX_MTU, ETH_MIN_MTU, Kind, Words};
use super::set::{DeviceSet, Error};

impl DeviceSet {
    /// `ip link add NAME type vxlan [dev LOWER]`, with outer headers of IPv6 or IPv4.
    ///
    /// # Errors
    /// If the name is taken, or under 3.7.
    pub fn add_vxlan(
        &mut self,
        name: &str,
        lower: Option<DevId>,
        ipv6: bool,
        mtu: Option<u32>,
    ) -> Result<DevId, Error> {
        self.modern("vxlan")?;
        self.name_is_free(name)?;
        let rules = self.rules;
        let overhead = if ipv6 { 70 } else { 50 };
        let switchable = Features::SG
            | Features::HW_CSUM
            | Features::FRAGLIST
            | Features::RXCSUM
            | rules.gso_software();
        let features = switchable | rules.lltx();
        let mut words = Words {
            features,
            hw_features: switchable,
            vlan_features: features,
            max_mtu: ETH_MAX_MTU,
            needed_headroom: ETH_HLEN + overhead,
            ..Words::default()
        };
        words.mtu = mtu.unwrap_or(words.mtu);
        if let Some(lower) = lower {
            self.may_link(lower, None)?;
            let l = self.dev(lower).words;
            let most = l.mtu.saturating_sub(overhead).max(ETH_MIN_MTU);
            words.mtu = mtu.unwrap_or(most).min(most);
            words.needed_headroom = l.hard_header_len + l.needed_headroom + overhead;
            words.needed_tailroom = l.needed_tailroom;
            words.set_tso_max(l.tso_max_size, l.tso_max_segs);
        }
        let id = self.register(Device::new(name, Kind::Vxlan { lower, overhead }, words));
        if let Some(lower) = lower {
            self.link(lower, id);
        }
        Ok(id)
    }
}
