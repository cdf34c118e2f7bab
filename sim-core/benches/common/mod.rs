//! What the benchmarks share: a small random generator, exponential variates, timing, figures.
//!
//! Times are thread CPU time, the printed one is the median of `BENCH_REPS` (5) repetitions.
//! `BENCH_ONLY=substring[,substring]` picks cases, `BENCH_SCALE` (1.0) scales their length.
#![allow(dead_code, missing_docs)]

use cpu_time::ThreadTime;
use std::cell::Cell;
use std::fmt::Display;
use std::str::FromStr;

/// xoshiro256++, seeded through splitmix64, usable through a shared reference.
pub struct Random(Cell<[u64; 4]>);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut z = seed;
        let mut word = || {
            z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let x = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ x >> 31
        };
        Random(Cell::new([word(), word(), word(), word()]))
    }

    #[inline(always)]
    pub fn next(&self) -> u64 {
        let [a, b, c, d] = self.0.get();
        let value = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (x, y) = (c ^ a, d ^ b);
        self.0.set([a ^ y, b ^ x, x ^ b << 17, y.rotate_left(45)]);
        value
    }

    /// Uniform in `0..n`.
    #[inline(always)]
    pub fn below(&self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// Exponential variates: 4096 quantiles as integers, so that no libm call decides a time.
pub struct Exponential(Vec<u64>);

impl Exponential {
    const N: u64 = 4096;

    /// Mean `mean`. Quantile `i` is ln(2N) - ln(2N - 2i - 1), summed up from steps
    /// ln((a + 1) / a) = 2 atanh(1 / (2a + 1)) by the series of atanh.
    pub fn new(mean: u64) -> Exponential {
        let step = |a: u64| {
            let x = 1.0 / (2 * a + 1) as f64;
            (0..40)
                .rev()
                .fold(0.0, |sum, k| sum * x * x + 2.0 * x / f64::from(2 * k + 1))
        };
        let mut sum = 0.0;
        let mut table = Vec::new();
        for a in (1..2 * Self::N).rev() {
            sum += step(a);
            if a % 2 == 1 {
                table.push((sum * mean as f64) as u64 + 1);
            }
        }
        Exponential(table)
    }

    #[inline(always)]
    pub fn draw(&self, random: &Random) -> u64 {
        self.0[(random.next() >> 52) as usize & (Self::N as usize - 1)]
    }
}

fn variable<T: FromStr>(name: &str, default: T) -> T {
    std::env::var(name)
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(default)
}

/// `n` scaled by `BENCH_SCALE`.
pub fn scaled(n: u64) -> u64 {
    ((n as f64 * variable("BENCH_SCALE", 1.0)) as u64).max(1)
}

/// Whether `BENCH_ONLY` picks this case: every one of its substrings must match.
pub fn wanted(name: &str) -> bool {
    match std::env::var("BENCH_ONLY") {
        Ok(parts) => parts.split(',').all(|part| name.contains(part)),
        Err(_) => true,
    }
}

/// Runs `case`, which returns its number of operations and something to keep; prints the median
/// and returns it in ns an operation with what the last repetition kept.
pub fn bench<K: Display>(name: &str, mut case: impl FnMut() -> (u64, K)) -> Option<f64> {
    if !wanted(name) {
        return None;
    }
    let mut times = Vec::new();
    let mut last = None;
    for _ in 0..variable("BENCH_REPS", 5usize).max(1) {
        let start = ThreadTime::now();
        let (ops, kept) = case();
        times.push(start.elapsed().as_nanos() as f64 / ops as f64);
        last = Some((ops, kept));
    }
    let (ops, kept) = last?;
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    let (low, high) = (times[0], times[times.len() - 1]);
    println!(
        "{name:<32} {median:>9.2} ns/op {:>9.3} M/s  [{low:.2}..{high:.2}]  ops={ops} {kept}",
        1e3 / median
    );
    Some(median)
}

/// Prints one of the goals and whether it holds.
pub fn goal(what: &str, value: Option<f64>, floor: f64, goal: f64) {
    if let Some(value) = value {
        let up = goal >= floor;
        let meets = |bound: f64| if up { value >= bound } else { value <= bound };
        let verdict = match (meets(goal), meets(floor)) {
            (true, _) => "goal met",
            (false, true) => "floor met",
            _ => "MISSED",
        };
        println!("  {what}: {value:.2} (floor {floor}, goal {goal}): {verdict}");
    }
}
