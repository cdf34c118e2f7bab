//! Bugs planted on purpose: a checker that stays silent about one of these proves nothing.

use crate::support::{broken, load, seeded};
use crate::user_variant::LeaveWord;
use scenarios::Registry;
use sim_core::config::{Config, Workload};
use sim_core::kernel::Cpu;
use sim_core::kernel::sched::qdisc::Qdisc;
use sim_core::kernel::sched::user::{LocklessOps, LocklessVariant};
use sim_core::violation::Law;
use std::sync::Arc;

/// Drains, and forgets to give the seqlock back.
struct NeverReleases;

impl LocklessVariant for NeverReleases {
    fn name(&self) -> &str {
        "never_releases"
    }
    async fn run_begin(&self, cpu: Cpu<'_>, q: &Qdisc) -> bool {
        q.seqlock.try_lock(cpu).await
    }
    async fn run_end(&self, _: Cpu<'_>, _: &Qdisc) {}
}

/// Waits for a seqlock that nobody gives back.
struct WaitsForEver;

impl LocklessVariant for WaitsForEver {
    fn name(&self) -> &str {
        "waits_for_ever"
    }
    async fn run_begin(&self, cpu: Cpu<'_>, q: &Qdisc) -> bool {
        q.seqlock.lock(cpu).await;
        true
    }
    async fn run_end(&self, _: Cpu<'_>, _: &Qdisc) {}
}

/// Goes away when somebody else drains, and leaves no word: v0's bug.
struct LeavesNoWord;

impl LocklessVariant for LeavesNoWord {
    fn name(&self) -> &str {
        "leaves_no_word"
    }
    async fn run_begin(&self, cpu: Cpu<'_>, q: &Qdisc) -> bool {
        q.seqlock.try_lock(cpu).await
    }
    async fn run_end(&self, cpu: Cpu<'_>, q: &Qdisc) {
        q.seqlock.unlock(cpu).await;
    }
}

fn with(ops: Arc<dyn LocklessOps>, scenario: &str, threads: &str) -> Config {
    let mut registry = Registry::new();
    let name = ops.name().to_owned();
    registry.register(&name, ops).expect("a new name");
    load(
        &registry,
        scenario,
        &[("variant", &name), ("threads", threads)],
    )
    .config()
    .clone()
}

/// Without store buffers the window of the race is wide enough to be found by chance.
fn visible_at_once(config: &mut Config) {
    Arc::make_mut(&mut config.hosts[0].machine).store_buffer = false;
}

/// A seqlock that is never released is reported as held, and what queues up behind it as stuck.
#[test]
fn a_lost_unlock_is_found() {
    for threads in ["1", "2"] {
        let mut config = with(Arc::new(NeverReleases), "lockless-stuck", threads);
        for workload in &mut config.hosts[0].workloads {
            if let Workload::Pktgen(pktgen) = workload {
                // The first packet of a lone sender gets out; the others find the lock taken.
                pktgen.packets = Some(4);
            }
        }
        for seed in 0..20 {
            let outcome = seeded(&config, seed);
            assert_eq!(
                broken(&outcome),
                [Law::PacketStuck, Law::LockHeld],
                "seed {seed}: {:?}",
                outcome.violations
            );
            let stuck = outcome
                .violations
                .iter()
                .find(|v| v.law == Law::PacketStuck)
                .expect("listed");
            assert_eq!(stuck.freed_by_next, Some(false), "no packet frees it");
        }
    }
}

/// Waiting for it instead is a deadlock: nothing else can happen.
#[test]
fn a_deadlock_is_found() {
    let config = with(Arc::new(WaitsForEver), "lockless-stuck", "2");
    for seed in 0..20 {
        let outcome = seeded(&config, seed);
        assert!(
            broken(&outcome).contains(&Law::Deadlock),
            "seed {seed}: {:?}",
            outcome.violations
        );
        assert!(
            broken(&outcome).contains(&Law::LockHeld),
            "seed {seed}: {:?}",
            outcome.violations
        );
    }
}

/// Leaving no word strands a packet in some seed of a few hundred, and nothing worse happens.
#[test]
fn v0s_bug_is_found() {
    let mut config = with(Arc::new(LeavesNoWord), "lockless-txaction", "3");
    visible_at_once(&mut config);
    let laws: Vec<Vec<Law>> = (0..200)
        .map(|seed| broken(&seeded(&config, seed)))
        .collect();
    assert!(
        laws.iter()
            .all(|l| l.is_empty() || *l == [Law::PacketStuck]),
        "{laws:?}"
    );
    let stuck = laws.iter().filter(|l| !l.is_empty()).count();
    assert!(stuck > 0, "no seed of 0..200 strands a packet");
}

/// The same seeds are silent about a variant that is right.
#[test]
fn a_proper_variant_is_silent() {
    let mut config = with(Arc::new(LeaveWord), "lockless-txaction", "3");
    for _ in 0..2 {
        for seed in 0..200 {
            assert_eq!(broken(&seeded(&config, seed)), [], "seed {seed}");
        }
        visible_at_once(&mut config);
    }
}
