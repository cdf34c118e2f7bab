//! The plain NIC against recordings of a real kernel (6.1, a test NIC under root qdiscs, virtual clock):
//! every frame handed to the driver, doorbell, stop, wake, requeue, bulk dequeue, drop, completion,
//! interrupt and BQL state, in order, and within a microsecond in time.
//!
//! `SKBSIM_NIC=FOLDER` holds the simulator to the recordings in another folder instead.

use crate::support::{Difference, any_phase, recordings};
use crate::tc::Setup;
use scenarios::{Loader, Registry};
use serde_json::Value;
use sim_core::trace::{DqlField, Kind, Mode, NO_CPU, Recording};
use sim_core::world::{Options, Outcome, run};
use std::fmt::Write as _;
use std::path::Path;

/// What is compared, with its time in microseconds.
type Event = (f64, String);

#[test]
fn nic_recordings() {
    recordings("SKBSIM_NIC", "data/nic", compare);
}

/// The comparison finds what is wrong: a NIC that wakes late, and one that forgets BQL.
#[test]
fn nic_recordings_tell_a_wrong_driver() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/nic");
    let read = |name: &str| recording(&folder.join(name)).expect("a recording");
    let mut ring = read("nobql-ring4-pfifo_fast-prio.json");
    ring["nic"]["wake_thresh"] = 3.into();
    assert!(differs(&ring).is_err());
    let mut bql = read("bql-pfifo_fast-burst64.json");
    bql["nic"]["bql"] = 0.into();
    assert!(differs(&bql).is_err());
}

fn recording(file: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    serde_json::from_str(&text).map_err(|e| e.to_string())
}

fn compare(file: &Path) -> Result<(), String> {
    differs(&recording(file)?)
}

fn differs(recorded: &Value) -> Result<(), String> {
    any_phase(|phase| differs_at(recorded, phase))
}

/// The first difference between a recording and the simulation of its scenario.
fn differs_at(recorded: &Value, phase: u32) -> Result<(), Difference> {
    let scenario = scenario(recorded, phase).map_err(|e| (0, e))?;
    let registry = Registry::new();
    let loaded = Loader::new(&registry)
        .load_str("recording.ron", &scenario)
        .map_err(|rejected| (0, format!("{rejected}")))?;
    let options = Options {
        trace: Mode::All { bytes: 1 << 28 },
        ..Options::default()
    };
    let outcome = run(loaded.config(), &options);
    if let Some(v) = outcome.violations.first() {
        return Err((0, format!("{}: {}", v.law, v.what)));
    }
    let wanted = recorded_events(recorded).map_err(|e| (0, e))?;
    let got = simulated_events(outcome.recording.as_ref().expect("asked for"));
    for (i, (w, g)) in wanted.iter().zip(&got).enumerate() {
        if w.1 != g.1 || (w.0 - g.0).abs() > 1.0 {
            let why = format!(
                "event {i} of {}: recorded {:.0} us {}, simulated {:.3} us {}",
                wanted.len(),
                w.0,
                w.1,
                g.0,
                g.1
            );
            return Err((i, why));
        }
    }
    if wanted.len() != got.len() {
        let at = wanted.len().min(got.len());
        let why = format!(
            "{} events recorded, {} simulated; the first that is missing: {:?}",
            wanted.len(),
            got.len(),
            wanted.get(at).or(got.get(at))
        );
        return Err((at, why));
    }
    statistics(recorded, &outcome).map_err(|why| (wanted.len(), why))
}

/// The last `tc -s`.
fn statistics(recorded: &Value, outcome: &Outcome) -> Result<(), String> {
    let root = &recorded["end"]["qdisc"][0];
    let Some(q) = outcome.metrics.qdiscs.first() else {
        // A device without a queue.
        return Ok(());
    };
    for (field, got) in [
        ("bytes", q.bytes),
        ("packets", q.packets),
        ("drops", q.dropped),
        ("requeues", q.requeues),
        ("backlog", q.backlog),
        ("qlen", q.qlen),
    ] {
        let Some(wanted) = root[field].as_u64() else {
            continue;
        };
        // prio's requeues are its own; those of the driver are counted at the root all the same.
        if wanted != got {
            return Err(format!("tc -s: {field} {wanted} recorded, {got} simulated"));
        }
    }
    Ok(())
}

fn number(value: &Value, what: &str) -> Result<u64, String> {
    value
        .as_u64()
        .ok_or_else(|| format!("`{what}` is {value}, no number"))
}

