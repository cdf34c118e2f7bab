//! Expectations of a scenario, and the names of metrics they may bound.

use crate::library::{Expect, MetricBound, Violations};
use crate::text::Sample;
use hdrhistogram::Histogram;
use sim_core::metrics::Metrics;
use sim_core::violation::Law;

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

type Read = fn(&Metrics) -> f64;

/// Every metric that has a name, for bounds in scenarios and for JSON.
pub const METRICS: &[(&str, Read)] = &[
    ("pps", |m| m.pps()),
    ("mpps", |m| m.pps() / 1e6),
    ("tx_pps", |m| m.tx_pps()),
    ("offered", |m| sum(m.flows.iter().map(|f| f.offered))),
    ("sent", |m| sum(m.flows.iter().map(|f| f.sent))),
    ("errors", |m| sum(m.flows.iter().map(|f| f.errors))),
    ("dropped", |m| {
        sum(m.qdiscs.iter().map(|q| q.dropped)) + sum(m.devices.iter().map(|d| d.tx_dropped))
    }),
    ("requeues", |m| sum(m.qdiscs.iter().map(|q| q.requeues))),
    ("bypassed", |m| sum(m.qdiscs.iter().map(|q| q.bypassed))),
    ("queued", |m| sum(m.qdiscs.iter().map(|q| q.qlen))),
    ("queue_len_max", |m| {
        m.qdiscs.iter().map(|q| q.qlen_max).max().unwrap_or(0) as f64
    }),
    ("latency_ns_p50", |m| percentile(m, 50.0)),
    ("latency_ns_p90", |m| percentile(m, 90.0)),
    ("latency_ns_p99", |m| percentile(m, 99.0)),
    ("latency_ns_p999", |m| percentile(m, 99.9)),
    ("latency_ns_max", |m| {
        latency(m).map_or(0.0, |h| h.max() as f64)
    }),
    ("latency_ns_mean", |m| latency(m).map_or(0.0, |h| h.mean())),
    ("instructions", |m| {
        sum(m.cpus.iter().map(|c| c.instructions))
    }),
    ("instructions_per_packet", |m| {
        per_packet(m, m.cpus.iter().map(|c| c.instructions))
    }),
    ("llc_references_per_packet", |m| {
        per_packet(m, m.cpus.iter().map(|c| c.llc_references))
    }),
    ("hitm_per_packet", |m| {
        per_packet(m, m.cpus.iter().map(|c| c.hitm))
    }),
    ("branch_misses_per_packet", |m| {
        per_packet(m, m.cpus.iter().map(|c| c.branch_misses))
    }),
    ("transfers_per_packet", |m| {
        per_packet(m, m.lines.iter().map(|l| l.transfers))
    }),
    ("context_switches", |m| {
        sum(m.cpus.iter().map(|c| c.context_switches))
    }),
    ("squeezed", |m| sum(m.cpus.iter().map(|c| c.squeezed))),
    ("lock_contended", |m| {
        sum(m.locks.iter().map(|l| l.contended))
    }),
];

/// The value of the metric called `name`.
pub fn metric(metrics: &Metrics, name: &str) -> Option<f64> {
    METRICS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, read)| read(metrics))
}

fn sum(counts: impl Iterator<Item = u64>) -> f64 {
    counts.sum::<u64>() as f64
}

fn per_packet(metrics: &Metrics, counts: impl Iterator<Item = u64>) -> f64 {
    let sent: u64 = metrics.flows.iter().map(|f| f.sent).sum();
    if sent == 0 {
        0.0
    } else {
        sum(counts) / sent as f64
    }
}

fn percentile(metrics: &Metrics, p: f64) -> f64 {
    latency(metrics).map_or(0.0, |h| h.value_at_percentile(p) as f64)
}

/// What expectations look at, of one run.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Seed of the run.
    pub seed: u64,
    /// Laws broken, each once, in their order.
    pub laws: Vec<Law>,
    /// Values of the bounded metrics, in the order of the bounds; `None` for an unknown name.
    pub values: Vec<Option<f64>>,
}

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq)]
pub struct Miss {
    /// What was expected and what came.
    pub text: String,
    /// A seed to look at.
    pub seed: u64,
}

/// Judges the bounds on metrics over all runs (their mean), and nothing else.
pub fn bounds(expect: &Expect, runs: &[Facts]) -> Vec<Miss> {
    let miss = |(i, bound): (usize, &MetricBound)| {
        let values: Option<Vec<f64>> = runs.iter().map(|r| r.values[i]).collect();
        let Some(values) = values else {
            let known: Vec<&str> = METRICS.iter().map(|(name, _)| *name).collect();
            let text = format!(
                "there is no metric `{}`; there are {}",
                bound.metric,
                known.join(", ")
            );
            return Some(Miss {
                text,
                seed: runs.first().map_or(0, |r| r.seed),
            });
        };
        let sample = Sample::of(&values)?;
        let low = bound
            .min
            .filter(|&min| sample.mean < min)
            .map(|min| format!("at least {min}"));
        let high = bound
            .max
            .filter(|&max| sample.mean > max)
            .map(|max| format!("at most {max}"));
        let wanted = low.or(high.clone())?;
        let worst = if high.is_some() {
            sample.max
        } else {
            sample.min
        };
        let at = values.iter().position(|&v| v == worst).unwrap_or(0);
        let text = format!(
            "{} is {}, expected {wanted}",
            bound.metric,
            number(sample.mean)
        );
        Some(Miss {
            text,
            seed: runs[at].seed,
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

fn number(value: f64) -> String {
    if value.abs() >= 1000.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(seed: u64, laws: &[Law], value: f64) -> Facts {
        Facts {
            seed,
            laws: laws.to_vec(),
            values: vec![Some(value)],
        }
    }

    fn expect(violations: Violations) -> Expect {
        let bound = MetricBound {
            metric: "mpps".into(),
            min: Some(2.0),
            max: Some(3.0),
        };
        Expect {
            violations,
            metrics: vec![bound],
        }
    }

    /// Bounds judge the mean; the seed named is the one furthest out.
    #[test]
    fn a_bound_that_fails_names_the_worst_seed() {
        let misses = bounds(
            &expect(Violations::Forbid),
            &[facts(4, &[], 1.0), facts(5, &[], 1.5)],
        );
        assert_eq!(
            misses,
            [Miss {
                text: "mpps is 1.250, expected at least 2".into(),
                seed: 4
            }]
        );
        assert!(
            bounds(
                &expect(Violations::Forbid),
                &[facts(4, &[], 1.0), facts(5, &[], 4.0)]
            )
            .is_empty()
        );
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
