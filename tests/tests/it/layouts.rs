//! Struct layouts: what moves when fields share a line, and what does not.

use crate::support::load;
use scenarios::{Loader, Registry};
use sim_core::config::Config;
use sim_core::metrics::Metrics;
use sim_core::world::{Options, Outcome, run};

fn named(config: &Config, seed: u64) -> Outcome {
    run(
        config,
        &Options {
            seed,
            ..Options::default()
        },
    )
}

/// The points of a library scenario, in a shorter window.
fn points(name: &str) -> Vec<(String, Config)> {
    let short = [
        ("measure.warmup", "\"200us\""),
        ("measure.window", "\"1ms\""),
    ];
    let scenario = load(&Registry::new(), name, &short);
    let points = scenario.points().into_iter();
    points.map(|p| (p.label, p.config)).collect()
}

/// Moves of all lines, and of those of net_device, for each packet that device `dev` sent.
fn transfers_per_packet(m: &Metrics, dev: usize) -> (f64, f64) {
    let sent = m.devices[dev].tx_packets as f64;
    let moves = |of: &str| {
        let lines = m.lines.iter().filter(|l| l.name.starts_with(of));
        lines.map(|l| l.transfers).sum::<u64>() as f64 / sent
    };
    (moves(""), moves("net_device"))
}

/// S1's question: `xdp_bulkq` in the struct, or `miniq_egress` moved by it, moves no line more.
#[test]
fn bulkq_costs_nothing_wherever_it_lies() {
    for seed in 0..3 {
        let moves: Vec<f64> = points("layout-bulkq")
            .iter()
            .map(|(label, config)| {
                let outcome = named(config, seed);
                let sent = outcome.metrics.devices[0].tx_packets;
                assert!(sent > 1_000, "{label}: {sent} packets");
                transfers_per_packet(&outcome.metrics, 0).0
            })
            .collect();
        assert_eq!(moves.len(), 3);
        for m in &moves {
            assert!((m - moves[0]).abs() < 0.01, "seed {seed}: {moves:?}");
        }
    }
}

/// The fields are read in truth: the first packet of each CPU brings their lines.
#[test]
fn the_first_packet_brings_the_lines() {
    for (layout, lines) in [("before", 2), ("patched", 3), ("watchdog_moved", 2)] {
        let layout = format!("\"{layout}\"");
        let sets = [
            ("layouts.net_device", layout.as_str()),
            ("sweep", "[]"),
            ("measure.warmup", "\"0ns\""),
            ("measure.window", "\"50us\""),
        ];
        let scenario = load(&Registry::new(), "layout-bulkq", &sets);
        let outcome = named(scenario.config(), 0);
        let moved = outcome.metrics.lines.iter();
        let moved: Vec<(&str, u64)> = moved
            .filter(|l| l.name.starts_with("net_device"))
            .map(|l| (l.name.as_str(), l.transfers))
            .collect();
        assert_eq!(moved.len(), lines, "{layout}: {moved:?}");
        assert!(moved.iter().all(|(_, n)| *n == 4), "once a CPU: {moved:?}");
    }
}

/// A counter that one CPU writes beside what others read costs each packet a transfer and more; on a line
/// of its own, nothing.
#[test]
fn a_hot_word_beside_a_read_mostly_one_costs() {
    for seed in 0..3 {
        let moves: Vec<(f64, f64)> = points("layout-hot-write")
            .iter()
            .map(|(_, config)| transfers_per_packet(&named(config, seed).metrics, 0))
            .collect();
        let [none, beside, padded] = moves[..] else {
            panic!("{moves:?}")
        };
        assert!(beside.0 - none.0 >= 1.0, "seed {seed}: {moves:?}");
        assert!(beside.1 - none.1 >= 1.0, "seed {seed}: {moves:?}");
        assert!(padded.1 < 0.01 && none.1 < 0.01, "seed {seed}: {moves:?}");
        assert!((padded.0 - none.0).abs() < 0.25, "seed {seed}: {moves:?}");
    }
}

/// The report says who took the line from whom, and its parts add up.
#[test]
fn accesses_and_pairs_tell_the_story() {
    let (_, config) = points("layout-hot-write").swap_remove(1);
    let metrics = named(&config, 0).metrics;
    for line in &metrics.lines {
        let taken: u64 = line
            .accesses
            .iter()
            .map(|a| a.hitm_local + a.hitm_remote)
            .sum();
        assert_eq!(taken, line.hitm, "{}", line.name);
        let pairs: u64 = line.pairs.iter().map(|p| p.hitm).sum();
        assert_eq!(pairs, line.hitm, "{}", line.name);
    }
    let line = metrics
        .lines
        .iter()
        .find(|l| l.name == "net_device eth0 line 16")
        .expect("the line of miniq_egress");
    let pair = line.pairs.first().expect("a dirty move");
    assert_eq!(
        (pair.wrote.as_str(), pair.wanted.as_str()),
        ("net_device eth0 rx_packets", "net_device eth0 miniq_egress")
    );
    assert_eq!(pair.wanted_in, "__dev_queue_xmit");
    let reads = line
        .accesses
        .iter()
        .find(|a| a.field.ends_with("miniq_egress"))
        .expect("it is read");
    assert_eq!(
        (reads.cpus.as_slice(), reads.stores),
        ([1, 2, 3].as_slice(), 0)
    );
    let writes = line
        .accesses
        .iter()
        .find(|a| a.field.ends_with("rx_packets"))
        .expect("it is written");
    assert_eq!(writes.cpus, [0]);
    // The counter is the receiving CPU's own word: one load and one store for each frame.
    assert_eq!(writes.loads, writes.stores);
    let received = metrics.devices[0].rx_packets;
    assert!(
        writes.stores.abs_diff(received) <= 1,
        "{} {received}",
        writes.stores
    );
}

/// A file of pahole's, named by a path beside the scenario, is the same layout as the built-in one.
#[test]
fn a_file_is_the_layout_it_prints() {
    let registry = Registry::new();
    let of = |value: &str| {
        let loader = Loader::new(&registry);
        let loader = loader.set("layouts.net_device", value).expect("RON");
        let loader = loader.set("sweep", "[]").expect("RON");
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../scenarios/library/layout-bulkq.ron"
        );
        let loaded = loader.load_file(std::path::Path::new(path));
        let scenario = loaded.unwrap_or_else(|r| panic!("{r}"));
        scenario.config().hosts[0].layouts.clone()
    };
    let file = of("Pahole(\"../layouts/6.18/net_device.txt\")");
    assert_eq!(file, of("\"6.18\""));
    assert!(file.by_name["net_device"].field("_tx").is_some());
    assert_eq!(
        of("Pahole(\"../layouts/thread-S1/patched.txt\")"),
        of("\"patched\"")
    );
}
