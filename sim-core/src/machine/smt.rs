//! Hardware threads of one core: how they share the issue width, and the fills in flight.
//!
//! Work is an integral: a thread that works alone runs at its own rate; if a sibling works too, each
//! gets half of what the core does with both busy; a spinning sibling takes the few slots of its loop.
//! A thread that waits (an atomic, a fence, a miss) leaves the width to the others. Whenever a thread
//! changes what it does, the end of its siblings' work is set anew. Machines without siblings never
//! come here. Approximated: everything a context owes is work, the few fixed times in it too.

use super::Machine;
use super::cpu::Wait;
use super::line::Source;
use crate::engine::time::{Instant, Span};
use std::cell::Cell;

/// What a hardware thread does with the core's issue width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Activity {
    /// Nothing runs.
    #[default]
    Idle,
    /// It retires instructions.
    Work,
    /// It waits for an access or a serialising instruction.
    Stalled,
    /// It spins on a line that it holds.
    Spin,
}

/// A thread's share of its core.
#[derive(Debug, Default)]
pub(super) struct Issue {
    activity: Cell<Activity>,
    /// Work that was left at `since`, in time alone on the core, and at which permille it goes since.
    left: Cell<Span>,
    since: Cell<Instant>,
    rate: Cell<u64>,
}

/// Entries of a core's table of fills in flight: a Sandy Bridge or Skylake core has 10 or 12 line
/// fill buffers.
const FILLS: usize = 12;

/// The fills of one core that may still be in flight: no thread of it sees a line earlier.
#[derive(Debug)]
pub(super) struct Fills {
    entries: [Cell<(u32, Instant)>; FILLS],
    next: Cell<usize>,
}

impl Default for Fills {
    fn default() -> Fills {
        Fills {
            entries: std::array::from_fn(|_| Cell::new((u32::MAX, Instant::ZERO))),
            next: Cell::new(0),
        }
    }
}

impl Fills {
    fn note(&self, line: u32, at: Instant) {
        let next = self.next.get();
        self.entries[next].set((line, at));
        self.next.set((next + 1) % FILLS);
    }

    fn arrival(&self, line: u32, now: Instant) -> Option<Instant> {
        let of_line = |entry: &Cell<(u32, Instant)>| Some(entry.get()).filter(|e| e.0 == line);
        let last = self.entries.iter().filter_map(of_line).map(|e| e.1).max()?;
        (last > now).then_some(last)
    }
}

impl Machine {
    /// Whether cores have more than one thread.
    #[inline(always)]
    pub(super) fn smt(&self) -> bool {
        self.costs.smt_gain != 0
    }

    /// Notes that `core` waits for data of `line` until `at`.
    #[inline(always)]
    pub(super) fn fill(&self, core: u16, line: u32, source: Source, at: Instant) {
        if self.smt() && !matches!(source, Source::Hit | Source::Upgrade) {
            self.fills[usize::from(core)].note(line, at);
        }
    }

    /// When the data of a line that `core` asked for already will be there, if they are not.
    #[inline(always)]
    pub(super) fn fill_in_flight(&self, core: u16, line: u32, now: Instant) -> Option<Instant> {
        if self.smt() {
            self.fills[usize::from(core)].arrival(line, now)
        } else {
            None
        }
    }

    /// Thread `cpu` does something else from now on.
    #[inline(always)]
    pub(super) fn turns(&self, cpu: u16, activity: Activity) {
        if self.smt() {
            self.turn(cpu, activity);
        }
    }

    #[inline(never)]
    fn turn(&self, cpu: u16, activity: Activity) {
        let issue = &self.cpus[usize::from(cpu)].issue;
        if issue.activity.replace(activity) != activity {
            for sibling in self.coherence.topology.siblings(cpu) {
                self.retime(sibling);
            }
        }
    }

    /// Permille of its rate alone at which `cpu` works now.
    fn rate(&self, cpu: u16) -> u64 {
        let of = |sibling: u16| match self.cpus[usize::from(sibling)].issue.activity.get() {
            Activity::Idle | Activity::Stalled => 1000,
            Activity::Work => self.costs.smt_gain / 2,
            Activity::Spin => self.costs.beside_spin,
        };
        let siblings = self.coherence.topology.siblings(cpu);
        siblings.map(of).min().unwrap_or(1000).max(1)
    }

    /// The top context of `cpu` has `work` to do, in time alone on the core; returns when it ends if
    /// nothing changes.
    pub(super) fn begin_work(&self, cpu: u16, work: Span) -> Instant {
        self.turn(cpu, Activity::Work);
        let issue = &self.cpus[usize::from(cpu)].issue;
        let now = self.engine.now();
        issue.left.set(work);
        issue.since.set(now);
        issue.rate.set(self.rate(cpu));
        now + stretched(work, issue.rate.get())
    }

    /// What is left of the work that `cpu` began.
    pub(super) fn work_left(&self, cpu: u16) -> Span {
        let issue = &self.cpus[usize::from(cpu)].issue;
        let passed = self.engine.now().since(issue.since.get()).ps();
        issue
            .left
            .get()
            .less(Span::from_ps(passed * issue.rate.get() / 1000))
    }

    /// A sibling of `cpu` does something else: the end of the work under way moves.
    fn retime(&self, cpu: u16) {
        let s = &self.cpus[usize::from(cpu)];
        let Some(top) = s.top_ctx() else { return };
        let ctx = &self.ctxs[top as usize];
        let Wait::Work(until) = ctx.wait.get() else {
            return;
        };
        let rate = self.rate(cpu);
        if ctx.suspended.get() || rate == s.issue.rate.get() {
            return;
        }
        let now = self.engine.now();
        s.issue.left.set(self.work_left(cpu));
        s.issue.since.set(now);
        s.issue.rate.set(rate);
        let end = now + stretched(s.issue.left.get(), rate);
        if end != until {
            ctx.wait.set(Wait::Work(end));
            self.engine.arm(end, self.base + top);
        }
    }
}

fn stretched(work: Span, rate: u64) -> Span {
    Span::from_ps(work.ps() * 1000 / rate)
}
