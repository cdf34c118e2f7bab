//! Wiring: a [`Config`] and a seed become a run; the run becomes an [`Outcome`]. No behaviour here.

mod build;
mod check;
mod collect;
mod explored;
mod hardware;
#[cfg(test)]
mod kernel_tests;
mod lines;
mod plan;
mod qdiscs;
#[cfg(test)]
mod tcp_tests;
#[cfg(test)]
pub(crate) mod testing;

use crate::config::{Config, Stop};
use crate::engine::task::{self, Flow, Task};
use crate::engine::time::{Instant, Span};
use crate::engine::{Class, Engine, Event, StopReason};
use crate::kernel::sched::qdisc_watchdog::QdiscWatchdog;
use crate::kernel::{drivers, softirq};
use crate::metrics::Metrics;
use crate::trace::{Mode, Recording, Sink};
use crate::violation::{Law, Violation};
use crate::workload;
use build::{Body, Host, TIMERS, World};
use std::rc::Rc;

pub use explored::{Explore, explore, memory_model};

/// How to run a configuration. Nothing in here changes what happens, but for the seed.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of all random streams.
    pub seed: u64,
    /// What to keep of the trace.
    pub trace: Mode,
    /// Off: every micro-step goes through the queue (same digest, slower).
    pub fast_path: bool,
    /// Names for words and lines; without them a sweep starts faster, the trace is mute, and
    /// [`Metrics::lines`] is empty.
    pub names: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 0,
            trace: Mode::Off,
            fast_path: true,
            names: true,
        }
    }
}

/// What a run ended with.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it ended.
    pub stop: StopReason,
    /// Simulated time at the end (for a quiescent run: of the last thing that happened), in picoseconds.
    pub end: u64,
    /// Micro-steps executed.
    pub steps: u64,
    /// Digest of all micro-steps, 32 hex digits.
    pub digest: String,
    /// Laws broken, in order of time.
    pub violations: Vec<Violation>,
    /// Counters.
    pub metrics: Metrics,
    /// The trace, unless it was off. Its `command` is empty; the caller knows it.
    pub recording: Option<Recording>,
}

/// Runs `config` once.
///
/// # Panics
/// If the configuration could not have come from a checked scenario (a device index out of range,
/// for instance).
pub fn run(config: &Config, options: &Options) -> Outcome {
    let world = World::build(config, options);
    let mut tasks = contexts(&world, config);
    let limit = match config.stop {
        Stop::At(at) | Stop::Quiescent { limit: at } => Instant::from_ps(at),
    };
    let engine = &world.engine;
    engine.push(limit, Class::Drain, world.events.stop);
    if config.warmup > 0 {
        engine.push(
            Instant::from_ps(config.warmup),
            Class::Device,
            world.events.warmup,
        );
    }
    world.start();
    let stop = world.go(&mut tasks);
    let digest = engine.digest.text();
    let end = if stop == StopReason::Quiescent {
        engine.last()
    } else {
        engine.now()
    };
    world.hosts.iter().for_each(|h| h.machine.account_all());
    let mut metrics = world.collect(end.ps().saturating_sub(config.warmup.min(end.ps())));
    // The clock stands at the limit, but the window of a quiescent run ends with the last thing that happened.
    let after = engine.now().since(end).ps();
    metrics
        .cpus
        .iter_mut()
        .for_each(|c| c.idle = c.idle.saturating_sub(after));
    let steps = engine.steps();
    // Checks look at words and the probe sends a packet; neither is part of the run.
    let kept = world.sink.is_on().then(|| world.sink.take());
    world.sink.close();
    let mut violations = world.check(&stop);
    world.probe(&mut violations, &mut tasks);
    let recording = kept.map(|(records, dropped)| Recording {
        names: world.names.clone(),
        records,
        dropped,
        violations: violations.clone(),
        digest: digest.clone(),
        end: end.ps(),
        command: String::new(),
    });
    Outcome {
        stop,
        end: end.ps(),
        steps,
        digest,
        violations,
        metrics,
        recording,
    }
}

