//! The report of one run: scenario, digest, flows, queues, CPUs, locks, findings.

use super::perf::{self, Events};
use super::{c2c, counters, netperf, receive, violation};
use crate::session::{Again, Look};
use crate::text::{self, Align, Table};
use hdrhistogram::Histogram;
use sim_core::config::{Config, Device, DeviceKind, NicDriver};
use sim_core::engine::StopReason;
use sim_core::metrics::{Metrics, Qdisc, rate};
use sim_core::world::Outcome;
use std::fmt::Write;

/// A finished run and how it came about.
pub struct One<'a> {
    /// What was simulated.
    pub config: &'a Config,
    /// With which seed.
    pub seed: u64,
    /// What came out.
    pub outcome: &'a Outcome,
    /// Bounds of the scenario that were not met, each told in a line.
    pub misses: &'a [String],
    /// How many bounds there were.
    pub bounds: usize,
    /// The recording written, if one was: name and size.
    pub wrote: Option<(String, u64)>,
    /// All locks and lines, not only the busiest.
    pub verbose: bool,
}

/// The whole report.
pub fn report(run: &One<'_>, again: &Again, look: &Look) -> String {
    let metrics = &run.outcome.metrics;
    let mut text = head(run);
    text += &stop(&run.outcome.stop);
    text.push('\n');
    text += &flows(metrics);
    text += &netperf::streams(metrics);
    text += &section(&qdiscs(metrics));
    text += &section(&receive::sockets(metrics));
    text += &section(&receive::softnet(metrics));
    text += &section(&counters::cpus(metrics));
    text += &section(&counters::locks(metrics, run.verbose));
    text += &section(&perf::block(&run.config.name, &[Events::of(metrics)]));
    text += &section(&counters::lines(metrics, run.verbose));
    text += &section(&c2c::report(metrics, run.verbose));
    text.push('\n');
    text += &findings(run, again, look);
    text
}

/// A part of the report, set off by an empty line, or nothing.
fn section(part: &str) -> String {
    if part.is_empty() {
        String::new()
    } else {
        format!("\n{part}")
    }
}

fn head(run: &One<'_>) -> String {
    let mut text = format!(
        "scenario  {}   {}   seed {}\n",
        run.config.name,
        describe(run.config),
        run.seed
    );
    let outcome = run.outcome;
    let _ = write!(
        text,
        "digest    {}   {} micro-steps",
        outcome.digest,
        text::group(outcome.steps)
    );
    let _ = write!(text, "   {}", text::ms(outcome.end));
    if outcome.metrics.window != 0 && outcome.metrics.window != outcome.end {
        let _ = write!(text, " (measured: {})", text::ms(outcome.metrics.window));
    }
    if let Some((name, bytes)) = &run.wrote {
        let _ = write!(
            text,
            "   wrote {name} ({:.1} MiB)",
            *bytes as f64 / f64::from(1 << 20)
        );
    }
    text.push('\n');
    text
}

/// Machine, kernel and devices of each host in a line.
pub fn describe(config: &Config) -> String {
    let several = config.hosts.len() > 1;
    let host = |h: &sim_core::config::Host| {
        let name = if several {
            format!("{}: ", h.name)
        } else {
            String::new()
        };
        let devices: Vec<String> = h.devices.iter().map(device).collect();
        format!(
            "{name}{}   lockless {}   {} CPUs   {}",
            h.machine.name,
            h.kernel.lockless.name(),
            h.machine.topology.cpus(),
            devices.join(", ")
        )
    };
    config.hosts.iter().map(host).collect::<Vec<_>>().join("; ")
}

