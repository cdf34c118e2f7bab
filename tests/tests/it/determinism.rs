//! The same seed gives the same run, however it is run and whoever looks.

use crate::support::{assert_same_metrics, config, library_points, seeded};
use clap::Parser;
use sim_core::config::{Config, Device, DeviceKind, Pktgen, Qdisc, Workload, XmitMode};
use sim_core::metrics::Metrics;
use sim_core::trace::{Kind, Level, Mode};
use sim_core::world::{Options, Outcome, run};

/// Runs every library point plainly and as `options` say; hands both to `compare`.
fn against_plain(options: &Options, compare: impl Fn(&Outcome, &Outcome, &str)) {
    for (name, config) in library_points() {
        let plain = seeded(&config, options.seed);
        let other = run(&config, options);
        assert!(plain.steps > 0, "{name} does nothing");
        assert_eq!(
            (&plain.digest, plain.end, plain.steps),
            (&other.digest, other.end, other.steps),
            "{name}"
        );
        assert_eq!(
            (&plain.stop, &plain.violations),
            (&other.stop, &other.violations),
            "{name}"
        );
        compare(&plain, &other, &name);
    }
}

/// Running a scenario again with the same seed changes nothing.
#[test]
fn twice_is_the_same() {
    let options = Options {
        seed: 3,
        names: false,
        ..Options::default()
    };
    against_plain(&options, |a, b, name| {
        assert_same_metrics(&a.metrics, &b.metrics, name)
    });
}

/// Without the inline fast path every micro-step goes through the queue, and nothing else changes.
#[test]
fn the_fast_path_is_only_faster() {
    let options = Options {
        seed: 4,
        names: false,
        fast_path: false,
        ..Options::default()
    };
    against_plain(&options, |a, b, name| {
        assert_same_metrics(&a.metrics, &b.metrics, name)
    });
}

/// A run does not notice that it is recorded, nor that its words have names.
#[test]
fn recording_and_names_disturb_nothing() {
    let options = Options {
        seed: 5,
        trace: Mode::Ring { bytes: 1 << 20 },
        ..Options::default()
    };
    against_plain(&options, |a, b, name| {
        assert_same_metrics(&a.metrics, &b.metrics, name);
        assert!(
            b.recording.as_ref().is_some_and(|r| !r.records.is_empty()),
            "{name}"
        );
    });
}

/// Names alone disturb nothing either.
#[test]
fn names_alone_disturb_nothing() {
    against_plain(
        &Options {
            seed: 6,
            ..Options::default()
        },
        |a, b, name| {
            assert_same_metrics(&a.metrics, &b.metrics, name);
        },
    );
}

/// Another seed is another run, wherever the machine has jitter.
#[test]
fn seeds_matter() {
    for (name, config) in library_points() {
        assert_ne!(
            seeded(&config, 1).digest,
            seeded(&config, 2).digest,
            "{name}"
        );
    }
}

fn pktgen(dev: usize, cpu: u16) -> Workload {
    Workload::Pktgen(Pktgen {
        dev,
        mode: XmitMode::StartXmit,
        cpus: vec![cpu],
        packets: None,
        clone_skb: 1_000_000,
        burst: 1,
        size: 60,
        priority: 0,
    })
}

fn noqueue(name: &str) -> Device {
    Device {
        name: name.into(),
        kind: DeviceKind::Dummy,
        txqs: 1,
        qdisc: Qdisc::Noqueue,
        rps_cpus: Vec::new(),
        xps: Vec::new(),
    }
}

/// Two senders that fight, for 100 us.
fn fight() -> Config {
    config(
        "lockless-qdisc",
        &[
            ("threads", "2"),
            ("measure.warmup", "\"20us\""),
            ("measure.window", "\"80us\""),
        ],
    )
}

/// What the first two flows and CPUs did.
fn first_two(metrics: &Metrics) -> String {
    let flows: Vec<_> = metrics.flows[..2]
        .iter()
        .map(|f| {
            (
                &f.name,
                f.offered,
                f.sent,
                f.errors,
                f.bytes,
                f.latency.max(),
                f.latency.mean(),
            )
        })
        .collect();
    // With several hosts a qdisc's name begins with its host's.
    let qdisc = sim_core::metrics::Qdisc {
        name: String::new(),
        ..metrics.qdiscs[0].clone()
    };
    format!("{flows:?} {:?} {qdisc:?}", &metrics.cpus[..2])
}

