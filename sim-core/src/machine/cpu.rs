//! CPUs and their contexts: a task, a softirq and a hardirq context each, stacked.
//!
//! The top context runs; those below are suspended. A context waits in one of a few ways
//! ([`Wait`]), and how it waits decides what an interrupt may do: work is cut and its rest
//! re-armed, an access is completed first, a spin is left at once and looked at again later.

use super::Machine;
use super::counters::{Counters, add};
use super::smt::{Activity, Issue};
use crate::engine::time::{Instant, Span};
use crate::trace::{Kind, Level};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// No context.
pub(super) const NO_CTX: u32 = u32::MAX;
const LEVELS: usize = 3;

/// How a context waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// For something to do.
    Idle,
    /// It runs (or is due to).
    Running,
    /// For work to be done; an interrupt may cut it. Until the instant given.
    Work(Instant),
    /// For an access to complete; interrupts come after that.
    Access,
    /// On a line, for a store by somebody else.
    Spin,
    /// For a wake-up or its turn (tasks only).
    Asleep,
    /// Until the softirqs it started are done.
    HandedOver,
}

/// How tasks share a CPU: the completely fair scheduler of Linux 5.11 at its defaults for eight or
/// more CPUs (`kernel/sched/fair.c`, scaled by 1 + log2 of 8), weights all equal.
#[derive(Clone, Copy, Debug)]
pub struct FairShare {
    /// `sched_min_granularity`: a task keeps the CPU this long while another waits.
    pub min_granularity: Span,
    /// `sched_wakeup_granularity`: a woken task preempts one that is ahead by more than this.
    pub wakeup_granularity: Span,
    /// Half of `sched_latency`: how far behind a task that slept may start.
    pub sleeper_credit: Span,
}

impl Default for FairShare {
    fn default() -> FairShare {
        FairShare {
            min_granularity: Span::from_ns(3_000_000),
            wakeup_granularity: Span::from_ns(4_000_000),
            sleeper_credit: Span::from_ns(12_000_000),
        }
    }
}

/// State of one context.
#[derive(Debug)]
pub(super) struct Ctx {
    pub cpu: u16,
    pub level: Level,
    pub wait: Cell<Wait>,
    /// A higher context runs on top of it.
    pub suspended: Cell<bool>,
    /// Work that was cut and is still to do.
    rest: Cell<Span>,
    /// It was woken while suspended; it may go on from this instant.
    due: Cell<Option<Instant>>,
    /// When the event it waits for comes (spins only).
    wake_at: Cell<Option<Instant>>,
    pub next_watcher: Cell<u32>,
    /// Time the task has run, as the scheduler counts it.
    vruntime: Cell<Span>,
    /// Index into the trace's task names.
    pub task: u32,
}

impl Ctx {
    pub fn new(cpu: u16, level: Level, task: u32) -> Ctx {
        Ctx {
            cpu,
            level,
            wait: Cell::new(Wait::Idle),
            suspended: Cell::new(false),
            rest: Cell::default(),
            due: Cell::new(None),
            wake_at: Cell::new(None),
            next_watcher: Cell::new(NO_CTX),
            vruntime: Cell::default(),
            task,
        }
    }
}

/// State of one logical CPU.
#[derive(Debug)]
pub(super) struct CpuState {
    pub core: u16,
    /// Work of the running context that has not passed yet.
    pub owed: Cell<Span>,
    /// An interrupt waits for the running context to come to a point where it may be taken.
    pub attention: Cell<bool>,
    /// When all stores issued so far are visible, when all loads are there, and the instant
    /// before which no later store may become visible.
    pub stores_done: Cell<Instant>,
    pub loads_done: Cell<Instant>,
    pub fence: Cell<Instant>,
    /// The context of each level that is active, or [`NO_CTX`].
    active: [Cell<u32>; LEVELS],
    softirq_ctx: Cell<u32>,
    hardirq_ctx: Cell<u32>,
    run_queue: RefCell<VecDeque<u32>>,
    slice_start: Cell<Instant>,
    /// `need_resched`: a woken task is to run soon.
    need_resched: Cell<bool>,
    /// The same of the idle task: one was woken under an interrupt and has not run yet.
    idle_was_woken: Cell<bool>,
    idle_woken_at: Cell<Option<Instant>>,
    since: Cell<Instant>,
    /// Hard interrupts raised and not taken, one bit a vector.
    irqs: Cell<u64>,
    irqs_off: Cell<bool>,
    bh_off: Cell<u32>,
    pub spinning: Cell<bool>,
    /// The task runs in user mode.
    user: Cell<bool>,
    /// Its share of the core.
    pub issue: Issue,
    /// Speed of the work chunk under way, and instructions left in it.
    pub stretch: Cell<u32>,
    pub chunk_left: Cell<u32>,
    pub counters: Counters,
    /// Function that runs, for messages.
    pub function: Cell<u16>,
}

