//! `skbsim test`: scenarios with their expectations, saved regressions first.

use crate::args::Test;
use crate::exit::{Exit, Stop};
use crate::expect::{self, Miss};
use crate::library::{Explore, Scenario, Violations};
use crate::report::seeds::{Kept, sample};
use crate::session::{Again, Session, Tone};
use crate::sweep::{Sweep, default_seeds};
use crate::text;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use sim_core::config::Config;
use sim_core::explore::{Limits, Verdict as SearchEnd};
use sim_core::trace::Mode;
use sim_core::violation::Law;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Directories that hold RON files which are no scenarios, or none of the user's.
const SKIPPED: [&str; 5] = ["machines", "layouts", "published", "target", "node_modules"];

/// How one test ended.
struct Verdict {
    name: String,
    /// Why it failed; empty if it passed.
    failures: Vec<String>,
    about: String,
}

/// Runs the command.
pub fn run(session: &mut Session<'_>, args: &Test) -> Result<Exit, Stop> {
    let files = files(&args.paths)?;
    if files.is_empty() {
        return Err(Stop::new(
            Exit::Nothing,
            "nothing to do: no scenario (*.ron with a `hosts` field) found",
        ));
    }
    let mut verdicts = Vec::new();
    let mut worst = Exit::Ok;
    for file in &files {
        match test(session, args, &file.to_string_lossy()) {
            Ok(more) => verdicts.extend(more),
            // One file that crashes the simulator or does not load must not hide the others.
            Err(Stop::Said(exit @ (Exit::Invalid | Exit::Internal), text)) => {
                worst = worst.worst(if exit == Exit::Internal {
                    exit
                } else {
                    Exit::Failed
                });
                let name = file.to_string_lossy().into_owned();
                let failures = vec![text.trim_end().to_owned()];
                let verdict = Verdict {
                    name,
                    failures,
                    about: String::new(),
                };
                print(session, &verdict)?;
                verdicts.push(verdict);
            }
            Err(Stop::Said(Exit::Interrupted, _)) => break,
            Err(other) => return Err(other),
        }
    }
    let failed = verdicts.iter().filter(|v| !v.failures.is_empty()).count();
    writeln!(
        session.out,
        "{} passed, {failed} failed",
        verdicts.len() - failed
    )?;
    if let Some(path) = &args.junit {
        junit(path, &verdicts)?;
    }
    if session.is_interrupted() {
        session.out.flush()?;
        let text = format!(
            "interrupted: {} of {} finished",
            verdicts.len(),
            text::count(files.len(), "file")
        );
        return Err(Stop::new(Exit::Interrupted, text));
    }
    Ok(worst.worst(if failed > 0 { Exit::Failed } else { Exit::Ok }))
}

/// Tests one file: a verdict for each of its points, printed at once.
fn test(session: &mut Session<'_>, args: &Test, file: &str) -> Result<Vec<Verdict>, Stop> {
    let again = Again::new(file, &args.set);
    let scenario = session.load(file, &args.set)?;
    if let Some(explore) = scenario.explore() {
        return explored(session, args, file, &scenario, explore);
    }
    let seeds = args
        .seeds
        .clone()
        .unwrap_or_else(|| default_seeds(&scenario));
    let sweep = Sweep::new(scenario.points(), seeds)?;
    let (runs, unfinished) = sweep.run(session, args.jobs, &again, scenario.expect())?;
    if let Some(stop) = unfinished {
        return Err(stop);
    }
    let mut verdicts = Vec::new();
    for (i, runs) in runs.iter().enumerate() {
        let facts: Vec<expect::Facts> = runs.iter().map(|r| r.facts.clone()).collect();
        let mut misses = expect::violations(scenario.expect(), &facts);
        misses.extend(expect::bounds(scenario.expect(), &facts));
        if let Some(run) = runs.iter().find(|r| r.limit.is_some()) {
            misses.push(Miss {
                text: run.limit.clone().unwrap_or_default(),
                seed: run.seed,
            });
        }
        let label = &sweep.points[i].label;
        let name = if label.is_empty() {
            file.to_owned()
        } else {
            format!("{file} {label}")
        };
        let verdict = Verdict {
            name,
            failures: told(&misses, &sweep.again(i, &again)),
            about: about(runs),
        };
        print(session, &verdict)?;
        verdicts.push(verdict);
    }
    Ok(verdicts)
}

