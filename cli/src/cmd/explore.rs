//! `skbsim explore`: which order of steps breaks a law, and how far there is none.

use crate::args::{Explore, Format};
use crate::exit::{Exit, Stop};
use crate::report::explore as report;
use crate::session::{Again, Session};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sim_core::explore::{Hunt, Limits, Stats, USUAL_SIZE, Verdict, cut_to, size_of};
use std::io::Write;
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
    let mut config = points.remove(0).config;
    let size = args.size.or_else(|| match size_of(&config) {
        None => Some(USUAL_SIZE),
        Some(_) => None,
    });
    if let Some(size) = size {
        config = cut_to(&config, size);
    }
    if size_of(&config).is_none() {
        let text = "error: a load of this scenario never ends, so its schedules cannot be explored; give it `packets: N`";
        return Err(Stop::new(Exit::Usage, text));
    }
    let hunt = Hunt {
        label: label(scenario.name(), &config),
        config,
        limits: Limits {
            deviations: args.deviations,
            pct: args.pct,
            preemptions: args.bound,
            walks: args.walks,
            runs: args.runs,
            seed: args.seed,
            ..Limits::default()
        },
        threads: args.jobs.unwrap_or_else(cores),
    };
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
    Ok(match &ended.verdict {
        Verdict::Found(_) | Verdict::FoundAll(_) => Exit::Violation,
        Verdict::Clean => Exit::Ok,
        Verdict::Limit("interrupted") => Exit::Interrupted,
        Verdict::Limit(_) => Exit::Limit,
    })
}

/// Scenario and variant, short enough to be pasted.
pub fn label(scenario: &str, config: &sim_core::config::Config) -> String {
    let variant = config
        .hosts
        .first()
        .map_or("-", |h| h.kernel.lockless.name());
    let mut name: String = scenario.chars().take(20).collect();
    name.retain(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    format!("{name}/{variant}")
}

/// Threads that run at once here.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
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
