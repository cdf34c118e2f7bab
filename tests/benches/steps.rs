//! Micro-steps through the real machine: caches and their transfers, store buffers, counters,
//! interrupts, digest and trace ring.
//!
//! `path` is what a system call does to memory: work, a private line, a FIFO lock, two shared
//! lines with work between them, the lock's release, the private line again. The lock is a CLH
//! queue: an exchange of the tail, a spin on the predecessor's word, a release store of the own.

// The timing harness is the one of the engine benchmarks.
#[path = "../../sim-core/benches/common/mod.rs"]
mod common;

use common::{Random, bench, goal, scaled};
use scenarios::{Loader, Registry};
use sim_core::engine::schedule::Timed;
use sim_core::engine::task::{self, Flow, Task};
use sim_core::engine::time::{Instant, Span};
use sim_core::engine::{Digest, Engine};
use sim_core::machine::cost::{Param, Profile, TopologySpec};
use sim_core::machine::memory::{Placement, Word};
use sim_core::machine::{Cpu, CtxSpec, Machine, Order, Place, Rmw};
use sim_core::trace::{Level, Mode, Record, Sink};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// Contexts of a CPU: softirq, hardirq, task.
const CONTEXTS: u32 = 3;
const IRQ_EVERY: Span = Span::from_ns(20_000);
const IRQ_INSNS: u32 = 400;

/// Words of the workload.
#[derive(Clone, Copy)]
struct Words {
    tail: Word,
    shared: Word,
    other: Word,
    /// One a CPU.
    private: Word,
    /// Lock nodes: one a CPU and one that is free at first. 1 while held or waited for.
    nodes: Word,
}

impl Words {
    fn place(memory: &mut Placement, cpus: u32) -> Words {
        let mut each = |name: &str, n: u32| {
            let first = memory.lone_word(name, 0);
            (1..n).for_each(|_| _ = memory.lone_word(name, 0));
            first
        };
        Words {
            shared: each("shared", 1),
            other: each("other", 1),
            private: each("private", cpus),
            nodes: each("node", cpus + 1),
            tail: memory.lone_word("tail", u64::from(cpus)),
        }
    }
}

async fn critical(cpu: Cpu<'_>, words: Words, node: &mut u32, random: &Random) {
    let mine = words.nodes.nth(*node);
    cpu.store(mine, 1).await;
    let swap = Rmw::Mask {
        clear: u64::MAX,
        set: u64::from(*node),
    };
    let before = cpu.rmw(words.tail, swap, Order::Full).await as u32;
    cpu.wait_until(words.nodes.nth(before), |v| v == 0).await;
    let n = cpu.load(words.shared).await;
    cpu.insns(40 + random.below(128) as u32);
    cpu.store(words.other, n).await;
    cpu.store(words.shared, n + 1).await;
    cpu.store_release(mine, u64::MAX, 0).await;
    *node = before;
}

async fn path(cpu: Cpu<'_>, words: Words) {
    let random = Random::new(u64::from(cpu.id()));
    let mine = words.private.nth(u32::from(cpu.id()));
    let mut node = u32::from(cpu.id());
    loop {
        cpu.insns(160 + random.below(504) as u32);
        let n = cpu.load(mine).await;
        critical(cpu, words, &mut node, &random).await;
        cpu.store(mine, n + 1).await;
    }
}

async fn hardirq(cpu: Cpu<'_>) {
    loop {
        while cpu.take_irq().is_some() {
            cpu.elapse(cpu.machine().costs.irq_entry);
            cpu.insns(IRQ_INSNS);
            cpu.settle().await;
        }
        cpu.finish(false);
        cpu.started().await;
    }
}

/// The profile `kunpeng-920`, with 64 cores.
fn profile() -> Profile {
    let registry = Registry::new();
    let scenario = Loader::new(&registry)
        .load_library("lockless-qdisc")
        .expect("a scenario of the library");
    let mut profile = (*scenario.config().hosts[0].machine).clone();
    profile.topology = TopologySpec {
        sockets: 1,
        dies: 4,
        clusters: 4,
        cores: 4,
        smt: 1,
    };
    profile
}

