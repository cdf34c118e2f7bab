//! The lockless-qdisc experiment (S3): which simulation stands for which published row.
//!
//! A setup is simulated once a seed and shared by all rows that mean it: the thread prints vanilla
//! twice, and its first patch set is the patch of its first table.

use super::claims;
use super::experiment::{Experiment, View};
use super::metric::Metric;
use super::numbers::{Numbers, Quantity, Setup, Source};
use crate::published::Row;
use crate::report::repro::{Band, Claim, LEGEND, Table, thread_table};

/// The experiment.
pub static EXPERIMENT: Experiment = Experiment {
    name: "lockless",
    id: "S3",
    about: "S3: packet stuck in lockless qdiscs (2021): pktgen through pfifo_fast, 1 to 16 threads, six kernels",
    scenario: "lockless-table",
    head: |machine| {
        format!(
            "lockless (S3): pktgen queue_xmit, dummy, one pfifo_fast queue, on {machine}; rates in Mpps"
        )
    },
    source,
    band,
    extra: Vec::new,
    extra_seeds: u64::MAX,
    may_fit: &[
        "S3.table.vanilla.t1",
        "S3.table.vanilla.t16",
        "S3.table.locked-qdisc.t2",
        "S3.table.locked-qdisc.t4",
    ],
    implied: &[],
    form,
    claims: shape,
    unexplained: &[],
    excused: &[],
    what: "rates",
    first: Some(|id| FIRST.iter().any(|prefix| id.starts_with(prefix))),
    // Nanoseconds a packet are the rates once more.
    repeats: Some("ns"),
};

/// Rows of the thread's first table.
const FIRST: [&str; 3] = [
    "S3.table.vanilla.t",
    "S3.table.locked-qdisc.t",
    "S3.table.vanilla+this_patch.t",
];

/// Thread counts of the published tables.
pub const THREADS: [u32; 5] = [1, 2, 4, 8, 16];

