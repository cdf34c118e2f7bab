//! The rules, one function each, over a draft whose types and units are right already.
//!
//! Every rule runs, whatever the others found. All limits are checked here or while reading, before
//! anything is allocated for a simulation.

use crate::error::{At, did_you_mean};
use crate::file::{Draft, HostDraft, KindDraft, LoadDraft};
use crate::rules;
use crate::walk::{Placed, Walk};
use sim_core::config::{NicDriver, Stop, XmitMode};
use sim_core::kernel::drivers::MAX_VECTORS;
use sim_core::machine::cost::{Arch, MemoryModel};

/// Longest simulated time: 10 s.
pub const MAX_TIME: u64 = 10_000_000_000_000;
/// Most ring and queue slots of all hosts together.
pub const MAX_SLOTS: u64 = 1 << 24;
/// Slots that a frame of a transmit ring counts for: its line, and its share of its pages'.
const FRAME_SLOTS: u64 = 4;
/// Most packets of all finite loads together.
pub const MAX_PACKETS: u64 = 1_000_000_000;
/// Packet sizes, without frame check sequence.
const PACKET_SIZES: std::ops::RangeInclusive<u64> = 60..=9014;

type Check = fn(&Draft, &mut Walk);

const CHECKS: &[Check] = &[
    names_are_words,
    host_names,
    links,
    crate::streams::streams,
    stop_given,
    times,
    stop_after_window,
    endless_loads,
    total_packets,
    total_slots,
];

type HostCheck = fn(&HostDraft, &mut Walk);

const HOST_CHECKS: &[HostCheck] = &[
    device_names,
    cpus_exist,
    cpus_once,
    devices_exist,
    frames_need_nic,
    queues_have_vectors,
    two_devices,
    queue_xmit,
    packet_sizes,
    queues_hold_packets,
    thresholds,
    store_buffer,
    tas_bit,
    crate::streams::vlans,
    crate::receive::veths,
    crate::receive::spreading,
    crate::receive::sinks,
    crate::qdiscs::multiqueue,
];

/// Runs every rule.
pub(crate) fn check(draft: &Draft, walk: &mut Walk) {
    CHECKS.iter().for_each(|rule| rule(draft, walk));
    for host in &draft.hosts {
        HOST_CHECKS.iter().for_each(|rule| rule(host, walk));
    }
}

fn report_repeats<'n>(
    names: impl Iterator<Item = &'n Placed<String>>,
    what: &str,
    walk: &mut Walk,
) {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if seen.contains(&name.value.as_str()) {
            let message = format!(
                "there is another {what} `{}`",
                crate::tree::shorten(&name.value)
            );
            walk.report(rules::DUPLICATE_NAME, name.at.clone(), message, None);
        }
        seen.push(&name.value);
    }
}

fn host_names(draft: &Draft, walk: &mut Walk) {
    report_repeats(
        draft.hosts.iter().filter_map(|h| h.name.as_ref()),
        "host",
        walk,
    );
}

fn device_names(host: &HostDraft, walk: &mut Walk) {
    report_repeats(
        host.devices.iter().filter_map(|d| d.name.as_ref()),
        "device",
        walk,
    );
}

/// Names become file names and columns of tables.
fn names_are_words(draft: &Draft, walk: &mut Walk) {
    let hosts = draft.hosts.iter().filter_map(|h| h.name.as_ref());
    for name in draft.name.iter().chain(hosts) {
        let text = name.value.as_str();
        let word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let short = (1..=64).contains(&text.chars().count());
        if !short || text.starts_with('.') || !text.chars().all(word) {
            let message = format!("{:?} is no name", crate::tree::shorten(text));
            let help = "1 to 64 letters, digits, `-`, `_`, `.`, not beginning with a dot";
            walk.report(rules::NAME, name.at.clone(), message, Some(help.into()));
        }
    }
}

