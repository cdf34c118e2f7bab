//! One lane's contents, and the index that keeps a frame cheap however long the run is.
//!
//! A track is a row of items that do not overlap: states (a span of records) and points (one record).
//! Positions are *record numbers*, not times, so that both axis modes (time, event number) share one
//! index. The index answers "what is the most severe class among items i..j" exactly: 16 classes of
//! four bits fit one word, and a sparse table covers whole words. Any question touches at most four
//! index entries, so a finding is never averaged away and a frame never depends on the run's length.

use std::cell::Cell;
use std::ops::Range;

/// What a cell can stand for, ordered by severity: the largest one in a cell is shown.
///
/// Counter lanes use 1 to 10 for the digits 0 to 9; everything from [`Class::TRYLOCK`] up means the
/// same in every lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Class(pub u8);

impl Class {
    /// Nothing is known or nothing is there.
    pub const NONE: Class = Class(0);
    /// A CPU idles; a lock is free; a queue is open.
    pub const IDLE: Class = Class(1);
    /// Task context; a held lock; a function; a stopped queue.
    pub const TASK: Class = Class(2);
    /// Softirq context.
    pub const SOFTIRQ: Class = Class(3);
    /// Hard interrupt context.
    pub const HARDIRQ: Class = Class(4);
    /// A CPU spins.
    pub const SPIN: Class = Class(5);
    /// A packet was handed to the driver.
    pub const XMIT: Class = Class(6);
    /// A doorbell was rung.
    pub const DOORBELL: Class = Class(7);
    /// A dirty line moved from one core to another.
    pub const BOUNCE: Class = Class(8);
    /// A trylock failed.
    pub const TRYLOCK: Class = Class(13);
    /// A packet was dropped.
    pub const DROP: Class = Class(14);
    /// A law was broken.
    pub const VIOLATION: Class = Class(15);

    /// The class of a digit in a counter lane.
    pub fn digit(digit: u32) -> Class {
        Class(1 + digit.min(9) as u8)
    }
}

/// A state or a point of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Number of the record that began it.
    pub first: u32,
    /// Number of the record that ended it; the number of records if it never ended; `first` for a point.
    pub last: u32,
    /// What it is about: a task, a word, a CPU, a function span; see the lane.
    pub value: u32,
    /// How severe it is.
    pub class: Class,
}

const PER_WORD: usize = 16;
/// Pieces of one state looked at in each direction; a state with more findings in it is told in part.
const STATE_ITEMS_MAX: usize = 4096;

/// The items of one lane, in order, with their severity index.
#[derive(Clone, Debug, Default)]
pub struct Track {
    items: Vec<Item>,
    words: Vec<u64>,
    /// `sparse[k][i]` is the largest class in words `i..i + 2^k`.
    sparse: Vec<Vec<u8>>,
}

impl Track {
    /// Indexes items that are in order and do not overlap.
    pub fn new(items: Vec<Item>) -> Track {
        let words: Vec<u64> = items
            .chunks(PER_WORD)
            .map(|chunk| {
                chunk.iter().enumerate().fold(0, |word, (i, item)| {
                    word | u64::from(item.class.0) << (4 * i)
                })
            })
            .collect();
        let mut sparse = vec![words.iter().map(|&w| nibble_max(w)).collect::<Vec<u8>>()];
        let mut width = 1;
        while 2 * width <= words.len() {
            let below = &sparse[sparse.len() - 1];
            let row = (0..=words.len() - 2 * width)
                .map(|i| below[i].max(below[i + width]))
                .collect();
            sparse.push(row);
            width *= 2;
        }
        Track {
            items,
            words,
            sparse,
        }
    }

    /// The items.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// How many items began before record `record`; the search starts at item `from`.
    pub fn begun_before(&self, record: u32, from: usize) -> usize {
        from + self.items[from..].partition_point(|item| item.first < record)
    }

    /// The item that record `record` lies in or begins.
    pub fn item_at(&self, record: u32) -> Option<&Item> {
        let after = self.items.partition_point(|item| item.first <= record);
        self.items[..after]
            .last()
            .filter(|item| item.last > record || item.first == record)
    }

    /// The state that record `record` lies in or begins, from its beginning to its end: points do not divide it.
    pub fn state_at(&self, record: u32) -> Option<Item> {
        let mut state = *self.item_at(record)?;
        let at = self.items.partition_point(|item| item.first <= record);
        let same = |item: &&Item| {
            item.first == item.last || (item.class, item.value) == (state.class, state.value)
        };
        let before = self.items[..at]
            .iter()
            .rev()
            .take(STATE_ITEMS_MAX)
            .take_while(same);
        let first = before
            .filter(|item| item.first < item.last)
            .last()
            .map_or(state.first, |item| item.first);
        let after = self.items[at..]
            .iter()
            .take(STATE_ITEMS_MAX)
            .take_while(same);
        let last = after
            .filter(|item| item.first < item.last)
            .last()
            .map_or(state.last, |item| item.last);
        (state.first, state.last) = (first.min(state.first), last.max(state.last));
        Some(state)
    }

