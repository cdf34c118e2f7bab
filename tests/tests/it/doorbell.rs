//! ixgbe: every posted descriptor is announced and completed, who writes the ring's line, what a call of
//! its own for the doorbell costs, and the watchdog.

use crate::support::{broken, config, seeded};
use sim_core::config::Config;
use sim_core::engine::StopReason;
use sim_core::metrics::Metrics;
use sim_core::trace::{Kind, Mode, Recording};
use sim_core::violation::Law;
use sim_core::world::{Options, Outcome, run};

fn direct(sets: &[(&str, &str)]) -> Config {
    let mut all = vec![
        ("sweep", "[]"),
        ("measure.warmup", "\"200us\""),
        ("measure.window", "\"1ms\""),
    ];
    all.extend(sets);
    config("doorbell-direct", &all)
}

fn stall(kick: &str, sets: &[(&str, &str)]) -> Outcome {
    let mut all = vec![("variant", kick)];
    all.extend(sets);
    seeded(&config("doorbell-stall", &all), 0)
}

fn doorbells_per_packet(m: &Metrics) -> f64 {
    let device = &m.devices[0];
    device.doorbells as f64 / device.tx_packets as f64
}

/// mmiowb is a compiler barrier on x86: with and without it is the same run.
#[test]
fn mmiowb_costs_nothing() {
    let run = |kick| seeded(&direct(&[("variant", kick)]), 3).digest;
    assert_eq!(run("flush_op"), run("flush_op_no_mmiowb"));
    assert_ne!(run("flush_op"), run("always"));
    // Past the qdisc no packet ever says that more will follow.
    assert_eq!(
        doorbells_per_packet(&seeded(&direct(&[]), 3).metrics).round(),
        1.0
    );
}

/// Whoever rings: all that is posted is announced, sent and taken back, and all packets leave.
#[test]
fn every_descriptor_has_its_doorbell() {
    for kick in ["always", "flush_op", "xmit_more"] {
        let outcome = stall(kick, &[]);
        assert_eq!(outcome.stop, StopReason::Quiescent, "{kick}");
        assert_eq!(outcome.violations, vec![], "{kick}");
        let (m, full) = (&outcome.metrics, outcome.metrics.qdiscs[0].dropped);
        assert_eq!(m.devices[0].tx_packets + full, 3000, "{kick}");
        // The ring was full again and again, or the rule was not put to the test.
        assert!(outcome.metrics.devices[0].tx_ring_max > 64 - 22, "{kick}");
    }
}

#[test]
fn a_bare_test_of_xmit_more_stalls() {
    for kick in ["xmit_more_naive", "xmit_more_busy_bug"] {
        let outcome = stall(kick, &[]);
        let laws = broken(&outcome);
        assert!(laws.contains(&Law::DoorbellMissing), "{kick}: {laws:?}");
        assert!(laws.contains(&Law::PacketStuck), "{kick}: {laws:?}");
    }
}

/// pktgen's bursts: without the test for the stopped queue, one that fills the ring is never announced.
/// (A shorter one is, by the next: earlier packets complete and wake the queue.)
#[test]
fn a_burst_of_pktgen_stalls_the_same_way() {
    let load = "[Pktgen(dev: \"eth5\", mode: StartXmit, cpus: [0], burst: 64, clone_skb: 100, size: \"1514B\", packets: 600)]";
    let sets = [("hosts[0].workloads", load)];
    let good = stall("xmit_more", &sets);
    assert_eq!(good.violations, vec![]);
    assert!(good.metrics.devices[0].tx_packets >= 600);
    // pktgen looks at the stopped queue for ever, so the run does not come to rest.
    let bad = stall("xmit_more_naive", &sets);
    assert_eq!(bad.stop, StopReason::Deadline);
    assert_eq!(bad.metrics.devices[0].doorbells, 0);
    assert!(bad.metrics.devices[0].tx_packets < 64);
}

