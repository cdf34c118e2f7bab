//! Bulking of XDP_REDIRECT (S1): packets a second of the two helpers, before and after, and where the gain comes from.
//!
//! The thread does not say whether retpolines were on. Its rows are judged with them, as a kernel of that year runs
//! on the CPU that is supposed; without them is printed beside.

use super::experiment::{Experiment, View, claim};
use super::metric::Metric;
use super::numbers::{Numbers, Quantity, Setup, Source};
use crate::published::Row;
use crate::report::repro::{Band, Claim, LEGEND, Table, signed, thread_table};
use crate::text::{Align, Table as Columns};

/// The experiment.
pub static EXPERIMENT: Experiment = Experiment {
    name: "xdp-redirect",
    id: "S1",
    about: "S1: bulking of bpf_redirect (2020): xdp_redirect with and without a map, bulk and budget, load",
    scenario: "xdp-redirect",
    head: |machine| {
        format!("xdp-redirect (S1): xdp_redirect, mlx5, one CPU, on {machine}; rates in Mpps")
    },
    source,
    band: |_: &Row| Some(Band::Error(10.0)),
    extra,
    extra_seeds: 1,
    may_fit: &["S1.before.bpf_redirect_map"],
    implied: &[],
    form,
    claims,
    unexplained: &[],
    excused: &[],
    what: "rates",
    first: None,
    // Nanoseconds a packet are the rates once more.
    repeats: Some("ns"),
};

const BEFORE: &str = "v5_5";
const AFTER: &str = "v5_6";
/// Sizes of the bulk queue; the kernel's is 16.
const BULKS: [u32; 4] = [1, 4, 16, 64];
/// NAPI budgets; the kernel's weight is 64.
const BUDGETS: [u32; 6] = [8, 16, 32, 64, 128, 300];
/// Offered loads in Mpps.
const LOADS: [u32; 5] = [1, 2, 4, 6, 8];

fn setup(variant: &str, helper: &str, retpoline: &str) -> Setup {
    Setup::new("xdp-redirect")
        .with("sweep", "[]")
        .with("variant", variant)
        .with("helper", helper)
        .with("retpoline", retpoline)
}

/// The bulked helper with another bulk queue and budget.
fn bulked(bulk: u32, budget: u32) -> Setup {
    let kernel = setup(AFTER, "redirect", "on");
    match (bulk, budget) {
        (16, 64) => kernel,
        _ => kernel.with("bulk", bulk).with("budget", budget),
    }
}

/// Less than the machine can do is offered, and interrupts are not moderated: polls are as short as they get.
fn loaded(variant: &str, mpps: u32) -> Setup {
    setup(variant, "redirect", "on")
        .with("moderation", "Delay(usecs: \"0us\")")
        .with("mpps", format!("\"{mpps}Mpps\""))
}

fn extra() -> Vec<Setup> {
    let states = [BEFORE, AFTER]
        .map(|variant| ["redirect_map", "redirect"].map(|helper| setup(variant, helper, "off")));
    let table = BULKS
        .iter()
        .flat_map(|&bulk| BUDGETS.map(|budget| bulked(bulk, budget)));
    let loads = LOADS
        .iter()
        .flat_map(|&mpps| [loaded(BEFORE, mpps), loaded(AFTER, mpps)]);
    states
        .into_iter()
        .flatten()
        .chain(table)
        .chain(loads)
        .collect()
}

/// Packets a second that left the other device.
fn rate(setup: Setup) -> Quantity {
    setup.metric(Metric::TxRate)
}

fn source(id: &str) -> Source {
    let id = id.strip_prefix("S1.").unwrap_or(id);
    if let Some(level) = id.strip_suffix(".ns") {
        return match source(level) {
            Source::Mean(rate, _) => Source::Inverse(rate, 1e9),
            _ => Source::Nothing,
        };
    }
    let Some((when, helper)) = id.split_once(".bpf_") else {
        return Source::Nothing;
    };
    let of = |variant| rate(setup(variant, helper, "on"));
    match when {
        "before" => Source::Mean(of(BEFORE), 1e-6),
        "after" => Source::Mean(of(AFTER), 1e-6),
        "delta" => Source::Gain(of(AFTER), of(BEFORE)),
        _ => Source::Nothing,
    }
}

