//! A scenario with every default filled in, as RON.
//!
//! A default that a sweep may change (what a kernel version shipped, what a profile says) is printed
//! as a comment then: given explicitly, it would no longer follow the axis. What all hosts share stands
//! at the top. Falls short: a sweep over a top-level field of hosts that differ in that part (one sets
//! its own `kernel`, the axis is `kernel.dev_weight`) no longer reaches them.

use crate::expect::{Expect, Violations};
use crate::explore::Explore;
use crate::file::{
    Draft, HostDraft, KernelDraft, KindDraft, LoadDraft, MachineDraft, NicDraft, OFFLOADS,
    VlanDraft,
};
use crate::machine::{override_name, print_value};
use crate::sweep::Axis;
use crate::units::Quantity::{PacketRate, Rate, Size, Time};
use crate::walk::Placed;
use sim_core::config::{Moderation, NicDriver, Qdisc, Set3Retry, Stop, TrainPacket, XmitMode};
use sim_core::frame::Tpid;
use sim_core::kernel::drivers::ixgbe::TxKick;
use sim_core::kernel::features::Features;
use sim_core::kernel::packet::Direct;
use sim_core::kernel::variant::Lockless;
use sim_core::machine::cost::{MemoryModel, Param};
use sim_core::machine::layout::{Field, Layout, LayoutSet};
use std::fmt::{Display, Write as _};

/// Prints a draft that passed every rule.
pub(crate) fn print(draft: &Draft, axes: &[Axis]) -> String {
    let mut out = Printer {
        text: String::new(),
        swept: !axes.is_empty(),
    };
    out.line(0, "(");
    out.line(1, "version: 1,");
    out.line(1, format!("name: {:?},", text(&draft.name)));
    let machines: Vec<String> = draft
        .hosts
        .iter()
        .map(|h| out.machine(h.machine.as_ref()))
        .collect();
    let kernels: Vec<String> = draft.hosts.iter().map(|h| out.kernel(&h.kernel)).collect();
    // What all hosts share stands at the top, where the axes of a sweep change it.
    let shared = |parts: &[String]| parts.windows(2).all(|w| w[0] == w[1]);
    let (machine_shared, kernel_shared) = (shared(&machines), shared(&kernels));
    if machine_shared {
        out.line(1, format!("machine: {},", machines[0]));
    }
    if kernel_shared {
        out.line(1, format!("kernel: {},", kernels[0]));
    }
    let layouts: Vec<String> = draft
        .hosts
        .iter()
        .map(|h| layouts_text(&h.layouts))
        .collect();
    let layouts_shared = shared(&layouts);
    if layouts_shared {
        out.line(1, format!("layouts: {},", layouts[0]));
    }
    out.line(1, "hosts: [");
    for (i, host) in draft.hosts.iter().enumerate() {
        out.line(2, "(");
        out.line(3, format!("name: {:?},", text(&host.name)));
        if !machine_shared {
            out.line(3, format!("machine: {},", machines[i]));
        }
        if !kernel_shared {
            out.line(3, format!("kernel: {},", kernels[i]));
        }
        if !layouts_shared {
            out.line(3, format!("layouts: {},", layouts[i]));
        }
        out.host(host);
        out.line(2, "),");
    }
    out.line(1, "],");
    out.line(1, "links: [");
    for link in &draft.links {
        out.line(
            2,
            format!(
                "(a: {:?}, b: {:?}, delay: \"{}\"),",
                text(&link.a),
                text(&link.b),
                Time.print(link.delay.unwrap_or_default())
            ),
        );
    }
    out.line(1, "],");
    let parameters = draft.parameters.iter();
    let parameters: Vec<String> = parameters
        .map(|(name, paths)| format!("{name:?}: {paths:?}"))
        .collect();
    out.line(1, format!("parameters: {{{}}},", parameters.join(", ")));
    out.end(draft, axes);
    out.line(0, ")");
    out.text
}

struct Printer {
    text: String,
    swept: bool,
}

fn text(name: &Option<Placed<String>>) -> &str {
    name.as_ref().map_or("", |n| &n.value)
}

