//! Who reads and writes which word, and whose dirty lines are taken: what `perf c2c` samples, in full.
//!
//! Kept only for runs with names. Counts, never decides: a run is the same with and without it.

use super::topology::CoreSet;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// End of a list.
const NONE: u32 = u32::MAX;

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Load,
    /// A store, and whether its line had to come first.
    Store {
        miss: bool,
    },
    /// An atomic: a load and a store.
    Rmw,
}

/// Accesses of one kernel function to one word, or to a line of which no word is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The word's number; `None` for a line as a whole.
    pub word: Option<u32>,
    /// The line's number.
    pub line: u32,
    /// The kernel function.
    pub function: u16,
    /// CPUs of the host that accessed it there.
    pub cpus: Vec<u16>,
    /// Loads, with those of atomics and of spins.
    pub loads: u64,
    /// Stores, with those of atomics.
    pub stores: u64,
    /// Stores that had to wait for the line.
    pub store_misses: u64,
    /// Accesses that took the line dirty from a core of the same die.
    pub hitm_local: u64,
    /// The same from farther away.
    pub hitm_remote: u64,
}

/// A dirty line taken: what was written last by the core that lost it, and what was wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The line's number.
    pub line: u32,
    /// Word that was written; `None` if the line was written as a whole.
    pub wrote: Option<u32>,
    /// Kernel function that wrote it.
    pub wrote_in: u16,
    /// Word that was wanted.
    pub wanted: Option<u32>,
    /// Kernel function that wanted it.
    pub wanted_in: u16,
}

#[derive(Debug)]
struct Entry {
    next: u32,
    cpus: CoreSet,
    counts: Access,
}

/// All accesses since the last [`Book::reset`].
#[derive(Debug)]
pub(super) struct Book {
    /// Keys below this are words, those above are lines.
    words: u32,
    first: Vec<Cell<u32>>,
    entries: RefCell<Vec<Entry>>,
    /// By line: the key written last and the function that did it.
    last: Vec<Cell<(u32, u16)>>,
    pairs: RefCell<BTreeMap<Pair, u64>>,
    /// By context: the words that a touch of lines under way is about.
    fields: RefCell<Vec<Vec<(u32, u32)>>>,
}

/// Where an access comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct By {
    pub cpu: u16,
    pub ctx: u32,
    pub function: u16,
}

impl Book {
    pub fn new(words: usize, lines: usize, contexts: usize) -> Book {
        Book {
            words: words as u32,
            first: vec![Cell::new(NONE); words + lines],
            entries: RefCell::default(),
            last: vec![Cell::new((NONE, u16::MAX)); lines],
            pairs: RefCell::default(),
            fields: RefCell::new(vec![Vec::new(); contexts]),
        }
    }

    /// Forgets what was counted, but not who wrote last.
    pub fn reset(&self) {
        self.first.iter().for_each(|f| f.set(NONE));
        self.entries.borrow_mut().clear();
        self.pairs.borrow_mut().clear();
    }

    /// From now on, touches of context `ctx` are about these words of these lines.
    pub fn about(&self, ctx: u32, fields: impl Iterator<Item = (u32, u32)>) {
        let mut all = self.fields.borrow_mut();
        let mine = &mut all[ctx as usize];
        mine.clear();
        mine.extend(fields);
    }

    fn word_of(&self, key: u32) -> Option<u32> {
        (key < self.words).then_some(key)
    }

    fn with(&self, line: u32, key: u32, by: By, count: impl FnOnce(&mut Access)) {
        let mut entries = self.entries.borrow_mut();
        let mut at = self.first[key as usize].get();
        while at != NONE && entries[at as usize].counts.function != by.function {
            at = entries[at as usize].next;
        }
        if at == NONE {
            at = entries.len() as u32;
            entries.push(Entry {
                next: self.first[key as usize].replace(at),
                cpus: CoreSet::default(),
                counts: Access {
                    word: self.word_of(key),
                    line,
                    function: by.function,
                    ..Access::default()
                },
            });
        }
        let entry = &mut entries[at as usize];
        entry.cpus.insert(by.cpu);
        count(&mut entry.counts);
    }

    /// An access to a word.
    pub fn word(&self, line: u32, word: u32, by: By, what: What) {
        self.count(line, word, by, what);
    }

