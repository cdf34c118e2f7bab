//! The devices of a host: who is on whom, creation and deletion.
//!
//! Follows `net/core/dev.c`: `register_netdevice`, `__netdev_upper_dev_link`, `unregister_netdevice`.

use super::bits::Features;
use super::device::{DevId, Device, Kind};
use super::rules::Rules;
use std::fmt;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no device of that name.
    NoDevice(String),
    /// The kernel would refuse: its error name, and why.
    Refused(&'static str, String),
    /// The kernel might do it, but the model does not have it.
    NotModelled(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoDevice(name) => write!(f, "there is no device `{name}`"),
            Error::Refused(errno, why) => write!(f, "{why} ({errno})"),
            Error::NotModelled(what) => write!(f, "not modelled: {what}"),
        }
    }
}

impl std::error::Error for Error {}

pub(super) fn refused<T>(errno: &'static str, why: impl Into<String>) -> Result<T, Error> {
    Err(Error::Refused(errno, why.into()))
}

/// `MAX_NEST_DEV`: levels of devices on devices, since 5.5.
const MAX_NEST_DEV: usize = 8;

/// All devices of a host, and the rules of its kernel.
#[derive(Clone, Debug)]
pub struct DeviceSet {
    pub(super) rules: Rules,
    devs: Vec<Option<Device>>,
}

impl DeviceSet {
    /// A host without devices.
    pub fn new(rules: Rules) -> DeviceSet {
        DeviceSet {
            rules,
            devs: Vec::new(),
        }
    }

    /// The rules of its kernel.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// The device `id`.
    ///
    /// # Panics
    /// If it was deleted.
    pub fn dev(&self, id: DevId) -> &Device {
        self.get(id).expect("the device was not deleted")
    }

    pub(super) fn dev_mut(&mut self, id: DevId) -> &mut Device {
        let slot = self.devs.get_mut(id.0 as usize);
        slot.and_then(Option::as_mut)
            .expect("the device was not deleted")
    }

    /// The device `id`, if it still exists.
    pub fn get(&self, id: DevId) -> Option<&Device> {
        self.devs.get(id.0 as usize)?.as_ref()
    }

    /// Every device, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (DevId, &Device)> {
        let all = self.devs.iter().enumerate();
        all.filter_map(|(i, dev)| Some((DevId(i as u32), dev.as_ref()?)))
    }

    /// The device called `name`.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(&self, name: &str) -> Result<DevId, Error> {
        let found = self.iter().find(|(_, dev)| dev.name == name);
        found
            .map(|(id, _)| id)
            .ok_or_else(|| Error::NoDevice(name.to_owned()))
    }

    pub(super) fn name_is_free(&self, name: &str) -> Result<(), Error> {
        if name.is_empty() || name.len() >= 16 || name.contains(['/', ' ', ':']) {
            return refused("EINVAL", format!("`{name}` is no interface name"));
        }
        match self.find(name) {
            Ok(_) => refused("EEXIST", format!("`{name}` exists")),
            Err(_) => Ok(()),
        }
    }

    /// Puts a device into the host without registering it.
    pub(super) fn insert(&mut self, dev: Device) -> DevId {
        let id = DevId(u32::try_from(self.devs.len()).expect("fewer than 2^32 devices"));
        self.devs.push(Some(dev));
        id
    }

    /// `register_netdevice`: the soft features, what every device promises, and a first update.
    pub(super) fn register(&mut self, dev: Device) -> DevId {
        let rules = self.rules;
        let id = self.insert(dev);
        let loopback = self.dev(id).loopback;
        let w = &mut self.dev_mut(id).words;
        w.hw_features |= Features::SOFT | Features::SOFT_OFF.if_(!rules.old());
        w.features |= Features::SOFT;
        w.wanted_features = w.features & w.hw_features;
        w.hw_features |= Features::NOCACHE_COPY.if_(!loopback);
        w.vlan_features |= Features::HIGHDMA;
        if !rules.old() {
            // After `wanted` was taken: so the user's first "tso on" turns on what was off by default.
            for word in [
                &mut w.hw_features,
                &mut w.vlan_features,
                &mut w.mpls_features,
                &mut w.hw_enc_features,
            ] {
                *word |= Features::TSO_MANGLEID.if_(word.has(Features::TSO));
            }
            w.hw_enc_features |= Features::SG | Features::GSO_PARTIAL;
            w.mpls_features |= Features::SG;
        }
        self.update_core(id);
        id
    }

    /// Whether `what` is `id`, or somewhere below it.
    fn is_below(&self, what: DevId, id: DevId) -> bool {
        what == id
            || self
                .dev(id)
                .lowers
                .iter()
                .any(|&lower| self.is_below(what, lower))
    }

    fn depth(&self, id: DevId, next: fn(&Device) -> &[DevId]) -> usize {
        let deepest = next(self.dev(id)).iter().map(|&d| self.depth(d, next));
        1 + deepest.max().unwrap_or(0)
    }

    /// Whether `upper` may be put on `lower`: no cycle, and not too deep. `upper` `None`: a device to be made.
    pub(super) fn may_link(&self, lower: DevId, upper: Option<DevId>) -> Result<(), Error> {
        let below = self.depth(lower, |d| &d.lowers);
        let above = match upper {
            None => 1,
            Some(upper) => {
                if self.is_below(upper, lower) {
                    let (u, l) = (&self.dev(upper).name, &self.dev(lower).name);
                    return refused("EBUSY", format!("`{u}` is already below `{l}`"));
                }
                self.depth(upper, |d| &d.uppers)
            }
        };
        if !self.rules.old() && below + above > MAX_NEST_DEV {
            let name = &self.dev(lower).name;
            return refused(
                "EMLINK",
                format!("more than {MAX_NEST_DEV} levels of devices on `{name}`"),
            );
        }
        Ok(())
    }

    /// `netdev_upper_dev_link`.
    pub(super) fn link(&mut self, lower: DevId, upper: DevId) {
        self.dev_mut(lower).uppers.push(upper);
        self.dev_mut(upper).lowers.push(lower);
    }

    /// `netdev_upper_dev_unlink`.
    pub(super) fn unlink(&mut self, lower: DevId, upper: DevId) {
        self.dev_mut(lower).uppers.retain(|&d| d != upper);
        self.dev_mut(upper).lowers.retain(|&d| d != lower);
    }

    /// `ip link del`: what stands on the device goes with it, ports are released.
    ///
    /// # Errors
    /// If it is no longer there.
    pub fn delete(&mut self, id: DevId) -> Result<(), Error> {
        if self.get(id).is_none() {
            return Err(Error::NoDevice(format!("number {}", id.0)));
        }
        self.set_down(id);
        if self.dev(id).master.is_some() {
            self.release(id);
        }
        for upper in self.dev(id).uppers.clone() {
            if self.get(upper).is_some() {
                self.delete(upper)?;
            }
        }
        if self.dev(id).master_part().is_some() {
            for port in self.dev(id).lowers.clone() {
                self.release(port);
            }
        }
        for lower in self.dev(id).lowers.clone() {
            self.unlink(lower, id);
        }
        let peer = match self.dev(id).kind {
            Kind::Veth { peer, .. } => peer,
            _ => None,
        };
        self.devs[id.0 as usize] = None;
        if let Some(other) = peer {
            if let Kind::Veth { peer, .. } = &mut self.dev_mut(other).kind {
                *peer = None;
            }
            self.delete(other)?;
        }
        Ok(())
    }
}