/// One setup to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// pktgen on the thread's machine: variant, threads.
    Table(&'static str, u32),
    /// pktgen on an x86 machine, for rows quoted from an earlier thread: variant, threads.
    X86(&'static str, u32),
    /// IPv4 forwarding: variant.
    Forward(&'static str),
}

impl Cell {
    /// The built-in scenario and the overrides that make this setup.
    fn setup(self) -> Setup {
        let chosen = |scenario, lockless| {
            Setup::new(scenario)
                .with("sweep", "[]")
                .with("variant", lockless)
        };
        match self {
            Cell::Table(lockless, n) => chosen("lockless-table", lockless).with("threads", n),
            Cell::X86(lockless, n) => chosen("netif-schedule-x86", lockless).with("threads", n),
            Cell::Forward(lockless) => chosen("lockless-forward", lockless),
        }
    }

    /// Packets a second of this setup. Forwarding has no sending thread to count: there, what the
    /// egress device sent counts.
    fn rate(self) -> Quantity {
        self.setup().metric(Metric::Rate)
    }
}

/// How the row with this id is simulated.
fn source(id: &str) -> Source {
    let id = id.strip_prefix("S3.").unwrap_or(id);
    if let Some(rate) = id.strip_suffix(".ns") {
        return match source(rate) {
            Source::Mean(rate, _) => Source::Inverse(rate, 1e9),
            _ => Source::Nothing,
        };
    }
    let (head, threads) = match id.rsplit_once(".t") {
        Some((head, n)) => (head, n.parse().unwrap_or(0)),
        None => (id, 0),
    };
    let table = |lockless| Cell::Table(lockless, threads);
    let x86 = |lockless| Cell::X86(lockless, threads);
    let rate = |cell: Cell, scale| Source::Mean(cell.rate(), scale);
    let gain = |with: Cell, without: Cell| Source::Gain(with.rate(), without.rate());
    match head {
        "table.vanilla" | "rfc3.without" => rate(table("v0"), 1e-6),
        "table.locked-qdisc" => rate(table("locked"), 1e-6),
        "table.vanilla+this_patch" | "table.patch_set_1" => rate(table("v1"), 1e-6),
        "table.patch_set_2" => rate(table("set2"), 1e-6),
        "table.patch_set_3" => rate(table("set3"), 1e-6),
        "rfc3.with" => rate(table("rfc_bypass"), 1e-6),
        "rfc3.delta" => gain(table("rfc_bypass"), table("v0")),
        "delta.this_patch" => gain(table("v1"), table("v0")),
        "text.4threads" => gain(Cell::Table("set3", 4), Cell::Table("v0", 4)),
        "paolo.vanilla" => rate(x86("v0"), 1e-3),
        "paolo.patched" => rate(x86("v2"), 1e-3),
        "paolo.delta" => gain(x86("v2"), x86("v0")),
        "l3fwd.without" => rate(Cell::Forward("v0"), 1e-6),
        "l3fwd.with" => rate(Cell::Forward("rfc_bypass"), 1e-6),
        "l3fwd.delta" => gain(Cell::Forward("rfc_bypass"), Cell::Forward("v0")),
        _ => Source::Nothing,
    }
}

fn shape(numbers: &Numbers) -> Vec<Claim> {
    claims::claims(&|cell: Cell| numbers.mean(&cell.rate()))
}

/// Where a judged row must be: 15 % in the thread's first table, 20 % elsewhere, and forwarding must
/// gain 5 to 15 % (printed: about 10).
fn band(row: &Row) -> Option<Band> {
    Some(if row.unit == "percent" {
        Band::Between(5.0, 15.0)
    } else if FIRST.iter().any(|prefix| row.id.starts_with(prefix)) {
        Band::Error(15.0)
    } else {
        Band::Error(20.0)
    })
}

fn form(view: &View<'_>) -> String {
    let tables = tables();
    let tables = tables
        .iter()
        .map(|table| format!("\n{}", thread_table(table, view.rows)));
    LEGEND.to_owned() + &tables.collect::<String>()
}

/// The thread's own tables: threads as rows, variants as columns.
fn tables() -> Vec<Table> {
    let table = |prefix: &str, columns: &[&str]| Table {
        head: "threads".to_owned(),
        columns: columns.iter().map(|c| (*c).to_owned()).collect(),
        rows: THREADS
            .iter()
            .map(|n| {
                (
                    n.to_string(),
                    columns
                        .iter()
                        .map(|c| format!("{prefix}.{c}.t{n}"))
                        .collect(),
                )
            })
            .collect(),
    };
    let forward = ["without", "with", "delta"];
    vec![
        table(
            "S3.table",
            &["vanilla", "locked-qdisc", "vanilla+this_patch"],
        ),
        table("S3.table", &["patch_set_1", "patch_set_2", "patch_set_3"]),
        table("S3.rfc3", &["without", "with", "delta"]),
        Table {
            head: "forwarding".to_owned(),
            columns: forward.iter().map(|c| (*c).to_owned()).collect(),
            rows: vec![(
                "L3".to_owned(),
                forward.iter().map(|c| format!("S3.l3fwd.{c}")).collect(),
            )],
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{self, Usage};
    use std::collections::BTreeSet;

    /// A row and the row it shares its setup with are one simulation.
    #[test]
    fn shared_setups_are_simulated_once() {
        let rows = published::rows("S3");
        for row in rows.iter().filter(|row| row.via().is_some()) {
            assert_eq!(
                source(&row.id).quantities(),
                source(&row.configuration).quantities(),
                "{}",
                row.id
            );
        }
    }

    /// Every judged row is simulated; of the others, only a count of frames is not.
    #[test]
    fn nothing_is_forgotten() {
        let missing: Vec<String> = published::rows("S3")
            .into_iter()
            .filter(|row| source(&row.id) == Source::Nothing)
            .map(|row| row.id)
            .collect();
        assert_eq!(missing, ["S3.functional.fatoum"]);
        let judged: BTreeSet<Setup> = published::rows("S3")
            .iter()
            .filter(|row| row.usage == Usage::Judge)
            .flat_map(|row| {
                let source = source(&row.id);
                let setups = source.quantities().into_iter().map(|q| q.setup.clone());
                setups.collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(
            judged.len(),
            6 * 5 + 2,
            "six kernels at five thread counts, and forwarding twice"
        );
    }

    #[test]
    fn every_table_cell_is_a_row() {
        let rows = published::rows("S3");
        for id in tables()
            .iter()
            .flat_map(|t| &t.rows)
            .flat_map(|(_, ids)| ids)
        {
            assert!(rows.iter().any(|row| row.id == *id), "{id}");
        }
    }
}
