//! Counters in the layout of `perf stat`.
//!
//! Kernel mode only, hence the `:k` of perf's event modifiers: what a workload does in user mode is
//! counted apart.

use crate::text::{self, Sample};
use sim_core::metrics::{Cpu, Metrics};
use std::fmt::Write;

/// Events of one run, summed over all CPUs, in the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Length of the window in picoseconds.
    pub window: u64,
    /// Packets: of the sending threads if there are any, else of the devices.
    pub packets: u64,
    /// Picoseconds that CPUs were not idle.
    pub busy: u64,
    /// Instructions retired in kernel mode.
    pub instructions: u64,
    /// Cycles in kernel mode; `None` where the machine has no stated clock.
    pub cycles: Option<u64>,
    /// Accesses that missed a core's own caches.
    pub cache_references: u64,
    /// Of those, the ones no other core could serve.
    pub cache_misses: u64,
    /// Lines taken dirty from another core.
    pub hitm: u64,
    /// Moves of named lines between cores.
    pub line_transfers: u64,
    /// Mispredicted branches.
    pub branch_misses: u64,
    /// Task switches.
    pub context_switches: u64,
}

impl Events {
    /// Of these counters.
    pub fn of(metrics: &Metrics) -> Events {
        let sum = |field: fn(&Cpu) -> u64| metrics.cpus.iter().map(field).sum::<u64>();
        let packets = if metrics.flows.is_empty() {
            metrics.devices.iter().map(|d| d.tx_packets).sum()
        } else {
            metrics.flows.iter().map(|f| f.sent).sum()
        };
        Events {
            window: metrics.window,
            packets,
            busy: sum(|c| c.task + c.softirq + c.hardirq),
            instructions: sum(|c| c.instructions),
            cycles: Some(sum(|c| c.cycles)).filter(|&cycles| cycles > 0),
            cache_references: sum(|c| c.llc_references),
            cache_misses: sum(|c| c.llc_misses),
            hitm: sum(|c| c.hitm),
            line_transfers: metrics.lines.iter().map(|l| l.transfers).sum(),
            branch_misses: sum(|c| c.branch_misses),
            context_switches: sum(|c| c.context_switches),
        }
    }
}

/// One line of a `perf stat` block.
pub struct Line<'a> {
    /// The count, as it is to be printed.
    pub value: String,
    /// The event.
    pub name: &'a str,
    /// A number derived from it, and what that is.
    pub comment: Option<(f64, &'a str)>,
    /// Standard error of the mean in percent of it.
    pub deviation: Option<f64>,
}

impl Line<'_> {
    /// The line as perf prints it, with a line end.
    pub fn render(&self) -> String {
        let mut line = format!("{:>20}      {:<24}", self.value, self.name);
        let comment = self.comment.map_or_else(String::new, |(value, what)| {
            format!("# {value:>7.2}  {what}")
        });
        let _ = write!(line, "  {comment:<32}");
        if let Some(deviation) = self.deviation {
            let _ = write!(line, "  ( +-{deviation:>6.2}% )");
        }
        line.truncate(line.trim_end().len());
        line + "\n"
    }
}

/// Standard error of the mean in percent of it, as `perf stat -r` prints; `None` for a single value.
pub fn deviation(sample: &Sample) -> Option<f64> {
    let share = 100.0 * sample.sd / (sample.n as f64).sqrt() / sample.mean;
    (sample.n > 1 && sample.mean != 0.0).then_some(share)
}

/// The block for these runs of one configuration; nothing if nothing was counted.
pub fn block(name: &str, runs: &[Events]) -> String {
    let counted = |e: &Events| e.instructions > 0 || e.cache_references > 0;
    if !runs.iter().any(counted) {
        return String::new();
    }
    let times = if runs.len() > 1 {
        format!(" ({} seeds)", text::group(runs.len() as u64))
    } else {
        String::new()
    };
    let mut out = format!(" Performance counter stats for '{name}'{times}:\n\n");
    out += &events(runs);
    let seconds = sample(runs, |e| Some(e.window as f64 / 1e12));
    if let Some(seconds) = seconds {
        out.push('\n');
        out += &Line {
            value: format!("{:.9}", seconds.mean),
            name: "seconds time elapsed",
            comment: None,
            deviation: deviation(&seconds).filter(|_| seconds.sd > 0.0),
        }
        .render();
    }
    out
}