fn number<T: Copy + std::default::Default>(value: &Option<Placed<T>>) -> T {
    value.as_ref().map(|v| v.value).unwrap_or_default()
}

fn on(switch: bool) -> &'static str {
    if switch { "on" } else { "off" }
}

fn option(value: Option<impl Display>) -> String {
    value.map_or("None".into(), |v| v.to_string())
}

impl Printer {
    fn line(&mut self, depth: usize, line: impl AsRef<str>) {
        self.text.push_str(&"    ".repeat(depth));
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// A default that depends on other fields.
    fn computed(&self, field: String) -> String {
        if self.swept {
            format!("/* {field} */")
        } else {
            format!("{field},")
        }
    }

    fn machine(&self, machine: Option<&MachineDraft>) -> String {
        let Some(machine) = machine else {
            return String::new();
        };
        let (own, profile) = (&machine.file.profile, &machine.profile);
        let field = |given: bool, field: String| {
            if given {
                format!("{field},")
            } else {
                self.computed(field)
            }
        };
        let memory = match profile.memory {
            MemoryModel::Tso => "tso",
            MemoryModel::Weak => "weak",
            MemoryModel::Sc => "sc",
        };
        let mut text = format!("(profile: {:?},", machine.reference);
        let buffer = format!("store_buffer: {}", on(profile.store_buffer));
        let _ = write!(text, " {}", field(machine.store_buffer.is_some(), buffer));
        let _ = write!(
            text,
            " {}",
            field(profile.memory != own.memory, format!("memory: {memory}"))
        );
        for &param in Param::ALL {
            let value = profile.get(param);
            let shown = format!("{}: {}", override_name(param), print_value(param, value));
            let _ = write!(text, "\n        {}", field(value != own.get(param), shown));
        }
        text + "\n    )"
    }

    fn kernel(&self, kernel: &KernelDraft) -> String {
        let lockless = format!(
            "lockless: {}",
            kernel.lockless.as_ref().map_or("", Lockless::name)
        );
        let lockless = if kernel.lockless_given {
            lockless + ","
        } else {
            self.computed(lockless)
        };
        let retry = match kernel.set3_retry {
            Some(Set3Retry::NoRetry) => "3b",
            _ => "3a",
        };
        let tas = format!(
            "tas_bit_early_return: {}",
            on(number(&kernel.tas_bit_early_return))
        );
        let tas = if kernel.tas_given {
            tas + ","
        } else {
            self.computed(tas)
        };
        let given = |given: bool, field: String| {
            if given {
                field + ","
            } else {
                self.computed(field)
            }
        };
        let direct = kernel.direct.map_or("", Direct::name);
        let direct = given(kernel.direct_given, format!("direct: {direct}"));
        let kick = kernel.tx_kick.map_or("", TxKick::name);
        let kick = given(kernel.tx_kick_given, format!("tx_kick: {kick}"));
        let watchdog = option(
            kernel
                .watchdog
                .flatten()
                .map(|t| format!("\"{}\"", Time.print(t))),
        );
        let vlan = kernel.vlan_features.map_or("", |v| v.name());
        let vlan = given(kernel.vlan_features_given, format!("vlan_features: {vlan}"));
        let validate = on(kernel.validate_in_lock.unwrap_or_default());
        let validate = given(
            kernel.validate_given,
            format!("validate_in_lock: {validate}"),
        );
        let redirect = given(
            kernel.redirect_given,
            format!("redirect: {}", kernel.redirect.map_or("", |r| r.name())),
        );
        let costs: Vec<String> = kernel
            .costs
            .iter()
            .map(|(cost, n)| format!("{:?}: {n}", cost.name()))
            .collect();
        format!(
            "(base: {:?}, {lockless} set3_retry: {retry:?}, dev_weight: {}, {tas} {direct} ticks: {}, hz: {}, bql_mb: {}, stop_recheck: {}, {kick} watchdog: {watchdog}, {vlan} {validate} {redirect} xdp_bulk: {}, xdp_flush: {}, retpoline: {}, clock: {}, max_backlog: {}, veth_mb: {}, costs: {{{}}})",
            text(&kernel.base),
            kernel.dev_weight.unwrap_or_default(),
            on(kernel.ticks.unwrap_or_default()),
            kernel.hz.unwrap_or_default(),
            on(kernel.bql_mb.unwrap_or_default()),
            on(kernel.stop_recheck.unwrap_or_default()),
            kernel.xdp_bulk.unwrap_or_default(),
            on(kernel.xdp_flush.unwrap_or_default()),
            on(kernel.retpoline.unwrap_or_default()),
            option(kernel.clock.flatten().map(|c| {
                format!(
                    "(grain: \"{}\", min_delta: \"{}\", phase: \"{}\")",
                    Time.print(c.grain),
                    Time.print(c.min_delta),
                    Time.print(c.phase)
                )
            })),
            kernel.max_backlog.unwrap_or_default(),
            on(kernel.veth_mb.unwrap_or_default()),
            costs.join(", "),
        )
    }

    fn host(&mut self, host: &HostDraft) {
        self.line(3, "devices: [");
        for device in &host.devices {
            let kind = match &device.kind {
                Some(KindDraft::Nic(nic)) => nic_text(nic),
                Some(KindDraft::Vlan(vlan)) => vlan_text(vlan),
                Some(KindDraft::Loopback) => "Loopback".into(),
                Some(KindDraft::Veth(v)) => format!(
                    "Veth(peer: {:?}, napi: {})",
                    text(&v.peer),
                    on(v.napi.unwrap_or_default())
                ),
                _ => "Dummy".into(),
            };
            let qdisc = device.qdisc.as_ref().map(|q| qdisc_text(&q.value));
            let qdisc = qdisc.unwrap_or_default();
            let name = text(&device.name);
            let txqs = number(&device.txqs);
            let spread = [("rps_cpus", &device.rps_cpus), ("xps", &device.xps)].map(|(f, list)| {
                let list: Vec<u64> = list.iter().flatten().map(|n| n.value).collect();
                format!("{f}: {list:?}")
            });
            let spread = spread.join(", ");
            self.line(
                4,
                format!("(name: {name:?}, kind: {kind}, txqs: {txqs}, qdisc: {qdisc}, {spread}),"),
            );
        }
        self.line(3, "],");
        self.line(3, "workloads: [");
        for load in &host.workloads {
            self.line(4, format!("{},", load_text(&load.value)));
        }
        self.line(3, "],");
    }

    fn end(&mut self, draft: &Draft, axes: &[Axis]) {
        let stop = match draft.stop.as_ref().map(|s| s.value) {
            Some(Stop::Quiescent { limit }) => {
                format!("stop: Quiescent(limit: \"{}\")", Time.print(limit))
            }
            Some(Stop::At(time)) => format!("stop: At(\"{}\")", Time.print(time)),
            None => String::new(),
        };
        let stop = if draft.stop_given {
            stop + ","
        } else {
            self.computed(stop)
        };
        self.line(1, stop);
        if let Some(measure) = draft.measure.as_ref().map(|m| m.value) {
            let (warmup, window) = (Time.print(measure.warmup), Time.print(measure.window));
            self.line(
                1,
                format!(
                    "measure: (warmup: \"{warmup}\", window: \"{window}\", seeds: {}),",
                    measure.seeds
                ),
            );
        }
        self.line(1, "sweep: [");
        for axis in axes {
            self.line(
                2,
                format!(
                    "(path: {:?}, values: [{}]),",
                    axis.path,
                    axis.values.join(", ")
                ),
            );
        }
        self.line(1, "],");
        self.expect(&draft.expect);
        if let Some(explore) = &draft.explore {
            self.explore(explore);
        }
        self.line(1, format!("step_limit: {},", number(&draft.step_limit)));
    }

    fn explore(&mut self, explore: &Explore) {
        self.line(1, "explore: (");
        if let Some(size) = explore.size {
            self.line(2, format!("size: \"{size}\","));
        }
        self.line(2, format!("preemptions: {},", explore.preemptions));
        self.line(2, format!("deviations: {},", explore.deviations));
        if let Some(token) = &explore.schedule {
            self.line(2, format!("schedule: {:?},", token.to_string()));
        }
        let repair = explore
            .repair
            .iter()
            .map(|(path, ron)| format!("{path:?}: {ron:?}"));
        let repair: Vec<String> = repair.collect();
        self.line(2, format!("repair: {{{}}},", repair.join(", ")));
        self.line(1, "),");
    }

    fn expect(&mut self, expect: &Expect) {
        let violations = match &expect.violations {
            Violations::Forbid => "Forbid".into(),
            Violations::Allow => "Allow".into(),
            Violations::Require(laws) => {
                format!(
                    "Require([{}])",
                    laws.iter().map(|l| l.name()).collect::<Vec<_>>().join(", ")
                )
            }
        };
        let bounds = expect.metrics.iter().map(|b| {
            let mut text = format!("(metric: {:?}", b.metric);
            for (end, value) in [("min", b.min), ("max", b.max)] {
                // Debug keeps the point of a float, so it reads back as the same number.
                let _ = value.map(|v| write!(text, ", {end}: {v:?}"));
            }
            text + ")"
        });
        let bounds: Vec<String> = bounds.collect();
        self.line(
            1,
            format!(
                "expect: (violations: {violations}, metrics: [{}]),",
                bounds.join(", ")
            ),
        );
    }
}

fn qdisc_text(qdisc: &Qdisc) -> String {
    let bytes = |n: u32| Size.print(u64::from(n));
    match *qdisc {
        Qdisc::PfifoFast { limit } => format!("PfifoFast(limit: {limit})"),
        Qdisc::Pfifo { limit } => format!("Pfifo(limit: {limit})"),
        Qdisc::Bfifo { limit } => format!("Bfifo(limit: \"{}\")", bytes(limit)),
        Qdisc::Prio {
            limit,
            bands,
            priomap,
        } => format!("Prio(limit: {limit}, bands: {bands}, priomap: {priomap:?})"),
        Qdisc::Codel {
            limit,
            target,
            interval,
        } => format!(
            "Codel(limit: {limit}, target: \"{}\", interval: \"{}\")",
            Time.print(target),
            Time.print(interval)
        ),
        Qdisc::FqCodel {
            limit,
            flows,
            quantum,
            target,
            interval,
        } => format!(
            "FqCodel(limit: {limit}, flows: {flows}, quantum: \"{}\", target: \"{}\", interval: \"{}\")",
            bytes(quantum),
            Time.print(target),
            Time.print(interval)
        ),
        Qdisc::Tbf(ref t) => {
            let peak = t.peak.map(|(rate, mtu)| {
                format!("(rate: \"{}\", mtu: \"{}\")", Rate.print(rate), bytes(mtu))
            });
            format!(
                "Tbf(rate: \"{}\", burst: \"{}\", overhead: \"{}\", mpu: \"{}\", peak: {}, child: {})",
                Rate.print(t.rate),
                bytes(t.burst),
                bytes(t.overhead),
                bytes(t.mpu),
                option(peak),
                qdisc_text(&t.child)
            )
        }
        Qdisc::Mq(ref each) => format!("Mq(child: {})", qdisc_text(each)),
        Qdisc::Noqueue => "Noqueue".into(),
    }
}

fn nic_text(nic: &NicDraft) -> String {
    let moderation = match nic.moderation {
        Some(Moderation::Delay { after, frames }) => {
            format!("Delay(usecs: \"{}\", frames: {frames})", Time.print(after))
        }
        Some(Moderation::Adaptive) => "Adaptive".into(),
        Some(Moderation::Throttle(gap)) => format!("Throttle(gap: \"{}\")", Time.print(gap)),
        None => String::new(),
    };
    let bql = match nic.bql.flatten() {
        Some((min, max)) => format!("(limit_min: {min}, limit_max: {max})"),
        None => "None".into(),
    };
    let cpus = nic.irq_cpus.as_deref().unwrap_or(&[]);
    let cpus: Vec<String> = cpus.iter().map(|c| c.value.to_string()).collect();
    let cpus = cpus.join(", ");
    let irq = if matches!(nic.driver, NicDriver::Ixgbe | NicDriver::Mlx5) {
        format!("irq_cpus: [{cpus}]")
    } else {
        format!("irq_cpu: {cpus}")
    };
    let offloads = |f: Option<Features>| {
        let f = f.unwrap_or_default();
        let words = OFFLOADS.iter().filter(|(_, bit)| f.has(*bit));
        words.map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
    };
    let offloads = format!(
        "offloads: [{}], vlan_offloads: [{}], max_tags_offload: {}",
        offloads(nic.features),
        offloads(nic.vlan_features),
        nic.max_tags_offload.unwrap_or_default()
    );
    let hardware = format!(
        "tx_ring: {}, rx_ring: {}, rate: \"{}\", {irq}, moderation: {moderation}, napi_weight: {}, wire_overhead: \"{}\", {offloads}",
        number(&nic.tx_ring),
        number(&nic.rx_ring),
        Rate.print(nic.rate.unwrap_or_default()),
        number(&nic.napi_weight),
        Size.print(number(&nic.wire_overhead)),
    );
    match nic.driver {
        NicDriver::Myri10ge => {
            let memory = Size.print(u64::from(nic.tx_memory.unwrap_or_default()));
            return format!("Myri10ge({hardware}, tx_memory: \"{memory}\")");
        }
        NicDriver::Mlx5 => return format!("Mlx5({hardware}, bql: {bql})"),
        NicDriver::Ixgbe => return format!("Ixgbe({hardware}, bql: {bql})"),
        NicDriver::Plain => {}
    }
    format!(
        "Nic({hardware}, bql: {bql}, stop_thresh: {}, wake_thresh: {})",
        number(&nic.stop_thresh),
        number(&nic.wake_thresh),
    )
}

fn vlan_text(vlan: &VlanDraft) -> String {
    let proto = match vlan.proto {
        Some(Tpid::Ad) => "ad",
        _ => "q",
    };
    let mtu = vlan.mtu.flatten().map(|m| format!("\"{}\"", Size.print(m)));
    format!(
        "Vlan(on: {:?}, id: {}, proto: {proto}, reorder_hdr: {}, mtu: {})",
        text(&vlan.on),
        number(&vlan.id),
        on(vlan.reorder_hdr.unwrap_or_default()),
        option(mtu)
    )
}

fn load_text(load: &LoadDraft) -> String {
    let cpus: Vec<String> = load.cpus().iter().map(|c| c.value.to_string()).collect();
    let cpus = format!("[{}]", cpus.join(", "));
    let size = Size.print(load.size().map_or(0, |s| s.value));
    let packets = option(load.packets().as_ref().and_then(|p| p.value));
    match load {
        LoadDraft::Pktgen {
            dev,
            mode,
            clone_skb,
            burst,
            priority,
            ..
        } => format!(
            "Pktgen(dev: {:?}, mode: {}, cpus: {cpus}, packets: {packets}, clone_skb: {}, burst: {}, size: {size:?}, priority: {})",
            text(dev),
            if *mode == Some(XmitMode::StartXmit) {
                "StartXmit"
            } else {
                "QueueXmit"
            },
            number(clone_skb),
            number(burst),
            priority.unwrap_or_default()
        ),
        LoadDraft::Trafgen {
            dev,
            frames,
            qdisc_path,
            ..
        } => format!(
            "Trafgen(dev: {:?}, cpus: {cpus}, packets: {packets}, size: {size:?}, frames: {}, qdisc_path: {})",
            text(dev),
            number(frames),
            on(qdisc_path.unwrap_or_default())
        ),
        LoadDraft::Paced { dev, every, .. } => format!(
            "Paced(dev: {:?}, cpus: {cpus}, every: {:?}, size: {size:?}, packets: {packets})",
            text(dev),
            Time.print(number(every))
        ),
        LoadDraft::Train { dev, packets, .. } => {
            let one = |p: &TrainPacket| {
                format!(
                    "(at: \"{}\", sent: {}, size: \"{}\", priority: {}, flow: {})",
                    Time.print(p.at),
                    option(p.sent.map(|t| format!("\"{}\"", Time.print(t)))),
                    Size.print(u64::from(p.len)),
                    p.priority,
                    p.flow
                )
            };
            let all: Vec<String> = packets.iter().flatten().map(one).collect();
            let cpu = load.cpus().first().map_or(0, |c| c.value);
            format!(
                "Train(dev: {:?}, cpu: {cpu}, packets: [{}])",
                text(dev),
                all.join(", ")
            )
        }
        LoadDraft::UdpFlood(u) => format!(
            "UdpFlood(dev: {:?}, cpus: {cpus}, size: {size:?}, pps: {}, packets: {packets}, flows: {}, connected: {}, port: {}, sndbuf: {:?})",
            text(&u.dev),
            option(
                u.pps
                    .flatten()
                    .map(|n| format!("{:?}", PacketRate.print(n)))
            ),
            u.flows.unwrap_or_default(),
            on(u.connected.unwrap_or_default()),
            number(&u.port),
            Size.print(number(&u.sndbuf))
        ),
        LoadDraft::UdpSink(u) => format!(
            "UdpSink(dev: {:?}, cpu: {}, port: {}, rcvbuf: {:?})",
            text(&u.dev),
            load.cpus().first().map_or(0, |c| c.value),
            number(&u.port),
            Size.print(number(&u.rcvbuf))
        ),
        LoadDraft::Netperf(n) => format!(
            "Netperf(dev: {:?}, cpu: {}, to: {:?}, port: {}, message: {:?}, sndbuf: {:?}, limit_output: {:?}, bytes: {})",
            text(&n.dev),
            load.cpus().first().map_or(0, |c| c.value),
            text(&n.to),
            number(&n.port),
            Size.print(number(&n.message)),
            Size.print(number(&n.sndbuf)),
            Size.print(number(&n.limit_output)),
            option(
                n.bytes
                    .as_ref()
                    .and_then(|b| b.value)
                    .map(|b| format!("{:?}", Size.print(b)))
            )
        ),
        LoadDraft::Netserver(n) => format!(
            "Netserver(dev: {:?}, cpu: {}, port: {}, window: {:?}, size: {:?})",
            text(&n.dev),
            load.cpus().first().map_or(0, |c| c.value),
            number(&n.port),
            Size.print(number(&n.window)),
            Size.print(number(&n.size))
        ),
        LoadDraft::XdpRedirect {
            from, to, map, pps, ..
        } => format!(
            "XdpRedirect(from: {:?}, to: {}, helper: {}, size: {size:?}, pps: {}, packets: {packets})",
            text(from),
            option(
                to.as_ref()
                    .and_then(|to| to.as_ref())
                    .map(|to| format!("{:?}", to.value))
            ),
            if *map == Some(true) {
                "redirect_map"
            } else {
                "redirect"
            },
            option(pps.flatten().map(|n| format!("{:?}", PacketRate.print(n))))
        ),
        LoadDraft::Forward { from, to, pps, .. } => format!(
            "Forward(from: {:?}, to: {:?}, size: {size:?}, pps: {}, packets: {packets})",
            text(from),
            text(to),
            option(pps.flatten().map(|n| format!("{:?}", PacketRate.print(n))))
        ),
    }
}

fn layouts_text(layouts: &LayoutSet) -> String {
    let one = |(name, layout): (&String, &Layout)| {
        let field = |f: &Field| format!("{}: ({}, {})", quoted(&f.name), f.offset, f.size);
        let fields: Vec<String> = layout.fields.iter().map(field).collect();
        format!("{}: {{{}}}", quoted(name), fields.join(", "))
    };
    let all: Vec<String> = layouts.by_name.iter().map(one).collect();
    format!("{{{}}}", all.join(", "))
}

/// Text in quotes. Debug's escapes are RON's, too.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}