/// Each end of a link is a NIC, and a NIC has one cable.
fn links(draft: &Draft, walk: &mut Walk) {
    let mut taken = std::collections::BTreeSet::new();
    for end in draft.links.iter().flat_map(|l| l.a.iter().chain(&l.b)) {
        let shown = crate::tree::shorten(&end.value);
        let mut wrong = |message: String, help: &str| {
            walk.report(rules::LINKS, end.at.clone(), message, Some(help.into()));
        };
        let Some((host, dev)) = crate::scenario::port(&draft.hosts, &end.value) else {
            // Who misspelt a device knows; its links are not wrong as well.
            if draft.hosts.iter().all(|h| h.devices_known) {
                wrong(
                    format!("there is no device `{shown}`"),
                    "write \"host:device\"",
                );
            }
            continue;
        };
        let device = &draft.hosts[host].devices[dev];
        let kind = device.kind.as_ref().and_then(KindDraft::without_port);
        if let Some(kind) = kind {
            wrong(
                format!("`{shown}` is a {kind}; only a NIC has a cable"),
                "give the device `kind: Nic()`",
            );
        }
        if !taken.insert((host, dev)) {
            wrong(
                format!("`{shown}` has a cable already"),
                "a NIC has one port",
            );
        }
    }
}

/// The first byte of a place, to mark something long.
fn head(at: &At) -> At {
    let mut at = at.clone();
    at.span.end = at.span.end.min(at.span.start + 1);
    at
}

fn stop_given(draft: &Draft, walk: &mut Walk) {
    if !draft.stop_given && !draft.measure_given {
        let help = "give `stop: At(\"5ms\")`, `stop: Quiescent(limit: \"1ms\")`, or `measure`";
        walk.report(
            rules::NO_STOP,
            head(&draft.at),
            "when does this scenario stop?",
            Some(help.into()),
        );
    }
}

fn times(draft: &Draft, walk: &mut Walk) {
    let mut limit = |time: u64, at: &At, what: &str| {
        if !(1..=MAX_TIME).contains(&time) {
            let shown = crate::units::Quantity::Time.print(time);
            let help = Some("between 1ps and 10s are simulated".into());
            walk.report(
                rules::TOO_LONG,
                at.clone(),
                format!("{what} is {shown}"),
                help,
            );
        }
    };
    if let Some(measure) = &draft.measure {
        let m = measure.value;
        let total = if m.window == 0 {
            0
        } else {
            m.warmup.saturating_add(m.window)
        };
        let what = if m.window == 0 {
            "the measured window"
        } else {
            "warm-up and window together"
        };
        limit(total, &measure.at, what);
    }
    if let Some(stop) = draft.stop.as_ref().filter(|_| draft.stop_given) {
        let (Stop::At(time) | Stop::Quiescent { limit: time }) = stop.value;
        limit(time, &stop.at, "the time to stop");
    }
}

fn stop_after_window(draft: &Draft, walk: &mut Walk) {
    let (Some(stop), Some(measure)) = (&draft.stop, &draft.measure) else {
        return;
    };
    let (Stop::At(time) | Stop::Quiescent { limit: time }) = stop.value;
    if time < measure.value.warmup.saturating_add(measure.value.window) {
        let message = "the run stops before the measurement ends";
        walk.report(
            rules::STOP_BEFORE_WINDOW,
            stop.at.clone(),
            message,
            Some("leave `stop` out: `measure` implies it".into()),
        );
    }
}

fn endless_loads(draft: &Draft, walk: &mut Walk) {
    if !matches!(
        draft.stop.as_ref().map(|s| s.value),
        Some(Stop::Quiescent { .. })
    ) {
        return;
    }
    for load in draft.hosts.iter().flat_map(|h| &h.workloads) {
        let count = match &load.value {
            LoadDraft::Netperf(n) => &n.bytes,
            other => other.packets(),
        };
        if count.as_ref().is_some_and(|p| p.value.is_none()) {
            let help = Some("give it `packets`, or write `stop: At(..)`".into());
            let message = "this load never ends, so the scenario never becomes quiescent";
            walk.report(rules::ENDLESS, head(&load.at), message, help);
        }
    }
}

fn total_packets(draft: &Draft, walk: &mut Walk) {
    let mut total: u64 = 0;
    for load in draft.hosts.iter().flat_map(|h| &h.workloads) {
        let Some(packets) = load.value.packets() else {
            continue;
        };
        let threads = match &load.value {
            // Its processes share them.
            LoadDraft::Trafgen { .. } => 1,
            other => other.cpus().len().max(1) as u64,
        };
        let before = total;
        total = total.saturating_add(packets.value.unwrap_or(0).saturating_mul(threads));
        if before <= MAX_PACKETS && total > MAX_PACKETS {
            let message = format!("with this load, {total} packets would be sent");
            walk.report(
                rules::TOO_MANY_PACKETS,
                packets.at.clone(),
                message,
                Some(format!("at most {MAX_PACKETS}")),
            );
        }
    }
}

