//! The one pass over a run that fills the lanes.

mod rows;

use super::overview::Load;
use super::track::{Class, Item, Steps, Track};
use super::{CpuTracks, Finding, LineStats, LineTracks, LockStats, LockTracks, Span, Trace, words};
use rows::{decisive_records, finish_line, qdisc, set_span, waiters};
use sim_core::trace::{Kind, Level, Record, Source};
use std::cell::Cell;

/// Deeper calls are still innermost spans; they only have no row of their own.
const DEPTHS_MAX: usize = 12;

/// Reads a run. One pass over its records, then the indices.
pub(super) fn build(source: &dyn Source) -> Trace<'_> {
    let names = words::safe_names(source.names());
    let mut decisive = decisive_records(source);
    decisive.sort_unstable();
    let mut decisive = decisive.into_iter().peekable();
    let mut pass = Pass::new(source, &names);
    for i in 0..source.len() {
        let record = source.get(i);
        pass.record(i as u32, &record);
        while let Some((_, violation)) = decisive.next_if(|&(at, _)| at == i as u32) {
            pass.finding(i as u32, record.cpu, Some(violation));
        }
    }
    pass.trace(source, names.clone())
}

#[derive(Clone, Debug, Default)]
struct Context {
    calls: Vec<u32>,
    spins_on: Option<u32>,
}

struct CpuState {
    contexts: Steps,
    innermost: Steps,
    depths: Vec<Steps>,
    /// Context that runs, and how its lane shows it; `None` while idle.
    runs: Option<(usize, Class, u32)>,
    seen: bool,
    /// The transfer that no access has been charged with yet: line, picoseconds, dirty.
    fetched: Option<(u32, u64, bool)>,
}

struct LockState {
    owner: Steps,
    waits: Vec<(u32, u32, u16)>,
    failed: Vec<(u32, u16)>,
    stats: LockStats,
}

struct Pass<'n> {
    names: &'n sim_core::trace::Names,
    times: Box<dyn Fn(u64) -> u32 + 'n>,
    cpus: Vec<CpuState>,
    contexts: Vec<Context>,
    locks: Vec<LockState>,
    lock_of_word: Vec<Option<u32>>,
    spinning: Vec<Option<(u32, u32)>>,
    qdiscs: Vec<Vec<(u32, u32)>>,
    txqs: Vec<Steps>,
    lines: Vec<Option<(Steps, LineStats)>>,
    words: Vec<LineStats>,
    spans: Vec<Span>,
    findings: Vec<Finding>,
    marks: Vec<Item>,
    records: u32,
}

