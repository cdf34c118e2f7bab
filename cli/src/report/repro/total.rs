//! What all experiments add up to: how much was fitted, and how far off the rest is.

use super::{Judged, Kind, Results, signed};
use crate::text;
use std::fmt::Write;

/// Configurations that may be fitted or carried over all experiments.
const MOST_FITTED: usize = 13;
/// The median error of predicted rows must be under this many percent.
const MEDIAN: f64 = 5.0;
/// A predicted row that is off by more percent than this needs a reason.
const LARGE: f64 = 15.0;

/// All experiments summed up.
pub struct Total {
    /// The summary, as text.
    pub text: String,
    /// Whether every bound on the whole holds.
    pub holds: bool,
}

/// Sums up.
pub fn total(results: &[Results]) -> Total {
    let taken: usize = results.iter().map(|r| r.fitted + r.carried).sum();
    let each: Vec<String> = results
        .iter()
        .map(|r| format!("{} {}", r.id, r.fitted + r.carried))
        .collect();
    let mut total = Total {
        text: "all experiments\n".to_owned(),
        holds: true,
    };
    total.line(
        taken <= MOST_FITTED,
        &format!(
            "{taken} configurations fitted or carried, at most {MOST_FITTED} ({})",
            each.join(", ")
        ),
    );
    let predicted: Vec<(&Results, &Judged, f64)> = results
        .iter()
        .flat_map(|r| r.rows.iter().map(move |row| (r, row)))
        .filter(|(_, row)| row.is_judged_rate() && row.kind == Kind::Predicted)
        .filter_map(|(r, row)| row.error_pct().map(|error| (r, row, error)))
        .collect();
    if let Some(median) = median(predicted.iter().map(|(.., error)| error.abs()).collect()) {
        total.line(
            median < MEDIAN,
            &format!(
                "median error of {} {median:.1}%, must be under {MEDIAN}%",
                text::count(predicted.len(), "predicted row")
            ),
        );
    }
    for (r, row, error) in predicted {
        if error.abs() > LARGE {
            let reason = r.excused.iter().find(|(id, _)| *id == row.id);
            let why = reason.map_or("for no stated reason", |(_, why)| why);
            let told = format!("{} is off by {}%: {why}", row.id, signed(error));
            total.line(reason.is_some(), &told);
        }
    }
    total
}

impl Total {
    fn line(&mut self, holds: bool, what: &str) {
        let verdict = if holds { "ok" } else { "NOT" };
        let _ = writeln!(self.text, "{verdict:<4} {what}");
        self.holds &= holds;
    }
}

/// The middle one, or the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (n > 0).then(|| (values[(n - 1) / 2] + values[n / 2]) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn middles() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
