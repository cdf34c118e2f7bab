//! Where records go: nowhere, or into recycled 64 KiB chunks.

use super::{Kind, Record};
use std::cell::{Cell, RefCell};

/// Records in a chunk: 64 KiB of 24-byte records.
const CHUNK: usize = 64 * 1024 / size_of::<Record>();

/// What to keep of a run's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing; the digest is kept all the same.
    Off,
    /// The last `bytes` (rounded up to whole chunks); older records are dropped and counted.
    Ring {
        /// Memory to use, in bytes.
        bytes: usize,
    },
    /// Everything, up to `bytes`; a run that needs more stops with
    /// [`Stop::TraceFull`](crate::engine::StopReason::TraceFull), it is never silently cut.
    All {
        /// Memory to use at most, in bytes.
        bytes: usize,
    },
}

/// Receives records.
pub struct Sink {
    on: Cell<bool>,
    mode: Mode,
    chunk: RefCell<Vec<Record>>,
    full: RefCell<std::collections::VecDeque<Vec<Record>>>,
    count: Cell<u64>,
    dropped: Cell<u64>,
    overflow: Cell<bool>,
}

impl Sink {
    /// A sink of this mode. Chunks are taken from the allocator as they are needed and recycled
    /// in [`Mode::Ring`].
    pub fn new(mode: Mode) -> Sink {
        Sink {
            on: Cell::new(mode != Mode::Off),
            mode,
            chunk: RefCell::new(if mode == Mode::Off {
                Vec::new()
            } else {
                Vec::with_capacity(CHUNK)
            }),
            full: RefCell::default(),
            count: Cell::new(0),
            dropped: Cell::new(0),
            overflow: Cell::new(false),
        }
    }

    /// Whether records are kept at all.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.on.get()
    }

    /// Takes no more records.
    pub fn close(&self) {
        self.on.set(false);
    }

    /// Whether [`Mode::All`] ran out of its memory.
    pub fn overflowed(&self) -> bool {
        self.overflow.get()
    }

    /// Number of records so far, dropped ones included. The next record gets this index.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    /// Adds a record; `cause` is the absolute index of the record that enabled it.
    #[inline(always)]
    pub fn push(&self, time: u64, cpu: u16, kind: Kind, cause: Option<u64>, a: u32, b: u32) {
        if !self.on.get() {
            return;
        }
        let index = self.count.get();
        self.count.set(index + 1);
        let cause = cause.map_or(0, |c| u32::try_from(index - c).unwrap_or(0));
        let mut chunk = self.chunk.borrow_mut();
        chunk.push(Record {
            time,
            cpu,
            kind: kind as u16,
            cause,
            a,
            b,
        });
        if chunk.len() == CHUNK {
            self.rotate(&mut chunk);
        }
    }

    #[cold]
    fn rotate(&self, chunk: &mut Vec<Record>) {
        let mut full = self.full.borrow_mut();
        let chunk_bytes = CHUNK * size_of::<Record>();
        let next = match self.mode {
            Mode::Ring { bytes } if (full.len() + 2) * chunk_bytes > bytes.max(2 * chunk_bytes) => {
                let mut oldest = full.pop_front().unwrap_or_default();
                self.dropped.set(self.dropped.get() + oldest.len() as u64);
                oldest.clear();
                oldest
            }
            Mode::All { bytes } if (full.len() + 1) * chunk_bytes >= bytes => {
                self.overflow.set(true);
                Vec::with_capacity(CHUNK)
            }
            _ => Vec::with_capacity(CHUNK),
        };
        full.push_back(std::mem::replace(chunk, next));
    }

    /// The kept records in order of time, and how many were dropped before the first.
    ///
    /// A context stamps a record with its own time, which runs ahead of the clock by the work it still
    /// owes; so records arrive almost, but not quite, in order. They are sorted here, stably, and the
    /// causes with them.
    pub fn take(&self) -> (Vec<Record>, u64) {
        let mut records =
            Vec::with_capacity(self.full.borrow().len() * CHUNK + self.chunk.borrow().len());
        for chunk in self.full.borrow_mut().drain(..) {
            records.extend_from_slice(&chunk);
        }
        records.append(&mut self.chunk.borrow_mut());
        (in_order(records), self.dropped.get())
    }
}

/// Sorts by time and rewrites each cause as the distance to where its record went.
fn in_order(records: Vec<Record>) -> Vec<Record> {
    if records.is_sorted_by_key(|r| r.time) {
        return records;
    }
    let mut order: Vec<u32> = (0..records.len() as u32).collect();
    order.sort_by_key(|&i| records[i as usize].time);
    let mut new_place = vec![0u32; records.len()];
    for (new, &old) in order.iter().enumerate() {
        new_place[old as usize] = new as u32;
    }
    let moved = |old: u32| {
        let mut r = records[old as usize];
        if r.cause != 0 {
            let cause = old.checked_sub(r.cause).map(|c| new_place[c as usize]);
            // A cause never stands behind its effect; one that was dropped is unknown.
            r.cause = cause.map_or(0, |c| new_place[old as usize].saturating_sub(c));
        }
        r
    };
    order.into_iter().map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_keeps_the_newest_records_and_counts_the_rest() {
        let sink = Sink::new(Mode::Ring {
            bytes: 2 * CHUNK * size_of::<Record>(),
        });
        let n = 5 * CHUNK as u64 + 7;
        for i in 0..n {
            sink.push(i, 0, Kind::Mark, None, 0, 0);
        }
        let (records, dropped) = sink.take();
        assert_eq!(records.len() as u64 + dropped, n);
        assert_eq!(records.last().unwrap().time, n - 1);
        assert_eq!(records[0].time, dropped);
        assert!(records.len() <= 2 * CHUNK);
    }

    #[test]
    fn records_come_out_in_order_of_time_with_their_causes() {
        let sink = Sink::new(Mode::All { bytes: 1 << 20 });
        sink.push(30, 0, Kind::Mark, None, 0, 0);
        sink.push(10, 1, Kind::Mark, None, 1, 0);
        sink.push(40, 1, Kind::Mark, Some(0), 2, 0);
        sink.push(20, 1, Kind::Mark, Some(1), 3, 0);
        let (records, _) = sink.take();
        let seen: Vec<(u32, u32)> = records.iter().map(|r| (r.a, r.cause)).collect();
        assert_eq!(seen, [(1, 0), (3, 1), (0, 0), (2, 1)]);
    }

    #[test]
    fn a_full_recording_says_so() {
        let sink = Sink::new(Mode::All {
            bytes: CHUNK * size_of::<Record>(),
        });
        for i in 0..=CHUNK as u64 {
            sink.push(i, 0, Kind::Mark, None, 0, 0);
        }
        assert!(sink.overflowed());
    }
}