impl CpuState {
    pub fn new(core: u16) -> CpuState {
        CpuState {
            core,
            owed: Cell::default(),
            attention: Cell::new(false),
            stores_done: Cell::default(),
            loads_done: Cell::default(),
            fence: Cell::default(),
            active: std::array::from_fn(|_| Cell::new(NO_CTX)),
            softirq_ctx: Cell::new(NO_CTX),
            hardirq_ctx: Cell::new(NO_CTX),
            run_queue: RefCell::default(),
            slice_start: Cell::default(),
            need_resched: Cell::new(false),
            idle_was_woken: Cell::new(false),
            idle_woken_at: Cell::new(None),
            since: Cell::default(),
            irqs: Cell::new(0),
            irqs_off: Cell::new(false),
            bh_off: Cell::new(0),
            spinning: Cell::new(false),
            user: Cell::new(false),
            issue: Issue::default(),
            stretch: Cell::new(65536),
            chunk_left: Cell::new(0),
            counters: Counters::default(),
            function: Cell::new(u16::MAX),
        }
    }

    fn top_level(&self) -> Option<Level> {
        [Level::Hardirq, Level::Softirq, Level::Task]
            .into_iter()
            .find(|&l| self.active[l as usize].get() != NO_CTX)
    }

    fn top(&self) -> u32 {
        self.top_level()
            .map_or(NO_CTX, |l| self.active[l as usize].get())
    }

    /// A woken task runs now.
    pub fn ran(&self) {
        self.idle_woken_at.set(None);
    }

    /// The context that runs.
    pub fn top_ctx(&self) -> Option<u32> {
        Some(self.top()).filter(|&top| top != NO_CTX)
    }
}

/// The handle that every kernel path takes first: one context on one logical CPU.
#[derive(Clone, Copy)]
pub struct Cpu<'w> {
    pub(super) m: &'w Machine,
    pub(super) s: &'w CpuState,
    pub(super) ctx: u32,
    pub(super) id: u16,
}

impl<'w> Cpu<'w> {
    /// The number of the logical CPU within its host.
    #[inline(always)]
    pub fn id(self) -> u16 {
        self.id
    }

