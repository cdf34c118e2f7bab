//! What a host runs and how much it may hold, before anything of it is built.

use super::build::Body;
use super::qdiscs::qdisc_room;
use crate::config::{self, DeviceKind, Workload};
use crate::engine::time::Span;
use crate::kernel;
use crate::kernel::packet::Open;
use crate::kernel::tcp::{IP_TCP_HEADER, TRUESIZE};
use crate::machine::CtxSpec;
use crate::trace::Level;
use crate::workload::paced::Paced;
use crate::workload::train;
use crate::workload::udp::Sender;
use std::collections::BTreeSet;

/// A host's contexts before it is built.
pub(super) struct Plan {
    pub cpus: BTreeSet<u16>,
    pub contexts: Vec<CtxSpec>,
    pub bodies: Vec<Body>,
    pub flows: Vec<(String, u16)>,
    pub flow_of: Vec<u32>,
    pub tasks: Vec<String>,
    /// Packet sockets, with their names.
    pub sockets: Vec<(String, Open)>,
    pub probe: Option<u32>,
}

impl Plan {
    pub fn new(host: &config::Host, tasks: &mut Vec<String>) -> Plan {
        let mut plan = Plan {
            cpus: BTreeSet::new(),
            contexts: Vec::new(),
            bodies: Vec::new(),
            flows: Vec::new(),
            flow_of: Vec::new(),
            tasks: std::mem::take(tasks),
            sockets: Vec::new(),
            probe: None,
        };
        for w in &host.workloads {
            match w {
                Workload::Pktgen(p) => plan.cpus.extend(&p.cpus),
                Workload::Trafgen(t) => plan.cpus.extend(&t.cpus),
                Workload::Paced { cpus, .. } => plan.cpus.extend(cpus),
                Workload::Netperf(n) => plan.cpus.extend([n.cpu]),
                Workload::Netserver(n) => plan.cpus.extend([n.cpu]),
                Workload::UdpFlood(u) => plan.cpus.extend(&u.cpus),
                Workload::UdpSink(u) => plan.cpus.extend([u.cpu]),
                Workload::Train { cpu, .. } => {
                    plan.cpus.insert(*cpu);
                }
                Workload::Forward { .. } | Workload::XdpRedirect { .. } => {}
            }
        }
        for d in &host.devices {
            if let DeviceKind::Nic(nic) = &d.kind {
                plan.cpus.extend(&nic.irq_cpus);
            }
            plan.cpus.extend(&d.rps_cpus);
        }
        for &cpu in &plan.cpus.clone() {
            plan.add(cpu, Level::Softirq, String::new(), Body::Softirq);
            plan.add(cpu, Level::Hardirq, String::new(), Body::Hardirq);
            plan.add(
                cpu,
                Level::Task,
                format!("ksoftirqd/{cpu}"),
                Body::Ksoftirqd,
            );
        }
        let (mut senders, mut sinks) = (0, 0);
        for (index, w) in host.workloads.iter().enumerate() {
            plan.flow_of.push(plan.flows.len() as u32);
            match w {
                Workload::Pktgen(p) => {
                    for &cpu in &p.cpus {
                        let flow = plan.flow(&host.devices[p.dev].name, cpu);
                        plan.add(
                            cpu,
                            Level::Task,
                            format!("kpktgend_{cpu}"),
                            Body::Pktgen {
                                workload: index,
                                flow,
                            },
                        );
                    }
                }
                Workload::Trafgen(t) => {
                    for (n, &cpu) in t.cpus.iter().enumerate() {
                        let flow = plan.flow(&host.devices[t.dev].name, cpu);
                        let sock = plan.sockets.len() as u32;
                        let name = format!("{}@{cpu}", host.devices[t.dev].name);
                        plan.sockets.push((
                            name,
                            Open {
                                dev: t.dev,
                                flow,
                                number: sock,
                                bypass: !t.qdisc_path,
                                frames: t.frames,
                            },
                        ));
                        let body = Body::Trafgen {
                            workload: index,
                            sock,
                            packets: t.share(n),
                        };
                        plan.add(cpu, Level::Task, format!("trafgen/{cpu}"), body);
                    }
                }
                &Workload::Paced {
                    dev,
                    ref cpus,
                    every,
                    size,
                    packets,
                } => {
                    for &cpu in cpus {
                        let flow = plan.flow(&host.devices[dev].name, cpu);
                        let every = Span::from_ps(every);
                        plan.paced(
                            cpu,
                            "paced",
                            Paced {
                                dev,
                                every,
                                size,
                                packets,
                                flow,
                                ctx: 0,
                            },
                        );
                    }
                }
                Workload::Train { dev, cpu, packets } => {
                    let flow = plan.flows.len() as u32;
                    for (n, priority) in train::pairs(packets) {
                        let name = format!("{}@{cpu}/{n}p{priority}", host.devices[*dev].name);
                        plan.flows.push((name, *cpu));
                    }
                    let body = Body::Train {
                        workload: index,
                        flow,
                        ctx: plan.contexts.len() as u32,
                    };
                    plan.add(*cpu, Level::Task, format!("train/{cpu}"), body);
                }
                Workload::Forward { from, .. } | Workload::XdpRedirect { from, .. } => {
                    let DeviceKind::Nic(nic) = &host.devices[*from].kind else {
                        panic!("workloads[{index}].from is a NIC")
                    };
                    plan.flow(&host.devices[*from].name, nic.irq_cpus[0]);
                }
                Workload::Netperf(n) => plan.netperf(host, index, "netperf", n.dev, n.cpu),
                Workload::Netserver(n) => plan.netperf(host, index, "netserver", n.dev, n.cpu),
                Workload::UdpFlood(u) => {
                    for &cpu in &u.cpus {
                        plan.udp_flood(host, index, u, cpu, senders);
                        senders += u.flows as usize;
                    }
                }
                Workload::UdpSink(u) => {
                    let name = format!("udpsink/{}", u.cpu);
                    plan.add(u.cpu, Level::Task, name, Body::UdpSink { sock: sinks });
                    sinks += 1;
                }
            }
        }
        plan.add_probe(host);
        *tasks = std::mem::take(&mut plan.tasks);
        plan
    }

