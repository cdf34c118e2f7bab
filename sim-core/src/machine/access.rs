//! Accesses to shared words: one await, one micro-step, one place where another CPU may get in.
//!
//! Each access first lets the owed work pass, then is issued (which decides when it completes),
//! and binds its value at its completion.

use super::Machine;
use super::book::{By, What};
use super::counters::add;
use super::cpu::{Cpu, Wait};
use super::explored::{Ask, Explored};
use super::line::{Grant, Line, NONE, Source};
use super::memory::{LineId, Word};
use super::smt::Activity;
use super::spin::SpinWait;
use super::store_buffer::Effect;
use super::topology::Distance;
use crate::engine::time::{Instant, Span};
use crate::trace::Kind;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Ordering of an atomic, as the architecture provides it. On x86-64 all are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// None; on a refcount the miss may hide under later work.
    Relaxed,
    /// Later accesses stay behind it.
    Acquire,
    /// Earlier accesses stay before it.
    Release,
    /// Both.
    Full,
}

/// An atomic read-modify-write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rmw {
    /// `cmpxchg(expect, new)`.
    CmpXchg {
        /// Value that must be there.
        expect: u64,
        /// Value to put.
        new: u64,
    },
    /// Clears the bits of `clear`, then sets those of `set`. `xchg` clears all.
    Mask {
        /// Bits to clear.
        clear: u64,
        /// Bits to set.
        set: u64,
    },
    /// Adds (wrapping).
    Add(u64),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    Start,
    Issue,
    Bind(Instant),
}

impl Rmw {
    /// What it makes of `old`.
    pub(super) fn apply(self, old: u64) -> u64 {
        match self {
            Rmw::CmpXchg { expect, new } if old == expect => new,
            Rmw::CmpXchg { .. } => old,
            Rmw::Mask { clear, set } => (old & !clear) | set,
            Rmw::Add(n) => old.wrapping_add(n),
        }
    }
}

