//! `packet_direct_xmit` on an LLTX device (S0): `perf stat` of four trafgen processes, with the tx lock and without.
//!
//! Runs are short; counts are scaled to the 100,000,000 packets of the thread. Last-level references and
//! mispredicts of a packet that nobody disturbs have no mechanism here: they are carried over from the run
//! without the lock, and what the lock adds is simulated.

use super::experiment::{Experiment, View, claim};
use super::metric::Metric;
use super::numbers::{Numbers, Quantity, Setup, Source};
use crate::published::{self, Row};
use crate::report::perf::Line;
use crate::report::repro::{Band, Claim, Judged, mark, signed};
use crate::text::{self, Align, Table};

/// The experiment.
pub static EXPERIMENT: Experiment = Experiment {
    name: "lltx",
    id: "S0",
    about: "S0: packet_direct_xmit and LLTX devices (2014): trafgen through TX_RING, perf stat with the tx lock and without",
    scenario: "lltx-direct",
    head: |machine| {
        format!("lltx (S0): trafgen, mmap TX_RING, packet_direct_xmit, dummy (LLTX), on {machine}")
    },
    source,
    band,
    extra: || {
        let places = PLACES.iter().filter(|(label, ..)| *label != "4");
        places
            .flat_map(|&(label, ..)| [setup("v3_14", label), setup("lltx_patch", label)])
            .collect()
    },
    extra_seeds: 2,
    may_fit: &[
        "S0.after.instructions_k",
        "S0.after.cycles_k",
        "S0.after.elapsed",
    ],
    // All CPUs are busy all the time, so elapsed time and cycles are one number twice. The instructions are
    // fitted as well, by the version scale of the kernel's cost table (`cost::VERSION_SCALES`).
    implied: &[
        ("S0.after.cycles_k", "S0.after.elapsed"),
        ("S0.after.elapsed", "S0.after.cycles_k"),
        ("S0.after.elapsed", "S0.after.instructions_k"),
    ],
    form,
    claims,
    unexplained: &[],
    excused: &[
        (
            "S0.before.cache_references_k",
            "about 1.2 references a packet have no mechanism (prefetch of the adjacent line, repeated ownership requests)",
        ),
        (
            "S0.before.branch_misses_k",
            "one mispredict a spin exit is simulated; about 0.33 a packet more have no mechanism",
        ),
    ],
    what: "rows",
    first: None,
    repeats: None,
};

/// Packets of a published run.
const PACKETS: f64 = 1e8;

/// How many processes and where, as overrides of the scenario. Numbered as in this machine's topology:
/// CPUs 0 and 1 are siblings.
const PLACES: [(&str, &str, &str); 5] = [
    ("1", "processes", "1"),
    ("2, siblings", "processes", "2"),
    ("2, two cores", "hosts[0].workloads[0].cpus", "[0, 2]"),
    ("3", "processes", "3"),
    ("4", "processes", "4"),
];

fn setup(variant: &str, place: &str) -> Setup {
    let place = PLACES.iter().find(|(label, ..)| *label == place);
    let &(_, path, value) = place.expect("a place of the list");
    Setup::new("lltx-direct")
        .with("sweep", "[]")
        .with("variant", variant)
        .with(path, value)
}

/// Variant and metric of a row's id.
fn parts(id: &str) -> Option<(&str, &str)> {
    let (when, metric) = id.strip_prefix("S0.")?.split_once('.')?;
    let variant = match when {
        "before" => "v3_14",
        "after" => "lltx_patch",
        _ => return None,
    };
    Some((variant, metric))
}

fn source(id: &str) -> Source {
    let Some((variant, name)) = parts(id) else {
        return Source::Nothing;
    };
    let of = |metric| setup(variant, "4").metric(metric);
    let carried = |metric, row: &str, scale| Source::Carried {
        quantity: of(metric),
        of: setup("lltx_patch", "4").metric(metric),
        base: published(row),
        scale,
    };
    match name {
        "instructions_k" => Source::Mean(of(Metric::Instructions), PACKETS),
        "cycles_k" => Source::Mean(of(Metric::Cycles), PACKETS),
        "elapsed" => Source::Mean(of(Metric::NsPerPacket), PACKETS * 1e-9),
        "branch_misses_k" => carried(Metric::BranchMisses, "S0.after.branch_misses_k", PACKETS),
        "cache_references_k" => carried(
            Metric::CacheReferences,
            "S0.after.cache_references_k",
            PACKETS,
        ),
        "per_packet.instructions_k" => Source::Mean(of(Metric::Instructions), 1.0),
        "per_packet.cycles_k" => Source::Mean(of(Metric::Cycles), 1.0),
        "per_packet.branch_misses_k" => carried(
            Metric::BranchMisses,
            "S0.after.per_packet.branch_misses_k",
            1.0,
        ),
        "per_packet.cache_references_k" => carried(
            Metric::CacheReferences,
            "S0.after.per_packet.cache_references_k",
            1.0,
        ),
        "ns_per_packet" => Source::Mean(of(Metric::NsPerPacket), 1.0),
        "mpps" => Source::Inverse(of(Metric::NsPerPacket), 1e3),
        "ipc_k" => Source::Ratio(of(Metric::Instructions), of(Metric::Cycles), 1.0),
        "kcycles_per_s" => Source::Ratio(of(Metric::Cycles), of(Metric::NsPerPacket), 1.0),
        _ => Source::Nothing,
    }
}

