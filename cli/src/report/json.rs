//! Results as JSON documents: `{"schema":"skbsim.NAME/VERSION","data":{...}}`.
//!
//! Units are in the keys. Integers stay integers; one above 2^53 is a string, because JavaScript
//! and jq would round it.

use super::seeds::Kept;
use crate::session::Again;
use serde::{Serialize, Serializer};
use sim_core::config::Config;
use sim_core::engine::StopReason;
use sim_core::violation::Violation;
use sim_core::world::Outcome;

/// A document as one line of text.
pub fn document<T: Serialize>(schema: &str, data: T) -> String {
    #[derive(Serialize)]
    struct Document<'a, T> {
        schema: &'a str,
        data: T,
    }
    // Writing plain structs to memory cannot fail: no maps with odd keys, no I/O.
    serde_json::to_string(&Document { schema, data }).expect("plain data becomes JSON") + "\n"
}

/// An integer that survives readers which keep numbers as doubles.
#[derive(Clone, Copy, Debug)]
pub struct Int(pub u64);

impl Serialize for Int {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 > 1 << 53 {
            serializer.collect_str(&self.0)
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

/// A violation with the commands that show it again.
#[derive(Serialize)]
pub struct Finding {
    law: &'static str,
    time_ps: Int,
    cpu: Option<u16>,
    function: &'static str,
    what: String,
    skb: Option<u32>,
    freed_by_next: Option<bool>,
    replay: String,
    view: String,
}

impl Finding {
    /// Of this violation in the run that `again` and `seed` repeat.
    pub fn of(v: &Violation, again: &Again, seed: u64) -> Finding {
        Finding {
            law: v.law.name(),
            time_ps: Int(v.time),
            cpu: v.cpu,
            function: v.function,
            what: v.what.clone(),
            skb: v.skb,
            freed_by_next: v.freed_by_next,
            replay: again.run(seed),
            view: again.view(seed, v.time),
        }
    }
}

#[derive(Serialize)]
struct Percentiles {
    p50_ns: Int,
    p90_ns: Int,
    p99_ns: Int,
    p999_ns: Int,
    max_ns: Int,
}

#[derive(Serialize)]
struct Flow<'a> {
    name: &'a str,
    cpu: u16,
    offered_pkts: Int,
    sent_pkts: Int,
    errors: Int,
    sent_bytes: Int,
    rate_pps: f64,
    latency: Option<Percentiles>,
}

/// The keys that `tc -s -j qdisc` uses, where it has them.
#[derive(Serialize)]
struct Qdisc<'a> {
    name: &'a str,
    kind: &'a str,
    bytes: Int,
    packets: Int,
    drops: Int,
    overlimits: Int,
    requeues: Int,
    backlog: Int,
    qlen: Int,
    bypassed: Int,
    runs: Int,
    qlen_max: Int,
}

#[derive(Serialize)]
struct Device<'a> {
    name: &'a str,
    tx_packets: Int,
    tx_bytes: Int,
    tx_dropped: Int,
    rx_packets: Int,
    rx_dropped: Int,
}

#[derive(Serialize)]
struct Cpu<'a> {
    name: &'a str,
    task_ps: Int,
    softirq_ps: Int,
    hardirq_ps: Int,
    idle_ps: Int,
    spin_ps: Int,
    stall_ps: Int,
    instructions: Int,
    llc_references: Int,
    llc_misses: Int,
    hitm: Int,
    branch_misses: Int,
    context_switches: Int,
    net_tx: Int,
    net_rx: Int,
    squeezed: Int,
}

/// The columns of `/proc/net/softnet_stat`.
#[derive(Serialize)]
struct Softnet<'a> {
    name: &'a str,
    processed: Int,
    dropped: Int,
    time_squeeze: Int,
    received_rps: Int,
}

#[derive(Serialize)]
struct UdpSock<'a> {
    name: &'a str,
    received: Int,
    rcvbuf_errors: Int,
    read: Int,
    bytes: Int,
}

#[derive(Serialize)]
struct Lock<'a> {
    name: &'a str,
    acquired: Int,
    contended: Int,
    trylock_failed: Int,
    wait_ps: Int,
    wait_max_ps: Int,
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    transfers: Int,
    hitm: Int,
    hitm_by_field: Vec<Field<'a>>,
    accesses: Vec<Access<'a>>,
    pairs: Vec<Pair<'a>>,
}

/// A row of `perf c2c`'s second table.
#[derive(Serialize)]
struct Access<'a> {
    field: &'a str,
    offset: Option<u16>,
    function: &'a str,
    cpus: &'a [u16],
    loads: Int,
    stores: Int,
    store_misses: Int,
    hitm_local: Int,
    hitm_remote: Int,
}

#[derive(Serialize)]
struct Pair<'a> {
    wrote: &'a str,
    wrote_in: &'a str,
    wanted: &'a str,
    wanted_in: &'a str,
    hitm: Int,
}

#[derive(Serialize)]
struct Field<'a> {
    field: &'a str,
    hitm: Int,
}

