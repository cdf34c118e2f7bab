//! Numbers and tables as text. No locale, no terminal width: the same bytes everywhere.

use std::fmt::Write;

/// `1234567` as `1,234,567`.
pub fn group(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Picoseconds as nanoseconds with all their digits: `1234.567ns`. Exact, so that it can be pasted back.
pub fn ns(ps: u64) -> String {
    format!("{}.{:03}ns", ps / 1000, ps % 1000)
}

/// Picoseconds as milliseconds: `10.000 ms`.
pub fn ms(ps: u64) -> String {
    format!("{:.3} ms", ps as f64 / 1e9)
}

/// `part` of `whole` in percent with one decimal; `-` if there is no whole.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        "-".to_owned()
    } else {
        let percent = 100.0 * part as f64 / whole as f64;
        // Few is not none.
        if part > 0 && percent < 0.05 {
            "<0.1%".to_owned()
        } else {
            format!("{percent:.1}%")
        }
    }
}

/// `n things` with the plural where it belongs.
pub fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// Which side of its column a cell sticks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table with aligned columns, two spaces apart.
pub struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column heads.
    pub fn new(heads: &[(&str, Align)]) -> Table {
        Table {
            columns: heads.iter().map(|&(_, align)| align).collect(),
            rows: vec![heads.iter().map(|&(head, _)| head.to_owned()).collect()],
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has not one cell a column.
    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "one cell a column");
        self.rows.push(cells);
    }

    /// Whether there are no rows but the heads.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// The table as lines, each behind `indent`, without trailing blanks.
    pub fn render(&self, indent: &str) -> String {
        let width = |i: usize| {
            self.rows
                .iter()
                .map(|row| row[i].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = indent.to_owned();
            for (i, cell) in row.iter().enumerate() {
                let gap = if i == 0 { "" } else { "  " };
                let width = widths[i];
                let _ = match self.columns[i] {
                    Align::Left => write!(line, "{gap}{cell:<width$}"),
                    Align::Right => write!(line, "{gap}{cell:>width$}"),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Mean and spread of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation; 0 for fewer than two values.
    pub sd: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

impl Sample {
    /// Of these values; `None` if there are none. Sums in the order given, so the result does not
    /// depend on how the values were computed.
    pub fn of(values: &[f64]) -> Option<Sample> {
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        (n > 0).then(|| Sample {
            n,
            mean,
            sd: if n < 2 {
                0.0
            } else {
                (squares / (n - 1) as f64).sqrt()
            },
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(group(0), "0");
        assert_eq!(group(999), "999");
        assert_eq!(group(1_234_567), "1,234,567");
        assert_eq!(ns(1_234_567), "1234.567ns");
        assert_eq!(ns(7), "0.007ns");
        assert_eq!(percent(1, 0), "-");
    }

    #[test]
    fn samples() {
        let s = Sample::of(&[1.0, 2.0, 3.0]).expect("values");
        assert_eq!((s.mean, s.sd, s.min, s.max), (2.0, 1.0, 1.0, 3.0));
        assert_eq!(Sample::of(&[4.0]).map(|s| s.sd), Some(0.0));
        assert_eq!(Sample::of(&[]), None);
    }

    #[test]
    fn tables_align_and_leave_no_trailing_blanks() {
        let mut t = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        t.row(vec!["a".into(), "1".into()]);
        t.row(vec!["long one".into(), "1,000".into()]);
        assert_eq!(
            t.render(" "),
            " name          n\n a             1\n long one  1,000\n"
        );
    }
}
