//! The commands of a recording, applied to a `DeviceSet`: `ip link add|del|set` and `ethtool -K`.
//!
//! A command that the kernel refused (its status is not 0) has no effect and is not tried: a refusal may come from
//! hardware or configuration that the model does not have. `ethtool -K` is the exception, since its status also says
//! that nothing visible changed. What is not understood is an error, never skipped.

use super::recording::Command;
use sim_core::kernel::features::{
    BondMode, DevId, DeviceSet, Error, EtherType, HashPolicy, VlanSpec,
};
use std::fmt::Display;
use std::str::FromStr;

/// The words of a command that are still to be read.
struct Words<'c> {
    rest: std::iter::Peekable<std::str::SplitWhitespace<'c>>,
}

impl<'c> Words<'c> {
    fn next(&mut self) -> Option<&'c str> {
        self.rest.next()
    }
    /// The value of `key`.
    fn value(&mut self, key: &str) -> Result<&'c str, String> {
        self.next().ok_or_else(|| format!("`{key}` has no value"))
    }
    fn number<N: FromStr<Err: Display>>(&mut self, key: &str) -> Result<N, String> {
        let word = self.value(key)?;
        word.parse().map_err(|why| format!("`{key} {word}`: {why}"))
    }
    fn switch(&mut self, key: &str) -> Result<bool, String> {
        match self.value(key)? {
            "on" => Ok(true),
            "off" => Ok(false),
            other => Err(format!("`{key} {other}`: on or off")),
        }
    }
}

fn said<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|why| why.to_string())
}

/// Applies one command.
pub fn apply(host: &mut DeviceSet, command: &Command) -> Result<(), String> {
    let mut words = Words {
        rest: command.text.split_whitespace().peekable(),
    };
    let unknown = || Err("is not a command that the test understands".to_owned());
    match words.next() {
        Some("ethtool") => match words.next() {
            Some("-K" | "--features" | "--offload") => ethtool(host, &mut words, command.ok),
            // Queries.
            Some("-i" | "-k" | "-a" | "-S" | "--show-features" | "--show-offload") => Ok(()),
            _ => unknown(),
        },
        Some("ip") => {
            // Options that change how ip prints.
            while words
                .rest
                .next_if(|w| matches!(*w, "-d" | "-s" | "-j" | "-br" | "-o"))
                .is_some()
            {}
            match (words.next(), words.next()) {
                _ if !command.ok => Ok(()),
                (Some("link" | "l"), Some("add" | "a")) => add(host, &mut words),
                (Some("link" | "l"), Some("del" | "delete")) => delete(host, &mut words),
                (Some("link" | "l"), Some("set" | "s")) => set(host, &mut words),
                (Some("link" | "l"), Some("show" | "list" | "ls") | None) => Ok(()),
                // Addresses and routes change no word that is compared.
                (Some("addr" | "address" | "a" | "route" | "r" | "neigh"), _) => Ok(()),
                _ => unknown(),
            }
        }
        Some("sleep" | "modprobe" | "true") => Ok(()),
        _ => unknown(),
    }
}

fn ethtool(host: &mut DeviceSet, words: &mut Words<'_>, ok: bool) -> Result<(), String> {
    let name = words.value("ethtool -K")?;
    let mut wishes = Vec::new();
    while let Some(feature) = words.next() {
        wishes.push((feature, words.switch(feature)?));
    }
    let outcome = host.find(name).and_then(|id| host.ethtool_set(id, &wishes));
    match outcome {
        Err(Error::Refused(..)) if !ok => Ok(()),
        other => said(other).map(drop),
    }
}

fn delete(host: &mut DeviceSet, words: &mut Words<'_>) -> Result<(), String> {
    let mut name = words.value("device")?;
    if name == "dev" {
        name = words.value("dev")?;
    }
    said(host.find(name).and_then(|id| host.delete(id)))
}

/// Attributes that every kind of device has.
#[derive(Default)]
struct Attributes<'c> {
    name: Option<&'c str>,
    link: Option<&'c str>,
    mtu: Option<u32>,
    master: Option<&'c str>,
    nomaster: bool,
    up: Option<bool>,
    gso_max_size: Option<u32>,
    gso_max_segs: Option<u32>,
}

