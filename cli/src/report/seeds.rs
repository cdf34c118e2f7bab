//! The report of many runs: violating seeds in full, then what they have in common.

use super::perf::{self, Events};
use super::violation;
use crate::expect::Facts;
use crate::library::Expect;
use crate::session::{Again, Look};
use crate::text::{self, Align, Sample, Table};
use sim_core::engine::StopReason;
use sim_core::metrics::Metrics;
use sim_core::violation::{Law, Violation};
use sim_core::world::Outcome;
use std::fmt::Write;
use std::ops::Range;

/// Violating seeds printed in full, unless all are asked for.
pub const IN_FULL: usize = 20;

/// What is kept of one run of many.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Seed.
    pub seed: u64,
    /// Digest.
    pub digest: String,
    /// Micro-steps.
    pub steps: u64,
    /// Packets a second.
    pub pps: f64,
    /// Latency percentiles p50 and p99 over all flows, in nanoseconds.
    pub latency: Option<(u64, u64)>,
    /// What `perf stat` counts.
    pub events: Events,
    /// Laws broken.
    pub violations: Vec<Violation>,
    /// The run hit a limit of its own: why.
    pub limit: Option<String>,
    /// What expectations look at.
    pub facts: Facts,
}

impl Kept {
    /// Of this outcome.
    pub fn of(seed: u64, outcome: Outcome, expect: &Expect) -> Kept {
        let metrics = &outcome.metrics;
        Kept {
            seed,
            steps: outcome.steps,
            pps: metrics.pps(),
            latency: percentiles(metrics),
            events: Events::of(metrics),
            limit: match &outcome.stop {
                StopReason::StepLimit(place) => {
                    Some(format!("step limit reached; busiest: {place}"))
                }
                _ => None,
            },
            facts: Facts::of(seed, expect, &outcome),
            violations: outcome.violations,
            digest: outcome.digest,
        }
    }
}

fn percentiles(metrics: &Metrics) -> Option<(u64, u64)> {
    let all = crate::expect::latency(metrics)?;
    Some((all.value_at_percentile(50.0), all.value_at_percentile(99.0)))
}

/// Many runs of one configuration.
pub struct Seeds<'a> {
    /// Name of the scenario.
    pub name: &'a str,
    /// One line about the configuration.
    pub about: String,
    /// Seeds asked for.
    pub asked: Range<u64>,
    /// Runs finished, in order of seed.
    pub runs: &'a [Kept],
    /// Bounds not met, each told in a line.
    pub misses: &'a [String],
    /// All violating seeds in full.
    pub verbose: bool,
}

/// The whole report.
pub fn report(seeds: &Seeds<'_>, again: &Again, look: &Look) -> String {
    let mut text = format!(
        "scenario  {}   {}   seeds {}..{}\n",
        seeds.name, seeds.about, seeds.asked.start, seeds.asked.end
    );
    let _ = writeln!(
        text,
        "digest    {}   of {}\n",
        digest(seeds.runs),
        text::count(seeds.runs.len(), "digest")
    );
    let violating: Vec<&Kept> = seeds
        .runs
        .iter()
        .filter(|r| !r.violations.is_empty())
        .collect();
    let shown = if seeds.verbose {
        violating.len()
    } else {
        IN_FULL.min(violating.len())
    };
    for run in &violating[..shown] {
        let _ = writeln!(text, "seed {}", run.seed);
        for v in &run.violations {
            text += &violation::full(v, again, run.seed, look);
        }
    }
    if shown < violating.len() {
        let _ = writeln!(
            text,
            "and {} more violating seeds (-v prints all)",
            violating.len() - shown
        );
    }
    if shown > 0 {
        text.push('\n');
    }
    text + &summary(seeds, violating.len(), again) + &stat(seeds)
}

/// What the runs counted; of runs that broke a law, counts say nothing.
fn stat(seeds: &Seeds<'_>) -> String {
    let whole = seeds.runs.iter().filter(|r| r.violations.is_empty());
    let events: Vec<Events> = whole.map(|r| r.events).collect();
    match perf::block(seeds.name, &events) {
        block if block.is_empty() => block,
        block => format!("\n{block}"),
    }
}