/// One kind of access. Sealed: the machine's own kinds only.
pub trait Op: Copy + Unpin {
    /// What the access yields.
    type Value;
    /// In an explored run: what others can see of it.
    fn ask(&self, cpu: Cpu<'_>) -> Ask;
    /// In an explored run: takes effect.
    fn perform(&self, cpu: Cpu<'_>, x: &Explored) -> Self::Value;
    /// Decides when the context may go on and when the data are there.
    fn issue(&self, cpu: Cpu<'_>) -> Issued;
    /// Takes effect.
    fn bind(&self, cpu: Cpu<'_>, data_at: Instant) -> Self::Value;
}

/// When an issued access lets its context go on, and when its data are there.
#[derive(Clone, Copy)]
pub struct Issued {
    pub(super) resume: Instant,
    pub(super) data: Instant,
}

/// An access under way.
#[must_use = "futures do nothing unless awaited"]
pub struct Access<'w, O> {
    cpu: Cpu<'w>,
    op: O,
    at: At,
}

impl<O: Op> Future for Access<'_, O> {
    type Output = O::Value;

    // One copy for each kind of access: kernel code awaits in hundreds of places, and a copy in each
    // of them would not fit in the host's first-level cache.
    #[inline(never)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<O::Value> {
        let cpu = self.cpu;
        if self.at == At::Start {
            if cpu.s.attention.get()
                && let Some(x) = cpu.m.explored()
            {
                if !cpu.explore(x, self.op.ask(cpu)) {
                    return Poll::Pending;
                }
                cpu.state().wait.set(Wait::Running);
                return Poll::Ready(self.op.perform(cpu, x));
            }
            self.at = At::Issue;
            if !cpu.pass_work() {
                return Poll::Pending;
            }
        } else {
            cpu.state().wait.set(Wait::Running);
        }
        if self.at == At::Issue {
            let issued = self.op.issue(cpu);
            if issued.resume > cpu.m.engine.now() {
                cpu.m.turns(cpu.id, Activity::Stalled);
                if !cpu.m.engine.try_advance(issued.resume) {
                    self.at = At::Bind(issued.data);
                    cpu.suspend(Wait::Access, issued.resume);
                    return Poll::Pending;
                }
            }
            return Poll::Ready(self.op.bind(cpu, issued.data));
        }
        let At::Bind(data) = self.at else {
            unreachable!("Start and Issue are handled above")
        };
        Poll::Ready(self.op.bind(cpu, data))
    }
}

/// A load. `EXPOSED`: the next step waits for its value (trylocks, spins), so nothing of a miss hides.
#[derive(Clone, Copy)]
pub struct Load<const EXPOSED: bool>(pub(super) Word);

impl<const EXPOSED: bool> Op for Load<EXPOSED> {
    type Value = u64;
    #[inline(always)]
    fn issue(&self, cpu: Cpu<'_>) -> Issued {
        let line = cpu.m.line(self.0);
        let grant = cpu.m.coherence.read(line, cpu.s.core, cpu.m.engine.now());
        if grant.source == Source::Hit {
            return cpu.hit(cpu.m.words[self.0.0 as usize].line, grant.at);
        }
        let hide = if EXPOSED {
            Span::ZERO
        } else {
            cpu.m.costs.hide
        };
        cpu.missed(self.0.0, cpu.m.words[self.0.0 as usize].line, grant, hide)
    }
    #[inline(always)]
    fn bind(&self, cpu: Cpu<'_>, data: Instant) -> u64 {
        cpu.bind_load(self.0, data)
    }
    fn ask(&self, _: Cpu<'_>) -> Ask {
        Ask::Load(self.0, false)
    }
    fn perform(&self, cpu: Cpu<'_>, x: &Explored) -> u64 {
        cpu.explored_load(x, self.0, false)
    }
}

/// A plain or release store, or a posted atomic.
#[derive(Clone, Copy)]
pub struct Store {
    word: Word,
    effect: Effect,
    release: bool,
    extra: Span,
}

impl Op for Store {
    type Value = ();
    #[inline(always)]
    fn issue(&self, cpu: Cpu<'_>) -> Issued {
        let visible = cpu.post_store(self.word, self.effect, self.release, self.extra);
        let resume = if cpu.m.costs.store_buffer {
            cpu.m.engine.now()
        } else {
            visible
        };
        Issued {
            resume,
            data: visible,
        }
    }
    #[inline(always)]
    fn bind(&self, _: Cpu<'_>, _: Instant) {}
    fn ask(&self, _: Cpu<'_>) -> Ask {
        Ask::Store(self.word, self.effect)
    }
    fn perform(&self, cpu: Cpu<'_>, x: &Explored) {
        cpu.explored_store(x, self.word, self.effect, self.release);
    }
}

/// A blocking atomic.
#[derive(Clone, Copy)]
pub struct Atomic {
    word: Word,
    op: Rmw,
    order: Order,
}

impl Op for Atomic {
    type Value = u64;
    #[inline(always)]
    fn issue(&self, cpu: Cpu<'_>) -> Issued {
        cpu.issue_rmw(self.word, self.order)
    }
    #[inline(always)]
    fn bind(&self, cpu: Cpu<'_>, data: Instant) -> u64 {
        cpu.bind_rmw(self.word, self.op, data)
    }
    fn ask(&self, _: Cpu<'_>) -> Ask {
        Ask::Rmw(self.word, self.op, self.order)
    }
    fn perform(&self, cpu: Cpu<'_>, x: &Explored) -> u64 {
        cpu.explored_rmw(x, self.word, self.op)
    }
}

/// Lines of one object touched together: bit `i` of a mask is line `base + i`.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// First line of the object.
    pub base: LineId,
    /// Lines that are read.
    pub reads: u16,
    /// Lines that are written.
    pub writes: u16,
}

/// Reads and writes of lines whose contents matter to nobody else.
#[derive(Clone, Copy)]
pub struct Touch<const N: usize>([Footprint; N]);

impl<const N: usize> Op for Touch<N> {
    type Value = ();
    #[inline(always)]
    fn issue(&self, cpu: Cpu<'_>) -> Issued {
        cpu.issue_touch(&self.0)
    }
    #[inline(always)]
    fn bind(&self, _: Cpu<'_>, _: Instant) {}
    fn ask(&self, _: Cpu<'_>) -> Ask {
        Ask::Nothing
    }
    fn perform(&self, _: Cpu<'_>, _: &Explored) {}
}

/// A barrier.
#[derive(Clone, Copy)]
pub struct Barrier {
    full: bool,
}

impl Op for Barrier {
    type Value = ();
    fn issue(&self, cpu: Cpu<'_>) -> Issued {
        let now = cpu.m.engine.now();
        let wait_for = if self.full {
            cpu.s.stores_done.get().max(cpu.s.loads_done.get())
        } else {
            cpu.s.stores_done.get()
        };
        let done = now.max(wait_for)
            + if self.full {
                cpu.m.costs.mb
            } else {
                cpu.m.costs.wmb
            };
        cpu.s.fence.set(cpu.s.stores_done.get());
        cpu.stalled(done.since(now));
        cpu.m.engine.step(
            now,
            cpu.m.base + cpu.ctx,
            Kind::Barrier as u16,
            u32::MAX,
            u64::from(self.full),
        );
        cpu.m.record(
            done,
            cpu.id,
            Kind::Barrier,
            u32::from(self.full),
            done.since(now).ps() as u32,
        );
        Issued {
            resume: done,
            data: done,
        }
    }
    fn bind(&self, _: Cpu<'_>, _: Instant) {}
    fn ask(&self, _: Cpu<'_>) -> Ask {
        if self.full {
            Ask::Drained
        } else {
            Ask::Nothing
        }
    }
    fn perform(&self, cpu: Cpu<'_>, x: &Explored) {
        cpu.explored_barrier(u64::from(self.full));
        if !self.full {
            cpu.explored_wmb(x);
        }
    }
}

/// An instruction that waits for the store buffer and lets nothing else issue: `cli`, `pushf`, `popf`, a
/// write to uncached memory. Of these only the last one is a barrier by its definition (`drains`).
#[derive(Clone, Copy)]
pub struct Serial {
    cost: Span,
    drains: bool,
}

impl Op for Serial {
    type Value = ();
    fn issue(&self, cpu: Cpu<'_>) -> Issued {
        let now = cpu.m.engine.now();
        let done = now.max(cpu.s.stores_done.get()) + self.cost;
        cpu.stalled(done.since(now));
        let (kind, owner) = (Kind::Barrier, cpu.m.base + cpu.ctx);
        cpu.m.engine.step(now, owner, kind as u16, u32::MAX, 2);
        Issued {
            resume: done,
            data: done,
        }
    }
    fn bind(&self, _: Cpu<'_>, _: Instant) {}
    fn ask(&self, _: Cpu<'_>) -> Ask {
        if self.drains {
            Ask::Drained
        } else {
            Ask::Nothing
        }
    }
    fn perform(&self, cpu: Cpu<'_>, _: &Explored) {
        cpu.explored_barrier(2);
    }
}

impl<'w> Cpu<'w> {
    #[inline(always)]
    fn access<O: Op>(self, op: O) -> Access<'w, O> {
        Access {
            cpu: self,
            op,
            at: At::Start,
        }
    }

    /// A plain load; its miss hides under later work as far as the profile says.
    #[inline(always)]
    pub fn load(self, word: Word) -> Access<'w, Load<false>> {
        self.access(Load::<false>(word))
    }

    /// A load that the next step depends on (a trylock's, a test that branches): nothing hides it.
    #[inline(always)]
    pub fn load_exposed(self, word: Word) -> Access<'w, Load<true>> {
        self.access(Load::<true>(word))
    }

    /// A plain store.
    #[inline(always)]
    pub fn store(self, word: Word, value: u64) -> Access<'w, Store> {
        self.store_bits(word, u64::MAX, value)
    }

