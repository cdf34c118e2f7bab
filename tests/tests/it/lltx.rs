//! Packet sockets: what the transmit lock costs whom, who touches what, and that no frame is lost.

use crate::support::{broken, config, seeded};
use sim_core::config::Config;
use sim_core::trace::{Kind, Mode, Record, Recording};
use sim_core::world::{Options, run};

/// The S0 scenario with this variant, processes and (if any) packets.
fn lltx(variant: &str, processes: &str, packets: Option<u64>, more: &[(&str, &str)]) -> Config {
    let packets = packets.map(|n| n.to_string());
    let mut sets = vec![
        ("sweep", "[]"),
        ("variant", variant),
        ("processes", processes),
        ("measure.warmup", "\"100us\""),
        ("measure.window", "\"400us\""),
    ];
    if let Some(n) = &packets {
        sets.push(("hosts[0].workloads[0].packets", n));
    }
    sets.extend(more);
    config("lltx-direct", &sets)
}

fn recorded(config: &Config) -> Recording {
    let options = Options {
        trace: Mode::All { bytes: 64 << 20 },
        ..Options::default()
    };
    run(config, &options).recording.expect("it was on")
}

fn ns_per_packet(config: &Config) -> f64 {
    let outcome = seeded(config, 0);
    assert_eq!(broken(&outcome), []);
    1e9 / outcome.metrics.pps()
}

/// Alone, a process pays an uncontended lock: a few percent.
#[test]
fn one_process_gains_little() {
    let before = ns_per_packet(&lltx("v3_14", "1", None, &[]));
    let after = ns_per_packet(&lltx("lltx_patch", "1", None, &[]));
    let gain = before / after - 1.0;
    assert!((0.01..0.05).contains(&gain), "{before} to {after}");
}

/// Four pay much more than one, and most of it in waiting.
#[test]
fn four_processes_gain_much() {
    let before = ns_per_packet(&lltx("v3_14", "4", None, &[]));
    let after = ns_per_packet(&lltx("lltx_patch", "4", None, &[]));
    assert!(
        (1.65..2.1).contains(&(before / after)),
        "{before} to {after}"
    );
}

/// Accesses to the transmit queue's written line, in order: kind and field.
fn txq_accesses(recording: &Recording) -> Vec<(Kind, String)> {
    let kinds = [Kind::Load, Kind::Store, Kind::StoreRelease, Kind::Rmw];
    let of_txq = |r: &Record| {
        let name = &recording.names.words[r.a as usize].name;
        let field = name.strip_prefix("netdev_queue du0:0 ")?;
        Some((r.kind(), field.to_owned()))
    };
    recording
        .records
        .iter()
        .filter(|r| kinds.contains(&r.kind()))
        .filter_map(of_txq)
        .collect()
}

/// `packet_direct_xmit` of v3.14 touches the line in the kernel's order; with the patch it only reads it.
#[test]
fn direct_xmit_touches_the_queue_in_the_kernels_order() {
    let before = txq_accesses(&recorded(&lltx("v3_14", "1", Some(1), &[])));
    let told: Vec<String> = before.iter().map(|(k, f)| format!("{k:?} {f}")).collect();
    assert_eq!(
        told,
        [
            "Rmw _xmit_lock",
            "Store xmit_lock_owner",
            "Load state",
            "Load xmit_lock_owner",
            "Store trans_start",
            "Store xmit_lock_owner",
            "Load _xmit_lock",
            "StoreRelease _xmit_lock",
        ]
    );
    for variant in ["lltx_patch", "lltx_drv_stopped", "v6_9"] {
        let after = txq_accesses(&recorded(&lltx(variant, "4", Some(400), &[])));
        assert_eq!(after.len(), 800, "{variant}: state and owner a packet");
        assert!(
            after.iter().all(|(kind, _)| *kind == Kind::Load),
            "{variant} writes nothing"
        );
    }
}

/// Locked operations of each `put_page`, in order.
fn put_page_locks(recording: &Recording) -> Vec<usize> {
    let put_page = recording
        .names
        .functions
        .iter()
        .position(|f| f == "put_page");
    let put_page = put_page.expect("a function") as u32;
    let (mut counts, mut inside) = (Vec::new(), false);
    for r in &recording.records {
        match r.kind() {
            Kind::FnEnter if r.a == put_page => {
                inside = true;
                counts.push(0);
            }
            Kind::FnLeave if r.a == put_page => inside = false,
            Kind::Rmw if inside => *counts.last_mut().expect("entered") += 1,
            _ => {}
        }
    }
    counts
}

/// Up to v4.4 a reference to a tail page goes through its head.
#[test]
fn tail_pages_cost_more_before_v4_5() {
    let old = put_page_locks(&recorded(&lltx("lltx_patch", "1", Some(16), &[])));
    assert_eq!(old, [1, 1, 6, 6, 6, 6, 6, 6].repeat(2));
    let new = [("kernel.base", "\"v4.5\"")];
    let new = put_page_locks(&recorded(&lltx("lltx_patch", "1", Some(16), &new)));
    assert_eq!(new, [1].repeat(16));
}

/// A stopped queue frees the skb and says ENOBUFS; the frame is sent again. Nothing is lost, nothing leaks.
#[test]
fn enobufs_loses_no_packet() {
    let nic = "Nic(tx_ring: 8, rate: \"1Gbit\")";
    for (variant, frames) in [
        ("v3_14", "64"),
        ("lltx_patch", "64"),
        ("v6_9", "64"),
        ("v6_9", "0"),
    ] {
        let sets = [
            ("hosts[0].devices[0].kind", nic),
            ("hosts[0].workloads[0].frames", frames),
            ("kernel.ticks", "off"),
            ("stop", "Quiescent(limit: \"20ms\")"),
        ];
        let config = lltx(variant, "2", Some(300), &sets);
        let recording = recorded(&config);
        let drops = recording
            .records
            .iter()
            .filter(|r| r.kind() == Kind::SkbDrop)
            .count();
        assert!(drops > 0, "{variant}: the queue never stopped");
        let outcome = seeded(&config, 0);
        assert_eq!(broken(&outcome), [], "{variant} {frames}");
        let m = &outcome.metrics;
        let sent: u64 = m.flows.iter().map(|f| f.sent).sum();
        let all = m.devices[0].tx_packets;
        // Counters start after the warm-up.
        assert!(
            sent > 0 && sent <= 300 && all <= 300,
            "{variant}: {sent} {all}"
        );
        assert_eq!(
            m.flows.iter().map(|f| f.errors).sum::<u64>(),
            0,
            "{variant}"
        );
        let alloc = recording
            .records
            .iter()
            .filter(|r| r.kind() == Kind::SkbAlloc)
            .count();
        assert_eq!(
            alloc - drops,
            300,
            "{variant}: each packet once, besides the refused"
        );
    }
}