    /// The machine it belongs to.
    #[inline(always)]
    pub fn machine(self) -> &'w Machine {
        self.m
    }

    /// Which of the CPU's contexts this is.
    #[inline(always)]
    pub fn level(self) -> Level {
        self.state().level
    }

    #[inline(always)]
    pub(super) fn state(self) -> &'w Ctx {
        &self.m.ctxs[self.ctx as usize]
    }

    /// The simulated time as this context sees it: the clock and the work it still owes.
    #[inline(always)]
    pub fn now(self) -> Instant {
        self.m.engine.now() + self.s.owed.get()
    }

    /// The CPU's counters.
    pub fn counters(self) -> &'w Counters {
        &self.s.counters
    }

    /// Retires `n` instructions. Takes effect at the next access: nobody can see the difference.
    #[inline(always)]
    pub fn insns(self, n: u32) {
        add(&self.s.counters.instructions, u64::from(n));
        self.elapse(self.m.work(self.id, n));
    }

    /// Retires `n` instructions in user mode.
    pub fn user_insns(self, n: u32) {
        add(&self.s.counters.user_instructions, u64::from(n));
        self.elapse(self.m.work(self.id, n));
    }

    /// The task enters or leaves user mode; what it owes has to have passed ([`settle`](Cpu::settle)).
    pub fn set_user(self, user: bool) {
        debug_assert!(self.s.owed.get() == Span::ZERO, "settle first");
        self.m.account(self.id);
        self.s.user.set(user);
    }

    /// Lets `span` pass that is no instruction's own (an atomic, a clock read).
    #[inline(always)]
    pub fn elapse(self, span: Span) {
        let mut owed = self.s.owed.get();
        owed += span;
        self.s.owed.set(owed);
    }

    /// Copies `bytes` that are in this CPU's caches, or reads them for a checksum.
    pub fn copy(self, bytes: u32) {
        let span = Span::from_ps(self.m.costs.copy_byte.ps() * u64::from(bytes));
        self.elapse(self.m.copying(self.id, span));
    }

    /// Copies `bytes` that are in nobody's cache: lines at memory latency, several in flight; not
    /// faster than a warm copy.
    pub fn copy_cold(self, bytes: u32) {
        let warm = self.m.costs.copy_byte.ps() * u64::from(bytes);
        let lines = u64::from(bytes.div_ceil(super::layout::LINE_BYTES));
        let span = Span::from_ps(warm.max(self.m.costs.cold_line.ps() * lines));
        self.elapse(self.m.copying(self.id, span));
    }

    /// A `this_cpu_*` operation on a line that nobody else touches.
    #[inline(always)]
    pub fn this_cpu_op(self) {
        self.elapse(self.m.costs.this_cpu);
    }

    /// Writes a record of this CPU into the trace.
    #[inline(always)]
    pub fn record(self, kind: Kind, a: u32, b: u32) {
        self.m.record(self.now(), self.id, kind, a, b);
    }

    /// Writes a record of this CPU that belongs to a later instant.
    pub fn record_at(self, at: Instant, kind: Kind, a: u32, b: u32) {
        self.m.record(at, self.id, kind, a, b);
    }

    /// When every store that this CPU has issued is visible to all; now, if they are.
    pub fn stores_visible_at(self) -> Instant {
        self.s.stores_done.get().max(self.now())
    }

    /// Opens a span for kernel function `function`; it ends when the guard is dropped.
    #[inline(always)]
    pub fn span(self, function: u16) -> FnSpan<'w> {
        self.record(Kind::FnEnter, u32::from(function), 0);
        FnSpan {
            cpu: self,
            function,
            outer: self.s.function.replace(function),
        }
    }

    /// The kernel function that runs on this CPU.
    pub fn function(self) -> u16 {
        self.s.function.get()
    }

    /// Passes the owed work through the clock; true if that needed no suspension.
    #[inline(always)]
    pub(super) fn pass_work(self) -> bool {
        if self.s.attention.get() {
            return self.attend();
        }
        let owed = self.s.owed.get();
        if owed == Span::ZERO {
            return true;
        }
        self.s.owed.set(Span::ZERO);
        let until = if self.m.smt() {
            self.m.begin_work(self.id, owed)
        } else {
            self.m.engine.now() + owed
        };
        if self.m.engine.try_advance(until) {
            return true;
        }
        self.suspend(Wait::Work(until), until);
        false
    }

    /// Waits for an event at `until`. One copy for all accesses.
    #[inline(never)]
    pub(super) fn suspend(self, wait: Wait, until: Instant) {
        self.state().wait.set(wait);
        self.m.engine.arm(until, self.m.base + self.ctx);
    }

    /// Takes the interrupt that waited: this context is cut with its work to do.
    #[cold]
    fn attend(self) -> bool {
        if self.m.explored().is_some() {
            self.s.owed.set(Span::ZERO);
            return true;
        }
        self.s.attention.set(false);
        let ctx = self.state();
        ctx.rest.set(self.s.owed.replace(Span::ZERO));
        ctx.wait
            .set(Wait::Work(self.m.engine.now() + ctx.rest.get()));
        ctx.suspended.set(true);
        self.m.enter(self.id, Level::Hardirq);
        self.m
            .engine
            .hand_over(self.m.base + self.s.hardirq_ctx.get());
        false
    }

    /// Work as a future: lets everything owed pass now.
    pub fn settle(self) -> Settle<'w> {
        Settle {
            cpu: self,
            started: false,
        }
    }

    /// `local_bh_disable`'s effect on the CPU (its cost is the caller's).
    pub fn bh_disable(self) {
        self.s.bh_off.set(self.s.bh_off.get() + 1);
    }

    /// The other half of `local_bh_enable`; true if softirqs may run now.
    ///
    /// # Panics
    /// If BHs were not disabled.
    pub fn bh_enable(self) -> bool {
        let n = self
            .s
            .bh_off
            .get()
            .checked_sub(1)
            .expect("bh_enable pairs with bh_disable");
        self.s.bh_off.set(n);
        n == 0 && self.level() == Level::Task
    }

    /// Whether the CPU is in interrupt or has BHs disabled (`in_interrupt()`).
    pub fn in_interrupt(self) -> bool {
        self.level() != Level::Task || self.s.bh_off.get() > 0
    }

    /// Masks hard interrupts.
    pub fn irq_disable(self) {
        self.s.irqs_off.set(true);
        // One that was raised and not taken yet waits for `irq_enable`.
        self.s.attention.set(self.m.explored().is_some());
    }

    /// Unmasks hard interrupts; a waiting one is taken at the next step.
    pub fn irq_enable(self) {
        self.s.irqs_off.set(false);
        if self.s.irqs.get() != 0 && self.level() != Level::Hardirq {
            self.s.attention.set(true);
        }
    }

    /// `local_irq_save`: masks hard interrupts; whether they were masked already, for
    /// [`irq_restore`](Cpu::irq_restore).
    #[must_use]
    pub fn irq_save(self) -> bool {
        let masked = self.s.irqs_off.get();
        self.irq_disable();
        masked
    }

    /// `local_irq_restore`.
    pub fn irq_restore(self, masked: bool) {
        if !masked {
            self.irq_enable();
        }
    }

    /// Runs the softirq context now, on top of this one; resolves when it is done.
    pub fn run_softirqs(self) -> HandOver<'w> {
        HandOver {
            cpu: self,
            done: false,
        }
    }

    /// Waits until this context is started (softirq and hardirq contexts, and new tasks).
    pub fn started(self) -> Started<'w> {
        Started {
            cpu: self,
            asked: false,
        }
    }

    /// Ends this activation of a softirq or hardirq context: the CPU goes on with the softirqs
    /// that are pending (`run_softirqs`) or with what lies below. Await [`started`](Self::started) next.
    pub fn finish(self, run_softirqs: bool) {
        self.m.finish(self, run_softirqs);
    }

    /// Takes the lowest raised interrupt vector.
    pub fn take_irq(self) -> Option<u32> {
        let irqs = self.s.irqs.get();
        if irqs == 0 {
            return None;
        }
        let vector = irqs.trailing_zeros();
        self.s.irqs.set(irqs & (irqs - 1));
        Some(vector)
    }

    /// Puts this task to sleep; another one runs. Resolves when it was woken and has its turn.
    pub fn sleep(self) -> Switch<'w> {
        Switch {
            cpu: self,
            again: false,
            done: false,
        }
    }

    /// Lets another runnable task run, if there is one and it was woken for that or this one's slice
    /// is over (`cond_resched`).
    pub fn cond_resched(self) -> Switch<'w> {
        let s = self.s;
        let stay = s.run_queue.borrow().is_empty()
            || !s.need_resched.get()
                && self.now().since(s.slice_start.get()) < self.m.fair.min_granularity;
        Switch {
            cpu: self,
            again: true,
            done: stay,
        }
    }
}