impl<'c> Attributes<'c> {
    /// Reads until `type`, whose value is returned, or the end.
    fn read(&mut self, words: &mut Words<'c>) -> Result<Option<&'c str>, String> {
        while let Some(key) = words.next() {
            match key {
                "type" => return words.value(key).map(Some),
                "dev" | "name" => self.name = Some(words.value(key)?),
                "link" => self.link = Some(words.value(key)?),
                "mtu" => self.mtu = Some(words.number(key)?),
                "master" => self.master = Some(words.value(key)?),
                "nomaster" => self.nomaster = true,
                "up" => self.up = Some(true),
                "down" => self.up = Some(false),
                "gso_max_size" => self.gso_max_size = Some(words.number(key)?),
                "gso_max_segs" => self.gso_max_segs = Some(words.number(key)?),
                // No word that is compared depends on these.
                "address" | "broadcast" | "txqueuelen" | "txqlen" | "qlen" | "numtxqueues"
                | "numrxqueues" | "index" | "alias" | "addrgenmode" | "group" | "promisc"
                | "allmulticast" | "multicast" | "arp" | "gro_max_size" | "gso_ipv4_max_size"
                | "gro_ipv4_max_size" => {
                    words.value(key)?;
                }
                other if self.name.is_none() => self.name = Some(other),
                other => return Err(format!("`{other}` is not understood")),
            }
        }
        Ok(None)
    }

    /// In the order in which the kernel takes them from one request.
    fn apply(&self, host: &mut DeviceSet, id: DevId) -> Result<(), Error> {
        if let Some(mtu) = self.mtu {
            host.set_user_mtu(id, mtu)?;
        }
        match self.up {
            Some(true) => host.set_up(id)?,
            Some(false) => host.set_down(id),
            None => {}
        }
        if self.nomaster {
            host.set_nomaster(id);
        }
        if let Some(master) = self.master {
            let master = host.find(master)?;
            host.set_master(id, master)?;
        }
        host.set_gso_max(id, self.gso_max_size, self.gso_max_segs)
    }
}

/// What is said behind `type KIND`; each kind uses its own.
#[derive(Default)]
struct Options<'c> {
    vlan_id: Option<u16>,
    proto: Option<EtherType>,
    reorder_hdr: Option<bool>,
    loose_binding: Option<bool>,
    mode: Option<&'c str>,
    policy: Option<HashPolicy>,
    dev: Option<&'c str>,
    ipv6: bool,
    peer: Option<&'c str>,
}

fn options<'c>(kind: &str, words: &mut Words<'c>) -> Result<Options<'c>, String> {
    let mut o = Options::default();
    while let Some(key) = words.next() {
        match (kind, key) {
            ("vlan", "id") => o.vlan_id = Some(words.number(key)?),
            ("vlan", "proto" | "protocol") => {
                o.proto = Some(match words.value(key)? {
                    "802.1q" | "802.1Q" => EtherType::Q,
                    "802.1ad" => EtherType::AD,
                    other => return Err(format!("`{key} {other}`: 802.1q or 802.1ad")),
                });
            }
            ("vlan", "reorder_hdr") => o.reorder_hdr = Some(words.switch(key)?),
            ("vlan", "loose_binding") => o.loose_binding = Some(words.switch(key)?),
            ("vlan", "gvrp" | "mvrp" | "bridge_binding") => {
                words.switch(key)?;
            }
            ("vlan", "ingress-qos-map" | "egress-qos-map") => {
                while words.rest.next_if(|w| w.contains(':')).is_some() {}
            }
            ("bond", "mode") => o.mode = Some(words.value(key)?),
            ("bond", "xmit_hash_policy") => {
                o.policy = Some(match words.value(key)? {
                    "layer3+4" | "1" => HashPolicy::Layer34,
                    _ => HashPolicy::Other,
                });
            }
            // Their other options have one value each, and no part in a word that is compared.
            ("bond" | "bridge" | "macvlan", _) => {
                words.value(key)?;
            }
            ("vxlan", "dev") => o.dev = Some(words.value(key)?),
            ("vxlan", "remote" | "local" | "group") => o.ipv6 |= words.value(key)?.contains(':'),
            ("vxlan", "id" | "vni" | "dstport" | "ttl" | "tos" | "ageing" | "maxaddress") => {
                words.value(key)?;
            }
            ("vxlan", "learning" | "nolearning" | "proxy" | "udpcsum" | "noudpcsum") => {}
            ("veth", "peer") => {
                let mut peer = Attributes::default();
                peer.read(words)?;
                o.peer = peer.name;
            }
            _ => return Err(format!("`{key}` of type `{kind}` is not understood")),
        }
    }
    Ok(o)
}

