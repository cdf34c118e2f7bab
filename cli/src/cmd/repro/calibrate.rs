//! `skbsim calibrate`: fits the values that a machine profile marks as fitted, to the rows they name.
//!
//! Nothing else moves and nothing else is looked at: the search simulates the setups of these rows only, so a
//! prediction cannot get better by looking at it. A row that is a prediction, or only shown, is refused.
//! The search is Nelder and Mead's: rates have kinks where regimes change, and no derivatives.

use super::experiment::{Experiment, Plan};
use super::metric::Reading;
use super::numbers::{Numbers, Setup, Source};
use crate::args::Calibrate;
use crate::batch::{self, Job};
use crate::exit::{Exit, Stop};
use crate::library::{self, ProfileFile, print_value};
use crate::published::{self, Row, Usage};
use crate::report::repro::signed;
use crate::session::Session;
use crate::text::{self, Align, Table};
use argmin::core::{CostFunction, Error, Executor, State};
use argmin::solver::neldermead::NelderMead;
use sim_core::config::Config;
use sim_core::machine::cost::Param;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;

/// What a line about a residual begins with in a profile.
const MARK: &str = "// Residual of";

/// A value that may move.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Knob {
    machine: String,
    param: Param,
    row: String,
    was: u64,
    range: (u64, u64),
}

impl Knob {
    /// From 0..=1 over the range.
    fn value(&self, at: f64) -> u64 {
        let (low, high) = self.range;
        low + ((high - low) as f64 * at.clamp(0.0, 1.0)).round() as u64
    }

    fn at(&self, value: u64) -> f64 {
        let (low, high) = self.range;
        let width = (high - low).max(1) as f64;
        (value.clamp(low, high) - low) as f64 / width
    }
}

/// Runs the command.
pub fn run(session: &mut Session<'_>, args: &Calibrate) -> Result<Exit, Stop> {
    let experiment = super::find(&args.name)?;
    let machines = machines(session, experiment)?;
    let mut profiles = Vec::new();
    for name in &machines {
        let (file, text) = library::profile(session.registry, name)
            .map_err(|text| Stop::new(Exit::Internal, text))?;
        profiles.push((name.clone(), file, text.to_owned()));
    }
    let knobs = knobs(experiment, &profiles, &args.rows)?;
    let rows = targets(experiment, &knobs)?;
    for (name, ..) in &profiles {
        let path = args.out.join(format!("{name}.ron"));
        if path.exists() && !args.force {
            let text = format!("error: {} is there; --force overwrites it", path.display());
            return Err(Stop::new(Exit::Usage, text));
        }
    }
    let setups: BTreeSet<Setup> = rows
        .iter()
        .flat_map(|(_, source)| source.quantities())
        .map(|q| q.setup.clone())
        .collect();
    let setups = setups.into_iter().map(|setup| (setup, u64::MAX));
    let plan = experiment.plan(session, args.seeds.as_ref(), setups)?;
    if plan.jobs.is_empty() {
        return Err(Stop::new(
            Exit::Nothing,
            "nothing to do: the range of seeds is empty",
        ));
    }
    let fit = Fit {
        session,
        plan: &plan,
        knobs: &knobs,
        rows: &rows,
        threads: args.jobs,
        seen: RefCell::default(),
        stopped: RefCell::default(),
        runs: Cell::new(0),
    };
    let best = fit.search(args.steps)?;
    let numbers = fit.simulate(&best)?;
    let runs = fit.runs.get();
    let residuals = residuals(&rows, &numbers);
    let mut report = format!(
        "calibrate {}: {} against {}, {}\n\n",
        experiment.name,
        text::count(knobs.len(), "value"),
        text::count(rows.len(), "row"),
        text::count(runs, "run"),
    );
    report += &told(&knobs, &best, &residuals);
    for (name, file, old) in &profiles {
        let path = args.out.join(format!("{name}.ron"));
        let moved =
            |(knob, &value): (&Knob, &u64)| (knob.machine == *name).then_some((knob.param, value));
        let moved: Vec<(Param, u64)> = knobs.iter().zip(&best).filter_map(moved).collect();
        let new = rewritten(name, old, file, &moved, &residuals)?;
        let written = std::fs::create_dir_all(&args.out).and_then(|()| std::fs::write(&path, new));
        written.map_err(|e| {
            Stop::new(
                Exit::Invalid,
                format!("error: cannot write {}: {e}", path.display()),
            )
        })?;
        report += &format!("wrote {}\n", path.display());
    }
    write!(session.out, "{report}")?;
    Ok(Exit::Ok)
}

/// The machines of the experiment's own scenario.
fn machines(session: &mut Session<'_>, experiment: &Experiment) -> Result<Vec<String>, Stop> {
    let (mut setups, _) = experiment.setups();
    setups.retain(|setup| setup.scenario == experiment.scenario);
    let one = setups.into_iter().take(1).map(|setup| (setup, 1));
    Ok(experiment.plan(session, None, one)?.machines)
}

