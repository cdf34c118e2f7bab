//! `skbsim run`: a scenario once in detail, or many times in parallel.

use crate::args::{Format, Run};
use crate::batch::{self, Job};
use crate::exit::{Exit, Stop};
use crate::expect;
use crate::library::{Point, Scenario};
use crate::report::seeds::{Kept, Seeds};
use crate::report::{explore, json, one, seeds};
use crate::session::{Again, Session};
use crate::sweep::{Sweep, chosen, default_seeds};
use sim_core::engine::StopReason;
use sim_core::explore::Token;
use sim_core::trace::{Mode, Recording};
use sim_core::world::{Options, Outcome};
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Runs the command.
pub fn run(session: &mut Session<'_>, args: &Run) -> Result<Exit, Stop> {
    let scenario = session.load(&args.input.file, &args.input.set)?;
    if args.effective {
        write!(session.out, "{}", scenario.effective())?;
        return Ok(Exit::Ok);
    }
    let mut points = scenario.points();
    let alone = points.len() == 1 && args.seeds.is_none();
    if args.schedule.is_some() && !alone {
        return Err(one_point(
            &points,
            "a schedule belongs to one configuration",
        ));
    }
    if points.is_empty() {
        return Err(Stop::new(
            Exit::Nothing,
            "nothing to do: the sweep has no points",
        ));
    }
    if alone {
        return once(session, args, &scenario, points.remove(0));
    }
    if args.trace.is_some() {
        return Err(one_point(&points, "--trace records one run"));
    }
    let seeds = match (&args.seeds, args.seed) {
        (Some(range), _) => range.clone(),
        (None, Some(seed)) => seed..seed.saturating_add(1),
        (None, None) => default_seeds(&scenario),
    };
    many(session, args, &scenario, points, seeds)
}

/// A sweep where one point is needed: says how to choose.
pub fn one_point(points: &[Point], why: &str) -> Stop {
    let set = |(path, value): &(String, String)| {
        format!("--set {}", crate::value::shell(&format!("{path}={value}")))
    };
    let example: Vec<String> = chosen(&points[0].values).iter().map(set).collect();
    let text = format!(
        "error: {why}, but the scenario sweeps {} points; choose one, for example {}",
        points.len(),
        example.join(" ")
    );
    Stop::new(Exit::Usage, text)
}

fn once(
    session: &mut Session<'_>,
    args: &Run,
    scenario: &Scenario,
    point: Point,
) -> Result<Exit, Stop> {
    if let Some(token) = &args.schedule {
        return scheduled(session, args, scenario, point, token);
    }
    let seed = args.seed.unwrap_or(0);
    // A sweep of one point is like none: the file alone leads back here.
    let again = Again::new(&args.input.file, &args.input.set);
    let trace = if args.trace.is_some() {
        Mode::All { bytes: args.memory }
    } else {
        Mode::Off
    };
    let job = Job {
        config: Arc::new(point.config),
        seed,
        again: Arc::new(again.clone()),
    };
    let mut outcome = batch::single(
        session,
        &job,
        &Options {
            seed,
            trace,
            ..Options::default()
        },
    )?;
    let recording = outcome.recording.take();
    let wrote = match (&args.trace, recording) {
        (Some(path), Some(recording)) => {
            let bytes = save(
                path,
                Recording {
                    command: again.run(seed),
                    ..recording
                },
            )?;
            Some((path.display().to_string(), bytes))
        }
        _ => None,
    };
    let misses = misses_of(scenario, seed, &outcome);
    let text = match args.format {
        Format::Json => json::one(&job.config, seed, &outcome, &misses, &again),
        Format::Text => {
            let run = one::One {
                config: &job.config,
                seed,
                outcome: &outcome,
                misses: &misses,
                bounds: scenario.expect().metrics.len(),
                wrote,
                verbose: args.verbose,
            };
            one::report(&run, &again, &session.look)
        }
    };
    write!(session.out, "{text}")?;
    Ok(exit_of(
        !outcome.violations.is_empty(),
        !misses.is_empty(),
        limited(&outcome.stop),
    ))
}

