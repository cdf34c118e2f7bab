//! What a test judges: broken laws, and bounds on metrics.

use sim_core::metrics::{Flow, Metrics};
use sim_core::violation::Law;

/// What is expected of every run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// Broken laws.
    pub violations: Violations,
    /// Bounds on results.
    pub metrics: Vec<Bound>,
}

/// Which broken laws a test accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Violations {
    /// None.
    #[default]
    Forbid,
    /// Any.
    Allow,
    /// Each of these must occur, in one of the runs.
    Require(Vec<Law>),
}

/// A bound on one metric. At least one end is given, and `min <= max`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// One of [`METRICS`].
    pub metric: String,
    /// Smallest value allowed.
    pub min: Option<f64>,
    /// Largest value allowed.
    pub max: Option<f64>,
}

impl Bound {
    /// The value of the metric in `metrics`, and whether it is within the bound.
    pub fn judge(&self, metrics: &Metrics) -> (f64, bool) {
        let value = metric(&self.metric).map_or(f64::NAN, |m| (m.get)(metrics));
        let low = self.min.is_none_or(|min| value >= min);
        let high = self.max.is_none_or(|max| value <= max);
        (value, low && high)
    }
}

/// A number that a run gives and a bound can name.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Reads it from the counters of a run.
    pub get: fn(&Metrics) -> f64,
}

/// The metric called `name`.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|m| m.name == name)
}

/// Quantile of the flow that has the largest one, so that a starved flow shows.
fn latency(metrics: &Metrics, quantile: f64) -> f64 {
    let of = |flow: &Flow| flow.latency.value_at_quantile(quantile);
    metrics.flows.iter().map(of).max().unwrap_or(0) as f64
}

fn sum(counts: impl Iterator<Item = u64>) -> f64 {
    counts.sum::<u64>() as f64
}

/// All metrics, in the order of the reference chapter.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "pps",
        unit: "packets/s",
        doc: "Packets a second over all flows, as pktgen sums its threads.",
        get: Metrics::pps,
    },
    Metric {
        name: "tx_pps",
        unit: "packets/s",
        doc: "Packets a second that the drivers of all devices sent.",
        get: Metrics::tx_pps,
    },
    Metric {
        name: "sent",
        unit: "packets",
        doc: "Attempts that returned success.",
        get: |m| sum(m.flows.iter().map(|f| f.sent)),
    },
    Metric {
        name: "errors",
        unit: "packets",
        doc: "Attempts that returned an error or a drop.",
        get: |m| sum(m.flows.iter().map(|f| f.errors)),
    },
    Metric {
        name: "tx_packets",
        unit: "packets",
        doc: "Packets that drivers accepted.",
        get: |m| sum(m.devices.iter().map(|d| d.tx_packets)),
    },
    Metric {
        name: "rx_packets",
        unit: "packets",
        doc: "Packets received.",
        get: |m| sum(m.devices.iter().map(|d| d.rx_packets)),
    },
    Metric {
        name: "doorbells",
        unit: "writes",
        doc: "Doorbells of transmit rings.",
        get: |m| sum(m.devices.iter().map(|d| d.doorbells)),
    },
    Metric {
        name: "doorbells_per_packet",
        unit: "writes",
        doc: "Doorbells for each packet that drivers accepted.",
        get: |m| {
            let packets = sum(m.devices.iter().map(|d| d.tx_packets));
            sum(m.devices.iter().map(|d| d.doorbells)) / packets.max(1.0)
        },
    },
    Metric {
        name: "tx_ring_max",
        unit: "descriptors",
        doc: "Most descriptors in use at a time on one transmit ring, over the whole run.",
        get: |m| m.devices.iter().map(|d| d.tx_ring_max).max().unwrap_or(0) as f64,
    },
    Metric {
        name: "tx_timeouts",
        unit: "calls",
        doc: "Times a watchdog found a queue stopped for too long.",
        get: |m| sum(m.devices.iter().map(|d| d.tx_timeouts)),
    },
    Metric {
        name: "qdisc_dropped",
        unit: "packets",
        doc: "Packets dropped at enqueue.",
        get: |m| sum(m.qdiscs.iter().map(|q| q.dropped)),
    },
    Metric {
        name: "qdisc_requeues",
        unit: "packets",
        doc: "Packets put back after the driver was busy.",
        get: |m| sum(m.qdiscs.iter().map(|q| q.requeues)),
    },
    Metric {
        name: "qdisc_bypassed",
        unit: "packets",
        doc: "Packets sent without being queued.",
        get: |m| sum(m.qdiscs.iter().map(|q| q.bypassed)),
    },
    Metric {
        name: "qlen",
        unit: "packets",
        doc: "Packets queued at the end.",
        get: |m| sum(m.qdiscs.iter().map(|q| q.qlen)),
    },
    Metric {
        name: "qlen_max",
        unit: "packets",
        doc: "Longest queue.",
        get: |m| m.qdiscs.iter().map(|q| q.qlen_max).max().unwrap_or(0) as f64,
    },
    Metric {
        name: "latency_ns_p50",
        unit: "ns",
        doc: "Median time from the attempt to the driver; the slowest flow's.",
        get: |m| latency(m, 0.5),
    },
    Metric {
        name: "latency_ns_p99",
        unit: "ns",
        doc: "99th percentile of the same.",
        get: |m| latency(m, 0.99),
    },
    Metric {
        name: "latency_ns_max",
        unit: "ns",
        doc: "Largest of the same.",
        get: |m| latency(m, 1.0),
    },
    Metric {
        name: "net_tx",
        unit: "count",
        doc: "NET_TX softirqs run.",
        get: |m| sum(m.cpus.iter().map(|c| c.net_tx)),
    },
    Metric {
        name: "net_rx",
        unit: "count",
        doc: "NET_RX softirqs run.",
        get: |m| sum(m.cpus.iter().map(|c| c.net_rx)),
    },
    Metric {
        name: "hitm",
        unit: "count",
        doc: "Lines taken dirty from another core.",
        get: |m| sum(m.cpus.iter().map(|c| c.hitm)),
    },
    Metric {
        name: "transfers_per_packet",
        unit: "lines",
        doc: "Lines that came from another core, or were taken from others to be written, for each packet that a driver accepted.",
        get: |m| {
            let moved = sum(m.cpus.iter().map(|c| c.llc_references - c.llc_misses));
            moved / sum(m.devices.iter().map(|d| d.tx_packets)).max(1.0)
        },
    },
];