    /// The most severe class among `items`; adds the index entries looked at to `touched`.
    pub fn severest(&self, items: Range<usize>, touched: &Cell<u64>) -> Class {
        if items.is_empty() {
            return Class::NONE;
        }
        let (head, tail) = (items.start / PER_WORD, (items.end - 1) / PER_WORD);
        let from_start = u64::MAX << (4 * (items.start % PER_WORD));
        let to_end = u64::MAX >> (4 * (PER_WORD - 1 - (items.end - 1) % PER_WORD));
        if head == tail {
            touched.set(touched.get() + 1);
            return Class(nibble_max(self.words[head] & from_start & to_end));
        }
        touched.set(touched.get() + 2);
        let mut most =
            nibble_max(self.words[head] & from_start).max(nibble_max(self.words[tail] & to_end));
        let between = tail - head - 1;
        if between > 0 {
            touched.set(touched.get() + 2);
            let k = between.ilog2() as usize;
            most = most
                .max(self.sparse[k][head + 1])
                .max(self.sparse[k][tail - (1 << k)]);
        }
        Class(most)
    }
}

fn nibble_max(mut word: u64) -> u8 {
    let mut most = 0;
    while word != 0 {
        most = most.max((word & 15) as u8);
        word >>= 4;
    }
    most
}

/// Writes a track while the records go by.
#[derive(Clone, Debug)]
pub struct Steps {
    items: Vec<Item>,
    first: u32,
    class: Class,
    value: u32,
}

impl Steps {
    /// A track in state `class` from before the first record.
    pub fn new(class: Class) -> Steps {
        Steps {
            items: Vec::new(),
            first: 0,
            class,
            value: u32::MAX,
        }
    }

    /// From record `at` on the state is `class` of `value`.
    pub fn set(&mut self, at: u32, class: Class, value: u32) {
        if (class, value) == (self.class, self.value) {
            return;
        }
        self.close(at);
        (self.first, self.class, self.value) = (at, class, value);
    }

    /// Record `at` is a point; the state goes on after it.
    pub fn point(&mut self, at: u32, class: Class, value: u32) {
        self.close(at);
        self.items.push(Item {
            first: at,
            last: at,
            value,
            class,
        });
        self.first = at;
    }

    /// The state up to here was `class` of `value` after all (the run began in its middle).
    pub fn was(&mut self, class: Class, value: u32) {
        (self.class, self.value) = (class, value);
    }

    /// The state now.
    pub fn class(&self) -> Class {
        self.class
    }

    fn close(&mut self, at: u32) {
        if at > self.first && self.class != Class::NONE {
            self.items.push(Item {
                first: self.first,
                last: at,
                value: self.value,
                class: self.class,
            });
        }
    }

    /// Ends the run after `records` records.
    pub fn finish(mut self, records: u32) -> Track {
        self.close(records);
        Track::new(self.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(classes: &[u8]) -> Track {
        let item = |(i, &c): (usize, &u8)| Item {
            first: i as u32,
            last: i as u32,
            value: 0,
            class: Class(c),
        };
        Track::new(classes.iter().enumerate().map(item).collect())
    }

    /// Every range gives the same answer as looking at each item, and never costs more than four entries.
    #[test]
    fn the_index_is_exact_and_cheap() {
        let classes: Vec<u8> = (0..300u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 28) as u8)
            .collect();
        let track = points(&classes);
        for lo in 0..classes.len() {
            for hi in lo + 1..=classes.len() {
                let touched = Cell::new(0);
                assert_eq!(
                    track.severest(lo..hi, &touched).0,
                    *classes[lo..hi].iter().max().unwrap(),
                    "{lo}..{hi}"
                );
                assert!(touched.get() <= 4);
            }
        }
    }

    /// A point splits the state it falls into, and both halves keep their meaning.
    #[test]
    fn a_point_splits_a_state() {
        let mut steps = Steps::new(Class::IDLE);
        steps.set(2, Class::TASK, 7);
        steps.point(4, Class::DROP, 9);
        steps.set(6, Class::IDLE, 0);
        let track = steps.finish(8);
        let spans: Vec<_> = track
            .items()
            .iter()
            .map(|i| (i.first, i.last, i.class))
            .collect();
        let expected = [
            (0, 2, Class::IDLE),
            (2, 4, Class::TASK),
            (4, 4, Class::DROP),
            (4, 6, Class::TASK),
            (6, 8, Class::IDLE),
        ];
        assert_eq!(spans, expected);
        assert_eq!(track.item_at(5).unwrap().value, 7);
        assert_eq!(
            track.state_at(5),
            Some(Item {
                first: 2,
                last: 6,
                value: 7,
                class: Class::TASK
            })
        );
        assert_eq!(track.state_at(3), track.state_at(5));
    }
}
