//! The whole search, phase by phase, and what comes of it.

use super::chance::{Chance, Random};
use super::race::{Race, races};
use super::search::{End, Found, Price, search};
use super::shrink::shrink;
use super::size::{self, Size};
use super::token::Token;
use super::usual::{Deviating, Deviation};
use super::{Job, Stats, Step};
use crate::config::Config;
use crate::engine::StopReason;
use crate::machine::cost::MemoryModel;
use crate::trace::{Mode, Names, Recording};
use crate::violation::{Law, Violation};
use crate::world::{Explore, memory_model};
use std::collections::BTreeSet;

/// How far a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All schedules with so many deviations.
    pub deviations: u32,
    /// PCT schedules.
    pub pct: u64,
    /// All schedules with so many preemptions.
    pub preemptions: u32,
    /// Random walks.
    pub walks: u64,
    /// Runs of all phases together.
    pub runs: u64,
    /// Different states kept in mind.
    pub states: usize,
    /// Seed of the phases by chance.
    pub seed: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            deviations: 2,
            pct: 1000,
            preemptions: 3,
            walks: 300,
            runs: 2_000_000,
            states: 20_000_000,
            seed: 0,
        }
    }
}

/// One part of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// What it did, e.g. `2 deviations`.
    pub name: String,
    /// What it counted.
    pub stats: Stats,
    /// Everything it set out to do was done.
    pub complete: bool,
}

/// A schedule that breaks a law, made small.
#[derive(Clone, Debug)]
pub struct Find {
    /// What it breaks.
    pub violations: Vec<Violation>,
    /// The phase that found it.
    pub phase: String,
    /// Deviations before it was made small.
    pub before: usize,
    /// Name for pasting.
    pub token: Token,
    /// Its size.
    pub size: Option<Size>,
    /// Its steps: accesses to words that more than one context uses, interrupts, devices.
    pub steps: Vec<Step>,
    /// Names of words and functions.
    pub names: Names,
    /// Which pairs of steps decide.
    pub races: Vec<Race>,
}

/// What a search ended with.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// A law is broken.
    Found(Box<Find>),
    /// Different ways in which laws are broken, by fewest deviations ([`Hunt::run_all`]).
    FoundAll(Vec<Find>),
    /// None within the bound.
    Clean,
    /// None before this limit was hit.
    Limit(&'static str),
}

/// A search, as it ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// The phases, in order.
    pub phases: Vec<Phase>,
    /// What it ended with.
    pub verdict: Verdict,
    /// All schedules with so many preemptions were tried, if any number was completed.
    pub preemptions: Option<u32>,
    /// Memory model.
    pub memory: MemoryModel,
    /// Size of what was explored.
    pub size: Option<Size>,
    /// Words that are points.
    pub points: usize,
}

/// What a hunt is told while it goes on: phase and counts. False ends it.
pub type GoOn<'a> = dyn FnMut(&str, &Stats) -> bool + 'a;

/// A search for schedules that break a law.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// What is explored.
    pub config: Config,
    /// Scenario and variant, for tokens.
    pub label: String,
    /// How far.
    pub limits: Limits,
    /// Only these laws count as broken; empty: all.
    pub laws: Vec<Law>,
    /// Threads. Any number gives the same report.
    pub threads: usize,
}

/// Different finds that are told at most.
const MOST_FINDS: usize = 32;
/// Random walks that look for points before the search starts.
const SCOUTS: u64 = 64;

/// Points of `config`: words that more than one context uses and somebody writes, in all of the usual schedule and
/// some random walks together, so that what each of them does with a word in its own run counts.
fn scout(config: &Config, threads: usize) -> Vec<Vec<bool>> {
    let mut points = Vec::new();
    loop {
        let job = Job {
            config,
            points: &points,
            threads,
            laws: &[],
        };
        let seeds: Vec<u64> = (0..SCOUTS).collect();
        let mut runs = job.each(&seeds, |&seed| {
            job.run(&mut Random::new(seed, Chance::Walk))
        });
        runs.push(job.run(&mut Deviating::new(&[])));
        let mut usage = runs.pop().map(|run| run.usage).unwrap_or_default();
        for run in &runs {
            for (all, one) in usage.iter_mut().zip(&run.usage) {
                all.join(one);
            }
        }
        let found: Vec<Vec<bool>> = usage.iter().map(|u| u.points()).collect();
        if found == points {
            return points;
        }
        points = found;
    }
}

