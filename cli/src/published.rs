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
    /// Printed deviation in percent, where the publication prints one (`perf stat -r`).
    pub rel_stddev_pct: Option<f64>,
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

/// The files as they are compiled in, by experiment.
const FILES: [(&str, &str); 5] = [
    ("S0", include_str!("../../scenarios/published/s0.json")),
    ("S1", include_str!("../../scenarios/published/s1.json")),
    ("S2", include_str!("../../scenarios/published/s2.json")),
    ("S3", include_str!("../../scenarios/published/s3.json")),
    ("S4", include_str!("../../scenarios/published/s4.json")),
];

/// The rows of the experiment with this id, in the order of its thread; none if there is no such experiment.
///
/// # Panics
/// If a file that was compiled in is damaged; a test reads them all.
pub fn rows(experiment: &str) -> Vec<Row> {
    let text = FILES.iter().find(|(id, _)| *id == experiment);
    text.map_or_else(Vec::new, |(_, text)| {
        let file: File =
            serde_json::from_str(text).expect("the published rows are part of the program");
        file.records
    })
}

/// Every published row, experiment by experiment.
///
/// # Panics
/// As [`rows`].
pub fn all() -> Vec<Row> {
    FILES.iter().flat_map(|(id, _)| rows(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Ids are unique and name their experiment, and each configuration is the id of a row.
    #[test]
    fn rows_refer_to_rows() {
        let all = all();
        let ids: BTreeSet<&str> = all.iter().map(|r| r.id.as_str()).collect();
        assert_eq!(ids.len(), all.len());
        assert!(all.iter().all(|r| ids.contains(r.configuration.as_str())));
        for (id, _) in FILES {
            let own = rows(id);
            assert!(
                own.iter().all(|r| r.id.starts_with(&format!("{id}."))),
                "{id}"
            );
        }
        let judged = |id| rows(id).iter().filter(|r| r.usage == Usage::Judge).count();
        assert_eq!(
            FILES.map(|(id, _)| judged(id)),
            [10, 4, 10, 41, 2],
            "S3: 40 rates and the gain of forwarding"
        );
    }

    /// Shared setups have the same numbers up to rounding and repeatability.
    #[test]
    fn shared_setups_agree() {
        let rows = all();
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
