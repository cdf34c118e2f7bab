//! A variant from outside the tree: written here, registered by name, chosen by a scenario.

use crate::determinism::skbsim;
use crate::support::{load, seeded};
use scenarios::Registry;
use sim_core::engine::StopReason;
use std::sync::Arc;

// A user's file begins here.
use sim_core::kernel::Cpu;
use sim_core::kernel::sched::qdisc::{Qdisc, state::MISSED};
use sim_core::kernel::sched::user::LocklessVariant;
use sim_core::kernel::softirq::__netif_schedule;
use sim_core::machine::{Order, Rmw};

/// Leave word, try again, and let the owner look after the unlock: the idea of v5.13 with all barriers.
pub struct LeaveWord;

impl LocklessVariant for LeaveWord {
    fn name(&self) -> &str {
        "leave_word"
    }

    async fn run_begin(&self, cpu: Cpu<'_>, q: &Qdisc) -> bool {
        if q.seqlock.try_lock(cpu).await {
            return true;
        }
        cpu.rmw(
            q.state,
            Rmw::Mask {
                clear: 0,
                set: MISSED,
            },
            Order::Full,
        )
        .await;
        // The owner may have looked between the two lines above.
        q.seqlock.try_lock(cpu).await
    }

    async fn run_end(&self, cpu: Cpu<'_>, q: &Qdisc) {
        q.seqlock.unlock(cpu).await;
        cpu.smp_mb().await;
        if cpu.load(q.state).await & MISSED != 0 {
            cpu.rmw(
                q.state,
                Rmw::Mask {
                    clear: MISSED,
                    set: 0,
                },
                Order::Full,
            )
            .await;
            __netif_schedule(cpu, q).await;
        }
    }
}
// And ends here.

/// A user's variant fits in fifty lines, runs from a scenario by its name, and strands nothing.
#[test]
fn a_variant_from_outside_runs_from_a_scenario() {
    let own = include_str!("user_variant.rs");
    let lines = own
        .split("// A user's file begins here.")
        .nth(1)
        .and_then(|s| s.split("// And ends").next());
    assert!(lines.expect("marked").lines().count() < 50);

    let mut registry = Registry::new();
    registry
        .register("leave_word", Arc::new(LeaveWord))
        .expect("a new name");
    for (scenario, seeds) in [("lockless-stuck", 200), ("lockless-txaction", 100)] {
        let scenario = load(&registry, scenario, &[("kernel.lockless", "leave_word")]);
        assert_eq!(
            scenario.config().hosts[0].kernel.lockless.name(),
            "leave_word"
        );
        for seed in 0..seeds {
            let outcome = seeded(scenario.config(), seed);
            assert_eq!(
                (outcome.stop, outcome.violations),
                (StopReason::Quiescent, vec![]),
                "seed {seed}"
            );
            let sent: u64 = outcome.metrics.flows.iter().map(|f| f.sent).sum();
            assert_eq!(outcome.metrics.devices[0].tx_packets, sent, "seed {seed}");
        }
    }
}

/// The command line of a user's binary knows the variant; the plain one says which names there are.
#[test]
fn the_command_line_knows_it() {
    let line = "run lockless-stuck --seeds 0..20 --set variant=leave_word";
    let mut registry = Registry::new();
    let (exit, text) = skbsim(&registry, line);
    assert_eq!(exit, cli::exit::Exit::Invalid);
    assert!(text.contains("leave_word"), "{text}");
    registry
        .register("leave_word", Arc::new(LeaveWord))
        .expect("a new name");
    let (exit, text) = skbsim(&registry, line);
    assert_eq!(exit, cli::exit::Exit::Ok, "{text}");
}
