//! Fewer deviations that break the same law.

use super::Job;
use super::usual::{Deviating, Deviation};
use crate::violation::{Law, Violation};

/// Runs of one shrinking at most.
const MOST_RUNS: u32 = 20_000;

/// `deviations` without those that are not needed: larger parts first, then one by one, until none can go.
/// A deviation that became impossible is left out too.
pub(super) fn shrink(
    job: &Job<'_>,
    deviations: &[Deviation],
    law: Law,
) -> (Vec<Deviation>, Vec<Violation>) {
    let mut best = deviations.to_vec();
    let mut violations = breaks(job, &best, law).unwrap_or_default();
    let mut part = best.len().div_ceil(2).max(1);
    let mut runs = 0;
    loop {
        let mut smaller = false;
        let mut at = 0;
        while at < best.len() && runs < MOST_RUNS {
            let end = (at + part).min(best.len());
            let mut fewer = best.clone();
            fewer.drain(at..end);
            runs += 1;
            match breaks(job, &fewer, law) {
                Some(found) => {
                    (best, violations, smaller) = (fewer, found, true);
                }
                None => at = end,
            }
        }
        if part == 1 && !smaller || runs >= MOST_RUNS {
            return (best, violations);
        }
        if !smaller {
            part = part.div_ceil(2);
        }
    }
}

/// What the run of `deviations` breaks, if `law` is among it and all of them were possible.
fn breaks(job: &Job<'_>, deviations: &[Deviation], law: Law) -> Option<Vec<Violation>> {
    let mut schedule = Deviating::new(deviations);
    let run = job.run(&mut schedule);
    let fits = run.complete && schedule.missed().is_none();
    (fits && run.violations.iter().any(|v| v.law == law)).then_some(run.violations)
}
