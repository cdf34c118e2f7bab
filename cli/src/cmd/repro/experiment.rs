//! One experiment as data: rows, where their numbers come from, bounds, claims, and the table's form.
//!
//! A setup is simulated once a seed and shared by all rows that mean it.

use super::metric::Reading;
use super::numbers::{Numbers, Quantity, Setup, Source};
use crate::args::Repro;
use crate::batch::{self, Job};
use crate::exit::{Exit, Stop};
use crate::library::{self, Scenario};
use crate::published::{self, Row, Usage};
use crate::report::repro::{Band, Claim, Judged, Kind, Reason, Results};
use crate::session::{Again, Session};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// A publication whose numbers can be simulated.
pub struct Experiment {
    /// Name on the command line.
    pub name: &'static str,
    /// Id of its rows, `S0` to `S4`.
    pub id: &'static str,
    /// What it is.
    pub about: &'static str,
    /// The scenario whose machines are the publication's.
    pub scenario: &'static str,
    /// Opening line, from the names of those machines.
    pub head: fn(machine: &str) -> String,
    /// How the row with this id is simulated.
    pub source: fn(id: &str) -> Source,
    /// Where the row must be; asked for judged rows only.
    pub band: fn(row: &Row) -> Option<Band>,
    /// Setups besides those of the rows, for tables and claims of our own.
    pub extra: fn() -> Vec<Setup>,
    /// Seeds of an extra setup, at most.
    pub extra_seeds: u64,
    /// Rows that a machine may be fitted to; all others are predictions.
    pub may_fit: &'static [&'static str],
    /// Pairs of rows such that fitting the first fits the second: they are one number printed twice, or fitted together.
    pub implied: &'static [(&'static str, &'static str)],
    /// The table in the publication's own form.
    pub form: fn(&View<'_>) -> String,
    /// Statements about the shape of the results.
    pub claims: fn(&Numbers) -> Vec<Claim>,
    /// Rows with a part that no mechanism explains, and why there is none.
    pub unexplained: &'static [Reason],
    /// Rows whose error may exceed 15 %, and why; the fidelity page says the same.
    pub excused: &'static [Reason],
    /// What its judged rows are called.
    pub what: &'static str,
    /// Whether a row belongs to the first table, where that is summed up apart.
    pub first: Option<fn(&str) -> bool>,
    /// A unit whose rows only repeat others and are left out of the list.
    pub repeats: Option<&'static str>,
}

/// What a table is made of.
pub struct View<'a> {
    /// Published rows with their simulation.
    pub rows: &'a [Judged],
    /// Everything simulated.
    pub numbers: &'a Numbers,
}

impl View<'_> {
    /// The row with this id.
    pub fn row(&self, id: &str) -> Option<&Judged> {
        self.rows.iter().find(|r| r.id == id)
    }
}

/// An experiment that was run, and why runs are missing, if some are.
pub struct Ran {
    pub results: Results,
    pub unfinished: Option<Stop>,
}

impl Experiment {
    fn rows(&self) -> Vec<Row> {
        let mut rows = published::rows(self.id);
        rows.retain(|row| row.usage != Usage::Never);
        rows
    }

    /// Setups of rows, and those that only tables and claims of our own need.
    pub fn setups(&self) -> (BTreeSet<Setup>, BTreeSet<Setup>) {
        let of_rows: BTreeSet<Setup> = self
            .rows()
            .iter()
            .flat_map(|row| setups_of(&(self.source)(&row.id)))
            .collect();
        let extra = (self.extra)()
            .into_iter()
            .filter(|setup| !of_rows.contains(setup))
            .collect();
        (of_rows, extra)
    }

    /// Simulates what it needs and judges it.
    pub fn run(&self, session: &mut Session<'_>, args: &Repro) -> Result<Ran, Stop> {
        let (of_rows, extra) = self.setups();
        let limited = of_rows
            .into_iter()
            .map(|setup| (setup, u64::MAX))
            .chain(extra.into_iter().map(|setup| (setup, self.extra_seeds)));
        let plan = self.plan(session, args.seeds.as_ref(), limited)?;
        let done = batch::run(session, &plan.jobs, args.jobs, |job, outcome| {
            let replay = (!outcome.violations.is_empty()).then(|| job.again.run(job.seed));
            (Reading::of(&outcome.metrics), replay)
        })?;
        let readings: Vec<Option<Reading>> = done
            .results
            .iter()
            .map(|r| r.as_ref().map(|r| r.0))
            .collect();
        let numbers = Numbers::new(&plan.places, &readings);
        let mut fitted = Vec::new();
        for machine in &plan.machines {
            fitted.extend(
                library::fitted_rows(session.registry, machine)
                    .map_err(|text| Stop::new(Exit::Internal, text))?,
            );
        }
        let mut results = self.judge(&numbers, &fitted, &plan.machines.join(" and "));
        results.asked = plan.jobs.len();
        results.finished = readings.iter().flatten().count();
        results.findings = done
            .results
            .into_iter()
            .flatten()
            .filter_map(|(_, replay)| replay)
            .collect();
        Ok(Ran {
            results,
            unfinished: done.unfinished,
        })
    }

