//! Hardware: CPUs, cache lines, store buffers, and what they cost. It does not know Linux.

mod access;
mod book;
mod copies;
pub mod cost;
pub mod counters;
mod cpu;
pub(crate) mod explored;
pub mod layout;
mod line;
pub mod memory;
pub mod nic;
mod smt;
mod spin;
mod store_buffer;
pub mod topology;

pub use access::{Footprint, Order, Rmw};
pub use book::{Access, Pair};
pub use cpu::{Cpu, FairShare, FnSpan};

use crate::engine::schedule::Schedule;
use crate::engine::time::{Instant, Span};
use crate::engine::{Class, Engine};
use crate::trace::{Kind, Level, Sink};
use book::Book;
use cost::{Arch, MemoryModel, Param, Profile};
use counters::{Reading, add};
use cpu::{CpuState, Ctx};
use explored::Explored;
use line::{Coherence, Line, Moves};
use memory::{Placement, Word};
use smt::Fills;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use store_buffer::StoreBuffers;

/// Costs in the form the accesses use them.
#[derive(Debug)]
pub struct Costs {
    /// Picoseconds of a thousand instructions.
    ps_per_kinsn: u64,
    /// What a plain load's miss hides.
    pub hide: Span,
    /// Uncontended atomic.
    pub rmw: Span,
    /// `this_cpu_*` operation.
    pub this_cpu: Span,
    /// Full barrier.
    pub mb: Span,
    /// Store barrier.
    pub wmb: Span,
    /// From the ending write to the waiter's re-read.
    pub spin_wake: Span,
    /// One spin iteration.
    pub spin_loop: Span,
    /// Its instructions.
    pub spin_insns: u64,
    /// Refilling the pipeline after the loop's last branch.
    pub spin_exit: Span,
    /// Half of `local_irq_save` and `local_irq_restore`.
    irq_flags: Span,
    /// One clock cycle; zero if the profile states none.
    pub cycle: Span,
    /// Permille of its rate at which a thread works beside a spinning sibling.
    beside_spin: u64,
    /// Clock read.
    pub clock_read: Span,
    /// Doorbell.
    pub mmio: Span,
    /// One byte of a copy from a user.
    pub copy_byte: Span,
    /// One byte of a copy of what this CPU has just written.
    pub copy_warm: Span,
    /// One line of a cold copy.
    pub cold_line: Span,
    /// Indirect call.
    pub indirect_call: Span,
    /// Interrupt entry and exit.
    pub irq_entry: Span,
    /// Task switch.
    pub context_switch: Span,
    smt_gain: u64,
    jitter_chunk: u32,
    /// Plain stores wait in a buffer.
    pub store_buffer: bool,
    /// Stores become visible in order.
    fifo_stores: bool,
    /// Atomics wait for the store buffer.
    rmw_drains: bool,
    /// Non-returning atomics are posted.
    posted_atomics: bool,
    /// `smp_wmb` waits until earlier stores are visible.
    wmb_waits: bool,
}

impl Costs {
    fn new(p: &Profile) -> Costs {
        let span = |param| Span::from_ps(p.get(param));
        let arm = p.arch == Arch::Arm64;
        Costs {
            ps_per_kinsn: 1_000_000_000 / p.get(Param::InsnsPerUs).max(1),
            hide: span(Param::Hide),
            rmw: span(Param::Rmw),
            this_cpu: span(Param::ThisCpu),
            mb: span(Param::Mb),
            wmb: span(Param::Wmb),
            spin_wake: span(Param::SpinWake),
            spin_loop: span(Param::SpinLoop),
            spin_insns: p.get(Param::SpinInsns),
            clock_read: span(Param::ClockRead),
            mmio: span(Param::Mmio),
            copy_byte: span(Param::CopyByte),
            copy_warm: span(Param::CopyWarm),
            cold_line: Span::from_ps(p.get(Param::Memory) * 1000 / p.get(Param::Mlp).max(1000)),
            indirect_call: span(Param::IndirectCall),
            irq_entry: span(Param::IrqEntry),
            context_switch: span(Param::ContextSwitch),
            spin_exit: span(Param::SpinExit),
            irq_flags: Span::from_ps(p.get(Param::IrqSave) / 2),
            cycle: span(Param::Cycle),
            beside_spin: beside_spin(p),
            jitter_chunk: p.get(Param::JitterChunk) as u32,
            smt_gain: if p.topology.smt > 1 {
                p.get(Param::SmtGain)
            } else {
                0
            },
            store_buffer: p.store_buffer && p.memory != MemoryModel::Sc,
            fifo_stores: p.memory != MemoryModel::Weak,
            rmw_drains: !arm,
            posted_atomics: arm && p.store_buffer,
            wmb_waits: arm,
        }
    }

