//! Results of `repro` as JSON.

use super::{Judged, Kind, Results};
use crate::published::Usage;
use crate::report::json;
use serde::Serialize;

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

/// `skbsim.repro/1`. `error_pct` is in percentage points where `unit` is percent. `kind` is `fitted` for
/// what was carried too: neither is a prediction.
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
        kind: match r.kind {
            Kind::Fitted | Kind::Carried => "fitted",
            Kind::Predicted => "predicted",
        },
        via: r.via.as_deref(),
        usage: r.usage,
    }
}
