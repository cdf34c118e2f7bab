//! Published beside simulated: the table in the publication's form, all rows, and what they add up to.

mod document;
mod total;

pub use document::json;
pub use total::{Total, total};

use crate::published::Usage;
use crate::text::{self, Align, Table as Columns};
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
    /// Its printed deviation in percent.
    pub deviation: Option<f64>,
    /// The simulated one: mean over seeds, if it is simulated and was finished.
    pub simulated: Option<f64>,
    /// Standard deviation over seeds.
    pub spread: Option<f64>,
    /// What the simulated number owes to the published ones.
    pub kind: Kind,
    /// The other row of the same setup.
    pub via: Option<String>,
    /// Judged or shown.
    pub usage: Usage,
    /// Where it must be.
    pub band: Option<Band>,
}

/// What a simulated number owes to the published ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value of a machine profile was fitted to this row, or to one of the same setup.
    Fitted,
    /// Taken over: there is no mechanism for it, but other rows count on top of it.
    Carried,
    /// Neither.
    Predicted,
}

/// Where a simulated number must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// This many percent off the published one at most.
    Error(f64),
    /// Off by between these percents of the published one.
    Errors(f64, f64),
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
            Some(Band::Errors(low, high)) => self.error_pct().map(|e| (low..=high).contains(&e)),
            Some(Band::Between(low, high)) => self.simulated.map(|s| (low..=high).contains(&s)),
        }
    }

    /// Whether a bound holds for the row and its error is a share of the published number.
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

/// A row and why it is what it is.
pub type Reason = (&'static str, &'static str);

/// One experiment, simulated.
pub struct Results {
    /// Id in JSON.
    pub id: &'static str,
    /// Opening line.
    pub head: String,
    /// The table in the publication's own form.
    pub form: String,
    /// All rows.
    pub rows: Vec<Judged>,
    /// What the judged rows are called.
    pub what: &'static str,
    /// Whether a row belongs to the first table, where that is summed up apart.
    pub first: Option<fn(&str) -> bool>,
    /// A unit whose rows only repeat others and are left out of the list.
    pub repeats: Option<&'static str>,
    /// Rows with a part that no mechanism explains, and why there is none.
    pub unexplained: &'static [Reason],
    /// Rows whose error may exceed 15 %, and why.
    pub excused: &'static [Reason],
    /// Number of configurations that were fitted.
    pub fitted: usize,
    /// Number of configurations that were carried.
    pub carried: usize,
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
    let mut text = format!("{}\n{}", results.head, results.form);
    text += &format!("\n{}\n", row_list(results));
    text + &summary(results)
}

/// What the cells of a [`thread_table`] and their marks mean.
pub const LEGEND: &str = "each cell: published, simulated, error; * fitted, ! out of its band\n";

/// A table of cells.
pub fn thread_table(table: &Table, rows: &[Judged]) -> String {
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

/// `published simulated error` and a mark.
fn cell(row: &Judged) -> String {
    let mark = mark(row);
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

/// `!` out of its band, `*` fitted, `=` carried.
pub fn mark(row: &Judged) -> char {
    match (row.holds(), row.kind) {
        (Some(false), _) => '!',
        (_, Kind::Fitted) => '*',
        (_, Kind::Carried) => '=',
        (_, Kind::Predicted) => ' ',
    }
}

/// The published number as it was printed: rates with at least one decimal.
fn printed(row: &Judged) -> String {
    match row.unit.as_str() {
        "count" => text::group(row.published as u64),
        "Mpps" if row.published.fract() == 0.0 => format!("{:.1}", row.published),
        _ => row.published.to_string(),
    }
}

/// One decimal and a sign, but never a negative zero.
pub fn signed(value: f64) -> String {
    let text = format!("{value:+.1}");
    if text == "-0.0" {
        "+0.0".to_owned()
    } else {
        text
    }
}

fn row_list(results: &Results) -> String {
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
    // Rows that are others once more: JSON has them.
    let rows = results.rows.iter();
    for row in rows.filter(|r| Some(r.unit.as_str()) != results.repeats) {
        let unexplained = results.unexplained.iter().any(|(id, _)| *id == row.id);
        let kind = match row.kind {
            _ if unexplained => "unexplained",
            Kind::Fitted => "fitted",
            Kind::Carried => "carried",
            Kind::Predicted => "predicted",
        };
        let number = |n: Option<f64>| match n {
            None => "-".to_owned(),
            Some(n) if row.unit == "count" => text::group(n.round() as u64),
            Some(n) if row.unit == "pps" => format!("{n:.0}"),
            Some(n) => format!("{n:.3}"),
        };
        let sign = if row.unit == "percent" { " pp" } else { "%" };
        table.row(vec![
            row.id.clone(),
            row.unit.clone(),
            printed(row),
            number(row.simulated),
            number(row.spread),
            row.error_pct().map_or("-".to_owned(), |e| signed(e) + sign),
            row.simulated.map_or("-", |_| kind).to_owned(),
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
    if let Some(first) = results.first {
        line("first table", &|r| first(&r.id));
    }
    line(&format!("all judged {}", results.what), &|_| true);
    line("of these, predicted", &|r| r.kind == Kind::Predicted);
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
    let carried = match results.carried {
        0 => String::new(),
        n => format!(", {n} carried"),
    };
    let _ = writeln!(
        text,
        "setups: {} simulated, {} fitted{carried}, {} of {} runs",
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
    for same in results.unexplained.chunk_by(|a, b| a.1 == b.1) {
        let ids: Vec<&str> = same.iter().map(|(id, _)| *id).collect();
        let _ = writeln!(text, "unexplained: {}: {}", ids.join(", "), same[0].1);
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