/// Tests a scenario whose schedules are explored: a verdict for each point, and for its repair.
fn explored(
    session: &mut Session<'_>,
    args: &Test,
    file: &str,
    scenario: &Scenario,
    explore: &Explore,
) -> Result<Vec<Verdict>, Stop> {
    let mut verdicts = Vec::new();
    for point in scenario.points() {
        let name = format!("{file} {}", point.label).trim_end().to_owned();
        let again = Again::new(file, &args.set).with(&crate::sweep::chosen(&point.values));
        let (found, about) = search(session, args, scenario, explore, point.config, &[])?;
        let expected = &scenario.expect().violations;
        let failure = match (expected, found) {
            (Violations::Allow, _) => None,
            (Violations::Forbid, Ok(laws)) if laws.is_empty() => None,
            (Violations::Forbid, Ok(laws)) => Some(format!("broken: {}", named(&laws))),
            (Violations::Require(all), Ok(laws)) if all.iter().all(|l| laws.contains(l)) => None,
            (Violations::Require(all), Ok(laws)) => Some(format!(
                "required: {}; broken: {}",
                named(all),
                if laws.is_empty() {
                    "none".to_owned()
                } else {
                    named(&laws)
                }
            )),
            (_, Err(why)) => Some(why),
        };
        let verdict = Verdict {
            name,
            failures: failure
                .map(|f| format!("{f}\n  again: {}", again.explore()))
                .into_iter()
                .collect(),
            about,
        };
        print(session, &verdict)?;
        verdicts.push(verdict);
    }
    if !explore.repair.is_empty() {
        let set: Vec<(String, String)> = args.set.iter().chain(&explore.repair).cloned().collect();
        let repaired = session.load(file, &set)?;
        let search_only = Explore {
            schedule: None,
            ..explore.clone()
        };
        for point in repaired.points() {
            let again = Again::new(file, &set).with(&crate::sweep::chosen(&point.values));
            let (found, about) = search(
                session,
                args,
                &repaired,
                &search_only,
                point.config,
                &Law::ALL,
            )?;
            let failure = match found {
                Ok(laws) if laws.is_empty() => None,
                Ok(laws) => Some(format!("repaired, and still broken: {}", named(&laws))),
                Err(why) => Some(why),
            };
            let verdict = Verdict {
                name: format!("{file} repaired {}", point.label)
                    .trim_end()
                    .to_owned(),
                failures: failure
                    .map(|f| format!("{f}\n  again: {}", again.explore()))
                    .into_iter()
                    .collect(),
                about,
            };
            print(session, &verdict)?;
            verdicts.push(verdict);
        }
    }
    Ok(verdicts)
}

fn named(laws: &[Law]) -> String {
    laws.iter().map(|l| l.name()).collect::<Vec<_>>().join(", ")
}

/// The laws that the given schedule breaks, or else the first that a search finds; and how it went. A schedule
/// that belongs to an older state of the scenario or the code is searched anew.
#[allow(clippy::type_complexity, reason = "one use")]
fn search(
    session: &Session<'_>,
    args: &Test,
    scenario: &Scenario,
    explore: &Explore,
    config: Config,
    laws: &[Law],
) -> Result<(Result<Vec<Law>, String>, String), Stop> {
    let mut about = String::new();
    if let Some(token) = &explore.schedule {
        match crate::schedule::replay(scenario, config.clone(), token, Mode::Off) {
            Ok(replay) => {
                let laws = replay.violations.iter().map(|v| v.law).collect();
                return Ok((Ok(laws), "its schedule".to_owned()));
            }
            Err(Stop::Said(..)) => about = "its schedule is of an older state, ".to_owned(),
            Err(other) => return Err(other),
        }
    }
    let limits = Limits {
        deviations: explore.deviations,
        preemptions: explore.preemptions,
        ..Limits::default()
    };
    let hunt = crate::schedule::hunt(scenario, config, None, limits, laws, args.jobs)?;
    let interrupted = session.interrupted.clone();
    let report = crate::crash::guarded(|| {
        hunt.run(&mut |_, _| !interrupted.load(std::sync::atomic::Ordering::Relaxed))
    })
    .map_err(|panic| crate::crash::report(&panic, "skbsim explore"))?;
    let runs: u64 = report.phases.iter().map(|p| p.stats.runs()).sum();
    about += &format!("{} schedules", text::group(runs));
    Ok(match &report.verdict {
        SearchEnd::Found(find) => {
            let n = find.token.deviations.len();
            about += &format!(", {}", text::count(n, "deviation"));
            (Ok(find.violations.iter().map(|v| v.law).collect()), about)
        }
        SearchEnd::Limit(limit) => (Err(format!("not complete: {limit}")), about),
        SearchEnd::Clean | SearchEnd::FoundAll(_) => {
            let bound = report.preemptions.unwrap_or(0) as usize;
            about += &format!(", complete for {}", text::count(bound, "preemption"));
            (Ok(Vec::new()), about)
        }
    })
}