fn bond_mode(name: &str) -> Result<BondMode, String> {
    BondMode::from_name(name).ok_or_else(|| format!("`mode {name}` of a bond is not understood"))
}

/// The first free name that starts with `stem`.
fn free_name(host: &DeviceSet, stem: &str) -> String {
    let names = (0..).map(|n: u32| format!("{stem}{n}"));
    let mut free = names.filter(|name| host.find(name).is_err());
    free.next().expect("numbers do not end")
}

fn add(host: &mut DeviceSet, words: &mut Words<'_>) -> Result<(), String> {
    let mut a = Attributes::default();
    let kind = a.read(words)?.ok_or("`ip link add` has no type")?;
    let o = options(kind, words)?;
    let name = match a.name {
        Some(name) => name.to_owned(),
        None => free_name(host, kind),
    };
    let lower = |host: &DeviceSet| match a.link {
        Some(link) => said(host.find(link)),
        None => Err(format!("type `{kind}` needs `link`")),
    };
    let made = match kind {
        "vlan" => {
            let lower = lower(host)?;
            let spec = VlanSpec {
                proto: o.proto.unwrap_or(EtherType::Q),
                reorder_hdr: o.reorder_hdr.unwrap_or(true),
                loose_binding: o.loose_binding.unwrap_or(false),
                mtu: a.mtu,
                ..VlanSpec::new(o.vlan_id.ok_or("a vlan needs `id`")?)
            };
            host.add_vlan(&name, lower, spec)
        }
        "macvlan" => {
            let lower = lower(host)?;
            host.add_macvlan(&name, lower, a.mtu)
        }
        "bond" => {
            let mode = o.mode.map_or(Ok(BondMode::Other), bond_mode)?;
            host.add_bond(&name, mode, o.policy.unwrap_or(HashPolicy::Other))
        }
        "team" => host.add_team(&name),
        "bridge" => host.add_bridge(&name),
        "vxlan" => {
            let lower = o.dev.map(|dev| said(host.find(dev))).transpose()?;
            host.add_vxlan(&name, lower, o.ipv6, a.mtu)
        }
        "dummy" => host.add_dummy(&name),
        "veth" => {
            let peer = o.peer.map(str::to_owned);
            let peer = peer.unwrap_or_else(|| free_name(host, "veth"));
            host.add_veth(&name, &peer).map(|(id, _)| id)
        }
        other => return Err(format!("type `{other}` is not understood")),
    };
    let id = said(made)?;
    if kind == "vxlan" {
        // It clamps what it is given when it is made.
        a.mtu = None;
    }
    said(a.apply(host, id))
}

fn set(host: &mut DeviceSet, words: &mut Words<'_>) -> Result<(), String> {
    let mut a = Attributes::default();
    let kind = a.read(words)?;
    let id = said(host.find(a.name.ok_or("no device is named")?))?;
    if let Some(kind) = kind {
        let o = options(kind, words)?;
        match kind {
            "vlan" => said(host.change_vlan(id, o.reorder_hdr, o.loose_binding))?,
            "bond" => {
                let mode = o.mode.map(bond_mode).transpose()?;
                said(host.change_bond(id, mode, o.policy))?;
            }
            "bridge" | "macvlan" => {}
            other => return Err(format!("`ip link set ... type {other}` is not understood")),
        }
    }
    said(a.apply(host, id))
}