fn total_slots(draft: &Draft, walk: &mut Walk) {
    let mut total: u64 = 0;
    for device in draft.hosts.iter().flat_map(|h| &h.devices) {
        let (Some(txqs), Some(qdisc)) = (&device.txqs, &device.qdisc) else {
            continue;
        };
        let queue = crate::qdiscs::slots(&qdisc.value);
        let rings = match &device.kind {
            Some(KindDraft::Nic(nic)) => {
                let size =
                    |ring: &Option<Placed<u32>>| ring.as_ref().map_or(0, |r| u64::from(r.value));
                let rings = nic.irq_cpus.as_ref().map_or(1, |c| c.len() as u64);
                (size(&nic.tx_ring) + size(&nic.rx_ring)).saturating_mul(rings)
            }
            _ => 0,
        };
        let before = total;
        total = total.saturating_add((queue + rings).saturating_mul(u64::from(txqs.value)));
        if before <= MAX_SLOTS && total > MAX_SLOTS {
            let message = format!("with this device, rings and queues have {total} slots");
            walk.report(
                rules::TOO_MUCH_MEMORY,
                qdisc.at.clone(),
                message,
                Some(format!("at most {MAX_SLOTS}")),
            );
        }
    }
    for load in draft.hosts.iter().flat_map(|h| &h.workloads) {
        let LoadDraft::Trafgen {
            frames: Some(frames),
            ..
        } = &load.value
        else {
            continue;
        };
        let before = total;
        let rings = u64::from(frames.value).saturating_mul(load.value.cpus().len() as u64);
        total = total.saturating_add(rings.saturating_mul(FRAME_SLOTS));
        if before <= MAX_SLOTS && total > MAX_SLOTS {
            walk.report(
                rules::TOO_MUCH_MEMORY,
                frames.at.clone(),
                format!(
                    "with this load, rings and queues have {total} slots, {FRAME_SLOTS} a frame"
                ),
                Some(format!("at most {MAX_SLOTS}")),
            );
        }
    }
}

fn cpus_exist(host: &HostDraft, walk: &mut Walk) {
    let Some(machine) = &host.machine else { return };
    let cpus = u64::from(machine.profile.topology.cpus());
    let irqs = host.devices.iter().flat_map(|d| match &d.kind {
        Some(KindDraft::Nic(nic)) => nic.irq_cpus.as_deref().unwrap_or(&[]),
        _ => &[],
    });
    let spread = host
        .devices
        .iter()
        .flat_map(|d| d.rps_cpus.iter().flatten());
    let irqs: Vec<&Placed<u64>> = irqs.chain(spread).collect();
    // Of a count or a range, only the first CPU that does not exist is reported: they share a place.
    let mut last = None;
    for cpu in host
        .workloads
        .iter()
        .flat_map(|w| w.value.cpus())
        .chain(irqs)
    {
        if cpu.value >= cpus && last != Some(cpu.at.span) {
            let machine = &machine.profile.name;
            let message = format!(
                "CPU {} does not exist: machine `{machine}` has the CPUs 0..={}",
                cpu.value,
                cpus - 1
            );
            walk.report(rules::CPU_RANGE, cpu.at.clone(), message, None);
            last = Some(cpu.at.span);
        }
    }
}

fn cpus_once(host: &HostDraft, walk: &mut Walk) {
    for load in &host.workloads {
        let mut seen = std::collections::BTreeSet::new();
        for cpu in load.value.cpus() {
            if !seen.insert(cpu.value) {
                let message = format!("CPU {} is listed twice", cpu.value);
                walk.report(rules::DUPLICATE_CPU, cpu.at.clone(), message, None);
            }
        }
    }
}

