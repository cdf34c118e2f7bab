//! Loads.

use super::{LoadDraft, Packets};
use crate::loader::Loading;
use crate::rules;
use crate::schema;
use crate::tree::{Kind, Node};
use crate::units::Quantity;
use crate::walk::{Obj, Placed, Value};
use sim_core::config::{TrainPacket, XmitMode};

/// Most packets of a train.
const MAX_TRAIN: usize = 100_000;
/// Most frames of a transmit ring.
const MAX_FRAMES: u32 = 4096;
/// Most senders of all loads together.
const MAX_SENDERS: usize = 4096;

pub(super) fn read(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<Placed<LoadDraft>> {
    let specs = [
        &schema::PKTGEN,
        &schema::TRAFGEN,
        &schema::PACED,
        &schema::TRAIN,
        &schema::XDP_REDIRECT,
        &schema::FORWARD,
        &schema::NETPERF,
        &schema::NETSERVER,
        &schema::UDP_FLOOD,
        &schema::UDP_SINK,
    ];
    let obj = loading
        .walk
        .choice(&value.node, &value.path, "a load", &specs)?;
    let load = match obj.spec.name {
        "Pktgen" => pktgen(loading, &obj),
        "Trafgen" => trafgen(loading, &obj),
        "Paced" => paced(loading, &obj),
        "Train" => train(loading, &obj),
        "XdpRedirect" => xdp_redirect(loading, &obj),
        "Netperf" => super::netperf::netperf(loading, &obj),
        "Netserver" => super::netperf::netserver(loading, &obj),
        "UdpFlood" => LoadDraft::UdpFlood(Box::new(super::udp::flood(loading, &obj))),
        "UdpSink" => LoadDraft::UdpSink(super::udp::sink(loading, &obj)),
        _ => forward(loading, &obj),
    };
    Some(value.place(load))
}

fn pktgen(loading: &mut Loading<'_>, obj: &Obj<'_>) -> LoadDraft {
    let modes = [
        ("QueueXmit", XmitMode::QueueXmit),
        ("StartXmit", XmitMode::StartXmit),
    ];
    LoadDraft::Pktgen {
        dev: text(loading, obj, "dev"),
        mode: obj
            .get("mode")
            .and_then(|v| loading.walk.word(&v, false, &modes))
            .map(|m| m.value),
        cpus: cpus(loading, obj),
        packets: packets(loading, obj),
        clone_skb: obj
            .get("clone_skb")
            .and_then(|v| loading.walk.count32(&v, 0, u32::MAX)),
        burst: obj
            .get("burst")
            .and_then(|v| loading.walk.count32(&v, 1, 65_535)),
        size: quantity(loading, obj, "size", Quantity::Size),
        priority: obj
            .get("priority")
            .and_then(|v| loading.walk.count32(&v, 0, 15))
            .map(|p| p.value),
    }
}

fn trafgen(loading: &mut Loading<'_>, obj: &Obj<'_>) -> LoadDraft {
    LoadDraft::Trafgen {
        dev: text(loading, obj, "dev"),
        cpus: cpus(loading, obj),
        packets: packets(loading, obj),
        size: quantity(loading, obj, "size", Quantity::Size),
        frames: obj
            .get("frames")
            .and_then(|v| loading.walk.count32(&v, 0, MAX_FRAMES)),
        qdisc_path: obj
            .get("qdisc_path")
            .and_then(|v| loading.walk.switch(&v))
            .map(|on| on.value),
    }
}

fn paced(loading: &mut Loading<'_>, obj: &Obj<'_>) -> LoadDraft {
    let every = quantity(loading, obj, "every", Quantity::Time).filter(|every| {
        let zero = every.value == 0;
        if zero {
            let help = Some("Pktgen sends as fast as it can".into());
            loading.walk.report(
                rules::OUT_OF_RANGE,
                every.at.clone(),
                "an interval of 0 has no pace",
                help,
            );
        }
        !zero
    });
    LoadDraft::Paced {
        dev: text(loading, obj, "dev"),
        cpus: cpus(loading, obj),
        every,
        size: quantity(loading, obj, "size", Quantity::Size),
        packets: packets(loading, obj),
    }
}

fn train(loading: &mut Loading<'_>, obj: &Obj<'_>) -> LoadDraft {
    let cpu = obj
        .get("cpu")
        .and_then(|v| loading.walk.count(&v, 0, 65_535));
    let packets = obj.get("packets").and_then(|value| {
        let list = loading.walk.list(&value);
        if list.len() > MAX_TRAIN {
            let message = format!("a train of {} packets; at most {MAX_TRAIN}", list.len());
            loading
                .walk
                .report(rules::TOO_MANY_PARTS, value.at(), message, None);
            return None;
        }
        list.iter()
            .map(|v| train_packet(loading, v))
            .collect::<Option<Vec<_>>>()
    });
    LoadDraft::Train {
        dev: text(loading, obj, "dev"),
        cpu: cpu.map(|cpu| vec![cpu]),
        packets,
    }
}

fn train_packet(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<TrainPacket> {
    let obj = loading
        .walk
        .obj(&value.node, &value.path, &schema::TRAIN_PACKET, &[])?;
    let at = quantity(loading, &obj, "at", Quantity::Time);
    let sent = obj.get("sent").and_then(|v| {
        loading.walk.optional(v, |walk, v| {
            walk.quantity(v, Quantity::Time).map(|t| t.value)
        })
    });
    let size = quantity(loading, &obj, "size", Quantity::Size);
    let mut count = |name, high| {
        obj.get(name)
            .and_then(|v| loading.walk.count32(&v, 0, high))
            .map(|n| n.value)
    };
    let (priority, flow) = (count("priority", 15), count("flow", u32::MAX));
    let size = size?;
    let len = crate::check::packet_size(&mut loading.walk, &size)?;
    Some(TrainPacket {
        at: at?.value,
        sent: sent?,
        len,
        priority: priority?,
        flow: flow?,
    })
}

fn xdp_redirect(loading: &mut Loading<'_>, obj: &Obj<'_>) -> LoadDraft {
    let helpers = [("redirect", false), ("redirect_map", true)];
    LoadDraft::XdpRedirect {
        from: text(loading, obj, "from"),
        to: obj
            .get("to")
            .and_then(|v| loading.walk.optional(v, |walk, v| walk.text(v))),
        map: obj
            .get("helper")
            .and_then(|v| loading.walk.word(&v, false, &helpers))
            .map(|h| h.value),
        size: quantity(loading, obj, "size", Quantity::Size),
        pps: pps(loading, obj),
        packets: packets(loading, obj),
    }
}

/// `pps`, which is not 0.
pub(super) fn pps(loading: &mut Loading<'_>, obj: &Obj<'_>) -> Option<Option<u64>> {
    obj.get("pps").and_then(|v| {
        loading.walk.optional(v, |walk, v| {
            let pps = walk.quantity(v, Quantity::PacketRate)?;
            if pps.value == 0 {
                walk.report(
                    rules::OUT_OF_RANGE,
                    pps.at,
                    "a rate of 0 offers nothing",
                    None,
                );
                return None;
            }
            Some(pps.value)
        })
    })
}

fn forward(loading: &mut Loading<'_>, obj: &Obj<'_>) -> LoadDraft {
    let pps = pps(loading, obj);
    LoadDraft::Forward {
        from: text(loading, obj, "from"),
        to: text(loading, obj, "to"),
        size: quantity(loading, obj, "size", Quantity::Size),
        pps,
        packets: packets(loading, obj),
    }
}

pub(super) fn text(loading: &mut Loading<'_>, obj: &Obj<'_>, name: &str) -> Option<Placed<String>> {
    obj.get(name).and_then(|v| loading.walk.text(&v))
}

pub(super) fn quantity(
    loading: &mut Loading<'_>,
    obj: &Obj<'_>,
    name: &str,
    quantity: Quantity,
) -> Option<Placed<u64>> {
    obj.get(name)
        .and_then(|v| loading.walk.quantity(&v, quantity))
}

pub(super) fn packets(loading: &mut Loading<'_>, obj: &Obj<'_>) -> Packets {
    let value = obj.get("packets")?;
    let at = value.at();
    let read = loading
        .walk
        .optional(value, |walk, v| walk.count(v, 1, u64::MAX))?;
    Some(Placed {
        value: read.map(|n| n.value),
        at,
    })
}

/// `[0, 1]`, `4` (the CPUs 0 to 3) or `4..8`.
pub(super) fn cpus(loading: &mut Loading<'_>, obj: &Obj<'_>) -> Option<Vec<Placed<u64>>> {
    cpu_list(loading, obj.get("cpus")?, "a load")
}

/// The CPUs of `whose` field.
pub(super) fn cpu_list(
    loading: &mut Loading<'_>,
    value: Value<'_>,
    whose: &str,
) -> Option<Vec<Placed<u64>>> {
    let span = match value.node.kind {
        Kind::Int(n) => Some((0, n)),
        Kind::Range(first, Some(end)) => Some((first.unwrap_or(0), end)),
        Kind::List(_) => None,
        _ => {
            loading.walk.mistyped(
                &value,
                "CPUs: a list [0, 1], a count, or a range 0..4",
                None,
            );
            return None;
        }
    };
    let Some((first, end)) = span else {
        let list = loading.walk.list(&value);
        if !counted(loading, &value, list.len()) {
            return None;
        }
        if list.is_empty() {
            loading.walk.report(
                rules::EMPTY_LIST,
                value.at(),
                format!("{whose} needs at least one CPU"),
                None,
            );
        }
        return list
            .iter()
            .map(|v| loading.walk.count(v, 0, 65_535))
            .collect();
    };
    // More than any machine has, so that the message is about the machine.
    if first < 0 || end > MAX_SENDERS as i128 || first >= end {
        let node: &Node = &value.node;
        let message = format!(
            "{} gives no CPUs, or CPUs that no machine has",
            node.describe()
        );
        loading.walk.report(
            rules::OUT_OF_RANGE,
            value.at(),
            message,
            Some("`4` means the CPUs 0 to 3".into()),
        );
        return None;
    }
    let len = usize::try_from(end - first).unwrap_or(usize::MAX);
    if !counted(loading, &value, len) {
        return None;
    }
    (first..end)
        .map(|cpu| u64::try_from(cpu).ok().map(|cpu| value.place(cpu)))
        .collect()
}

/// Counts senders over the whole scenario, before memory is taken for them.
fn counted(loading: &mut Loading<'_>, value: &Value<'_>, senders: usize) -> bool {
    let before = loading.senders;
    loading.senders = before.saturating_add(senders);
    let fits = loading.senders <= MAX_SENDERS;
    // Reported where the limit is crossed; the loads behind it are not the mistake.
    if !fits && before <= MAX_SENDERS {
        let message = format!("with this load, there are more than {MAX_SENDERS} senders");
        loading
            .walk
            .report(rules::TOO_MANY_PARTS, value.at(), message, None);
    }
    fits
}
