//! Pending events in one total order.
//!
//! The key is a u128: time 64 | class 4 | seq 40 | id 20 bits, so comparing keys is comparing
//! events, and no two events are equal. While few are pending they lie in a sorted vector (the
//! smallest last); above [`HEAP_ABOVE`] they move into a 4-ary heap. Both give the same order.

use std::cell::Cell;

/// Above this many pending events the heap takes over.
const HEAP_ABOVE: usize = 24;
/// Below this many pending events the sorted vector takes over again.
const SORTED_BELOW: usize = 12;
const ARITY: usize = 4;

/// The pending events.
#[derive(Debug, Default)]
pub(super) struct Queue {
    keys: Vec<u128>,
    heap: bool,
}

impl Queue {
    pub fn with_capacity(n: usize) -> Queue {
        Queue {
            keys: Vec::with_capacity(n),
            heap: false,
        }
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The smallest key, or `u128::MAX` if nothing is pending.
    #[inline(always)]
    pub fn min(&self) -> u128 {
        let first = if self.heap {
            self.keys.first()
        } else {
            self.keys.last()
        };
        first.copied().unwrap_or(u128::MAX)
    }

    #[inline(always)]
    pub fn push(&mut self, key: u128) {
        if self.heap {
            self.sift_up(key);
            return;
        }
        self.keys.push(key);
        // New events are mostly near in time: look from the small end.
        let cells = Cell::from_mut(&mut self.keys[..]).as_slice_of_cells();
        for pair in cells.windows(2).rev() {
            let before = pair[0].get();
            if before > key {
                break;
            }
            pair[1].set(before);
            pair[0].set(key);
        }
        if self.keys.len() > HEAP_ABOVE {
            self.become_heap();
        }
    }

    #[cold]
    fn become_heap(&mut self) {
        // Ascending order is a valid heap.
        self.keys.reverse();
        self.heap = true;
    }

    #[inline(always)]
    pub fn pop(&mut self) -> Option<u128> {
        if self.heap {
            self.pop_heap()
        } else {
            self.keys.pop()
        }
    }

    fn sift_up(&mut self, key: u128) {
        let mut i = self.keys.len();
        self.keys.push(key);
        let keys = &mut self.keys[..];
        while i > 0 {
            let parent = (i - 1) / ARITY;
            if keys[parent] <= key {
                break;
            }
            keys[i] = keys[parent];
            i = parent;
        }
        keys[i] = key;
    }

    fn pop_heap(&mut self) -> Option<u128> {
        let last = self.keys.pop()?;
        let n = self.keys.len();
        if n == 0 {
            self.heap = false;
            return Some(last);
        }
        let keys = &mut self.keys[..];
        let top = keys[0];
        let mut i = 0;
        loop {
            let first = i * ARITY + 1;
            let Some(children) = keys.get(first..) else {
                break;
            };
            let Some((child, key)) = smallest(children) else {
                break;
            };
            if key >= last {
                break;
            }
            keys[i] = key;
            i = first + child;
        }
        keys[i] = last;
        if n < SORTED_BELOW {
            self.keys.sort_unstable_by(|a, b| b.cmp(a));
            self.heap = false;
        }
        Some(top)
    }
}

/// The smallest of the first [`ARITY`] keys and where it is; without branches if there are as many.
#[inline(always)]
fn smallest(keys: &[u128]) -> Option<(usize, u128)> {
    let less = |a: (usize, u128), b: (usize, u128)| if b.1 < a.1 { b } else { a };
    match keys.first_chunk::<ARITY>() {
        Some(&[a, b, c, d]) => Some(less(less((0, a), (1, b)), less((2, c), (3, d)))),
        None => keys.iter().copied().enumerate().reduce(less),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Pops in the same order as a `BTreeSet`, over sizes that cross both thresholds.
    #[test]
    fn order_is_that_of_a_sorted_set() {
        let (mut queue, mut set) = (Queue::default(), BTreeSet::new());
        let mut x = 1u64;
        for round in 0..20_000u128 {
            x = x
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let grow = if (round / 500) % 2 == 0 { 6 } else { 3 };
            if (x >> 33) % 10 < grow {
                let key = u128::from(x >> 40) << 64 | round;
                queue.push(key);
                set.insert(key);
            } else {
                assert_eq!(queue.pop(), set.pop_first());
            }
            assert_eq!(queue.min(), set.first().copied().unwrap_or(u128::MAX));
        }
    }
}
