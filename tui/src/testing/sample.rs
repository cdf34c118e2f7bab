//! A small run with everything in it that the viewer draws.

use sim_core::trace::{Kind, LineName, NO_CPU, Names, Record, Recording, WordName};
use sim_core::violation::{Law, Violation};

/// Writes a recording by hand.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    /// The records so far.
    pub records: Vec<Record>,
}

impl Writer {
    /// Adds a record `ns` nanoseconds after the start of the run; returns its number.
    pub fn put(&mut self, ns: u64, cpu: u16, kind: Kind, a: u32, b: u32) -> usize {
        self.records.push(Record {
            time: ns * 1_000,
            cpu,
            kind: kind as u16,
            cause: 0,
            a,
            b,
        });
        self.records.len() - 1
    }

    /// Says that the last record was enabled by record `cause`.
    pub fn because(&mut self, cause: usize) {
        let last = self.records.len() - 1;
        self.records[last].cause = (last - cause) as u32;
    }

    /// Sorts by time, keeping the order of records of one moment, and mends the causes.
    pub fn in_order(mut self) -> Vec<Record> {
        let mut order: Vec<usize> = (0..self.records.len()).collect();
        order.sort_by_key(|&i| self.records[i].time);
        let mut moved = vec![0; order.len()];
        for (to, &from) in order.iter().enumerate() {
            moved[from] = to;
        }
        for (i, record) in self.records.iter_mut().enumerate() {
            if record.cause > 0 {
                record.cause = moved[i].saturating_sub(moved[i - record.cause as usize]) as u32;
            }
        }
        order.into_iter().map(|from| self.records[from]).collect()
    }
}

const XMIT: u32 = 0;
const RUN: u32 = 1;
const DIRECT: u32 = 2;
const IRQ: u32 = 3;
const NET_TX: u32 = 4;

const SEQLOCK: u32 = 0;
const STATE: u32 = 1;
const HEAD: u32 = 2;
const BUSYLOCK: u32 = 3;

const CPUS: [u16; 2] = [0, 1];

/// Two CPUs send through `d0:0 pfifo_fast`. CPU1 fails its trylock just before CPU0 stops draining, CPU0 does
/// not look again, and skb 5 stays in the qdisc: [`Law::PacketStuck`]. On the way there are an interrupt, a
/// softirq, a spin on the busylock, and a drop.
pub fn sample() -> Recording {
    let mut w = Writer::default();
    warm_up(&mut w);
    interrupted(&mut w);
    race(&mut w);
    let records = w.in_order();
    let what = "skb 5 stays in qdisc d0:0 pfifo_fast (1 packet), nobody is due to send it";
    Recording {
        names: names(),
        records,
        dropped: 0,
        violations: vec![Violation {
            law: Law::PacketStuck,
            time: 2_900_000,
            cpu: Some(1),
            function: "__dev_queue_xmit",
            what: what.to_owned(),
            skb: Some(5),
            freed_by_next: Some(true),
        }],
        digest: "9a0f83a8d21c77e04be16c5d0f3392a7".to_owned(),
        end: 4_000_000,
        command: "skbsim view two-senders.ron --seed 0x2a".to_owned(),
    }
}

fn names() -> Names {
    let all = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let word = |name: &str, line, offset| WordName {
        name: name.to_owned(),
        line,
        offset,
    };
    let line = |name: &str| LineName {
        name: name.to_owned(),
    };
    Names {
        scenario: "two-senders".to_owned(),
        cpus: all(&["CPU0", "CPU1"]),
        cores: CPUS.to_vec(),
        tasks: all(&["kpktgend_0", "kpktgend_1"]),
        functions: all(&[
            "__dev_queue_xmit",
            "__qdisc_run",
            "sch_direct_xmit",
            "d0_interrupt",
            "net_tx_action",
        ]),
        words: vec![
            word("qdisc d0:0 seqlock", 0, 0),
            word("qdisc d0:0 state", 0, 8),
            word("qdisc d0:0 skb_array.head", 1, 0),
            word("qdisc d0:0 busylock", 0, 16),
        ],
        lines: vec![line("Qdisc d0:0 line 2"), line("Qdisc d0:0 line 5")],
        locks: all(&["d0:0 seqlock", "d0:0 busylock", "d0:0 _xmit_lock"]),
        qdiscs: all(&["d0:0 pfifo_fast"]),
        txqs: all(&["d0:0"]),
        reasons: all(&["QDISC_DROP"]),
        marks: all(&["qdisc_run.next"]),
    }
}

