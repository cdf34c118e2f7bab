//! Offloads of VLAN devices (S2): netperf TCP_STREAM over a VLAN, features stripped in the first pass and kept.
//!
//! Utilisation and service demand as netperf defines them: busy CPU time over all CPUs of a host, and busy
//! microseconds a KB of 1024 bytes.

use super::experiment::{Experiment, View, claim};
use super::metric::Metric;
use super::numbers::{Numbers, Setup, Source};
use crate::published::Row;
use crate::report::netperf;
use crate::report::repro::{Band, Claim, mark, signed};

/// The experiment.
pub static EXPERIMENT: Experiment = Experiment {
    name: "vlan",
    id: "S2",
    about: "S2: offloads lost on VLAN devices (2012): netperf TCP_STREAM over myri10ge, both hosts",
    scenario: "vlan-offload",
    head: |machine| {
        format!(
            "vlan (S2): netperf TCP_STREAM over a VLAN on myri10ge, reorder_hdr off, on {machine}"
        )
    },
    source,
    band,
    extra: || vec![reordered()],
    extra_seeds: u64::MAX,
    may_fit: &[
        "S2.after.service_demand_send",
        "S2.after.service_demand_recv",
    ],
    implied: &[],
    form,
    claims,
    unexplained: &[],
    excused: &[],
    what: "rows",
    first: None,
    repeats: None,
};

/// Logical CPUs of sender and receiver: what utilisation and service demand of the thread say together.
const CPUS: (f64, f64) = (4.0, 2.0);

/// netperf's columns: metric, decimals.
const COLUMNS: [(&str, Metric); 5] = [
    ("throughput", Metric::Throughput),
    ("util_send", Metric::UtilSend),
    ("util_recv", Metric::UtilRecv),
    ("service_demand_send", Metric::DemandSend),
    ("service_demand_recv", Metric::DemandRecv),
];

fn setup(variant: &str, reorder_hdr: &str) -> Setup {
    Setup::new("vlan-offload")
        .with("sweep", "[]")
        .with("variant", variant)
        .with("reorder_hdr", reorder_hdr)
}

/// The unpatched kernel with `reorder_hdr` on: the tag is then inserted by the lower device, whose features nobody
/// strips.
fn reordered() -> Setup {
    setup("v3_7", "on")
}

fn of_variant(when: &str) -> Option<Setup> {
    match when {
        "before" => Some(setup("v3_7", "off")),
        "after" => Some(setup("thread_patch", "off")),
        _ => None,
    }
}

fn source(id: &str) -> Source {
    let id = id.strip_prefix("S2.").unwrap_or(id);
    let (when, number) = match id.strip_prefix("text.") {
        Some(when) => (when, "text"),
        None => id.split_once('.').unwrap_or((id, "")),
    };
    let Some(setup) = of_variant(when) else {
        return Source::Nothing;
    };
    let mean = |metric, scale| Source::Mean(setup.metric(metric), scale);
    match number {
        "throughput" => mean(Metric::Throughput, 1.0),
        "util_send" => mean(Metric::UtilSend, 1.0),
        "util_recv" => mean(Metric::UtilRecv, 1.0),
        "service_demand_send" => mean(Metric::DemandSend, 1.0),
        "service_demand_recv" => mean(Metric::DemandRecv, 1.0),
        "text" => mean(Metric::Throughput, 1e-3),
        "cpus_busy_send" => mean(Metric::UtilSend, CPUS.0 / 100.0),
        "cpus_busy_recv" => mean(Metric::UtilRecv, CPUS.1 / 100.0),
        "us_per_64KB_send" => mean(Metric::DemandSend, 64.0),
        "us_per_64KB_recv" => mean(Metric::DemandRecv, 64.0),
        "us_per_1448B_send" => mean(Metric::DemandSend, 1448.0 / 1024.0),
        "us_per_1448B_recv" => mean(Metric::DemandRecv, 1448.0 / 1024.0),
        _ => Source::Nothing,
    }
}

/// Throughput and utilisation 15 %, but at the wire 0 to 4 % too much; service demand 20 % and 6 %.
fn band(row: &Row) -> Option<Band> {
    let number = row.id.rsplit('.').next().unwrap_or_default();
    Some(match (row.id.as_str(), number) {
        ("S2.after.throughput", _) => Band::Errors(0.0, 4.0),
        (_, "service_demand_send") => Band::Error(20.0),
        (_, "service_demand_recv") => Band::Error(6.0),
        _ => Band::Error(15.0),
    })
}

