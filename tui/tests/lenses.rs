//! What the lenses say about the sample run.

use sim_core::trace::{Kind, Recording};
use tui::lens::cells::{Axis, Columns, Viewport, cells};
use tui::lens::cost::Cost;
use tui::lens::track::{Class, Track};
use tui::lens::{Trace, tables, words};
use tui::testing::{Writer, sample};

fn letters(trace: &Trace, track: &Track, per_col: u64, count: usize) -> String {
    let columns = Columns::new(trace, Axis::Linear, Viewport { start: 0, per_col }, count);
    let letter = |class| match class {
        Class::NONE => ' ',
        Class::IDLE => '.',
        Class::TASK => '=',
        Class::SPIN => 'x',
        Class::TRYLOCK => '!',
        Class::VIOLATION => 'V',
        _ => '?',
    };
    cells(trace, track, &columns)
        .iter()
        .map(|cell| letter(cell.class))
        .collect()
}

/// A span fills exactly the columns that it touches: not the one that begins where it ends.
#[test]
fn spans_fill_their_columns() {
    let mut run = sample();
    let mut w = Writer::default();
    w.put(20, 0, Kind::CtxEnter, 0, 0);
    w.put(30, 0, Kind::SpinBegin, 0, 0);
    w.put(35, 0, Kind::SpinEnd, 0, 5);
    w.put(60, 0, Kind::CtxLeave, 0, 0);
    w.put(72, 0, Kind::TrylockFail, 0, 1);
    run = Recording {
        records: w.in_order(),
        violations: Vec::new(),
        end: 100_000,
        ..run
    };
    let trace = Trace::new(&run);
    // Before the first record nothing is known.
    let contexts = &trace.cpus[0].contexts;
    assert_eq!(letters(&trace, contexts, 10_000, 12), "  =x==.!..  ");
    assert_eq!(letters(&trace, contexts, 5_000, 12), "    ==x=====");
    assert_eq!(letters(&trace, contexts, 1_000_000, 2), "! ");
}

/// Two CPUs that wait for each other's lock for ever: both spin to the end of the run, and the locks' lanes say
/// who holds and who waits. There is no record of a context, as in a run that a schedule decided.
#[test]
fn a_deadlock_can_be_seen() {
    let mut w = Writer::default();
    for cpu in [0, 1] {
        w.put(10, cpu, Kind::LockAcquire, u32::from(cpu), 0);
    }
    w.put(20, 0, Kind::SpinBegin, 3, 0);
    w.put(30, 1, Kind::SpinBegin, 0, 0);
    let run = Recording {
        records: w.in_order(),
        violations: Vec::new(),
        end: 60_000,
        ..sample()
    };
    let trace = Trace::new(&run);
    let drawn = |track| letters(&trace, track, 10_000, 6);
    assert_eq!(
        [
            drawn(&trace.cpus[0].contexts),
            drawn(&trace.cpus[1].contexts)
        ],
        [" =xxxx", " ==xxx"]
    );
    assert_eq!(
        [drawn(&trace.locks[0].owner), drawn(&trace.locks[1].owner)],
        [" =====", " ====="]
    );
    assert_eq!(
        [
            drawn(&trace.locks[0].waiters),
            drawn(&trace.locks[1].waiters)
        ],
        ["   xxx", "  xxxx"]
    );
}

/// The parts of a call add up to it, and a transfer while spinning is waiting, not both.
#[test]
fn the_cost_of_a_call_adds_up() {
    let run = sample();
    let trace = Trace::new(&run);
    let cost = |cpu, from: u64| {
        let span = trace
            .spans
            .iter()
            .find(|s| s.cpu == cpu && trace.time(s.enter as usize) == from * 1_000)
            .unwrap();
        Cost::of(&trace, span)
    };
    let waited = cost(1, 170);
    assert_eq!(
        (waited.total, waited.wait, waited.transfer),
        (890_000, 360_000, 0)
    );
    assert_eq!(waited.instructions(), 530_000);
    let fetched = cost(1, 2_620);
    assert_eq!(
        (fetched.total, fetched.transfer, fetched.instructions()),
        (320_000, 120_000, 200_000)
    );
}

