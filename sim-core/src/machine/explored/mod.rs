//! Accesses in a run whose order is explored: costs play no part, every order is possible.
//!
//! A context that comes to a *point* (an access to a word that more than one context uses and somebody
//! writes) publishes it and waits; once it is chosen, it performs the access and runs on to its next point.
//! What lies between two points is nobody else's business and is one step with the access before it.
//!
//! Stores wait in per-CPU buffers, whose heads becoming visible are steps of their own:
//!
//! | | SC | TSO (x86-64) | weak (arm64) |
//! | --- | --- | --- | --- |
//! | plain store | visible at once | FIFO buffer | buffer; different words in any order |
//! | `smp_store_release`, unlock | visible at once | FIFO buffer | after all earlier stores |
//! | load | memory | own buffer, else memory | own buffer, else memory |
//! | atomic, full or release | one step | buffer must be empty | buffer must be empty |
//! | atomic, acquire or relaxed | one step | buffer must be empty | own stores to the word first |
//! | posted atomic (`set_bit`) | one step | buffer must be empty | buffered like a store |
//! | `smp_mb` | nothing | buffer must be empty | buffer must be empty |
//! | `smp_wmb` | nothing | nothing | earlier stores before later ones |
//! | `smp_mb__after_atomic` | nothing | nothing | as `smp_mb` |
//! | uncached write (doorbell) | nothing | buffer must be empty | buffer must be empty |
//! | failing trylock | a load | a load | a load |
//!
//! Loads are never early: a weak machine may do more than this mode shows (load buffering, stale reads).

mod state;

use super::access::{Order, Rmw};
use super::cost::MemoryModel;
use super::cpu::{Cpu, NO_CTX, Wait};
use super::memory::Word;
use super::store_buffer::Effect;
use super::{Costs, CtxSpec, Machine};
use crate::engine::schedule::{AccessKind, Agent, Enabled, MAX_DRAINS};
use crate::engine::time::Span;
use crate::trace::{Kind, Level};
use state::{Access, How, State};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// No word.
pub const NO_WORD: u32 = u32::MAX;

/// What a context is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Nothing that others could see.
    Nothing,
    /// A load; whether it may take a lock.
    Load(Word, bool),
    /// A store to some bits, into the buffer if there is one.
    Store(Word, Effect),
    /// An atomic.
    Rmw(Word, Rmw, Order),
    /// Goes on once its buffer is empty.
    Drained,
}

/// What a context waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// Its turn.
    Turn(Ask),
    /// Another value than this in a word.
    Change(Word, u64),
}

/// A store that is not visible yet.
#[derive(Clone, Copy, Debug)]
struct Buffered {
    word: u32,
    effect: Effect,
    release: bool,
    /// Number of store barriers before it.
    epoch: u32,
    /// Names it and its place.
    entry: u128,
    /// What its CPU knew when it was issued.
    issued: u128,
    function: u16,
}

/// One step as it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of the step of the run that it was part of: a held store belongs to the step before it.
    pub at: u32,
    /// Who.
    pub agent: Agent,
    /// Level of the context; a store's drain has that of nobody.
    pub level: Option<Level>,
    /// Number of the kernel function it was in.
    pub function: u16,
    /// What it did.
    pub kind: AccessKind,
    /// The word, or `u32::MAX`.
    pub word: u32,
    /// The value that was read, or is there now.
    pub value: u64,
    /// A store that went into the buffer.
    pub held: bool,
}

/// The steps of all machines of a world, in order.
#[derive(Clone, Debug)]
pub struct Log {
    /// Where they are kept.
    pub steps: Rc<RefCell<Vec<Step>>>,
    /// Number of the step under way.
    pub at: Rc<Cell<u32>>,
    /// What this machine's words have before their numbers in the names of the world.
    pub first_word: u32,
}

/// Who used a word.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    ctxs: u64,
    cpus: u64,
    written: bool,
}

impl Usage {
    /// Contexts of one CPU get in each other's way only where interrupts happen.
    fn is_shared(self, interrupts: bool) -> bool {
        let several = self.cpus.count_ones() > 1 || interrupts && self.ctxs.count_ones() > 1;
        several && self.written
    }
}