impl<'n> Pass<'n> {
    fn new(source: &'n dyn Source, names: &'n sim_core::trace::Names) -> Pass<'n> {
        let cpu = || CpuState {
            contexts: Steps::new(Class::IDLE),
            innermost: Steps::new(Class::NONE),
            depths: Vec::new(),
            runs: None,
            seen: false,
            fetched: None,
        };
        let lock = || LockState {
            owner: Steps::new(Class::IDLE),
            waits: Vec::new(),
            failed: Vec::new(),
            stats: LockStats::default(),
        };
        let lock_of = |word: &sim_core::trace::WordName| {
            names
                .locks
                .iter()
                .position(|lock| {
                    word.name
                        .strip_suffix(lock.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.ends_with(' '))
                })
                .map(|lock| lock as u32)
        };
        Pass {
            names,
            times: Box::new(move |time| {
                super::first(source.len(), |i| source.get(i).time >= time) as u32
            }),
            cpus: names.cpus.iter().map(|_| cpu()).collect(),
            contexts: vec![Context::default(); names.tasks.len() + 3 * names.cpus.len()],
            locks: names.locks.iter().map(|_| lock()).collect(),
            lock_of_word: names.words.iter().map(lock_of).collect(),
            spinning: vec![None; names.cpus.len()],
            qdiscs: vec![Vec::new(); names.qdiscs.len()],
            txqs: names.txqs.iter().map(|_| Steps::new(Class::IDLE)).collect(),
            lines: names.lines.iter().map(|_| None).collect(),
            words: vec![LineStats::default(); names.words.len()],
            spans: Vec::new(),
            findings: Vec::new(),
            marks: Vec::new(),
            records: source.len() as u32,
        }
    }

    fn record(&mut self, i: u32, record: &Record) {
        let (a, b) = (record.a as usize, record.b);
        match record.kind() {
            Kind::SkbDrop => self.finding(i, record.cpu, None),
            Kind::QdiscLen => {
                if let Some(lengths) = self.qdiscs.get_mut(a) {
                    lengths.push((i, b));
                }
            }
            Kind::TxqState => {
                if let Some(txq) = self.txqs.get_mut(a) {
                    txq.set(i, if b == 0 { Class::IDLE } else { Class::TASK }, b);
                }
            }
            Kind::Doorbell => {
                if let Some(txq) = self.txqs.get_mut(a) {
                    txq.point(i, Class::DOORBELL, b);
                }
            }
            Kind::DevXmit => {
                if let Some(txq) = self.txqs.get_mut(b as usize) {
                    txq.point(i, Class::XMIT, record.a);
                }
            }
            Kind::Violation => self.finding(i, record.cpu, Some(record.a)),
            _ => {}
        }
        if usize::from(record.cpu) < self.cpus.len() {
            self.on_cpu(i, record);
        }
    }

    fn on_cpu(&mut self, i: u32, record: &Record) {
        let cpu = usize::from(record.cpu);
        self.infer_context(i, cpu, record.kind());
        match record.kind() {
            Kind::CtxEnter => self.context_enters(i, cpu, record),
            Kind::CtxLeave => self.context_leaves(i, cpu, record.a),
            Kind::FnEnter => self.function_enters(i, cpu, record.a),
            Kind::FnLeave => self.function_leaves(i, cpu, record.a),
            Kind::SpinBegin => {
                self.spinning[cpu] = Some((i, record.a));
                self.spins(i, cpu, Some(record.a));
            }
            Kind::SpinEnd => {
                self.spinning[cpu] = None;
                self.spins(i, cpu, None);
            }
            Kind::LockAcquire => self.lock_acquired(i, record),
            Kind::LockRelease => self.lock_released(i, record),
            Kind::TrylockFail => self.trylock_failed(i, record),
            Kind::LineMiss => self.line_missed(i, cpu, record),
            Kind::LineFrom => self.line_from(i, cpu, record),
            Kind::Load | Kind::Store | Kind::StoreRelease | Kind::Rmw | Kind::Drain => {
                self.accessed(i, cpu, record)
            }
            _ => {}
        }
    }

    /// Code that runs before the first switch (the records begin late, or tell of no contexts) runs in some
    /// context; a task is the least that can be said.
    fn infer_context(&mut self, i: u32, cpu: usize, kind: Kind) {
        let state = &mut self.cpus[cpu];
        let by_code = matches!(
            kind,
            Kind::FnEnter | Kind::Load | Kind::Store | Kind::Rmw | Kind::LockAcquire
        );
        if by_code && !state.seen && state.contexts.class() == Class::IDLE {
            state.contexts.set(i, Class::TASK, u32::MAX);
        }
    }

    fn context_enters(&mut self, i: u32, cpu: usize, record: &Record) {
        let tasks = self.names.tasks.len();
        let level = Level::from_number(record.a.min(2));
        let (context, class, value) = match level {
            Level::Task => (
                (record.b as usize).min(tasks.saturating_sub(1)),
                Class::TASK,
                record.b,
            ),
            Level::Softirq => (tasks + 3 * cpu, Class::SOFTIRQ, 0),
            Level::Hardirq => (tasks + 3 * cpu + 1, Class::HARDIRQ, 0),
        };
        self.cpus[cpu].seen = true;
        self.cpus[cpu].runs = Some((context, class, value));
        self.show(i, cpu);
    }

    fn context_leaves(&mut self, i: u32, cpu: usize, level: u32) {
        let state = &mut self.cpus[cpu];
        if !state.seen {
            // The records begin in the middle of the run: it was in this context all along.
            state.contexts.was(
                [Class::TASK, Class::SOFTIRQ, Class::HARDIRQ][level.min(2) as usize],
                u32::MAX,
            );
        }
        state.seen = true;
        state.runs = None;
        self.show(i, cpu);
    }

    /// The calls of the context that runs, or of nobody in particular before the first switch.
    fn running(&mut self, cpu: usize) -> &mut Context {
        let anonymous = self.names.tasks.len() + 3 * cpu + 2;
        let context = self.cpus[cpu]
            .runs
            .map_or(anonymous, |(context, ..)| context);
        &mut self.contexts[context]
    }

    /// Sets every lane of a CPU to the context that runs there now.
    fn show(&mut self, i: u32, cpu: usize) {
        let calls = match self.cpus[cpu].runs {
            Some(_) => self.running(cpu).calls.clone(),
            None => Vec::new(),
        };
        self.show_context(i, cpu);
        let state = &mut self.cpus[cpu];
        set_span(&mut state.innermost, i, calls.last().copied());
        for (depth, track) in state.depths.iter_mut().enumerate() {
            set_span(track, i, calls.get(depth).copied());
        }
    }

    fn show_context(&mut self, i: u32, cpu: usize) {
        let spins_on = self.running(cpu).spins_on;
        let state = &mut self.cpus[cpu];
        match (state.runs, spins_on) {
            (_, Some(word)) if state.runs.is_some() || !state.seen => {
                state.contexts.set(i, Class::SPIN, word)
            }
            (Some((_, class, value)), _) => state.contexts.set(i, class, value),
            (None, _) if !state.seen => state.contexts.set(i, Class::TASK, u32::MAX),
            (None, _) => state.contexts.set(i, Class::IDLE, 0),
        }
    }

    fn spins(&mut self, i: u32, cpu: usize, word: Option<u32>) {
        self.running(cpu).spins_on = word;
        self.show_context(i, cpu);
    }

    fn function_enters(&mut self, i: u32, cpu: usize, function: u32) {
        let span = self.spans.len() as u32;
        let calls = &mut self.running(cpu).calls;
        let depth = calls.len();
        calls.push(span);
        self.spans.push(Span {
            enter: i,
            leave: self.records,
            function,
            cpu: cpu as u16,
            depth: depth as u16,
        });
        let state = &mut self.cpus[cpu];
        set_span(&mut state.innermost, i, Some(span));
        if depth < DEPTHS_MAX {
            if state.depths.len() <= depth {
                state.depths.resize(depth + 1, Steps::new(Class::NONE));
            }
            set_span(&mut state.depths[depth], i, Some(span));
        }
    }

    fn function_leaves(&mut self, i: u32, cpu: usize, function: u32) {
        let spans = &mut self.spans;
        let anonymous = self.names.tasks.len() + 3 * cpu + 2;
        let context = self.cpus[cpu]
            .runs
            .map_or(anonymous, |(context, ..)| context);
        let calls = &mut self.contexts[context].calls;
        // A return without a call: the records begin inside the function.
        let Some(depth) = calls
            .iter()
            .rposition(|&span| spans[span as usize].function == function)
        else {
            return;
        };
        for span in calls.drain(depth..) {
            spans[span as usize].leave = i;
        }
        let caller = calls.last().copied();
        let state = &mut self.cpus[cpu];
        set_span(&mut state.innermost, i, caller);
        for track in state.depths.iter_mut().skip(depth) {
            set_span(track, i, None);
        }
    }

    fn lock_acquired(&mut self, i: u32, record: &Record) {
        let waited = u64::from(record.b);
        let began = (waited > 0).then(|| (self.times)(record.time.saturating_sub(waited * 1_000)));
        let Some(lock) = self.locks.get_mut(record.a as usize) else {
            return;
        };
        lock.owner.set(i, Class::TASK, u32::from(record.cpu));
        lock.stats.acquired += 1;
        lock.stats.contended += u64::from(waited > 0);
        lock.stats.wait_total += waited;
        lock.stats.wait_max = lock.stats.wait_max.max(waited);
        if let Some(began) = began {
            lock.waits.push((began.min(i), i, record.cpu));
        }
    }

    fn lock_released(&mut self, i: u32, record: &Record) {
        let Some(lock) = self.locks.get_mut(record.a as usize) else {
            return;
        };
        lock.owner.set(i, Class::IDLE, 0);
        lock.stats.hold_total += u64::from(record.b);
        lock.stats.hold_max = lock.stats.hold_max.max(u64::from(record.b));
    }

    fn trylock_failed(&mut self, i: u32, record: &Record) {
        self.point(i, record.cpu, Class::TRYLOCK, record.a);
        let Some(lock) = self.locks.get_mut(record.a as usize) else {
            return;
        };
        lock.stats.failed += 1;
        lock.failed.push((i, record.cpu));
    }

    fn line(&mut self, line: u32) -> Option<&mut (Steps, LineStats)> {
        let line = self.lines.get_mut(line as usize)?;
        Some(line.get_or_insert_with(|| (Steps::new(Class::IDLE), LineStats::default())))
    }

    fn core(&self, cpu: usize) -> u32 {
        self.names
            .cores
            .get(cpu)
            .map_or(cpu as u32, |&core| u32::from(core))
    }

    fn line_missed(&mut self, i: u32, cpu: usize, record: &Record) {
        let core = self.core(cpu);
        self.cpus[cpu].fetched = Some((record.a, u64::from(record.b), false));
        let Some((owner, stats)) = self.line(record.a) else {
            return;
        };
        stats.transfers += 1;
        stats.stall += u64::from(record.b);
        owner.set(i, Class::TASK, core);
    }

    fn line_from(&mut self, i: u32, cpu: usize, record: &Record) {
        let core = self.core(cpu);
        if let Some((line, _, dirty)) = &mut self.cpus[cpu].fetched {
            *dirty |= *line == record.a;
        }
        let Some((owner, stats)) = self.line(record.a) else {
            return;
        };
        stats.hitm += 1;
        owner.point(i, Class::BOUNCE, core);
        owner.set(i, Class::TASK, core);
    }

    fn accessed(&mut self, i: u32, cpu: usize, record: &Record) {
        let Some(word) = self.names.words.get(record.a as usize) else {
            return;
        };
        let (kind, core, line) = (record.kind(), self.core(cpu), word.line);
        let count = |stats: &mut LineStats| match kind {
            Kind::Load => stats.loads += 1,
            Kind::Store | Kind::StoreRelease => stats.stores += 1,
            Kind::Rmw => stats.rmws += 1,
            _ => {}
        };
        if let Some((owner, stats)) = self.line(line) {
            count(stats);
            // A store only waits in the store buffer; it owns the line once it is visible.
            if matches!(kind, Kind::Rmw | Kind::Drain) {
                owner.set(i, Class::TASK, core);
            }
        }
        let stats = &mut self.words[record.a as usize];
        count(stats);
        // The access that follows a transfer of its line is the one that asked for it.
        if let Some((_, stall, dirty)) = self.cpus[cpu]
            .fetched
            .take_if(|(fetched, ..)| *fetched == line)
        {
            stats.transfers += 1;
            stats.stall += stall;
            stats.hitm += u64::from(dirty);
        }
    }

    fn point(&mut self, i: u32, cpu: u16, class: Class, value: u32) {
        if let Some(state) = self.cpus.get_mut(usize::from(cpu)) {
            state.contexts.point(i, class, value);
        }
        self.marks.push(Item {
            first: i,
            last: i,
            value: u32::from(cpu),
            class,
        });
    }

    fn finding(&mut self, i: u32, cpu: u16, violation: Option<u32>) {
        let class = if violation.is_some() {
            Class::VIOLATION
        } else {
            Class::DROP
        };
        self.point(i, cpu, class, violation.unwrap_or(u32::MAX));
        self.findings.push(Finding {
            record: i,
            violation,
        });
    }

    fn trace<'s>(self, source: &'s dyn Source, names: sim_core::trace::Names) -> Trace<'s> {
        let records = self.records;
        let last = source
            .len()
            .checked_sub(1)
            .map_or(0, |i| source.get(i).time);
        let cpu = |state: CpuState| CpuTracks {
            contexts: state.contexts.finish(records),
            innermost: state.innermost.finish(records),
            depths: state
                .depths
                .into_iter()
                .map(|depth| depth.finish(records))
                .collect(),
        };
        let mut locks: Vec<LockTracks> = Vec::new();
        for (number, mut lock) in self.locks.into_iter().enumerate() {
            let waits_on =
                |word: u32| self.lock_of_word.get(word as usize) == Some(&Some(number as u32));
            for (cpu, spin) in self.spinning.iter().enumerate() {
                // Still waiting when the run ended.
                if let Some((began, word)) = spin.filter(|&(_, word)| waits_on(word)) {
                    let _ = word;
                    lock.waits.push((began, records, cpu as u16));
                }
            }
            let waiters = waiters(&lock.waits, &lock.failed, records);
            locks.push(LockTracks {
                owner: lock.owner.finish(records),
                waiters,
                stats: lock.stats,
            });
        }
        let lines: Vec<LineTracks> = self
            .lines
            .into_iter()
            .map(|line| finish_line(line, records))
            .collect();
        let mut busiest: Vec<u32> = (0..lines.len() as u32)
            .filter(|&l| lines[l as usize].stats.transfers > 0)
            .collect();
        busiest.sort_by_key(|&l| {
            let stats = &lines[l as usize].stats;
            (std::cmp::Reverse((stats.hitm, stats.transfers)), l)
        });
        let mut trace = Trace {
            source,
            end: source.end().max(last),
            cpus: self.cpus.into_iter().map(cpu).collect(),
            locks,
            qdiscs: self
                .qdiscs
                .into_iter()
                .map(|lengths| qdisc(&lengths, records))
                .collect(),
            txqs: self
                .txqs
                .into_iter()
                .map(|txq| txq.finish(records))
                .collect(),
            lines,
            words: self.words,
            spans: self.spans,
            findings: self.findings,
            marks: Track::new(self.marks),
            load: Load::default(),
            busiest_lines: busiest,
            touched: Cell::new(0),
            names,
        };
        trace.load = Load::new(&trace);
        trace
    }
}
