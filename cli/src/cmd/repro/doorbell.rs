//! `ndo_xmit_flush` in ixgbe (S4): packets a second of one trafgen process, with one call more a packet.
//!
//! Of the two differences that were printed, one is an indirect call with its loads; the other is `mmiowb()`, which
//! on x86 is a compiler barrier. Nothing here can be set to make it cost anything.

use super::experiment::{Experiment, View, claim};
use super::metric::Metric;
use super::numbers::{Numbers, Setup, Source};
use crate::published::Row;
use crate::report::repro::{Band, Claim, mark, signed};
use crate::text::{Align, Table};

/// The experiment.
pub static EXPERIMENT: Experiment = Experiment {
    name: "doorbell",
    id: "S4",
    about: "S4: ndo_xmit_flush (2014): trafgen through TX_RING to ixgbe, one call more a packet",
    scenario: "doorbell-direct",
    head: |machine| {
        format!("doorbell (S4): one trafgen process, TX_RING, qdisc bypassed, ixgbe, on {machine}")
    },
    source,
    band,
    extra: Vec::new,
    extra_seeds: u64::MAX,
    may_fit: &["S4.baseline.pps"],
    implied: &[],
    form,
    claims,
    unexplained: &[
        (
            "S4.mmiowb.ns",
            "mmiowb() is a compiler barrier on x86, so there is no mechanism and no parameter for these 6.77 ns",
        ),
        ("S4.flush.pps", "contains mmiowb()"),
        ("S4.flush.ns", "contains mmiowb()"),
        ("S4.flush.delta_pps", "contains mmiowb()"),
        ("S4.flush.delta_ns", "contains mmiowb()"),
    ],
    excused: &[],
    what: "rows",
    first: None,
    repeats: None,
};

/// Published time a packet without the patch, in nanoseconds.
const BASELINE_NS: f64 = 639.98;
/// What the call may cost, in nanoseconds: some 20 instructions and three dependent loads.
const CALL_NS: (f64, f64) = (3.0, 9.0);

fn setup(kick: &str) -> Setup {
    Setup::new("doorbell-direct")
        .with("sweep", "[]")
        .with("variant", kick)
}

/// The `tx_kick` of a variant's id.
fn kick(variant: &str) -> Option<&'static str> {
    match variant {
        "baseline" => Some("always"),
        "flush" => Some("flush_op"),
        "flush_no_mmiowb" => Some("flush_op_no_mmiowb"),
        _ => None,
    }
}

fn pps(kick: &str) -> Source {
    Source::Mean(setup(kick).metric(Metric::Rate), 1.0)
}

fn ns(kick: &str) -> Source {
    Source::Inverse(setup(kick).metric(Metric::Rate), 1e9)
}

fn source(id: &str) -> Source {
    let id = id.strip_prefix("S4.").unwrap_or(id);
    if id == "mmiowb.ns" {
        return ns("flush_op").minus(ns("flush_op_no_mmiowb"));
    }
    let (variant, number) = id.split_once('.').unwrap_or((id, ""));
    match (kick(variant), number) {
        (Some(kick), "pps") => pps(kick),
        (Some(kick), "ns") => ns(kick),
        (Some(kick), "delta_pps") => pps(kick).minus(pps("always")),
        // As the thread prints it: what the baseline takes less than the patch.
        (Some(kick), "delta_ns") => ns("always").minus(ns(kick)),
        _ => Source::Nothing,
    }
}

/// The call costs 3 to 9 ns; the baseline is fitted and must be there.
fn band(row: &Row) -> Option<Band> {
    Some(match row.id.as_str() {
        "S4.baseline.pps" => Band::Error(1.0),
        _ => Band::Between(
            1e9 / (BASELINE_NS + CALL_NS.1),
            1e9 / (BASELINE_NS + CALL_NS.0),
        ),
    })
}

