//! Runs whose order is explored: costs play no part, a [`Schedule`] picks who goes next.
//!
//! Time stands still while anybody can go: each step counts as a nanosecond only so that a viewer has a
//! time line. Timers fire, in the order of their times, when nobody can.

use super::build::{TIMERS, World};
use super::{Options, contexts};
use crate::config::{Config, Stop};
use crate::engine::schedule::{AccessKind, Agent, Enabled, Point, Schedule};
use crate::engine::task::{self, Flow, Task};
use crate::engine::time::{Instant, Span};
use crate::engine::{Class, Event, StopReason};
use crate::kernel::drivers::event;
use crate::machine::CtxSpec;
use crate::machine::cost::{MemoryModel, Profile};
use crate::machine::explored::{Explored, Log, NO_WORD, Step, Usages, mix};
use crate::trace::{Names, Recording};
use crate::violation::{Law, Violation};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Steps after which a run is watched for going round in circles.
const WATCHED_AFTER: u32 = 1500;
/// So often the same state, counters apart, is a circle: more than `MAX_SOFTIRQ_RESTART` and what else is
/// counted to ten.
const CIRCLES: u32 = 24;
/// What one step adds to the clock, for viewers.
const STEP: Span = Span::from_ns(1);

/// How a world is built for an explored run.
pub(super) struct Exploring<'a> {
    /// Of each host: which words are points.
    points: &'a [Vec<bool>],
    log: Option<Rc<RefCell<Vec<Step>>>>,
    /// Number of the step under way.
    at: Rc<Cell<u32>>,
}

impl Exploring<'_> {
    /// The state of host `index`'s machine.
    pub fn explored(
        &self,
        index: usize,
        profile: &Profile,
        contexts: &[CtxSpec],
        quiet: Vec<bool>,
        first_word: u32,
    ) -> Explored {
        let points = self.points.get(index).map_or(&[][..], Vec::as_slice);
        let log = self.log.clone().map(|steps| Log {
            steps,
            at: self.at.clone(),
            first_word,
        });
        Explored::new(
            memory_model(profile),
            contexts,
            quiet,
            points,
            index as u32,
            log,
        )
    }
}

/// What a machine's memory shows when its order is explored.
pub fn memory_model(profile: &Profile) -> MemoryModel {
    if profile.store_buffer {
        profile.memory
    } else {
        MemoryModel::Sc
    }
}

/// What an explored run ended with.
#[derive(Debug)]
pub struct Explore {
    /// Why it ended; `None`: the schedule ended it.
    pub stop: Option<StopReason>,
    /// Laws broken. Empty if the schedule ended the run.
    pub violations: Vec<Violation>,
    /// Steps taken.
    pub steps: u32,
    /// Of each host: the words that are points, or ought to have been.
    pub points: Vec<Vec<bool>>,
    /// Of each host: who used which word.
    pub usage: Vec<Usages>,
    /// All of them were points in this run already.
    pub complete: bool,
    /// Names its happens-before order.
    pub state: u128,
    /// Digest of what lies in memory at the end.
    pub words: u128,
    /// Digest of its steps.
    pub digest: String,
    /// The steps, if they were to be kept.
    pub log: Vec<Step>,
    /// Names of words and functions, if they were to be kept.
    pub names: Names,
    /// The trace, if it was on.
    pub recording: Option<Recording>,
}