/// Who used which word of a machine, in one run or several.
#[derive(Clone, Debug)]
pub struct Usages {
    words: Vec<Usage>,
    quiet: Vec<bool>,
    points: Vec<bool>,
    interrupts: bool,
}

impl Usages {
    /// Adds those of another run.
    pub fn join(&mut self, more: &Usages) {
        self.interrupts |= more.interrupts;
        for (all, one) in self.words.iter_mut().zip(&more.words) {
            all.ctxs |= one.ctxs;
            all.cpus |= one.cpus;
            all.written |= one.written;
        }
    }

    /// The words that are points by this, and those that were already.
    pub fn points(&self) -> Vec<bool> {
        let words = self.words.iter().zip(&self.quiet).zip(&self.points);
        words
            .map(|((u, &quiet), &point)| point || !quiet && u.is_shared(self.interrupts))
            .collect()
    }
}

/// State of a machine whose order is explored.
#[derive(Debug)]
pub struct Explored {
    memory: MemoryModel,
    /// CPUs that run anything.
    cpus: Vec<u16>,
    /// Points, by word.
    points: Vec<bool>,
    /// Words that are never points.
    quiet: Vec<bool>,
    usage: Vec<Cell<Usage>>,
    /// Words that ought to have been points.
    found: RefCell<Vec<u32>>,
    /// Interrupts happen: contexts of one CPU get in each other's way.
    interrupts: Cell<bool>,
    waits: Vec<Cell<Option<Waits>>>,
    granted: Cell<u32>,
    buffers: Vec<RefCell<VecDeque<Buffered>>>,
    epochs: Vec<Cell<u32>>,
    /// Stores that went into each buffer so far.
    issued: Vec<Cell<u32>>,
    state: State,
    /// Histories of those who raised an interrupt that was not taken.
    raised: Vec<Cell<u128>>,
    log: Option<Log>,
}

const K: [u64; 4] = [
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5895_67ac_8f2d_1d4b,
];

fn fold(a: u64, b: u64) -> u64 {
    let p = u128::from(a) * u128::from(b);
    p as u64 ^ (p >> 64) as u64
}

/// Adds `v` to the hash `h`.
pub(crate) fn mix(h: u128, v: u128) -> u128 {
    let (h0, h1) = (h as u64, (h >> 64) as u64);
    let (v0, v1) = (v as u64, (v >> 64) as u64);
    let x = fold(h0 ^ v0 ^ K[0], h1 ^ v1 ^ K[1]);
    let y = fold(
        h1 ^ v0.rotate_left(29) ^ K[2],
        h0 ^ v1.rotate_left(31) ^ K[3],
    );
    u128::from(y) << 64 | u128::from(x)
}

impl Explored {
    /// For a machine with these contexts and as many words as `quiet` is long. `points` may be shorter: what it
    /// does not name is no point. `salt` tells machines of one world apart.
    pub fn new(
        memory: MemoryModel,
        contexts: &[CtxSpec],
        quiet: Vec<bool>,
        points: &[bool],
        salt: u32,
        log: Option<Log>,
    ) -> Explored {
        let words = quiet.len();
        let mut used: Vec<u16> = contexts.iter().map(|c| c.cpu).collect();
        used.sort_unstable();
        used.dedup();
        let cpus = used.last().map_or(0, |&c| usize::from(c) + 1);
        let contexts = contexts.len();
        let mut points = points.to_vec();
        points.resize(words, false);
        Explored {
            memory,
            cpus: used,
            points,
            usage: (0..words).map(|_| Cell::default()).collect(),
            quiet,
            found: RefCell::default(),
            interrupts: Cell::new(false),
            waits: (0..contexts).map(|_| Cell::new(None)).collect(),
            granted: Cell::new(NO_CTX),
            buffers: (0..cpus).map(|_| RefCell::default()).collect(),
            epochs: (0..cpus).map(|_| Cell::new(0)).collect(),
            issued: (0..cpus).map(|_| Cell::new(0)).collect(),
            state: State::new(cpus, words, salt),
            raised: (0..cpus).map(|_| Cell::new(0)).collect(),
            log,
        }
    }

