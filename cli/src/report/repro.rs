//! Published beside simulated: tables in the publication's form, all rows, and what they add up to.

use super::json;
use crate::published::Usage;
use crate::text::{self, Align, Table as Columns};
use serde::Serialize;
use std::fmt::Write;

/// A published row with its simulation.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Id of the row.
    pub id: String,
    /// Variant in the publication's words.
    pub variant: String,
    /// Sending threads.
    pub threads: Option<u32>,
    /// What was measured.
    pub metric: String,
    /// Unit of the numbers.
    pub unit: String,
    /// The printed number.
    pub published: f64,
    /// The simulated one: mean over seeds, if it is simulated and was finished.
    pub simulated: Option<f64>,
    /// Standard deviation over seeds.
    pub spread: Option<f64>,
    /// A value of the machine profile was fitted to this setup.
    pub fitted: bool,
    /// The other row of the same setup.
    pub via: Option<String>,
    /// Judged or shown.
    pub usage: Usage,
    /// Where it must be.
    pub band: Option<Band>,
}

/// Where a simulated number must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// This many percent off the published one at most.
    Error(f64),
    /// Between these.
    Between(f64, f64),
}

impl Judged {
    /// Error in percent of the published number; for rows that are percentages themselves, the
    /// difference in percentage points.
    pub fn error_pct(&self) -> Option<f64> {
        let simulated = self.simulated?;
        Some(match self.unit.as_str() {
            "percent" => simulated - self.published,
            _ => 100.0 * (simulated / self.published - 1.0),
        })
    }

    /// Whether the number is where it must be; rows without a bound are.
    pub fn holds(&self) -> Option<bool> {
        match self.band {
            None => Some(true),
            Some(Band::Error(most)) => self.error_pct().map(|error| error.abs() <= most),
            Some(Band::Between(low, high)) => self.simulated.map(|s| (low..=high).contains(&s)),
        }
    }

    fn kind(&self) -> &'static str {
        if self.fitted { "fitted" } else { "predicted" }
    }

    fn is_judged_rate(&self) -> bool {
        self.usage == Usage::Judge && self.unit != "percent"
    }
}

/// A statement about the shape of the results.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The statement.
    pub text: String,
    /// Whether it holds; `None` if not all it needs was finished.
    pub holds: Option<bool>,
    /// The numbers behind the judgement.
    pub detail: String,
}

/// A table of the publication, cells by row id.
#[derive(Clone, Debug)]
pub struct Table {
    /// Head of the first column.
    pub head: String,
    /// Heads of the others.
    pub columns: Vec<String>,
    /// First cell, and ids of the others.
    pub rows: Vec<(String, Vec<String>)>,
}

/// One experiment, simulated.
pub struct Results {
    /// Id in JSON.
    pub id: &'static str,
    /// Opening line.
    pub head: String,
    /// Tables in the publication's form.
    pub tables: Vec<Table>,
    /// All rows.
    pub rows: Vec<Judged>,
    /// Whether a row belongs to the first table.
    pub first: fn(&str) -> bool,
    /// Number of setups that were fitted.
    pub fitted: usize,
    /// Number of setups simulated.
    pub simulated: usize,
    /// Claims, judged.
    pub claims: Vec<Claim>,
    /// Commands of runs in which a law was broken.
    pub findings: Vec<String>,
    /// Runs asked for.
    pub asked: usize,
    /// Runs finished.
    pub finished: usize,
}

impl Results {
    /// Whether every bound and every claim holds.
    pub fn holds(&self) -> bool {
        self.rows.iter().all(|r| r.holds() == Some(true))
            && self.claims.iter().all(|c| c.holds == Some(true))
    }
}

/// The whole report of one experiment.
pub fn text(results: &Results) -> String {
    let mut text = format!(
        "{}\neach cell: published, simulated, error; * fitted, ! out of its band\n",
        results.head
    );
    for table in &results.tables {
        text += &format!("\n{}", thread_table(table, &results.rows));
    }
    text += &format!("\n{}\n", row_list(&results.rows));
    text + &summary(results)
}

fn thread_table(table: &Table, rows: &[Judged]) -> String {
    let mut heads = vec![(table.head.as_str(), Align::Right)];
    heads.extend(table.columns.iter().map(|c| (c.as_str(), Align::Right)));
    let mut columns = Columns::new(&heads);
    for (first, ids) in &table.rows {
        let mut cells = vec![first.clone()];
        cells.extend(ids.iter().map(|id| {
            rows.iter()
                .find(|r| r.id == *id)
                .map_or("-".to_owned(), cell)
        }));
        columns.row(cells);
    }
    columns.render("")
}

fn cell(row: &Judged) -> String {
    let mark = match (row.holds(), row.fitted) {
        (Some(false), _) => '!',
        (_, true) => '*',
        (_, false) => ' ',
    };
    let percent = row.unit == "percent";
    match (row.simulated, row.error_pct()) {
        (Some(simulated), _) if percent => {
            format!("{:+}%  {}%{mark}", row.published, signed(simulated))
        }
        (Some(simulated), Some(error)) => {
            format!(
                "{}  {simulated:.2} {:>5}%{mark}",
                printed(row),
                signed(error)
            )
        }
        _ => format!("{}  - ", printed(row)),
    }
}

