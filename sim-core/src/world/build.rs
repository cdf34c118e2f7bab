//! From a configuration to a world that can run: a straight list.

use super::explored::Exploring;
use super::hardware::{bql_limits, flood, mlx5, port, rx_pages};
use super::plan::{Plan, has_backlogs};
use super::qdiscs::{Spot, kind_of, qdisc};
use super::{Options, Shared};
use crate::config::{self, Config, DeviceKind, Workload};
use crate::engine::Engine;
use crate::engine::schedule::{Schedule, Timed};
use crate::engine::time::Span;
use crate::kernel::backlog::Backlog;
use crate::kernel::clock::Clock;
use crate::kernel::cost::CostTable;
use crate::kernel::drivers::event;
use crate::kernel::drivers::ixgbe::itr::Itr;
use crate::kernel::drivers::ixgbe::{self, Ixgbe};
use crate::kernel::drivers::myri10ge::{LRO_MAX, Myri10ge};
use crate::kernel::drivers::nic::Nic;
use crate::kernel::drivers::veth::Veth;
use crate::kernel::drivers::vlan::Vlan;
use crate::kernel::locking::McsNodes;
use crate::kernel::lro::Lro;
use crate::kernel::napi::{Napi, WEIGHT};
use crate::kernel::netdev::{Driver, NetDevice, TxQueue, TxQueueSpec};
use crate::kernel::netdev_fields::Fields;
use crate::kernel::offload::{Offload, offloads};
use crate::kernel::packet::PacketSock;
use crate::kernel::sched::watchdog;
use crate::kernel::skb::Skbs;
use crate::kernel::softirq::Softnet;
use crate::kernel::tcp::{self, IP_TCP_HEADER, Sock};
use crate::kernel::udp::{UdpSender, UdpSock, UdpTotals};
use crate::kernel::variant::{Builtin, Lockless};
use crate::kernel::xdp::{Program, Xdp};
use crate::kernel::{self, Cpu, Flow, Func, Kernel, Reason};
use crate::machine::cost::Param;
use crate::machine::memory::Placement;
use crate::machine::{Machine, Place};
use crate::metrics::Metrics;
use crate::trace::{Names, Sink};
use crate::workload::paced::Paced;
use crate::workload::train;
use crate::workload::udp::Sender;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What a context runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    Softirq,
    Hardirq,
    Ksoftirqd,
    Pktgen {
        workload: usize,
        flow: u32,
    },
    Trafgen {
        workload: usize,
        sock: u32,
        packets: Option<u64>,
    },
    Paced(Paced),
    Train {
        workload: usize,
        flow: u32,
        ctx: u32,
    },
    /// netperf or netserver.
    Netperf {
        workload: usize,
    },
    UdpFlood {
        workload: usize,
        flood: Sender,
    },
    UdpSink {
        sock: usize,
    },
}

/// One host of a running world.
pub(super) struct Host {
    pub name: String,
    pub machine: Machine,
    pub kernel: Kernel,
    pub bodies: Vec<Body>,
    pub cpus: BTreeSet<u16>,
    /// Context that sends one packet after a stuck run.
    pub probe: Option<u32>,
    pub start_spread: Span,
    pub lock_names: Vec<String>,
    /// First flow of each workload.
    pub flow_of: Vec<u32>,
    pub first_ctx: u32,
}

impl Host {
    /// The handle of context `ctx`.
    pub fn cpu(&self, ctx: u32) -> Cpu<'_> {
        Cpu::new(self.machine.cpu(ctx), &self.kernel)
    }
}

/// Engine ids of what is not a context.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events {
    pub starts: u32,
    pub devices: u32,
    pub stop: u32,
    pub warmup: u32,
    /// The tick of each CPU.
    pub ticks: u32,
}

/// Everything of one run.
pub(super) struct World {
    pub engine: Rc<Engine>,
    pub sink: Rc<Sink>,
    pub names: Names,
    pub named: bool,
    pub hosts: Vec<Host>,
    pub events: Events,
    /// Counters at the end of the warm-up.
    pub warm: RefCell<Option<Metrics>>,
    /// Host, device and event of each device event.
    device_events: Vec<(usize, usize, u32)>,
    /// Where what a device sends arrives, and how much later.
    links: BTreeMap<(usize, usize), ((usize, usize), Span)>,
}

