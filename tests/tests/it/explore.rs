//! Explored runs: the races of the lockless qdisc are found, their repairs have none, and tokens mean one run.

use crate::support::config;
use sim_core::explore::{
    Find, Hunt, Limits, Refused, Report, Size, Token, Verdict, cut_to, size_of,
};
use sim_core::trace::Mode;
use sim_core::violation::Law;

const X86: [(&str, &str); 2] = [
    (
        "sc",
        "(profile: \"x86-skylake\", memory: sc, store_buffer: off)",
    ),
    ("tso", "(profile: \"x86-skylake\", memory: tso)"),
];

fn hunt(variant: &str, memory: &str, size: &str, set: &[(&str, &str)]) -> Hunt {
    let machine = X86.iter().find(|(m, _)| *m == memory).expect("known").1;
    let mut all = vec![("machine", machine), ("variant", variant)];
    all.extend_from_slice(set);
    let size: Size = size.parse().expect("a size");
    // The text of the scenario is for two CPUs.
    let threads = size.cpus.to_string();
    all.push(("threads", &threads));
    all.push(("hosts[0].workloads[0].packets", "8"));
    Hunt {
        config: cut_to(&config("lockless-stuck", &all), size),
        label: format!("lockless-stuck/{variant}"),
        limits: Limits {
            pct: 100,
            walks: 50,
            ..Limits::default()
        },
        laws: Vec::new(),
        threads: 2,
    }
}

fn search(hunt: &Hunt) -> Report {
    hunt.run(&mut |_, _| true)
}

fn found(report: &Report) -> &Find {
    match &report.verdict {
        Verdict::Found(find) => find,
        other => panic!("nothing found: {other:?}"),
    }
}

/// Race A of the lockless qdisc: one deviation, and the two pairs of accesses that decide are the last look and
/// the failed trylock.
#[test]
fn v0_loses_a_packet_by_one_deviation() {
    for memory in ["sc", "tso"] {
        let report = search(&hunt("v0", memory, "2x2", &[]));
        let find = found(&report);
        assert_eq!(find.token.deviations.len(), 1, "{memory}");
        assert_eq!(find.violations[0].law, Law::PacketStuck, "{memory}");
        assert_eq!(
            find.size.map(|s| s.to_string()).as_deref(),
            Some("2x1"),
            "{memory}"
        );
        let names: Vec<&str> = find
            .races
            .iter()
            .map(|r| {
                find.names.words[find.steps[r.first].word as usize]
                    .name
                    .as_str()
            })
            .collect();
        assert_eq!(
            names,
            ["d0:0 band 1 queue[1]", "Qdisc d0:0 seqlock"],
            "{memory}"
        );
        assert!(find.token.to_string().len() < 60, "{}", find.token);
    }
}

/// Store buffers are needed for what v1, v3 and v4 do wrong, and v5 does it right.
#[test]
fn the_missing_barrier_needs_a_store_buffer() {
    for variant in ["v1", "v3", "v4"] {
        let report = search(&hunt(variant, "sc", "2x1", &[]));
        assert!(matches!(report.verdict, Verdict::Clean), "{variant}");
        assert_eq!(report.preemptions, Some(3), "{variant}");
        let report = search(&hunt(variant, "tso", "2x1", &[]));
        assert_eq!(found(&report).token.deviations.len(), 1, "{variant}");
    }
    let report = search(&hunt("v5", "tso", "2x1", &[]));
    assert!(matches!(report.verdict, Verdict::Clean));
    assert_eq!(report.preemptions, Some(3));
}

/// Sequentially consistent, all repairs hold for two CPUs with two packets and for three with one.
#[test]
fn repairs_have_none_where_stores_are_visible_at_once() {
    for variant in ["v1", "v3", "v4", "v5"] {
        for (size, bound) in [("2x2", 3), ("3x1", 2)] {
            let mut hunt = hunt(variant, "sc", size, &[]);
            hunt.limits.preemptions = bound;
            hunt.limits.deviations = 1;
            let report = search(&hunt);
            assert!(matches!(report.verdict, Verdict::Clean), "{variant} {size}");
            assert_eq!(report.preemptions, Some(bound), "{variant} {size}");
        }
    }
}

/// With net_tx_action in play there are more ways than race A: one where it fails the trylock with the only
/// promise to come back in its hand (B), and one where the owner's own promise is lost (B2).
#[test]
fn net_tx_action_loses_promises() {
    let hunt = hunt("v0", "sc", "3x1", &[("kernel.dev_weight", "1")]);
    let Verdict::FoundAll(finds) = hunt.run_all(&mut |_, _| true).verdict else {
        panic!("nothing found");
    };
    assert!(finds.iter().all(|f| f.token.deviations.len() <= 2));
    let pair = |f: &Find, first: &str, second: &str| {
        f.races.iter().any(|r| {
            let name = |i: usize| f.names.functions[usize::from(f.steps[i].function)].as_str();
            (name(r.first), name(r.second)) == (first, second)
        })
    };
    assert!(
        finds
            .iter()
            .any(|f| pair(f, "pfifo_fast_dequeue", "pfifo_fast_enqueue"))
    );
    assert!(
        finds
            .iter()
            .any(|f| pair(f, "__netif_schedule", "net_tx_action"))
    );
}

/// A token is one run, whatever built or ran it; it is refused where it does not belong.
#[test]
fn a_token_means_one_run() {
    let hunt = hunt("v4", "tso", "2x1", &[]);
    let report = search(&hunt);
    let text = found(&report).token.to_string();
    let token: Token = text.parse().expect("as printed");
    let again = hunt.replay(&token, Mode::Off).expect("it belongs here");
    assert_eq!(again.violations, found(&report).violations);
    assert_eq!(again.steps, found(&report).steps);
    // Found in a debug build; a release build must agree (CI runs both).
    assert_eq!(text, GOLDEN);

    let other = self::hunt("v5", "tso", "2x1", &[]);
    assert!(matches!(
        other.replay(&token, Mode::Off),
        Err(Refused::Scenario(_))
    ));
    let other = self::hunt("v4", "sc", "2x1", &[]);
    assert_eq!(
        other.replay(&token, Mode::Off).expect_err("memory"),
        Refused::Memory("sc")
    );
    let mut moved = token.clone();
    moved.deviations[0].step += 10_000;
    assert!(matches!(
        hunt.replay(&moved, Mode::Off),
        Err(Refused::Step(_))
    ));
}
const GOLDEN: &str = "v1:lockless-stuck/v4/2x1/tso:5.0#c5e080.bb26";

/// The number of threads changes nothing, and neither does doing it twice.
#[test]
fn threads_change_no_count() {
    let of = |threads: usize| {
        let hunt = Hunt {
            threads,
            ..hunt("v5", "sc", "2x2", &[])
        };
        let report = search(&hunt);
        (report.phases, report.preemptions, report.points)
    };
    assert_eq!(of(1), of(2));
}

/// What does not end is cut, and what is cut is small.
#[test]
fn sizes_cut_loads() {
    let hunt = hunt("v0", "sc", "2x1", &[]);
    assert_eq!(
        size_of(&hunt.config).map(|s| s.to_string()).as_deref(),
        Some("2x1")
    );
    assert!("0x1".parse::<Size>().is_err() && "2x1000".parse::<Size>().is_err());
}