fn form(view: &View<'_>) -> String {
    let helpers = ["bpf_redirect_map", "bpf_redirect"];
    let thread = Table {
        head: String::new(),
        columns: ["Before:", "After:", "(gain)"].map(str::to_owned).to_vec(),
        rows: helpers
            .iter()
            .map(|helper| {
                let ids = ["before", "after", "delta"].map(|when| format!("S1.{when}.{helper}"));
                (format!("{helper}:"), ids.to_vec())
            })
            .collect(),
    };
    let mut text = LEGEND.to_owned() + "rates as simulated, nothing is scaled\n\n";
    text += &thread_table(&thread, view.rows);
    text +=
        "\nretpolines (the thread does not say; its rows are judged with them), simulated Mpps\n";
    text += &retpolines(view.numbers);
    text += "\nbpf_redirect after, simulated Mpps by size of the bulk queue and NAPI budget\n";
    text += &bulks(view.numbers);
    text += "\nbpf_redirect by offered load, interrupts not moderated: busy CPU time a packet, simulated\n";
    text + &loads(view.numbers)
}

fn mpps(numbers: &Numbers, setup: Setup) -> String {
    let rate = numbers.mean(&rate(setup));
    rate.map_or("-".to_owned(), |pps| format!("{:.2}", pps / 1e6))
}

fn retpolines(numbers: &Numbers) -> String {
    let mut table = Columns::new(&[
        ("", Align::Left),
        ("retpoline", Align::Left),
        ("Before:", Align::Right),
        ("After:", Align::Right),
    ]);
    for helper in ["redirect_map", "redirect"] {
        for state in ["on", "off"] {
            table.row(vec![
                format!("bpf_{helper}:"),
                state.to_owned(),
                mpps(numbers, setup(BEFORE, helper, state)),
                mpps(numbers, setup(AFTER, helper, state)),
            ]);
        }
    }
    table.render("")
}

fn bulks(numbers: &Numbers) -> String {
    let budgets = BUDGETS.map(|n| n.to_string());
    let mut heads = vec![("bulk \\ budget", Align::Right)];
    heads.extend(budgets.iter().map(|n| (n.as_str(), Align::Right)));
    let mut table = Columns::new(&heads);
    for bulk in BULKS {
        let mut cells = vec![bulk.to_string()];
        cells.extend(BUDGETS.map(|budget| mpps(numbers, bulked(bulk, budget))));
        table.row(cells);
    }
    table.render("")
}

fn loads(numbers: &Numbers) -> String {
    let mut table = Columns::new(&[
        ("offered Mpps", Align::Right),
        ("before ns", Align::Right),
        ("after ns", Align::Right),
        ("saved", Align::Right),
    ]);
    for load in LOADS {
        let [before, after] = [BEFORE, AFTER].map(|variant| busy(numbers, loaded(variant, load)));
        let cell = |ns: Option<f64>| ns.map_or("-".to_owned(), |ns| format!("{ns:.1}"));
        table.row(vec![
            load.to_string(),
            cell(before),
            cell(after),
            cell(before.zip(after).map(|(b, a)| b - a)),
        ]);
    }
    table.render("")
}

fn busy(numbers: &Numbers, setup: Setup) -> Option<f64> {
    numbers.mean(&setup.metric(Metric::BusyNsPerPacket))
}

