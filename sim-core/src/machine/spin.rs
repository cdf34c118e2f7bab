//! Spinning on a word: a load again and again, parked while nobody writes the line.

use super::access::{At, Load, Op};
use super::counters::add;
use super::cpu::{Cpu, Wait};
use super::explored::{Ask, Explored};
use super::memory::Word;
use super::smt::Activity;
use crate::engine::time::{Instant, Span};
use crate::trace::Kind;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// See [`Cpu::wait_until`].
#[must_use = "futures do nothing unless awaited"]
pub struct SpinWait<'w, F> {
    cpu: Cpu<'w>,
    word: Word,
    ready: F,
    at: At,
    since: Option<Instant>,
    /// Since when it turns on a copy of the line, and for how long it has in all.
    turning: Option<Instant>,
    turned: Span,
}

impl<'w, F> SpinWait<'w, F> {
    pub(super) fn new(cpu: Cpu<'w>, word: Word, ready: F) -> SpinWait<'w, F> {
        SpinWait {
            cpu,
            word,
            ready,
            at: At::Start,
            since: None,
            turning: None,
            turned: Span::ZERO,
        }
    }
}

impl<F: Fn(u64) -> bool + Unpin> Future for SpinWait<'_, F> {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u64> {
        let cpu = self.cpu;
        let op = Load::<true>(self.word);
        if cpu.s.attention.get()
            && let Some(x) = cpu.m.explored()
        {
            return self.poll_explored(x);
        }
        if self.at == At::Start {
            self.at = At::Issue;
            if !cpu.pass_work() {
                return Poll::Pending;
            }
        }
        let data = match self.at {
            At::Bind(data) => data,
            _ => {
                let now = cpu.m.engine.now();
                if let Some(from) = self.turning.take() {
                    // Its copy is gone: no iteration retires until the line is back.
                    self.turned += now.since(from);
                }
                let issued = op.issue(cpu);
                if issued.resume > now {
                    cpu.m.turns(cpu.id, Activity::Stalled);
                    if !cpu.m.engine.try_advance(issued.resume) {
                        self.at = At::Bind(issued.data);
                        cpu.suspend(Wait::Access, issued.resume);
                        return Poll::Pending;
                    }
                }
                issued.data
            }
        };
        let value = op.bind(cpu, data);
        if (self.ready)(value) {
            cpu.state().wait.set(Wait::Running);
            if let Some(since) = self.since {
                cpu.end_spin(self.word, since, self.turned);
            }
            return Poll::Ready(value);
        }
        if self.since.is_none() {
            self.since = Some(cpu.m.engine.now());
            cpu.s.spinning.set(true);
            cpu.record(Kind::SpinBegin, self.word.0, 0);
        }
        // Park until somebody writes the line; a store already under way wakes us too.
        self.at = At::Issue;
        self.turning = Some(cpu.m.engine.now());
        let (m, line) = (cpu.m, cpu.m.line(self.word));
        m.turns(cpu.id, Activity::Spin);
        cpu.state().wait.set(Wait::Spin);
        match m.stores.next_visible(line, cpu.id, m.engine.now()) {
            Some(at) => m.wake_spinner(cpu.ctx, at + m.costs.spin_wake),
            None => cpu.state().next_watcher.set(line.watcher.replace(cpu.ctx)),
        }
        Poll::Pending
    }
}

impl<F: Fn(u64) -> bool + Unpin> SpinWait<'_, F> {
    /// In an explored run a spinning context cannot go until the word has a value that ends its spin.
    fn poll_explored(&mut self, x: &Explored) -> Poll<u64> {
        let (cpu, word) = (self.cpu, self.word);
        let seen = cpu.explored_peek(x, word);
        if !(self.ready)(seen) {
            if self.since.is_none() {
                self.since = Some(cpu.m.engine.now());
                cpu.record(Kind::SpinBegin, word.0, 0);
            }
            cpu.explored_spin(x, word, seen);
            return Poll::Pending;
        }
        if !cpu.explore(x, Ask::Load(word, true)) {
            return Poll::Pending;
        }
        cpu.state().wait.set(Wait::Running);
        if let Some(since) = self.since {
            let waited = cpu.m.engine.now().since(since);
            cpu.record(Kind::SpinEnd, word.0, waited.ns() as u32);
        }
        Poll::Ready(cpu.explored_load(x, word, true))
    }
}

impl Cpu<'_> {
    /// `turned`: how long of it the line was here, so that iterations retired.
    fn end_spin(self, word: Word, since: Instant, turned: Span) {
        let waited = self.m.engine.now().since(since);
        self.s.spinning.set(false);
        add(&self.s.counters.spin, waited.ps());
        add(&self.s.counters.branch_misses, 1);
        add(
            &self.s.counters.instructions,
            turned.ps() / self.m.costs.spin_loop.ps().max(1) * self.m.costs.spin_insns,
        );
        self.elapse(self.m.costs.spin_exit);
        self.record(Kind::SpinEnd, word.0, waited.ns() as u32);
    }
}