/// CPU0 sends skb 1 alone; CPU1 waits for the busylock and then sends skb 2.
fn warm_up(w: &mut Writer) {
    w.put(0, 0, Kind::CtxEnter, 0, 0);
    w.put(40, 0, Kind::SkbAlloc, 1, 1448);
    w.put(60, 0, Kind::FnEnter, XMIT, 0);
    w.put(100, 0, Kind::LineMiss, 0, 60_000);
    w.put(100, 0, Kind::Rmw, BUSYLOCK, 1);
    w.put(105, 0, Kind::LockAcquire, 1, 0);
    w.put(160, 0, Kind::QdiscEnqueue, 1, 0);
    w.put(160, 0, Kind::QdiscLen, 0, 1);
    send(w, 200, 0, 1);
    let released = w.put(520, 0, Kind::LockRelease, 1, 415);
    w.put(520, 0, Kind::StoreRelease, BUSYLOCK, 0);
    w.put(560, 0, Kind::FnLeave, XMIT, 0);

    w.put(120, 1, Kind::CtxEnter, 0, 1);
    w.put(150, 1, Kind::SkbAlloc, 2, 1448);
    w.put(170, 1, Kind::FnEnter, XMIT, 0);
    w.put(220, 1, Kind::SpinBegin, BUSYLOCK, 0);
    w.put(580, 1, Kind::LineMiss, 0, 45_000);
    w.put(580, 1, Kind::LineFrom, 0, 0);
    w.put(580, 1, Kind::Rmw, BUSYLOCK, 1);
    w.put(580, 1, Kind::SpinEnd, BUSYLOCK, 360);
    w.because(released);
    w.put(580, 1, Kind::LockAcquire, 1, 360);
    w.because(released);
    w.put(640, 1, Kind::QdiscEnqueue, 2, 0);
    w.put(640, 1, Kind::QdiscLen, 0, 1);
    send(w, 680, 1, 2);
    w.put(1_020, 1, Kind::LockRelease, 1, 440);
    w.put(1_060, 1, Kind::FnLeave, XMIT, 0);
}

/// One packet out of the qdisc and through the driver: 300 ns from `at` on.
fn send(w: &mut Writer, at: u64, cpu: u16, skb: u32) {
    w.put(at, cpu, Kind::Rmw, SEQLOCK, 1);
    w.put(at + 10, cpu, Kind::LockAcquire, 0, 0);
    w.put(at + 20, cpu, Kind::FnEnter, RUN, 0);
    let dequeued = w.put(at + 60, cpu, Kind::QdiscDequeue, skb, 0);
    w.put(at + 60, cpu, Kind::QdiscLen, 0, 0);
    w.put(at + 80, cpu, Kind::FnEnter, DIRECT, 0);
    w.put(at + 90, cpu, Kind::LockAcquire, 2, 0);
    let sent = w.put(at + 160, cpu, Kind::DevXmit, skb, 0);
    w.because(dequeued);
    w.put(at + 200, cpu, Kind::Doorbell, 0, skb);
    w.because(sent);
    w.put(at + 220, cpu, Kind::LockRelease, 2, 130);
    w.put(at + 240, cpu, Kind::FnLeave, DIRECT, 0);
    w.put(at + 280, cpu, Kind::FnLeave, RUN, 0);
    w.put(at + 290, cpu, Kind::StoreRelease, SEQLOCK, 0);
    w.put(at + 290, cpu, Kind::LockRelease, 0, 280);
}