/// An open function span.
#[must_use = "the span ends when this is dropped"]
pub struct FnSpan<'w> {
    cpu: Cpu<'w>,
    function: u16,
    outer: u16,
}

impl Drop for FnSpan<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.cpu.s.function.set(self.outer);
        self.cpu.record(Kind::FnLeave, u32::from(self.function), 0);
    }
}

/// See [`Cpu::settle`].
#[must_use = "futures do nothing unless awaited"]
pub struct Settle<'w> {
    cpu: Cpu<'w>,
    started: bool,
}

impl Future for Settle<'_> {
    type Output = ();
    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.started {
            self.cpu.state().wait.set(Wait::Running);
            return Poll::Ready(());
        }
        self.started = true;
        if self.cpu.pass_work() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// See [`Cpu::run_softirqs`].
#[must_use = "futures do nothing unless awaited"]
pub struct HandOver<'w> {
    cpu: Cpu<'w>,
    done: bool,
}

impl Future for HandOver<'_> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.done {
            return Poll::Ready(());
        }
        self.done = true;
        let ctx = self.cpu.state();
        ctx.wait.set(Wait::HandedOver);
        ctx.suspended.set(true);
        self.cpu.m.enter(self.cpu.id, Level::Softirq);
        self.cpu
            .m
            .engine
            .hand_over(self.cpu.m.base + self.cpu.s.softirq_ctx.get());
        Poll::Pending
    }
}