    /// A sender of one packet, asleep unless a packet is found stuck.
    fn add_probe(&mut self, host: &config::Host) {
        let dev = host.workloads.first().and_then(|w| match w {
            Workload::Pktgen(p) => Some(p.dev),
            Workload::Trafgen(t) => Some(t.dev),
            Workload::Paced { dev, .. } | Workload::Train { dev, .. } => Some(*dev),
            Workload::Forward { to, .. } => Some(*to),
            Workload::UdpFlood(u) => Some(u.dev),
            Workload::UdpSink(_) => None,
            // The next segment is the probe.
            Workload::Netperf(_) | Workload::Netserver(_) | Workload::XdpRedirect { .. } => None,
        });
        if let (Some(dev), Some(&cpu)) = (dev, self.cpus.first()) {
            let flow = self.flows.len() as u32;
            self.flows
                .push((format!("{}@probe", host.devices[dev].name), cpu));
            self.probe = Some(self.contexts.len() as u32);
            self.paced(
                cpu,
                "probe",
                Paced {
                    dev,
                    every: Span::ZERO,
                    size: 60,
                    packets: Some(1),
                    flow,
                    ctx: 0,
                },
            );
        }
    }

    fn paced(&mut self, cpu: u16, name: &str, paced: Paced) {
        let ctx = self.contexts.len() as u32;
        self.add(
            cpu,
            Level::Task,
            format!("{name}/{cpu}"),
            Body::Paced(Paced { ctx, ..paced }),
        );
    }

    fn netperf(&mut self, host: &config::Host, workload: usize, name: &str, dev: usize, cpu: u16) {
        self.flow(&host.devices[dev].name, cpu);
        let name = format!("{name}/{cpu}");
        self.add(cpu, Level::Task, name, Body::Netperf { workload });
    }

    /// A task with a socket and a flow for each of its source ports.
    fn udp_flood(
        &mut self,
        host: &config::Host,
        workload: usize,
        load: &config::UdpFlood,
        cpu: u16,
        first_sock: usize,
    ) {
        let dev = &host.devices[load.dev].name;
        let first_flow = self.flows.len() as u32;
        for n in 0..load.flows {
            let name = if load.flows == 1 {
                format!("{dev}@{cpu}")
            } else {
                format!("{dev}@{cpu}/{n}")
            };
            self.flows.push((name, cpu));
        }
        let flood = Sender {
            first_flow,
            first_sock,
            ctx: self.contexts.len() as u32,
        };
        let body = Body::UdpFlood { workload, flood };
        self.add(cpu, Level::Task, format!("udpflood/{cpu}"), body);
    }