/// CPU0 is interrupted, frees what was sent, and drops skb 3.
fn interrupted(w: &mut Writer) {
    w.put(1_200, 0, Kind::CtxLeave, 0, 0);
    w.put(1_200, 0, Kind::CtxEnter, 2, 0);
    w.put(1_210, 0, Kind::FnEnter, IRQ, 0);
    w.put(1_260, NO_CPU, Kind::TxqState, 0, 2);
    let raised = w.put(1_300, 0, Kind::SoftirqRaise, 2, 0);
    w.put(1_340, 0, Kind::FnLeave, IRQ, 0);
    w.put(1_350, 0, Kind::CtxLeave, 2, 0);
    w.put(1_350, 0, Kind::CtxEnter, 1, 0);
    w.because(raised);
    w.put(1_360, 0, Kind::FnEnter, NET_TX, 0);
    w.put(1_450, 0, Kind::SkbFree, 1, 0);
    w.put(1_500, 0, Kind::SkbFree, 2, 0);
    w.put(1_560, 0, Kind::TxqState, 0, 0);
    w.put(1_600, 0, Kind::FnLeave, NET_TX, 0);
    w.put(1_610, 0, Kind::CtxLeave, 1, 0);
    w.put(1_610, 0, Kind::CtxEnter, 0, 0);
    w.put(1_700, 0, Kind::SkbAlloc, 3, 9000);
    w.put(1_760, 0, Kind::SkbDrop, 3, 0);
}

/// The race: CPU0 has looked for the last time, CPU1 still finds the lock taken.
fn race(w: &mut Writer) {
    w.put(2_180, 0, Kind::SkbAlloc, 4, 1448);
    w.put(2_200, 0, Kind::FnEnter, XMIT, 0);
    w.put(2_240, 0, Kind::LineMiss, 1, 45_000);
    w.put(2_240, 0, Kind::LineFrom, 1, 1);
    w.put(2_240, 0, Kind::QdiscEnqueue, 4, 0);
    w.put(2_240, 0, Kind::QdiscLen, 0, 1);
    w.put(2_320, 0, Kind::LineMiss, 0, 45_000);
    w.put(2_320, 0, Kind::LineFrom, 0, 1);
    w.put(2_320, 0, Kind::Rmw, SEQLOCK, 1);
    let owned = w.put(2_330, 0, Kind::LockAcquire, 0, 0);
    w.put(2_340, 0, Kind::FnEnter, RUN, 0);
    w.put(2_380, 0, Kind::QdiscDequeue, 4, 0);
    w.put(2_380, 0, Kind::QdiscLen, 0, 0);
    w.put(2_400, 0, Kind::FnEnter, DIRECT, 0);
    w.put(2_410, 0, Kind::LockAcquire, 2, 0);
    w.put(2_560, 0, Kind::DevXmit, 4, 0);
    w.put(2_600, 0, Kind::Doorbell, 0, 3);
    w.put(2_620, 0, Kind::LockRelease, 2, 210);
    w.put(2_640, 0, Kind::FnLeave, DIRECT, 0);
    w.put(2_660, 0, Kind::Mark, 0, 0);
    w.put(2_680, 0, Kind::Load, HEAD, 0);
    w.put(2_720, 0, Kind::FnLeave, RUN, 0);

    w.put(2_600, 1, Kind::SkbAlloc, 5, 1448);
    w.put(2_620, 1, Kind::FnEnter, XMIT, 0);
    w.put(2_740, 1, Kind::LineMiss, 1, 60_000);
    w.put(2_740, 1, Kind::LineFrom, 1, 0);
    w.put(2_745, 1, Kind::Store, HEAD, 5);
    w.put(2_760, 1, Kind::QdiscEnqueue, 5, 0);
    w.put(2_760, 1, Kind::QdiscLen, 0, 1);
    w.put(2_800, 1, Kind::Drain, HEAD, 5);
    w.put(2_880, 1, Kind::LineMiss, 0, 60_000);
    w.put(2_880, 1, Kind::LineFrom, 0, 0);
    w.put(2_880, 1, Kind::Load, SEQLOCK, 1);
    w.put(2_900, 1, Kind::TrylockFail, 0, 0);
    w.because(owned);
    w.put(2_940, 1, Kind::FnLeave, XMIT, 1);
    w.put(3_000, 1, Kind::CtxLeave, 0, 0);

    w.put(2_960, 0, Kind::StoreRelease, SEQLOCK, 0);
    w.put(2_960, 0, Kind::LockRelease, 0, 630);
    w.put(3_020, 0, Kind::LineMiss, 0, 45_000);
    w.put(3_020, 0, Kind::LineFrom, 0, 1);
    w.put(3_020, 0, Kind::Drain, SEQLOCK, 0);
    w.put(3_040, 0, Kind::Load, STATE, 0);
    w.put(3_080, 0, Kind::FnLeave, XMIT, 0);
    w.put(3_140, 0, Kind::CtxLeave, 0, 0);
    w.put(4_000, NO_CPU, Kind::Violation, 0, 0);
}