#[derive(Serialize)]
struct Counters<'a> {
    window_ps: Int,
    rate_pps: f64,
    tx_rate_pps: f64,
    flows: Vec<Flow<'a>>,
    devices: Vec<Device<'a>>,
    qdiscs: Vec<Qdisc<'a>>,
    cpus: Vec<Cpu<'a>>,
    locks: Vec<Lock<'a>>,
    lines: Vec<Line<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    softnet: Vec<Softnet<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    udp: Vec<UdpSock<'a>>,
}

#[derive(Serialize)]
struct OneRun<'a> {
    scenario: &'a str,
    seed: Int,
    stop: &'static str,
    stop_detail: Vec<String>,
    digest: &'a str,
    micro_steps: Int,
    end_ps: Int,
    violations: Vec<Finding>,
    expectations_missed: &'a [String],
    replay: String,
    metrics: Counters<'a>,
}

/// `skbsim.run/1` of one run.
pub fn one(
    config: &Config,
    seed: u64,
    outcome: &Outcome,
    misses: &[String],
    again: &Again,
) -> String {
    let (stop, stop_detail) = match &outcome.stop {
        StopReason::Deadline => ("deadline", vec![]),
        StopReason::Quiescent => ("quiescent", vec![]),
        StopReason::Deadlock(waits) => ("deadlock", waits.clone()),
        StopReason::StepLimit(place) => ("step_limit", vec![place.clone()]),
        StopReason::Livelock { waits, .. } => ("livelock", waits.clone()),
        StopReason::TraceFull => ("trace_full", vec![]),
    };
    let run = OneRun {
        scenario: &config.name,
        seed: Int(seed),
        stop,
        stop_detail,
        digest: &outcome.digest,
        micro_steps: Int(outcome.steps),
        end_ps: Int(outcome.end),
        violations: outcome
            .violations
            .iter()
            .map(|v| Finding::of(v, again, seed))
            .collect(),
        expectations_missed: misses,
        replay: again.run(seed),
        metrics: counters(&outcome.metrics),
    };
    document("skbsim.run/1", run)
}

fn counters(m: &sim_core::metrics::Metrics) -> Counters<'_> {
    Counters {
        window_ps: Int(m.window),
        rate_pps: m.pps(),
        tx_rate_pps: m.tx_pps(),
        flows: m.flows.iter().map(|f| flow(f, m.window)).collect(),
        devices: m.devices.iter().map(device).collect(),
        qdiscs: m.qdiscs.iter().map(qdisc).collect(),
        cpus: m.cpus.iter().map(cpu).collect(),
        locks: m.locks.iter().map(lock).collect(),
        lines: m.lines.iter().map(line).collect(),
        softnet: m.softnet.iter().map(softnet).collect(),
        udp: m.udp.iter().map(udp).collect(),
    }
}

fn flow(f: &sim_core::metrics::Flow, window: u64) -> Flow<'_> {
    let at = |p: f64| Int(f.latency.value_at_percentile(p));
    let latency = (!f.latency.is_empty()).then(|| Percentiles {
        p50_ns: at(50.0),
        p90_ns: at(90.0),
        p99_ns: at(99.0),
        p999_ns: at(99.9),
        max_ns: Int(f.latency.max()),
    });
    Flow {
        name: &f.name,
        cpu: f.cpu,
        offered_pkts: Int(f.offered),
        sent_pkts: Int(f.sent),
        errors: Int(f.errors),
        sent_bytes: Int(f.bytes),
        rate_pps: sim_core::metrics::rate(f.sent, window),
        latency,
    }
}

fn device(d: &sim_core::metrics::Device) -> Device<'_> {
    Device {
        name: &d.name,
        tx_packets: Int(d.tx_packets),
        tx_bytes: Int(d.tx_bytes),
        tx_dropped: Int(d.tx_dropped),
        rx_packets: Int(d.rx_packets),
        rx_dropped: Int(d.rx_dropped),
    }
}

fn qdisc(q: &sim_core::metrics::Qdisc) -> Qdisc<'_> {
    Qdisc {
        name: &q.name,
        kind: &q.kind,
        bytes: Int(q.bytes),
        packets: Int(q.packets),
        drops: Int(q.dropped),
        overlimits: Int(q.overlimits),
        requeues: Int(q.requeues),
        backlog: Int(q.backlog),
        qlen: Int(q.qlen),
        bypassed: Int(q.bypassed),
        runs: Int(q.runs),
        qlen_max: Int(q.qlen_max),
    }
}

fn cpu(c: &sim_core::metrics::Cpu) -> Cpu<'_> {
    Cpu {
        name: &c.name,
        task_ps: Int(c.task),
        softirq_ps: Int(c.softirq),
        hardirq_ps: Int(c.hardirq),
        idle_ps: Int(c.idle),
        spin_ps: Int(c.spin),
        stall_ps: Int(c.stall),
        instructions: Int(c.instructions),
        llc_references: Int(c.llc_references),
        llc_misses: Int(c.llc_misses),
        hitm: Int(c.hitm),
        branch_misses: Int(c.branch_misses),
        context_switches: Int(c.context_switches),
        net_tx: Int(c.net_tx),
        net_rx: Int(c.net_rx),
        squeezed: Int(c.squeezed),
    }
}