    /// Names the state.
    pub fn state(&self) -> u128 {
        self.state.all()
    }

    /// The history of the last step.
    pub fn last(&self) -> u128 {
        self.state.last()
    }

    /// The points of this run, and whether all words that ought to be among them are.
    pub fn points(&self) -> (Vec<bool>, bool) {
        let mut points = self.points.clone();
        let found = self.found.borrow();
        for &word in found.iter() {
            points[word as usize] = true;
        }
        (points, found.is_empty())
    }

    /// Who used which word.
    pub fn usage(&self) -> Usages {
        Usages {
            words: self.usage.iter().map(Cell::get).collect(),
            quiet: self.quiet.clone(),
            points: self.points.clone(),
            interrupts: self.interrupts.get(),
        }
    }

    fn is_point(&self, word: Word) -> bool {
        self.points[word.0 as usize]
    }

    /// Entries of `cpu`'s buffer that may become visible next, as places in it.
    fn drainable(&self, cpu: u16) -> impl Iterator<Item = usize> + '_ {
        let buffer = self.buffers[usize::from(cpu)].borrow();
        let weak = self.memory == MemoryModel::Weak;
        let n = if weak {
            buffer.len()
        } else {
            buffer.len().min(1)
        };
        let first: Vec<usize> = (0..n)
            .filter(|&i| {
                let e = &buffer[i];
                let mut before = buffer.iter().take(i);
                i == 0 || !e.release && before.all(|b| b.word != e.word && b.epoch == e.epoch)
            })
            .take(usize::from(MAX_DRAINS))
            .collect();
        first.into_iter()
    }

    /// Whether a context of `cpu` that asks for this need not wait for its own buffer.
    fn unhindered(&self, cpu: u16, ask: Ask) -> bool {
        let buffer = self.buffers[usize::from(cpu)].borrow();
        if buffer.is_empty() {
            return true;
        }
        match ask {
            Ask::Nothing | Ask::Load(..) | Ask::Store(..) => true,
            Ask::Drained => false,
            Ask::Rmw(word, _, order) => {
                let epoch = self.epochs[usize::from(cpu)].get();
                self.memory == MemoryModel::Weak
                    && order < Order::Release
                    && buffer.iter().all(|b| b.word != word.0 && b.epoch == epoch)
            }
        }
    }

    /// Whether all of a load's bits come from this CPU's own buffer.
    fn forwards(&self, cpu: u16, word: Word) -> bool {
        let buffer = self.buffers[usize::from(cpu)].borrow();
        buffer
            .iter()
            .rev()
            .find(|b| b.word == word.0)
            .is_some_and(|b| matches!(b.effect, Effect::Mask { clear, .. } if clear == u64::MAX))
    }

    fn overlay(&self, cpu: u16, word: Word, memory: u64) -> u64 {
        let buffer = self.buffers[usize::from(cpu)].borrow();
        let own = buffer.iter().filter(|b| b.word == word.0);
        own.fold(memory, |value, b| b.effect.apply(value))
    }

    fn keep(&self, mut step: Step) {
        if let Some(log) = &self.log {
            if step.word != NO_WORD {
                step.word += log.first_word;
            }
            step.at = log.at.get();
            log.steps.borrow_mut().push(step);
        }
    }
}