#[test]
fn lists_share_a_doorbell() {
    let one = |kick| {
        let sets = [
            ("sweep", "[]"),
            ("variant", kick),
            ("measure.window", "\"1ms\""),
        ];
        let outcome = seeded(&config("doorbell-batch", &sets), 0);
        assert_eq!(outcome.violations, vec![], "{kick}");
        doorbells_per_packet(&outcome.metrics)
    };
    let (always, more) = (one("always"), one("xmit_more"));
    assert!((always - 1.0).abs() < 0.01, "{always}");
    assert!(more < 0.7, "{more}");
}

/// BQL keeps a burst past the qdisc short only as long as its stop bit counts.
#[test]
fn a_direct_burst_fills_the_ring_only_past_bql() {
    let most = |direct| {
        let sets = [("sweep", "[]"), ("variant", direct)];
        let outcome = seeded(&config("bql-direct-burst", &sets), 0);
        assert_eq!(outcome.violations, vec![], "{direct}");
        assert_eq!(outcome.metrics.devices[0].tx_packets, 2000, "{direct}");
        outcome.metrics.devices[0].tx_ring_max
    };
    let (kept, ignored) = (most("lltx_patch"), most("lltx_drv_stopped"));
    assert!(ignored > 128 - 22, "{ignored}");
    assert!(kept < ignored / 2, "{kept} of {ignored}");
}

/// Moves of the line that `next_to_use` and `next_to_clean` share, and batches that were completed.
fn ring_line(irq_cpu: &str) -> (u64, u64) {
    let irq = ("hosts[0].devices[0].kind.irq_cpus", irq_cpu);
    let outcome = run(&direct(&[irq]), &Options::default());
    let m = &outcome.metrics;
    let moves = m
        .lines
        .iter()
        .find(|l| l.name == "ixgbe_ring eth5:0 line 1");
    let batches = m.cpus.iter().map(|c| c.net_rx).sum();
    (moves.map_or(0, |l| l.transfers), batches)
}

/// Completion on a CPU of its own visits the line at most three times a batch, there and back each time: at
/// its start, at its end, and to see whether to wake the queue. On the sender's CPU it costs nothing.
#[test]
fn the_ring_line_bounces_with_completion_elsewhere() {
    let (moves, batches) = ring_line("[1]");
    let each = moves as f64 / batches as f64;
    assert!(
        batches > 5 && (2.0..=6.0).contains(&each),
        "{moves} in {batches}"
    );
    let (moves, batches) = ring_line("[0]");
    assert!(batches > 5 && moves == 0, "{moves} in {batches}");
}

fn timeouts(kick: &str, timeo: &str) -> (u64, Recording) {
    let sets = [
        ("variant", kick),
        ("kernel.watchdog", timeo),
        ("stop", "Quiescent(limit: \"4s\")"),
    ];
    let options = Options {
        trace: Mode::All { bytes: 64 << 20 },
        ..Options::default()
    };
    let outcome = run(&config("doorbell-stall", &sets), &options);
    assert_eq!(outcome.stop, StopReason::Quiescent);
    let recording = outcome.recording.expect("it was on");
    (outcome.metrics.devices[0].tx_timeouts, recording)
}

/// A queue that is stopped for good is found once it was so for longer than the whole time; one that is
/// woken never is, however old its `trans_start`.
#[test]
fn the_watchdog_fires_if_and_only_if_it_should() {
    assert_eq!(timeouts("xmit_more", "\"1s\"").0, 0);
    let (found, recording) = timeouts("xmit_more_naive", "\"1s\"");
    let barks = recording.records.iter().filter(|r| r.kind() == Kind::Mark);
    let at: Vec<u64> = barks.map(|r| r.time).collect();
    // At its first turn a second has not passed since the last packet.
    let (turn, soon) = (2_000_000_000_000, 100_000_000);
    assert!(
        at.len() as u64 == found && (turn..turn + soon).contains(&at[0]),
        "{at:?}"
    );
}

/// A softirq that frees skbs finds no lock held by the context below it, or nothing would be sent any more.
#[test]
fn completion_never_waits_for_the_sender_below_it() {
    for seed in 0..6 {
        let outcome = seeded(&direct(&[("measure.window", "\"8ms\"")]), seed);
        let rate = outcome.metrics.pps();
        assert!((1.5e6..1.62e6).contains(&rate), "seed {seed}: {rate}");
    }
}