    fn flow(&mut self, dev: &str, cpu: u16) -> u32 {
        self.flows.push((format!("{dev}@{cpu}"), cpu));
        self.flows.len() as u32 - 1
    }

    fn add(&mut self, cpu: u16, level: Level, name: String, body: Body) {
        let task = self.tasks.len() as u32;
        if level == Level::Task {
            self.tasks.push(name);
        }
        self.contexts.push(CtxSpec { cpu, level, task });
        self.bodies.push(body);
    }

    /// More skbs than this cannot be in use: what the queues hold, what the senders hold, and the
    /// slabs that each CPU may keep to itself.
    pub fn skb_capacity(&self, host: &config::Host) -> u32 {
        let queued: u64 = host.devices.iter().map(queue_room).sum();
        let packets: Option<u64> = host.workloads.iter().try_fold(0u64, |sum, w| match w {
            Workload::Pktgen(p) => Some(sum + p.packets? * p.cpus.len() as u64),
            Workload::Trafgen(t) => Some(sum + t.packets?),
            Workload::Paced { packets, cpus, .. } => Some(sum + (*packets)? * cpus.len() as u64),
            Workload::Train { packets, .. } => Some(sum + packets.len() as u64),
            Workload::Forward { packets, .. } => Some(sum + (*packets)?),
            Workload::UdpFlood(u) => Some(sum + u.packets? * u.cpus.len() as u64),
            // What it holds came from a sender, on this host or another.
            Workload::UdpSink(_) | Workload::Netperf(_) | Workload::Netserver(_) => None,
            // Frames are pages, not skbs.
            Workload::XdpRedirect { .. } => Some(sum),
        });
        let queued = queued + backlog_room(host);
        let sockets: u64 = host.workloads.iter().map(socket_room).sum();
        let in_use =
            queued.min(packets.unwrap_or(u64::MAX)) + sockets + 2 * self.contexts.len() as u64;
        let slabs = packets.map_or(16, |n| (n / 32 + 1).min(16));
        (in_use + self.cpus.len() as u64 * 32 * slabs) as u32
    }
}

/// skbs that a socket may hold: each with the least payload, its clone, and the segments of a few.
fn socket_room(w: &Workload) -> u64 {
    match w {
        Workload::Netperf(n) => 256 + 2 * u64::from(n.sndbuf / (n.mtu - IP_TCP_HEADER + TRUESIZE)),
        Workload::Netserver(n) => 256 + u64::from(n.window / (n.mtu - IP_TCP_HEADER)),
        Workload::UdpFlood(u) => {
            let each = u64::from(u.sndbuf / kernel::udp::truesize(u.size)) + 2;
            each * u64::from(u.flows) * u.cpus.len() as u64
        }
        // What has been read may still count, up to a quarter of the buffer.
        Workload::UdpSink(u) => 2 + 2 * u64::from(u.rcvbuf / kernel::udp::truesize(60)),
        _ => 0,
    }
}

/// Whether packets are received by way of the CPUs' backlogs.
pub(super) fn has_backlogs(host: &config::Host) -> bool {
    host.devices.iter().any(|d| {
        matches!(d.kind, DeviceKind::Loopback | DeviceKind::Veth(_)) || !d.rps_cpus.is_empty()
    })
}

/// skbs that backlogs may hold: full once, and once more where they are being worked off.
fn backlog_room(host: &config::Host) -> u64 {
    if has_backlogs(host) {
        let each = 2 * (u64::from(host.kernel.max_backlog) + 1);
        each * u64::from(host.machine.topology.cpus())
    } else {
        0
    }
}

fn queue_room(d: &config::Device) -> u64 {
    let ring = match &d.kind {
        DeviceKind::Veth(_) => 256,
        DeviceKind::Nic(nic) => {
            (u64::from(nic.tx_ring) + u64::from(nic.rx_ring)) * nic.irq_cpus.len() as u64
        }
        DeviceKind::Dummy | DeviceKind::Vlan(_) | DeviceKind::Loopback => 0,
    };
    ring + qdisc_room(&d.qdisc) * u64::from(d.txqs)
}
