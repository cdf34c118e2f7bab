//! What must add up, over variants, threads, machines and seeds.

use crate::support::{broken, config, library_points, load, seeded};
use scenarios::Registry;
use sim_core::config::{Config, Stop};
use sim_core::engine::StopReason;
use sim_core::kernel::variant::{Builtin, Lockless};
use sim_core::trace::{Kind, Mode};
use sim_core::violation::Law;
use sim_core::world::{Options, Outcome, run};
use std::collections::BTreeMap;

const KUNPENG: &str = "\"kunpeng-920\"";
const KUNPENG_NO_BUFFER: &str = "(profile: \"kunpeng-920\", store_buffer: off)";
const X86: &str = "\"x86-skylake\"";
const X86_NO_BUFFER: &str = "(profile: \"x86-skylake\", store_buffer: off)";

/// `threads` senders of a few packets each through one qdisc.
fn few_packets(machine: &str, variant: &str, threads: u32, limit: u32) -> Config {
    let qdisc = format!("PfifoFast(limit: {limit})");
    config(
        "lockless-stuck",
        &[
            ("machine", machine),
            ("variant", variant),
            ("threads", &threads.to_string()),
            ("hosts[0].devices[0].qdisc", &qdisc),
            ("hosts[0].workloads[0].packets", "24"),
        ],
    )
}

/// Variants that leave no packet behind when stores are visible at once.
const NEVER_STUCK: [Builtin; 5] = [
    Builtin::Locked,
    Builtin::V1,
    Builtin::V3,
    Builtin::V4,
    Builtin::V5,
];

/// offered = sent + errors, sent = transmitted + queued, and what the driver got has a latency and bytes.
fn counters_add_up(outcome: &Outcome, story: &str) {
    let m = &outcome.metrics;
    for f in &m.flows {
        assert_eq!(f.offered, f.sent + f.errors, "{story}: {}", f.name);
        assert_eq!(f.bytes, f.sent * 60, "{story}: {}", f.name);
    }
    let sum = |of: fn(&sim_core::metrics::Flow) -> u64| m.flows.iter().map(of).sum::<u64>();
    let (device, q) = (&m.devices[0], &m.qdiscs[0]);
    assert_eq!(
        sum(|f| f.sent),
        device.tx_packets + q.qlen,
        "{story}: sent = transmitted + queued"
    );
    assert_eq!(
        sum(|f| f.latency.len()),
        device.tx_packets,
        "{story}: a latency a packet"
    );
    assert_eq!(
        sum(|f| f.errors),
        q.dropped + device.tx_dropped,
        "{story}: errors = drops"
    );
    assert_eq!(device.tx_bytes, device.tx_packets * 60, "{story}");
    assert_eq!(
        (q.packets, q.bytes),
        (device.tx_packets, device.tx_bytes),
        "{story}"
    );
    assert_eq!(q.backlog, q.qlen * 60, "{story}");
    assert!(q.bypassed + q.runs > 0, "{story}");
}

/// task + softirq + hardirq + idle = window, and its parts are not more than the whole.
fn cpu_times_add_up(outcome: &Outcome, story: &str) {
    for c in &outcome.metrics.cpus {
        let busy = c.task + c.softirq + c.hardirq;
        assert_eq!(busy + c.idle, outcome.metrics.window, "{story}: {}", c.name);
        // A spin is booked when it ends, so one that began in the warm-up counts in full.
        let whole_run = outcome.end == outcome.metrics.window;
        assert!(
            !whole_run || c.spin + c.stall <= busy,
            "{story}: {} spins {} and stalls {} of {busy}",
            c.name,
            c.spin,
            c.stall
        );
    }
}

/// Every variant's counters add up when everything has come to rest, whatever it left behind.
#[test]
fn counters_add_up_at_rest() {
    for &variant in Builtin::ALL {
        for machine in [KUNPENG, X86, X86_NO_BUFFER] {
            for (threads, limit) in [(1, 1000), (2, 1000), (4, 1000), (4, 4)] {
                let config = few_packets(machine, variant.name(), threads, limit);
                for seed in 0..6 {
                    let story = format!(
                        "{} {machine} threads={threads} limit={limit} seed={seed}",
                        variant.name()
                    );
                    let outcome = seeded(&config, seed);
                    assert_eq!(outcome.stop, StopReason::Quiescent, "{story}");
                    let offered: u64 = outcome.metrics.flows.iter().map(|f| f.offered).sum();
                    assert_eq!(offered, u64::from(threads) * 24, "{story}");
                    counters_add_up(&outcome, &story);
                    cpu_times_add_up(&outcome, &story);
                    let wrong = [
                        Law::PacketLost,
                        Law::CounterMismatch,
                        Law::LockHeld,
                        Law::Deadlock,
                    ];
                    assert!(
                        !broken(&outcome).iter().any(|l| wrong.contains(l)),
                        "{story}: {:?}",
                        outcome.violations
                    );
                    assert_eq!(
                        broken(&outcome).contains(&Law::PacketStuck),
                        outcome.metrics.qdiscs[0].qlen > 0,
                        "{story}"
                    );
                }
            }
        }
    }
}