/// A second device that nobody uses moves no draw of the others.
#[test]
fn an_idle_device_disturbs_nobody() {
    let alone = fight();
    let mut more = alone.clone();
    more.hosts[0].devices.push(noqueue("d1"));
    for seed in 0..5 {
        assert_eq!(
            first_two(&seeded(&alone, seed).metrics),
            first_two(&seeded(&more, seed).metrics),
            "seed {seed}"
        );
    }
}

/// A second host moves no draw of the first, and runs as it would alone but for its name.
#[test]
fn a_second_host_disturbs_nobody() {
    let alone = fight();
    let mut more = alone.clone();
    let mut host = alone.hosts[0].clone();
    host.name = "h1".into();
    more.hosts.push(host.clone());
    let mut second = alone.clone();
    second.hosts = vec![host];
    for seed in 0..5 {
        let both = seeded(&more, seed).metrics;
        assert_eq!(
            first_two(&seeded(&alone, seed).metrics),
            first_two(&both),
            "seed {seed}"
        );
        let own = seeded(&second, seed).metrics;
        let of_second: Vec<_> = both.flows[2..].iter().map(|f| (f.sent, f.errors)).collect();
        let alone: Vec<_> = own.flows.iter().map(|f| (f.sent, f.errors)).collect();
        assert_eq!(of_second, alone, "seed {seed}");
    }
}

/// When each sender first runs.
fn starts(config: &Config, seed: u64) -> Vec<(String, u64)> {
    let outcome = run(
        config,
        &Options {
            seed,
            trace: Mode::All { bytes: 1 << 28 },
            ..Options::default()
        },
    );
    let recording = outcome.recording.expect("recorded");
    let mut first: Vec<(String, u64)> = Vec::new();
    for r in recording
        .records
        .iter()
        .filter(|r| r.kind() == Kind::CtxEnter && r.a == Level::Task as u32)
    {
        let task = format!(
            "{} {}",
            recording.names.cpus[usize::from(r.cpu)],
            recording.names.tasks[r.b as usize]
        );
        if !first.iter().any(|(known, _)| *known == task) {
            first.push((task, r.time));
        }
    }
    first.sort();
    first
}

/// A sender on a CPU and a device of its own moves neither the start nor any jitter of the others.
#[test]
fn a_sender_elsewhere_disturbs_nobody() {
    let mut alone = fight();
    alone.hosts[0].devices = vec![noqueue("d0"), noqueue("d1"), noqueue("d2")];
    alone.hosts[0].workloads = vec![pktgen(0, 0), pktgen(1, 1)];
    let mut more = alone.clone();
    more.hosts[0].workloads.push(pktgen(2, 2));
    for seed in 0..5 {
        let (few, many) = (starts(&alone, seed), starts(&more, seed));
        assert_eq!(few.len(), 2, "{few:?}");
        assert_eq!(many.len(), 3, "{many:?}");
        assert_eq!(few[..], many[..2], "seed {seed}");
        let sent = |config: &Config| {
            let metrics = seeded(config, seed).metrics;
            metrics.flows[..2]
                .iter()
                .map(|f| (f.name.clone(), f.sent))
                .collect::<Vec<_>>()
        };
        assert_eq!(sent(&alone), sent(&more), "seed {seed}");
    }
}

/// What a command line prints, with the real simulator.
pub fn skbsim(registry: &cli::Registry, line: &str) -> (cli::exit::Exit, String) {
    let cli = cli::args::Cli::try_parse_from(format!("skbsim {line}").split_whitespace())
        .expect("valid usage");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut session = cli::session::Session {
        out: Box::new(&mut out),
        err: Box::new(&mut err),
        look: cli::session::Look::default(),
        registry,
        runner: &run,
        interrupted: std::sync::Arc::default(),
        catch_interrupts: |_| (),
    };
    let exit = cli::main_in(&mut session, cli.command);
    drop(session);
    (
        exit,
        String::from_utf8(out).expect("UTF-8") + &String::from_utf8(err).expect("UTF-8"),
    )
}

/// One worker thread or two: the command line prints the same bytes about real runs.
#[test]
fn worker_threads_change_no_byte() {
    let short = "--set measure.warmup=\"20us\" --set measure.window=\"60us\"";
    for line in [
        "run lockless-stuck --seeds 0..40".to_owned(),
        "run lockless-stuck --seeds 0..40 --format json".to_owned(),
        format!("run pfifo {short}"),
        format!("run noqueue --format json {short}"),
    ] {
        let registry = cli::Registry::default();
        let one = skbsim(&registry, &format!("{line} -j 1"));
        let two = skbsim(&registry, &format!("{line} -j 2"));
        assert!(one.1.len() > 200, "{line}: {}", one.1);
        assert_eq!(one, two, "{line}");
    }
}