fn summary(seeds: &Seeds<'_>, violating: usize, again: &Again) -> String {
    let runs = seeds.runs;
    let n = runs.len() as u64;
    let mut text = format!(
        "seeds run {}   violating {} ({})\n",
        text::group(n),
        text::group(violating as u64),
        text::percent(violating as u64, n)
    );
    for law in Law::ALL {
        let hit = runs
            .iter()
            .filter(|r| r.violations.iter().any(|v| v.law == law))
            .count();
        if hit > 0 {
            let _ = writeln!(text, "  {:<16} {}", law.name(), text::count(hit, "seed"));
        }
    }
    if let Some(run) = runs.iter().find(|r| r.limit.is_some()) {
        let hit = runs.iter().filter(|r| r.limit.is_some()).count();
        let why = run.limit.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "  stopped early    {} ({why})\n    replay: {}",
            text::count(hit, "seed"),
            again.run(run.seed)
        );
    }
    if let Some(pps) = sample(runs) {
        let _ = writeln!(text, "pps   {}", spread(&pps));
    }
    for miss in seeds.misses {
        let _ = writeln!(text, "NOT MET {miss}");
    }
    text
}

/// Packets a second over runs.
pub fn sample(runs: &[Kept]) -> Option<Sample> {
    Sample::of(&runs.iter().map(|r| r.pps).collect::<Vec<_>>())
}

fn spread(s: &Sample) -> String {
    let share = if s.mean == 0.0 {
        0.0
    } else {
        100.0 * s.sd / s.mean
    };
    let whole = |v: f64| text::group(v.round() as u64);
    format!(
        "{} ± {} ({share:.1}%)   min {}   max {}",
        whole(s.mean),
        whole(s.sd),
        whole(s.min),
        whole(s.max)
    )
}

/// One digest over the digests of all runs, in their order.
pub fn digest(runs: &[Kept]) -> String {
    let all: String = runs
        .iter()
        .map(|r| format!("{} {}\n", r.seed, r.digest))
        .collect();
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(all.as_bytes()))
}

/// A table with one row a point of a sweep.
pub fn sweep(points: &[(String, Vec<Kept>)]) -> String {
    let columns =
        ["runs", "pps", "±", "p50 (ns)", "p99 (ns)", "violating"].map(|head| (head, Align::Right));
    let mut heads = vec![("point", Align::Left)];
    heads.extend(columns);
    heads.push(("digest", Align::Left));
    let mut table = Table::new(&heads);
    for (label, runs) in points {
        let pps = sample(runs);
        let mean = |pick: fn((u64, u64)) -> u64| {
            let values: Vec<f64> = runs
                .iter()
                .filter_map(|r| r.latency)
                .map(|l| pick(l) as f64)
                .collect();
            Sample::of(&values).map_or("-".to_owned(), |s| text::group(s.mean.round() as u64))
        };
        let whole = |v: Option<f64>| v.map_or("-".to_owned(), |v| text::group(v.round() as u64));
        table.row(vec![
            label.clone(),
            runs.len().to_string(),
            whole(pps.map(|s| s.mean)),
            whole(pps.map(|s| s.sd)),
            mean(|l| l.0),
            mean(|l| l.1),
            runs.iter()
                .filter(|r| !r.violations.is_empty())
                .count()
                .to_string(),
            digest(runs)[..8].to_owned(),
        ]);
    }
    table.render("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn violating_seeds_first_then_the_summary() {
        let runs: Vec<Kept> = (0..4)
            .map(|seed| Kept::of(seed, testing::outcome(seed), &Expect::default()))
            .collect();
        let seeds = Seeds {
            name: "two",
            about: "about".into(),
            asked: 0..4,
            runs: &runs,
            misses: &[],
            verbose: false,
        };
        insta::assert_snapshot!(report(
            &seeds,
            &Again::new("two.ron", &[]),
            &Look::default()
        ));
    }

    #[test]
    fn many_violating_seeds_are_counted_not_listed() {
        let runs: Vec<Kept> = (0..60)
            .map(|seed| Kept::of(seed, testing::outcome(seed), &Expect::default()))
            .collect();
        let mut seeds = Seeds {
            name: "two",
            about: "".into(),
            asked: 0..60,
            runs: &runs,
            misses: &[],
            verbose: false,
        };
        let again = Again::new("two.ron", &[]);
        let text = report(&seeds, &again, &Look::default());
        assert_eq!(text.matches("VIOLATION").count(), IN_FULL);
        assert!(text.contains("and 10 more violating seeds"), "{text}");
        seeds.verbose = true;
        assert_eq!(
            report(&seeds, &again, &Look::default())
                .matches("VIOLATION")
                .count(),
            30
        );
    }

    #[test]
    fn sweeps_are_a_table() {
        let runs = |n: u64| {
            (0..n)
                .map(|seed| Kept::of(seed, testing::outcome(seed), &Expect::default()))
                .collect::<Vec<_>>()
        };
        insta::assert_snapshot!(sweep(&[
            ("lockless=v0".into(), runs(3)),
            ("lockless=v5".into(), runs(2))
        ]));
    }
}