/// Runs a schedule that `skbsim explore` found.
fn scheduled(
    session: &mut Session<'_>,
    args: &Run,
    scenario: &Scenario,
    point: Point,
    token: &Token,
) -> Result<Exit, Stop> {
    let mode = if args.trace.is_some() {
        Mode::All { bytes: args.memory }
    } else {
        Mode::Off
    };
    let again = Again::new(&args.input.file, &args.input.set);
    let mut replay = crate::schedule::replay(scenario, point.config, token, mode)?;
    let recording = replay.recording.take();
    let text = match args.format {
        Format::Text => explore::replayed(&replay, token, &again, &session.look, args.verbose),
        Format::Json => explore::replayed_json(&replay, token, &again),
    };
    write!(session.out, "{text}")?;
    if let (Some(path), Some(recording)) = (&args.trace, recording) {
        let command = again.run_schedule(&token.to_string());
        let bytes = save(
            path,
            Recording {
                command,
                ..recording
            },
        )?;
        let size = bytes as f64 / f64::from(1 << 20);
        writeln!(session.out, "wrote {} ({size:.1} MiB)", path.display())?;
    }
    Ok(if replay.violations.is_empty() {
        Exit::Ok
    } else {
        Exit::Violation
    })
}

fn limited(stop: &StopReason) -> bool {
    matches!(stop, StopReason::StepLimit(_) | StopReason::TraceFull)
}

fn exit_of(violated: bool, missed: bool, limited: bool) -> Exit {
    let either = |bad: bool, exit: Exit| if bad { exit } else { Exit::Ok };
    either(violated, Exit::Violation)
        .worst(either(missed, Exit::Failed))
        .worst(either(limited, Exit::Limit))
}

/// Bounds of the scenario that this one run does not meet.
fn misses_of(scenario: &Scenario, seed: u64, outcome: &Outcome) -> Vec<String> {
    let facts = expect::Facts::of(seed, scenario.expect(), outcome);
    expect::bounds(scenario.expect(), &[facts])
        .into_iter()
        .map(|miss| miss.text)
        .collect()
}

/// Writes a recording, and an end mark only once all of it is there: a full disk leaves a file that
/// readers refuse.
pub fn save(path: &Path, recording: Recording) -> Result<u64, Stop> {
    let failed = |e: std::io::Error| {
        Stop::new(
            Exit::Recording,
            format!("error: cannot write {}: {e}", path.display()),
        )
    };
    crate::recording::check(&recording).map_err(|what| {
        Stop::new(
            Exit::Internal,
            format!("internal error: the simulator's trace breaks its rules: {what}"),
        )
    })?;
    let file = std::fs::File::create(path).map_err(failed)?;
    let mut out = std::io::BufWriter::new(file);
    let bytes = crate::recording::write(&mut out, &recording).map_err(failed)?;
    out.flush().map_err(failed)?;
    Ok(bytes)
}

fn many(
    session: &mut Session<'_>,
    args: &Run,
    scenario: &Scenario,
    points: Vec<Point>,
    seeds: Range<u64>,
) -> Result<Exit, Stop> {
    let again = Again::new(&args.input.file, &args.input.set);
    let sweep = Sweep::new(points, seeds)?;
    let (runs, unfinished) = sweep.run(session, args.jobs, &again, scenario.expect())?;
    let misses: Vec<Vec<String>> = runs
        .iter()
        .map(|runs| misses_over(scenario, runs))
        .collect();
    let text = match args.format {
        Format::Json => {
            let point = |i: usize| {
                json::Point::of(
                    &sweep.points[i].label,
                    &runs[i],
                    &misses[i],
                    &sweep.again(i, &again),
                )
            };
            json::many(
                scenario.name(),
                sweep.asked(),
                (0..runs.len()).map(point).collect(),
            )
        }
        Format::Text => text(session, args, scenario, &sweep, &runs, &misses),
    };
    write!(session.out, "{text}")?;
    let all = || runs.iter().flatten();
    if let Some(stop) = unfinished {
        return Err(stop);
    }
    let violated = all().any(|r| !r.violations.is_empty());
    Ok(exit_of(
        violated,
        misses.iter().any(|m| !m.is_empty()),
        all().any(|r| r.limit.is_some()),
    ))
}

