//! Long runs: nothing severe is lost, and a frame costs the same however long the run is.

use sim_core::trace::{Kind, Names, Recording};
use tui::testing::{Harness, Writer};

fn names(cpus: u16) -> Names {
    Names {
        cpus: (0..cpus).map(|cpu| format!("CPU{cpu}")).collect(),
        cores: (0..cpus).collect(),
        tasks: vec!["pktgen".to_owned()],
        functions: vec!["qdisc_run".to_owned(), "dequeue".to_owned()],
        reasons: vec!["QDISC_DROP".to_owned()],
        locks: vec!["seqlock".to_owned()],
        qdiscs: vec!["d0:0".to_owned()],
        ..Names::default()
    }
}

/// A drop that took 10 ns of a run of 10 s is seen in 80 columns with all of the run in view, in the overview
/// and in the lane of its CPU.
#[test]
fn a_short_finding_in_a_long_run_is_seen() {
    let mut w = Writer::default();
    let second = 1_000_000_000;
    for at in 0..10_000 {
        w.put(at * second / 1_000, 0, Kind::CtxEnter, 0, 0);
        w.put(at * second / 1_000 + 500_000, 0, Kind::CtxLeave, 0, 0);
    }
    w.put(7 * second + 10, 0, Kind::SkbDrop, 1, 0);
    w.put(7 * second + 20, 0, Kind::CtxEnter, 2, 0);
    let run = Recording {
        names: names(1),
        records: w.in_order(),
        end: 10 * second * 1_000,
        ..Recording::default()
    };
    let mut ui = Harness::open(&run);
    let screen = ui.screen(80, 24);
    let drops = |lane: &str| {
        screen
            .lines()
            .find(|line| line.contains(lane))
            .unwrap()
            .matches('*')
            .count()
    };
    assert_eq!(
        [drops("busy"), drops("marks"), drops("CPU0")],
        [1, 1, 1],
        "{screen}"
    );
}

/// The number of index entries a frame looks at has a bound that does not know the length of the run.
#[test]
fn a_frame_touches_few_index_entries() {
    let run = long(200_000);
    let mut ui = Harness::open(&run);
    ui.resize(120, 40);
    for keys in ["", "+", "+++++++", "Zx", "xGGgz", "$", "0", "!"] {
        ui.press(keys);
        ui.app.trace.touched.set(0);
        ui.screen(120, 40);
        let geometry = ui.app.geometry();
        // The overview is one lane more.
        let bound = 4 * u64::from(geometry.plot) * (u64::from(geometry.lanes) + 1);
        let touched = ui.app.trace.touched.get();
        assert!(
            touched > 0 && touched <= bound,
            "{keys}: {touched} > {bound}"
        );
    }
}

/// A run of `calls` nested calls on each of 8 CPUs.
fn long(calls: u64) -> Recording {
    let mut w = Writer::default();
    for cpu in 0..8 {
        w.put(0, cpu, Kind::CtxEnter, 0, 0);
    }
    for call in 0..calls {
        let (at, cpu) = (call * 100, (call * 7 % 8) as u16);
        w.put(at + 1, cpu, Kind::FnEnter, 0, 0);
        w.put(at + 5, cpu, Kind::LockAcquire, 0, 0);
        w.put(at + 10, cpu, Kind::FnEnter, 1, 0);
        w.put(at + 10, cpu, Kind::QdiscLen, 0, (call % 40) as u32);
        w.put(at + 40, cpu, Kind::FnLeave, 1, 0);
        w.put(at + 70, cpu, Kind::LockRelease, 0, 65);
        w.put(at + 80, cpu, Kind::FnLeave, 0, 0);
        if call == calls / 2 {
            w.put(at + 90, cpu, Kind::TrylockFail, 0, 0);
        }
    }
    Recording {
        names: names(8),
        records: w.records,
        end: calls * 100_000,
        ..Recording::default()
    }
}

/// More lanes than rows: the focused one is always seen, pinned ones stay, and names of other hosts keep the
/// lists aligned.
#[test]
fn more_lanes_than_rows() {
    let mut run = long(2_000);
    run.names.cpus = (0..8)
        .map(|cpu| format!("host{}/CPU{cpu}", cpu / 4))
        .collect();
    let mut ui = Harness::open(&run);
    ui.resize(80, 24);
    ui.press("gj⏎j⏎");
    ui.press("p");
    for _ in 0..ui.app.lanes().len() {
        let screen = ui.press("j").screen(80, 24);
        assert_eq!(
            screen
                .lines()
                .filter(|line| line.starts_with('>') && line.contains('|'))
                .count(),
            1,
            "{screen}"
        );
        assert!(
            screen
                .lines()
                .any(|line| line.starts_with(" ^") || line.starts_with(">^")),
            "{screen}"
        );
    }
    assert!(
        ui.press("3")
            .screen(80, 24)
            .contains(" host1/CPU7 ctx_enter     ")
    );
}
