//! The queued spinlock.
//!
//! Follows Linux 5.11 `kernel/locking/qspinlock.c` and `include/asm-generic/qspinlock.h`: word of
//! `locked` (bits 0-7), `pending` (8-15), `tail` (16-31); the second CPU spins on the word, later
//! ones on their own MCS node. Absent: paravirt, four-deep nesting beyond the context levels.

use super::LockStats;
use crate::kernel::{Cost, Cpu, Func};
use crate::machine::memory::{Placement, Word};
use crate::machine::{Order, Rmw};

const LOCKED: u64 = 0xff;
const PENDING: u64 = 0xff00;
const TAIL: u64 = 0xffff_0000;
const PENDING_SET: u64 = 0x100;
/// MCS nodes a CPU has: one for each context level.
pub const MCS_NODES: u32 = 4;

/// A CPU's MCS nodes, on one line.
#[derive(Clone, Copy, Debug)]
pub struct McsNodes {
    locked: Word,
    next: Word,
}

impl McsNodes {
    /// Places the nodes of CPU `cpu`.
    pub fn place(memory: &mut Placement, cpu: u16) -> McsNodes {
        let name = format!("qnodes cpu{cpu}");
        let line = memory.lines(&name, 1);
        let mut words = |field: &str, at: u16| {
            let first = memory.word(line, at, format_args!("{name} 0 {field}"), 0);
            for i in 1..MCS_NODES {
                memory.word(
                    line,
                    at + 16 * i as u16,
                    format_args!("{name} {i} {field}"),
                    0,
                );
            }
            first
        };
        McsNodes {
            next: words("next", 0),
            locked: words("locked", 8),
        }
    }
}

/// A `spinlock_t`.
#[derive(Debug)]
pub struct QSpinLock {
    word: Word,
    /// Its statistics.
    pub stats: LockStats,
}

impl QSpinLock {
    /// A lock in `word`, number `number` in the trace's lock names.
    pub fn new(word: Word, number: u32) -> QSpinLock {
        QSpinLock {
            word,
            stats: LockStats::new(number),
        }
    }

    /// The lock word.
    pub fn word(&self) -> Word {
        self.word
    }

    /// `spin_lock`.
    pub async fn lock(&self, cpu: Cpu<'_>) {
        cpu.spend(Cost::SpinLock);
        let asked = cpu.now();
        let old = cpu
            .rmw(
                self.word,
                Rmw::CmpXchg { expect: 0, new: 1 },
                Order::Acquire,
            )
            .await;
        if old != 0 {
            self.slowpath(cpu, old).await;
        }
        self.stats.took(cpu, asked, old != 0);
    }

    /// `spin_trylock`: a failing one is a plain load, without any barrier.
    pub async fn try_lock(&self, cpu: Cpu<'_>) -> bool {
        cpu.spend(Cost::SpinTrylock);
        let asked = cpu.now();
        let free = cpu.load_exposed(self.word).await == 0
            && cpu
                .rmw(
                    self.word,
                    Rmw::CmpXchg { expect: 0, new: 1 },
                    Order::Acquire,
                )
                .await
                == 0;
        if free {
            self.stats.took(cpu, asked, false);
        } else {
            self.stats.missed(cpu);
        }
        free
    }

    /// `spin_unlock`: a release store of the locked byte.
    pub async fn unlock(&self, cpu: Cpu<'_>) {
        cpu.spend(Cost::SpinUnlock);
        cpu.store_release(self.word, LOCKED, 0).await;
        self.stats.gave(cpu);
    }

    /// `spin_is_locked`, for checks after a run.
    pub fn is_locked(&self, cpu: Cpu<'_>) -> bool {
        cpu.machine().peek(self.word) & LOCKED != 0
    }

    #[cold]
    async fn slowpath(&self, cpu: Cpu<'_>, mut val: u64) {
        let _span = cpu.enter(Func::SpinLockSlowpath);
        cpu.spend(Cost::SpinSlowpath);
        // A hand-over from pending to locked is under way: look once more.
        if val == PENDING_SET {
            val = cpu.load_exposed(self.word).await;
        }
        if val & !LOCKED == 0 {
            // Nobody waits: become the pending CPU and spin on the word itself.
            let old = cpu
                .rmw(
                    self.word,
                    Rmw::Mask {
                        clear: 0,
                        set: PENDING_SET,
                    },
                    Order::Acquire,
                )
                .await;
            if old & !LOCKED == 0 {
                if old & LOCKED != 0 {
                    cpu.wait_until(self.word, |v| v & LOCKED == 0).await;
                }
                cpu.store_bits(self.word, LOCKED | PENDING, 1).await;
                return;
            }
            if old & PENDING == 0 {
                cpu.store_bits(self.word, PENDING, 0).await;
            }
        }
        self.queue(cpu).await;
    }

    /// The MCS queue: one node a CPU and context level.
    async fn queue(&self, cpu: Cpu<'_>) {
        let level = cpu.level() as u32;
        let me = (u64::from(cpu.id()) + 1) << 18 | u64::from(level) << 16;
        let nodes = cpu.k.mcs(cpu.id());
        let (locked, next) = (nodes.locked.nth(level), nodes.next.nth(level));
        cpu.store(locked, 0).await;
        cpu.store(next, 0).await;
        let now_free = cpu.load_exposed(self.word).await == 0
            && cpu
                .rmw(
                    self.word,
                    Rmw::CmpXchg { expect: 0, new: 1 },
                    Order::Acquire,
                )
                .await
                == 0;
        if now_free {
            return;
        }
        // The node must be there before others can see it in the tail.
        cpu.smp_wmb().await;
        let old = cpu
            .rmw(
                self.word,
                Rmw::Mask {
                    clear: TAIL,
                    set: me,
                },
                Order::Relaxed,
            )
            .await
            & TAIL;
        if old != 0 {
            let prev = cpu.k.mcs((old >> 18) as u16 - 1);
            cpu.store(prev.next.nth((old >> 16) as u32 & 3), me).await;
            cpu.wait_until(locked, |v| v == 1).await;
        }
        // Head of the queue: wait for owner and pending to go.
        let val = cpu
            .wait_until(self.word, |v| v & (LOCKED | PENDING) == 0)
            .await;
        if val & TAIL == me
            && cpu
                .rmw(
                    self.word,
                    Rmw::CmpXchg {
                        expect: val,
                        new: 1,
                    },
                    Order::Relaxed,
                )
                .await
                == val
        {
            return;
        }
        cpu.store_bits(self.word, LOCKED, 1).await;
        let mut heir = cpu.load(next).await;
        if heir == 0 {
            heir = cpu.wait_until(next, |v| v != 0).await;
        }
        let heir_nodes = cpu.k.mcs((heir >> 18) as u16 - 1);
        cpu.store_release(heir_nodes.locked.nth((heir >> 16) as u32 & 3), u64::MAX, 1)
            .await;
    }
}