/// Values that name a row of this experiment; of these only those that name one of `only`, if there are any.
fn knobs(
    experiment: &Experiment,
    profiles: &[(String, ProfileFile, String)],
    only: &[String],
) -> Result<Vec<Knob>, Stop> {
    let prefix = format!("{}.", experiment.id);
    let mut knobs = Vec::new();
    for (machine, file, _) in profiles {
        for &param in Param::ALL {
            let sourced = file.sourced(param);
            let Some(row) = sourced.fitted.as_ref().filter(|id| id.starts_with(&prefix)) else {
                continue;
            };
            let (least, most) = param.range();
            let wide = (sourced.value / 2, sourced.value.saturating_mul(2));
            let (low, high) = sourced.range.unwrap_or(wide);
            knobs.push(Knob {
                machine: machine.clone(),
                param,
                row: row.clone(),
                was: sourced.value,
                range: (low.max(least), high.min(most)),
            });
        }
    }
    for id in only {
        allowed(experiment, id).map_err(refused)?;
        if !knobs.iter().any(|knob| knob.row == *id) {
            return Err(refused(format!(
                "no value of the profile is marked as fitted to {id}"
            )));
        }
    }
    knobs.retain(|knob| only.is_empty() || only.contains(&knob.row));
    if knobs.is_empty() {
        let text = "nothing to do: no value of the profile is marked as fitted to a row of this experiment";
        return Err(Stop::new(Exit::Nothing, text));
    }
    Ok(knobs)
}

fn refused(why: String) -> Stop {
    Stop::new(Exit::Invalid, format!("error: {why}"))
}

/// Whether a value may be fitted to this row, and the row.
fn allowed(experiment: &Experiment, id: &str) -> Result<Row, String> {
    let rows = published::rows(experiment.id);
    let row = rows.into_iter().find(|row| row.id == id);
    let row = row.ok_or_else(|| format!("{id} is no row of {}", experiment.name))?;
    if row.usage != Usage::Judge {
        let usage = if row.usage == Usage::Show {
            "show"
        } else {
            "never"
        };
        return Err(format!(
            "{id} is marked `{usage}`: nothing may be fitted to it"
        ));
    }
    if !experiment.may_fit.contains(&id) {
        return Err(format!(
            "{id} is predicted: nothing may be fitted to it, only to {}",
            experiment.may_fit.join(", ")
        ));
    }
    Ok(row)
}

/// The rows of the knobs, each once, with how it is simulated.
fn targets(experiment: &Experiment, knobs: &[Knob]) -> Result<Vec<(Row, Source)>, Stop> {
    let ids: BTreeSet<&str> = knobs.iter().map(|knob| knob.row.as_str()).collect();
    let row = |id: &str| allowed(experiment, id).map(|row| (row, (experiment.source)(id)));
    let rows: Result<Vec<(Row, Source)>, String> = ids.into_iter().map(row).collect();
    rows.map_err(refused)
}

/// One search.
struct Fit<'a> {
    session: &'a Session<'a>,
    plan: &'a Plan,
    knobs: &'a [Knob],
    rows: &'a [(Row, Source)],
    threads: Option<usize>,
    /// Costs by values: a small step often rounds to the same ones.
    seen: RefCell<BTreeMap<Vec<u64>, f64>>,
    /// Why the search ended early.
    stopped: RefCell<Option<Stop>>,
    runs: Cell<usize>,
}