/// Runs `cpus` CPUs on `path` until `limit` micro-steps are done.
fn run(profile: &Profile, cpus: u16, limit: u64, trace: Mode) -> (u64, String) {
    let contexts: Vec<CtxSpec> = (0..cpus)
        .flat_map(|cpu| {
            [Level::Softirq, Level::Hardirq, Level::Task].map(|level| CtxSpec {
                cpu,
                level,
                task: 0,
            })
        })
        .collect();
    let n = contexts.len() as u32;
    let mut memory = Placement::new(false);
    let words = Words::place(&mut memory, u32::from(cpus));
    let engine = Rc::new(Engine::new(contexts.len(), limit, true));
    let names: Vec<String> = (0..profile.topology.cpus())
        .map(|c| format!("cpu{c}"))
        .collect();
    let schedule = Rc::new(RefCell::new(Timed::new(
        1,
        profile.get(Param::Jitter),
        &names,
    )));
    let place = Place {
        base: 0,
        starts: n,
        first_cpu: 0,
    };
    let sink = Rc::new(Sink::new(trace));
    let machine = Machine::new(
        profile,
        place,
        memory,
        &contexts,
        engine.clone(),
        sink.clone(),
        schedule,
    );
    let mut tasks: Vec<Task<'_>> = (0..n)
        .map(|ctx| -> Task<'_> {
            let cpu = machine.cpu(ctx);
            match cpu.level() {
                Level::Task => Box::pin(path(cpu, words)),
                Level::Hardirq => Box::pin(hardirq(cpu)),
                Level::Softirq => Box::pin(std::future::pending()),
            }
        })
        .collect();
    for ctx in (CONTEXTS - 1..n).step_by(CONTEXTS as usize) {
        let offset = machine.start_offset(
            &format!("task{ctx}"),
            Span::from_ps(profile.get(Param::StartSpread)),
        );
        machine.start_at(ctx, Instant::ZERO + offset);
    }
    let timer = 2 * n;
    machine.push_device(Instant::ZERO + IRQ_EVERY, timer);
    let mut next_cpu = 0;
    task::run(&engine, &mut tasks, &mut |event| {
        if event.id == timer {
            machine.raise_irq(next_cpu, 0);
            next_cpu = (next_cpu + 1) % cpus;
            machine.push_device(engine.now() + IRQ_EVERY, timer);
        } else {
            machine.wake_task(event.id - n);
        }
        Flow::Go
    });
    sink.close();
    (engine.steps(), engine.digest.text())
}

/// What one event cannot do without: the queue with 64 pending, a random number, a record, a digest.
fn ideal(ops: u64) -> Option<f64> {
    bench("ideal-event", || {
        let random = Random::new(1);
        let digest = Digest::default();
        let mut queue: BinaryHeap<Reverse<u128>> = (0..64)
            .map(|i| Reverse(u128::from(random.below(2000)) << 64 | i))
            .collect();
        let mut chunk: Vec<Record> = Vec::with_capacity(64 * 1024 / size_of::<Record>());
        let n = scaled(ops);
        for i in 0..n {
            let mut first = queue.peek_mut().expect("64 are pending");
            let time = (first.0 >> 64) as u64;
            let next = time + random.below(2000);
            *first = Reverse(u128::from(next) << 64 | u128::from(i + 64));
            drop(first);
            if chunk.len() == chunk.capacity() {
                chunk.clear();
            }
            chunk.push(Record {
                time,
                a: i as u32,
                ..Record::default()
            });
            digest.step(time, i as u32 & 63, 0, i as u32, next);
        }
        (n, digest.text())
    })
}

fn main() {
    let profile = profile();
    let ring = Mode::Ring { bytes: 1 << 20 };
    let ideal = ideal(4_000_000);
    let mut ratios = Vec::new();
    let mut rates = Vec::new();
    for cpus in [1, 8, 64] {
        for (name, trace) in [("ring", ring), ("off", Mode::Off)] {
            let ns = bench(&format!("path/{cpus}/{name}"), || {
                run(&profile, cpus, scaled(4_000_000), trace)
            });
            if name == "ring" {
                rates.push((cpus, ns.map(|ns| 1e3 / ns)));
                ratios.push((cpus, ns.zip(ideal).map(|(ns, ideal)| ns / ideal)));
            }
        }
    }
    for (cpus, rate) in rates {
        // The floors: what a prototype with all these parts reached, untuned.
        let (floor, aim) = if cpus == 1 {
            (31.0, 120.0)
        } else {
            (18.0, 40.0)
        };
        goal(
            &format!("path, {cpus} CPUs, M micro-steps/s"),
            rate,
            floor,
            aim,
        );
    }
    for (cpus, ratio) in ratios {
        goal(
            &format!("path, {cpus} CPUs, against the ideal event"),
            ratio,
            2.0,
            1.0,
        );
    }
}
