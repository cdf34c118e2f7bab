//! The lockless-qdisc experiment (S3): which simulation stands for which published row.
//!
//! A setup is simulated once a seed and shared by all rows that mean it: the thread prints vanilla
//! twice, and its first patch set is the patch of its first table.

use super::{Ran, claims};
use crate::args::Repro;
use crate::batch::{self, Job};
use crate::exit::{Exit, Stop};
use crate::library::{self, Scenario};
use crate::published::{self, Row, Usage};
use crate::report::repro::{Band, Judged, Results, Table};
use crate::session::{Again, Session};
use crate::text::Sample;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
    fn scenario(self) -> (&'static str, Vec<(String, String)>) {
        let set = |path: &str, value: String| (path.to_owned(), value);
        let chosen = |lockless: &str| {
            vec![
                set("sweep", "[]".to_owned()),
                set("variant", lockless.to_owned()),
            ]
        };
        let with = |lockless, threads: u32| {
            [chosen(lockless), vec![set("threads", threads.to_string())]].concat()
        };
        match self {
            Cell::Table(lockless, threads) => ("lockless-table", with(lockless, threads)),
            Cell::X86(lockless, threads) => ("netif-schedule-x86", with(lockless, threads)),
            Cell::Forward(lockless) => ("lockless-forward", chosen(lockless)),
        }
    }
}

/// How a row's number comes from simulations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// The rate of a setup, in packets a second times this.
    Rate(Cell, f64),
    /// Nanoseconds a packet of a setup.
    Nanoseconds(Cell),
    /// By how many percent the first is faster than the second.
    Delta(Cell, Cell),
    /// Not simulated.
    Nothing,
}

/// How the row with this id is simulated.
pub fn source(id: &str) -> Source {
    let id = id.strip_prefix("S3.").unwrap_or(id);
    if let Some(rate) = id.strip_suffix(".ns") {
        return match source(rate) {
            Source::Rate(cell, _) => Source::Nanoseconds(cell),
            _ => Source::Nothing,
        };
    }
    let (head, threads) = match id.rsplit_once(".t") {
        Some((head, n)) => (head, n.parse().unwrap_or(0)),
        None => (id, 0),
    };
    let table = |lockless| Cell::Table(lockless, threads);
    let x86 = |lockless| Cell::X86(lockless, threads);
    match head {
        "table.vanilla" | "rfc3.without" => Source::Rate(table("v0"), 1e-6),
        "table.locked-qdisc" => Source::Rate(table("locked"), 1e-6),
        "table.vanilla+this_patch" | "table.patch_set_1" => Source::Rate(table("v1"), 1e-6),
        "table.patch_set_2" => Source::Rate(table("set2"), 1e-6),
        "table.patch_set_3" => Source::Rate(table("set3"), 1e-6),
        "rfc3.with" => Source::Rate(table("rfc_bypass"), 1e-6),
        "rfc3.delta" => Source::Delta(table("rfc_bypass"), table("v0")),
        "delta.this_patch" => Source::Delta(table("v1"), table("v0")),
        "text.4threads" => Source::Delta(Cell::Table("set3", 4), Cell::Table("v0", 4)),
        "paolo.vanilla" => Source::Rate(x86("v0"), 1e-3),
        "paolo.patched" => Source::Rate(x86("v2"), 1e-3),
        "paolo.delta" => Source::Delta(x86("v2"), x86("v0")),
        "l3fwd.without" => Source::Rate(Cell::Forward("v0"), 1e-6),
        "l3fwd.with" => Source::Rate(Cell::Forward("rfc_bypass"), 1e-6),
        "l3fwd.delta" => Source::Delta(Cell::Forward("rfc_bypass"), Cell::Forward("v0")),
        _ => Source::Nothing,
    }
}

fn cells_of(source: Source) -> Vec<Cell> {
    match source {
        Source::Rate(cell, _) | Source::Nanoseconds(cell) => vec![cell],
        Source::Delta(a, b) => vec![a, b],
        Source::Nothing => vec![],
    }
}