impl Fit<'_> {
    /// Values that bring the rows nearest to what was published.
    fn search(&self, steps: u64) -> Result<Vec<u64>, Stop> {
        let start: Vec<f64> = self.knobs.iter().map(|knob| knob.at(knob.was)).collect();
        let corner = |i: usize| {
            let mut corner = start.clone();
            corner[i] += if corner[i] > 0.5 { -0.25 } else { 0.25 };
            corner
        };
        let mut simplex = vec![start.clone()];
        simplex.extend((0..start.len()).map(corner));
        let internal = |e: Error| Stop::new(Exit::Internal, format!("internal error: {e}"));
        let solver = NelderMead::new(simplex)
            .with_sd_tolerance(1e-7)
            .map_err(internal)?;
        let ran = Executor::new(self, solver)
            .configure(|state| state.max_iters(steps))
            .timer(false)
            .run();
        if let Some(stop) = self.stopped.borrow_mut().take() {
            return Err(stop);
        }
        let result = ran.map_err(internal)?;
        let best = result.state().get_best_param().unwrap_or(&start);
        Ok(self.values(best))
    }

    fn values(&self, at: &[f64]) -> Vec<u64> {
        self.knobs
            .iter()
            .zip(at)
            .map(|(knob, &at)| knob.value(at))
            .collect()
    }

    /// Runs all setups with these values in the machines.
    fn simulate(&self, values: &[u64]) -> Result<Numbers, Stop> {
        let jobs: Vec<Job> = self
            .plan
            .jobs
            .iter()
            .map(|job| Job {
                config: Arc::new(self.set(&job.config, values)),
                ..job.clone()
            })
            .collect();
        let done = batch::run(self.session, &jobs, self.threads, |_, outcome| {
            Reading::of(&outcome.metrics)
        })?;
        self.runs.set(self.runs.get() + jobs.len());
        match done.unfinished {
            Some(stop) => Err(stop),
            None => Ok(Numbers::new(&self.plan.places, &done.results)),
        }
    }

    fn set(&self, config: &Config, values: &[u64]) -> Config {
        let mut config = config.clone();
        for host in &mut config.hosts {
            let mut machine = (*host.machine).clone();
            for (knob, &value) in self.knobs.iter().zip(values) {
                if knob.machine == machine.name {
                    machine.values[knob.param as usize] = value;
                }
            }
            host.machine = Arc::new(machine);
        }
        config
    }

    /// Squares of the rows' errors, as logarithms: twice too much is as bad as half.
    fn error(&self, values: Vec<u64>) -> Result<f64, Stop> {
        if let Some(&known) = self.seen.borrow().get(&values) {
            return Ok(known);
        }
        let numbers = self.simulate(&values)?;
        let one = |(row, source): &(Row, Source)| match numbers.number(source) {
            Some((simulated, _)) if simulated > 0.0 => (simulated / row.value).ln().powi(2),
            // Nothing was sent: worse than anything that can be measured.
            _ => 1e3,
        };
        let error = self.rows.iter().map(one).sum();
        self.seen.borrow_mut().insert(values, error);
        Ok(error)
    }
}

impl CostFunction for &Fit<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, at: &Vec<f64>) -> Result<f64, Error> {
        // Outside of the ranges it only gets worse, so that the search comes back.
        let outside: f64 = at.iter().map(|at| (at - at.clamp(0.0, 1.0)).powi(2)).sum();
        self.error(self.values(at))
            .map(|e| e + outside)
            .map_err(|stop| {
                *self.stopped.borrow_mut() = Some(stop);
                Error::msg("stopped")
            })
    }
}

/// Each row's id, published and simulated number, and error in percent.
type Residual = (String, f64, f64, f64);

fn residuals(rows: &[(Row, Source)], numbers: &Numbers) -> Vec<Residual> {
    let one = |(row, source): &(Row, Source)| {
        let simulated = numbers.number(source).map_or(0.0, |n| n.0);
        let error = 100.0 * (simulated / row.value - 1.0);
        (row.id.clone(), row.value, simulated, error)
    };
    rows.iter().map(one).collect()
}

fn told(knobs: &[Knob], best: &[u64], residuals: &[Residual]) -> String {
    let mut values = Table::new(&[
        ("machine", Align::Left),
        ("value", Align::Left),
        ("was", Align::Right),
        ("now", Align::Right),
        ("range", Align::Left),
        ("fitted to", Align::Left),
    ]);
    for (knob, &now) in knobs.iter().zip(best) {
        let print = |value| print_value(knob.param, value);
        let (low, high) = knob.range;
        values.row(vec![
            knob.machine.clone(),
            knob.param.name().to_owned(),
            print(knob.was),
            print(now),
            format!("{} to {}", print(low), print(high)),
            knob.row.clone(),
        ]);
    }
    let mut rows = Table::new(&[
        ("row", Align::Left),
        ("published", Align::Right),
        ("simulated", Align::Right),
        ("residual", Align::Right),
    ]);
    for (id, published, simulated, error) in residuals {
        rows.row(vec![
            id.clone(),
            published.to_string(),
            format!("{simulated:.3}"),
            signed(*error) + "%",
        ]);
    }
    format!("{}\n{}\n", values.render(""), rows.render(""))
}