fn claims(numbers: &Numbers) -> Vec<Claim> {
    let ns = |setup: Setup| numbers.mean(&rate(setup)).map(|pps| 1e9 / pps);
    let of = |variant, helper, state| ns(setup(variant, helper, state));
    let times = |state| {
        let times = of(BEFORE, "redirect", state)? / of(AFTER, "redirect", state)?;
        Some(((1.5..=1.8).contains(&times), format!("{times:.2}")))
    };
    let map = || {
        let gain = of(BEFORE, "redirect_map", "on")? / of(AFTER, "redirect_map", "on")?;
        let gain = 100.0 * (gain - 1.0);
        Some((gain.abs() <= 1.0, format!("{}%", signed(gain))))
    };
    // What is left to gain once there is one doorbell a poll.
    let share = || {
        let (kernel, single) = (ns(bulked(16, 64))?, ns(bulked(1, 64))?);
        let share = 100.0 * (single - kernel) / (of(BEFORE, "redirect", "on")? - kernel);
        Some(((0.0..=25.0).contains(&share), format!("{share:.0}%")))
    };
    let load = || {
        let saved =
            |mpps| Some(busy(numbers, loaded(BEFORE, mpps))? - busy(numbers, loaded(AFTER, mpps))?);
        let full = of(BEFORE, "redirect", "on")? - of(AFTER, "redirect", "on")?;
        let (one, full) = (saved(1)?, full);
        Some((one < full / 4.0, format!("{one:.1} of {full:.1} ns")))
    };
    vec![
        claim(
            "bpf_redirect gains 1.5 to 1.8 times, with retpolines (published 1.68)",
            times("on"),
        ),
        claim("and without", times("off")),
        claim("bpf_redirect_map does not change", map()),
        claim(
            "the bulk queue is at most a quarter of the gain: most is one doorbell a poll",
            share(),
        ),
        claim(
            "at 1 Mpps less than a quarter is saved: polls are short",
            load(),
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
        let slow = setup.get("variant") == Some(BEFORE) && setup.get("helper") == Some("redirect");
        let base: f64 = if slow { 200.0 } else { 1e3 / 8.4 };
        // Bulk 1 costs 12 ns more; on a load of 1 Mpps there is nothing to bulk.
        let bulk = if setup.get("bulk") == Some("1") {
            12.0
        } else {
            0.0
        };
        let busy = if setup.get("mpps") == Some("\"1Mpps\"") {
            200.0
        } else {
            base
        };
        Reading::default()
            .with(Metric::TxRate, 1e9 / (base + bulk))
            .with(Metric::BusyNsPerPacket, busy)
    }

    const FITTED: [&str; 1] = ["S1.before.bpf_redirect_map"];

    /// The experiment on a machine that reproduces what was published.
    pub fn results() -> Results {
        fake::results(&EXPERIMENT, &FITTED, published_runs)
    }

    #[test]
    fn the_published_runs() {
        insta::assert_snapshot!(text(&results()));
    }

    /// Offsets are printed, not simulated.
    #[test]
    fn rows_are_accounted_for() {
        let layout: Vec<String> = crate::published::rows("S1")
            .into_iter()
            .map(|row| row.id)
            .filter(|id| id.starts_with("S1.layout."))
            .collect();
        assert_eq!(layout.len(), 12);
        let layout: Vec<&str> = layout.iter().map(String::as_str).collect();
        fake::nothing_is_forgotten(&EXPERIMENT, &layout);
        fake::reasons_are_about_rows(&EXPERIMENT);
    }

    /// A doorbell that costs nothing leaves nothing to gain.
    #[test]
    fn no_gain_fails() {
        let flat = |_: &Setup, _: u64| {
            Reading::default()
                .with(Metric::TxRate, 8.4e6)
                .with(Metric::BusyNsPerPacket, 119.0)
        };
        let results = fake::results(&EXPERIMENT, &FITTED, flat);
        assert_eq!(results.fitted, 1);
        assert_eq!(results.claims[0].holds, Some(false));
        assert_eq!(results.claims[2].holds, Some(true));
        assert!(!results.holds());
    }
}