/// Runs the experiment.
pub fn run(session: &mut Session<'_>, args: &Repro) -> Result<Ran, Stop> {
    let rows: Vec<Row> = published::s3()
        .into_iter()
        .filter(|row| row.usage != Usage::Never)
        .collect();
    let cells: BTreeSet<Cell> = rows
        .iter()
        .flat_map(|row| cells_of(source(&row.id)))
        .collect();
    let (jobs, places, machine) = jobs(session, args, &cells)?;
    let done = batch::run(session, &jobs, args.jobs, |job, outcome| {
        let replay = (!outcome.violations.is_empty()).then(|| job.again.run(job.seed));
        // Forwarding has no sending thread to count: there, what the egress device sent counts.
        let metrics = &outcome.metrics;
        (
            if metrics.flows.is_empty() {
                metrics.tx_pps()
            } else {
                metrics.pps()
            },
            replay,
        )
    })?;
    let finished = done.results.iter().flatten().count();
    let findings: Vec<String> = done
        .results
        .iter()
        .flatten()
        .filter_map(|(_, replay)| replay.clone())
        .collect();
    let rates = Rates::new(
        &places,
        &done
            .results
            .iter()
            .map(|r| r.as_ref().map(|r| r.0))
            .collect::<Vec<_>>(),
    );
    let fitted = fitted(session, &machine)?;
    let results = Results {
        id: "S3",
        head: format!(
            "lockless (S3): pktgen queue_xmit, dummy, one pfifo_fast queue, on {machine}; rates in Mpps"
        ),
        tables: tables(),
        rows: rows
            .iter()
            .map(|row| judged(row, &rates, &fitted))
            .collect(),
        first: |id| {
            ["vanilla", "locked-qdisc", "vanilla+this_patch"]
                .iter()
                .any(|v| id.starts_with(&format!("S3.table.{v}.t")))
        },
        fitted: fitted.len(),
        simulated: cells.len(),
        claims: claims::claims(&|cell| rates.mean(cell)),
        findings,
        asked: jobs.len(),
        finished,
    };
    Ok(Ran {
        results,
        unfinished: done.unfinished,
    })
}

type Jobs = (Vec<Job>, Vec<(Cell, usize)>, String);

/// The runs to make, the setup and number of runs of each in their order, and the machine's name.
fn jobs(session: &mut Session<'_>, args: &Repro, cells: &BTreeSet<Cell>) -> Result<Jobs, Stop> {
    let (mut jobs, mut places, mut machine) = (Vec::new(), Vec::new(), String::new());
    for &cell in cells {
        let (name, set) = cell.scenario();
        let scenario = load(session, name, &set)?;
        let seeds = args
            .seeds
            .clone()
            .unwrap_or_else(|| crate::sweep::default_seeds(&scenario));
        let mut points = scenario.points();
        assert_eq!(points.len(), 1, "a setup is one point of {name}");
        let config = Arc::new(points.remove(0).config);
        if matches!(cell, Cell::Table(..)) && machine.is_empty() {
            machine = config.hosts[0].machine.name.clone();
        }
        let again = Arc::new(Again::new(name, &set));
        places.push((cell, (seeds.end - seeds.start) as usize));
        jobs.extend(seeds.map(|seed| Job {
            config: Arc::clone(&config),
            seed,
            again: Arc::clone(&again),
        }));
    }
    Ok((jobs, places, machine))
}

/// A built-in scenario with overrides of ours: what is wrong with it is our mistake.
fn load(session: &mut Session<'_>, name: &str, set: &[(String, String)]) -> Result<Scenario, Stop> {
    library::load_builtin(session.registry, name, set)
        .map_err(|rejected| Stop::new(Exit::Internal, format!("internal error: {rejected}")))
}

/// Setups that the machine profile says a value was fitted to.
fn fitted(session: &Session<'_>, machine: &str) -> Result<BTreeSet<Cell>, Stop> {
    let rows = library::fitted_rows(session.registry, machine)
        .map_err(|text| Stop::new(Exit::Internal, text))?;
    Ok(rows.iter().flat_map(|id| cells_of(source(id))).collect())
}

/// Simulated packets a second, by setup.
struct Rates(BTreeMap<Cell, Sample>);

impl Rates {
    /// A setup counts once all its seeds are there, so that an interrupted run shows no half means.
    fn new(places: &[(Cell, usize)], results: &[Option<f64>]) -> Rates {
        let mut left = results;
        let mut rates = BTreeMap::new();
        for &(cell, n) in places {
            let (own, rest) = left.split_at(n);
            left = rest;
            let own: Option<Vec<f64>> = own.iter().copied().collect();
            rates.extend(
                own.and_then(|own| Sample::of(&own))
                    .map(|sample| (cell, sample)),
            );
        }
        Rates(rates)
    }

