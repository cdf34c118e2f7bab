//! What only bridges do: headroom, MTU and limits by their ports.
//!
//! Follows `net/bridge/{br_device,br_if}.c` of Linux 6.1.192.

use super::bits::Features;
use super::device::{DevId, Device, ETH_DATA_LEN, GSO_MAX_SEGS, GSO_MAX_SIZE};
use super::master::{MasterKind, least};
use super::rules::Rules;
use super::set::DeviceSet;

/// `COMMON_FEATURES` of the bridge.
pub(super) fn bridge_common(rules: Rules) -> Features {
    let gso = Features::GSO_MASK & rules.known();
    Features::SG | Features::FRAGLIST | Features::HIGHDMA | gso | Features::HW_CSUM
}

pub(super) fn is_bridge(dev: &Device) -> bool {
    dev.master_part()
        .is_some_and(|m| m.kind == MasterKind::Bridge)
}

impl DeviceSet {
    /// `br_add_if`.
    pub(super) fn bridge_add(&mut self, id: DevId, port: DevId) {
        self.link(port, id);
        self.dev_mut(port).master = Some(id);
        self.disable_lro(port);
        self.update(id);
        let own = self.dev(id).words.needed_headroom;
        let wants = self.forward_headroom(port);
        if own < wants {
            self.bridge_headroom(id, wants);
        } else {
            self.set_rx_headroom(port, own);
        }
        self.bridge_mtu_auto_adjust(id);
        self.bridge_gso_limits(id);
    }

    /// `br_del_if`, after the port was unlinked.
    pub(super) fn bridge_del(&mut self, id: DevId, port: DevId) {
        self.set_rx_headroom(port, 0);
        if self.forward_headroom(port) == self.dev(id).words.needed_headroom {
            let ports = self.dev(id).lowers.iter();
            let most = ports.map(|&p| self.forward_headroom(p)).max();
            self.bridge_headroom(id, most.unwrap_or(0));
        }
        self.bridge_mtu_auto_adjust(id);
        self.bridge_gso_limits(id);
        self.update(id);
    }

    /// `netdev_get_fwd_headroom`.
    fn forward_headroom(&self, port: DevId) -> u32 {
        let dev = self.dev(port);
        if dev.phony_headroom {
            0
        } else {
            dev.words.needed_headroom
        }
    }

    fn bridge_headroom(&mut self, id: DevId, headroom: u32) {
        self.dev_mut(id).words.needed_headroom = headroom;
        for port in self.dev(id).lowers.clone() {
            self.set_rx_headroom(port, headroom);
        }
    }

    /// `br_mtu_auto_adjust`: the least MTU of the ports.
    pub(super) fn bridge_mtu_auto_adjust(&mut self, id: DevId) {
        let Some(part) = self.dev(id).master_part() else {
            return;
        };
        if part.kind != MasterKind::Bridge || part.mtu_set_by_user {
            return;
        }
        let ports = self.dev(id).lowers.iter();
        let least = ports.map(|&p| self.dev(p).words.mtu).min();
        self.mtu_changed(id, least.unwrap_or(ETH_DATA_LEN));
    }

    /// `br_set_gso_limits`.
    fn bridge_gso_limits(&mut self, id: DevId) {
        let ports = self.dev(id).lowers.iter();
        let tso = ports.fold((GSO_MAX_SIZE, GSO_MAX_SEGS), |tso, &p| {
            least(tso, &self.dev(p).words)
        });
        self.dev_mut(id).words.set_tso_max(tso.0, tso.1);
    }
}