fn told(misses: &[Miss], again: &Again) -> Vec<String> {
    misses
        .iter()
        .map(|miss| format!("{}\n  replay: {}", miss.text, again.run(miss.seed)))
        .collect()
}

fn about(runs: &[Kept]) -> String {
    let pps = sample(runs).map_or(0, |s| s.mean.round() as u64);
    format!(
        "{}, {} pps",
        text::count(runs.len(), "seed"),
        text::group(pps)
    )
}

fn print(session: &mut Session<'_>, verdict: &Verdict) -> Result<(), Stop> {
    let (word, tone) = if verdict.failures.is_empty() {
        ("PASS", Tone::Good)
    } else {
        ("FAIL", Tone::Bad)
    };
    let word = session.look.paint(tone, word);
    let about = if verdict.about.is_empty() {
        String::new()
    } else {
        format!("  ({})", verdict.about)
    };
    writeln!(session.out, "{word} {}{about}", verdict.name)?;
    for line in verdict.failures.iter().flat_map(|failure| failure.lines()) {
        writeln!(session.out, "  {line}")?;
    }
    // Each verdict is news; a long test must not look dead.
    session.out.flush()?;
    Ok(())
}

fn junit(path: &Path, verdicts: &[Verdict]) -> Result<(), Stop> {
    let mut suite = TestSuite::new("scenarios");
    for v in verdicts {
        let status = if v.failures.is_empty() {
            TestCaseStatus::success()
        } else {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status
                .set_message(v.failures[0].lines().next().unwrap_or_default())
                .set_description(v.failures.join("\n"));
            status
        };
        let mut case = TestCase::new(v.name.as_str(), status);
        case.set_classname("skbsim");
        suite.add_test_case(case);
    }
    let mut report = Report::new("skbsim test");
    report.add_test_suite(suite);
    let failed = |e: String| {
        Stop::new(
            Exit::Internal,
            format!("error: cannot write {}: {e}", path.display()),
        )
    };
    let text = report.to_string().map_err(|e| failed(e.to_string()))?;
    std::fs::write(path, text).map_err(|e| failed(e.to_string()))
}

/// The files to test, regressions first, each once, otherwise in order of path.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Stop> {
    let here = [PathBuf::from(".")];
    let mut found = BTreeSet::new();
    for path in if paths.is_empty() { &here[..] } else { paths } {
        let failed = |e: std::io::Error| {
            Stop::new(
                Exit::Invalid,
                format!(
                    "error: cannot read {}: {e}; name scenario files or directories",
                    path.display()
                ),
            )
        };
        if path.is_dir() {
            walk(path, &mut found).map_err(failed)?;
        } else {
            let beside = path.parent().unwrap_or(Path::new("")).join("regressions");
            if beside.is_dir() && !is_regression(path) {
                walk(&beside, &mut found).map_err(failed)?;
            }
            found.insert(path.clone());
        }
    }
    let (first, rest): (Vec<_>, Vec<_>) = found.into_iter().partition(|path| is_regression(path));
    Ok(first.into_iter().chain(rest).collect())
}

fn is_regression(path: &Path) -> bool {
    path.parent()
        .and_then(Path::file_name)
        .is_some_and(|name| name == "regressions")
}