/// Runs `config` once in the order that `schedule` picks. `points` are the words that more than one context
/// uses, as an earlier run found them ([`Explore::points`]).
///
/// # Panics
/// As [`run`](super::run).
pub fn explore(
    config: &Config,
    options: &Options,
    schedule: &mut dyn Schedule,
    points: &[Vec<bool>],
    log: bool,
) -> Explore {
    let exploring = Exploring {
        points,
        log: log.then(Rc::default),
        at: Rc::default(),
    };
    let costs: Rc<RefCell<dyn Schedule>> = Rc::new(RefCell::new(NoCosts));
    let world = World::build_for(config, options, &costs, Some(&exploring));
    let mut tasks = contexts(&world, config);
    let limit = match config.stop {
        Stop::At(at) | Stop::Quiescent { limit: at } => Instant::from_ps(at),
    };
    let stop_event = world.events.stop;
    world.engine.push(limit, Class::Drain, stop_event);
    world.start();
    let mut driver = Driver::new(&world, exploring.at.clone());
    let stop = driver.go(&mut tasks, schedule);
    let kept = world.sink.is_on().then(|| world.sink.take());
    world.sink.close();
    let violations = match &stop {
        Some(stop) => world.check_explored(stop),
        // What was seen on the way counts; what holds at rest is not known.
        None => world
            .hosts
            .iter()
            .flat_map(|h| h.kernel.violations.take())
            .collect(),
    };
    let (mut points, mut usage) = (Vec::new(), Vec::new());
    let mut complete = true;
    for host in &world.hosts {
        if let Some(x) = host.machine.explored() {
            let (all, known) = x.points();
            complete &= known;
            points.push(all);
            usage.push(x.usage());
        }
    }
    let end = world.engine.now();
    let recording = kept.map(|(records, dropped)| Recording {
        names: world.names.clone(),
        records,
        dropped,
        violations: violations.clone(),
        digest: world.engine.digest.text(),
        end: end.ps(),
        command: String::new(),
    });
    Explore {
        stop,
        violations,
        steps: driver.steps,
        points,
        usage,
        complete,
        state: driver.state(),
        words: world
            .hosts
            .iter()
            .map(|h| h.machine.words_digest())
            .fold(0, mix),
        digest: world.engine.digest.text(),
        log: exploring.log.map(|log| log.take()).unwrap_or_default(),
        names: if log {
            world.names.clone()
        } else {
            Names::default()
        },
        recording,
    }
}

/// What the machine asks a schedule in an explored run: nothing takes time.
struct NoCosts;

impl Schedule for NoCosts {
    fn stretch(&mut self, _: u16) -> u32 {
        0
    }
    fn start(&mut self, _: &str, _: Span) -> Span {
        Span::ZERO
    }
    fn choose(&mut self, _: &Point<'_>) -> Option<usize> {
        None
    }
}

/// A device's event that is due.
#[derive(Clone, Copy)]
struct Due {
    at: Instant,
    event: Event,
    /// The history of whoever asked for it.
    by: u128,
}

struct Driver<'w> {
    world: &'w World,
    enabled: Vec<Enabled>,
    devices: Vec<Due>,
    timers: Vec<Due>,
    steps: u32,
    /// The same, for the log.
    at: Rc<Cell<u32>>,
    /// How often each state was there, once the run is watched.
    seen: BTreeMap<u128, u32>,
    /// The history of the last step.
    last: u128,
}