fn softnet(s: &sim_core::metrics::Softnet) -> Softnet<'_> {
    Softnet {
        name: &s.name,
        processed: Int(s.processed),
        dropped: Int(s.dropped),
        time_squeeze: Int(s.time_squeeze),
        received_rps: Int(s.received_rps),
    }
}

fn udp(s: &sim_core::metrics::UdpSock) -> UdpSock<'_> {
    UdpSock {
        name: &s.name,
        received: Int(s.received),
        rcvbuf_errors: Int(s.rcvbuf_errors),
        read: Int(s.read),
        bytes: Int(s.bytes),
    }
}

fn lock(l: &sim_core::metrics::Lock) -> Lock<'_> {
    Lock {
        name: &l.name,
        acquired: Int(l.acquired),
        contended: Int(l.contended),
        trylock_failed: Int(l.failed),
        wait_ps: Int(l.wait),
        wait_max_ps: Int(l.wait_max),
    }
}

fn line(l: &sim_core::metrics::Line) -> Line<'_> {
    let fields = l
        .hitm_by_field
        .iter()
        .map(|(field, n)| Field {
            field,
            hitm: Int(*n),
        })
        .collect();
    Line {
        name: &l.name,
        transfers: Int(l.transfers),
        hitm: Int(l.hitm),
        hitm_by_field: fields,
        accesses: l.accesses.iter().map(access).collect(),
        pairs: l.pairs.iter().map(pair).collect(),
    }
}

fn access(a: &sim_core::metrics::Access) -> Access<'_> {
    Access {
        field: &a.field,
        offset: a.offset,
        function: &a.function,
        cpus: &a.cpus,
        loads: Int(a.loads),
        stores: Int(a.stores),
        store_misses: Int(a.store_misses),
        hitm_local: Int(a.hitm_local),
        hitm_remote: Int(a.hitm_remote),
    }
}

fn pair(p: &sim_core::metrics::Pair) -> Pair<'_> {
    Pair {
        wrote: &p.wrote,
        wrote_in: &p.wrote_in,
        wanted: &p.wanted,
        wanted_in: &p.wanted_in,
        hitm: Int(p.hitm),
    }
}

/// One run of many.
#[derive(Serialize)]
struct Run<'a> {
    seed: Int,
    digest: &'a str,
    micro_steps: Int,
    rate_pps: f64,
    violations: Vec<Finding>,
}

/// One point of a sweep (the only one, if the scenario does not sweep) and its runs.
#[derive(Serialize)]
pub struct Point<'a> {
    point: &'a str,
    digest: String,
    rate_pps_mean: Option<f64>,
    rate_pps_sd: Option<f64>,
    expectations_missed: &'a [String],
    runs: Vec<Run<'a>>,
}

impl Point<'_> {
    /// Of these runs, which `again` repeats.
    pub fn of<'a>(
        label: &'a str,
        runs: &'a [Kept],
        misses: &'a [String],
        again: &Again,
    ) -> Point<'a> {
        let pps = super::seeds::sample(runs);
        let run = |r: &'a Kept| Run {
            seed: Int(r.seed),
            digest: &r.digest,
            micro_steps: Int(r.steps),
            rate_pps: r.pps,
            violations: r
                .violations
                .iter()
                .map(|v| Finding::of(v, again, r.seed))
                .collect(),
        };
        Point {
            point: label,
            digest: super::seeds::digest(runs),
            rate_pps_mean: pps.map(|s| s.mean),
            rate_pps_sd: pps.map(|s| s.sd),
            expectations_missed: misses,
            runs: runs.iter().map(run).collect(),
        }
    }
}

/// `skbsim.runs/1`: many seeds, or a sweep.
pub fn many(scenario: &str, asked: usize, points: Vec<Point<'_>>) -> String {
    #[derive(Serialize)]
    struct Many<'a> {
        scenario: &'a str,
        runs_asked: usize,
        runs_finished: usize,
        points: Vec<Point<'a>>,
    }
    let runs_finished = points.iter().map(|p| p.runs.len()).sum();
    document(
        "skbsim.runs/1",
        Many {
            scenario,
            runs_asked: asked,
            runs_finished,
            points,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn one_run() {
        let text = one(
            &testing::config(),
            7,
            &testing::outcome(7),
            &[],
            &Again::new("two.ron", &[]),
        );
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        insta::assert_snapshot!(serde_json::to_string_pretty(&value).expect("JSON"));
    }

    #[test]
    fn big_integers_are_strings() {
        assert_eq!(
            serde_json::to_string(&Int(1 << 53)).expect("JSON"),
            "9007199254740992"
        );
        assert_eq!(
            serde_json::to_string(&Int((1 << 53) + 1)).expect("JSON"),
            "\"9007199254740993\""
        );
    }
}
