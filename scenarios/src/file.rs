//! From the tree of a scenario to a draft: types, units and names are right, the rest is not yet judged.
//!
//! The fields and their defaults stand in [`crate::schema`]; the rules in [`crate::check`].

use crate::error::At;
use crate::expect::Expect;
use crate::explore::Explore;
use crate::loader::Loading;
use crate::machine::ProfileFile;
use crate::rules;
use crate::schema;
use crate::tree::{Kind, Node};
use crate::units::Quantity;
use crate::walk::{Obj, Placed, Value};
use sim_core::config::{
    ClockSource, Moderation, NicDriver, Qdisc, Redirect, Set3Retry, Stop, TrainPacket, XmitMode,
};
use sim_core::frame::Tpid;
use sim_core::kernel::cost::Cost;
use sim_core::kernel::drivers::ixgbe::TxKick;
use sim_core::kernel::features::{Features, VlanFeatures};
use sim_core::kernel::packet::Direct;
use sim_core::kernel::variant::Lockless;
use sim_core::machine::cost::Profile;
use sim_core::machine::layout::LayoutSet;
use std::rc::Rc;

mod expect;
mod explore;
mod host;
pub(crate) use host::as_struct;
mod kernel;
mod layout;
mod load;
mod netperf;
mod nic;
mod qdisc;
mod udp;
pub(crate) use netperf::{NetperfDraft, NetserverDraft};
pub(crate) use nic::OFFLOADS;
pub(crate) use udp::{UdpFloodDraft, UdpSinkDraft};

/// A measurement in steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Time before counters start, in picoseconds.
    pub warmup: u64,
    /// Length of the measured window, in picoseconds.
    pub window: u64,
    /// Number of runs, with the seeds `0..seeds`.
    pub seeds: u32,
}

/// A scenario whose every value has the right type. What is `None` was wrong and is reported.
pub(crate) struct Draft {
    pub at: At,
    pub name: Option<Placed<String>>,
    pub hosts: Vec<HostDraft>,
    pub links: Vec<LinkDraft>,
    pub parameters: Vec<(String, Vec<String>)>,
    pub stop: Option<Placed<Stop>>,
    pub stop_given: bool,
    pub measure: Option<Placed<Measure>>,
    pub measure_given: bool,
    pub expect: Expect,
    pub explore: Option<Explore>,
    pub step_limit: Option<Placed<u64>>,
}

pub(crate) struct HostDraft {
    pub name: Option<Placed<String>>,
    pub machine: Option<MachineDraft>,
    pub kernel: KernelDraft,
    pub layouts: LayoutSet,
    pub devices: Vec<DeviceDraft>,
    /// Off if a device could not be read, so that its name may be missing.
    pub devices_known: bool,
    pub workloads: Vec<Placed<LoadDraft>>,
}

#[derive(Clone)]
pub(crate) struct MachineDraft {
    /// As the scenario names it.
    pub reference: String,
    pub file: Rc<ProfileFile>,
    /// With the scenario's overrides.
    pub profile: Profile,
    pub store_buffer: Option<Placed<bool>>,
}

#[derive(Clone, Default)]
pub(crate) struct KernelDraft {
    pub base: Option<Placed<String>>,
    pub lockless: Option<Lockless>,
    pub version: Option<(u32, u32)>,
    pub lockless_given: bool,
    pub direct: Option<Direct>,
    pub direct_given: bool,
    pub ticks: Option<bool>,
    pub set3_retry: Option<Set3Retry>,
    pub dev_weight: Option<u32>,
    pub tas_bit_early_return: Option<Placed<bool>>,
    pub tas_given: bool,
    pub hz: Option<u32>,
    pub bql_mb: Option<bool>,
    pub stop_recheck: Option<bool>,
    pub tx_kick: Option<TxKick>,
    pub tx_kick_given: bool,
    pub watchdog: Option<Option<u64>>,
    pub vlan_features: Option<VlanFeatures>,
    pub vlan_features_given: bool,
    pub validate_in_lock: Option<bool>,
    pub validate_given: bool,
    pub redirect: Option<Redirect>,
    pub redirect_given: bool,
    pub xdp_bulk: Option<u32>,
    pub xdp_flush: Option<bool>,
    pub retpoline: Option<bool>,
    pub clock: Option<Option<ClockSource>>,
    pub max_backlog: Option<u32>,
    pub veth_mb: Option<bool>,
    pub costs: Vec<(Cost, u32)>,
}

