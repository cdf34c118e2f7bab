//! A running digest of everything that happens, always on.

use std::cell::Cell;

/// Two 64-bit multiply-folds over (time, context, kind, word, value) of each micro-step.
#[derive(Debug)]
pub struct Digest {
    a: Cell<u64>,
    b: Cell<u64>,
}

const K0: u64 = 0xa076_1d64_78bd_642f;
const K1: u64 = 0xe703_7ed1_a0b4_28db;
const K2: u64 = 0x8ebc_6af0_9c88_c6e3;

#[inline(always)]
fn fold(x: u64, y: u64) -> u64 {
    let p = u128::from(x) * u128::from(y);
    (p as u64) ^ (p >> 64) as u64
}

impl Default for Digest {
    fn default() -> Digest {
        Digest {
            a: Cell::new(K1),
            b: Cell::new(K2),
        }
    }
}

impl Digest {
    /// Adds one micro-step.
    #[inline(always)]
    pub fn step(&self, time: u64, context: u32, kind: u16, word: u32, value: u64) {
        let who = u64::from(context) << 44 ^ u64::from(kind) << 32 ^ u64::from(word);
        let a = fold(self.a.get() ^ time, who ^ K0);
        self.a.set(a);
        self.b.set(fold(self.b.get() ^ value ^ K1, a ^ K2));
    }

    /// 32 hex digits.
    pub fn text(&self) -> String {
        format!("{:016x}{:016x}", self.a.get(), self.b.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts() {
        let base = (7, 1, 2, 3, 4);
        let run = |s: (u64, u32, u16, u32, u64)| {
            let d = Digest::default();
            d.step(s.0, s.1, s.2, s.3, s.4);
            d.step(9, 9, 9, 9, 9);
            d.text()
        };
        let others = [
            (8, 1, 2, 3, 4),
            (7, 2, 2, 3, 4),
            (7, 1, 3, 3, 4),
            (7, 1, 2, 4, 4),
            (7, 1, 2, 3, 5),
        ];
        for other in others {
            assert_ne!(run(base), run(other), "{other:?}");
        }
    }
}