fn join(all: &mut [Vec<bool>], more: &[Vec<bool>]) {
    for (all, more) in all.iter_mut().zip(more) {
        for (a, &m) in all.iter_mut().zip(more) {
            *a |= m;
        }
    }
}

/// Three letters for a memory model.
fn model_name(memory: MemoryModel) -> &'static str {
    match memory {
        MemoryModel::Sc => "sc",
        MemoryModel::Tso => "tso",
        MemoryModel::Weak => "weak",
    }
}

fn memory_of(config: &Config) -> MemoryModel {
    config
        .hosts
        .first()
        .map_or(MemoryModel::Sc, |h| memory_model(&h.machine))
}

impl Hunt {
    fn job<'a>(&'a self, config: &'a Config, points: &'a [Vec<bool>]) -> Job<'a> {
        Job {
            config,
            points,
            threads: self.threads,
            laws: &self.laws,
        }
    }

    fn label(&self, config: &Config) -> String {
        let size = size::of(config).map_or_else(|| "-".to_owned(), |s| s.to_string());
        format!("{}/{size}", self.label)
    }

    /// Searches.
    ///
    /// # Panics
    /// As [`world::run`](crate::world::run).
    pub fn run(&self, go_on: &mut GoOn<'_>) -> Report {
        let config = size::prepared(&self.config);
        let first = scout(&config, self.threads);
        let mut points = first.clone();
        loop {
            match self.phases(&config, &points, go_on) {
                Ok((mut report, found)) => {
                    if let Some((found, phase)) = found {
                        let find = self.make_small(&config, &points, &found, phase);
                        report.verdict = Verdict::Found(Box::new(find));
                    }
                    return report;
                }
                Err(more) => {
                    join(&mut points, &more);
                }
            }
        }
    }

    /// Searches for all ways to break a law with few deviations. Two ways are different if they break another law
    /// or if other pairs of accesses decide.
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn run_all(&self, go_on: &mut GoOn<'_>) -> Report {
        let config = size::prepared(&self.config);
        let mut points = scout(&config, self.threads);
        let bound = self.limits.deviations;
        let part = Part::Systematic(Price::Deviation, bound);
        let name = part.name();
        loop {
            let job = self.job(&config, &points);
            let mut stats = Stats::default();
            let mut watch = Watch {
                name: &name,
                go_on,
                left: self.limits.runs,
                states: self.limits.states,
                bound: None,
                all: Some(Vec::new()),
            };
            let end = search(&job, Price::Deviation, bound, &mut stats, &mut watch);
            if let End::Points(more) = end {
                join(&mut points, &more);
                continue;
            }
            let all = watch.all.take().unwrap_or_default();
            let limit = match end {
                End::Limit(limit) => Some(limit),
                _ => None,
            };
            let finds = self.different(&job, all, &name);
            let verdict = match limit {
                _ if !finds.is_empty() => Verdict::FoundAll(finds),
                Some(limit) => Verdict::Limit(limit),
                None => Verdict::Clean,
            };
            return Report {
                phases: vec![Phase {
                    name: name.clone(),
                    stats,
                    complete: limit.is_none(),
                }],
                verdict,
                preemptions: None,
                memory: memory_of(&config),
                size: size::of(&config),
                points: points.iter().flatten().filter(|&&p| p).count(),
            };
        }
    }

    /// Of finds that are alike the first. One with more deviations is not looked at if it has all of one that
    /// was: then it is the same with something added.
    fn different(&self, job: &Job<'_>, all: Vec<Found>, phase: &str) -> Vec<Find> {
        let mut finds: Vec<Find> = Vec::new();
        let mut known = BTreeSet::new();
        for found in all {
            let added = finds.iter().any(|f| {
                let mut mine = found.deviations.iter();
                f.token.deviations.iter().all(|d| mine.any(|m| m == d))
            });
            if added || finds.len() >= MOST_FINDS {
                continue;
            }
            let law = found.violations[0].law;
            let run = job.run_logged(&mut Deviating::new(&found.deviations));
            let races = races(job, &found.deviations, law, &run.log);
            // Of several pairs the last one closes the window; the others only bring it about.
            let pair = races.last().map(|r| {
                let of = |s: &Step| (s.function, s.level, s.kind);
                (
                    run.log[r.first].word,
                    of(&run.log[r.first]),
                    of(&run.log[r.second]),
                )
            });
            if known.insert((law, pair)) {
                let n = found.deviations.len();
                finds.push(self.describe(job, &found.deviations, law, phase.to_owned(), n));
            }
        }
        finds
    }

    /// All phases with these points, or the points there should have been.
    #[allow(clippy::type_complexity, reason = "one use")]
    fn phases(
        &self,
        config: &Config,
        points: &[Vec<bool>],
        go_on: &mut GoOn<'_>,
    ) -> Result<(Report, Option<(Found, String)>), Vec<Vec<bool>>> {
        let limits = self.limits;
        let job = self.job(config, points);
        let mut report = Report {
            phases: Vec::new(),
            verdict: Verdict::Clean,
            preemptions: None,
            memory: memory_of(config),
            size: size::of(config),
            points: points.iter().flatten().filter(|&&p| p).count(),
        };
        let mut all = 0;
        let usual = job.run(&mut Deviating::new(&[]));
        let parts = [
            Part::Systematic(Price::Deviation, limits.deviations.min(1)),
            Part::Pct(limits.pct, usual.steps),
            Part::Systematic(Price::Deviation, limits.deviations),
            Part::Systematic(Price::Preemption, limits.preemptions),
            Part::Walks(limits.walks),
        ];
        for part in parts {
            if part == Part::Systematic(Price::Deviation, 1)
                && limits.deviations < 2
                && !report.phases.is_empty()
            {
                continue;
            }
            let name = part.name();
            let mut stats = Stats::default();
            let mut watch = Watch {
                name: &name,
                go_on,
                left: limits.runs.saturating_sub(all),
                states: limits.states,
                bound: None,
                all: None,
            };
            let end = match part {
                Part::Systematic(price, bound) => {
                    search(&job, price, bound, &mut stats, &mut watch)
                }
                Part::Pct(n, steps) => {
                    let chance = |seed: u64| Chance::Pct {
                        // Shares of 5, 3 and 2 tenths.
                        depth: [2, 2, 2, 2, 2, 3, 3, 3, 4, 4][(seed % 10) as usize],
                        steps,
                    };
                    self.by_chance(&job, n, &chance, &mut stats, &mut watch)
                }
                Part::Walks(n) => {
                    self.by_chance(&job, n, &|_| Chance::Walk, &mut stats, &mut watch)
                }
            };
            if let Part::Systematic(Price::Preemption, _) = part {
                report.preemptions = watch.bound;
            }
            all += stats.runs();
            let complete = matches!(end, End::Complete);
            report.phases.push(Phase {
                name: name.clone(),
                stats,
                complete,
            });
            match end {
                End::Complete => {}
                End::Points(more) => return Err(more),
                End::Found(found) => return Ok((report, Some((found, name)))),
                End::Limit(limit) => {
                    report.verdict = Verdict::Limit(limit);
                    return Ok((report, None));
                }
            }
        }
        Ok((report, None))
    }

    fn by_chance(
        &self,
        job: &Job<'_>,
        runs: u64,
        chance: &(dyn Fn(u64) -> Chance + Sync),
        stats: &mut Stats,
        watch: &mut Watch<'_, '_>,
    ) -> End {
        const BATCH: u64 = 64;
        for first in (0..runs).step_by(BATCH as usize) {
            let seeds: Vec<u64> = (first..runs.min(first + BATCH)).collect();
            let ran = job.each(&seeds, |&n| {
                let mut schedule = Random::new(self.limits.seed.wrapping_add(n), chance(n));
                let run = job.run(&mut schedule);
                (run, schedule.deviations)
            });
            for (run, deviations) in ran {
                stats.ran(&run);
                if !run.complete {
                    return End::Points(run.points);
                }
                if !run.violations.is_empty() {
                    return End::Found(Found {
                        deviations,
                        violations: run.violations,
                    });
                }
                if let Some(StopReason::StepLimit(_)) = run.stop {
                    return End::Limit("a schedule did not end (step_limit)");
                }
            }
            if let Some(limit) = watch.limit(stats) {
                return End::Limit(limit);
            }
        }
        End::Complete
    }

    /// Fewer deviations, then fewer packets and CPUs.
    fn make_small(
        &self,
        config: &Config,
        points: &[Vec<bool>],
        found: &Found,
        phase: String,
    ) -> Find {
        let law = found.violations[0].law;
        let job = self.job(config, points);
        let (mut deviations, _) = shrink(&job, &found.deviations, law);
        let (mut best, mut known) = (config.clone(), points.to_vec());
        // As many deviations may be needed for less; more would not be simpler.
        let bound = deviations.len().min(2) as u32;
        let same = size::of(config).filter(|_| deviations.len() > 1);
        for size in smaller(size::of(config)).into_iter().chain(same) {
            let candidate = size::cut(config, size);
            let mut points = scout(&candidate, self.threads);
            let end = loop {
                let job = self.job(&candidate, &points);
                let mut watch = Watch {
                    name: "fewer packets",
                    go_on: &mut |_, _| true,
                    left: 20_000,
                    states: self.limits.states,
                    bound: None,
                    all: None,
                };
                let mut stats = Stats::default();
                match search(&job, Price::Deviation, bound, &mut stats, &mut watch) {
                    End::Points(more) => join(&mut points, &more),
                    end => break end,
                }
            };
            if let End::Found(less) = end
                && less.violations.iter().any(|v| v.law == law)
            {
                (deviations, best, known) = (less.deviations, candidate, points);
                break;
            }
        }
        let before = found.deviations.len();
        let job = self.job(&best, &known);
        self.describe(&job, &deviations, law, phase, before)
    }

    fn describe(
        &self,
        job: &Job<'_>,
        deviations: &[Deviation],
        law: Law,
        phase: String,
        before: usize,
    ) -> Find {
        let run = job.run_logged(&mut Deviating::new(deviations));
        Find {
            races: races(job, deviations, law, &run.log),
            token: self.token(job, deviations, &run),
            violations: run.violations,
            phase,
            before,
            size: size::of(job.config),
            steps: run.log,
            names: run.names,
        }
    }

    fn token(&self, job: &Job<'_>, deviations: &[Deviation], run: &Explore) -> Token {
        let first = scout(job.config, self.threads);
        let mut extra = Vec::new();
        let mut base = 0;
        for (h, all) in job.points.iter().enumerate() {
            let known = first.get(h);
            for (w, &point) in all.iter().enumerate() {
                if point && known.is_none_or(|k| k.get(w) != Some(&true)) {
                    extra.push(base + w as u32);
                }
            }
            base += all.len() as u32;
        }
        let usual = job.run(&mut Deviating::new(&[]));
        Token {
            label: self.label(job.config),
            memory: model_name(memory_of(job.config)).to_owned(),
            points: extra,
            deviations: deviations.to_vec(),
            scenario: usual.digest.chars().take(6).collect(),
            end: format!("{:04x}", run.words as u16),
        }
    }

    /// Runs the schedule of `token` again.
    ///
    /// # Errors
    /// If it belongs to another configuration, or to another meaning of it.
    pub fn replay(&self, token: &Token, trace: Mode) -> Result<Replay, Refused> {
        let mut config = self.config.clone();
        let size = token
            .label
            .rsplit('/')
            .next()
            .and_then(|s| s.parse::<Size>().ok());
        if let Some(size) = size {
            config = size::cut(&config, size);
        }
        let config = size::prepared(&config);
        let memory = model_name(memory_of(&config));
        if memory != token.memory {
            return Err(Refused::Memory(memory));
        }
        let mut points = scout(&config, self.threads);
        let mut base = 0;
        for host in &mut points {
            for &w in &token.points {
                if let Some(p) = w.checked_sub(base).and_then(|w| host.get_mut(w as usize)) {
                    *p = true;
                }
            }
            base += host.len() as u32;
        }
        let job = self.job(&config, &points);
        let usual = job.run(&mut Deviating::new(&[]));
        if !usual.digest.starts_with(&token.scenario) {
            return Err(Refused::Scenario(usual.digest.chars().take(6).collect()));
        }
        let mut schedule = Deviating::new(&token.deviations);
        let run = job.record(&mut schedule, trace);
        if let Some(d) = schedule.missed() {
            return Err(Refused::Step(d));
        }
        let end = format!("{:04x}", run.words as u16);
        if end != token.end {
            return Err(Refused::End(end));
        }
        Ok(Replay {
            stop: run.stop,
            violations: run.violations,
            steps: run.log,
            names: run.names,
            digest: run.digest,
            recording: run.recording,
            size: size::of(&config),
        })
    }
}