/// CPU times add up in measured windows too, on every library scenario.
#[test]
fn cpu_times_add_up_in_every_window() {
    for (name, config) in library_points() {
        for seed in 0..2 {
            cpu_times_add_up(&seeded(&config, seed), &name);
        }
    }
}

/// Every lock taken is given back, every skb allocated is freed unless it is queued, as the trace tells it.
#[test]
fn the_trace_balances() {
    for &variant in Builtin::ALL {
        for (threads, limit) in [(2, 1000), (4, 4)] {
            let config = few_packets(KUNPENG, variant.name(), threads, limit);
            let options = Options {
                seed: 1,
                trace: Mode::All { bytes: 1 << 28 },
                ..Options::default()
            };
            let outcome = run(&config, &options);
            let story = format!("{} threads={threads} limit={limit}", variant.name());
            let recording = outcome.recording.as_ref().expect("recorded");
            let stuck = outcome.metrics.qdiscs[0].qlen;
            let last = recording.records.last().map_or(0, |r| r.time);
            assert!(
                last <= recording.end,
                "{story}: a record at {last}, after the end {}",
                recording.end
            );
            let count = |kind| {
                recording
                    .records
                    .iter()
                    .filter(|r| r.kind() == kind)
                    .count() as u64
            };
            let mut held: BTreeMap<u32, i64> = BTreeMap::new();
            for r in &recording.records {
                match r.kind() {
                    Kind::LockAcquire => *held.entry(r.a).or_default() += 1,
                    Kind::LockRelease => *held.entry(r.a).or_default() -= 1,
                    _ => {}
                }
                assert!(
                    held.values().all(|&n| (0..=1).contains(&n)),
                    "{story}: {held:?} at {}",
                    r.time
                );
            }
            assert!(held.values().all(|&n| n == 0), "{story}: {held:?}");
            let locks = &outcome.metrics.locks;
            assert_eq!(
                count(Kind::LockAcquire),
                locks.iter().map(|l| l.acquired).sum::<u64>(),
                "{story}"
            );
            assert_eq!(
                count(Kind::TrylockFail),
                locks.iter().map(|l| l.failed).sum::<u64>(),
                "{story}"
            );
            assert_eq!(
                count(Kind::SkbAlloc),
                count(Kind::SkbFree) + stuck,
                "{story}"
            );
            assert_eq!(
                count(Kind::DevXmit),
                outcome.metrics.devices[0].tx_packets,
                "{story}"
            );
            assert_eq!(
                count(Kind::SkbDrop),
                outcome.metrics.qdiscs[0].dropped,
                "{story}"
            );
            assert_eq!(count(Kind::FnEnter), count(Kind::FnLeave), "{story}");
            assert_eq!(
                count(Kind::QdiscEnqueue),
                count(Kind::QdiscDequeue) + stuck,
                "{story}"
            );
        }
    }
}

/// With stores visible at once, the variants that leave word strand no packet and break no other law.
#[test]
fn nobody_strands_a_packet_without_store_buffers() {
    for machine in [KUNPENG_NO_BUFFER, X86_NO_BUFFER] {
        for variant in NEVER_STUCK {
            for threads in [2, 3] {
                let threads = threads.to_string();
                let config = config(
                    "lockless-stuck",
                    &[
                        ("machine", machine),
                        ("variant", variant.name()),
                        ("threads", &threads),
                    ],
                );
                for seed in 0..300 {
                    let outcome = seeded(&config, seed);
                    let story =
                        format!("{} {machine} threads={threads} seed={seed}", variant.name());
                    assert_eq!(
                        (outcome.stop, outcome.violations),
                        (StopReason::Quiescent, vec![]),
                        "{story}"
                    );
                }
            }
        }
    }
}

/// v5 has its barriers: it strands nothing with store buffers either, nor does the root lock.
#[test]
fn barriers_are_enough_with_store_buffers() {
    for machine in [KUNPENG, X86] {
        for variant in [Builtin::Locked, Builtin::V5] {
            for (scenario, threads) in [("lockless-stuck", "2"), ("lockless-txaction", "3")] {
                let sets = [
                    ("machine", machine),
                    ("variant", variant.name()),
                    ("threads", threads),
                ];
                let config = config(scenario, &sets);
                for seed in 0..200 {
                    let outcome = seeded(&config, seed);
                    let story = format!("{} {scenario} {machine} seed={seed}", variant.name());
                    assert_eq!(
                        (outcome.stop, outcome.violations),
                        (StopReason::Quiescent, vec![]),
                        "{story}"
                    );
                }
            }
        }
    }
}