    /// A plain store to some bytes of a word: `new = (old & !clear) | set`.
    #[inline(always)]
    pub fn store_bits(self, word: Word, clear: u64, set: u64) -> Access<'w, Store> {
        self.access(Store {
            word,
            effect: Effect::Mask { clear, set },
            release: false,
            extra: Span::ZERO,
        })
    }

    /// `smp_store_release` to some bytes of a word.
    #[inline(always)]
    pub fn store_release(self, word: Word, clear: u64, set: u64) -> Access<'w, Store> {
        self.access(Store {
            word,
            effect: Effect::Mask { clear, set },
            release: true,
            extra: Span::ZERO,
        })
    }

    /// An atomic that returns the old value.
    #[inline(always)]
    pub fn rmw(self, word: Word, op: Rmw, order: Order) -> Access<'w, Atomic> {
        self.access(Atomic { word, op, order })
    }

    /// Reads and writes lines together: independent misses overlap, the longest counts.
    #[inline(always)]
    pub fn touch<const N: usize>(self, footprints: [Footprint; N]) -> Access<'w, Touch<N>> {
        self.access(Touch(footprints))
    }

    /// [`touch`](Self::touch) of lines for the sake of `words` on them, which is what names who reads
    /// them then.
    pub async fn touch_fields(self, lines: Footprint, words: &[Word]) {
        if let Some(book) = &self.m.book {
            let line_of = |w: &Word| (self.m.words[w.0 as usize].line, w.0);
            book.about(self.ctx, words.iter().map(line_of));
        }
        self.touch([lines]).await;
        if let Some(book) = &self.m.book {
            book.about(self.ctx, std::iter::empty());
        }
    }

    fn serial(self, cost: Span, drains: bool) -> Access<'w, Serial> {
        self.access(Serial { cost, drains })
    }

    /// `smp_mb()`.
    pub fn smp_mb(self) -> Access<'w, Barrier> {
        self.access(Barrier { full: true })
    }

    /// `local_irq_save` or `local_irq_restore`: half of the pair's cost. Its effect on interrupts is
    /// the caller's ([`irq_disable`](Cpu::irq_disable)).
    pub fn irq_flags(self) -> Access<'w, Serial> {
        self.serial(self.m.costs.irq_flags, false)
    }

    /// A write to a device's register (`writel`): behind all earlier stores, and nothing passes it.
    pub fn uncached_write(self) -> Access<'w, Serial> {
        self.serial(self.m.costs.mmio, true)
    }

    /// `wmb()`, before memory that a device reads is announced: `sfence` on x86-64, which lets the store
    /// buffer drain; what it costs besides was measured by nobody and is not charged.
    pub async fn wmb(self) {
        if self.m.costs.wmb_waits {
            self.access(Barrier { full: false }).await;
        } else {
            self.serial(Span::ZERO, false).await;
        }
    }

    /// `smp_wmb()`; on x86-64 it costs nothing and is no step.
    pub async fn smp_wmb(self) {
        if self.m.costs.wmb_waits {
            self.access(Barrier { full: false }).await;
        }
    }

    /// `smp_mb__after_atomic()`: nothing where atomics are full barriers.
    pub async fn after_atomic(self) {
        if self.m.costs.wmb_waits {
            self.smp_mb().await;
        }
    }

    /// An atomic bit operation or add whose old value nobody wants (`set_bit`, `clear_bit`):
    /// posted like a store where the architecture can, else blocking.
    pub async fn rmw_posted(self, word: Word, op: Rmw) {
        if self.m.costs.posted_atomics {
            let effect = match op {
                Rmw::Mask { clear, set } => Effect::Mask { clear, set },
                Rmw::Add(n) => Effect::Add(n),
                Rmw::CmpXchg { .. } => unreachable!("a cmpxchg's result is wanted"),
            };
            // Issuing it takes its slot in the pipeline all the same; only the line's way is not waited for.
            self.elapse(self.m.costs.rmw);
            self.access(Store {
                word,
                effect,
                release: false,
                extra: self.m.costs.rmw,
            })
            .await;
        } else {
            self.rmw(word, op, Order::Full).await;
        }
    }

    /// Spins until the value of `word` satisfies `ready`, and returns it.
    pub fn wait_until<F: Fn(u64) -> bool + Unpin>(self, word: Word, ready: F) -> SpinWait<'w, F> {
        SpinWait::new(self, word, ready)
    }

    #[inline(always)]
    fn bind_load(self, word: Word, data: Instant) -> u64 {
        let now = self.m.engine.now();
        let state = &self.m.words[word.0 as usize];
        let line = &self.m.lines[state.line as usize];
        let value = if line.pending.get() == NONE {
            state.value.get()
        } else {
            self.value_among_stores(word, data.max(now))
        };
        self.note(word, What::Load);
        self.m.engine.step(
            now,
            self.m.base + self.ctx,
            Kind::Load as u16,
            word.0,
            value,
        );
        self.m
            .record(now, self.id, Kind::Load, word.0, value as u32);
        value
    }

    /// The value of a word while stores to its line wait, as this CPU sees it at `horizon`.
    #[inline(never)]
    fn value_among_stores(self, word: Word, horizon: Instant) -> u64 {
        let line = self.m.line(word);
        self.m.settle_line(line, self.m.engine.now());
        let memory = self.m.words[word.0 as usize].value.get();
        self.m
            .stores
            .overlay(line, self.id, word.0, horizon, memory)
    }

    /// A line that the core holds, or that a sibling has asked for already.
    #[inline(always)]
    fn hit(self, line: u32, at: Instant) -> Issued {
        let at = match self.m.fill_in_flight(self.s.core, line, at) {
            Some(arrival) => {
                self.stalled(arrival.since(at));
                arrival
            }
            None => at,
        };
        Issued {
            resume: at,
            data: at,
        }
    }

    /// Books a miss and says when the context goes on: when the data are there, less what hides.
    fn missed(self, word: u32, line: u32, grant: Grant, hide: Span) -> Issued {
        let now = self.m.engine.now();
        let resume = grant.at.back(hide).max(now);
        let counters = &self.s.counters;
        self.m.moves[line as usize].count(grant.source);
        self.m.fill(self.s.core, line, grant.source, grant.at);
        add(&counters.llc_references, 1);
        match grant.source {
            Source::Memory => add(&counters.llc_misses, 1),
            Source::Dirty(_) => {
                add(&counters.hitm, 1);
                if word != NONE {
                    add(&self.m.word_hitm[word as usize], 1);
                }
                self.taken(line, (word != NONE).then_some(word), grant.source);
            }
            _ => {}
        }
        self.s.loads_done.set(self.s.loads_done.get().max(grant.at));
        self.stalled(resume.since(now));
        self.m.record(
            now,
            self.id,
            Kind::LineMiss,
            line,
            resume.since(now).ps() as u32,
        );
        if let Source::Dirty(from) = grant.source {
            self.m
                .record(now, self.id, Kind::LineFrom, line, u32::from(from));
        }
        Issued {
            resume,
            data: grant.at,
        }
    }

    /// Who is at it.
    fn by(self) -> By {
        By {
            cpu: self.id,
            ctx: self.ctx,
            function: self.s.function.get(),
        }
    }

    /// Notes an access to `word`, if that is wanted.
    #[inline(always)]
    fn note(self, word: Word, what: What) {
        if self.m.book.is_some() {
            self.note_word(word, what);
        }
    }

    #[inline(never)]
    fn note_word(self, word: Word, what: What) {
        if let Some(book) = &self.m.book {
            book.word(self.m.words[word.0 as usize].line, word.0, self.by(), what);
        }
    }

    /// Notes that a dirty line was taken for `word`. NUMA nodes are dies, as `perf c2c` counts them.
    fn taken(self, line: u32, word: Option<u32>, source: Source) {
        if let (Some(book), Source::Dirty(from)) = (&self.m.book, source) {
            let distance = self.m.coherence.topology.distance(self.s.core, from);
            book.taken(line, word, self.by(), distance > Distance::Die);
        }
    }

    #[inline(always)]
    fn stalled(self, span: Span) {
        if !self.s.spinning.get() {
            add(&self.s.counters.stall, span.ps());
        }
    }

    /// Puts a store into the buffer; returns when it becomes visible.
    #[inline(never)]
    fn post_store(self, word: Word, effect: Effect, release: bool, extra: Span) -> Instant {
        let (m, s) = (self.m, self.s);
        let now = m.engine.now();
        let state = &m.words[word.0 as usize];
        let line = &m.lines[state.line as usize];
        if extra > Span::ZERO || !line.owned_by(s.core) || line.pending.get() != NONE {
            return self.post_store_late(word, effect, release, extra);
        }
        let mut visible = line.busy.get();
        if m.costs.fifo_stores {
            visible = visible.max(s.stores_done.get());
        } else if release {
            visible = visible.max(s.stores_done.get()).max(s.loads_done.get());
        } else {
            visible = visible.max(s.fence.get());
        }
        if visible > now {
            return self.post_store_late(word, effect, release, extra);
        }
        self.note(word, What::Store { miss: false });
        // The usual case: the line is here, nothing waits on it and nothing holds the store back.
        s.stores_done.set(s.stores_done.get().max(now));
        state.value.set(effect.apply(state.value.get()));
        if release {
            line.busy.set(now);
        }
        let kind = if release {
            Kind::StoreRelease
        } else {
            Kind::Store
        };
        let value = effect.apply(0);
        m.engine.step(
            now,
            m.base + self.ctx,
            kind as u16,
            word.0,
            value ^ now.ps() << 8,
        );
        m.record(now, self.id, kind, word.0, value as u32);
        m.notify(line, now);
        now
    }

    /// [`post_store`](Self::post_store) for any store.
    #[inline(never)]
    fn post_store_late(self, word: Word, effect: Effect, release: bool, extra: Span) -> Instant {
        let (m, s) = (self.m, self.s);
        let now = m.engine.now();
        let line = m.line(word);
        let grant = m.coherence.own(line, s.core, now);
        if grant.source != Source::Hit {
            let number = m.words[word.0 as usize].line;
            m.moves[number as usize].count(grant.source);
            m.fill(s.core, number, grant.source, grant.at);
            add(&s.counters.llc_references, 1);
            if let Source::Dirty(from) = grant.source {
                add(&s.counters.hitm, 1);
                add(&m.word_hitm[word.0 as usize], 1);
                let line = m.words[word.0 as usize].line;
                self.taken(line, Some(word.0), grant.source);
                m.record(
                    now,
                    self.id,
                    Kind::LineFrom,
                    m.words[word.0 as usize].line,
                    u32::from(from),
                );
            }
        }
        let miss = grant.source != Source::Hit;
        self.note(word, What::Store { miss });
        let mut visible = grant.at + extra;
        if m.costs.fifo_stores {
            visible = visible.max(s.stores_done.get());
        } else if release {
            visible = visible.max(s.stores_done.get()).max(s.loads_done.get());
        } else {
            visible = visible.max(s.fence.get());
        }
        if line.pending.get() != NONE {
            m.settle_line(line, now);
            visible = visible.max(m.stores.last_own(line, self.id).unwrap_or_default());
        }
        s.stores_done.set(s.stores_done.get().max(visible));
        let kind = if release {
            Kind::StoreRelease
        } else {
            Kind::Store
        };
        if visible <= now && line.pending.get() == NONE {
            let cell = &m.words[word.0 as usize].value;
            cell.set(effect.apply(cell.get()));
        } else {
            m.stores.issue(line, visible, self.id, word.0, effect);
        }
        if release || extra > Span::ZERO {
            // The line is not given away before the store is in it.
            line.busy.set(line.busy.get().max(visible));
        }
        let value = effect.apply(0);
        m.engine.step(
            now,
            m.base + self.ctx,
            kind as u16,
            word.0,
            value ^ visible.ps() << 8,
        );
        m.record(now, self.id, kind, word.0, value as u32);
        m.notify(line, visible);
        visible
    }

    fn issue_rmw(self, word: Word, order: Order) -> Issued {
        let (m, s) = (self.m, self.s);
        let now = m.engine.now();
        let line = m.line(word);
        let mut start = now;
        if m.costs.rmw_drains {
            start = start.max(s.stores_done.get());
        } else if order >= Order::Release {
            start = start.max(s.stores_done.get()).max(s.loads_done.get());
        }
        let grant = m.coherence.own(line, s.core, start);
        let mut owned = grant.at;
        if line.pending.get() != NONE {
            m.settle_line(line, now);
            owned = owned.max(m.stores.last_own(line, self.id).unwrap_or_default());
        }
        let done = owned + m.costs.rmw;
        line.busy.set(line.busy.get().max(done));
        if grant.source == Source::Hit {
            self.stalled(owned.since(now));
            return Issued {
                resume: done,
                data: done,
            };
        }
        let hide = if order == Order::Relaxed {
            m.costs.hide
        } else {
            Span::ZERO
        };
        let issued = self.missed(
            word.0,
            m.words[word.0 as usize].line,
            Grant {
                at: owned,
                source: grant.source,
            },
            hide,
        );
        Issued {
            resume: issued.resume + m.costs.rmw,
            data: done,
        }
    }

    fn bind_rmw(self, word: Word, op: Rmw, data: Instant) -> u64 {
        let m = self.m;
        let now = m.engine.now();
        let line = m.line(word);
        if line.pending.get() != NONE {
            m.settle_line(line, data.max(now));
        }
        let cell = &m.words[word.0 as usize].value;
        let old = cell.get();
        let new = op.apply(old);
        cell.set(new);
        self.note(word, What::Rmw);
        m.engine.step(
            now,
            m.base + self.ctx,
            Kind::Rmw as u16,
            word.0,
            old ^ new << 32,
        );
        m.record(now, self.id, Kind::Rmw, word.0, new as u32);
        m.notify(line, now);
        old
    }

    fn issue_touch(self, footprints: &[Footprint]) -> Issued {
        let (m, s) = (self.m, self.s);
        let now = m.engine.now();
        let mut resume = now;
        for f in footprints {
            let (mut reads, mut writes) = (f.reads, f.writes);
            while reads != 0 {
                let number = f.base.nth(reads.trailing_zeros()).0;
                reads &= reads - 1;
                let grant = m.coherence.read(&m.lines[number as usize], s.core, now);
                if grant.source != Source::Hit {
                    let stall = s.counters.stall.get();
                    resume = resume.max(self.missed(NONE, number, grant, m.costs.hide).resume);
                    // Overlapping misses: only the longest is a stall.
                    s.counters.stall.set(stall);
                } else if let Some(at) = m.fill_in_flight(s.core, number, now) {
                    resume = resume.max(at);
                }
                if let Some(book) = &m.book {
                    book.line(number, self.by(), What::Load);
                }
            }
            while writes != 0 {
                let number = f.base.nth(writes.trailing_zeros()).0;
                writes &= writes - 1;
                let line = &m.lines[number as usize];
                let grant = m.coherence.own(line, s.core, now);
                if grant.source != Source::Hit {
                    m.moves[number as usize].count(grant.source);
                    m.fill(s.core, number, grant.source, grant.at);
                    add(&s.counters.llc_references, 1);
                    if let Source::Dirty(from) = grant.source {
                        add(&s.counters.hitm, 1);
                        self.taken(number, None, grant.source);
                        m.record(now, self.id, Kind::LineFrom, number, u32::from(from));
                    }
                }
                if let Some(book) = &m.book {
                    let miss = grant.source != Source::Hit;
                    book.line(number, self.by(), What::Store { miss });
                }
                let floor = if m.costs.fifo_stores {
                    s.stores_done.get()
                } else {
                    s.fence.get()
                };
                s.stores_done
                    .set(s.stores_done.get().max(grant.at.max(floor)));
                if !m.costs.store_buffer {
                    resume = resume.max(grant.at);
                }
                m.notify(line, grant.at);
            }
        }
        self.stalled(resume.since(now));
        let what = footprints.iter().fold(0u64, |h, f| {
            h << 20 ^ u64::from(f.base.0) ^ u64::from(f.reads) << 40 ^ u64::from(f.writes) << 52
        });
        m.engine
            .step(now, m.base + self.ctx, u16::MAX, footprints[0].base.0, what);
        Issued {
            resume,
            data: resume,
        }
    }
}

impl Machine {
    #[inline(always)]
    pub(super) fn line(&self, word: Word) -> &Line {
        &self.lines[self.words[word.0 as usize].line as usize]
    }

    /// Makes every store to `line` that is due at `now` visible, in order.
    #[inline]
    pub(super) fn settle_line(&self, line: &Line, now: Instant) {
        while let Some(w) = self.stores.pop_due(line, now) {
            let cell = &self.words[w.word as usize].value;
            let value = w.effect.apply(cell.get());
            cell.set(value);
            self.record(w.visible_at, w.cpu, Kind::Drain, w.word, value as u32);
        }
    }

    /// Tells the watchers of `line` that it changes hands at `at`.
    #[inline(always)]
    fn notify(&self, line: &Line, at: Instant) {
        if line.watcher.get() != NONE {
            self.notify_watchers(line, at);
        }
    }

    fn notify_watchers(&self, line: &Line, at: Instant) {
        let mut ctx = line.watcher.replace(NONE);
        while ctx != NONE {
            let next = self.ctxs[ctx as usize].next_watcher.replace(NONE);
            self.wake_spinner(ctx, at.max(self.engine.now()) + self.costs.spin_wake);
            ctx = next;
        }
    }
}