impl<'w> Driver<'w> {
    fn new(world: &'w World, at: Rc<Cell<u32>>) -> Driver<'w> {
        Driver {
            world,
            enabled: Vec::new(),
            devices: Vec::new(),
            timers: Vec::new(),
            steps: 0,
            at,
            seen: BTreeMap::new(),
            last: 0,
        }
    }

    fn state(&self) -> u128 {
        let one = |h: &super::build::Host| h.machine.explored().map_or(0, Explored::state);
        self.world.hosts.iter().map(one).fold(0, |all, h| all ^ h)
    }

    fn go(&mut self, tasks: &mut [Task<'_>], schedule: &mut dyn Schedule) -> Option<StopReason> {
        loop {
            self.settle(tasks);
            let world = self.world;
            if world.engine.exhausted() {
                return Some(StopReason::StepLimit(world.busiest_function()));
            }
            if world.sink.overflowed() {
                return Some(StopReason::TraceFull);
            }
            self.look();
            if self.enabled.is_empty() {
                if let Some(stop) = self.timer() {
                    return Some(stop);
                }
                continue;
            }
            if self.steps > WATCHED_AFTER
                && let Some(stop) = self.circle()
            {
                return Some(stop);
            }
            let point = Point {
                step: self.steps,
                enabled: &self.enabled,
                state: self.state(),
            };
            let chosen = schedule.choose(&point)?;
            self.step(tasks, self.enabled[chosen].agent);
        }
    }

    /// Lets everything happen that nobody can see happen.
    fn settle(&mut self, tasks: &mut [Task<'_>]) {
        let engine = &self.world.engine;
        loop {
            while let Some((at, event)) = engine.take() {
                self.sort(tasks, at, event);
            }
            let mut idle = true;
            for host in &self.world.hosts {
                let Some(x) = host.machine.explored() else {
                    continue;
                };
                if let Some(cpu) = host.machine.idle_irq(x) {
                    let ctx = host.machine.arrive(x, cpu);
                    task::step(engine, tasks, ctx);
                    idle = false;
                } else if let Some(ctx) = host.machine.goes_on(x) {
                    if engine.over() {
                        return;
                    }
                    task::step(engine, tasks, ctx);
                    idle = false;
                }
            }
            if idle && engine.pending() == 0 {
                return;
            }
        }
    }

    /// An event that the engine holds: a context that goes on now, a device's, or a timer's.
    fn sort(&mut self, tasks: &mut [Task<'_>], at: Instant, event: Event) {
        let (world, id) = (self.world, event.id);
        if let Some(host) = world.hosts.iter().rev().find(|h| h.first_ctx <= id)
            && (id as usize) < tasks.len()
        {
            let ctx = id - host.first_ctx;
            if let Some(x) = host.machine.explored() {
                host.machine.woken(x, ctx, self.last);
            }
            task::step(&world.engine, tasks, id);
            return;
        }
        let starts = world.events.starts..world.events.devices;
        let due = Due {
            at,
            event,
            by: self.last,
        };
        if starts.contains(&id) && at <= world.engine.now() {
            let (host, ctx) = world.context(id - world.events.starts);
            host.machine.first_start(ctx);
        } else if starts.contains(&id) || world.is_timer(id) {
            self.timers.push(due);
        } else {
            self.devices.push(due);
        }
    }

    /// Who can go.
    fn look(&mut self) {
        self.enabled.clear();
        let all = self.state();
        for host in &self.world.hosts {
            if let Some(x) = host.machine.explored() {
                let first = self.enabled.len();
                host.machine.enabled(x, &mut self.enabled);
                let others = all ^ x.state();
                self.enabled[first..]
                    .iter_mut()
                    .for_each(|e| e.next ^= others);
            }
        }
        if self.world.hosts.len() > 1 {
            self.enabled.sort_by_key(|e| e.agent);
        }
        let first = self.enabled.len();
        for due in &self.devices {
            let agent = Agent::Device(self.world.device_number(due.event.id));
            if !self.enabled[first..].iter().any(|e| e.agent == agent) {
                self.enabled.push(Enabled {
                    agent,
                    word: NO_WORD,
                    kind: AccessKind::Arrival,
                    next: mix(all, u128::from(due.event.id) << 8 | 7),
                });
            }
        }
        self.enabled[first..].sort_by_key(|e| e.agent);
    }

    fn step(&mut self, tasks: &mut [Task<'_>], agent: Agent) {
        let world = self.world;
        self.at.set(self.steps);
        self.steps += 1;
        world.engine.set_clock(world.engine.now() + STEP);
        let Some(cpu) = agent.cpu() else {
            if let Agent::Device(n) = agent {
                self.device(n);
            }
            return;
        };
        let Some(host) = world.hosts.iter().find(|h| h.owns_cpu(Some(cpu))) else {
            return;
        };
        let Some(x) = host.machine.explored() else {
            return;
        };
        let local = cpu - host.machine.first_cpu();
        match agent {
            Agent::Drain(_, n) => host.machine.drain(x, local, n),
            Agent::Irq(_) => {
                let ctx = host.machine.arrive(x, local);
                task::step(&world.engine, tasks, ctx);
            }
            _ => {
                if let Some(ctx) = host.machine.grant(x, local) {
                    task::step(&world.engine, tasks, ctx);
                }
            }
        }
        self.last = x.last();
    }

    /// The earliest event of device number `n` happens.
    fn device(&mut self, n: u32) {
        let id = self.world.device_id(n);
        let due = self.devices.iter().enumerate();
        let first = due
            .filter(|(_, d)| d.event.id == id)
            .min_by_key(|(_, d)| (d.at, d.event.seq));
        let Some((i, _)) = first else { return };
        let due = self.devices.remove(i);
        self.fire(due);
        for host in &self.world.hosts {
            if let Some(x) = host.machine.explored() {
                host.machine.device_step(x, due.event.id, due.by);
                host.machine.log_device(x, n);
                self.last = x.last();
                break;
            }
        }
        // Devices of one host are no words of another, but they are joined by a link.
        for host in self.world.hosts.iter().skip(1) {
            if let Some(x) = host.machine.explored() {
                host.machine.device_step(x, due.event.id, self.last);
            }
        }
    }

    fn fire(&self, due: Due) {
        self.world.engine.set_clock(due.at);
        let mut none = None;
        let _: Flow = self.world.fire(due.event, &mut none);
    }

    /// Nobody can go: the next timer fires. Returns the end of the run if that was it.
    fn timer(&mut self) -> Option<StopReason> {
        let world = self.world;
        let timers = self.timers.iter().enumerate();
        let first = timers.min_by_key(|(_, d)| (d.at, d.event.seq));
        let Some((i, _)) = first else {
            return Some(StopReason::Quiescent);
        };
        let due = self.timers.remove(i);
        if due.event.id == world.events.stop {
            // What still waits for its time could have changed something.
            if !self.timers.is_empty() {
                return Some(StopReason::Deadline);
            }
            let stuck = world.spinning();
            return Some(if stuck.is_empty() {
                StopReason::Quiescent
            } else {
                StopReason::Deadlock(stuck)
            });
        }
        self.fire(due);
        for host in &world.hosts {
            if let Some(x) = host.machine.explored() {
                host.machine.device_step(x, due.event.id, due.by);
                self.last = x.last();
            }
        }
        None
    }

    /// Whether the run goes round in circles. With a packet queued that is a livelock.
    fn circle(&mut self) -> Option<StopReason> {
        let prints = self.world.hosts.iter().filter_map(|h| {
            let x = h.machine.explored()?;
            Some(h.machine.fingerprint(x))
        });
        let print = prints.fold(0, mix);
        let times = self.seen.entry(print).or_insert(0);
        *times += 1;
        if *times < CIRCLES || !self.world.any_queued() {
            return None;
        }
        let waits: Vec<String> = self
            .enabled
            .iter()
            .filter(|e| matches!(e.agent, Agent::Device(_)))
            .map(|e| self.world.agent_name(e.agent))
            .collect();
        Some(StopReason::Livelock {
            function: self.world.busiest_function(),
            waits,
        })
    }
}

impl World {
    /// Whether event `id` is a timer's: it happens when its time has come, and not before.
    fn is_timer(&self, id: u32) -> bool {
        if id >= self.events.stop {
            return true;
        }
        let (index, dev, which) = self.device_event(id - self.events.devices);
        if dev == TIMERS {
            return true;
        }
        let vectors = self.hosts[index].kernel.port(dev);
        let vectors = vectors.map_or(0, |p| p.vectors.len() as u32);
        which >= event::VECTOR + vectors
    }

    fn device_number(&self, id: u32) -> u32 {
        id - self.events.devices
    }

    fn device_id(&self, number: u32) -> u32 {
        number + self.events.devices
    }

    /// What an agent is, in words.
    pub(super) fn agent_name(&self, agent: Agent) -> String {
        match agent {
            Agent::Device(n) => {
                let (index, dev, which) = self.device_event(n);
                let name = &self.hosts[index].kernel.dev(dev).name;
                match which {
                    event::WIRE => format!("{name} wire"),
                    event::ARRIVAL => format!("{name} arrival"),
                    vector => format!("{name} vector {}", vector - event::VECTOR),
                }
            }
            Agent::Cpu(c) => format!("CPU{c}"),
            Agent::Drain(c, _) => format!("CPU{c} buffer"),
            Agent::Irq(c) => format!("CPU{c} irq"),
        }
    }

    /// Whether a packet waits in a qdisc.
    fn any_queued(&self) -> bool {
        self.hosts.iter().any(|h| {
            let cpu = h.cpu(0);
            h.kernel.qdiscs.iter().any(|q| !q.peek_all(cpu).is_empty())
        })
    }

    fn check_explored(&self, stop: &StopReason) -> Vec<Violation> {
        if let StopReason::Livelock { function, waits } = stop {
            let what = if waits.is_empty() {
                format!("a packet is queued, and the CPUs go round in circles ({function})")
            } else {
                format!(
                    "a packet is queued, and until {} the CPUs go round in circles ({function})",
                    waits.join(" or ")
                )
            };
            return vec![Violation {
                law: Law::Livelock,
                time: self.engine.now().ps(),
                cpu: None,
                function: "__do_softirq",
                what,
                skb: None,
                freed_by_next: None,
            }];
        }
        self.check(stop)
    }
}