/// What an interrupt takes is not charged to the call it interrupts.
#[test]
fn interrupts_are_told_apart() {
    let mut run = sample();
    let mut w = Writer::default();
    w.put(0, 0, Kind::CtxEnter, 0, 0);
    w.put(10, 0, Kind::FnEnter, 0, 0);
    w.put(20, 0, Kind::CtxLeave, 0, 0);
    w.put(20, 0, Kind::CtxEnter, 2, 0);
    w.put(22, 0, Kind::FnEnter, 3, 0);
    w.put(25, 0, Kind::LineMiss, 0, 2_000);
    w.put(40, 0, Kind::FnLeave, 3, 0);
    w.put(45, 0, Kind::CtxLeave, 2, 0);
    w.put(45, 0, Kind::CtxEnter, 0, 0);
    w.put(60, 0, Kind::FnLeave, 0, 0);
    run = Recording {
        records: w.in_order(),
        violations: Vec::new(),
        end: 100_000,
        ..run
    };
    let trace = Trace::new(&run);
    let cost = Cost::of(&trace, &trace.spans[0]);
    assert_eq!(
        (cost.total, cost.interrupted, cost.transfer),
        (50_000, 25_000, 0)
    );
    // Each record finds the call around it, also in the interrupt and after it.
    let inner = |i| {
        trace
            .span_of(i)
            .map(|span| trace.spans[span as usize].function)
    };
    assert_eq!(
        [inner(1), inner(5), inner(6), inner(9)],
        [Some(0), Some(3), Some(3), Some(0)]
    );
}

/// Transfers are charged to the field whose access asked for them.
#[test]
fn lines_by_field() {
    let run = sample();
    let trace = Trace::new(&run);
    let lines = tables::lines(&trace);
    assert_eq!(
        (
            lines[0].name.as_str(),
            lines[0].stats.transfers,
            lines[0].stats.hitm
        ),
        ("Qdisc d0:0 line 2", 5, 4)
    );
    let fields: Vec<_> = tables::fields(&trace, 0)
        .into_iter()
        .map(|f| (f.offset, f.stats.hitm))
        .collect();
    assert_eq!(fields, [(0, 3), (8, 0), (16, 1)]);
}

/// Every kind has words.
#[test]
fn records_in_words() {
    let run = sample();
    let trace = Trace::new(&run);
    let told = |i| {
        let record = trace.record(i);
        format!(
            "{} {}",
            words::kind(&record),
            words::arguments(&trace, &record)
        )
    };
    let all: Vec<String> = (0..trace.len()).map(told).collect();
    for expected in [
        "store_release qdisc d0:0 seqlock = 0",
        "trylock_fail d0:0 seqlock owner CPU0",
        "line_transfer Qdisc d0:0 line 2 stalled 45 ns",
        "txq_state d0:0 STACK_XOFF",
        "softirq_raise NET_TX",
        "qdisc_dequeue skb:4 from d0:0 pfifo_fast",
    ] {
        assert!(all.iter().any(|text| text == expected), "{expected}");
    }
    for &kind in Kind::ALL {
        let record = sim_core::trace::Record {
            kind: kind as u16,
            a: 99,
            b: 99,
            ..Default::default()
        };
        words::arguments(&trace, &record);
    }
}

/// Records of a ring that wrapped begin in the middle of everything; that must not confuse the lanes.
#[test]
fn a_run_without_its_beginning() {
    let full = sample();
    for cut in 0..full.records.len() {
        let run = Recording {
            records: full.records[cut..].to_vec(),
            dropped: cut as u64,
            ..full.clone()
        };
        let trace = Trace::new(&run);
        for track in trace
            .cpus
            .iter()
            .flat_map(|cpu| [&cpu.contexts, &cpu.innermost])
        {
            for pair in track.items().windows(2) {
                assert!(pair[0].last <= pair[1].first && pair[0].first <= pair[1].first);
            }
        }
        for span in (0..trace.len()).filter_map(|i| trace.span_of(i)) {
            assert!(trace.spans[span as usize].enter < trace.spans[span as usize].leave);
        }
    }
}
