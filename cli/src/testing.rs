//! Hand-made configurations and outcomes for tests of this crate.

use crate::args::Cli;
use crate::exit::Exit;
use crate::library::Registry;
use crate::session::{Look, Runner, Session};
use clap::Parser;
use hdrhistogram::Histogram;
use sim_core::config::*;
use sim_core::engine::StopReason;
use sim_core::kernel::variant::{Builtin, Lockless};
use sim_core::machine::cost::{Arch, MemoryModel, Param, Profile, TopologySpec};
use sim_core::metrics::{self, Metrics};
use sim_core::trace::{Kind, LineName, Names, Record, Recording, WordName};
use sim_core::violation::{Law, Violation};
use sim_core::world::{Options, Outcome};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Two senders on a lockless pfifo_fast of a dummy device.
pub fn config() -> Config {
    let machine = Profile {
        name: "kunpeng-920".into(),
        arch: Arch::Arm64,
        memory: MemoryModel::Weak,
        store_buffer: true,
        topology: TopologySpec {
            sockets: 1,
            dies: 1,
            clusters: 1,
            cores: 4,
            smt: 1,
        },
        values: vec![0; Param::ALL.len()],
    };
    let pktgen = Pktgen {
        dev: 0,
        mode: XmitMode::QueueXmit,
        cpus: vec![0, 1],
        packets: Some(4),
        clone_skb: 0,
        burst: 1,
        size: 60,
        priority: 0,
    };
    Config {
        name: "two".into(),
        links: Vec::new(),
        hosts: vec![Host {
            name: "h0".into(),
            machine: Arc::new(machine),
            kernel: Kernel {
                lockless: Lockless::Builtin(Builtin::V0),
                set3_retry: Set3Retry::ReadFirst,
                dev_weight: 64,
                tas_bit_early_return: false,
                ..Kernel::default()
            },
            layouts: Default::default(),
            devices: vec![Device {
                name: "d0".into(),
                kind: DeviceKind::Dummy,
                txqs: 1,
                qdisc: Qdisc::PfifoFast { limit: 1000 },
                rps_cpus: Vec::new(),
                xps: Vec::new(),
            }],
            workloads: vec![Workload::Pktgen(pktgen)],
        }],
        stop: Stop::Quiescent {
            limit: 1_000_000_000,
        },
        warmup: 0,
        step_limit: 1_000_000,
    }
}

/// The outcome of `config()` with this seed; odd seeds strand a packet.
pub fn outcome(seed: u64) -> Outcome {
    let violations = if seed % 2 == 1 {
        vec![stuck(1_234_567 + seed)]
    } else {
        vec![]
    };
    Outcome {
        stop: StopReason::Quiescent,
        end: 10_000_000_000,
        steps: 184_202 + seed,
        digest: format!(
            "{:032x}",
            (u128::from(seed) + 1) * 0x9a0f_83a8_d21c_77e0_c41b
        ),
        violations,
        metrics: metrics(seed),
        recording: None,
    }
}

/// A runner that knows only seeds.
pub fn runner(_: &Config, options: &Options) -> Outcome {
    let recording = (options.trace != sim_core::trace::Mode::Off).then(recording);
    Outcome {
        recording,
        ..outcome(options.seed)
    }
}

fn stuck(time: u64) -> Violation {
    Violation {
        law: Law::PacketStuck,
        time,
        cpu: Some(1),
        function: "qdisc_run_begin",
        what: "skb 7 stays in qdisc d0:0 pfifo_fast (1 packet), nobody is due to send it".into(),
        skb: Some(7),
        freed_by_next: Some(true),
    }
}

