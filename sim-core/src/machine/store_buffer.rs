//! Stores that were issued and are not visible yet.
//!
//! A store knows at its issue when it will become visible, so the buffer is lazy: a waiting store
//! hangs on its line, and the next access to that line first settles what is due. Entries of a
//! line are kept in (visible_at, cpu, issue) order.

use super::line::{Line, NONE};
use crate::engine::time::Instant;
use std::cell::{Cell, RefCell};

/// What a store does to its word when it becomes visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// `new = (old & !clear) | set`; a plain store clears all bits.
    Mask { clear: u64, set: u64 },
    /// `new = old + n`.
    Add(u64),
}

impl Effect {
    #[inline(always)]
    pub fn apply(self, old: u64) -> u64 {
        match self {
            Effect::Mask { clear, set } => (old & !clear) | set,
            Effect::Add(n) => old.wrapping_add(n),
        }
    }
}

/// A waiting store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub visible_at: Instant,
    pub cpu: u16,
    pub word: u32,
    pub effect: Effect,
    next: u32,
}

/// All waiting stores of a machine.
#[derive(Debug, Default)]
pub(super) struct StoreBuffers {
    pool: RefCell<Vec<Waiting>>,
    free: Cell<Option<u32>>,
}

impl StoreBuffers {
    /// Hangs a store on its line.
    pub fn issue(&self, line: &Line, visible_at: Instant, cpu: u16, word: u32, effect: Effect) {
        let mut pool = self.pool.borrow_mut();
        let mut link = None;
        let mut at = line.pending.get();
        while at != NONE {
            let w = &pool[at as usize];
            if (w.visible_at, w.cpu) > (visible_at, cpu) {
                break;
            }
            link = Some(at);
            at = w.next;
        }
        let entry = Waiting {
            visible_at,
            cpu,
            word,
            effect,
            next: at,
        };
        let index = match self.free.get() {
            Some(i) => {
                let next = pool[i as usize].next;
                self.free.set((next != NONE).then_some(next));
                pool[i as usize] = entry;
                i
            }
            None => {
                pool.push(entry);
                pool.len() as u32 - 1
            }
        };
        match link {
            None => line.pending.set(index),
            Some(before) => pool[before as usize].next = index,
        }
    }

    /// Takes the first store of `line` that is due at `now`.
    pub fn pop_due(&self, line: &Line, now: Instant) -> Option<Waiting> {
        let first = line.pending.get();
        if first == NONE {
            return None;
        }
        let mut pool = self.pool.borrow_mut();
        let entry = pool[first as usize];
        if entry.visible_at > now {
            return None;
        }
        line.pending.set(entry.next);
        pool[first as usize].next = self.free.get().unwrap_or(NONE);
        self.free.set(Some(first));
        Some(entry)
    }

    /// The value of `word` as `cpu` sees it at `horizon`: what lies in memory, then the others'
    /// stores that are visible by then, and all of its own.
    pub fn overlay(&self, line: &Line, cpu: u16, word: u32, horizon: Instant, memory: u64) -> u64 {
        let pool = self.pool.borrow();
        let mut value = memory;
        let mut at = line.pending.get();
        while at != NONE {
            let w = &pool[at as usize];
            if w.word == word && (w.cpu == cpu || w.visible_at <= horizon) {
                value = w.effect.apply(value);
            }
            at = w.next;
        }
        value
    }

    /// The earliest instant after `now` at which a store of another CPU than `cpu` to `line`
    /// becomes visible.
    pub fn next_visible(&self, line: &Line, cpu: u16, now: Instant) -> Option<Instant> {
        let pool = self.pool.borrow();
        let mut at = line.pending.get();
        while at != NONE {
            let w = &pool[at as usize];
            if w.cpu != cpu && w.visible_at > now {
                return Some(w.visible_at);
            }
            at = w.next;
        }
        None
    }

    /// The latest instant at which a waiting store of `cpu` to `line` becomes visible.
    pub fn last_own(&self, line: &Line, cpu: u16) -> Option<Instant> {
        let pool = self.pool.borrow();
        let (mut at, mut last) = (line.pending.get(), None);
        while at != NONE {
            let w = &pool[at as usize];
            if w.cpu == cpu {
                last = Some(w.visible_at);
            }
            at = w.next;
        }
        last
    }
}
