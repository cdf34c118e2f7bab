//! The ticket spinlock of x86 up to v4.1.
//!
//! Follows Linux 3.14 `arch/x86/include/asm/spinlock.h`: one word of head (bits 0-15) and tail
//! (16-31). Every waiter polls the word, so a hand-over costs a transfer for each of them.

use super::LockStats;
use crate::kernel::{Cost, Cpu};
use crate::machine::memory::Word;
use crate::machine::{Order, Rmw};

const HEAD: u64 = 0xffff;
const TAIL_ONE: u64 = 0x1_0000;

/// A ticket lock.
#[derive(Debug)]
pub struct TicketLock {
    word: Word,
    /// Its statistics.
    pub stats: LockStats,
}

fn tail(word: u64) -> u64 {
    word >> 16 & HEAD
}

impl TicketLock {
    /// A lock in `word`, number `number` in the trace's lock names.
    pub fn new(word: Word, number: u32) -> TicketLock {
        TicketLock {
            word,
            stats: LockStats::new(number),
        }
    }

    /// The lock word.
    pub fn word(&self) -> Word {
        self.word
    }

    /// `spin_is_locked`, for checks after a run.
    pub fn is_locked(&self, cpu: Cpu<'_>) -> bool {
        let word = cpu.machine().peek(self.word);
        word & HEAD != tail(word)
    }

    /// `spin_lock`: one `lock xadd`, then wait for the own ticket.
    pub async fn lock(&self, cpu: Cpu<'_>) {
        cpu.spend(Cost::SpinLock);
        let asked = cpu.now();
        let old = cpu.rmw(self.word, Rmw::Add(TAIL_ONE), Order::Full).await;
        let ticket = tail(old);
        let waited = old & HEAD != ticket;
        if waited {
            cpu.wait_until(self.word, move |v| v & HEAD == ticket).await;
        }
        self.stats.took(cpu, asked, waited);
    }

    /// `spin_trylock`: fails with a plain load.
    pub async fn try_lock(&self, cpu: Cpu<'_>) -> bool {
        cpu.spend(Cost::SpinTrylock);
        let asked = cpu.now();
        let seen = cpu.load_exposed(self.word).await;
        let free = seen & HEAD == tail(seen)
            && cpu
                .rmw(
                    self.word,
                    Rmw::CmpXchg {
                        expect: seen,
                        new: seen + TAIL_ONE,
                    },
                    Order::Full,
                )
                .await
                == seen;
        if free {
            self.stats.took(cpu, asked, false);
        } else {
            self.stats.missed(cpu);
        }
        free
    }

    /// `spin_unlock`: a plain increment of the head, no lock prefix.
    pub async fn unlock(&self, cpu: Cpu<'_>) {
        cpu.spend(Cost::SpinUnlock);
        let head = cpu.load(self.word).await & HEAD;
        cpu.store_release(self.word, HEAD, (head + 1) & HEAD).await;
        self.stats.gave(cpu);
    }
}