fn device(device: &Device) -> String {
    let kind = match device.kind {
        DeviceKind::Dummy => "dummy",
        DeviceKind::Vlan(_) => "vlan",
        DeviceKind::Loopback => "loopback",
        DeviceKind::Veth(_) => "veth",
        DeviceKind::Nic(ref nic) => match nic.driver {
            NicDriver::Mlx5 => "mlx5_core",
            NicDriver::Myri10ge => "myri10ge",
            NicDriver::Ixgbe => "ixgbe",
            NicDriver::Plain => "nic",
        },
    };
    let qdisc = qdisc_name(&device.qdisc);
    let queues = text::count(device.txqs as usize, "tx queue");
    format!("{} ({kind}, {queues}, {qdisc})", device.name)
}

fn qdisc_name(qdisc: &sim_core::config::Qdisc) -> String {
    use sim_core::config::Qdisc;
    match qdisc {
        Qdisc::PfifoFast { .. } => "pfifo_fast".into(),
        Qdisc::Pfifo { .. } => "pfifo".into(),
        Qdisc::Bfifo { .. } => "bfifo".into(),
        Qdisc::Prio { .. } => "prio".into(),
        Qdisc::Codel { .. } => "codel".into(),
        Qdisc::FqCodel { .. } => "fq_codel".into(),
        Qdisc::Tbf(t) => format!("tbf over {}", qdisc_name(&t.child)),
        Qdisc::Mq(each) => format!("mq of {}", qdisc_name(each)),
        Qdisc::Noqueue => "noqueue".into(),
    }
}

/// A line only for the ends that need one.
fn stop(reason: &StopReason) -> String {
    match reason {
        StopReason::Deadline | StopReason::Quiescent => String::new(),
        StopReason::Deadlock(waits) => {
            let lines: String = waits.iter().map(|w| format!("          {w}\n")).collect();
            format!("stopped   deadlock\n{lines}")
        }
        StopReason::StepLimit(place) => format!(
            "stopped   step limit reached; busiest: {place}\n          \
             raise it with --set step_limit=N, or look for a loop there\n"
        ),
        StopReason::Livelock { function, .. } => format!("livelock: {function}\n"),
        StopReason::TraceFull => {
            "stopped   the recording is full; give it more with --memory, or run a shorter time\n"
                .to_owned()
        }
    }
}

/// pktgen's line for each flow, their sum, and their latencies.
pub fn flows(metrics: &Metrics) -> String {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("", Align::Left),
        ("", Align::Right),
        ("", Align::Right),
        ("", Align::Left),
    ]);
    let mut row = |name: &str, cpu: String, sent: u64, bytes: u64, errors: u64| {
        let pps = rate(sent, metrics.window);
        let bps = rate(bytes, metrics.window) * 8.0;
        let bits = format!(
            "{:.0}Mb/sec ({bps:.0}bps) errors: {}",
            (bps / 1e6).floor(),
            text::group(errors)
        );
        let pkts = format!("{} pkts", text::group(sent));
        table.row(vec![
            name.to_owned(),
            cpu,
            pkts,
            format!("{pps:.0}pps"),
            bits,
        ]);
    };
    for f in &metrics.flows {
        row(&f.name, format!("CPU{}", f.cpu), f.sent, f.bytes, f.errors);
    }
    if metrics.flows.len() > 1 {
        let of = |field: fn(&sim_core::metrics::Flow) -> u64| metrics.flows.iter().map(field).sum();
        row(
            "all",
            String::new(),
            of(|f| f.sent),
            of(|f| f.bytes),
            of(|f| f.errors),
        );
    }
    // The heads are empty: pktgen has none, and each cell carries its unit.
    let lines = table.render("flow ");
    let lines: String = lines.lines().skip(1).map(|l| format!("{l}\n")).collect();
    if metrics.flows.is_empty() {
        String::new()
    } else {
        lines + &latencies(metrics)
    }
}