    /// An access to a line as a whole, or to the words that it is about.
    pub fn line(&self, line: u32, by: By, what: What) {
        let fields = self.fields.borrow();
        let mut told = false;
        for &(of, word) in &fields[by.ctx as usize] {
            if of == line {
                told = true;
                self.count(line, word, by, what);
            }
        }
        if !told {
            self.count(line, self.words + line, by, what);
        }
    }

    fn count(&self, line: u32, key: u32, by: By, what: What) {
        self.with(line, key, by, |a| match what {
            What::Load => a.loads += 1,
            What::Store { miss } => {
                a.stores += 1;
                a.store_misses += u64::from(miss);
            }
            What::Rmw => {
                a.loads += 1;
                a.stores += 1;
            }
        });
        if what != What::Load {
            self.last[line as usize].set((key, by.function));
        }
    }

    /// A dirty line is taken for `word`, or as a whole; `far`: from another die.
    #[inline(never)]
    pub fn taken(&self, line: u32, word: Option<u32>, by: By, far: bool) {
        let key = word.unwrap_or_else(|| {
            let fields = self.fields.borrow();
            let about = fields[by.ctx as usize].iter().find(|(of, _)| *of == line);
            about.map_or(self.words + line, |&(_, word)| word)
        });
        self.with(line, key, by, |a| {
            a.hitm_local += u64::from(!far);
            a.hitm_remote += u64::from(far);
        });
        let (wrote, wrote_in) = self.last[line as usize].get();
        let pair = Pair {
            line,
            wrote: self.word_of(wrote),
            wrote_in,
            wanted: self.word_of(key),
            wanted_in: by.function,
        };
        *self.pairs.borrow_mut().entry(pair).or_default() += 1;
    }

    /// What was counted: accesses in order of word and function, and pairs.
    pub fn read(&self) -> (Vec<Access>, Vec<(Pair, u64)>) {
        let entries = self.entries.borrow();
        let mut accesses: Vec<Access> = entries
            .iter()
            .map(|e| Access {
                cpus: (0..super::topology::MAX_CPUS as u16)
                    .filter(|&c| e.cpus.has(c))
                    .collect(),
                ..e.counts.clone()
            })
            .collect();
        // No order of creation: it would hang on the first access of each function.
        accesses.sort_by_key(|a| (a.line, a.word.is_none(), a.word, a.function));
        let pairs = self.pairs.borrow().iter().map(|(p, n)| (*p, *n)).collect();
        (accesses, pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(cpu: u16, function: u16) -> By {
        By {
            cpu,
            ctx: u32::from(cpu),
            function,
        }
    }

    /// Words 0 and 1 on line 0: CPU 1 writes the one, CPU 0 reads the other and pays for it.
    #[test]
    fn the_reader_pays_for_the_writers_field() {
        let book = Book::new(2, 1, 2);
        book.word(0, 1, by(1, 7), What::Store { miss: true });
        book.taken(0, Some(0), by(0, 3), true);
        book.word(0, 0, by(0, 3), What::Load);
        book.word(0, 0, by(1, 3), What::Load);
        let (accesses, pairs) = book.read();
        let pair = Pair {
            line: 0,
            wrote: Some(1),
            wrote_in: 7,
            wanted: Some(0),
            wanted_in: 3,
        };
        assert_eq!(pairs, [(pair, 1)]);
        assert_eq!(accesses.len(), 2);
        let read = &accesses[0];
        assert_eq!((read.word, read.loads, read.stores), (Some(0), 2, 0));
        assert_eq!((read.hitm_local, read.hitm_remote), (0, 1));
        assert_eq!(read.cpus, [0, 1]);
        let written = &accesses[1];
        assert_eq!((written.stores, written.store_misses), (1, 1));
    }

    /// A touch of lines counts for the words that it is about, and for the line where it is about none.
    #[test]
    fn touches_are_told_by_word_where_they_can() {
        let book = Book::new(2, 2, 1);
        book.about(0, [(0, 0), (0, 1)].into_iter());
        book.line(0, by(0, 3), What::Load);
        book.line(1, by(0, 3), What::Store { miss: false });
        book.about(0, std::iter::empty());
        book.line(0, by(0, 3), What::Load);
        let (accesses, _) = book.read();
        let told: Vec<_> = accesses.iter().map(|a| (a.line, a.word, a.loads)).collect();
        assert_eq!(
            told,
            [(0, Some(0), 1), (0, Some(1), 1), (0, None, 1), (1, None, 0)]
        );
        book.reset();
        assert_eq!(book.read().0, []);
    }
}