impl Cpu<'_> {
    /// Whether the context may do what it asks for now; if not, it waits. The slow way through every access
    /// of an explored run.
    #[cold]
    pub(super) fn explore(self, x: &Explored, ask: Ask) -> bool {
        self.s.owed.set(Span::ZERO);
        let waits = &x.waits[self.ctx as usize];
        if x.granted.get() == self.ctx {
            x.granted.set(NO_CTX);
            waits.set(None);
            return true;
        }
        // A loop that never comes to a point must end as well.
        let local = match ask {
            Ask::Nothing => true,
            Ask::Drained => false,
            Ask::Load(word, _) => !x.is_point(word) || x.forwards(self.id, word),
            Ask::Store(word, _) => !x.is_point(word) || x.memory != MemoryModel::Sc,
            Ask::Rmw(word, ..) => !x.is_point(word),
        };
        let free = ask == Ask::Drained || local;
        if free && x.unhindered(self.id, ask) && !self.m.engine.over() {
            return true;
        }
        waits.set(Some(Waits::Turn(ask)));
        self.state().wait.set(Wait::Access);
        false
    }

    /// Notes who uses `word`: a word that turns out to be a point is one from the next run on.
    fn uses(self, x: &Explored, word: Word, writes: bool) {
        let cell = &x.usage[word.0 as usize];
        let mut usage = cell.get();
        usage.ctxs |= 1 << (self.ctx % 64);
        usage.cpus |= 1 << (self.id % 64);
        usage.written |= writes;
        cell.set(usage);
        if usage.is_shared(x.interrupts.get()) && !x.is_point(word) && !x.quiet[word.0 as usize] {
            let mut found = x.found.borrow_mut();
            if !found.contains(&word.0) {
                found.push(word.0);
            }
        }
    }

    /// A step of this context.
    fn steps(self, x: &Explored, kind: AccessKind, word: Word, value: u64, held: bool) {
        let record = match kind {
            AccessKind::Read => Kind::Load,
            AccessKind::ReadModifyWrite => Kind::Rmw,
            _ => Kind::Store,
        };
        let (m, id) = (self.m, self.m.base + self.ctx);
        let now = m.engine.now();
        m.engine.step(now, id, record as u16, word.0, value);
        m.record(now, self.id, record, word.0, value as u32);
        if x.is_point(word) {
            x.keep(Step {
                at: 0,
                agent: Agent::Cpu(m.first_cpu + self.id),
                level: Some(self.level()),
                function: self.s.function.get(),
                kind,
                word: word.0,
                value,
                held,
            });
        }
    }

    fn reads(self, word: Word, value: u64, acquires: bool) -> Access {
        Access {
            cpu: usize::from(self.id),
            word: word.0,
            how: How::Read,
            value,
            acquires,
        }
    }

    fn writes(self, word: Word) -> Access {
        Access {
            how: How::Write,
            ..self.reads(word, 0, false)
        }
    }

    fn modifies(self, word: Word, op: Rmw, old: u64) -> Access {
        // Bit operations are no locks.
        let acquires = !matches!(op, Rmw::Mask { .. });
        Access {
            how: How::ReadModifyWrite,
            ..self.reads(word, old, acquires)
        }
    }

    pub(super) fn explored_load(self, x: &Explored, word: Word, acquires: bool) -> u64 {
        self.uses(x, word, false);
        let memory = self.m.words[word.0 as usize].value.get();
        let value = x.overlay(self.id, word, memory);
        if x.is_point(word) {
            x.state.accesses(&self.reads(word, value, acquires));
        }
        self.steps(x, AccessKind::Read, word, value, false);
        value
    }

    pub(super) fn explored_store(self, x: &Explored, word: Word, effect: Effect, release: bool) {
        self.uses(x, word, true);
        let cell = &self.m.words[word.0 as usize].value;
        let cpu = usize::from(self.id);
        if !x.is_point(word) {
            cell.set(effect.apply(cell.get()));
            self.steps(x, AccessKind::Write, word, cell.get(), false);
            return;
        }
        if x.memory == MemoryModel::Sc {
            let (old, new) = (cell.get(), effect.apply(cell.get()));
            cell.set(new);
            x.state.accesses(&self.writes(word));
            x.state.changes(word.0, old, new);
            self.steps(x, AccessKind::Write, word, cell.get(), false);
            return;
        }
        let number = x.issued[cpu].get() + 1;
        x.issued[cpu].set(number);
        let epoch = x.epochs[cpu].get();
        let (kind, a, b) = match effect {
            Effect::Mask { clear, set } => (0, clear, set),
            Effect::Add(n) => (1, n, 0),
        };
        let who = u128::from(self.m.first_cpu + self.id) << 96;
        let place = who | u128::from(number) << 32 | u128::from(word.0);
        let how = u128::from(epoch) << 2 | u128::from(release) << 1 | kind;
        let entry = mix(mix(place, how), u128::from(a) << 64 | u128::from(b));
        x.state.buffer(entry);
        x.buffers[cpu].borrow_mut().push_back(Buffered {
            word: word.0,
            effect,
            release,
            epoch,
            entry,
            issued: x.state.cpu(cpu),
            function: self.s.function.get(),
        });
        let value = x.overlay(self.id, word, cell.get());
        self.steps(x, AccessKind::Write, word, value, true);
    }

    pub(super) fn explored_rmw(self, x: &Explored, word: Word, op: Rmw) -> u64 {
        self.uses(x, word, true);
        let cell = &self.m.words[word.0 as usize].value;
        let old = cell.get();
        cell.set(op.apply(old));
        if x.is_point(word) {
            x.state.accesses(&self.modifies(word, op, old));
            x.state.changes(word.0, old, cell.get());
        }
        self.steps(x, AccessKind::ReadModifyWrite, word, cell.get(), false);
        old
    }

    /// A barrier is no step that others see, but it belongs to what a schedule means.
    pub(super) fn explored_barrier(self, what: u64) {
        let (m, id) = (self.m, self.m.base + self.ctx);
        let kind = Kind::Barrier as u16;
        m.engine.step(m.engine.now(), id, kind, NO_WORD, what);
    }

    /// `smp_wmb` where stores do not become visible in order.
    pub(super) fn explored_wmb(self, x: &Explored) {
        let epoch = &x.epochs[usize::from(self.id)];
        epoch.set(epoch.get() + 1);
    }

    /// The value of `word` as the CPU sees it now, without a step.
    pub(super) fn explored_peek(self, x: &Explored, word: Word) -> u64 {
        let memory = self.m.words[word.0 as usize].value.get();
        x.overlay(self.id, word, memory)
    }

    /// Waits until `word` has another value than `seen`.
    pub(super) fn explored_spin(self, x: &Explored, word: Word, seen: u64) {
        self.s.owed.set(Span::ZERO);
        self.uses(x, word, false);
        x.waits[self.ctx as usize].set(Some(Waits::Change(word, seen)));
        self.state().wait.set(Wait::Spin);
    }
}

