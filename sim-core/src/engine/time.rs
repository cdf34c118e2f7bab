//! Simulated time: integer picoseconds. The only arithmetic on time is here.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time, in picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A length of simulated time, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Instant = Instant(0);
    /// Later than anything that happens.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// The instant `ps` picoseconds after the start.
    #[inline(always)]
    pub const fn from_ps(ps: u64) -> Instant {
        Instant(ps)
    }

    /// Picoseconds since the start.
    #[inline(always)]
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds since the start, rounded down.
    pub const fn ns(self) -> u64 {
        self.0 / 1000
    }

    /// Time from `earlier` to `self`, or zero if it is not earlier.
    #[inline(always)]
    pub fn since(self, earlier: Instant) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// This much earlier, but not before the start.
    #[inline(always)]
    pub fn back(self, by: Span) -> Instant {
        Instant(self.0.saturating_sub(by.0))
    }
}

impl Span {
    /// No time.
    pub const ZERO: Span = Span(0);

    /// `ps` picoseconds.
    #[inline(always)]
    pub const fn from_ps(ps: u64) -> Span {
        Span(ps)
    }

    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Span {
        Span(ns * 1000)
    }

    /// Picoseconds.
    #[inline(always)]
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down.
    pub const fn ns(self) -> u64 {
        self.0 / 1000
    }

    /// `self - other`, or zero.
    #[inline(always)]
    pub fn less(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Add<Span> for Instant {
    type Output = Instant;
    /// # Panics
    /// On overflow, after 213 simulated days.
    #[inline(always)]
    fn add(self, span: Span) -> Instant {
        Instant(self.0 + span.0)
    }
}

impl Sub<Instant> for Instant {
    type Output = Span;
    /// # Panics
    /// If `earlier` is later.
    fn sub(self, earlier: Instant) -> Span {
        Span(self.0.checked_sub(earlier.0).expect("time runs forward"))
    }
}

impl Add for Span {
    type Output = Span;
    #[inline(always)]
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl AddAssign for Span {
    #[inline(always)]
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}

impl fmt::Display for Instant {
    /// Nanoseconds with three decimals, e.g. `1234.567ns`; read back by `--at`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}ns", self.0 / 1000, self.0 % 1000)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}ns", self.0 / 1000, self.0 % 1000)
    }
}
