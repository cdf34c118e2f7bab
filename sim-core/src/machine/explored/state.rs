//! The state of an explored machine as one hash, kept up to date with each step.
//!
//! It is made of what lies in all words, what waits in the buffers, and for each CPU of all values that it
//! has read: its code is deterministic, so that is all it can know. What kernels keep outside of words is
//! guarded by locks, so whoever takes one (a compare-and-swap, a fetch-and-add, the end of a spin) also learns
//! the history of who released it.

use super::mix;
use std::cell::Cell;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct State {
    cpus: Vec<Cell<u128>>,
    /// Of each word: the history of whoever wrote it last.
    released: Vec<Cell<u128>>,
    all: Cell<u128>,
    last: Cell<u128>,
    /// Tells machines apart.
    salt: u128,
}

impl State {
    pub fn new(cpus: usize, words: usize, salt: u32) -> State {
        State {
            cpus: (0..cpus).map(|i| Cell::new(i as u128 + 1)).collect(),
            released: (0..words).map(|_| Cell::new(0)).collect(),
            all: Cell::new(0),
            last: Cell::new(0),
            salt: u128::from(salt) << 64,
        }
    }

    /// All of it.
    pub fn all(&self) -> u128 {
        self.all.get()
    }

    /// The history of whoever took the last step.
    pub fn last(&self) -> u128 {
        self.last.get()
    }

    /// What CPU `cpu` knows.
    pub fn cpu(&self, cpu: usize) -> u128 {
        self.cpus[cpu].get()
    }

    fn learns_hash(&self, cpu: usize, hash: u128) -> u128 {
        let who = cpu as u128 | self.salt;
        mix(self.cpu(cpu), who) ^ mix(hash, who)
    }

    /// CPU `cpu` learns `what`.
    pub fn learn(&self, cpu: usize, what: u128) {
        self.know(cpu, mix(self.cpu(cpu), what));
    }

    fn know(&self, cpu: usize, hash: u128) {
        self.all.set(self.all.get() ^ self.learns_hash(cpu, hash));
        self.cpus[cpu].set(hash);
        self.last.set(hash);
    }

    fn after(&self, access: &Access) -> u128 {
        let what = u128::from(access.value) << 64 | u128::from(access.word) << 8;
        let hash = mix(self.cpu(access.cpu), what | access.how as u128);
        if access.acquires {
            mix(hash, self.released[access.word as usize].get())
        } else {
            hash
        }
    }

    /// An access is made.
    pub fn accesses(&self, access: &Access) {
        let hash = self.after(access);
        self.know(access.cpu, hash);
        if access.how != How::Read {
            self.released[access.word as usize].set(hash);
        }
    }

    /// [`all`](Self::all) once `access` is made and its word goes from `old` to `new`.
    pub fn if_accessed(&self, access: &Access, old: u64, new: u64) -> u128 {
        let hash = self.after(access);
        self.all.get() ^ self.learns_hash(access.cpu, hash) ^ self.change(access.word, old, new)
    }

    fn change(&self, word: u32, old: u64, new: u64) -> u128 {
        if old == new {
            return 0;
        }
        let value = |v: u64| mix(u128::from(v) | self.salt, u128::from(word) << 1 | 1);
        value(old) ^ value(new)
    }

    /// `word` goes from `old` to `new`.
    pub fn changes(&self, word: u32, old: u64, new: u64) {
        self.all.set(self.all.get() ^ self.change(word, old, new));
    }

    /// A store goes into a buffer or out of it; `entry` names it and its place.
    pub fn buffer(&self, entry: u128) {
        self.all.set(self.all.get() ^ entry);
    }

    /// A store that was issued with history `issued` becomes visible.
    pub fn drains(&self, entry: u128, word: u32, issued: u128, old: u64, new: u64) {
        self.all.set(self.if_drained(entry, word, old, new));
        self.released[word as usize].set(issued);
        self.last.set(mix(issued, entry));
    }

    /// [`all`](Self::all) once a store has become visible.
    pub fn if_drained(&self, entry: u128, word: u32, old: u64, new: u64) -> u128 {
        self.all.get() ^ entry ^ self.change(word, old, new)
    }

    /// Something happens that every CPU is behind.
    pub fn everybody(&self, event: u128) {
        for cpu in 0..self.cpus.len() {
            self.learn(cpu, event);
        }
    }
}

/// How a word is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Read = 0,
    Write = 1,
    ReadModifyWrite = 2,
}

/// An access that others can see.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub cpu: usize,
    pub word: u32,
    pub how: How,
    /// The value that was read, if one was.
    pub value: u64,
    /// It may take a lock.
    pub acquires: bool,
}