/// The text of a profile with other values, and the residuals below its opening comment.
fn rewritten(
    name: &str,
    old: &str,
    file: &ProfileFile,
    moved: &[(Param, u64)],
    residuals: &[Residual],
) -> Result<String, Stop> {
    let broken = |what: &str| Stop::new(Exit::Internal, format!("internal error: {name}: {what}"));
    let mut text: String = old
        .lines()
        .filter(|line| !line.starts_with(MARK))
        .map(|line| format!("{line}\n"))
        .collect();
    for &(param, value) in moved {
        let key = format!("\"{}\"", param.name());
        let start = text.find(&key).ok_or_else(|| broken(&key))?;
        let start =
            start + text[start..].find("value:").ok_or_else(|| broken(&key))? + "value:".len();
        let end = start + text[start..].find([',', ')']).ok_or_else(|| broken(&key))?;
        text.replace_range(start..end, &format!(" {}", print_value(param, value)));
    }
    let comments: usize = text
        .lines()
        .take_while(|line| line.starts_with("//"))
        .map(|line| line.len() + 1)
        .sum();
    let lines: String = residuals
        .iter()
        .filter(|(id, ..)| file.fitted_rows().contains(&id.as_str()))
        .map(|(id, published, simulated, error)| {
            format!(
                "{MARK} {id}: {}% (published {published}, simulated {simulated:.3})\n",
                signed(*error)
            )
        })
        .collect();
    text.insert_str(comments, &lines);
    let read = ProfileFile::parse(name, &text).map_err(|e| broken(&e.to_string()))?;
    let set = moved
        .iter()
        .all(|&(param, value)| read.sourced(param).value == value);
    if set {
        Ok(text)
    } else {
        Err(broken("a value is not where it was looked for"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{directory, outcome, skbsim_with};
    use sim_core::config::Workload;
    use sim_core::world::{Options, Outcome};

    /// Four rates, each of which follows one value of the profile; they meet the published rows at 7750, 85 ns and 30 ns.
    fn machine(config: &Config, _: &Options) -> Outcome {
        let host = &config.hosts[0];
        let Workload::Pktgen(pktgen) = &host.workloads[0] else {
            panic!("only the table is simulated: {}", config.name)
        };
        let value = |param: Param| host.machine.values[param as usize] as f64;
        let mpps = match (host.kernel.lockless.name(), pktgen.cpus.len()) {
            ("v0", 1) => 2.6 * value(Param::InsnsPerUs) / 7750.0,
            ("v0", 16) => 2.2 * 85_000.0 / value(Param::TransferSocket),
            ("locked", 4) => 3.0 * (130_000.0 / (100_000.0 + value(Param::SpinWake))),
            ("locked", 2) => 4.8,
            other => panic!("a row that no value names was simulated: {other:?}"),
        };
        let mut outcome = outcome(0);
        outcome.metrics.window = 1_000_000_000_000;
        outcome.metrics.flows.truncate(1);
        outcome.metrics.flows[0].sent = (mpps * 1e6) as u64;
        outcome
    }

    /// The values come out, their residuals are written, and nothing but the named rows is simulated.
    #[test]
    fn values_are_found_again() {
        let out = directory("calibrate");
        let line = format!(
            "calibrate lockless --seeds 0..1 --steps 200 -o {}",
            out.display()
        );
        let ran = skbsim_with(&line, &machine, false);
        assert_eq!(ran.exit, Exit::Ok, "{}", ran.err);
        let text = std::fs::read_to_string(out.join("kunpeng-920.ron")).expect("written");
        let file = ProfileFile::parse("kunpeng-920", &text).expect("a profile");
        let near = |param, wanted: f64| {
            let value = file.sourced(param).value as f64;
            assert!(
                (value / wanted - 1.0).abs() < 0.02,
                "{}\n{}",
                param.name(),
                ran.out
            );
        };
        near(Param::InsnsPerUs, 7750.0);
        near(Param::TransferSocket, 85_000.0);
        near(Param::SpinWake, 30_000.0);
        assert!(
            text.contains("// Residual of S3.table.vanilla.t16: "),
            "{text}"
        );
        let again = skbsim_with(&line, &machine, false);
        assert_eq!(again.exit, Exit::Usage);
        assert!(again.err.contains("--force"), "{}", again.err);
        std::fs::remove_dir_all(out).expect("removed");
    }

    /// Predictions, shown rows and rows that are not there are refused before anything runs.
    #[test]
    fn predictions_are_refused() {
        let never = |_: &Config, _: &Options| -> Outcome { panic!("nothing runs") };
        let refusal = |row: &str| {
            let ran = skbsim_with(&format!("calibrate lockless --row {row}"), &never, false);
            assert_eq!(ran.exit, Exit::Invalid, "{}", ran.err);
            ran.err
        };
        assert!(refusal("S3.table.vanilla.t8").contains("is predicted"));
        assert!(refusal("S3.paolo.vanilla.t1").contains("marked `show`"));
        assert!(refusal("S3.table.vanilla.t3").contains("is no row"));
    }

    /// No profile that ships is fitted to a row that is a prediction.
    #[test]
    fn profiles_are_fitted_to_what_may_be_fitted() {
        let registry = library::Registry::new();
        let experiments = || super::super::EXPERIMENTS.iter();
        for (name, _) in library::machines(&registry) {
            for id in library::fitted_rows(&registry, name).expect("a profile") {
                let own = experiments().find(|e| id.starts_with(&format!("{}.", e.id)));
                let judged = allowed(own.expect("an experiment"), &id);
                assert!(judged.is_ok(), "{name}: {judged:?}");
            }
        }
    }
}
