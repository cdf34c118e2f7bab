//! `skbsim explore`: which order of steps breaks a law, and how far there is none.

use crate::args::{Explore, Format};
use crate::exit::{Exit, Stop};
use crate::report::explore as report;
use crate::schedule;
use crate::session::{Again, Session};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sim_core::explore::{Find, Limits, Stats, Verdict};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Runs the command.
pub fn run(session: &mut Session<'_>, args: &Explore) -> Result<Exit, Stop> {
    let scenario = session.load(&args.input.file, &args.input.set)?;
    let mut points = scenario.points();
    if points.len() != 1 {
        return Err(super::run::one_point(
            &points,
            "one configuration is explored",
        ));
    }
    let said = scenario.explore();
    let limits = Limits {
        deviations: args.deviations.or(said.map(|e| e.deviations)).unwrap_or(2),
        pct: args.pct,
        preemptions: args.bound.or(said.map(|e| e.preemptions)).unwrap_or(3),
        walks: args.walks,
        runs: args.runs,
        seed: args.seed,
        ..Limits::default()
    };
    let config = points.remove(0).config;
    let hunt = schedule::hunt(&scenario, config, args.size, limits, &args.laws, args.jobs)?;
    (session.catch_interrupts)(&session.interrupted);
    let interrupted = session.interrupted.clone();
    let bar = progress(session);
    let found = crate::crash::guarded(|| {
        let mut go_on = |phase: &str, stats: &Stats| {
            bar.set_message(format!(
                "{phase}: {} schedules, {} states",
                crate::text::group(stats.runs()),
                crate::text::group(stats.states)
            ));
            bar.tick();
            !interrupted.load(Ordering::Relaxed)
        };
        if args.all {
            hunt.run_all(&mut go_on)
        } else {
            hunt.run(&mut go_on)
        }
    });
    bar.finish_and_clear();
    let again = Again::new(&args.input.file, &args.input.set);
    let ended = found.map_err(|panic| crate::crash::report(&panic, &again.explore()))?;
    let text = match args.format {
        Format::Text => report::text(&hunt, &ended, &again, &session.look, args.verbose),
        Format::Json => report::json(&hunt, &ended, &again),
    };
    write!(session.out, "{text}")?;
    if let (Some(name), Verdict::Found(find)) = (&args.save, &ended.verdict) {
        let path = save(&args.input.file, name, scenario.effective(), find)?;
        writeln!(
            session.out,
            "  saved:  {} (`skbsim test` runs it first)",
            path.display()
        )?;
    }
    Ok(match &ended.verdict {
        Verdict::Found(_) | Verdict::FoundAll(_) => Exit::Violation,
        Verdict::Clean => Exit::Ok,
        Verdict::Limit("interrupted") => Exit::Interrupted,
        Verdict::Limit(_) => Exit::Limit,
    })
}

/// Writes the scenario with the schedule and the law it breaks as regressions/NAME.ron beside it.
fn save(file: &str, name: &str, effective: &str, find: &Find) -> Result<PathBuf, Stop> {
    let fits = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    if name.is_empty() || !fits {
        let text =
            format!("error: `{name}` is no name for a file: use letters, digits, `-` and `_`");
        return Err(Stop::new(Exit::Usage, text));
    }
    let folder = Path::new(file)
        .parent()
        .unwrap_or(Path::new(""))
        .join("regressions");
    let path = folder.join(format!("{name}.ron"));
    let laws: BTreeSet<&str> = find.violations.iter().map(|v| v.law.name()).collect();
    let laws: Vec<&str> = laws.into_iter().collect();
    // What the scenario said of both is replaced.
    let mut text = String::new();
    let mut inside = false;
    for line in effective.lines() {
        inside |= line.starts_with("    explore: (");
        if !inside && !line.starts_with("    expect: (") && line != ")" {
            text += line;
            text.push('\n');
        }
        inside &= line != "    ),";
    }
    text += &format!(
        "    expect: (violations: Require([{}])),\n    explore: (schedule: \"{}\"),\n)\n",
        laws.join(", "),
        find.token
    );
    let failed = |e: std::io::Error| {
        Stop::new(
            Exit::Invalid,
            format!("error: cannot write {}: {e}", path.display()),
        )
    };
    std::fs::create_dir_all(&folder).map_err(failed)?;
    std::fs::write(&path, text).map_err(failed)?;
    Ok(path)
}

fn progress(session: &Session<'_>) -> ProgressBar {
    if !session.look.progress {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
    if let Ok(style) = ProgressStyle::with_template("[{elapsed_precise}] {msg}") {
        bar.set_style(style);
    }
    bar
}
