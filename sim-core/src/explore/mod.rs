//! Exploration: which orders of steps break a law, the shortest of them, and how far there is none.
//!
//! [`Hunt::run`] tries, in this order: the usual schedule and few deviations from it; schedules by chance (PCT);
//! all schedules of up to a number of preemptions; random walks. What it finds is made small and can be
//! run again from its [`Token`].

mod chance;
mod hunt;
mod race;
mod search;
mod shrink;
mod size;
mod token;
mod usual;

pub use crate::engine::schedule::Agent;
pub use crate::machine::explored::Step;
pub use hunt::{Find, GoOn, Hunt, Limits, Phase, Refused, Replay, Report, Verdict};
pub use race::Race;
pub use search::Price;
pub use size::{Size, USUAL as USUAL_SIZE, cut as cut_to, of as size_of};
pub use token::{Token, TokenError};
pub use usual::{Deviating, Deviation};

use crate::config::Config;
use crate::engine::schedule::Schedule;
use crate::trace::Mode;
use crate::violation::Law;
use crate::world::{self, Explore, Options};

/// What is counted while a search goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Schedules that were run to their end.
    pub schedules: u64,
    /// Schedules that were left in a state that was known.
    pub cut: u64,
    /// Steps of all of them.
    pub steps: u64,
    /// Different states (happens-before classes of prefixes) met in the phase under way.
    pub states: u64,
}

impl Stats {
    fn ran(&mut self, explore: &Explore) {
        if explore.stop.is_some() {
            self.schedules += 1;
        } else {
            self.cut += 1;
        }
        self.steps += u64::from(explore.steps);
    }

    /// Schedules, whole and cut.
    pub fn runs(&self) -> u64 {
        self.schedules + self.cut
    }
}

/// One configuration whose schedules are run.
pub(crate) struct Job<'a> {
    config: &'a Config,
    points: &'a [Vec<bool>],
    threads: usize,
    /// What is looked for; empty: any.
    laws: &'a [Law],
}

impl Job<'_> {
    /// Runs `schedule` without names or log.
    fn run(&self, schedule: &mut dyn Schedule) -> Explore {
        let options = Options {
            names: false,
            ..Options::default()
        };
        let mut run = world::explore(self.config, &options, schedule, self.points, false);
        self.only_wanted(&mut run);
        run
    }

    fn only_wanted(&self, run: &mut Explore) {
        if !self.laws.is_empty() {
            run.violations.retain(|v| self.laws.contains(&v.law));
        }
    }

    /// Runs `schedule` with names and log.
    fn run_logged(&self, schedule: &mut dyn Schedule) -> Explore {
        world::explore(
            self.config,
            &Options::default(),
            schedule,
            self.points,
            true,
        )
    }

    /// Runs `schedule` and records it.
    fn record(&self, schedule: &mut dyn Schedule, trace: Mode) -> Explore {
        let options = Options {
            trace,
            ..Options::default()
        };
        world::explore(self.config, &options, schedule, self.points, true)
    }

    /// `work` of each item, in their order, over all threads.
    fn each<I: Sync, R: Send>(&self, items: &[I], work: impl Fn(&I) -> R + Sync) -> Vec<R> {
        let threads = self.threads.clamp(1, items.len().max(1));
        if threads == 1 {
            return items.iter().map(work).collect();
        }
        let next = std::sync::atomic::AtomicUsize::new(0);
        let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
            let worker = || {
                let mut mine = Vec::new();
                loop {
                    let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(item) = items.get(i) else { break };
                    mine.push((i, work(item)));
                }
                mine
            };
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            workers
                .into_iter()
                .flat_map(|w| {
                    w.join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        });
        done.sort_by_key(|(i, _)| *i);
        done.into_iter().map(|(_, r)| r).collect()
    }
}
