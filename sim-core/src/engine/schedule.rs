//! Every choice that hardware makes by accident.
//!
//! In a timed run costs decide the order, and a [`Schedule`] only sets how fast work goes and
//! shifts starts. In an explored run it also picks who goes next; for that it is told, for each enabled
//! agent, the word its next access touches and how.

use super::rng::Stream;
use super::time::Span;
use std::fmt;
use std::str::FromStr;

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

/// Who can take the next step of an explored run.
///
/// As text, in tokens and tables: `1` is what runs on CPU 1, `1d` the oldest store in its buffer becoming
/// visible (`1e` the next one that may, and so on), `1i` a hard interrupt arriving there, `v3` device event 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// The context that runs on this logical CPU.
    Cpu(u16),
    /// A store of this CPU's buffer becomes visible: the n-th of those that may.
    Drain(u16, u8),
    /// A hard interrupt that was raised is taken by this CPU.
    Irq(u16),
    /// A device's engine: its event of this number.
    Device(u32),
}

impl Agent {
    /// The logical CPU it belongs to, if to one.
    pub fn cpu(self) -> Option<u16> {
        match self {
            Agent::Cpu(c) | Agent::Drain(c, _) | Agent::Irq(c) => Some(c),
            Agent::Device(_) => None,
        }
    }

    /// Whether it is a store becoming visible.
    pub fn is_drain(self) -> bool {
        matches!(self, Agent::Drain(..))
    }
}

/// Stores of one CPU that may become visible next, at most.
pub const MAX_DRAINS: u8 = 5;

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Agent::Cpu(c) => write!(f, "{c}"),
            Agent::Drain(c, n) => write!(f, "{c}{}", char::from(b'd' + n.min(MAX_DRAINS - 1))),
            Agent::Irq(c) => write!(f, "{c}i"),
            Agent::Device(n) => write!(f, "v{n}"),
        }
    }
}

impl FromStr for Agent {
    type Err = ();
    fn from_str(text: &str) -> Result<Agent, ()> {
        if let Some(n) = text.strip_prefix('v') {
            return n.parse().map(Agent::Device).map_err(|_| ());
        }
        let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let cpu = digits.parse().map_err(|_| ())?;
        match &text.as_bytes()[digits.len()..] {
            [] => Ok(Agent::Cpu(cpu)),
            b"i" => Ok(Agent::Irq(cpu)),
            [c] if (b'd'..b'd' + MAX_DRAINS).contains(c) => Ok(Agent::Drain(cpu, c - b'd')),
            _ => Err(()),
        }
    }
}

/// An agent that could go next in an explored run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enabled {
    /// Who.
    pub agent: Agent,
    /// The word its next access touches, or `u32::MAX` if none.
    pub word: u32,
    /// How it touches it.
    pub kind: AccessKind,
    /// What [`Point::state`] will be after it, or a name for that state.
    pub next: u128,
}

/// A place of an explored run where a choice is made.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// Steps taken so far.
    pub step: u32,
    /// Who could go, in the order of [`Agent`]; at least one.
    pub enabled: &'a [Enabled],
    /// Names the state: runs that agree in it go on in the same ways.
    pub state: u128,
}

/// Makes the choices of a run.
pub trait Schedule {
    /// The speed of logical CPU `cpu` in its next work chunk: how long its work takes, in 65536ths
    /// of the nominal length.
    fn stretch(&mut self, cpu: u16) -> u32;

    /// A start offset below `spread` for component `name`.
    fn start(&mut self, name: &str, spread: Span) -> Span;

    /// Which of the enabled agents goes next (an index), or `None` to end the run here. A timed schedule
    /// is never asked.
    fn choose(&mut self, point: &Point<'_>) -> Option<usize>;
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

    fn choose(&mut self, _: &Point<'_>) -> Option<usize> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_read_as_they_print() {
        let agents = [
            Agent::Cpu(0),
            Agent::Cpu(12),
            Agent::Drain(1, 0),
            Agent::Drain(3, 4),
            Agent::Irq(2),
            Agent::Device(17),
        ];
        for agent in agents {
            assert_eq!(agent.to_string().parse(), Ok(agent));
        }
        for wrong in ["", "d", "1z", "1dd", "v", "-1", "1 "] {
            assert_eq!(wrong.parse::<Agent>(), Err(()), "{wrong}");
        }
    }
}
