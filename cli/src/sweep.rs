//! All points of a scenario, each with many seeds, as one batch.

use crate::batch::{self, Job};
use crate::exit::{Exit, Stop};
use crate::library::{Expect, Point, Scenario};
use crate::report::seeds::Kept;
use crate::session::{Again, Session};
use sim_core::config::Config;
use std::ops::Range;
use std::sync::Arc;

/// Seeds of a measurement where the user names none.
pub fn default_seeds(scenario: &Scenario) -> Range<u64> {
    0..scenario.measure().map_or(1, |m| u64::from(m.seeds))
}

/// Overrides that leave one point of a sweep: no axes, but their values; none if there is no axis.
pub fn chosen(values: &[(String, String)]) -> Vec<(String, String)> {
    let none = (!values.is_empty()).then(|| ("sweep".to_owned(), "[]".to_owned()));
    none.into_iter().chain(values.iter().cloned()).collect()
}

/// One point of a sweep; the only one, with an empty label, if the scenario does not sweep.
pub struct Cell {
    /// What to call it.
    pub label: String,
    /// Overrides that make it.
    pub values: Vec<(String, String)>,
    /// What to run.
    pub config: Arc<Config>,
}

/// All points of a scenario with all seeds, in one batch.
pub struct Sweep {
    /// Every point.
    pub points: Vec<Cell>,
    /// Seeds of each point.
    pub seeds: Range<u64>,
}

impl Sweep {
    /// Of these points and seeds.
    ///
    /// # Errors
    /// If there is no seed, or more than fit in memory.
    pub fn new(points: Vec<Point>, seeds: Range<u64>) -> Result<Sweep, Stop> {
        const MOST: u64 = 10_000_000;
        let n = (seeds.end - seeds.start).saturating_mul(points.len() as u64);
        if n == 0 {
            return Err(Stop::new(
                Exit::Nothing,
                format!(
                    "nothing to do: the range {}..{} is empty (ranges are half-open)",
                    seeds.start, seeds.end
                ),
            ));
        }
        if n > MOST {
            return Err(Stop::new(
                Exit::Usage,
                format!("error: {n} runs at once are too many; ask for at most {MOST}"),
            ));
        }
        let points = points
            .into_iter()
            .map(|p| Cell {
                label: p.label,
                values: p.values,
                config: Arc::new(p.config),
            })
            .collect();
        Ok(Sweep { points, seeds })
    }

    /// Number of runs.
    pub fn asked(&self) -> usize {
        self.points.len() * (self.seeds.end - self.seeds.start) as usize
    }

    /// How to repeat runs of point `i`.
    pub fn again(&self, i: usize, again: &Again) -> Again {
        again.with(&chosen(&self.points[i].values))
    }

    /// Runs everything; gives the finished runs of each point in order of seed, and why some are
    /// missing, if some are.
    pub fn run(
        &self,
        session: &Session<'_>,
        threads: Option<usize>,
        again: &Again,
        expect: &Expect,
    ) -> Result<(Vec<Vec<Kept>>, Option<Stop>), Stop> {
        let mut jobs = Vec::new();
        for (i, Cell { config, .. }) in self.points.iter().enumerate() {
            let again = Arc::new(self.again(i, again));
            let job = |seed| Job {
                config: Arc::clone(config),
                seed,
                again: Arc::clone(&again),
            };
            jobs.extend(self.seeds.clone().map(job));
        }
        let done = batch::run(session, &jobs, threads, |job, outcome| {
            Kept::of(job.seed, outcome, expect)
        })?;
        let each = jobs.len() / self.points.len();
        let mut results = done.results.into_iter();
        let runs = self
            .points
            .iter()
            .map(|_| results.by_ref().take(each).flatten().collect())
            .collect();
        Ok((runs, done.unfinished))
    }
}