/// The published number as it was printed: rates with at least one decimal.
fn printed(row: &Judged) -> String {
    match row.unit.as_str() {
        "Mpps" if row.published.fract() == 0.0 => format!("{:.1}", row.published),
        _ => row.published.to_string(),
    }
}

/// One decimal and a sign, but never a negative zero.
fn signed(value: f64) -> String {
    let text = format!("{value:+.1}");
    if text == "-0.0" {
        "+0.0".to_owned()
    } else {
        text
    }
}

fn row_list(rows: &[Judged]) -> String {
    let mut table = Columns::new(&[
        ("row", Align::Left),
        ("unit", Align::Left),
        ("published", Align::Right),
        ("simulated", Align::Right),
        ("±", Align::Right),
        ("error", Align::Right),
        ("kind", Align::Left),
        ("use", Align::Left),
        ("via", Align::Left),
    ]);
    // Nanoseconds a packet are the rates once more: JSON has them.
    for row in rows.iter().filter(|r| r.unit != "ns") {
        let number = |n: Option<f64>| n.map_or("-".to_owned(), |n| format!("{n:.3}"));
        let sign = if row.unit == "percent" { " pp" } else { "%" };
        table.row(vec![
            row.id.clone(),
            row.unit.clone(),
            printed(row),
            number(row.simulated),
            number(row.spread),
            row.error_pct().map_or("-".to_owned(), |e| signed(e) + sign),
            row.simulated.map_or("-", |_| row.kind()).to_owned(),
            match (row.usage, row.holds()) {
                (Usage::Judge, Some(false)) => "judge OUT".to_owned(),
                (Usage::Judge, _) => "judge".to_owned(),
                _ => "show".to_owned(),
            },
            row.via.clone().unwrap_or_default(),
        ]);
    }
    table.render("")
        + "use: judge = a bound holds for the row, show = none does; via: the row whose setup this one shares\n"
}

fn summary(results: &Results) -> String {
    let mut text = String::new();
    let mut line = |name: &str, picked: &dyn Fn(&Judged) -> bool| {
        let rows: Vec<&Judged> = results
            .rows
            .iter()
            .filter(|r| r.is_judged_rate() && picked(r))
            .collect();
        let errors: Vec<f64> = rows
            .iter()
            .filter_map(|r| r.error_pct())
            .map(f64::abs)
            .collect();
        if errors.is_empty() {
            return;
        }
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let max = errors.iter().copied().fold(0.0, f64::max);
        let out = rows.iter().filter(|r| r.holds() == Some(false)).count();
        let _ = writeln!(
            text,
            "error {name:<24} mean {mean:4.1}%  max {max:4.1}%  {} ({out} out of band)",
            text::count(errors.len(), "row")
        );
    };
    line("first table", &|r| (results.first)(&r.id));
    line("all judged rates", &|_| true);
    line("of these, predicted", &|r| !r.fitted);
    for row in results
        .rows
        .iter()
        .filter(|r| r.usage == Usage::Judge && r.unit == "percent")
    {
        let Some(Band::Between(low, high)) = row.band else {
            continue;
        };
        let simulated = row
            .simulated
            .map_or("not finished".to_owned(), |s| format!("{s:+.1}%"));
        let verdict = if row.holds() == Some(true) {
            "ok"
        } else {
            "NOT"
        };
        let _ = writeln!(
            text,
            "{verdict:<4} {} {simulated}, must be {low} to {high}% (published {:+}%)",
            row.id, row.published
        );
    }
    let _ = writeln!(
        text,
        "setups: {} simulated, {} fitted, {} of {} runs",
        results.simulated, results.fitted, results.finished, results.asked
    );
    for claim in &results.claims {
        let verdict = match claim.holds {
            Some(true) => "ok",
            Some(false) => "NOT",
            None => "?",
        };
        let _ = writeln!(text, "{verdict:<4} {} ({})", claim.text, claim.detail);
    }
    if let Some(first) = results.findings.first() {
        let _ = writeln!(
            text,
            "a law was broken in {}; the first:\n  replay: {first}",
            text::count(results.findings.len(), "run")
        );
    }
    text
}

#[derive(Serialize)]
struct Document<'a> {
    experiments: Vec<Experiment<'a>>,
}

#[derive(Serialize)]
struct Experiment<'a> {
    id: &'a str,
    rows: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    variant: &'a str,
    threads: Option<u32>,
    metric: &'a str,
    unit: &'a str,
    published: f64,
    simulated: Option<f64>,
    error_pct: Option<f64>,
    kind: &'static str,
    via: Option<&'a str>,
    #[serde(rename = "use")]
    usage: Usage,
}

/// `skbsim.repro/1`. `error_pct` is in percentage points where `unit` is percent.
pub fn json(results: &[Results]) -> String {
    let experiments = results.iter().map(|r| Experiment {
        id: r.id,
        rows: r.rows.iter().map(json_row).collect(),
    });
    json::document(
        "skbsim.repro/1",
        Document {
            experiments: experiments.collect(),
        },
    )
}

fn json_row(r: &Judged) -> Row<'_> {
    Row {
        id: &r.id,
        variant: &r.variant,
        threads: r.threads,
        metric: &r.metric,
        unit: &r.unit,
        published: r.published,
        simulated: r.simulated,
        error_pct: r.error_pct(),
        kind: r.kind(),
        via: r.via.as_deref(),
        usage: r.usage,
    }
}