impl World {
    /// A world whose order is decided by costs.
    pub fn build(config: &Config, options: &Options) -> World {
        let schedule = schedule(config, options.seed);
        World::build_for(config, options, &schedule, None)
    }

    /// A world whose order is decided by `schedule`, with costs or (`exploring`) without.
    pub fn build_for(
        config: &Config,
        options: &Options,
        schedule: &Rc<RefCell<dyn Schedule>>,
        exploring: Option<&Exploring<'_>>,
    ) -> World {
        let mut names = Names {
            scenario: config.name.clone(),
            ..Names::default()
        };
        if options.names || exploring.is_none() {
            names.functions = Func::ALL.iter().map(|f| f.name().to_owned()).collect();
        }
        if config.hosts.iter().any(|h| h.kernel.watchdog.is_some()) {
            names.marks.push(watchdog::MARK_NAME.to_owned());
        }
        names.reasons = Reason::ALL.iter().map(|r| r.name().to_owned()).collect();
        let plans: Vec<Plan> = config
            .hosts
            .iter()
            .map(|h| Plan::new(h, &mut names.tasks))
            .collect();
        let contexts: u32 = plans.iter().map(|p| p.contexts.len() as u32).sum();
        let devices: u32 = config
            .hosts
            .iter()
            .flat_map(|h| h.devices.iter().map(|d| device_events(h, d)))
            .chain(config.hosts.iter().map(sockets))
            .sum();
        let events = Events {
            starts: contexts,
            devices: 2 * contexts,
            stop: 2 * contexts + devices,
            warmup: 2 * contexts + devices + 1,
            ticks: 2 * contexts + devices + 2,
        };
        let shared = Shared {
            engine: Rc::new(Engine::new(
                contexts as usize,
                config.step_limit,
                options.fast_path,
            )),
            sink: Rc::new(Sink::new(options.trace)),
        };
        let windows = config.hosts.iter().flat_map(|h| &h.workloads);
        let windows = windows
            .filter_map(|w| match w {
                Workload::Netserver(n) => Some((n.conn, n.window)),
                _ => None,
            })
            .collect();
        let (mut hosts, mut events_of) = (Vec::new(), Vec::new());
        let (mut base, mut first_cpu, mut first_device) = (0, 0, events.devices);
        for (index, (host, plan)) in config.hosts.iter().zip(plans).enumerate() {
            let place = Place {
                base,
                starts: events.starts + base,
                first_cpu,
            };
            base += plan.contexts.len() as u32;
            for (d, device) in host.devices.iter().enumerate() {
                events_of.extend((0..device_events(host, device)).map(|e| (index, d, e)));
            }
            events_of.extend((0..sockets(host)).map(|s| (index, TIMERS, s)));
            let prefix = if config.hosts.len() > 1 {
                format!("{}/", host.name)
            } else {
                String::new()
            };
            let mut builder = HostBuilder {
                host,
                prefix,
                place,
                first_device,
                names: &mut names,
                named: options.names,
                windows: &windows,
                exploring: exploring.map(|e| (e, index)),
            };
            let built = builder.build(plan, &shared, schedule.clone());
            built.kernel.timers.set(builder.first_device);
            first_device = builder.first_device + sockets(host);
            first_cpu += built.machine.cpus() as u16;
            hosts.push(built);
        }
        World {
            engine: shared.engine,
            sink: shared.sink,
            names,
            named: options.names,
            hosts,
            events,
            warm: RefCell::new(None),
            device_events: events_of,
            links: config
                .links
                .iter()
                .flat_map(|l| {
                    let delay = Span::from_ps(l.delay);
                    [(l.a, (l.b, delay)), (l.b, (l.a, delay))]
                })
                .collect(),
        }
    }

    /// The host and the number within it of context `n` of the world.
    pub fn context(&self, n: u32) -> (&Host, u32) {
        let host = self
            .hosts
            .iter()
            .rev()
            .find(|h| h.first_ctx <= n)
            .expect("contexts start at 0");
        (host, n - host.first_ctx)
    }