pub(crate) struct DeviceDraft {
    pub name: Option<Placed<String>>,
    pub kind: Option<KindDraft>,
    pub txqs: Option<Placed<u32>>,
    pub qdisc: Option<Placed<Qdisc>>,
    pub rps_cpus: Option<Vec<Placed<u64>>>,
    pub xps: Option<Vec<Placed<u64>>>,
}

pub(crate) enum KindDraft {
    Dummy,
    Nic(Box<NicDraft>),
    Vlan(VlanDraft),
    Loopback,
    Veth(VethDraft),
}

pub(crate) struct VethDraft {
    pub peer: Option<Placed<String>>,
    pub napi: Option<bool>,
}

impl KindDraft {
    /// What it is called, if no cable can be plugged into it.
    pub fn without_port(&self) -> Option<&'static str> {
        match self {
            KindDraft::Dummy => Some("Dummy"),
            KindDraft::Vlan(_) => Some("Vlan"),
            KindDraft::Loopback => Some("Loopback"),
            KindDraft::Veth(_) => Some("Veth"),
            KindDraft::Nic(_) => None,
        }
    }
}

pub(crate) struct VlanDraft {
    pub on: Option<Placed<String>>,
    pub id: Option<Placed<u32>>,
    pub proto: Option<Tpid>,
    pub reorder_hdr: Option<bool>,
    pub mtu: Option<Option<u64>>,
    pub mtu_at: Option<At>,
}

pub(crate) struct NicDraft {
    pub driver: NicDriver,
    pub tx_ring: Option<Placed<u32>>,
    pub rx_ring: Option<Placed<u32>>,
    pub rate: Option<u64>,
    pub irq_cpus: Option<Vec<Placed<u64>>>,
    pub moderation: Option<Moderation>,
    pub bql: Option<Option<(u32, u32)>>,
    pub stop_thresh: Option<Placed<u32>>,
    pub wake_thresh: Option<Placed<u32>>,
    pub napi_weight: Option<Placed<u32>>,
    pub wire_overhead: Option<Placed<u64>>,
    pub features: Option<Features>,
    pub vlan_features: Option<Features>,
    pub max_tags_offload: Option<u8>,
    pub tx_memory: Option<u32>,
}

pub(crate) struct LinkDraft {
    pub a: Option<Placed<String>>,
    pub b: Option<Placed<String>>,
    pub delay: Option<u64>,
}

pub(crate) type Packets = Option<Placed<Option<u64>>>;

pub(crate) enum LoadDraft {
    Pktgen {
        dev: Option<Placed<String>>,
        mode: Option<XmitMode>,
        cpus: Option<Vec<Placed<u64>>>,
        packets: Packets,
        clone_skb: Option<Placed<u32>>,
        burst: Option<Placed<u32>>,
        size: Option<Placed<u64>>,
        priority: Option<u32>,
    },
    Trafgen {
        dev: Option<Placed<String>>,
        cpus: Option<Vec<Placed<u64>>>,
        packets: Packets,
        size: Option<Placed<u64>>,
        frames: Option<Placed<u32>>,
        qdisc_path: Option<bool>,
    },
    Paced {
        dev: Option<Placed<String>>,
        cpus: Option<Vec<Placed<u64>>>,
        every: Option<Placed<u64>>,
        size: Option<Placed<u64>>,
        packets: Packets,
    },
    Train {
        dev: Option<Placed<String>>,
        cpu: Option<Vec<Placed<u64>>>,
        packets: Option<Vec<TrainPacket>>,
    },
    XdpRedirect {
        from: Option<Placed<String>>,
        to: Option<Option<Placed<String>>>,
        map: Option<bool>,
        size: Option<Placed<u64>>,
        pps: Option<Option<u64>>,
        packets: Packets,
    },
    Forward {
        from: Option<Placed<String>>,
        to: Option<Placed<String>>,
        size: Option<Placed<u64>>,
        pps: Option<Option<u64>>,
        packets: Packets,
    },
    Netperf(Box<NetperfDraft>),
    Netserver(Box<NetserverDraft>),
    UdpFlood(Box<UdpFloodDraft>),
    UdpSink(UdpSinkDraft),
}

impl Draft {
    /// Hosts, devices, loads and senders: what the size of a configuration grows with.
    pub fn parts(&self) -> usize {
        let host = |h: &HostDraft| {
            let senders: usize = h.workloads.iter().map(|w| w.value.cpus().len()).sum();
            1 + h.devices.len() + h.workloads.len() + senders
        };
        self.hosts.iter().map(host).sum()
    }
}

