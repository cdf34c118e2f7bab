//! Published numbers that `repro` compares with, as they were printed.

use serde::Deserialize;

/// One published number.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    /// Its name, stable for ever.
    pub id: String,
    /// The variant it was measured with, in the words of the publication.
    pub variant: String,
    /// Sending threads, if it says.
    pub threads: Option<u32>,
    /// What was measured.
    pub metric: String,
    /// Unit of `value`.
    pub unit: String,
    /// The number.
    pub value: f64,
    /// Printed, or arithmetic on printed numbers.
    pub kind: Kind,
    /// What may be done with it.
    #[serde(rename = "use")]
    pub usage: Usage,
    /// The row whose setup this one shares; its own id if none.
    pub configuration: String,
}

impl Row {
    /// The other row of the same setup, if there is one.
    pub fn via(&self) -> Option<&str> {
        (self.configuration != self.id).then_some(self.configuration.as_str())
    }
}

/// Whether a number was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// As printed.
    Published,
    /// Arithmetic on printed numbers.
    Derived,
}

/// What may be done with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Usage {
    /// Compared, with a bound.
    Judge,
    /// Printed beside the simulated one, without a bound.
    Show,
    /// Neither.
    Never,
}

#[derive(Deserialize)]
struct File {
    records: Vec<Row>,
}

/// The rows of the thread about packets stuck in a lockless qdisc (S3), in its order.
///
/// # Panics
/// If the file that was compiled in is damaged; a test reads it.
pub fn s3() -> Vec<Row> {
    let text = include_str!("../../scenarios/published/s3.json");
    let file: File =
        serde_json::from_str(text).expect("the published rows are part of the program");
    file.records
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Ids are unique, and each configuration is the id of a row.
    #[test]
    fn rows_refer_to_rows() {
        let rows = s3();
        let ids: BTreeSet<&str> = rows.iter().map(|r| r.id.as_str()).collect();
        assert_eq!(ids.len(), rows.len());
        assert!(rows.iter().all(|r| ids.contains(r.configuration.as_str())));
        assert!(rows.iter().all(|r| r.id.starts_with("S3.")));
        assert_eq!(
            rows.iter()
                .filter(|r| r.usage == Usage::Judge && r.unit == "Mpps")
                .count(),
            40
        );
    }

    /// Shared setups have the same numbers up to rounding and repeatability.
    #[test]
    fn shared_setups_agree() {
        let rows = s3();
        for row in rows.iter().filter(|r| r.via().is_some()) {
            let other = rows
                .iter()
                .find(|r| r.id == row.configuration)
                .expect("a row");
            assert!(
                (row.value / other.value - 1.0).abs() < 0.05,
                "{} and {}",
                row.id,
                other.id
            );
        }
    }
}
