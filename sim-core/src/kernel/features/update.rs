//! How a change of one device's features is worked out and carried on.
//!
//! Follows `net/core/dev.c`: `__netdev_update_features`, `netdev_sync_{upper,lower}_features`,
//! `netdev_{update,change}_features`, and the notifiers of `NETDEV_FEAT_CHANGE`.

use super::bits::Features;
use super::device::{DevId, Kind};
use super::master::MasterKind;
use super::set::DeviceSet;

impl DeviceSet {
    /// `ndo_fix_features`.
    fn fix(&self, id: DevId, f: Features) -> Features {
        match &self.dev(id).kind {
            Kind::Base(driver) => driver.fix(f),
            Kind::Veth { peer, .. } => {
                let xdp = peer.is_some_and(|p| self.get(p).is_some_and(|d| d.xdp));
                f - self.rules.gso_software().if_(xdp)
            }
            Kind::Vlan(vlan) => self.vlan_fix(vlan, f),
            Kind::Macvlan { lower } => self.macvlan_fix(*lower, f),
            Kind::Master(master) => self.master_fix(id, master, f),
            Kind::Vxlan { .. } => f,
        }
    }

    /// `ndo_set_features`: whether the driver takes `f`.
    fn driver_takes(&self, id: DevId, f: Features) -> bool {
        let dev = self.dev(id);
        let changed = dev.words.features ^ f;
        match &dev.kind {
            Kind::Base(driver) => driver.takes(changed, dev.xdp),
            _ => true,
        }
    }

    /// `__netdev_update_features`: works the features out anew. Whether they changed, or may have.
    pub(super) fn update_core(&mut self, id: DevId) -> bool {
        let rules = self.rules;
        let w = self.dev(id).words;
        let mut f = (w.features - w.hw_features) | w.wanted_features;
        f = self.fix(id, f);
        f = rules.fix_common(f, w.gso_partial_features);
        // What is off above cannot be on here.
        for &upper in &self.dev(id).uppers {
            let unwanted = Features::UPPER_DISABLES - self.dev(upper).words.wanted_features;
            f -= unwanted;
        }
        let changed = f != w.features;
        if changed && !self.driver_takes(id, f) {
            // Some may have changed all the same: rather an event too many than one too few.
            return true;
        }
        // What is off here must go off below.
        for lower in self.dev(id).lowers.clone() {
            let below = &mut self.dev_mut(lower).words;
            let off = (Features::UPPER_DISABLES - f) & below.features;
            if !off.is_empty() {
                below.wanted_features -= off;
                self.update_core(lower);
                if !self.dev(lower).words.features.any(off) {
                    self.feat_change(lower);
                }
            }
        }
        self.dev_mut(id).words.features = f;
        changed
    }

    /// `netdev_update_features`.
    pub(super) fn update(&mut self, id: DevId) {
        if self.update_core(id) {
            self.feat_change(id);
        }
    }

    /// `netdev_change_features`: tells everybody whether or not the features changed, because another
    /// word did.
    pub(super) fn change(&mut self, id: DevId) {
        self.update_core(id);
        self.feat_change(id);
    }

    /// `NETDEV_FEAT_CHANGE`.
    pub(super) fn feat_change(&mut self, id: DevId) {
        for vlan in self.vlans_on(id) {
            self.vlan_transfer_features(id, vlan);
        }
        for macvlan in self.macvlans_on(id) {
            self.macvlan_lower_changed(id, macvlan);
        }
        if let Some(master) = self.dev(id).master {
            self.port_features_changed(master);
        }
    }

    fn port_features_changed(&mut self, id: DevId) {
        let Kind::Master(master) = &mut self.dev_mut(id).kind else {
            return;
        };
        match master.kind {
            MasterKind::Bridge => self.update(id),
            MasterKind::Bond | MasterKind::Team => {
                // Its own event comes back through the ports.
                if !std::mem::replace(&mut master.notifier_ctx, true) {
                    self.compute(id);
                    if let Kind::Master(master) = &mut self.dev_mut(id).kind {
                        master.notifier_ctx = false;
                    }
                }
            }
        }
    }

    /// `dev_disable_lro`: off here and on everything below.
    pub(super) fn disable_lro(&mut self, id: DevId) {
        self.dev_mut(id).words.wanted_features -= Features::LRO;
        self.update(id);
        for lower in self.dev(id).lowers.clone() {
            self.disable_lro(lower);
        }
    }

    /// An XDP program is attached to or taken from the device.
    pub fn set_xdp(&mut self, id: DevId, attached: bool) {
        self.dev_mut(id).xdp = attached;
        if let Kind::Veth {
            peer: Some(peer), ..
        } = self.dev(id).kind
        {
            self.update(peer);
        }
    }
}