    /// Nothing costs anything.
    fn free() -> Costs {
        Costs {
            ps_per_kinsn: 0,
            hide: Span::ZERO,
            rmw: Span::ZERO,
            this_cpu: Span::ZERO,
            mb: Span::ZERO,
            wmb: Span::ZERO,
            spin_wake: Span::ZERO,
            spin_loop: Span::ZERO,
            spin_insns: 0,
            spin_exit: Span::ZERO,
            irq_flags: Span::ZERO,
            cycle: Span::ZERO,
            beside_spin: 1000,
            clock_read: Span::ZERO,
            mmio: Span::ZERO,
            copy_byte: Span::ZERO,
            copy_warm: Span::ZERO,
            cold_line: Span::ZERO,
            indirect_call: Span::ZERO,
            irq_entry: Span::ZERO,
            context_switch: Span::ZERO,
            smt_gain: 0,
            jitter_chunk: 1,
            store_buffer: true,
            fifo_stores: true,
            rmw_drains: true,
            posted_atomics: false,
            wmb_waits: false,
        }
    }

    /// Time of `n` instructions without misses.
    #[inline(always)]
    fn insns(&self, n: u32) -> Span {
        Span::from_ps(u64::from(n) * self.ps_per_kinsn / 1000)
    }
}

/// A spinning sibling takes the slots of its loop and leaves the rest of what the core does with both
/// busy: min(1, g - slots).
fn beside_spin(p: &Profile) -> u64 {
    let per_us = p.get(Param::SpinInsns) * 1_000_000 / p.get(Param::SpinLoop).max(1);
    let slots = per_us * 1000 / p.get(Param::InsnsPerUs).max(1);
    p.get(Param::SmtGain).saturating_sub(slots).clamp(1, 1000)
}

/// A word: what lies in memory, and on which line.
#[derive(Debug)]
struct WordState {
    value: Cell<u64>,
    line: u32,
}

/// A host's hardware and its contexts.
pub struct Machine {
    /// The engine, shared by all hosts of a world.
    pub engine: Rc<Engine>,
    trace: Rc<Sink>,
    schedule: Rc<RefCell<dyn Schedule>>,
    /// Costs.
    pub costs: Costs,
    coherence: Coherence,
    lines: Vec<Line>,
    moves: Vec<Moves>,
    words: Vec<WordState>,
    word_hitm: Vec<Cell<u64>>,
    /// Who accessed what; only with names.
    book: Option<Box<Book>>,
    stores: StoreBuffers,
    /// Only where the order of steps is explored.
    explored: Option<Box<Explored>>,
    cpus: Vec<CpuState>,
    /// By core.
    fills: Vec<Fills>,
    fair: FairShare,
    ctxs: Vec<Ctx>,
    /// Engine id of this machine's first context.
    base: u32,
    /// Engine id of the first-start event of this machine's first context.
    starts: u32,
    /// Number of this machine's first CPU in the trace.
    first_cpu: u16,
}

/// Where a machine's contexts and CPUs lie among those of the world.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Engine id of its first context.
    pub base: u32,
    /// Engine id of its first first-start event.
    pub starts: u32,
    /// Number of its first CPU in the trace.
    pub first_cpu: u16,
}

/// A context to be made: its CPU, level and (for tasks) index into the trace's task names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtxSpec {
    /// Logical CPU within the host.
    pub cpu: u16,
    /// Level.
    pub level: Level,
    /// Index of its name.
    pub task: u32,
}