fn form(view: &View<'_>) -> String {
    let mut text = scaling(view.numbers) + "\n" + netperf::HEAD;
    for when in ["before", "after"] {
        let rows = COLUMNS.map(|(number, _)| view.row(&format!("S2.{when}.{number}")));
        text += &format!("\n{when}:\n");
        text += &line(rows.map(|row| row.map(|r| r.published)), "published");
        text += &line(rows.map(|row| row.and_then(|r| r.simulated)), "simulated");
        let errors = rows.map(|row| {
            let error = row.and_then(|r| Some((r.error_pct()?, mark(r))));
            error.map_or("-".to_owned(), |(e, mark)| format!("{}%{mark}", signed(e)))
        });
        text += &netperf::cells([""; 4], &errors, "error");
    }
    text += "\nbefore, but with reorder_hdr on (not in the thread's table: the features are not stripped, so it must be as after):\n";
    let numbers = COLUMNS.map(|(_, metric)| view.numbers.mean(&reordered().metric(metric)));
    text += &line(numbers, "simulated");
    text + "* fitted, ! out of its band\n"
}

/// One line as netperf prints it, for the thread's sockets and messages.
fn line(numbers: [Option<f64>; 5], whose: &str) -> String {
    netperf::line(["87380", "65536", "65536", "10.00"], numbers, whose)
}

fn scaling(numbers: &Numbers) -> String {
    let of = |metric| of_variant("before").and_then(|s| numbers.mean(&s.metric(metric)));
    of(Metric::Window).map_or_else(String::new, |window| {
        format!(
            "a simulated run: {:.1} ms of a transfer under way; all columns are rates and shares, so that of the thread's \
             10 s only the elapsed time is scaled (x {:.0})\n",
            window * 1e3,
            10.0 / window
        )
    })
}

fn claims(numbers: &Numbers) -> Vec<Claim> {
    let metric = |setup: Setup, metric| numbers.mean(&setup.metric(metric));
    let (before, after) = (setup("v3_7", "off"), setup("thread_patch", "off"));
    let rise = || {
        let demand = |setup: &Setup| metric(setup.clone(), Metric::DemandRecv);
        let rise = 100.0 * (demand(&before)? / demand(&after)? - 1.0);
        Some(((3.0..=11.0).contains(&rise), format!("{}%", signed(rise))))
    };
    let same = || {
        let mut most: f64 = 0.0;
        for (_, m) in COLUMNS {
            let off = 100.0 * (metric(reordered(), m)? / metric(after.clone(), m)? - 1.0);
            most = if off.abs() > most.abs() { off } else { most };
        }
        Some((most.abs() <= 1.0, format!("at most {}%", signed(most))))
    };
    let saturated = || {
        let busy = metric(before.clone(), Metric::UtilSend)? * CPUS.0 / 100.0;
        Some(((0.95..=1.1).contains(&busy), format!("{busy:.2} CPUs")))
    };
    vec![
        claim(
            "before: one CPU of the sender is saturated (published 1.02)",
            saturated(),
        ),
        claim(
            "the receiver pays 3 to 11% more a KB before (published 7.9%)",
            rise(),
        ),
        claim(
            "the unpatched kernel with reorder_hdr on is as the patched one, within 1%",
            same(),
        ),
    ]
}

#[cfg(test)]
pub mod tests {
    use super::super::fake;
    use super::super::metric::Reading;
    use super::*;
    use crate::report::repro::{Results, text};

    fn published_runs(setup: &Setup, seed: u64) -> Reading {
        let stripped =
            setup.get("variant") == Some("v3_7") && setup.get("reorder_hdr") == Some("off");
        let row = if stripped {
            [5660.66, 25.54, 51.41, 1.478, 1.488]
        } else {
            [9081.39, 15.66, 76.42, 0.565, 1.379]
        };
        let reading = Reading::default().with(Metric::Window, 0.04);
        COLUMNS
            .iter()
            .zip(row)
            .fold(reading, |reading, ((_, metric), value)| {
                reading.with(*metric, value * (1.0 + seed as f64 / 1e3))
            })
    }

    const FITTED: [&str; 2] = [
        "S2.after.service_demand_recv",
        "S2.after.service_demand_send",
    ];

    /// The experiment on a machine that reproduces what was published.
    pub fn results() -> Results {
        fake::results(&EXPERIMENT, &FITTED, published_runs)
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

    /// If `reorder_hdr` made no difference, the thread's table would not show what it is about.
    #[test]
    fn stripping_always_fails() {
        let stripped = |_: &Setup, seed| published_runs(&setup("v3_7", "off"), seed);
        let results = fake::results(&EXPERIMENT, &FITTED, stripped);
        assert_eq!(results.fitted, 2);
        let holds: Vec<Option<bool>> = results.claims.iter().map(|c| c.holds).collect();
        assert_eq!(holds, [Some(true), Some(false), Some(true)]);
        assert!(!results.holds());
    }
}
