//! Rules about virtual devices and the receive path.

use crate::file::{HostDraft, KindDraft, LoadDraft};
use crate::rules;
use crate::streams::index;
use crate::walk::Walk;

/// A veth has a peer that is a veth and has it.
pub(crate) fn veths(host: &HostDraft, walk: &mut Walk) {
    if !host.devices_known {
        return;
    }
    for (n, device) in host.devices.iter().enumerate() {
        let Some(KindDraft::Veth(veth)) = &device.kind else {
            continue;
        };
        let Some(peer) = &veth.peer else { continue };
        let shown = crate::tree::shorten(&peer.value);
        let own = device.name.as_ref().map_or("", |name| &name.value);
        let mut wrong = |message: String, help: String| {
            walk.report(rules::VETH_PEER, peer.at.clone(), message, Some(help));
        };
        let Some(at) = index(host, &peer.value) else {
            let known = host.devices.iter().filter_map(|d| d.name.as_ref());
            let list = crate::error::quoted_list(known.map(|n| n.value.as_str()).take(24));
            wrong(
                format!("this host has no device `{shown}`"),
                format!("its devices: {list}"),
            );
            continue;
        };
        if at == n {
            let help = "a pair has two ends; name the other one".to_owned();
            wrong(format!("`{shown}` is its own peer"), help);
            continue;
        }
        let back = match &host.devices[at].kind {
            Some(KindDraft::Veth(other)) => other.peer.as_ref().map(|p| p.value.as_str()),
            Some(_) => None,
            // Wrong already.
            None => continue,
        };
        if back != Some(own) {
            wrong(
                format!(
                    "`{shown}` is not the other end of `{}`",
                    crate::tree::shorten(own)
                ),
                format!("give `{shown}` the kind `Veth(peer: {own:?})`"),
            );
        }
    }
}

/// Flows are spread over each CPU once, and only what receives spreads them.
pub(crate) fn spreading(host: &HostDraft, walk: &mut Walk) {
    for device in &host.devices {
        let mut seen = std::collections::BTreeSet::new();
        for cpu in device.rps_cpus.iter().flatten() {
            if !seen.insert(cpu.value) {
                let message = format!("CPU {} is listed twice", cpu.value);
                walk.report(rules::DUPLICATE_CPU, cpu.at.clone(), message, None);
            }
        }
        let first = device.rps_cpus.iter().flatten().next();
        if let (Some(first), Some(KindDraft::Dummy)) = (first, &device.kind) {
            let message = "a Dummy receives nothing that could be spread";
            let help = Some("leave `rps_cpus` out".into());
            walk.report(rules::RPS, first.at.clone(), message, help);
        }
    }
}

/// Each socket has an address of its own.
pub(crate) fn sinks(host: &HostDraft, walk: &mut Walk) {
    let mut seen = Vec::new();
    for load in &host.workloads {
        let LoadDraft::UdpSink(sink) = &load.value else {
            continue;
        };
        let (Some(dev), Some(port)) = (&sink.dev, &sink.port) else {
            continue;
        };
        let key = (dev.value.as_str(), port.value);
        if seen.contains(&key) {
            let shown = crate::tree::shorten(&dev.value);
            let message = format!("another UdpSink has port {} of `{shown}`", port.value);
            let help = Some("give each a `port` of its own".into());
            walk.report(rules::SOCKET, port.at.clone(), message, help);
        }
        seen.push(key);
    }
}