impl Machine {
    /// Builds a machine. Each CPU named in `contexts` has one softirq and one hardirq context.
    pub fn new(
        profile: &Profile,
        place: Place,
        memory: Placement,
        contexts: &[CtxSpec],
        engine: Rc<Engine>,
        trace: Rc<Sink>,
        schedule: Rc<RefCell<dyn Schedule>>,
    ) -> Machine {
        let coherence = Coherence::new(profile);
        let cpus = (0..coherence.topology.cpus() as u16)
            .map(|c| CpuState::new(coherence.topology.core_of(c)))
            .collect();
        let fills = (0..coherence.topology.cores())
            .map(|_| Fills::default())
            .collect();
        let machine = Machine {
            fills,
            engine,
            trace,
            schedule,
            costs: Costs::new(profile),
            lines: (0..memory.lines).map(|_| Line::default()).collect(),
            moves: (0..memory.lines).map(|_| Moves::default()).collect(),
            word_hitm: memory.initial.iter().map(|_| Cell::new(0)).collect(),
            book: memory.is_named().then(|| {
                Box::new(Book::new(
                    memory.initial.len(),
                    memory.lines as usize,
                    contexts.len(),
                ))
            }),
            words: memory
                .initial
                .into_iter()
                .zip(memory.line_of)
                .map(|(value, line)| WordState {
                    value: Cell::new(value),
                    line,
                })
                .collect(),
            stores: StoreBuffers::default(),
            explored: None,
            coherence,
            cpus,
            fair: FairShare::default(),
            ctxs: contexts
                .iter()
                .map(|c| Ctx::new(c.cpu, c.level, c.task))
                .collect(),
            base: place.base,
            starts: place.starts,
            first_cpu: place.first_cpu,
        };
        for (i, c) in contexts
            .iter()
            .enumerate()
            .filter(|(_, c)| c.level == Level::Softirq)
        {
            let hardirq = contexts
                .iter()
                .position(|h| h.level == Level::Hardirq && h.cpu == c.cpu);
            machine.set_irq_contexts(
                c.cpu,
                i as u32,
                hardirq.expect("a hardirq context a CPU") as u32,
            );
        }
        machine
    }