    /// Device event `n` of the world: host, device, and which of the device's events.
    pub fn device_event(&self, n: u32) -> (usize, usize, u32) {
        self.device_events[n as usize]
    }

    /// Where what this device sends arrives, and how much later.
    pub fn peer(&self, host: usize, dev: usize) -> Option<((usize, usize), Span)> {
        self.links.get(&(host, dev)).copied()
    }
}

/// In the place of a device: a host's timers, one a socket.
pub(super) const TIMERS: usize = usize::MAX;

fn sockets(host: &config::Host) -> u32 {
    let sockets = host
        .workloads
        .iter()
        .filter(|w| matches!(w, Workload::Netperf(_) | Workload::Netserver(_)));
    sockets.count() as u32
}

/// Engine ids that a device needs: its hardware's, then one for each watchdog of a root qdisc.
fn device_events(host: &config::Host, d: &config::Device) -> u32 {
    let timers = match root_qdisc(d) {
        config::Qdisc::Tbf(_) => d.txqs,
        _ => 0,
    };
    hardware_events(host, d) + timers
}

/// The root of each transmit queue.
fn root_qdisc(d: &config::Device) -> &config::Qdisc {
    match &d.qdisc {
        config::Qdisc::Mq(each) => each,
        root => root,
    }
}

fn hardware_events(host: &config::Host, d: &config::Device) -> u32 {
    let watchdog = u32::from(host.kernel.watchdog.is_some());
    match d.kind {
        DeviceKind::Dummy | DeviceKind::Vlan(_) | DeviceKind::Loopback | DeviceKind::Veth(_) => 0,
        DeviceKind::Nic(ref nic) => event::VECTOR + nic.irq_cpus.len() as u32 + watchdog,
    }
}

fn schedule(config: &Config, seed: u64) -> Rc<RefCell<dyn Schedule>> {
    let mut names = Vec::new();
    let mut permille = 0;
    for host in &config.hosts {
        permille = permille.max(host.machine.get(Param::Jitter));
        names.extend((0..host.machine.topology.cpus()).map(|c| format!("{}/cpu{c}", host.name)));
    }
    Rc::new(RefCell::new(Timed::new(seed, permille, &names)))
}

/// A netperf's or netserver's socket; `windows` are those that receivers advertise, by connection.
fn socket(w: &Workload, flow: u32, windows: &BTreeMap<u16, u32>) -> Option<tcp::Spec> {
    Some(match w {
        Workload::Netperf(n) => tcp::Spec {
            conn: n.conn,
            dev: n.dev,
            flow,
            sndbuf: n.sndbuf,
            limit_output: n.limit_output,
            window: 0,
            mss: n.mtu - IP_TCP_HEADER,
            peer_window: windows.get(&n.conn).copied().unwrap_or(0),
        },
        Workload::Netserver(n) => tcp::Spec {
            conn: n.conn,
            dev: n.dev,
            flow,
            sndbuf: 0,
            limit_output: 0,
            window: n.window,
            mss: n.mtu - IP_TCP_HEADER,
            peer_window: 0,
        },
        _ => return None,
    })
}

struct HostBuilder<'a> {
    host: &'a config::Host,
    prefix: String,
    place: Place,
    first_device: u32,
    names: &'a mut Names,
    named: bool,
    windows: &'a BTreeMap<u16, u32>,
    /// With the number of the host.
    exploring: Option<(&'a Exploring<'a>, usize)>,
}