/// v0 does strand packets, so a silent checker would be noticed.
///
/// Without store buffers: with them the owner's way from its last look to its unlock is shorter than the loser's
/// from its enqueue to its trylock, on both machines, and no seed of thousands finds the race.
#[test]
fn v0_strands_packets() {
    for scenario in ["lockless-stuck", "lockless-txaction"] {
        let config = config(scenario, &[("machine", KUNPENG_NO_BUFFER)]);
        let stuck = (0..300)
            .map(|seed| seeded(&config, seed))
            .find(|o| !o.violations.is_empty());
        let outcome =
            stuck.unwrap_or_else(|| panic!("no seed of 0..300 strands a packet in {scenario}"));
        let v = &outcome.violations[0];
        assert_eq!(
            (v.law, v.function),
            (Law::PacketStuck, "qdisc_run_begin"),
            "{v:?}"
        );
        assert_eq!(
            v.freed_by_next,
            Some(true),
            "one more packet gets it out: {v:?}"
        );
        assert!(
            v.time <= outcome.end && v.skb.is_some() && v.cpu.is_some(),
            "{v:?}"
        );
    }
}

/// The first bypass (v0b) overtakes a queued packet of its own flow; v5 and the locked qdisc never do.
#[test]
fn only_the_first_bypass_reorders() {
    let mut v0b = few_packets(KUNPENG, "v0b", 2, 1000);
    let reorders = |config: &Config, seeds: u64| {
        (0..seeds).find(|&seed| broken(&seeded(config, seed)).contains(&Law::Reordered))
    };
    assert!(
        reorders(&v0b, 400).is_some(),
        "v0b keeps the order in 400 seeds"
    );
    for variant in [Builtin::V5, Builtin::Locked, Builtin::V3, Builtin::V0] {
        v0b.hosts[0].kernel.lockless = Lockless::Builtin(variant);
        assert_eq!(reorders(&v0b, 100), None, "{}", variant.name());
    }
}

/// A NIC with a small ring stops its queue all the time; still everything adds up and comes out.
#[test]
fn a_stopped_queue_loses_nothing() {
    let registry = Registry::new();
    for variant in ["locked", "v1", "v3", "v4", "v5"] {
        for threads in ["1", "2"] {
            let scenario = load(
                &registry,
                "lockless-stuck",
                &[
                    ("variant", variant),
                    ("machine", KUNPENG_NO_BUFFER),
                    ("threads", threads),
                    ("hosts[0].workloads[0].packets", "40"),
                    (
                        "hosts[0].devices[0].kind",
                        "Nic(tx_ring: 8, rx_ring: 8, rate: \"1Gbit\", irq_cpu: 3)",
                    ),
                    ("stop", "Quiescent(limit: \"20ms\")"),
                ],
            );
            for seed in 0..10 {
                let outcome = seeded(scenario.config(), seed);
                let story = format!("{variant} threads={threads} seed={seed}");
                assert_eq!(outcome.stop, StopReason::Quiescent, "{story}");
                assert_eq!(outcome.violations, vec![], "{story}");
                counters_add_up(&outcome, &story);
                cpu_times_add_up(&outcome, &story);
            }
        }
    }
}

/// Frames that arrive are forwarded, dropped by the full ring, or refused; none is unaccounted for.
#[test]
fn forwarding_adds_up() {
    for variant in ["v0", "rfc_bypass", "v5", "locked"] {
        let mut config = config(
            "lockless-forward",
            &[
                ("variant", variant),
                ("measure.warmup", "\"0ns\""),
                (
                    "hosts[0].workloads[0]",
                    "Forward(from: \"eth0\", to: \"eth1\", size: \"60B\", pps: \"2Mpps\", packets: 500)",
                ),
            ],
        );
        config.stop = Stop::Quiescent {
            limit: 20_000_000_000,
        };
        for seed in 0..5 {
            let outcome = seeded(&config, seed);
            let story = format!("{variant} seed={seed}");
            assert_eq!(
                (&outcome.stop, &outcome.violations),
                (&StopReason::Quiescent, &vec![]),
                "{story}"
            );
            let (rx, tx) = (&outcome.metrics.devices[0], &outcome.metrics.devices[1]);
            assert_eq!(rx.rx_packets + rx.rx_dropped, 500, "{story}");
            assert_eq!(rx.rx_packets, outcome.metrics.flows[0].offered, "{story}");
            assert_eq!(tx.tx_packets, outcome.metrics.flows[0].sent, "{story}");
            cpu_times_add_up(&outcome, &story);
        }
    }
}