fn published(id: &str) -> f64 {
    let rows = published::rows("S0");
    let row = rows.iter().find(|row| row.id == id);
    row.expect("a row that is carried is published").value
}

/// 15 %; references 30 %; of mispredicts, 0.9 to 1.4 a packet beside those of the run without the lock.
fn band(row: &Row) -> Option<Band> {
    Some(match row.metric.as_str() {
        "cache_references_k" => Band::Error(30.0),
        "branch_misses_k" if row.id.contains("before") => {
            let base = published("S0.after.branch_misses_k");
            Band::Between(base + 0.9 * PACKETS, base + 1.4 * PACKETS)
        }
        _ => Band::Error(15.0),
    })
}

fn form(view: &View<'_>) -> String {
    let mut text = scaling(view.numbers);
    for when in ["before", "after"] {
        text += &format!("\n{}", block(view, when));
    }
    text + "\npublished ( +- of 10 runs ), simulated ( +- over seeds ), error; * fitted, = carried, ! out of its band\n\n"
        + &processes(view.numbers)
}

fn scaling(numbers: &Numbers) -> String {
    let of = |metric| numbers.mean(&setup("v3_14", "4").metric(metric));
    match (of(Metric::Packets), of(Metric::Window)) {
        (Some(packets), Some(window)) => format!(
            "a simulated run: {:.1} ms, {} packets before; counts scaled to {} packets (x {:.0})\n",
            window * 1e3,
            text::group(packets.round() as u64),
            text::group(PACKETS as u64),
            PACKETS / packets
        ),
        _ => String::new(),
    }
}

/// The thread's block, with a column more.
fn block(view: &View<'_>, when: &str) -> String {
    let row = |name: &str| view.row(&format!("S0.{when}.{name}"));
    let variant = row("instructions_k").map_or("", |r| &r.variant);
    let mut text = format!(
        "{variant}\n Performance counter stats for 'trafgen -i foo -o du0 -n100000000' (10 runs; simulated: {} seeds):\n\n\
         {:>18} {:<12}{:>20}\n",
        view.numbers.seeds(),
        "published",
        "",
        "simulated"
    );
    let ipc = row("ipc_k").and_then(|r| r.simulated);
    let events = [
        (
            "instructions_k",
            "instructions:k",
            ipc.map(|ipc| (ipc, "insns per cycle")),
        ),
        ("cycles_k", "cycles:k", None),
        ("branch_misses_k", "branch-misses:k", None),
        ("cache_references_k", "cache-references:k", None),
        ("elapsed", "seconds time elapsed", None),
    ];
    for (metric, name, comment) in events {
        text += &row(metric).map_or_else(String::new, |r| line(r, name, comment, view.numbers));
    }
    text
}

fn line(row: &Judged, name: &str, comment: Option<(f64, &str)>, numbers: &Numbers) -> String {
    let number = |n: f64| match row.unit.as_str() {
        "s" => format!("{n:.9}"),
        _ => text::group(n.round() as u64),
    };
    let root = (numbers.seeds() as f64).sqrt();
    let error = |mean: f64| row.spread.map(|sd| 100.0 * sd / root / mean);
    let simulated = Line {
        value: row.simulated.map_or("-".to_owned(), number),
        name,
        comment,
        deviation: row.simulated.and_then(error),
    };
    let scatter = row.deviation.map(|percent| format!("( +- {percent:.2}% )"));
    let off = row.error_pct().map_or("-".to_owned(), |e| signed(e) + "%");
    let line = format!(
        "{:>18} {:<12}{:<100}{off:>7}{}",
        number(row.published),
        scatter.unwrap_or_default(),
        simulated.render().trim_end(),
        mark(row)
    );
    line.trim_end().to_owned() + "\n"
}

/// Nanoseconds a packet by number of processes.
fn processes(numbers: &Numbers) -> String {
    let mut table = Table::new(&[
        ("processes", Align::Left),
        ("after, ns/packet", Align::Right),
        ("before, ns/packet", Align::Right),
        ("cost of the lock", Align::Right),
    ]);
    for (label, ..) in PLACES {
        let ns = |variant| numbers.mean(&setup(variant, label).metric(Metric::NsPerPacket));
        let cell = |ns: Option<f64>| ns.map_or("-".to_owned(), |ns| format!("{ns:.1}"));
        table.row(vec![
            label.to_owned(),
            cell(ns("lltx_patch")),
            cell(ns("v3_14")),
            cost(numbers, label).map_or("-".to_owned(), |cost| signed(cost) + "%"),
        ]);
    }
    table.render("")
}

