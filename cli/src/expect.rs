//! Expectations of a scenario, judged over runs.

use crate::library::{Bound, Expect, Violations};
use hdrhistogram::Histogram;
use sim_core::metrics::Metrics;
use sim_core::violation::Law;
use sim_core::world::Outcome;

/// Percentiles shown everywhere, with their column heads.
pub const PERCENTILES: [(&str, f64); 4] =
    [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)];

/// The latency of all flows together.
pub fn latency(metrics: &Metrics) -> Option<Histogram<u64>> {
    let mut flows = metrics
        .flows
        .iter()
        .map(|f| &f.latency)
        .filter(|h| !h.is_empty());
    let mut all = flows.next()?.clone();
    for more in flows {
        // Ranges of flows are the same by construction; a value that does not fit is clamped.
        if all.add(more).is_err() {
            for v in more.iter_recorded() {
                all.saturating_record_n(v.value_iterated_to(), v.count_at_value());
            }
        }
    }
    Some(all)
}

/// What expectations look at, of one run.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Seed of the run.
    pub seed: u64,
    /// Laws broken, each once, in their order.
    pub laws: Vec<Law>,
    /// Value of each bounded metric, in the order of the bounds, and whether it is within.
    pub values: Vec<(f64, bool)>,
}

impl Facts {
    /// Of this run.
    pub fn of(seed: u64, expect: &Expect, outcome: &Outcome) -> Facts {
        let mut laws: Vec<Law> = outcome.violations.iter().map(|v| v.law).collect();
        laws.sort_unstable();
        laws.dedup();
        Facts {
            seed,
            laws,
            values: expect
                .metrics
                .iter()
                .map(|bound| bound.judge(&outcome.metrics))
                .collect(),
        }
    }
}

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq)]
pub struct Miss {
    /// What was expected and what came.
    pub text: String,
    /// A seed to look at.
    pub seed: u64,
}

/// Judges the bounds on metrics: every run must keep them.
pub fn bounds(expect: &Expect, runs: &[Facts]) -> Vec<Miss> {
    let miss = |(i, bound): (usize, &Bound)| {
        let out: Vec<&Facts> = runs.iter().filter(|r| !r.values[i].1).collect();
        let first = out.first()?;
        let wanted = match (bound.min, bound.max) {
            (Some(min), Some(max)) => format!("{} to {}", number(min), number(max)),
            (Some(min), None) => format!("at least {}", number(min)),
            (None, Some(max)) => format!("at most {}", number(max)),
            (None, None) => "a number".to_owned(),
        };
        let among = if runs.len() > 1 {
            format!(" in {} of {} runs", out.len(), runs.len())
        } else {
            String::new()
        };
        let text = format!(
            "{} is {}{among}, expected {wanted}",
            bound.metric,
            number(first.values[i].0)
        );
        Some(Miss {
            text,
            seed: first.seed,
        })
    };
    expect.metrics.iter().enumerate().filter_map(miss).collect()
}

/// Judges the laws: what is forbidden must not occur, what is required must occur in some run.
pub fn violations(expect: &Expect, runs: &[Facts]) -> Vec<Miss> {
    let broke = |law: Law| {
        runs.iter()
            .filter(move |r| r.laws.contains(&law))
            .map(|r| r.seed)
    };
    let unexpected = |law: Law| {
        let seed = broke(law).next()?;
        Some(Miss {
            text: format!(
                "{law} in {} of {} runs, expected none",
                broke(law).count(),
                runs.len()
            ),
            seed,
        })
    };
    match &expect.violations {
        Violations::Allow => Vec::new(),
        Violations::Forbid => Law::ALL.into_iter().filter_map(unexpected).collect(),
        Violations::Require(laws) => {
            let absent = laws
                .iter()
                .filter(|&&law| broke(law).next().is_none())
                .map(|law| Miss {
                    text: format!(
                        "{law} in none of {} runs, expected in at least one",
                        runs.len()
                    ),
                    seed: runs.first().map_or(0, |r| r.seed),
                });
            let others = Law::ALL
                .into_iter()
                .filter(|law| !laws.contains(law))
                .filter_map(unexpected);
            absent.chain(others).collect()
        }
    }
}

/// Whole numbers without a point, others with up to three digits behind it.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(seed: u64, laws: &[Law], value: f64) -> Facts {
        Facts {
            seed,
            laws: laws.to_vec(),
            values: vec![(value, (2.0..=3.0).contains(&value))],
        }
    }

    fn expect(violations: Violations) -> Expect {
        let bound = Bound {
            metric: "hitm".into(),
            min: Some(2.0),
            max: Some(3.0),
        };
        Expect {
            violations,
            metrics: vec![bound],
        }
    }

    /// Every run must keep a bound; the first that does not is named.
    #[test]
    fn a_bound_that_fails_names_a_seed() {
        let misses = bounds(
            &expect(Violations::Forbid),
            &[facts(4, &[], 2.5), facts(5, &[], 1.5)],
        );
        assert_eq!(
            misses,
            [Miss {
                text: "hitm is 1.5 in 1 of 2 runs, expected 2 to 3".into(),
                seed: 5
            }]
        );
        assert!(bounds(&expect(Violations::Forbid), &[facts(4, &[], 2.5)]).is_empty());
    }

    #[test]
    fn laws_are_judged_over_all_runs() {
        let runs = [facts(1, &[], 2.5), facts(2, &[Law::PacketStuck], 2.5)];
        assert_eq!(violations(&expect(Violations::Forbid), &runs)[0].seed, 2);
        assert!(violations(&expect(Violations::Allow), &runs).is_empty());
        assert!(violations(&expect(Violations::Require(vec![Law::PacketStuck])), &runs).is_empty());
        assert_eq!(
            violations(&expect(Violations::Require(vec![Law::Deadlock])), &runs).len(),
            2
        );
    }
}