fn devices_exist(host: &HostDraft, walk: &mut Walk) {
    // Whoever misspelt a device's name knows; its users are not wrong as well.
    if !host.devices_known {
        return;
    }
    let known = || {
        host.devices
            .iter()
            .filter_map(|d| d.name.as_ref())
            .map(|n| n.value.as_str())
    };
    for dev in host.workloads.iter().flat_map(|w| w.value.devices()) {
        if known().any(|name| name == dev.value) {
            continue;
        }
        let on = host.name.as_ref().map_or(String::new(), |n| {
            format!(" on host `{}`", crate::tree::shorten(&n.value))
        });
        let message = format!("unknown device `{}`{on}", crate::tree::shorten(&dev.value));
        let meant = did_you_mean(&dev.value, known()).map(|name| format!("did you mean `{name}`?"));
        let list = crate::error::quoted_list(known().take(24));
        let help = meant.or((!list.is_empty()).then(|| format!("its devices: {list}")));
        walk.report(rules::UNKNOWN_DEVICE, dev.at.clone(), message, help);
    }
}

fn frames_need_nic(host: &HostDraft, walk: &mut Walk) {
    for load in &host.workloads {
        let (from, xdp) = match &load.value {
            LoadDraft::Forward {
                from: Some(from), ..
            } => (from, false),
            LoadDraft::XdpRedirect {
                from: Some(from), ..
            } => (from, true),
            _ => continue,
        };
        let named = |name: &&Placed<String>| name.value == from.value;
        let device = host
            .devices
            .iter()
            .find(|d| d.name.as_ref().filter(named).is_some());
        let (wanted, needed): (&[NicDriver], _) = if xdp {
            (&[NicDriver::Mlx5], "Mlx5")
        } else {
            (&[NicDriver::Plain, NicDriver::Ixgbe], "Nic")
        };
        let kind = match device.and_then(|d| d.kind.as_ref()) {
            Some(KindDraft::Nic(nic)) if !wanted.contains(&nic.driver) => match nic.driver {
                NicDriver::Plain => "Nic",
                NicDriver::Myri10ge => "Myri10ge",
                NicDriver::Mlx5 => "Mlx5",
                NicDriver::Ixgbe => "Ixgbe",
            },
            Some(other) => match other.without_port() {
                Some(kind) => kind,
                None => continue,
            },
            None => continue,
        };
        let message = format!(
            "`{}` is a {kind}; this load's frames arrive at a kind {needed}",
            from.value
        );
        walk.report(
            rules::NEEDS_NIC,
            from.at.clone(),
            message,
            Some(format!("give the device `kind: {needed}()`")),
        );
    }
}

fn two_devices(host: &HostDraft, walk: &mut Walk) {
    for load in &host.workloads {
        if let LoadDraft::Forward {
            from: Some(from),
            to: Some(to),
            ..
        } = &load.value
            && from.value == to.value
        {
            let message = format!(
                "frames would leave through `{}`, where they came from",
                crate::tree::shorten(&to.value)
            );
            walk.report(rules::SAME_DEVICE, to.at.clone(), message, None);
        }
    }
}

/// pktgen refuses `burst` and `clone_skb` in queue_xmit mode (`pktgen_if_write`).
fn queue_xmit(host: &HostDraft, walk: &mut Walk) {
    for load in &host.workloads {
        let LoadDraft::Pktgen {
            mode: Some(XmitMode::QueueXmit),
            clone_skb,
            burst,
            ..
        } = &load.value
        else {
            continue;
        };
        let help = || Some("leave it out, or write `mode: StartXmit`".into());
        if let Some(burst) = burst.as_ref().filter(|b| b.value > 1) {
            walk.report(
                rules::BURST_QUEUE_XMIT,
                burst.at.clone(),
                "QueueXmit takes one packet at a time",
                help(),
            );
        }
        if let Some(clone) = clone_skb.as_ref().filter(|c| c.value > 0) {
            let message = "QueueXmit cannot send an skb again while the qdisc may hold it";
            walk.report(rules::CLONE_QUEUE_XMIT, clone.at.clone(), message, help());
        }
    }
}

fn packet_sizes(host: &HostDraft, walk: &mut Walk) {
    for size in host.workloads.iter().filter_map(|w| w.value.size()) {
        packet_size(walk, size);
    }
}