/// The futures of all contexts, in the order of their engine ids.
fn contexts<'w>(world: &'w World, config: &'w Config) -> Vec<Task<'w>> {
    let mut tasks: Vec<Task<'w>> = Vec::new();
    for (host, from) in world.hosts.iter().zip(&config.hosts) {
        for (ctx, body) in host.bodies.iter().enumerate() {
            let cpu = host.cpu(ctx as u32);
            tasks.push(match *body {
                Body::Softirq => Box::pin(softirq::softirq_context(cpu)),
                Body::Hardirq => Box::pin(drivers::hardirq_context(cpu)),
                Body::Ksoftirqd => Box::pin(softirq::ksoftirqd(cpu)),
                Body::Pktgen { workload, flow } => {
                    let crate::config::Workload::Pktgen(p) = &from.workloads[workload] else {
                        unreachable!("a pktgen body comes from a pktgen workload")
                    };
                    Box::pin(workload::pktgen::thread(cpu, p, flow))
                }
                Body::Train {
                    workload,
                    flow,
                    ctx,
                } => {
                    let crate::config::Workload::Train { dev, packets, .. } =
                        &from.workloads[workload]
                    else {
                        unreachable!("a train body comes from a train workload")
                    };
                    Box::pin(workload::train::sender(
                        cpu,
                        workload::train::Train {
                            dev: *dev,
                            packets,
                            first_flow: flow,
                            ctx,
                        },
                    ))
                }
                Body::UdpFlood { workload, flood } => {
                    let crate::config::Workload::UdpFlood(load) = &from.workloads[workload] else {
                        unreachable!("a flood's body comes from a flood")
                    };
                    Box::pin(workload::udp::flood(cpu, load, flood))
                }
                Body::UdpSink { sock } => Box::pin(workload::udp::sink(cpu, sock, ctx as u32)),
                Body::Trafgen {
                    workload,
                    sock,
                    packets,
                } => {
                    let crate::config::Workload::Trafgen(t) = &from.workloads[workload] else {
                        unreachable!("a trafgen body comes from a trafgen workload")
                    };
                    Box::pin(workload::trafgen::process(cpu, t, sock, packets))
                }
                Body::Paced(paced) => Box::pin(workload::paced::sender(cpu, paced)),
                Body::Netperf { workload } => match &from.workloads[workload] {
                    crate::config::Workload::Netperf(load) => {
                        Box::pin(workload::netperf::netperf(cpu, load, ctx as u32))
                    }
                    crate::config::Workload::Netserver(load) => {
                        Box::pin(workload::netperf::netserver(cpu, load, ctx as u32))
                    }
                    _ => unreachable!("a netperf body comes from a netperf workload"),
                },
            });
        }
    }
    tasks
}

