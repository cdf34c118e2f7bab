//! Many runs at once: one world a thread, results in the order of the jobs.
//!
//! A run never looks at another, so the result of a job does not depend on the number of threads;
//! collecting by position makes the whole output independent of it too.

use crate::exit::{Exit, Stop};
use crate::session::{Again, Session};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;
use sim_core::config::Config;
use sim_core::world::{Options, Outcome};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One run to make.
#[derive(Clone)]
pub struct Job {
    /// What to simulate.
    pub config: Arc<Config>,
    /// With which seed.
    pub seed: u64,
    /// How to make this run again, should it crash. Shared: there may be millions of jobs.
    pub again: Arc<Again>,
}

/// Results of a batch.
pub struct Batch<T> {
    /// In the order of the jobs; `None` where a run crashed or the user interrupted before it began.
    pub results: Vec<Option<T>>,
    /// Why some are missing, if some are: what to end the command with once the rest is printed.
    pub unfinished: Option<Stop>,
}

/// Runs all `jobs` on `threads` threads (all cores if `None`) and keeps `keep` of each outcome.
///
/// A run that panics is a bug in the simulator. The others are finished all the same, and of several
/// the first in job order is told, so the outcome does not depend on which thread came first.
pub fn run<T: Send>(
    session: &Session<'_>,
    jobs: &[Job],
    threads: Option<usize>,
    keep: impl Fn(&Job, Outcome) -> T + Sync,
) -> Result<Batch<T>, Stop> {
    let bar = progress(session, jobs.len());
    let (runner, interrupted) = (session.runner, &session.interrupted);
    if jobs.len() > 1 {
        (session.catch_interrupts)(interrupted);
    }
    let one = |job: &Job| -> Option<Result<T, String>> {
        if interrupted.load(Ordering::Relaxed) {
            return None;
        }
        let result = crate::crash::guarded(|| {
            let options = Options {
                seed: job.seed,
                // Nothing that a batch reports names a line; naming them all costs more than a short run.
                names: false,
                ..Options::default()
            };
            keep(job, runner(&job.config, &options))
        });
        bar.inc(1);
        Some(result)
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|e| {
            Stop::new(
                Exit::Internal,
                format!("cannot start threads: {e}; try -j 1"),
            )
        })?;
    let results: Vec<_> = pool.install(|| jobs.par_iter().with_max_len(1).map(one).collect());
    bar.finish_and_clear();
    let mut crash = None;
    let mut done = Vec::with_capacity(results.len());
    for (job, result) in jobs.iter().zip(results) {
        done.push(match result {
            None => None,
            Some(Ok(value)) => Some(value),
            Some(Err(panic)) => {
                crash.get_or_insert_with(|| crate::crash::report(&panic, &job.again.run(job.seed)));
                None
            }
        });
    }
    let finished = done.iter().flatten().count();
    let interrupted = (finished < jobs.len()).then(|| {
        let text = format!("interrupted: {finished} of {} runs finished", jobs.len());
        Stop::new(Exit::Interrupted, text)
    });
    Ok(Batch {
        results: done,
        unfinished: crash.or(interrupted),
    })
}

/// Runs one job in this thread, with a trace if `options` ask for one.
pub fn single(session: &Session<'_>, job: &Job, options: &Options) -> Result<Outcome, Stop> {
    crate::crash::guarded(|| (session.runner)(&job.config, options))
        .map_err(|panic| crate::crash::report(&panic, &job.again.run(job.seed)))
}

fn progress(session: &Session<'_>, jobs: usize) -> ProgressBar {
    if !session.look.progress || jobs < 2 {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(
        "[{elapsed_precise}] {bar:24} {pos}/{len} runs  {per_sec}  eta {eta}",
    );
    let bar = ProgressBar::with_draw_target(Some(jobs as u64), ProgressDrawTarget::stderr());
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