impl Machine {
    /// Makes this a machine whose order is explored: no access costs anything.
    pub(crate) fn exploring(mut self, x: Explored) -> Machine {
        self.costs = Costs {
            // What barriers and atomics do stays, what they cost goes.
            posted_atomics: self.costs.posted_atomics && x.memory == MemoryModel::Weak,
            wmb_waits: self.costs.wmb_waits && x.memory == MemoryModel::Weak,
            ..Costs::free()
        };
        for cpu in &self.cpus {
            // The slow way, always.
            cpu.attention.set(true);
        }
        self.explored = Some(Box::new(x));
        self
    }

    /// Its state, if its order is explored.
    pub(crate) fn explored(&self) -> Option<&Explored> {
        self.explored.as_deref()
    }

    /// Adds to `enabled` who could take a step here, in the order of [`Agent`] but for devices.
    pub(crate) fn enabled(&self, x: &Explored, enabled: &mut Vec<Enabled>) {
        for &cpu in &x.cpus {
            if let Some(Waits::Turn(ask)) = self.top_waits(x, cpu)
                && x.unhindered(cpu, ask)
            {
                enabled.push(self.about(x, cpu, ask));
            }
        }
        for &cpu in &x.cpus {
            if x.buffers[usize::from(cpu)].borrow().is_empty() {
                continue;
            }
            for (n, at) in x.drainable(cpu).enumerate() {
                let store = x.buffers[usize::from(cpu)].borrow()[at];
                let old = self.words[store.word as usize].value.get();
                let new = store.effect.apply(old);
                enabled.push(Enabled {
                    agent: Agent::Drain(self.first_cpu + cpu, n as u8),
                    word: store.word,
                    kind: AccessKind::Drain,
                    next: x.state.if_drained(store.entry, store.word, old, new),
                });
            }
        }
        for &cpu in &x.cpus {
            if self.irq_can_come(cpu) && self.top_waits(x, cpu).is_some() {
                enabled.push(Enabled {
                    agent: Agent::Irq(self.first_cpu + cpu),
                    word: NO_WORD,
                    kind: AccessKind::Arrival,
                    next: mix(x.state(), u128::from(cpu) + 5),
                });
            }
        }
    }