impl World {
    /// Runs until something says stop.
    fn go(&self, tasks: &mut [Task<'_>]) -> StopReason {
        let mut stop = None;
        task::run(&self.engine, tasks, &mut |event| {
            self.fire(event, &mut stop)
        });
        if self.engine.exhausted() {
            return StopReason::StepLimit(self.busiest_function());
        }
        if self.sink.overflowed() {
            return StopReason::TraceFull;
        }
        let stop = stop.unwrap_or(StopReason::Quiescent);
        let stuck = if stop == StopReason::Quiescent {
            self.spinning()
        } else {
            Vec::new()
        };
        if stuck.is_empty() {
            stop
        } else {
            StopReason::Deadlock(stuck)
        }
    }

    fn fire(&self, event: Event, stop: &mut Option<StopReason>) -> Flow {
        let id = event.id;
        if id == self.events.stop {
            // Nothing else was pending: it had come to rest before.
            *stop = Some(if self.engine.pending() == 0 {
                StopReason::Quiescent
            } else {
                StopReason::Deadline
            });
            return Flow::Stop;
        }
        if id == self.events.warmup {
            self.begin_window();
        } else if id >= self.events.ticks {
            self.tick(id - self.events.ticks);
        } else if self.is_stale(id) {
            // A qdisc's watchdog that was armed anew.
        } else if let Some(later) = self.late(id) {
            self.engine.push(later, Class::Device, id);
        } else if id < self.events.devices {
            let (host, ctx) = self.context(id - self.events.starts);
            host.machine.first_start(ctx);
        } else {
            self.device_fires(id - self.events.devices);
        }
        Flow::Go
    }

    /// Each CPU that can run something gets its timer at a phase of its own.
    fn start_ticks(&self, host: &Host) {
        if !host.kernel.config.ticks {
            return;
        }
        let period = tick_period(host);
        for &cpu in &host.cpus {
            let name = format!("{}/tick{cpu}", host.name);
            let phase = host.machine.start_offset(&name, period);
            let id = self.events.ticks + u32::from(host.machine.first_cpu() + cpu);
            host.machine.push_device(Instant::ZERO + phase, id);
        }
    }

    /// The timer of CPU `n` of the world. An idle CPU's stops for good (`NO_HZ_IDLE`; that it would start
    /// again when the CPU wakes is not modelled).
    fn tick(&self, n: u32) {
        let n = n as u16;
        let host = self.hosts.iter().find(|h| h.owns_cpu(Some(n)));
        let host = host.expect("a tick belongs to a CPU");
        let cpu = n - host.machine.first_cpu();
        if host.machine.is_busy(cpu) {
            host.machine.raise_irq(cpu, drivers::TICK_VECTOR);
            let next = self.engine.now() + tick_period(host);
            host.machine
                .push_device(next, self.events.ticks + u32::from(n));
        }
    }

    /// A timer or device event of a host with a coarse clock: when it really fires, if not now.
    fn late(&self, id: u32) -> Option<Instant> {
        let host = if id < self.events.devices {
            self.context(id - self.events.starts).0
        } else {
            &self.hosts[self.device_event(id - self.events.devices).0]
        };
        let clock = host.kernel.clock.as_ref()?;
        clock.late(id, self.engine.now(), host.machine.working_until())
    }

    /// The watchdog that event `id` belongs to, with its host.
    fn watchdog(&self, id: u32) -> Option<(&Host, &QdiscWatchdog)> {
        let (index, dev, which) = self.device_event(id.checked_sub(self.events.devices)?);
        let host = &self.hosts[index];
        let device = host.kernel.devs.get(dev)?;
        let queue = which.checked_sub(device.watchdogs)?;
        let txq = host.kernel.txq(device.txqs.start + queue as usize);
        let watchdog = host.kernel.qdisc(txq.qdisc?).watchdog()?;
        Some((host, watchdog))
    }

    fn is_stale(&self, id: u32) -> bool {
        let now = self.engine.now();
        self.watchdog(id)
            .is_some_and(|(_, w)| w.due().is_none_or(|due| due > now))
    }

    /// Device event `n`; a frame that leaves a port goes over its link.
    fn device_fires(&self, n: u32) {
        if let Some((host, watchdog)) = self.watchdog(n + self.events.devices) {
            let vector = drivers::HRTIMER_VECTOR;
            return host.machine.raise_irq(watchdog.cpu(), vector);
        }
        let (index, dev, which) = self.device_event(n);
        let host = &self.hosts[index];
        if dev == TIMERS {
            let sock = &host.kernel.socks[which as usize];
            let vector = drivers::TIMER_VECTOR;
            return host.machine.raise_irq(sock.timer_cpu.get(), vector);
        }
        let Some(frame) = drivers::fire(&host.kernel, &host.machine, dev, which) else {
            return;
        };
        let Some(((peer, to), delay)) = self.peer(index, dev) else {
            if frame.dport != 0 {
                host.kernel.bump(&host.kernel.udp.left, 1);
            }
            return;
        };
        let peer = &self.hosts[peer];
        if let Some(port) = peer.kernel.port(to) {
            port.incoming(frame);
            peer.machine.push_device(
                self.engine.now() + delay,
                peer.kernel.dev(to).events + drivers::event::ARRIVAL,
            );
        }
    }

    /// Starts the loads, each at its own offset.
    fn start(&self) {
        for host in &self.hosts {
            for (ctx, body) in host.bodies.iter().enumerate() {
                let flow = match body {
                    Body::Pktgen { flow, .. } => *flow,
                    Body::Trafgen { sock, .. } => host.kernel.packet_socks[*sock as usize].flow,
                    Body::Train { .. } => {
                        // Its times are absolute.
                        host.machine.start_at(ctx as u32, Instant::ZERO);
                        continue;
                    }
                    Body::Paced(p) if Some(ctx as u32) != host.probe => p.flow,
                    Body::Netperf { workload } => host.flow_of[*workload],
                    Body::UdpFlood { flood, .. } => flood.first_flow,
                    Body::UdpSink { .. } => {
                        host.machine.start_at(ctx as u32, Instant::ZERO);
                        continue;
                    }
                    _ => continue,
                };
                let name = format!("{}/{}", host.name, host.kernel.flow(flow).name);
                let offset = host.machine.start_offset(&name, host.start_spread);
                host.machine.start_at(ctx as u32, Instant::ZERO + offset);
            }
            self.start_ticks(host);
            for dev in 0..host.kernel.devs.len() {
                let vectors = host.kernel.port(dev).map_or(0, |p| p.vectors.len());
                if vectors > 0 {
                    drivers::arm_watchdog(&host.kernel, &host.machine, dev);
                }
                for v in 0..vectors {
                    drivers::arm_flood(&host.kernel, &host.machine, dev, v);
                }
            }
        }
    }

    /// For a stuck packet: sends one more through the same device and sees whether both come out.
    fn probe(&self, violations: &mut [Violation], tasks: &mut [Task<'_>]) {
        for v in violations.iter_mut().filter(|v| v.law == Law::PacketStuck) {
            let Some(host) = self.hosts.iter().find(|h| h.owns_cpu(v.cpu)) else {
                continue;
            };
            let Some(probe) = host.probe else { continue };
            host.machine.first_start(probe);
            let limit = self.engine.now() + Span::from_ns(1_000_000);
            self.engine.push(limit, Class::Drain, self.events.stop);
            let stop = self.go(tasks);
            let cpu = host.cpu(probe);
            let queued: usize = host
                .kernel
                .qdiscs
                .iter()
                .map(|q| q.peek_all(cpu).len())
                .sum();
            let queued = queued + host.waiting_to_be_received(cpu).len();
            v.freed_by_next = Some(stop == StopReason::Quiescent && queued == 0);
            return;
        }
    }
}

fn tick_period(host: &Host) -> Span {
    Span::from_ps(1_000_000_000_000 / u64::from(host.kernel.config.hz))
}

impl Host {
    fn owns_cpu(&self, cpu: Option<u16>) -> bool {
        let first = self.machine.first_cpu();
        cpu.is_some_and(|c| (first..first + self.machine.cpus() as u16).contains(&c))
    }
}

/// What all hosts of a world share.
pub(crate) struct Shared {
    pub engine: Rc<Engine>,
    pub sink: Rc<Sink>,
}
