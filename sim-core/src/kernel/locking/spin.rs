//! The spinlock of a kernel version: queued since v4.2, a ticket before.

use super::{LockStats, QSpinLock, TicketLock};
use crate::kernel::Cpu;
use crate::machine::memory::Word;

/// A `spinlock_t` of either kind.
#[derive(Debug)]
pub enum SpinLock {
    /// v4.2 and later.
    Queued(QSpinLock),
    /// Before.
    Ticket(TicketLock),
}

impl SpinLock {
    /// The lock that kernel `version` has, in `word`, with its number in the trace's lock names.
    pub fn new(version: (u32, u32), word: Word, number: u32) -> SpinLock {
        if version < (4, 2) {
            SpinLock::Ticket(TicketLock::new(word, number))
        } else {
            SpinLock::Queued(QSpinLock::new(word, number))
        }
    }

    /// `spin_lock`.
    pub async fn lock(&self, cpu: Cpu<'_>) {
        match self {
            SpinLock::Queued(lock) => lock.lock(cpu).await,
            SpinLock::Ticket(lock) => lock.lock(cpu).await,
        }
    }

    /// `spin_unlock`.
    pub async fn unlock(&self, cpu: Cpu<'_>) {
        match self {
            SpinLock::Queued(lock) => lock.unlock(cpu).await,
            SpinLock::Ticket(lock) => lock.unlock(cpu).await,
        }
    }
}

/// What statistics and checks want to know of any lock.
pub trait Inspect {
    /// Its statistics.
    fn stats(&self) -> &LockStats;
    /// Its word.
    fn word(&self) -> Word;
    /// `spin_is_locked`, after a run.
    fn is_locked(&self, cpu: Cpu<'_>) -> bool;
}

impl Inspect for QSpinLock {
    fn stats(&self) -> &LockStats {
        &self.stats
    }
    fn word(&self) -> Word {
        QSpinLock::word(self)
    }
    fn is_locked(&self, cpu: Cpu<'_>) -> bool {
        QSpinLock::is_locked(self, cpu)
    }
}

impl Inspect for SpinLock {
    fn stats(&self) -> &LockStats {
        match self {
            SpinLock::Queued(lock) => &lock.stats,
            SpinLock::Ticket(lock) => &lock.stats,
        }
    }
    fn word(&self) -> Word {
        match self {
            SpinLock::Queued(lock) => lock.word(),
            SpinLock::Ticket(lock) => lock.word(),
        }
    }
    fn is_locked(&self, cpu: Cpu<'_>) -> bool {
        match self {
            SpinLock::Queued(lock) => lock.is_locked(cpu),
            SpinLock::Ticket(lock) => lock.is_locked(cpu),
        }
    }
}
