//! Every choice that hardware makes by accident.
//!
//! In a timed run costs decide the order, and a [`Schedule`] only sets how fast work goes and
//! shifts starts. In an explored run it also picks who goes next; for that it is told, for each enabled
//! agent, the word its next access touches and how.

use super::rng::Stream;
use super::time::Span;

/// How an access touches its word; two accesses of one word depend on each other unless both read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store, at its issue into the store buffer.
    Write,
    /// A waiting store becomes visible.
    Drain,
    /// An atomic read-modify-write.
    ReadModifyWrite,
    /// A barrier (no word).
    Fence,
    /// An interrupt or timer arrives (no word).
    Arrival,
}

/// An agent that could go next in an explored run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enabled {
    /// The agent's number.
    pub agent: u32,
    /// The word its next access touches, or `u32::MAX` if none.
    pub word: u32,
    /// How it touches it.
    pub kind: AccessKind,
}

/// Makes the choices of a run.
pub trait Schedule {
    /// The speed of logical CPU `cpu` in its next work chunk: how long its work takes, in 65536ths
    /// of the nominal length.
    fn stretch(&mut self, cpu: u16) -> u32;

    /// A start offset below `spread` for component `name`.
    fn start(&mut self, name: &str, spread: Span) -> Span;

    /// Which of `enabled` goes next (an index into it), or `None` to let time decide.
    /// A timed schedule is never asked.
    fn choose(&mut self, enabled: &[Enabled]) -> Option<usize>;
}

/// The timed schedule: seeded integer jitter, nothing else.
#[derive(Debug)]
pub struct Timed {
    seed: u64,
    jitter: Vec<Stream>,
    /// Half width of the jitter in 65536ths.
    half: i64,
}

impl Timed {
    /// Jitter of up to `permille` thousandths around each chunk, one stream a CPU.
    /// `names[i]` names CPU `i`.
    pub fn new(seed: u64, permille: u64, names: &[String]) -> Timed {
        let jitter = names
            .iter()
            .map(|n| Stream::new(seed, &format!("{n}/jitter")))
            .collect();
        Timed {
            seed,
            jitter,
            half: (permille * 65536 / 1000) as i64,
        }
    }
}

impl Schedule for Timed {
    #[inline(always)]
    fn stretch(&mut self, cpu: u16) -> u32 {
        if self.half == 0 {
            return 65536;
        }
        let draw = i64::from(self.jitter[usize::from(cpu)].next_u32());
        // uniform in -half..=half, in 65536ths
        (65536 + ((draw * (2 * self.half + 1)) >> 32) - self.half) as u32
    }

    fn start(&mut self, name: &str, spread: Span) -> Span {
        Span::from_ps(Stream::new(self.seed, &format!("{name}/start")).below(spread.ps()))
    }

    fn choose(&mut self, _enabled: &[Enabled]) -> Option<usize> {
        None
    }
}
