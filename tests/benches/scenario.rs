//! Whole scenarios of the library: simulated packets a second of thread CPU time.

// The timing harness is the one of the engine benchmarks.
#[path = "../../sim-core/benches/common/mod.rs"]
mod common;

use common::{bench, goal, scaled};
use scenarios::{Loader, Registry};
use sim_core::config::{Config, Stop, Workload};
use sim_core::trace::{Mode, Record};
use sim_core::world::{self, Options, Outcome};

/// The scenario `name` with everything counted from its start, for `ms` simulated milliseconds.
fn config(name: &str, ms: u64) -> Config {
    let registry = Registry::new();
    let scenario = Loader::new(&registry)
        .load_library(name)
        .expect("a scenario of the library");
    let mut config = scenario.config().clone();
    config.warmup = 0;
    config.stop = Stop::At(scaled(ms * 1_000_000_000));
    config.step_limit = u64::MAX;
    config
}

fn offered(outcome: &Outcome) -> u64 {
    outcome.metrics.flows.iter().map(|f| f.offered).sum()
}

/// Packets that went through: transmitted by some device.
fn transmitted(outcome: &Outcome) -> u64 {
    outcome.metrics.devices.iter().map(|d| d.tx_packets).sum()
}

/// Packets a second in thousands; prints micro-steps and time for each.
fn case(name: &str, config: &Config, trace: Mode, packets: fn(&Outcome) -> u64) -> Option<f64> {
    let mut per_packet = (0.0, 0.0);
    let ns = bench(name, || {
        let outcome = world::run(
            config,
            &Options {
                seed: 1,
                trace,
                names: false,
                ..Options::default()
            },
        );
        let n = packets(&outcome).max(1);
        let kept = outcome
            .recording
            .map_or(0, |r| r.records.len() as u64 + r.dropped);
        per_packet = (outcome.steps as f64 / n as f64, kept as f64 / n as f64);
        (n, outcome.digest)
    })?;
    let (steps, records) = per_packet;
    print!(
        "  {:.0} k packets/s, {steps:.1} micro-steps a packet, {:.1} ns a micro-step",
        1e6 / ns,
        ns / steps
    );
    println!(", {:.2} M micro-steps/s", steps / ns * 1e3);
    if records > 0.0 {
        println!(
            "  {records:.1} records a packet, {} bytes a record",
            size_of::<Record>()
        );
    }
    Some(1e6 / ns)
}

fn main() {
    let ring = Mode::Ring { bytes: 1 << 20 };
    let qdisc = config("lockless-qdisc", 6);
    case("lockless-qdisc/4/off", &qdisc, Mode::Off, offered);
    let rate = case("lockless-qdisc/4/ring", &qdisc, ring, offered);
    let forward = config("lockless-forward", 30);
    case("lockless-forward/off", &forward, Mode::Off, transmitted);
    case("lockless-forward/ring", &forward, ring, transmitted);
    // What the wire takes, and no more: packets that the qdisc drops are none.
    let mut nic = config("doorbell-batch", 12);
    nic.hosts[0].workloads = vec![Workload::Paced {
        dev: 0,
        cpus: vec![0, 2],
        every: 2_480_000,
        size: 1514,
        packets: None,
    }];
    case("doorbell-batch/off", &nic, Mode::Off, transmitted);
    let wire = case("doorbell-batch/ring", &nic, ring, transmitted);
    goal(
        "sent k packets/s, 10 Gbit/s through qdisc, BQL and NIC, trace ring on",
        wire,
        130.0,
        250.0,
    );
    goal(
        "offered k packets/s, lockless-qdisc, 4 threads, trace ring on",
        rate,
        130.0,
        250.0,
    );
}
