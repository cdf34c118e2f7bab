//! The default scheduler: what everybody would do if nobody interfered, and deviations from it.
//!
//! Stores become visible at once, interrupts come at once, a CPU goes on until it waits or is done, then the
//! lowest one that can goes; devices act when no CPU can. Choosing somebody else while a store could become
//! visible holds that buffer until nothing else can go: so a store that is late is one deviation.

use crate::engine::schedule::{Agent, Enabled, Point, Schedule};
use crate::engine::time::Span;

/// Somebody else than usual goes at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deviation {
    /// The step, counted from 0.
    pub step: u32,
    /// Who goes.
    pub agent: Agent,
}

/// A CPU that never waits is made to pause after so many steps.
const LONGEST_TURN: u32 = 600;
/// And devices are heard at the latest after so many steps of CPUs.
const LONGEST_WAIT: u32 = 60_000;

/// The default scheduler.
#[derive(Clone, Debug, Default)]
pub(super) struct Usual {
    /// Who ran last.
    current: Option<u16>,
    /// Buffers that are held, a bit a CPU.
    held: u64,
    turn: u32,
    unheard: u32,
}

impl Usual {
    /// Who usually goes.
    pub fn pick(&self, enabled: &[Enabled]) -> usize {
        let find = |ok: &dyn Fn(Agent) -> bool| enabled.iter().position(|e| ok(e.agent));
        let drain = find(&|a| matches!(a, Agent::Drain(c, _) if !self.is_held(c)));
        if let Some(i) = drain.or_else(|| find(&|a| matches!(a, Agent::Irq(_)))) {
            return i;
        }
        let device = || find(&|a| matches!(a, Agent::Device(_)));
        if self.unheard >= LONGEST_WAIT
            && let Some(i) = device()
        {
            return i;
        }
        let current = self.current;
        let stays = find(&|a| Some(a) == current.map(Agent::Cpu));
        if self.turn < LONGEST_TURN
            && let Some(i) = stays
        {
            return i;
        }
        let next = find(&|a| matches!(a, Agent::Cpu(c) if stays.is_some() && Some(c) > current));
        next.or_else(|| find(&|a| matches!(a, Agent::Cpu(_))))
            .or_else(device)
            .unwrap_or(0)
    }

    /// Somebody went.
    pub fn went(&mut self, enabled: &[Enabled], chosen: usize) {
        let agent = enabled[chosen].agent;
        if !agent.is_drain() {
            for e in enabled {
                if let Agent::Drain(c, _) = e.agent {
                    self.held |= 1 << (c % 64);
                }
            }
        }
        match agent {
            Agent::Cpu(c) => {
                self.turn = if self.current == Some(c) {
                    self.turn + 1
                } else {
                    0
                };
                self.current = Some(c);
                self.unheard += 1;
            }
            // Once it goes on, the rest may go as well.
            Agent::Drain(c, _) => self.held &= !(1 << (c % 64)),
            Agent::Device(_) => self.unheard = 0,
            Agent::Irq(_) => {}
        }
    }

    fn is_held(&self, cpu: u16) -> bool {
        self.held >> (cpu % 64) & 1 != 0
    }

    /// What it goes by, besides who can go.
    pub fn key(&self) -> u128 {
        u128::from(self.held) << 32 | self.current.map_or(u128::from(u16::MAX), u128::from)
    }

    /// The CPU that ran last.
    pub fn current(&self) -> Option<u16> {
        self.current
    }
}

/// The usual schedule but for some deviations.
#[derive(Clone, Debug)]
pub struct Deviating {
    usual: Usual,
    deviations: Vec<Deviation>,
    next: usize,
    missed: Option<Deviation>,
}

impl Deviating {
    /// With these deviations, in the order of their steps.
    pub fn new(deviations: &[Deviation]) -> Deviating {
        Deviating {
            usual: Usual::default(),
            deviations: deviations.to_vec(),
            next: 0,
            missed: None,
        }
    }

    /// The first deviation that was not possible: its step never came, or its agent could not go.
    pub fn missed(&self) -> Option<Deviation> {
        self.missed
            .or_else(|| self.deviations.get(self.next).copied())
    }

    /// All deviations are behind.
    pub(super) fn is_past(&self) -> bool {
        self.next == self.deviations.len()
    }

    pub(super) fn usual(&self) -> &Usual {
        &self.usual
    }

    pub(super) fn pick(&mut self, point: &Point<'_>) -> usize {
        let mut chosen = None;
        while let Some(d) = self.deviations.get(self.next) {
            if d.step > point.step {
                break;
            }
            self.next += 1;
            if d.step == point.step {
                chosen = point.enabled.iter().position(|e| e.agent == d.agent);
            }
            if chosen.is_none() && self.missed.is_none() {
                self.missed = Some(*d);
            }
        }
        chosen.unwrap_or_else(|| self.usual.pick(point.enabled))
    }

    pub(super) fn went(&mut self, point: &Point<'_>, chosen: usize) {
        self.usual.went(point.enabled, chosen);
    }
}

/// Costs play no part, and chance none.
macro_rules! without_costs {
    () => {
        fn stretch(&mut self, _: u16) -> u32 {
            0
        }
        fn start(&mut self, _: &str, _: Span) -> Span {
            Span::ZERO
        }
    };
}
pub(super) use without_costs;

impl Schedule for Deviating {
    without_costs!();

    fn choose(&mut self, point: &Point<'_>) -> Option<usize> {
        let chosen = self.pick(point);
        self.went(point, chosen);
        Some(chosen)
    }
}