/// The scenario that a recording was made of.
fn scenario(recorded: &Value, phase: u32) -> Result<String, String> {
    let nic = &recorded["nic"];
    let field = |name: &str| number(&nic[name], name);
    let or = |name: &str, otherwise: u64| nic[name].as_u64().unwrap_or(otherwise);
    let bql = if field("bql")? == 1 {
        let (min, max) = (or("limit_min", 0), or("limit_max", 1_879_048_192));
        format!("(limit_min: {min}, limit_max: {max})")
    } else {
        "None".to_owned()
    };
    let mut text = String::new();
    let _ = write!(
        text,
        "(version: 1, name: \"recording\", machine: \"oracle\", kernel: (base: \"v6.1\", hz: 100,
            clock: (grain: \"256ns\", min_delta: \"500ns\", phase: \"{phase}ns\")),
          hosts: [(name: \"h0\", devices: [(name: \"d0\", qdisc: {}, kind: Nic(
            tx_ring: {ring}, rx_ring: 1, rate: \"{}kbit\", wire_overhead: \"0B\",
            moderation: Delay(usecs: \"{}us\", frames: {}), bql: {bql},
            stop_thresh: {}, wake_thresh: {}, napi_weight: {}))],
          workloads: [Train(dev: \"d0\", packets: [",
        Setup::read(recorded)?.root("d0", "PfifoFast()")?,
        field("kbps")?,
        field("coal_us")?,
        field("coal_frames")?.clamp(1, u64::from(u32::MAX)),
        field("stop_thresh")?,
        field("wake_thresh")?,
        or("budget", 64),
        ring = field("ring")?,
    );
    for row in recorded["packets"].as_array().ok_or("no packets")? {
        // seq, sched_us, len, prio, mark, flow, sent_us, sendto
        let ns = |i: usize| {
            let us = row[i].as_f64().ok_or("a time is no number")?;
            Ok::<u64, String>((us * 1000.0).round() as u64)
        };
        let _ = write!(
            text,
            "(at: \"{}ns\", sent: \"{}ns\", size: \"{}B\", priority: {}, flow: {}), ",
            ns(1)?,
            ns(6)?,
            number(&row[2], "len")?,
            number(&row[3], "prio")?,
            number(&row[5], "flow")?
        );
    }
    text.push_str("])])], stop: Quiescent(limit: \"10s\"))");
    Ok(text)
}

/// Recorded events of the compared kinds.
fn recorded_events(recorded: &Value) -> Result<Vec<Event>, String> {
    let mut all = Vec::new();
    for row in recorded["events"].as_array().ok_or("no events")? {
        let t = row[0].as_f64().ok_or("an event without a time")?;
        let (kind, seq, d) = (row[1].as_str().unwrap_or(""), &row[2], &row[3]);
        let text = match kind {
            "enq" => format!("enqueue {seq}"),
            "deq" if d["n"].as_u64() > Some(1) => format!("bulk {}", d["n"]),
            "start" => format!("start {seq}"),
            "sn_tx" if d["doorbell"] == 1 => "doorbell".to_owned(),
            "sn_stop" => "stop".to_owned(),
            "sn_wake" => "wake".to_owned(),
            "sn_wire_done" => format!("wire {}", d["len"]),
            "sn_irq" => format!("irq {}", d["done"]),
            "napi_poll" => format!("poll {} of {}", d["work"], d["budget"]),
            "softirq_raise" => format!("raise {}", d["vec"].as_str().unwrap_or("")),
            "drop" => format!("drop {seq}"),
            "sn_dql_before" => format!(
                "dql {} packets {} bytes of {}",
                d["pkts"], d["count"], d["num_queued"]
            ),
            "sn_dql_after" => format!(
                "dql done {} adj_limit {} limit {} ovlimit {} slack {}",
                d["num_completed"], d["adj_limit"], d["limit"], d["prev_ovl"], d["lowest_slack"]
            ),
            _ => continue,
        };
        all.push((t, text));
    }
    Ok(all)
}

/// Simulated events of the same kinds.
fn simulated_events(recording: &Recording) -> Vec<Event> {
    let mut all = Vec::new();
    let mut dql = [0u32; DqlField::ALL.len()];
    let mut stopped = false;
    for r in &recording.records {
        let t = r.time as f64 / 1e6;
        let mut push = |text: String| all.push((t, text));
        match r.kind() {
            Kind::QdiscEnqueue => push(format!("enqueue {}", r.a)),
            Kind::QdiscBulk => push(format!("bulk {}", r.b)),
            Kind::DevXmit => push(format!("start {}", r.a)),
            Kind::Doorbell => push("doorbell".to_owned()),
            Kind::TxqState => {
                let now = r.b & 1 == 1;
                if now != stopped {
                    push(if now { "stop" } else { "wake" }.to_owned());
                }
                stopped = now;
            }
            Kind::WireDone => push(format!("wire {}", r.b)),
            Kind::NicIrq => push(format!("irq {}", r.b)),
            Kind::NapiPoll => push(format!("poll {} of {}", r.a, r.b)),
            Kind::SoftirqRaise if r.cpu != NO_CPU => {
                push(format!(
                    "raise {}",
                    if r.a == 2 { "NET_TX" } else { "NET_RX" }
                ));
            }
            Kind::SkbDrop => push(format!("drop {}", r.a)),
            Kind::Dql => {
                dql[(r.a & 0xff) as usize] = r.b;
                let value = |field: DqlField| dql[field as usize];
                if r.a & 0xff == DqlField::NumQueued as u32 {
                    push(format!(
                        "dql {} packets {} bytes of {}",
                        value(DqlField::Packets),
                        value(DqlField::Count),
                        value(DqlField::NumQueued)
                    ));
                } else if r.a & 0xff == DqlField::LowestSlack as u32 {
                    push(format!(
                        "dql done {} adj_limit {} limit {} ovlimit {} slack {}",
                        value(DqlField::NumCompleted),
                        value(DqlField::AdjLimit),
                        value(DqlField::Limit),
                        value(DqlField::PrevOvlimit),
                        value(DqlField::LowestSlack)
                    ));
                }
            }
            _ => {}
        }
    }
    all
}