    fn mean(&self, cell: Cell) -> Option<f64> {
        self.0.get(&cell).map(|s| s.mean)
    }

    /// Mean and spread of the number that `source` says.
    fn number(&self, source: Source) -> Option<(f64, Option<f64>)> {
        match source {
            Source::Rate(cell, scale) => self
                .0
                .get(&cell)
                .map(|s| (s.mean * scale, Some(s.sd * scale))),
            Source::Nanoseconds(cell) => self
                .0
                .get(&cell)
                .map(|s| (1e9 / s.mean, Some(1e9 / s.mean * s.sd / s.mean))),
            Source::Delta(with, without) => {
                Some((100.0 * (self.mean(with)? / self.mean(without)? - 1.0), None))
            }
            Source::Nothing => None,
        }
    }
}

fn judged(row: &Row, rates: &Rates, fitted: &BTreeSet<Cell>) -> Judged {
    let source = source(&row.id);
    let number = rates.number(source);
    let is_rate = matches!(source, Source::Rate(..) | Source::Nanoseconds(_));
    Judged {
        id: row.id.clone(),
        variant: row.variant.clone(),
        threads: row.threads,
        metric: row.metric.clone(),
        unit: row.unit.clone(),
        published: row.value,
        simulated: number.map(|n| n.0),
        spread: number.and_then(|n| n.1),
        fitted: is_rate && cells_of(source).iter().any(|cell| fitted.contains(cell)),
        via: row.via().map(str::to_owned),
        usage: row.usage,
        band: band(row),
    }
}

/// Where a judged row must be: 15 % in the thread's first table, 20 % elsewhere, and forwarding must
/// gain 5 to 15 % (printed: about 10).
fn band(row: &Row) -> Option<Band> {
    let first = [
        "S3.table.vanilla.",
        "S3.table.locked-qdisc.",
        "S3.table.vanilla+this_patch.",
    ];
    match row.usage {
        Usage::Judge if row.unit == "percent" => Some(Band::Between(5.0, 15.0)),
        Usage::Judge if first.iter().any(|prefix| row.id.starts_with(prefix)) => {
            Some(Band::Error(15.0))
        }
        Usage::Judge => Some(Band::Error(20.0)),
        Usage::Show | Usage::Never => None,
    }
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

    /// A row and the row it shares its setup with are one simulation.
    #[test]
    fn shared_setups_are_simulated_once() {
        for row in published::s3().iter().filter(|row| row.via().is_some()) {
            assert_eq!(
                cells_of(source(&row.id)),
                cells_of(source(&row.configuration)),
                "{}",
                row.id
            );
        }
    }

    /// Every judged row is simulated; of the others, only a count of frames is not.
    #[test]
    fn nothing_is_forgotten() {
        let missing: Vec<String> = published::s3()
            .into_iter()
            .filter(|row| source(&row.id) == Source::Nothing)
            .map(|row| row.id)
            .collect();
        assert_eq!(missing, ["S3.functional.fatoum"]);
        let judged: BTreeSet<Cell> = published::s3()
            .iter()
            .filter(|row| row.usage == Usage::Judge)
            .flat_map(|row| cells_of(source(&row.id)))
            .collect();
        assert_eq!(
            judged.len(),
            6 * 5 + 2,
            "six kernels at five thread counts, and forwarding twice"
        );
    }

    #[test]
    fn every_table_cell_is_a_row() {
        let rows = published::s3();
        for id in tables()
            .iter()
            .flat_map(|t| &t.rows)
            .flat_map(|(_, ids)| ids)
        {
            assert!(rows.iter().any(|row| row.id == *id), "{id}");
        }
    }

    /// Half of a setup's seeds give no mean.
    #[test]
    fn an_interrupted_setup_does_not_count() {
        let cell = Cell::Forward("v0");
        let places = [(cell, 2), (Cell::Forward("v1"), 1)];
        let rates = Rates::new(&places, &[Some(1.0), None, Some(3.0)]);
        assert_eq!(rates.mean(cell), None);
        assert_eq!(rates.mean(Cell::Forward("v1")), Some(3.0));
    }
}