fn latencies(metrics: &Metrics) -> String {
    let heads = crate::expect::PERCENTILES.map(|(head, _)| (head, Align::Right));
    let mut columns = vec![("latency (ns)", Align::Left)];
    columns.extend(heads);
    columns.push(("max", Align::Right));
    let mut table = Table::new(&columns);
    let mut row = |name: &str, h: &Histogram<u64>| {
        let mut cells = vec![name.to_owned()];
        cells
            .extend(crate::expect::PERCENTILES.map(|(_, p)| text::group(h.value_at_percentile(p))));
        cells.push(text::group(h.max()));
        table.row(cells);
    };
    for f in metrics.flows.iter().filter(|f| !f.latency.is_empty()) {
        row(&f.name, &f.latency);
    }
    if metrics.flows.len() > 1
        && let Some(all) = crate::expect::latency(metrics)
    {
        row("all", &all);
    }
    if table.is_empty() {
        String::new()
    } else {
        format!("\n{}", table.render(""))
    }
}

/// As `tc -s qdisc` prints them, and a line of our own.
pub fn qdiscs(metrics: &Metrics) -> String {
    let mut text = String::new();
    for q in &metrics.qdiscs {
        let (dev, queue) = q.name.rsplit_once(':').unwrap_or((&q.name, "0"));
        let one = metrics
            .qdiscs
            .iter()
            .filter(|o| !o.child)
            .filter(|o| o.name.rsplit_once(':').is_some_and(|(d, _)| d == dev))
            .count()
            < 2;
        let parent = match (one, queue.parse::<u32>()) {
            _ if q.child => "parent 1:1".to_owned(),
            // tc numbers the children of mq from 1, in hexadecimal.
            (false, Ok(n)) => format!("parent :{:x}", n + 1),
            _ => "root".to_owned(),
        };
        let _ = writeln!(text, "qdisc {} 0: dev {dev} {parent}", q.kind);
        text += &tc_lines(q);
    }
    text
}

fn tc_lines(q: &Qdisc) -> String {
    format!(
        " Sent {} bytes {} pkt (dropped {}, overlimits {} requeues {})\n backlog {}b {}p requeues {}\n  \
         bypassed {}  runs {}  maxqlen {}p\n",
        q.bytes,
        q.packets,
        q.dropped,
        q.overlimits,
        q.requeues,
        q.backlog,
        q.qlen,
        q.requeues,
        q.bypassed,
        q.runs,
        q.qlen_max
    )
}

fn findings(run: &One<'_>, again: &Again, look: &Look) -> String {
    let found = &run.outcome.violations;
    let met = match (run.bounds, run.misses.len()) {
        (0, _) => "none declared".to_owned(),
        (all, missed) => format!("{} of {all} met", all - missed),
    };
    let n = if found.is_empty() {
        "none".to_owned()
    } else {
        found.len().to_string()
    };
    let mut text = format!("findings: {n}        expectations: {met}\n");
    for miss in run.misses {
        let _ = writeln!(text, "  NOT MET {miss}");
    }
    for v in found {
        text += &violation::full(v, again, run.seed, look);
    }
    if found.is_empty() && !run.misses.is_empty() {
        let _ = writeln!(text, "  replay: {}", again.run(run.seed));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_run_with_a_stuck_packet() {
        let (config, outcome) = (testing::config(), testing::outcome(7));
        let misses = ["mpps is 1.250, expected at least 2".to_owned()];
        let run = One {
            config: &config,
            seed: 7,
            outcome: &outcome,
            misses: &misses,
            bounds: 2,
            wrote: None,
            verbose: false,
        };
        let again = Again::new("two.ron", &[("kernel.lockless".into(), "v0".into())]);
        insta::assert_snapshot!(report(&run, &again, &Look::default()));
    }

    #[test]
    fn a_clean_run_says_so() {
        let (config, mut outcome) = (testing::config(), testing::outcome(8));
        outcome.violations.clear();
        let run = One {
            config: &config,
            seed: 8,
            outcome: &outcome,
            misses: &[],
            bounds: 0,
            wrote: None,
            verbose: false,
        };
        let text = report(&run, &Again::new("two.ron", &[]), &Look::default());
        assert!(
            text.ends_with("findings: none        expectations: none declared\n"),
            "{text}"
        );
    }
}