/// A packet's length, if a frame can have it.
pub(crate) fn packet_size(walk: &mut Walk, size: &Placed<u64>) -> Option<u32> {
    if !PACKET_SIZES.contains(&size.value) {
        let message = format!("a packet of {} bytes; it must have 60 to 9014", size.value);
        walk.report(
            rules::PACKET_SIZE,
            size.at.clone(),
            message,
            Some("sizes do not count the 4-byte frame check sequence".into()),
        );
        return None;
    }
    u32::try_from(size.value).ok()
}

fn queues_hold_packets(host: &HostDraft, walk: &mut Walk) {
    let mut empty = |at: &At, what: &str| {
        walk.report(
            rules::EMPTY_QUEUE,
            at.clone(),
            format!("{what} of size 0 never holds a packet"),
            None,
        );
    };
    for device in &host.devices {
        if let Some(KindDraft::Nic(nic)) = &device.kind {
            let zero = |ring: &&Placed<u32>| ring.value == 0;
            nic.tx_ring
                .iter()
                .filter(zero)
                .for_each(|r| empty(&r.at, "a transmit ring"));
            nic.rx_ring
                .iter()
                .filter(zero)
                .for_each(|r| empty(&r.at, "a receive ring"));
        }
        if let Some(qdisc) = &device.qdisc
            && crate::qdiscs::is_empty(&qdisc.value)
        {
            empty(&qdisc.at, "a queue");
        }
    }
}

/// A queue that is stopped can be woken: its ring gets that empty.
fn thresholds(host: &HostDraft, walk: &mut Walk) {
    for device in &host.devices {
        let Some(KindDraft::Nic(nic)) = &device.kind else {
            continue;
        };
        let Some(ring) = nic.tx_ring.as_ref().map(|r| r.value) else {
            continue;
        };
        for thresh in nic.stop_thresh.iter().chain(&nic.wake_thresh) {
            if thresh.value > ring && ring > 0 {
                let message = format!("{} free descriptors, but the ring has {ring}", thresh.value);
                walk.report(
                    rules::THRESHOLD,
                    thresh.at.clone(),
                    message,
                    Some(format!("at most {ring}")),
                );
            }
        }
    }
}

/// A queue has a vector, and the other way round.
fn queues_have_vectors(host: &HostDraft, walk: &mut Walk) {
    for device in &host.devices {
        let (Some(KindDraft::Nic(nic)), Some(txqs)) = (&device.kind, &device.txqs) else {
            continue;
        };
        let (NicDriver::Ixgbe, Some(cpus)) = (nic.driver, &nic.irq_cpus) else {
            continue;
        };
        if cpus.len() as u64 > MAX_VECTORS as u64 {
            let at = cpus[MAX_VECTORS].at.clone();
            let message = format!("{} vectors", cpus.len());
            let help = Some(format!("at most {MAX_VECTORS}"));
            walk.report(rules::QUEUE_VECTORS, at, message, help);
        } else if !cpus.is_empty() && txqs.value as usize != cpus.len() {
            let message = format!("{} transmit queues, but {} vectors", txqs.value, cpus.len());
            let help = Some(format!(
                "`txqs: {}`, or as many CPUs in `irq_cpus`",
                cpus.len()
            ));
            walk.report(rules::QUEUE_VECTORS, txqs.at.clone(), message, help);
        }
    }
}

fn store_buffer(host: &HostDraft, walk: &mut Walk) {
    let Some(machine) = &host.machine else { return };
    if let (MemoryModel::Sc, Some(on)) = (
        machine.profile.memory,
        machine.store_buffer.as_ref().filter(|on| on.value),
    ) {
        let message = "sequential consistency has no store buffer";
        walk.report(
            rules::SC_STORE_BUFFER,
            on.at.clone(),
            message,
            Some("write `store_buffer: off`, or another memory model".into()),
        );
    }
}

fn tas_bit(host: &HostDraft, walk: &mut Walk) {
    let Some(machine) = &host.machine else { return };
    if let (Arch::X86_64, Some(tas)) = (
        machine.profile.arch,
        host.kernel
            .tas_bit_early_return
            .as_ref()
            .filter(|t| t.value),
    ) {
        let message = format!(
            "machine `{}` is x86-64, where this does not exist",
            machine.profile.name
        );
        walk.report(
            rules::TAS_BIT,
            tas.at.clone(),
            message,
            Some("leave it out".into()),
        );
    }
}