    /// The handle of context number `ctx` of this machine.
    pub fn cpu(&self, ctx: u32) -> Cpu<'_> {
        let id = self.ctxs[ctx as usize].cpu;
        Cpu {
            m: self,
            s: &self.cpus[usize::from(id)],
            ctx,
            id,
        }
    }

    /// Number of logical CPUs.
    pub fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// The shape of the machine.
    pub fn topology(&self) -> &topology::Topology {
        &self.coherence.topology
    }

    /// How long `n` instructions take on `cpu` alone on its core: stretched by the schedule, a new draw
    /// each chunk.
    #[inline(never)]
    fn work(&self, cpu: u16, n: u32) -> Span {
        let s = &self.cpus[usize::from(cpu)];
        let left = s.chunk_left.get();
        if left == 0 {
            s.stretch
                .set(self.schedule.borrow_mut().stretch(self.first_cpu + cpu));
            s.chunk_left.set(self.costs.jitter_chunk.saturating_sub(n));
        } else {
            s.chunk_left.set(left.saturating_sub(n));
        }
        Span::from_ps((self.costs.insns(n).ps() * u64::from(s.stretch.get())) >> 16)
    }

    /// How long a copy of `span` at nominal speed takes on `cpu`: one draw of the jitter each.
    fn copying(&self, cpu: u16, span: Span) -> Span {
        let stretch = self.schedule.borrow_mut().stretch(self.first_cpu + cpu);
        Span::from_ps(((u128::from(span.ps()) * u128::from(stretch)) >> 16) as u64)
    }

    #[inline(always)]
    pub(crate) fn record(&self, time: Instant, cpu: u16, kind: Kind, a: u32, b: u32) {
        if self.trace.is_on() {
            self.keep(time, cpu, kind, a, b);
        }
    }

    /// A record of a device, which belongs to no CPU.
    pub(crate) fn record_device(&self, kind: Kind, a: u32, b: u32) {
        if self.trace.is_on() {
            self.trace.push(
                self.engine.now().ps(),
                crate::trace::NO_CPU,
                kind,
                None,
                a,
                b,
            );
        }
    }

    /// One copy for all places that record: what they do without a trace stays short.
    #[inline(never)]
    fn keep(&self, time: Instant, cpu: u16, kind: Kind, a: u32, b: u32) {
        self.trace
            .push(time.ps(), self.first_cpu + cpu, kind, None, a, b);
        if self.trace.overflowed() {
            self.engine.halt();
        }
    }

    /// The value of `word` with every issued store in it: for checks after a run and for setting up.
    pub fn peek(&self, word: Word) -> u64 {
        if self.explored.is_some() {
            return self.words[word.0 as usize].value.get();
        }
        let line = self.line(word);
        self.settle_line(line, Instant::NEVER);
        self.words[word.0 as usize].value.get()
    }

    /// The value of `word` as `cpu` sees it now, without a step: for checkers only.
    pub fn peek_as(&self, cpu: u16, word: Word) -> u64 {
        let memory = self.words[word.0 as usize].value.get();
        self.stores
            .overlay(self.line(word), cpu, word.0, self.engine.now(), memory)
    }

    /// Sets a word outside any run.
    pub fn poke(&self, word: Word, value: u64) {
        self.words[word.0 as usize].value.set(value);
    }

    /// A device writes a line by DMA.
    pub fn dma_write(&self, line: memory::LineId) {
        if let Some(line) = self.lines.get(line.0 as usize) {
            self.coherence.dma_write(line);
        }
    }

    /// A start offset for component `name` below `spread`.
    pub fn start_offset(&self, name: &str, spread: Span) -> Span {
        self.schedule.borrow_mut().start(name, spread)
    }

    /// The counters of `cpu` now.
    pub fn reading(&self, cpu: u16) -> Reading {
        self.cpus[usize::from(cpu)].counters.read()
    }

    /// Adds `n` to a counter of `cpu` chosen by `which`.
    pub fn count(&self, cpu: u16, which: impl Fn(&counters::Counters) -> &Cell<u64>, n: u64) {
        add(which(&self.cpus[usize::from(cpu)].counters), n);
    }

    /// Transfers and dirty transfers of every line so far.
    pub fn line_moves(&self) -> Vec<(u64, u64)> {
        self.moves
            .iter()
            .map(|l| (l.transfers.get(), l.hitm.get()))
            .collect()
    }

    /// Dirty transfers by the word that was accessed.
    pub fn word_hitms(&self) -> Vec<u64> {
        self.word_hitm.iter().map(Cell::get).collect()
    }

    /// Accesses and pairs since the last [`Machine::reset_accesses`]; none without names.
    pub fn accesses(&self) -> (Vec<Access>, Vec<(Pair, u64)>) {
        self.book.as_ref().map(|b| b.read()).unwrap_or_default()
    }

    /// Counts accesses anew.
    pub fn reset_accesses(&self) {
        if let Some(book) = &self.book {
            book.reset();
        }
    }

    /// Whether anything runs on `cpu`.
    pub fn is_busy(&self, cpu: u16) -> bool {
        self.cpus[usize::from(cpu)].top_ctx().is_some()
    }

    /// Until when some CPU works without letting anything in between, if one does.
    pub fn working_until(&self) -> Option<Instant> {
        self.cpus.iter().filter_map(|c| self.work_ends(c)).max()
    }

    /// The kernel function that `cpu` is in.
    pub fn function(&self, cpu: u16) -> u16 {
        self.cpus[usize::from(cpu)].function.get()
    }

    /// Queues a device event of the world.
    pub fn push_device(&self, at: Instant, id: u32) {
        self.engine.push(at, Class::Device, id);
    }

    /// Trace number of this machine's CPU 0.
    pub fn first_cpu(&self) -> u16 {
        self.first_cpu
    }
}