/// A schedule that was run again.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Why it ended.
    pub stop: Option<StopReason>,
    /// Laws broken.
    pub violations: Vec<Violation>,
    /// Its steps.
    pub steps: Vec<Step>,
    /// Names of words and functions.
    pub names: Names,
    /// Digest of its steps.
    pub digest: String,
    /// The trace, if it was on.
    pub recording: Option<Recording>,
    /// Its size.
    pub size: Option<Size>,
}

/// Why a token is not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The configuration has another memory model, this one.
    Memory(&'static str),
    /// The usual schedule has other steps, with this digest: the scenario or a kernel path is not what it was.
    Scenario(String),
    /// This step was not possible.
    Step(Deviation),
    /// It ends in another state, with this digest.
    End(String),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::Memory(here) => write!(
                f,
                "the scenario's memory model is {here}; give `--set machine.memory=..` as when it was found"
            ),
            Refused::Scenario(here) => write!(
                f,
                "the scenario (or what its steps mean) has changed since: its usual schedule has digest {here}; search again with `skbsim explore`"
            ),
            Refused::Step(d) => write!(
                f,
                "at step {} agent {} cannot go: the steps are not those of this scenario",
                d.step, d.agent
            ),
            Refused::End(here) => write!(f, "it ends in another state ({here}) than it did"),
        }
    }
}