/// See [`Cpu::started`].
#[must_use = "futures do nothing unless awaited"]
pub struct Started<'w> {
    cpu: Cpu<'w>,
    asked: bool,
}

impl Future for Started<'_> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.asked {
            self.cpu.state().wait.set(Wait::Running);
            return Poll::Ready(());
        }
        self.asked = true;
        self.cpu.state().wait.set(Wait::Idle);
        Poll::Pending
    }
}

/// See [`Cpu::sleep`] and [`Cpu::cond_resched`].
#[must_use = "futures do nothing unless awaited"]
pub struct Switch<'w> {
    cpu: Cpu<'w>,
    again: bool,
    done: bool,
}

impl Switch<'_> {
    /// Whether awaiting it gives up the CPU.
    pub fn switches(&self) -> bool {
        !self.done
    }
}

impl Future for Switch<'_> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.done {
            self.cpu.state().wait.set(Wait::Running);
            return Poll::Ready(());
        }
        self.done = true;
        let (cpu, m) = (self.cpu, self.cpu.m);
        cpu.state().wait.set(Wait::Asleep);
        m.charge(cpu.id);
        cpu.s.need_resched.set(false);
        if self.again {
            cpu.s.run_queue.borrow_mut().push_back(cpu.ctx);
        }
        let next = m.pick_task(cpu.id);
        m.leave(cpu.id, Level::Task);
        if let Some(next) = next {
            m.start_task(cpu.id, next);
            add(&cpu.s.counters.context_switches, 1);
            cpu.elapse(m.costs.context_switch);
            m.engine.hand_over(m.base + next);
        }
        Poll::Pending
    }
}

impl Machine {
    /// Books the time since the last change of level on `cpu`.
    fn account(&self, cpu: u16) {
        let s = &self.cpus[usize::from(cpu)];
        let now = self.engine.now();
        let passed = now.since(s.since.replace(now)).ps();
        let counter = match s.top_level() {
            None => &s.counters.idle,
            Some(Level::Task) => {
                if s.user.get() {
                    add(&s.counters.user, passed);
                }
                &s.counters.task
            }
            Some(Level::Softirq) => &s.counters.softirq,
            Some(Level::Hardirq) => &s.counters.hardirq,
        };
        add(counter, passed);
    }

    /// Books the time up to now on every CPU, before the counters are read.
    pub fn account_all(&self) {
        (0..self.cpus.len() as u16).for_each(|cpu| self.account(cpu));
    }

    fn enter(&self, cpu: u16, level: Level) {
        self.account(cpu);
        let s = &self.cpus[usize::from(cpu)];
        let ctx = if level == Level::Softirq {
            s.softirq_ctx.get()
        } else {
            s.hardirq_ctx.get()
        };
        s.active[level as usize].set(ctx);
        self.record(self.engine.now(), cpu, Kind::CtxEnter, level as u32, 0);
    }

    fn leave(&self, cpu: u16, level: Level) {
        self.account(cpu);
        let s = &self.cpus[usize::from(cpu)];
        s.active[level as usize].set(NO_CTX);
        if s.top() == NO_CTX {
            self.turns(cpu, Activity::Idle);
        }
        self.record(self.engine.now(), cpu, Kind::CtxLeave, level as u32, 0);
    }

    fn start_task(&self, cpu: u16, ctx: u32) {
        self.account(cpu);
        let s = &self.cpus[usize::from(cpu)];
        s.active[Level::Task as usize].set(ctx);
        s.slice_start.set(self.engine.now());
        let task = self.ctxs[ctx as usize].task;
        self.record(
            self.engine.now(),
            cpu,
            Kind::CtxEnter,
            Level::Task as u32,
            task,
        );
    }

    /// Books the time that the running task of `cpu` has run.
    fn charge(&self, cpu: u16) {
        let s = &self.cpus[usize::from(cpu)];
        let task = s.active[Level::Task as usize].get();
        let now = self.engine.now();
        let c = &self.ctxs[task as usize];
        c.vruntime
            .set(c.vruntime.get() + now.since(s.slice_start.replace(now)));
    }