    /// What CPU `cpu` would do.
    fn about(&self, x: &Explored, cpu: u16, ask: Ask) -> Enabled {
        let agent = Agent::Cpu(self.first_cpu + cpu);
        let Some(by) = self.cpus[usize::from(cpu)]
            .top_ctx()
            .map(|ctx| self.cpu(ctx))
        else {
            unreachable!("somebody asks")
        };
        let old = |w: Word| self.words[w.0 as usize].value.get();
        let (word, kind, next) = match ask {
            Ask::Load(w, acquires) => {
                let access = by.reads(w, by.explored_peek(x, w), acquires);
                (w, AccessKind::Read, x.state.if_accessed(&access, 0, 0))
            }
            Ask::Store(w, effect) => {
                let access = by.writes(w);
                let next = x.state.if_accessed(&access, old(w), effect.apply(old(w)));
                (w, AccessKind::Write, next)
            }
            Ask::Rmw(w, op, _) => {
                let access = by.modifies(w, op, old(w));
                let next = x.state.if_accessed(&access, old(w), op.apply(old(w)));
                (w, AccessKind::ReadModifyWrite, next)
            }
            Ask::Nothing | Ask::Drained => (Word(NO_WORD), AccessKind::Fence, x.state()),
        };
        Enabled {
            agent,
            word: word.0,
            kind,
            next,
        }
    }

    fn top_waits(&self, x: &Explored, cpu: u16) -> Option<Waits> {
        let top = self.cpus[usize::from(cpu)].top_ctx()?;
        x.waits[top as usize].get()
    }

    /// A context (engine id) that goes on without being chosen: what it waited for has come, and nobody can
    /// see it go on.
    pub(crate) fn goes_on(&self, x: &Explored) -> Option<u32> {
        for &cpu in &x.cpus {
            let Some(top) = self.cpus[usize::from(cpu)].top_ctx() else {
                continue;
            };
            match x.waits[top as usize].get() {
                Some(Waits::Turn(Ask::Drained)) if x.unhindered(cpu, Ask::Drained) => {}
                Some(Waits::Turn(ask @ Ask::Rmw(word, ..)))
                    if !x.is_point(word) && x.unhindered(cpu, ask) => {}
                Some(Waits::Change(word, seen)) if self.cpu(top).explored_peek(x, word) != seen => {
                    // It looks again, and asks for its turn if it likes what it sees.
                    return Some(self.base + top);
                }
                _ => continue,
            }
            x.granted.set(top);
            return Some(self.base + top);
        }
        None
    }

    /// It is the turn of what runs on `cpu`: the context to poll (engine id).
    pub(crate) fn grant(&self, x: &Explored, cpu: u16) -> Option<u32> {
        let top = self.cpus[usize::from(cpu)].top_ctx()?;
        x.granted.set(top);
        Some(self.base + top)
    }

    /// The `n`-th of the stores of `cpu` that may become visible does so.
    pub(crate) fn drain(&self, x: &Explored, cpu: u16, n: u8) {
        let Some(at) = x.drainable(cpu).nth(usize::from(n)) else {
            return;
        };
        let buffer = &x.buffers[usize::from(cpu)];
        let Some(store) = buffer.borrow_mut().remove(at) else {
            return;
        };
        let cell = &self.words[store.word as usize].value;
        let (old, new) = (cell.get(), store.effect.apply(cell.get()));
        cell.set(new);
        x.state
            .drains(store.entry, store.word, store.issued, old, new);
        let now = self.engine.now();
        let (kind, value) = (Kind::Drain, cell.get());
        self.engine
            .step(now, u32::from(cpu), kind as u16, store.word, value);
        self.record(now, cpu, kind, store.word, value as u32);
        x.keep(Step {
            at: 0,
            agent: Agent::Drain(self.first_cpu + cpu, n),
            level: None,
            function: store.function,
            kind: AccessKind::Drain,
            word: store.word,
            value,
            held: false,
        });
    }