/// Sizes below `size`: fewest packets first, then fewest CPUs.
fn smaller(size: Option<Size>) -> Vec<Size> {
    let Some(size) = size else { return Vec::new() };
    let mut all = Vec::new();
    for packets in 1..=size.packets {
        for cpus in 1..=size.cpus {
            let less = Size { cpus, packets };
            if less != size {
                all.push(less);
            }
        }
    }
    // What is fewer in all comes first.
    all.sort_by_key(|s| (u64::from(s.cpus) * s.packets, s.cpus));
    all
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Systematic(Price, u32),
    Pct(u64, u32),
    Walks(u64),
}

impl Part {
    fn name(self) -> String {
        let s = |n: u64| if n == 1 { "" } else { "s" };
        match self {
            Part::Systematic(Price::Deviation, n) => format!("up to {n} deviation{}", s(n.into())),
            Part::Systematic(Price::Preemption, n) => {
                format!("up to {n} preemption{}", s(n.into()))
            }
            Part::Pct(n, _) => format!("PCT, {n} schedules"),
            Part::Walks(n) => format!("random walk, {n} schedules"),
        }
    }
}

/// Limits of a phase, and whoever watches it.
pub(super) struct Watch<'a, 'b> {
    name: &'a str,
    go_on: &'a mut GoOn<'b>,
    left: u64,
    states: usize,
    /// The highest cost all of whose schedules were tried.
    pub bound: Option<u32>,
    /// Where all that is found goes, if the search is to go on after it.
    pub all: Option<Vec<Found>>,
}

impl Watch<'_, '_> {
    /// A limit that was hit.
    pub fn limit(&mut self, stats: &Stats) -> Option<&'static str> {
        if !(self.go_on)(self.name, stats) {
            Some("interrupted")
        } else if stats.runs() >= self.left {
            Some("runs")
        } else if stats.states as usize >= self.states {
            Some("states")
        } else {
            None
        }
    }
}