fn events(runs: &[Events]) -> String {
    let mut out = String::new();
    let packets = sample(runs, |e| Some(e.packets as f64)).map_or(0.0, |s| s.mean);
    let mut line = |name, field: &dyn Fn(&Events) -> Option<u64>, ratio: Ratio<'_>| {
        let Some(of) = sample(runs, |e| field(e).map(|n| n as f64)).filter(|s| s.mean > 0.0) else {
            return;
        };
        // What happens less than once in 200 packets is not worth a number a packet.
        let each = (of.mean >= packets * 0.005 && packets > 0.0)
            .then(|| (of.mean / packets, "per packet"));
        let derived = ratio.and_then(|(whole, scale, what)| {
            let whole = sample(runs, |e| whole(e).map(|n| n as f64))?;
            (whole.mean > 0.0).then(|| (scale * of.mean / whole.mean, what))
        });
        out += &Line {
            value: text::group(of.mean.round() as u64),
            name,
            comment: derived.or(each),
            deviation: deviation(&of),
        }
        .render();
        if let (Some(_), Some(each)) = (derived, each) {
            out += &Line {
                value: String::new(),
                name: "",
                comment: Some(each),
                deviation: None,
            }
            .render();
        }
    };
    line(
        "instructions:k",
        &|e| Some(e.instructions),
        Some((|e| e.cycles, 1.0, "insn per cycle")),
    );
    line("cycles:k", &|e| e.cycles, None);
    line("cache-references:k", &|e| Some(e.cache_references), None);
    line(
        "cache-misses:k",
        &|e| Some(e.cache_misses),
        Some((|e| Some(e.cache_references), 100.0, "% of all cache refs")),
    );
    line("hitm", &|e| Some(e.hitm), None);
    line("line-transfers", &|e| Some(e.line_transfers), None);
    line("branch-misses:k", &|e| Some(e.branch_misses), None);
    line("context-switches:k", &|e| Some(e.context_switches), None);
    out
}

/// What a count is divided by, the scale of the quotient, and its name.
type Ratio<'a> = Option<(fn(&Events) -> Option<u64>, f64, &'a str)>;

/// Over runs; `None` unless every run has the number.
fn sample(runs: &[Events], field: impl Fn(&Events) -> Option<f64>) -> Option<Sample> {
    let values: Option<Vec<f64>> = runs.iter().map(field).collect();
    Sample::of(&values?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(seed: u64) -> Events {
        Events {
            window: 22_856_401_569_000,
            packets: 100_000_000,
            instructions: 160_975_944_159 + seed * 1_000_000_000,
            cycles: Some(293_319_390_278),
            cache_references: 671_552_021,
            cache_misses: 69_382,
            branch_misses: 192_501_104,
            context_switches: 831,
            ..Events::default()
        }
    }

    /// The block of the LLTX thread, from its own counts.
    #[test]
    fn one_run() {
        insta::assert_snapshot!(block("lltx-direct", &[events(0)]));
    }

    /// Over seeds each line has a deviation; a constant one is 0.
    #[test]
    fn over_seeds() {
        insta::assert_snapshot!(block("lltx-direct", &[events(0), events(1), events(2)]));
    }

    /// Without a clock there are no cycles and no IPC; without counts no block.
    #[test]
    fn what_is_not_known_is_not_printed() {
        let mut run = events(0);
        run.cycles = None;
        let text = block("x", &[run]);
        assert!(!text.contains("cycle"), "{text}");
        assert_eq!(block("x", &[Events::default()]), "");
    }
}