    /// A hard interrupt arrives at `cpu`: the context to poll (engine id).
    pub(crate) fn arrive(&self, x: &Explored, cpu: u16) -> u32 {
        let by = x.raised[usize::from(cpu)].replace(0);
        x.state.learn(usize::from(cpu), by);
        let now = self.engine.now();
        self.engine
            .step(now, u32::from(cpu), Kind::CtxEnter as u16, NO_WORD, 0);
        x.keep(Step {
            at: 0,
            agent: Agent::Irq(self.first_cpu + cpu),
            level: Some(Level::Hardirq),
            function: self.function(cpu),
            kind: AccessKind::Arrival,
            word: NO_WORD,
            value: 0,
            held: false,
        });
        self.interrupt(cpu)
    }

    /// A CPU that an interrupt waits for and that does nothing: it is taken without a choice.
    pub(crate) fn idle_irq(&self, x: &Explored) -> Option<u16> {
        let mut cpus = x.cpus.iter().copied();
        cpus.find(|&cpu| self.irq_can_come(cpu) && self.cpus[usize::from(cpu)].top_ctx().is_none())
    }

    /// Interrupts were raised on `cpu` by whoever took the last step.
    pub(super) fn raised(&self, x: &Explored, cpu: u16) {
        x.interrupts.set(true);
        let by = &x.raised[usize::from(cpu)];
        by.set(mix(by.get(), x.last()));
    }

    /// Context `ctx` was woken by whoever took the last step, with history `by`.
    pub(crate) fn woken(&self, x: &Explored, ctx: u32, by: u128) {
        let cpu = usize::from(self.ctxs[ctx as usize].cpu);
        if x.state.cpu(cpu) != by {
            x.state.learn(cpu, by);
        }
        self.cpus[cpu].ran();
    }

    /// A device did something: everybody is behind it, for what devices share with drivers are no words.
    pub(crate) fn device_step(&self, x: &Explored, id: u32, by: u128) {
        x.state.everybody(mix(mix(by, u128::from(id)), x.state()));
    }

    /// Records a device's step.
    pub(crate) fn log_device(&self, x: &Explored, id: u32) {
        x.keep(Step {
            at: 0,
            agent: Agent::Device(id),
            level: None,
            function: u16::MAX,
            kind: AccessKind::Arrival,
            word: NO_WORD,
            value: 0,
            held: false,
        });
    }

    /// What lies in all words, what waits in buffers, and what everybody is about to do: equal in two states
    /// that differ at most in counters.
    pub(crate) fn fingerprint(&self, x: &Explored) -> u128 {
        let mut hash = 0;
        for word in 0..self.words.len() {
            if x.points[word] {
                hash = mix(
                    hash,
                    u128::from(self.words[word].value.get()) << 32 | word as u128,
                );
            }
        }
        for (cpu, buffer) in x.buffers.iter().enumerate() {
            for b in buffer.borrow().iter() {
                hash = mix(
                    hash,
                    u128::from(b.word) << 64 | u128::from(b.effect.apply(0)),
                );
            }
            let s = &self.cpus[cpu];
            let what = match s.top_ctx().and_then(|top| x.waits[top as usize].get()) {
                None => 0,
                Some(Waits::Change(word, _)) => 1 << 40 | u128::from(word.0),
                Some(Waits::Turn(Ask::Load(word, _))) => 2 << 40 | u128::from(word.0),
                Some(Waits::Turn(Ask::Store(word, _))) => 3 << 40 | u128::from(word.0),
                Some(Waits::Turn(Ask::Rmw(word, ..))) => 4 << 40 | u128::from(word.0),
                Some(Waits::Turn(_)) => 5 << 40,
            };
            hash = mix(hash, what << 32 | u128::from(s.top_ctx().unwrap_or(NO_CTX)));
        }
        hash
    }

    /// A hash of what lies in all words.
    pub(crate) fn words_digest(&self) -> u128 {
        let values = self.words.iter().map(|w| u128::from(w.value.get()));
        values.fold(0, mix)
    }
}
