//! Rules about VLAN devices and TCP streams.

use crate::file::{Draft, HostDraft, KindDraft, LoadDraft, NetperfDraft};
use crate::rules;
use crate::walk::{Placed, Walk};

/// Bytes of a NIC's MTU.
const NIC_MTU: u64 = 1500;
/// Most VLAN devices on top of each other: tags that fit in a frame.
const MAX_DEPTH: usize = sim_core::frame::MAX_TAGS;

pub(crate) fn index(host: &HostDraft, name: &str) -> Option<usize> {
    host.devices
        .iter()
        .position(|d| d.name.as_ref().is_some_and(|n| n.value == name))
}

/// The device below.
fn below(host: &HostDraft, dev: usize) -> Option<usize> {
    match &host.devices[dev].kind {
        Some(KindDraft::Vlan(vlan)) => index(host, &vlan.on.as_ref()?.value),
        _ => None,
    }
}

/// The MTU of a device: its own, or that of the device below.
pub(crate) fn mtu(host: &HostDraft, mut dev: usize) -> u64 {
    // As often as there are devices: a circle is reported elsewhere.
    for _ in 0..host.devices.len() {
        if let Some(KindDraft::Vlan(vlan)) = &host.devices[dev].kind
            && let Some(mtu) = vlan.mtu.flatten()
        {
            return mtu;
        }
        match below(host, dev) {
            Some(next) => dev = next,
            None => break,
        }
    }
    NIC_MTU
}

/// A VLAN lies on a device of its host, at last on one that is no VLAN, and its tag is its own.
pub(crate) fn vlans(host: &HostDraft, walk: &mut Walk) {
    let mut seen: Vec<(&str, u32, sim_core::frame::Tpid)> = Vec::new();
    for (dev, device) in host.devices.iter().enumerate() {
        let Some(KindDraft::Vlan(vlan)) = &device.kind else {
            continue;
        };
        let Some(on) = &vlan.on else { continue };
        let shown = crate::tree::shorten(&on.value);
        let Some(mut lower) = index(host, &on.value) else {
            if host.devices_known {
                let known = host.devices.iter().filter_map(|d| d.name.as_ref());
                let list = crate::error::quoted_list(known.map(|n| n.value.as_str()).take(24));
                let message = format!("host has no device `{shown}` for a VLAN to lie on");
                let help = Some(format!("its devices: {list}"));
                walk.report(rules::VLAN_BELOW, on.at.clone(), message, help);
            }
            continue;
        };
        let mut depth = 1;
        while depth <= host.devices.len()
            && let Some(next) = below(host, lower)
        {
            lower = next;
            depth += 1;
        }
        if depth > host.devices.len() {
            let help = "at the bottom of a stack is a NIC or a Dummy";
            walk.report(
                rules::VLAN_BELOW,
                on.at.clone(),
                format!("from `{shown}` downwards the VLANs lie on each other in a circle"),
                Some(help.into()),
            );
            continue;
        }
        if depth > MAX_DEPTH {
            walk.report(
                rules::VLAN_BELOW,
                on.at.clone(),
                format!("{depth} VLANs on top of each other"),
                Some(format!("at most {MAX_DEPTH}")),
            );
        }
        if let (Some(id), Some(proto)) = (&vlan.id, vlan.proto) {
            let key = (on.value.as_str(), id.value, proto);
            if seen.contains(&key) {
                let message = format!("another VLAN on `{shown}` has id {}", id.value);
                walk.report(rules::VLAN_TWICE, id.at.clone(), message, None);
            }
            seen.push(key);
        }
        let limit = below(host, dev).map_or(NIC_MTU, |lower| mtu(host, lower));
        if let (Some(Some(own)), Some(at)) = (vlan.mtu, &vlan.mtu_at)
            && own > limit
        {
            let message = format!("an MTU of {own} bytes, but `{shown}` has {limit}");
            walk.report(
                rules::VLAN_MTU,
                at.clone(),
                message,
                Some(format!("at most {limit}B; the tag does not count")),
            );
        }
    }
}

/// The netserver that a netperf talks to: its host and which of the host's loads.
pub(crate) fn peer(hosts: &[HostDraft], netperf: &NetperfDraft) -> Option<(usize, usize)> {
    let (to, port) = (netperf.to.as_ref()?, netperf.port.as_ref()?);
    let named = |h: &HostDraft| h.name.as_ref().is_some_and(|n| n.value == to.value);
    let host = hosts.iter().position(named)?;
    let listens = |w: &Placed<LoadDraft>| matches!(&w.value, LoadDraft::Netserver(s) if s.port.as_ref().is_some_and(|p| p.value == port.value));
    let load = hosts[host].workloads.iter().position(listens)?;
    Some((host, load))
}

/// Each netperf has a netserver of its own, and each netserver a netperf.
pub(crate) fn streams(draft: &Draft, walk: &mut Walk) {
    let mut taken = Vec::new();
    for load in draft.hosts.iter().flat_map(|h| &h.workloads) {
        let LoadDraft::Netperf(netperf) = &load.value else {
            continue;
        };
        let (Some(to), Some(port)) = (&netperf.to, &netperf.port) else {
            continue;
        };
        let shown = crate::tree::shorten(&to.value);
        let Some(found) = peer(&draft.hosts, netperf) else {
            let message = format!(
                "no Netserver listens on host `{shown}`, port {}",
                port.value
            );
            let help = "give that host `Netserver(dev: .., cpu: ..)`";
            walk.report(rules::STREAM, to.at.clone(), message, Some(help.into()));
            continue;
        };
        if taken.contains(&found) {
            let message = format!(
                "another Netperf talks to port {} of host `{shown}`",
                port.value
            );
            let help = "give each pair a `port` of its own";
            walk.report(rules::STREAM, to.at.clone(), message, Some(help.into()));
        }
        taken.push(found);
    }
    for (h, host) in draft.hosts.iter().enumerate() {
        for (i, load) in host.workloads.iter().enumerate() {
            if let LoadDraft::Netserver(server) = &load.value
                && let Some(port) = &server.port
                && !taken.contains(&(h, i))
            {
                let message = format!("no Netperf talks to port {} of this host", port.value);
                walk.report(rules::STREAM, port.at.clone(), message, None);
            }
        }
    }
}