impl LoadDraft {
    /// The CPUs it names.
    pub fn cpus(&self) -> &[Placed<u64>] {
        match self {
            LoadDraft::Pktgen { cpus, .. }
            | LoadDraft::Trafgen { cpus, .. }
            | LoadDraft::Paced { cpus, .. } => cpus.as_deref().unwrap_or(&[]),
            LoadDraft::Train { cpu, .. } => cpu.as_deref().unwrap_or(&[]),
            LoadDraft::Netperf(n) => n.cpu.as_deref().unwrap_or(&[]),
            LoadDraft::Netserver(n) => n.cpu.as_deref().unwrap_or(&[]),
            LoadDraft::UdpFlood(u) => u.cpus.as_deref().unwrap_or(&[]),
            LoadDraft::UdpSink(u) => u.cpu.as_deref().unwrap_or(&[]),
            LoadDraft::Forward { .. } | LoadDraft::XdpRedirect { .. } => &[],
        }
    }

    /// The devices it names.
    pub fn devices(&self) -> Vec<&Placed<String>> {
        match self {
            LoadDraft::Pktgen { dev, .. }
            | LoadDraft::Trafgen { dev, .. }
            | LoadDraft::Paced { dev, .. }
            | LoadDraft::Train { dev, .. } => dev.iter().collect(),
            LoadDraft::Forward { from, to, .. } => from.iter().chain(to).collect(),
            LoadDraft::XdpRedirect { from, to, .. } => {
                from.iter().chain(to.iter().flatten()).collect()
            }
            LoadDraft::Netperf(n) => n.dev.iter().collect(),
            LoadDraft::Netserver(n) => n.dev.iter().collect(),
            LoadDraft::UdpFlood(u) => u.dev.iter().collect(),
            LoadDraft::UdpSink(u) => u.dev.iter().collect(),
        }
    }

    /// Its number of packets a thread.
    pub fn packets(&self) -> &Packets {
        match self {
            LoadDraft::Pktgen { packets, .. }
            | LoadDraft::Trafgen { packets, .. }
            | LoadDraft::Paced { packets, .. }
            | LoadDraft::XdpRedirect { packets, .. }
            | LoadDraft::Forward { packets, .. } => packets,
            LoadDraft::UdpFlood(u) => &u.packets,
            LoadDraft::Train { .. }
            | LoadDraft::Netperf(_)
            | LoadDraft::Netserver(_)
            | LoadDraft::UdpSink(_) => &None,
        }
    }

    /// Its packet size.
    pub fn size(&self) -> Option<&Placed<u64>> {
        match self {
            LoadDraft::Pktgen { size, .. }
            | LoadDraft::Trafgen { size, .. }
            | LoadDraft::Paced { size, .. }
            | LoadDraft::XdpRedirect { size, .. }
            | LoadDraft::Forward { size, .. } => size.as_ref(),
            LoadDraft::UdpFlood(u) => u.size.as_ref(),
            LoadDraft::Train { .. }
            | LoadDraft::Netperf(_)
            | LoadDraft::Netserver(_)
            | LoadDraft::UdpSink(_) => None,
        }
    }
}

/// Most hosts of a scenario, and most devices and loads of a host.
pub(crate) const MAX_HOSTS: usize = 64;
pub(crate) const MAX_PARTS: usize = 256;

/// Reads a scenario from its tree.
pub(crate) fn read(loading: &mut Loading<'_>, root: &Node) -> Option<Draft> {
    let obj = loading.walk.obj(root, "", &schema::SCENARIO, &[])?;
    version(loading, &obj);
    // The defaults are read for themselves too, so that mistakes in them show even without hosts.
    if let Some(machine) = obj.given("machine") {
        host::machine(loading, &machine);
    }
    let name = obj.get("name").and_then(|v| loading.walk.text(&v));
    let (stop_given, measure_given) = (obj.given("stop").is_some(), obj.given("measure").is_some());
    let measure = obj.given("measure").and_then(|v| measure(loading, &v));
    let stop = match obj.given("stop") {
        Some(value) => stop(loading, &value),
        None => measure.as_ref().map(|m| Placed {
            value: Stop::At(m.value.warmup.saturating_add(m.value.window)),
            at: m.at.clone(),
        }),
    };
    let links = host::links(loading, obj.get("links"));
    let parameters = netperf::parameters(loading, obj.get("parameters"));
    let expect = obj
        .get("expect")
        .map(|v| expect::read(loading, &v))
        .unwrap_or_default();
    let explore = obj
        .given("explore")
        .and_then(|v| explore::read(loading, &v));
    let step_limit = obj
        .get("step_limit")
        .and_then(|v| loading.walk.count(&v, 1, 1_000_000_000_000));
    let hosts = hosts(loading, &obj);
    Some(Draft {
        at: obj.at,
        name,
        hosts,
        links,
        parameters,
        stop,
        stop_given,
        measure,
        measure_given,
        expect,
        explore,
        step_limit,
    })
}