fn metrics(seed: u64) -> Metrics {
    let flow = |cpu: u16, sent: u64| {
        let mut latency = Histogram::new(3).expect("three digits");
        for i in 0..sent {
            latency.saturating_record(100 + i % 1000);
        }
        metrics::Flow {
            name: format!("d0@{cpu}"),
            cpu,
            offered: sent + 1,
            sent,
            errors: 1,
            bytes: sent * 60,
            latency,
        }
    };
    let cpu = |name: &str, task: u64| metrics::Cpu {
        name: name.into(),
        task,
        softirq: 2_000_000_000,
        idle: 8_000_000_000 - task,
        spin: 14_000_000,
        stall: 700_000_000,
        instructions: 12_345_678,
        llc_references: 60_000,
        hitm: 20_000,
        net_tx: 1204,
        ..Default::default()
    };
    Metrics {
        window: 10_000_000_000,
        flows: vec![flow(0, 24_805), flow(1, 21_000 + seed)],
        devices: vec![],
        qdiscs: vec![metrics::Qdisc {
            name: "d0:0".into(),
            kind: "pfifo_fast".into(),
            child: false,
            overlimits: 0,
            bytes: 2_748_300,
            packets: 45_805,
            dropped: 2,
            requeues: 12,
            bypassed: 100,
            qlen: 1,
            backlog: 60,
            qlen_max: 25,
            runs: 31_000,
        }],
        cpus: vec![
            cpu("CPU0", 6_000_000_000),
            cpu("CPU1", 7_900_000_000),
            metrics::Cpu {
                name: "CPU2".into(),
                idle: 10_000_000_000,
                ..Default::default()
            },
        ],
        locks: vec![metrics::Lock {
            name: "d0:0 seqlock".into(),
            acquired: 66_009,
            contended: 20_594,
            failed: 11,
            wait: 3_542_168_000,
            wait_max: 1_204_000,
        }],
        lines: vec![metrics::Line {
            name: "Qdisc d0:0 line 2".into(),
            transfers: 90_000,
            hitm: 40_000,
            hitm_by_field: vec![("seqlock".into(), 30_000), ("state".into(), 10_000)],
            ..metrics::Line::default()
        }],
        streams: vec![],
        softnet: vec![],
        udp: vec![],
    }
}

/// A short recording with one record of most kinds that name something.
pub fn recording() -> Recording {
    let names = Names {
        scenario: "two".into(),
        cpus: vec!["CPU0".into(), "CPU1".into()],
        cores: vec![0, 1],
        tasks: vec!["kpktgend_0".into()],
        functions: vec!["__dev_queue_xmit".into()],
        words: vec![WordName {
            name: "qdisc d0:0 seqlock".into(),
            line: 0,
            offset: 8,
        }],
        lines: vec![LineName {
            name: "Qdisc d0:0 line 2".into(),
        }],
        locks: vec!["d0:0 seqlock".into()],
        qdiscs: vec!["d0:0 pfifo_fast".into()],
        txqs: vec!["d0:0".into()],
        reasons: vec!["QDISC_DROP".into()],
        marks: vec!["loop".into()],
    };
    let kinds = [
        Kind::CtxEnter,
        Kind::FnEnter,
        Kind::Rmw,
        Kind::TrylockFail,
        Kind::QdiscEnqueue,
        Kind::FnLeave,
    ];
    let record = |i: usize| Record {
        time: 100 * i as u64,
        cpu: (i % 2) as u16,
        kind: kinds[i % kinds.len()] as u16,
        cause: u32::from(i > 0),
        a: 0,
        b: 0,
    };
    Recording {
        names,
        records: (0..6000).map(record).collect(),
        dropped: 0,
        violations: vec![stuck(1_234_567)],
        digest: format!("{:032x}", 0x1234_5678_u128),
        end: 10_000_000_000,
        command: "skbsim run two.ron --seed 7".into(),
    }
}

/// What a command line printed and how it ended, with a fake simulator.
pub struct Ran {
    /// How it ended.
    pub exit: Exit,
    /// stdout.
    pub out: String,
    /// stderr.
    pub err: String,
}

/// Runs a command line with [`runner`].
pub fn skbsim(line: &str) -> Ran {
    skbsim_with(line, &runner, false)
}

/// Runs a command line with this simulator, interrupted from the start or not.
pub fn skbsim_with(line: &str, runner: &Runner, interrupted: bool) -> Ran {
    let cli =
        Cli::try_parse_from(format!("skbsim {line}").split_whitespace()).expect("valid usage");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut session = Session {
        out: Box::new(&mut out),
        err: Box::new(&mut err),
        look: Look::default(),
        registry: &Registry::new(),
        runner,
        interrupted: Arc::new(AtomicBool::new(interrupted)),
        catch_interrupts: |_| (),
    };
    let exit = crate::main_in(&mut session, cli.command);
    drop(session);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran {
        exit,
        out: text(out),
        err: text(err),
    }
}

/// An empty directory of this test's own, below the build directory.
pub fn directory(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("skbsim-cli-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a temporary directory");
    path
}
