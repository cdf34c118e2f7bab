//! Schedules by chance: PCT and the random walk. One seed, one schedule.

use super::usual::{Deviation, Usual, without_costs};
use crate::engine::rng::Stream;
use crate::engine::schedule::{Agent, Point, Schedule};
use crate::engine::time::Span;

/// How chance picks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chance {
    /// Everybody who can go is as likely.
    Walk,
    /// Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte 2010): random priorities,
    /// the highest goes, and at `depth - 1` random steps of about `steps` whoever goes falls to the bottom. A bug
    /// of that depth is hit with probability at least 1/(n k^(d-1)), n agents, k steps.
    Pct {
        /// d.
        depth: u32,
        /// k.
        steps: u32,
    },
}

/// A schedule by chance.
pub(super) struct Random {
    chance: Chance,
    stream: Stream,
    usual: Usual,
    /// Priority of each agent met so far.
    priorities: Vec<(Agent, u64)>,
    changes: Vec<u32>,
    lowest: u64,
    /// How it differed from the usual schedule.
    pub deviations: Vec<Deviation>,
}

/// A schedule by chance that is longer than this is ended.
const LONGEST: u32 = 20_000;

impl Random {
    pub fn new(seed: u64, chance: Chance) -> Random {
        let mut stream = Stream::new(seed, "explore");
        let changes = match chance {
            Chance::Walk => Vec::new(),
            Chance::Pct { depth, steps } => (1..depth)
                .map(|_| stream.below(u64::from(steps.max(1))) as u32)
                .collect(),
        };
        Random {
            chance,
            stream,
            usual: Usual::default(),
            priorities: Vec::new(),
            changes,
            lowest: 1 << 32,
            deviations: Vec::new(),
        }
    }

    fn priority(&mut self, agent: Agent) -> u64 {
        if let Some((_, p)) = self.priorities.iter().find(|(a, _)| *a == agent) {
            return *p;
        }
        let priority = 1 << 33 | u64::from(self.stream.next_u32());
        self.priorities.push((agent, priority));
        priority
    }

    fn highest(&mut self, point: &Point<'_>) -> usize {
        let mut best = (0, 0);
        for (i, e) in point.enabled.iter().enumerate() {
            let priority = self.priority(e.agent);
            if priority > best.1 {
                best = (i, priority);
            }
        }
        best.0
    }
}

impl Schedule for Random {
    without_costs!();

    fn choose(&mut self, point: &Point<'_>) -> Option<usize> {
        if point.step > LONGEST {
            return None;
        }
        let chosen = match self.chance {
            Chance::Walk => self.stream.below(point.enabled.len() as u64) as usize,
            Chance::Pct { .. } => {
                let mut chosen = self.highest(point);
                if self.changes.contains(&point.step) {
                    let agent = point.enabled[chosen].agent;
                    self.lowest -= 1;
                    for (a, p) in &mut self.priorities {
                        if *a == agent {
                            *p = self.lowest;
                        }
                    }
                    chosen = self.highest(point);
                }
                chosen
            }
        };
        if chosen != self.usual.pick(point.enabled) {
            self.deviations.push(Deviation {
                step: point.step,
                agent: point.enabled[chosen].agent,
            });
        }
        self.usual.went(point.enabled, chosen);
        Some(chosen)
    }
}
