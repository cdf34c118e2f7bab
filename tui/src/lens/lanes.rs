//! Which lanes there are, in which order, and which of them are shown.

use super::{Trace, words};
use sim_core::trace::Kind;
use std::collections::BTreeSet;

/// Lines shown before the rest is asked for.
const LINES_SHOWN: usize = 3;

/// A lane, by what it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneKey {
    /// Findings, failed trylocks, and the user's marks.
    Marks,
    /// Contexts of a CPU.
    Context(u16),
    /// Innermost function on a CPU.
    Function(u16),
    /// Functions on a CPU at one depth of calls.
    Depth(u16, u8),
    /// Who holds a lock.
    Owner(u32),
    /// Who waits for a lock.
    Waiters(u32),
    /// Length of a qdisc.
    Qdisc(u32),
    /// State of a transmit queue.
    Txq(u32),
    /// Which core has a cache line.
    Line(u32),
}

/// What the user did to the lanes. `u` goes back by whole layouts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Lanes that are hidden.
    pub hidden: BTreeSet<LaneKey>,
    /// Lanes that stay at the top, in the order in which they were pinned.
    pub pinned: Vec<LaneKey>,
    /// Lanes whose fold differs from the default.
    pub toggled: BTreeSet<LaneKey>,
    /// Whether every line that moved has a lane.
    pub all_lines: bool,
}

/// The lanes to show, pinned ones first. `functions`: whether there is room for function rows.
pub fn lanes(trace: &Trace, layout: &Layout, functions: bool) -> Vec<LaneKey> {
    let mut rows: Vec<LaneKey> = layout.pinned.clone();
    let mut all = vec![LaneKey::Marks];
    for (cpu, tracks) in trace.cpus.iter().enumerate() {
        if tracks.contexts.items().len() > 1 || !tracks.innermost.items().is_empty() {
            cpu_lanes(trace, layout, functions, cpu as u16, &mut all);
        }
    }
    for (lock, tracks) in trace.locks.iter().enumerate() {
        let owner = LaneKey::Owner(lock as u32);
        if tracks.stats.acquired + tracks.stats.failed > 0 {
            all.push(owner);
            if !tracks.waiters.items().is_empty() && !layout.toggled.contains(&owner) {
                all.push(LaneKey::Waiters(lock as u32));
            }
        }
    }
    let changed = |n: &usize| trace.qdiscs[*n].len.items().len() > 1;
    all.extend(
        (0..trace.qdiscs.len())
            .filter(changed)
            .map(|n| LaneKey::Qdisc(n as u32)),
    );
    let changed = |n: &usize| trace.txqs[*n].items().len() > 1;
    all.extend(
        (0..trace.txqs.len())
            .filter(changed)
            .map(|n| LaneKey::Txq(n as u32)),
    );
    let shown = if layout.all_lines {
        usize::MAX
    } else {
        LINES_SHOWN
    };
    all.extend(
        trace
            .busiest_lines
            .iter()
            .take(shown)
            .map(|&line| LaneKey::Line(line)),
    );
    all.retain(|lane| !layout.hidden.contains(lane) && !layout.pinned.contains(lane));
    rows.extend(all);
    rows
}

fn cpu_lanes(trace: &Trace, layout: &Layout, functions: bool, cpu: u16, all: &mut Vec<LaneKey>) {
    let (context, function) = (LaneKey::Context(cpu), LaneKey::Function(cpu));
    all.push(context);
    if functions == layout.toggled.contains(&context)
        || trace.cpus[usize::from(cpu)].depths.is_empty()
    {
        return;
    }
    all.push(function);
    if layout.toggled.contains(&function) {
        let depths = trace.cpus[usize::from(cpu)].depths.len() as u8;
        all.extend((0..depths).map(|depth| LaneKey::Depth(cpu, depth)));
    }
}

/// Whether Enter would do something to the lane, and whether it did: `Some(true)` is unfolded.
pub fn fold(trace: &Trace, layout: &Layout, functions: bool, lane: LaneKey) -> Option<bool> {
    let toggled = layout.toggled.contains(&lane);
    match lane {
        LaneKey::Context(cpu) => {
            (!trace.cpus[usize::from(cpu)].depths.is_empty()).then_some(functions != toggled)
        }
        LaneKey::Function(_) => Some(toggled),
        LaneKey::Owner(lock) => {
            (!trace.locks[lock as usize].waiters.items().is_empty()).then_some(!toggled)
        }
        LaneKey::Line(_) => (trace.busiest_lines.len() > LINES_SHOWN).then_some(layout.all_lines),
        _ => None,
    }
}

/// The name in the margin and the name of the part of it.
pub fn title(trace: &Trace, lane: LaneKey) -> (String, &'static str) {
    let names = &trace.names;
    match lane {
        LaneKey::Marks => ("marks".to_owned(), ""),
        LaneKey::Context(cpu) => (words::cpu(names, cpu), "ctx"),
        LaneKey::Function(_) => (String::new(), "fn"),
        LaneKey::Depth(_, depth) => (
            String::new(),
            DEPTHS[usize::from(depth).min(DEPTHS.len() - 1)],
        ),
        LaneKey::Owner(lock) => (words::name(&names.locks, lock), "own"),
        LaneKey::Waiters(_) => (String::new(), "wait"),
        LaneKey::Qdisc(qdisc) => match trace.qdiscs[qdisc as usize].per_digit {
            1 => (words::name(&names.qdiscs, qdisc), "len"),
            10 => (words::name(&names.qdiscs, qdisc), "/10"),
            100 => (words::name(&names.qdiscs, qdisc), "/100"),
            _ => (words::name(&names.qdiscs, qdisc), "/1k+"),
        },
        LaneKey::Txq(txq) => (format!("txq {}", words::name(&names.txqs, txq)), ""),
        LaneKey::Line(line) => (words::line(names, line), "core"),
    }
}

const DEPTHS: [&str; 12] = [
    "fn.0", "fn.1", "fn.2", "fn.3", "fn.4", "fn.5", "fn.6", "fn.7", "fn.8", "fn.9", "f.10", "f.11",
];

/// The lane on which record `i` is best seen.
pub fn home(trace: &Trace, i: usize) -> LaneKey {
    let record = trace.record(i);
    match record.kind() {
        _ if usize::from(record.cpu) < trace.cpus.len() => LaneKey::Context(record.cpu),
        Kind::QdiscLen if (record.a as usize) < trace.qdiscs.len() => LaneKey::Qdisc(record.a),
        Kind::TxqState | Kind::Doorbell | Kind::WireDone
            if (record.a as usize) < trace.txqs.len() =>
        {
            LaneKey::Txq(record.a)
        }
        _ => LaneKey::Marks,
    }
}
