//! `ip link set`: MTU, up and down, master, limits.
//!
//! Follows `net/core/{dev,rtnetlink}.c`, and the notifiers of `NETDEV_CHANGEMTU`, `NETDEV_UP` and `NETDEV_DOWN`.

use super::device::{DevId, ETH_MIN_MTU, GSO_MAX_SEGS, Kind};
use super::master::MasterKind;
use super::set::{DeviceSet, Error, refused};

impl DeviceSet {
    /// `ip link set NAME mtu N`. Uppers follow down, never up.
    ///
    /// # Errors
    /// If the device does not take it, or a device below is smaller.
    pub fn set_user_mtu(&mut self, id: DevId, mtu: u32) -> Result<(), Error> {
        let dev = self.dev(id);
        if let Some(master) = dev.master
            && mtu != dev.words.mtu
            && let Some(part) = self.dev(master).master_part()
            && part.kind == MasterKind::Team
        {
            return refused("EINVAL", format!("`{}` is a port of a team", dev.name));
        }
        self.set_mtu(id, mtu)
    }

    /// `dev_set_mtu`.
    pub(super) fn set_mtu(&mut self, id: DevId, mtu: u32) -> Result<(), Error> {
        let dev = self.dev(id);
        let w = dev.words;
        if mtu == w.mtu {
            return Ok(());
        }
        let name = &dev.name;
        if mtu < w.min_mtu || (w.max_mtu > 0 && mtu > w.max_mtu) {
            let range = format!("{} to {}", w.min_mtu, w.max_mtu);
            return refused("EINVAL", format!("mtu {mtu} of `{name}` is not in {range}"));
        }
        let below = |lower: DevId| self.dev(lower).words.mtu;
        let limit = match &dev.kind {
            Kind::Vlan(vlan) => Some(below(vlan.real)),
            Kind::Macvlan { lower } => Some(below(*lower)),
            Kind::Vxlan { lower, overhead } => {
                lower.map(|l| below(l).saturating_sub(*overhead).max(ETH_MIN_MTU))
            }
            Kind::Base(_) | Kind::Veth { .. } | Kind::Master(_) => None,
        };
        if limit.is_some_and(|limit| mtu > limit) {
            return refused(
                "ERANGE",
                format!("mtu {mtu} of `{name}` is too much for the device below"),
            );
        }
        if let Kind::Master(part) = &mut self.dev_mut(id).kind {
            match part.kind {
                MasterKind::Bridge => part.mtu_set_by_user = true,
                MasterKind::Bond | MasterKind::Team => self.ports_mtu(id, mtu, w.mtu)?,
            }
        }
        self.mtu_changed(id, mtu);
        Ok(())
    }

    /// `bond_change_mtu`, `team_change_mtu`: all ports or none.
    fn ports_mtu(&mut self, id: DevId, mtu: u32, was: u32) -> Result<(), Error> {
        let ports = self.dev(id).lowers.clone();
        for (i, &port) in ports.iter().enumerate() {
            if let Err(why) = self.set_mtu(port, mtu) {
                for &done in &ports[..i] {
                    self.set_mtu(done, was)?;
                }
                return Err(why);
            }
        }
        Ok(())
    }

    /// The MTU is `mtu`; `NETDEV_CHANGEMTU`.
    pub(super) fn mtu_changed(&mut self, id: DevId, mtu: u32) {
        if self.dev(id).words.mtu == mtu {
            return;
        }
        self.dev_mut(id).words.mtu = mtu;
        for upper in self.dev(id).uppers.clone() {
            let follows = matches!(self.dev(upper).kind, Kind::Vlan(_) | Kind::Macvlan { .. });
            if follows && self.dev(upper).words.mtu > mtu {
                self.mtu_changed(upper, mtu);
            }
        }
        if let Some(master) = self.dev(id).master {
            self.bridge_mtu_auto_adjust(master);
        }
    }

    /// `ip link set NAME up`; VLANs on it come up too.
    ///
    /// # Errors
    /// If it is a VLAN whose device below is down.
    pub fn set_up(&mut self, id: DevId) -> Result<(), Error> {
        if self.dev(id).up {
            return Ok(());
        }
        if let Some(vlan) = self.dev(id).vlan()
            && !vlan.loose_binding
            && !self.dev(vlan.real).up
        {
            return refused(
                "ENETDOWN",
                format!("`{}` is down", self.dev(vlan.real).name),
            );
        }
        self.dev_mut(id).up = true;
        for vlan in self.bound_vlans(id) {
            self.set_up(vlan)?;
        }
        Ok(())
    }

    /// `ip link set NAME down`; VLANs on it go down too. Features stay.
    pub fn set_down(&mut self, id: DevId) {
        self.dev_mut(id).up = false;
        for vlan in self.bound_vlans(id) {
            if self.dev(vlan).up {
                self.set_down(vlan);
            }
        }
    }

    fn bound_vlans(&self, id: DevId) -> Vec<DevId> {
        let mut vlans = self.vlans_on(id);
        vlans.retain(|&d| self.dev(d).vlan().is_some_and(|v| !v.loose_binding));
        vlans
    }

    /// `ip link set NAME master MASTER`: leaves another master first.
    ///
    /// # Errors
    /// If `master` takes no ports or not this one.
    pub fn set_master(&mut self, id: DevId, master: DevId) -> Result<(), Error> {
        if self.dev(id).master == Some(master) {
            return Ok(());
        }
        self.release(id);
        self.enslave(master, id)
    }

    /// `ip link set NAME nomaster`.
    pub fn set_nomaster(&mut self, id: DevId) {
        self.release(id);
    }

    /// `ip link set NAME gso_max_size N gso_max_segs N`: this device only.
    ///
    /// # Errors
    /// If more than the hardware takes.
    pub fn set_gso_max(
        &mut self,
        id: DevId,
        size: Option<u32>,
        segs: Option<u32>,
    ) -> Result<(), Error> {
        let w = self.dev(id).words;
        if size.is_some_and(|size| size > w.tso_max_size) {
            return refused("EINVAL", format!("gso_max_size above {}", w.tso_max_size));
        }
        if segs.is_some_and(|segs| segs > GSO_MAX_SEGS.min(w.tso_max_segs)) {
            return refused("EINVAL", format!("gso_max_segs above {}", w.tso_max_segs));
        }
        let w = &mut self.dev_mut(id).words;
        w.gso_max_size = size.unwrap_or(w.gso_max_size);
        w.gso_max_segs = segs.unwrap_or(w.gso_max_segs);
        Ok(())
    }
}
