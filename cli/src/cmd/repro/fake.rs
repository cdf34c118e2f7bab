//! Experiments without a simulator: made-up readings of each setup.

use super::experiment::Experiment;
use super::metric::Reading;
use super::numbers::{Numbers, Setup};
use crate::report::repro::Results;

/// Seeds that every setup is "run" with.
const SEEDS: u64 = 2;

/// Judges an experiment whose runs read as `read` says, by setup and seed.
pub fn results(
    experiment: &Experiment,
    fitted: &[&str],
    read: impl Fn(&Setup, u64) -> Reading,
) -> Results {
    let (of_rows, extra) = experiment.setups();
    let places: Vec<(Setup, usize)> = of_rows
        .into_iter()
        .map(|setup| (setup, SEEDS))
        .chain(
            extra
                .into_iter()
                .map(|s| (s, experiment.extra_seeds.min(SEEDS))),
        )
        .map(|(setup, n)| (setup, n as usize))
        .collect();
    let readings: Vec<Option<Reading>> = places
        .iter()
        .flat_map(|(setup, n)| (0..*n as u64).map(|seed| Some(read(setup, seed))))
        .collect();
    let fitted: Vec<String> = fitted.iter().map(|id| (*id).to_owned()).collect();
    let numbers = Numbers::new(&places, &readings);
    let mut results = experiment.judge(&numbers, &fitted, "a-machine");
    results.asked = readings.len();
    results.finished = readings.len();
    results
}

/// Every row but these is simulated, and every judged row has a bound.
pub fn nothing_is_forgotten(experiment: &Experiment, but: &[&str]) {
    let rows = crate::published::rows(experiment.id);
    let rows = rows
        .iter()
        .filter(|row| row.usage != crate::published::Usage::Never);
    let mut missing = Vec::new();
    for row in rows {
        if (experiment.source)(&row.id).quantities().is_empty() {
            missing.push(row.id.as_str());
        }
        let judged = row.usage == crate::published::Usage::Judge;
        assert!(!judged || (experiment.band)(row).is_some(), "{}", row.id);
    }
    assert_eq!(missing, but);
}

/// Reasons and implications are about rows that exist.
pub fn reasons_are_about_rows(experiment: &Experiment) {
    let rows = crate::published::rows(experiment.id);
    let pairs = experiment.implied.iter().flat_map(|&(a, b)| [a, b]);
    let reasons = experiment.unexplained.iter().chain(experiment.excused);
    let fitted = experiment.may_fit.iter().copied();
    for id in pairs.chain(reasons.map(|(id, _)| *id)).chain(fitted) {
        assert!(rows.iter().any(|row| row.id == id), "{id}");
    }
}
