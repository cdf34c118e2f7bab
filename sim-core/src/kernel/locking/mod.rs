//! Spinlocks, with their statistics.

mod qspinlock;
mod spin;
mod ticket;

pub use qspinlock::{MCS_NODES, McsNodes, QSpinLock};
pub use spin::{Inspect, SpinLock};
pub use ticket::TicketLock;

use crate::engine::time::{Instant, Span};
use crate::kernel::Cpu;
use crate::metrics;
use crate::trace::Kind;
use std::cell::Cell;

/// Number of a lock in the trace, and what it counted.
#[derive(Debug)]
pub struct LockStats {
    number: u32,
    owner: Cell<Option<u16>>,
    last_owner: Cell<Option<u16>>,
    since: Cell<Instant>,
    acquired: Cell<u64>,
    contended: Cell<u64>,
    failed: Cell<u64>,
    wait: Cell<Span>,
    wait_max: Cell<Span>,
}

impl LockStats {
    /// Statistics of lock `number` (an index into the trace's lock names).
    pub fn new(number: u32) -> LockStats {
        LockStats {
            number,
            owner: Cell::new(None),
            last_owner: Cell::new(None),
            since: Cell::default(),
            acquired: Cell::new(0),
            contended: Cell::new(0),
            failed: Cell::new(0),
            wait: Cell::default(),
            wait_max: Cell::default(),
        }
    }

    /// Its number in the host's lock names.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The CPU that holds the lock.
    pub fn owner(&self) -> Option<u16> {
        self.owner.get()
    }

    pub(crate) fn took(&self, cpu: Cpu<'_>, asked: Instant, waited: bool) {
        let now = cpu.now();
        let wait = if waited { now.since(asked) } else { Span::ZERO };
        self.owner.set(Some(cpu.id()));
        self.last_owner.set(Some(cpu.id()));
        self.since.set(now);
        self.acquired.set(self.acquired.get() + 1);
        self.contended.set(self.contended.get() + u64::from(waited));
        self.wait.set(self.wait.get() + wait);
        self.wait_max.set(self.wait_max.get().max(wait));
        cpu.record(Kind::LockAcquire, self.number, wait.ns() as u32);
    }

    /// The unlocking store was issued. The lock is given when it becomes visible: until then others fail.
    pub(crate) fn gave(&self, cpu: Cpu<'_>) {
        self.owner.set(None);
        let visible = cpu.stores_visible_at();
        let held = visible.since(self.since.get());
        cpu.record_at(visible, Kind::LockRelease, self.number, held.ns() as u32);
    }

    pub(crate) fn missed(&self, cpu: Cpu<'_>) {
        self.failed.set(self.failed.get() + 1);
        // An unlock that is on its way still keeps others out: then it is the last owner's.
        let owner = self.last_owner.get().unwrap_or(crate::trace::NO_CPU);
        cpu.record(Kind::TrylockFail, self.number, u32::from(owner));
    }

    /// What was counted so far, under `name`.
    pub fn read(&self, name: &str) -> metrics::Lock {
        metrics::Lock {
            name: name.to_owned(),
            acquired: self.acquired.get(),
            contended: self.contended.get(),
            failed: self.failed.get(),
            wait: self.wait.get().ps(),
            wait_max: self.wait_max.get().ps(),
        }
    }
}