    /// Takes the runnable task that has run least; the longest in the queue if several have.
    fn pick_task(&self, cpu: u16) -> Option<u32> {
        let mut queue = self.cpus[usize::from(cpu)].run_queue.borrow_mut();
        let (at, _) = queue
            .iter()
            .enumerate()
            .min_by_key(|(_, c)| self.ctxs[**c as usize].vruntime.get())?;
        queue.remove(at)
    }

    /// Declares which contexts serve softirqs and hard interrupts on `cpu`.
    pub(super) fn set_irq_contexts(&self, cpu: u16, softirq: u32, hardirq: u32) {
        let s = &self.cpus[usize::from(cpu)];
        s.softirq_ctx.set(softirq);
        s.hardirq_ctx.set(hardirq);
    }

    /// Makes a sleeping task runnable, at `at` or later. A task that is not asleep is left alone.
    pub fn wake_task(&self, ctx: u32) {
        let c = &self.ctxs[ctx as usize];
        let s = &self.cpus[usize::from(c.cpu)];
        if !matches!(c.wait.get(), Wait::Asleep | Wait::Idle) || s.run_queue.borrow().contains(&ctx)
        {
            return;
        }
        c.wait.set(Wait::Running);
        if s.active[Level::Task as usize].get() != NO_CTX {
            c.wait.set(Wait::Asleep);
            self.charge(c.cpu);
            let running = &self.ctxs[s.active[Level::Task as usize].get() as usize];
            let floor = running.vruntime.get().less(self.fair.sleeper_credit);
            c.vruntime.set(c.vruntime.get().max(floor));
            if running.vruntime.get() > c.vruntime.get() + self.fair.wakeup_granularity {
                s.need_resched.set(true);
            }
            s.run_queue.borrow_mut().push_back(ctx);
            return;
        }
        // No task runs there: this one is put below whatever else is active. It has run long enough
        // for a sleeper's credit to count, as on a machine that is not freshly booted.
        c.vruntime
            .set(c.vruntime.get().max(self.fair.sleeper_credit));
        s.idle_woken_at.set(Some(self.engine.now()));
        let covered = s.top_level().is_some();
        self.start_task(c.cpu, ctx);
        if covered {
            s.idle_was_woken.set(true);
            c.suspended.set(true);
            c.due.set(Some(self.engine.now()));
            c.wait.set(Wait::Spin);
        } else {
            self.engine.arm(self.engine.now(), self.base + ctx);
        }
    }

    /// `need_resched` of `cpu`: a woken task is to run instead of the one that runs, or of none.
    pub fn need_resched(&self, cpu: u16) -> bool {
        let s = &self.cpus[usize::from(cpu)];
        s.need_resched.get()
            || s.idle_was_woken.get()
            // Woken by the same interrupt: it has not run yet.
            || s.idle_woken_at.get() == Some(self.engine.now())
    }

    /// Whether a task is runnable or running.
    pub fn task_runnable(&self, ctx: u32) -> bool {
        let c = &self.ctxs[ctx as usize];
        let s = &self.cpus[usize::from(c.cpu)];
        s.active[Level::Task as usize].get() == ctx || s.run_queue.borrow().contains(&ctx)
    }

    /// Starts task `ctx` for the first time at `at`.
    pub fn start_at(&self, ctx: u32, at: Instant) {
        self.engine
            .push(at, crate::engine::Class::Device, self.starts + ctx);
    }

    /// When the work of the context on top of this CPU ends.
    pub(super) fn work_ends(&self, cpu: &CpuState) -> Option<Instant> {
        let top = cpu.top();
        if top == NO_CTX {
            return None;
        }
        match self.ctxs[top as usize].wait.get() {
            Wait::Work(until) => Some(until),
            _ => None,
        }
    }