/// By how many percent the lock makes a packet dearer.
fn cost(numbers: &Numbers, place: &str) -> Option<f64> {
    let ns = |variant| -> Quantity { setup(variant, place).metric(Metric::NsPerPacket) };
    let source = Source::Gain(ns("v3_14"), ns("lltx_patch"));
    numbers.number(&source).map(|n| n.0)
}

fn claims(numbers: &Numbers) -> Vec<Claim> {
    let within = |place: &str, low: f64, high: f64| {
        let cost = cost(numbers, place)?;
        let detail = format!("{}%", signed(cost));
        Some(((low..=high).contains(&cost), detail))
    };
    let speed_up = cost(numbers, "4").map(|cost| {
        let times = 1.0 + cost / 100.0;
        ((1.65..=2.1).contains(&times), format!("{times:.2}"))
    });
    let monotone = || {
        let costs: Option<Vec<f64>> = ["2, two cores", "3", "4"]
            .iter()
            .map(|place| cost(numbers, place))
            .collect();
        let costs = costs?;
        let told: Vec<String> = costs.iter().map(|c| signed(*c) + "%").collect();
        Some((costs.is_sorted(), told.join(", ")))
    };
    vec![
        claim(
            "four processes: 1.65 to 2.1 times as fast without the lock (published 1.95)",
            speed_up,
        ),
        claim("one process: the lock costs 1 to 5%", within("1", 1.0, 5.0)),
        claim(
            "two siblings of one core: the lock costs under 3%",
            within("2, siblings", f64::NEG_INFINITY, 3.0),
        ),
        claim(
            "the cost grows from two cores over three processes to four",
            monotone(),
        ),
    ]
}

#[cfg(test)]
pub mod tests {
    use super::super::fake;
    use super::super::metric::Reading;
    use super::*;
    use crate::report::repro::{self as report, Results};

    /// Runs that have what was published, and the carried base missing, as it has no mechanism.
    fn published_runs(setup: &Setup, seed: u64) -> Reading {
        let before = setup.get("variant") == Some("v3_14");
        let four = setup.get("processes") == Some("4");
        let (instructions, cycles, ns) = match (before, four) {
            (true, true) => (1_609.759_4, 2_933.193_9, 228.564_0),
            (false, true) => (1_337.887_4, 1_458.532_1, 117.193_7),
            (true, false) => (1350.0, 1500.0, 203.0),
            (false, false) => (1337.0, 1458.0, 199.0),
        };
        let noise = 1.0 + seed as f64 / 1e4;
        let added = |n: f64| if before && four { n } else { 0.0 };
        Reading::default()
            .with(Metric::Packets, 17_500.0)
            .with(Metric::Window, 0.004)
            .with(Metric::Instructions, instructions * noise)
            .with(Metric::Cycles, cycles * noise)
            .with(Metric::NsPerPacket, ns * noise)
            .with(Metric::CacheReferences, added(5.8067))
            .with(Metric::BranchMisses, added(1.3263))
    }

    const FITTED: [&str; 2] = ["S0.after.instructions_k", "S0.after.cycles_k"];

    /// The experiment on a machine that reproduces what was published.
    pub fn results() -> Results {
        fake::results(&EXPERIMENT, &FITTED, published_runs)
    }

    #[test]
    fn the_published_runs() {
        insta::assert_snapshot!(report::text(&results()));
    }

    #[test]
    fn rows_are_accounted_for() {
        let shares = [
            "S0.before.cache_miss_share_of_refs",
            "S0.after.cache_miss_share_of_refs",
        ];
        fake::nothing_is_forgotten(&EXPERIMENT, &shares);
        fake::reasons_are_about_rows(&EXPERIMENT);
    }

    /// What is taken over is no prediction, and no lock without spin exits passes.
    #[test]
    fn a_lock_that_nobody_waits_for_fails() {
        let idle = |setup: &Setup, seed| {
            published_runs(setup, seed)
                .with(Metric::BranchMisses, 0.0)
                .with(Metric::NsPerPacket, 117.0)
        };
        let results = fake::results(&EXPERIMENT, &FITTED, idle);
        assert_eq!((results.fitted, results.carried), (3, 2));
        let out = |id: &str| {
            let row = results.rows.iter().find(|r| r.id == id);
            row.and_then(Judged::holds) == Some(false)
        };
        assert!(out("S0.before.elapsed") && out("S0.before.branch_misses_k"));
        assert!(!out("S0.after.branch_misses_k"));
        assert_eq!(results.claims[0].holds, Some(false));
        assert!(!results.holds());
    }
}