fn walk(directory: &Path, found: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // `./a.ron` and `a.ron` are one file; the shorter name is the one to print.
        let path = entry.path();
        let path = path
            .strip_prefix(".")
            .map_or(path.clone(), Path::to_path_buf);
        if entry.file_type()?.is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                walk(&path, found)?;
            }
        } else if name.ends_with(".ron")
            && std::fs::read_to_string(&path).is_ok_and(|text| text.contains("hosts"))
        {
            found.insert(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{directory, runner, skbsim, skbsim_with};
    use sim_core::config::Config;
    use sim_core::world::Options;

    fn scenario(expect: &str) -> String {
        format!(
            "(version: 1, name: \"t\", machine: \"kunpeng-920\", hosts: [(name: \"h0\", \
             devices: [(name: \"d0\")], workloads: [Pktgen(dev: \"d0\", mode: QueueXmit, cpus: 2, packets: 4)])], \
             stop: Quiescent(limit: \"1ms\"), expect: ({expect}))"
        )
    }

    /// Regressions come first, every file once, each failure with its replay line.
    #[test]
    fn regressions_first_and_failures_with_a_replay_line() {
        let root = directory("test");
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("below root")).expect("writable");
            std::fs::write(path, text).expect("writable");
        };
        write("a.ron", &scenario("violations: Allow"));
        write("b.ron", &scenario("violations: Forbid"));
        write(
            "sub/regressions/z.ron",
            &scenario("violations: Require([PacketStuck])"),
        );
        write("sub/broken.ron", "(version: 1, hosts: 7)");
        write("machines/m.ron", "(hosts: 1)");
        write("notes.ron", "(nothing: 1)");
        let junit = root.join("out.xml");
        let ran = skbsim(&format!(
            "test {} --seeds 0..4 --junit {}",
            root.display(),
            junit.display()
        ));
        assert_eq!(ran.exit, Exit::Failed);
        let out = ran.out.replace(&root.display().to_string(), "DIR");
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(
            lines[0],
            "PASS DIR/sub/regressions/z.ron  (4 seeds, 4,580,650 pps)"
        );
        assert_eq!(lines[1], "PASS DIR/a.ron  (4 seeds, 4,580,650 pps)");
        assert_eq!(lines[2], "FAIL DIR/b.ron  (4 seeds, 4,580,650 pps)");
        assert_eq!(lines[3], "  PacketStuck in 2 of 4 runs, expected none");
        assert_eq!(lines[4], "    replay: skbsim run DIR/b.ron --seed 1");
        assert_eq!(lines[5], "FAIL DIR/sub/broken.ron");
        assert_eq!(lines.last(), Some(&"2 passed, 2 failed"));
        let xml = std::fs::read_to_string(junit).expect("written");
        assert!(
            xml.contains("tests=\"4\"") && xml.contains("failures=\"2\""),
            "{xml}"
        );
    }

    /// A crash of the simulator is one failure among the others, and decides the exit code.
    #[test]
    fn a_crash_does_not_hide_other_files() {
        let root = directory("crash");
        std::fs::write(
            root.join("a.ron"),
            scenario("violations: Allow").replace("\"t\"", "\"crash\""),
        )
        .expect("writable");
        std::fs::write(root.join("b.ron"), scenario("violations: Allow")).expect("writable");
        let crash = |config: &Config, options: &Options| match config.name.as_str() {
            "crash" => panic!("time runs backwards"),
            _ => runner(config, options),
        };
        let ran = skbsim_with(&format!("test {}", root.display()), &crash, false);
        assert_eq!(ran.exit, Exit::Internal);
        assert!(
            ran.out.contains("replay: skbsim run") && ran.out.ends_with("1 passed, 1 failed\n"),
            "{}",
            ran.out
        );
    }

    #[test]
    fn a_file_brings_its_regressions() {
        let root = directory("beside");
        std::fs::create_dir_all(root.join("regressions")).expect("writable");
        std::fs::write(root.join("a.ron"), scenario("violations: Allow")).expect("writable");
        std::fs::write(
            root.join("regressions/r.ron"),
            scenario("violations: Allow"),
        )
        .expect("writable");
        let ran = skbsim(&format!("test {}/a.ron", root.display()));
        assert!(ran.out.ends_with("2 passed, 0 failed\n"), "{}", ran.out);
        assert!(
            ran.out
                .starts_with(&format!("PASS {}/regressions/r.ron", root.display())),
            "{}",
            ran.out
        );
    }

    #[test]
    fn no_scenario_is_nothing_to_do() {
        assert_eq!(
            skbsim(&format!("test {}", directory("none").display())).exit,
            Exit::Nothing
        );
        assert_eq!(skbsim("test no/such/file.ron").exit, Exit::Failed);
    }
}