    /// Raises hard interrupt `vector` on `cpu`.
    ///
    /// # Panics
    /// If `vector` is 64 or more.
    pub fn raise_irq(&self, cpu: u16, vector: u32) {
        assert!(vector < 64, "vectors 0..64");
        let s = &self.cpus[usize::from(cpu)];
        s.irqs.set(s.irqs.get() | 1 << vector);
        if let Some(x) = self.explored() {
            self.raised(x, cpu);
            return;
        }
        if s.irqs_off.get() || s.top_level() == Some(Level::Hardirq) {
            return;
        }
        let top = s.top();
        if top != NO_CTX {
            let c = &self.ctxs[top as usize];
            match c.wait.get() {
                Wait::Work(until) => {
                    self.engine.disarm(self.base + top);
                    c.rest.set(if self.smt() {
                        self.work_left(cpu)
                    } else {
                        until.since(self.engine.now())
                    });
                }
                Wait::Spin => {
                    if let Some(at) = c.wake_at.take() {
                        self.engine.disarm(self.base + top);
                        c.due.set(Some(at));
                    }
                }
                _ => {
                    s.attention.set(true);
                    return;
                }
            }
            c.suspended.set(true);
        }
        self.enter(cpu, Level::Hardirq);
        self.engine
            .arm(self.engine.now(), self.base + s.hardirq_ctx.get());
    }

    /// Whether `cpu` could take a hard interrupt that was raised.
    pub(super) fn irq_can_come(&self, cpu: u16) -> bool {
        let s = &self.cpus[usize::from(cpu)];
        s.irqs.get() != 0 && !s.irqs_off.get() && s.top_level() != Some(Level::Hardirq)
    }

    /// Puts the hard interrupt context of `cpu` on top, in an explored run; returns its engine id.
    pub(super) fn interrupt(&self, cpu: u16) -> u32 {
        let s = &self.cpus[usize::from(cpu)];
        if let Some(top) = s.top_ctx() {
            self.ctxs[top as usize].suspended.set(true);
        }
        self.enter(cpu, Level::Hardirq);
        self.base + s.hardirq_ctx.get()
    }

    fn finish(&self, cpu: Cpu<'_>, run_softirqs: bool) {
        let (s, level) = (cpu.s, cpu.level());
        if level == Level::Hardirq && s.irqs.get() != 0 {
            self.engine.hand_over(self.base + cpu.ctx);
            return;
        }
        self.leave(cpu.id, level);
        let softirq_free = s.active[Level::Softirq as usize].get() == NO_CTX && s.bh_off.get() == 0;
        if level == Level::Hardirq && run_softirqs && softirq_free {
            self.enter(cpu.id, Level::Softirq);
            self.engine.hand_over(self.base + s.softirq_ctx.get());
            return;
        }
        let below = s.top();
        if below == NO_CTX {
            return;
        }
        let c = &self.ctxs[below as usize];
        c.suspended.set(false);
        if c.level == Level::Task {
            s.idle_was_woken.set(false);
        }
        let now = self.engine.now();
        match c.wait.get() {
            Wait::HandedOver => {
                c.wait.set(Wait::Running);
                self.engine.hand_over(self.base + below);
            }
            Wait::Work(_) => {
                // What the higher context still owed is paid before the rest.
                let mut work = s.owed.replace(Span::ZERO);
                work += c.rest.replace(Span::ZERO);
                let until = if self.smt() {
                    self.begin_work(cpu.id, work)
                } else {
                    now + work
                };
                c.wait.set(Wait::Work(until));
                self.engine.arm(until, self.base + below);
            }
            Wait::Spin => {
                self.turns(cpu.id, Activity::Spin);
                if let Some(at) = c.due.take() {
                    let at = at.max(now);
                    c.wake_at.set(Some(at));
                    self.engine.arm(at, self.base + below);
                }
            }
            // An explored run: it is at a point, and waits for its turn.
            Wait::Access => {}
            other => unreachable!("a suspended context cannot wait like {other:?}"),
        }
    }

    /// Wakes a context that spins, at `at`.
    pub(super) fn wake_spinner(&self, ctx: u32, at: Instant) {
        let c = &self.ctxs[ctx as usize];
        if c.suspended.get() {
            c.due.set(Some(at));
        } else {
            c.wake_at.set(Some(at));
            self.engine.arm(at, self.base + ctx);
        }
    }

    /// A first start that [`start_at`](Self::start_at) had queued.
    pub(crate) fn first_start(&self, ctx: u32) {
        self.wake_task(ctx);
    }

    /// Contexts that spin or sleep with work left, as words for a deadlock message.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (u16, Level, u32)> + '_ {
        self.ctxs
            .iter()
            .filter(|c| c.wait.get() == Wait::Spin)
            .map(|c| (c.cpu, c.level, c.task))
    }
}