/// The thread's list: rates, and differences to the baseline.
fn form(view: &View<'_>) -> String {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("published", Align::Right),
        ("simulated", Align::Right),
        ("error", Align::Right),
    ]);
    let variants = [
        ("baseline", "BASELINE (no patch)"),
        ("flush", "ixgbe use of .ndo_xmit_flush"),
        ("flush_no_mmiowb", "the same without mmiowb()"),
    ];
    for (variant, words) in variants {
        if let Some(row) = view.row(&format!("S4.{variant}.pps")) {
            let error = row
                .error_pct()
                .map_or("-".to_owned(), |e| format!("{e:+.2}%"));
            table.row(vec![
                words.to_owned(),
                format!("tx:{:.0} pps", row.published),
                row.simulated
                    .map_or("-".to_owned(), |pps| format!("tx:{pps:.0} pps")),
                format!("{error}{}", mark(row)),
            ]);
        }
        for (number, digits, unit) in [("delta_pps", 0, "pps"), ("delta_ns", 2, "ns")] {
            if let Some(row) = view.row(&format!("S4.{variant}.{number}")) {
                let cell = |n: f64| format!("{n:+.digits$} {unit}");
                table.row(vec![
                    "  to the baseline".to_owned(),
                    cell(row.published),
                    row.simulated.map_or("-".to_owned(), cell),
                    String::new(),
                ]);
            }
        }
    }
    let mut text =
        "rates as simulated, nothing is scaled; * fitted, ! out of its band\n\n".to_owned();
    text += &table.render("");
    text + "the differences are at the edge of noise: no repeats are printed, and with a scatter of 1% a run, as in S0, \
            one difference has a standard deviation of 9 ns\n"
}

fn claims(numbers: &Numbers) -> Vec<Claim> {
    let number = |source: Source| numbers.number(&source).map(|n| n.0);
    let call = number(ns("flush_op_no_mmiowb").minus(ns("always")));
    let barrier = number(source("S4.mmiowb.ns"));
    vec![
        claim(
            "the call costs 3 to 9 ns (published 5.86)",
            call.map(|ns| {
                let inside = (CALL_NS.0..=CALL_NS.1).contains(&ns);
                (inside, format!("{} ns", signed(ns)))
            }),
        ),
        claim(
            "mmiowb() costs nothing (published 6.77 ns: unexplained)",
            barrier.map(|ns| (ns == 0.0, format!("{ns:+.2} ns"))),
        ),
    ]
}

#[cfg(test)]
pub mod tests {
    use super::super::fake;
    use super::super::metric::Reading;
    use super::*;
    use crate::report::repro::{Results, text};

    fn published_runs(setup: &Setup, _: u64) -> Reading {
        let pps = match setup.get("variant") {
            Some("always") => 1_562_539.0,
            _ => 1_548_352.0,
        };
        Reading::default().with(Metric::Rate, pps)
    }

    /// The experiment on a machine that reproduces what was published.
    pub fn results() -> Results {
        fake::results(&EXPERIMENT, &["S4.baseline.pps"], published_runs)
    }

    #[test]
    fn the_published_runs() {
        insta::assert_snapshot!(text(&results()));
    }

    #[test]
    fn rows_are_accounted_for() {
        fake::nothing_is_forgotten(&EXPERIMENT, &[]);
        fake::reasons_are_about_rows(&EXPERIMENT);
    }

    /// A barrier that costs what was printed is refused, and so is a call that costs nothing.
    #[test]
    fn a_price_for_the_barrier_fails() {
        let priced = |setup: &Setup, _: u64| {
            let pps = match setup.get("variant") {
                Some("flush_op") => 1_532_299.0,
                _ => 1_562_539.0,
            };
            Reading::default().with(Metric::Rate, pps)
        };
        let results = fake::results(&EXPERIMENT, &["S4.baseline.pps"], priced);
        let holds: Vec<Option<bool>> = results.claims.iter().map(|c| c.holds).collect();
        assert_eq!(holds, [Some(false), Some(false)]);
        assert!(!results.holds());
    }
}