impl HostBuilder<'_> {
    fn build(&mut self, plan: Plan, shared: &Shared, schedule: Rc<RefCell<dyn Schedule>>) -> Host {
        let cpus = self.host.machine.topology.cpus() as usize;
        let mut memory = Placement::new(self.named);
        // Word and line numbers of later hosts follow those of earlier ones only in the names.
        let mut locks = Vec::new();
        let kernel = self.kernel(&plan, cpus, &mut memory, &mut locks);
        let first_word = self.names.words.len() as u32;
        let (words, lines) = memory.take_names();
        self.names.words.extend(words);
        self.names.lines.extend(lines);
        self.names
            .locks
            .extend(locks.iter().map(|l| format!("{}{l}", self.prefix)));
        let quiet = memory.take_quiet();
        if self.exploring.is_some() {
            memory.drop_lines();
        }
        let mut machine = Machine::new(
            &self.host.machine,
            self.place,
            memory,
            &plan.contexts,
            shared.engine.clone(),
            shared.sink.clone(),
            schedule,
        );
        if let Some((exploring, index)) = self.exploring {
            let contexts = &plan.contexts;
            let x = exploring.explored(index, &self.host.machine, contexts, quiet, first_word);
            machine = machine.exploring(x);
        }
        for cpu in 0..cpus as u16 {
            self.names.cpus.push(format!("{}CPU{cpu}", self.prefix));
            self.names.cores.push(machine.topology().core_of(cpu));
        }
        for q in &kernel.qdiscs {
            machine.poke(q.empty, 1);
        }
        Host {
            name: self.host.name.clone(),
            start_spread: Span::from_ps(self.host.machine.get(Param::StartSpread)),
            machine,
            kernel,
            bodies: plan.bodies,
            flow_of: plan.flow_of,
            cpus: plan.cpus,
            probe: plan.probe,
            lock_names: locks,
            first_ctx: self.place.base,
        }
    }

    fn kernel(
        &mut self,
        plan: &Plan,
        cpus: usize,
        memory: &mut Placement,
        locks: &mut Vec<String>,
    ) -> Kernel {
        let host = self.host;
        locks.extend([
            "skbuff_head_cache list_lock".to_owned(),
            "kmalloc-1k list_lock".to_owned(),
        ]);
        // Who gets which object changes no verdict.
        memory.set_quiet(true);
        let skbs = Skbs::place(memory, plan.skb_capacity(host), cpus, [0, 1]);
        memory.set_quiet(false);
        let mut kernel = Kernel {
            config: host.kernel.clone(),
            skbs,
            costs: CostTable::new(host.kernel.version, &host.kernel.costs),
            softnets: (0..cpus).map(|_| Softnet::default()).collect(),
            mcs: (0..cpus as u16)
                .map(|c| McsNodes::place(memory, c))
                .collect(),
            devs: Vec::new(),
            txqs: Vec::new(),
            qdiscs: Vec::new(),
            packet_socks: Vec::new(),
            flows: plan
                .flows
                .iter()
                .map(|(name, cpu)| Flow::new(name.clone(), *cpu))
                .collect(),
            violations: RefCell::default(),
            napis: Vec::new(),
            socks: Vec::new(),
            backlogs: Vec::new(),
            udp_socks: Vec::new(),
            udp_senders: Vec::new(),
            udp: UdpTotals::default(),
            timers: Cell::new(0),
            clock: host.kernel.clock.map(Clock::new),
            xdp: Xdp::new(cpus, vec![Vec::new()]),
            held: Cell::new(0),
        };
        for (i, c) in plan.contexts.iter().enumerate() {
            if matches!(plan.bodies[i], Body::Ksoftirqd) {
                kernel.softnets[usize::from(c.cpu)].ksoftirqd.set(i as u32);
            }
        }
        let offloads = offloads(host);
        for ((index, device), offload) in host.devices.iter().enumerate().zip(offloads) {
            self.device(&mut kernel, (index, offload), device, memory, locks);
        }
        self.receive_side(&mut kernel, cpus as u16, memory, locks);
        for (name, open) in &plan.sockets {
            kernel
                .packet_socks
                .push(PacketSock::place(memory, name, *open));
        }
        self.rx_loads(&mut kernel, plan);
        for (workload, w) in host.workloads.iter().enumerate() {
            let flow = plan.flow_of[workload];
            if let Some(spec) = socket(w, flow, self.windows) {
                let index = kernel.socks.len() as u16;
                kernel.socks.push(Sock::place(memory, locks, index, spec));
            }
        }
        kernel
    }

    /// What packets of virtual devices come up by, and UDP sockets. NAPI instances of NICs come before these:
    /// their numbers are interrupt vectors.
    fn receive_side(
        &self,
        k: &mut Kernel,
        cpus: u16,
        memory: &mut Placement,
        locks: &mut Vec<String>,
    ) {
        let Kernel { devs, napis, .. } = k;
        for (index, dev) in devs.iter().enumerate() {
            if let Driver::Veth(Veth { rq: Some(rq), .. }) = &dev.driver {
                rq.napi.set(napis.len());
                napis.push(Napi::place(memory, &dev.name, index, 0, WEIGHT));
            }
        }
        if has_backlogs(self.host) {
            for cpu in 0..cpus {
                let layouts = &self.host.layouts;
                let sd = Backlog::place(memory, layouts, locks, cpu, k.napis.len());
                k.napis.push(sd.napi(cpu));
                k.backlogs.push(sd);
            }
        }
        for w in &self.host.workloads {
            match w {
                Workload::UdpFlood(u) => {
                    for _ in 0..u.cpus.len() * u.flows as usize {
                        let index = k.udp_senders.len();
                        k.udp_senders
                            .push(UdpSender::place(memory, index, u.sndbuf));
                    }
                }
                Workload::UdpSink(u) => {
                    let sock = UdpSock::place(memory, locks, u.dev, u.port, u.rcvbuf);
                    k.udp_socks.push(sock);
                }
                _ => {}
            }
        }
    }

    fn device(
        &mut self,
        k: &mut Kernel,
        (index, offload): (usize, Offload),
        d: &config::Device,
        memory: &mut Placement,
        locks: &mut Vec<String>,
    ) {
        let first = k.txqs.len();
        for queue in 0..d.txqs {
            let name = format!("{}:{queue}", d.name);
            self.names.txqs.push(format!("{}{name}", self.prefix));
            let at = (index, self.names.txqs.len() as u32 - 1);
            let mut txq = TxQueue::place(
                memory,
                &self.host.layouts,
                &name,
                TxQueueSpec {
                    at,
                    lltx: !matches!(d.kind, DeviceKind::Nic(_)),
                    bql: bql_limits(d, self.host.kernel.hz),
                    version: self.host.kernel.version,
                },
                locks,
            );
            txq.index = queue;
            let root = root_qdisc(d);
            if *root != config::Qdisc::Noqueue {
                txq.qdisc = Some(k.qdiscs.len());
                let text = kind_of(root);
                self.names
                    .qdiscs
                    .push(format!("{}{name} {text}", self.prefix));
                let spot = Spot {
                    name: &name,
                    number: k.qdiscs.len() as u32,
                    txq: k.txqs.len(),
                    timer: self.first_device + hardware_events(self.host, d) + queue,
                    child: false,
                    lockless: !matches!(k.config.lockless, Lockless::Builtin(Builtin::Locked)),
                };
                k.qdiscs
                    .push(qdisc(root, spot, &self.host.layouts, memory, locks));
            }
            k.txqs.push(txq);
        }
        for (index, txq) in k.txqs[first..].iter_mut().enumerate() {
            txq.index = index as u32;
        }
        let host = self.host;
        let driver = match &d.kind {
            DeviceKind::Dummy => Driver::Dummy,
            DeviceKind::Loopback => Driver::Loopback,
            DeviceKind::Veth(v) => {
                Driver::Veth(Veth::place(memory, &d.name, v.peer, v.napi, locks))
            }
            DeviceKind::Vlan(v) => Driver::Vlan(Vlan {
                on: v.on,
                tag: v.tag,
                reorder_hdr: v.reorder_hdr,
            }),
            DeviceKind::Nic(nic) => {
                for v in 0..nic.irq_cpus.len() {
                    k.napis
                        .push(Napi::place(memory, &d.name, index, v, nic.napi_weight));
                }
                match nic.driver {
                    config::NicDriver::Plain => Driver::Nic(Nic {
                        port: port(memory, &d.name, nic),
                        stop_thresh: nic.stop_thresh,
                        wake_thresh: nic.wake_thresh,
                        forward_to: Cell::new(None),
                    }),
                    config::NicDriver::Mlx5 => Driver::Mlx5(Box::new(mlx5(memory, &d.name, nic))),
                    config::NicDriver::Myri10ge => Driver::Myri10ge(Myri10ge {
                        pages: rx_pages(memory, &d.name, nic.rx_ring),
                        buffers: memory.lines(format_args!("{} rx buffers", d.name), nic.rx_ring),
                        tx: memory.lines(format_args!("{} myri10ge_tx_buf", d.name), 2),
                        lro: Lro::new(LRO_MAX),
                        port: port(memory, &d.name, nic),
                    }),
                    config::NicDriver::Ixgbe => {
                        let adaptive = nic.moderation == config::Moderation::Adaptive;
                        let rings = (0..nic.irq_cpus.len()).map(|q| {
                            let name = format!("{}:{q}", d.name);
                            ixgbe::Ring::place(memory, &host.layouts, &name, nic.tx_ring)
                        });
                        Driver::Ixgbe(Box::new(Ixgbe {
                            rings: rings.collect(),
                            itr: nic.irq_cpus.iter().map(|_| Itr::new(adaptive)).collect(),
                            adapter: memory.lines(format_args!("{} adapter tx_ring[]", d.name), 1),
                            port: port(memory, &d.name, nic),
                            forward_to: Cell::new(None),
                        }))
                    }
                }
            }
        };
        let events = self.first_device;
        self.first_device += device_events(host, d);
        k.devs.push(NetDevice {
            name: d.name.clone(),
            txqs: first..k.txqs.len(),
            driver,
            offload,
            events,
            watchdogs: hardware_events(self.host, d),
            rx_dropped: Cell::new(0),
            rps_cpus: d.rps_cpus.clone(),
            xps: d.xps.clone(),
            fields: Fields::place(
                memory,
                self.host.layouts.by_name.get("net_device"),
                &d.name,
                d.txqs,
            ),
            tx_packets: Cell::new(0),
            tx_bytes: Cell::new(0),
            tx_dropped: Cell::new(0),
            rx_packets: Cell::new(0),
            watchdog_due: Cell::new(false),
            tx_timeouts: Cell::new(0),
        });
    }

    fn rx_loads(&self, k: &mut Kernel, plan: &Plan) {
        let mut flow = 0;
        for w in &self.host.workloads {
            match w {
                Workload::Pktgen(p) => flow += p.cpus.len(),
                Workload::Trafgen(t) => flow += t.cpus.len(),
                Workload::Paced { cpus, .. } => flow += cpus.len(),
                Workload::Train { packets, .. } => flow += train::pairs(packets).len(),
                &Workload::XdpRedirect {
                    from,
                    to,
                    map,
                    size,
                    pps,
                    packets,
                } => {
                    let Driver::Mlx5(nic) = &k.devs[from].driver else {
                        panic!("checked before: only this driver has XDP")
                    };
                    nic.program.set(Some(if map {
                        let slots = &mut k.xdp.maps[0];
                        slots.push(to);
                        Program::RedirectMap {
                            map: 0,
                            key: slots.len() - 1,
                            flags: 0,
                        }
                    } else {
                        Program::Redirect {
                            ifindex: to.unwrap_or(usize::MAX),
                            flags: 0,
                        }
                    }));
                    nic.port.rx[0].set_flood(flood(flow as u32, size, pps, packets));
                    flow += 1;
                }
                &Workload::Forward {
                    from,
                    to,
                    size,
                    pps,
                    packets,
                } => {
                    debug_assert!(flow < plan.flows.len());
                    let (forward_to, port) = match &k.dev(from).driver {
                        Driver::Nic(nic) => (&nic.forward_to, &nic.port),
                        Driver::Ixgbe(nic) => (&nic.forward_to, &nic.port),
                        _ => panic!("checked in Plan::new"),
                    };
                    forward_to.set(Some(to));
                    port.rx[0].set_flood(flood(flow as u32, size, pps, packets));
                    flow += 1;
                }
                Workload::Netperf(_) | Workload::Netserver(_) => flow += 1,
                Workload::UdpFlood(u) => flow += u.cpus.len() * u.flows as usize,
                Workload::UdpSink(_) => {}
            }
        }
    }
}

const _: fn() = || {
    fn sendable<T: Send>() {}
    // Outcomes cross threads in sweeps; worlds never do.
    sendable::<super::Outcome>();
    let _ = kernel::Func::None;
};