fn misses_over(scenario: &Scenario, runs: &[Kept]) -> Vec<String> {
    let facts: Vec<expect::Facts> = runs.iter().map(|r| r.facts.clone()).collect();
    expect::bounds(scenario.expect(), &facts)
        .into_iter()
        .map(|miss| miss.text)
        .collect()
}

fn text(
    session: &Session<'_>,
    args: &Run,
    scenario: &Scenario,
    sweep: &Sweep,
    runs: &[Vec<Kept>],
    misses: &[Vec<String>],
) -> String {
    let again = Again::new(&args.input.file, &args.input.set);
    if let [runs] = runs {
        let seeds = Seeds {
            name: scenario.name(),
            about: one::describe(&sweep.points[0].config),
            asked: sweep.seeds.clone(),
            runs,
            misses: &misses[0],
            verbose: args.verbose,
        };
        return seeds::report(&seeds, &again, &session.look);
    }
    let labels = sweep.points.iter().map(|p| p.label.clone());
    let rows: Vec<(String, Vec<Kept>)> = labels.zip(runs.iter().cloned()).collect();
    let (a, b) = (sweep.seeds.start, sweep.seeds.end);
    let mut text = format!(
        "scenario  {}   {} points   seeds {a}..{b}\n\n",
        scenario.name(),
        rows.len()
    );
    text += &seeds::sweep(&rows);
    for (i, missed) in misses.iter().enumerate() {
        text.extend(
            missed
                .iter()
                .map(|miss| format!("NOT MET {}: {miss}\n", rows[i].0)),
        );
    }
    let bad = runs
        .iter()
        .position(|runs| runs.iter().any(|r| !r.violations.is_empty()));
    let (i, what) = bad.map_or((0, "one cell:"), |i| (i, "first violation:"));
    let run = runs[i]
        .iter()
        .find(|r| !r.violations.is_empty())
        .or(runs[i].first());
    text + &format!(
        "replay {what} {}\n",
        sweep.again(i, &again).run(run.map_or(a, |r| r.seed))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{directory, skbsim, skbsim_with};
    use sim_core::config::Config;

    /// The same bytes whatever the number of threads: text, JSON, and sweeps.
    #[test]
    fn threads_do_not_change_a_byte() {
        for line in [
            "run lockless-stuck --seeds 0..97",
            "run lockless-stuck --seeds 0..97 --format json",
            "run lockless-table",
        ] {
            let one = skbsim(&format!("{line} -j 1"));
            for threads in [2, 3, 8] {
                let many = skbsim(&format!("{line} -j {threads}"));
                assert_eq!(many.out, one.out, "{line} -j {threads}");
                assert_eq!(many.exit, Exit::Violation);
            }
        }
    }

    #[test]
    fn a_finding_decides_the_exit_code() {
        assert_eq!(skbsim("run lockless-stuck --seed 1").exit, Exit::Violation);
        assert_eq!(skbsim("run lockless-stuck --seed 2").exit, Exit::Ok);
        assert_eq!(exit_of(true, true, true), Exit::Violation);
        assert_eq!(exit_of(false, true, true), Exit::Failed);
        assert_eq!(exit_of(false, false, true), Exit::Limit);
    }

    /// A bound that one run misses fails that run, whatever the scenario says about violations.
    #[test]
    fn a_missed_bound_fails() {
        let bound = "--set expect=(metrics:[(metric:\"pps\",max:5)])";
        let ran = skbsim(&format!("run lockless-stuck --seed 2 {bound}"));
        assert_eq!(ran.exit, Exit::Failed);
        assert!(
            ran.out
                .contains("NOT MET pps is 4580700, expected at most 5"),
            "{}",
            ran.out
        );
    }

    #[test]
    fn an_empty_range_is_nothing_to_do() {
        let ran = skbsim("run lockless-stuck --seeds 5..5");
        assert_eq!(ran.exit, Exit::Nothing);
        assert!(ran.err.contains("half-open"), "{}", ran.err);
    }

    #[test]
    fn unknown_scenarios_get_the_nearest_name() {
        let ran = skbsim("run lockless-stick");
        assert_eq!((ran.exit, ran.out.as_str()), (Exit::Invalid, ""));
        assert!(
            ran.err.contains("did you mean `lockless-stuck`?"),
            "{}",
            ran.err
        );
    }

    #[test]
    fn invalid_overrides_are_told_with_their_place() {
        let ran = skbsim("run lockless-stuck --set kernel.lockless=v9");
        assert_eq!(ran.exit, Exit::Invalid);
        assert!(ran.err.contains("v9"), "{}", ran.err);
    }

    /// A crash of the simulator is told once, with the command that repeats it; the first seed in
    /// order, whichever thread was first.
    #[test]
    fn a_crash_names_the_seed() {
        let crash = |config: &Config, options: &Options| match options.seed {
            30 | 40 => panic!("time runs backwards"),
            _ => crate::testing::runner(config, options),
        };
        let ran = skbsim_with(
            "run lockless-stuck --seeds 0..64 -j 4 --set variant=v5",
            &crash,
            false,
        );
        assert_eq!(ran.exit, Exit::Internal);
        assert!(ran.out.contains("seeds run 62"), "{}", ran.out);
        assert!(
            ran.err
                .contains("replay: skbsim run lockless-stuck --seed 30 --set variant=v5"),
            "{}",
            ran.err
        );
    }

    #[test]
    fn an_interrupted_batch_says_how_far_it_came() {
        let ran = skbsim_with(
            "run lockless-stuck --seeds 0..64",
            &crate::testing::runner,
            true,
        );
        assert_eq!(ran.exit, Exit::Interrupted);
        assert_eq!(ran.err, "interrupted: 0 of 64 runs finished\n");
        assert!(ran.out.contains("seeds run 0"), "{}", ran.out);
    }

    /// The replay line of a sweep's cell leads to that cell and nothing else.
    #[test]
    fn a_cell_of_a_sweep_can_be_replayed() {
        let sweep = skbsim("run lockless-table --seeds 1..2");
        let line = sweep
            .out
            .lines()
            .last()
            .and_then(|l| l.split_once("skbsim "))
            .expect("a replay line")
            .1;
        let cell = skbsim(&line.replace('\'', ""));
        assert!(
            cell.out.contains("lockless v0   16 CPUs") && cell.out.contains("seed 1\n"),
            "{line}\n{}",
            cell.out
        );
    }

    #[test]
    fn a_trace_of_a_sweep_is_refused_with_a_choice() {
        let ran = skbsim("run lockless-table --trace t");
        assert_eq!(ran.exit, Exit::Usage);
        assert!(
            ran.err
                .contains("--set 'sweep=[]' --set threads=1 --set variant=v0"),
            "{}",
            ran.err
        );
    }

    #[test]
    fn a_recording_can_be_viewed_and_a_damaged_one_not() {
        let path = directory("trace").join("t.skbtrace");
        let shown = path.display();
        let ran = skbsim(&format!("run lockless-stuck --seed 2 --trace {shown}"));
        assert!(ran.out.contains("wrote"), "{}", ran.out);
        let view = skbsim(&format!("view {shown}"));
        assert_eq!(
            (view.exit, view.out.lines().count()),
            (Exit::Ok, 40),
            "{}",
            view.err
        );
        let mut bytes = std::fs::read(&path).expect("written");
        bytes[900] ^= 1;
        std::fs::write(&path, bytes).expect("writable");
        assert_eq!(skbsim(&format!("view {shown}")).exit, Exit::Recording);
    }

    /// Printed, not run: a simulator that panics is not asked.
    #[test]
    fn the_effective_scenario_is_only_printed() {
        let line = "run lockless-stuck --effective --set variant=v5";
        let ran = skbsim_with(line, &|_, _| panic!("not asked"), false);
        assert_eq!(ran.exit, Exit::Ok);
        assert!(
            ran.out.contains("lockless: v5") && ran.out.contains("clone_skb: 0"),
            "{}",
            ran.out
        );
    }
}