    /// Runs to make for these setups, each with this many seeds at most.
    pub fn plan(
        &self,
        session: &mut Session<'_>,
        asked: Option<&Range<u64>>,
        setups: impl IntoIterator<Item = (Setup, u64)>,
    ) -> Result<Plan, Stop> {
        let mut plan = Plan::default();
        for (setup, most) in setups {
            let set: Vec<(String, String)> = setup
                .set
                .iter()
                .map(|(path, value)| ((*path).to_owned(), value.clone()))
                .collect();
            let scenario = load(session, setup.scenario, &set)?;
            let seeds = asked
                .cloned()
                .unwrap_or_else(|| crate::sweep::default_seeds(&scenario));
            let seeds = seeds.start..seeds.end.min(seeds.start.saturating_add(most));
            let mut points = scenario.points();
            assert_eq!(points.len(), 1, "a setup is one point: {setup:?}");
            let config = Arc::new(points.remove(0).config);
            if setup.scenario == self.scenario {
                for host in &config.hosts {
                    if !plan.machines.contains(&host.machine.name) {
                        plan.machines.push(host.machine.name.clone());
                    }
                }
            }
            let again = Arc::new(Again::new(setup.scenario, &set));
            plan.places
                .push((setup, (seeds.end - seeds.start) as usize));
            plan.jobs.extend(seeds.map(|seed| Job {
                config: Arc::clone(&config),
                seed,
                again: Arc::clone(&again),
            }));
        }
        Ok(plan)
    }

    /// Published rows beside what was simulated; `fitted` are ids of rows that machines were fitted to.
    pub fn judge(&self, numbers: &Numbers, fitted: &[String], machine: &str) -> Results {
        let fitted = self.fitted(fitted);
        let rows: Vec<Judged> = self
            .rows()
            .iter()
            .map(|row| self.judged(row, numbers, &fitted))
            .collect();
        let (of_rows, extra) = self.setups();
        let view = View {
            rows: &rows,
            numbers,
        };
        let form = (self.form)(&view);
        let carried: BTreeSet<String> = self
            .rows()
            .into_iter()
            .filter(|row| row.usage == Usage::Judge && (self.source)(&row.id).is_carried())
            .map(|row| row.configuration)
            .collect();
        Results {
            id: self.id,
            head: (self.head)(machine),
            form,
            rows,
            what: self.what,
            first: self.first,
            repeats: self.repeats,
            unexplained: self.unexplained,
            excused: self.excused,
            fitted: fitted.len(),
            carried: carried.len(),
            simulated: of_rows.len() + extra.len(),
            claims: (self.claims)(numbers),
            findings: Vec::new(),
            asked: 0,
            finished: 0,
        }
    }

    /// Quantities that a value of a machine was fitted to, with what follows from them.
    fn fitted(&self, rows: &[String]) -> BTreeSet<Quantity> {
        let prefix = format!("{}.", self.id);
        let mut own: BTreeSet<&str> = rows.iter().map(String::as_str).collect();
        own.retain(|id| id.starts_with(&prefix));
        let implied = self.implied.iter().filter(|(row, _)| own.contains(row));
        let implied: Vec<&str> = implied.map(|(_, implied)| *implied).collect();
        own.extend(implied);
        let quantities = |id: &str| -> Vec<Quantity> {
            let source = (self.source)(id);
            source.quantities().into_iter().cloned().collect()
        };
        own.into_iter().flat_map(quantities).collect()
    }

    fn judged(&self, row: &Row, numbers: &Numbers, fitted: &BTreeSet<Quantity>) -> Judged {
        let source = (self.source)(&row.id);
        let number = numbers.number(&source);
        let kind = if source.level().is_some_and(|q| fitted.contains(q)) {
            Kind::Fitted
        } else if source.is_carried() {
            Kind::Carried
        } else {
            Kind::Predicted
        };
        Judged {
            id: row.id.clone(),
            variant: row.variant.clone(),
            threads: row.threads,
            metric: row.metric.clone(),
            unit: row.unit.clone(),
            published: row.value,
            deviation: row.rel_stddev_pct,
            simulated: number.map(|n| n.0),
            spread: number.and_then(|n| n.1),
            kind,
            via: row.via().map(str::to_owned),
            usage: row.usage,
            band: (row.usage == Usage::Judge)
                .then(|| (self.band)(row))
                .flatten(),
        }
    }
}

fn setups_of(source: &Source) -> Vec<Setup> {
    let quantities = source.quantities();
    quantities.into_iter().map(|q| q.setup.clone()).collect()
}

/// Runs to make: jobs, the setup and number of runs of each in their order, and the machines.
#[derive(Default)]
pub struct Plan {
    /// In the order of `places`.
    pub jobs: Vec<Job>,
    /// Setups with their number of runs.
    pub places: Vec<(Setup, usize)>,
    /// Names of the machines of the experiment's scenario, without repeats.
    pub machines: Vec<String>,
}

/// A built-in scenario with overrides of ours: what is wrong with it is our mistake.
fn load(session: &mut Session<'_>, name: &str, set: &[(String, String)]) -> Result<Scenario, Stop> {
    library::load_builtin(session.registry, name, set)
        .map_err(|rejected| Stop::new(Exit::Internal, format!("internal error: {rejected}")))
}

/// A claim from a judgement and the numbers behind it; `None` if not all it needs was finished.
pub fn claim(text: impl Into<String>, judged: Option<(bool, String)>) -> Claim {
    let (holds, detail) = judged.unzip();
    Claim {
        text: text.into(),
        holds,
        detail: detail.unwrap_or_else(|| "not finished".to_owned()),
    }
}