fn version(loading: &mut Loading<'_>, obj: &Obj<'_>) {
    let Some(value) = obj.given("version") else {
        return;
    };
    if !matches!(value.node.kind, Kind::Int(1)) {
        let message = format!("expected version 1, found {}", value.node.describe());
        loading.walk.report(
            rules::VERSION,
            value.at(),
            message,
            Some("this program reads version 1".into()),
        );
    }
}

fn hosts(loading: &mut Loading<'_>, obj: &Obj<'_>) -> Vec<HostDraft> {
    let Some(value) = obj.given("hosts") else {
        return Vec::new();
    };
    let list = loading.walk.list(&value);
    if list.is_empty() && matches!(value.node.kind, Kind::List(_)) {
        loading.walk.report(
            rules::EMPTY_LIST,
            value.at(),
            "a scenario needs at least one host",
            None,
        );
    }
    if !limited(loading, &value, list.len(), MAX_HOSTS, "hosts") {
        return Vec::new();
    }
    let mut layouts = LayoutSet::default();
    if let Some(value) = obj.get("layouts") {
        layout::read(loading, &value, &mut layouts);
    }
    let machine = obj.given("machine");
    let kernel = obj.get("kernel");
    let defaults = host::Defaults {
        machine: machine.as_ref(),
        kernel: kernel.as_ref(),
        layouts: &layouts,
    };
    list.iter()
        .filter_map(|v| host::read(loading, v, &defaults))
        .collect()
}

/// Reports a list that is too long.
fn limited(
    loading: &mut Loading<'_>,
    value: &Value<'_>,
    len: usize,
    max: usize,
    what: &str,
) -> bool {
    if len > max {
        let message = format!("{len} {what}; at most {max} are simulated");
        loading
            .walk
            .report(rules::TOO_MANY_PARTS, value.at(), message, None);
    }
    len <= max
}

fn measure(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<Placed<Measure>> {
    let obj = loading
        .walk
        .obj(&value.node, &value.path, &schema::MEASURE, &[])?;
    let warmup = obj
        .get("warmup")
        .and_then(|v| loading.walk.quantity(&v, Quantity::Time));
    let window = obj
        .get("window")
        .and_then(|v| loading.walk.quantity(&v, Quantity::Time));
    let seeds = obj
        .get("seeds")
        .and_then(|v| loading.walk.count32(&v, 1, 10_000));
    Some(value.place(Measure {
        warmup: warmup?.value,
        window: window?.value,
        seeds: seeds?.value,
    }))
}

fn stop(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<Placed<Stop>> {
    if let Kind::Tuple(Some(name), items) = &value.node.kind
        && name.text == "At"
        && let [time] = items.as_slice()
    {
        let time = Value {
            node: std::borrow::Cow::Borrowed(time),
            path: value.path.clone(),
            given: true,
        };
        let time = loading.walk.quantity(&time, Quantity::Time)?;
        return Some(Placed {
            value: Stop::At(time.value),
            at: time.at,
        });
    }
    let is_quiescent = match &value.node.kind {
        Kind::Struct(Some(name), _) | Kind::Tuple(Some(name), _) => name.text == "Quiescent",
        Kind::Ident(name) => name == "Quiescent",
        _ => false,
    };
    if !is_quiescent {
        loading
            .walk
            .mistyped(value, "`Quiescent(limit: \"1ms\")` or `At(\"5ms\")`", None);
        return None;
    }
    let obj = loading
        .walk
        .obj(&value.node, &value.path, &schema::QUIESCENT, &[])?;
    let limit = obj
        .get("limit")
        .and_then(|v| loading.walk.quantity(&v, Quantity::Time))?;
    Some(Placed {
        value: Stop::Quiescent { limit: limit.value },
        at: limit.at,
    })
}
