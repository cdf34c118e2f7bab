//! From one record to those that belong to it: causes, effects, its packet, its neighbours in a lane.

use super::Trace;
use super::lanes::LaneKey;
use super::words;
use sim_core::trace::{Kind, Record};

/// How far back to look for the packet that a record without one belongs to.
const NEIGHBOURS: usize = 256;

/// The record that enabled record `i`.
pub fn cause(trace: &Trace, i: usize) -> Option<usize> {
    let back = trace.record(i).cause as usize;
    (back > 0).then(|| i.checked_sub(back)).flatten()
}

/// The first record that record `i` enabled.
pub fn effect(trace: &Trace, i: usize) -> Option<usize> {
    effect_within(trace, i, usize::MAX)
}

/// The same, if it is among the `within` records after `i`.
pub fn effect_within(trace: &Trace, i: usize, within: usize) -> Option<usize> {
    (i + 1..trace.len().min(i.saturating_add(within)))
        .find(|&later| trace.record(later).cause as usize == later - i)
}

/// The packet of record `i`: its own, that of a finding at it, or the last one its CPU had in hand.
pub fn skb(trace: &Trace, i: usize) -> Option<u32> {
    if i >= trace.len() {
        return None;
    }
    let record = trace.record(i);
    let blamed = || {
        let here = trace
            .findings
            .iter()
            .filter(|finding| finding.record as usize == i);
        here.filter_map(|f| trace.source().violations().get(f.violation? as usize)?.skb)
            .next()
    };
    let in_hand = || {
        let before = (i.saturating_sub(NEIGHBOURS)..i)
            .rev()
            .map(|earlier| trace.record(earlier));
        before
            .filter(|earlier| earlier.cpu == record.cpu)
            .find_map(|earlier| words::skb(trace, &earlier))
    };
    words::skb(trace, &record).or_else(blamed).or_else(in_hand)
}

/// The next (`step` 1) or previous (-1) record of a lane, seen from record `from`.
pub fn neighbour(trace: &Trace, lane: LaneKey, from: usize, step: isize) -> Option<usize> {
    let mut at = from;
    loop {
        at = at.checked_add_signed(step).filter(|&at| at < trace.len())?;
        if belongs(trace, lane, &trace.record(at)) {
            return Some(at);
        }
    }
}

/// Whether a record is one that a lane is drawn from (for a CPU: any of its records).
pub fn belongs(trace: &Trace, lane: LaneKey, record: &Record) -> bool {
    let kind = record.kind();
    match lane {
        LaneKey::Context(cpu) => record.cpu == cpu,
        LaneKey::Function(cpu) | LaneKey::Depth(cpu, _) => {
            record.cpu == cpu && matches!(kind, Kind::FnEnter | Kind::FnLeave)
        }
        LaneKey::Owner(lock) | LaneKey::Waiters(lock) => {
            matches!(
                kind,
                Kind::LockAcquire | Kind::LockRelease | Kind::TrylockFail
            ) && record.a == lock
        }
        LaneKey::Qdisc(qdisc) => match kind {
            Kind::QdiscEnqueue | Kind::QdiscDequeue | Kind::QdiscRequeue => record.b == qdisc,
            Kind::QdiscLen | Kind::NetifSchedule => record.a == qdisc,
            _ => false,
        },
        LaneKey::Txq(txq) => match kind {
            Kind::DevXmit => record.b == txq,
            Kind::TxqState | Kind::Doorbell => record.a == txq,
            _ => false,
        },
        LaneKey::Line(line) => match kind {
            Kind::LineMiss | Kind::LineFrom => record.a == line,
            Kind::Load | Kind::Store | Kind::StoreRelease | Kind::Rmw | Kind::Drain => trace
                .names
                .words
                .get(record.a as usize)
                .is_some_and(|word| word.line == line),
            _ => false,
        },
        LaneKey::Marks => matches!(
            kind,
            Kind::Violation | Kind::SkbDrop | Kind::TrylockFail | Kind::Mark
        ),
    }
}
