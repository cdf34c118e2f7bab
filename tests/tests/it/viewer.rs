//! The viewer, opened at the first stuck packet of lockless-stuck.

use crate::support::{config, seeded};
use sim_core::trace::{Kind, Mode, Recording};
use sim_core::world::{Options, run};
use tui::{ViewOptions, screen_text, screen_text_after};

/// The recording of the first seed that strands a packet, with the command that makes it again.
fn stuck() -> Recording {
    let config = config("lockless-stuck", &[]);
    let seed = (0..300)
        .find(|&seed| !seeded(&config, seed).violations.is_empty())
        .expect("a stuck seed");
    let options = Options {
        seed,
        trace: Mode::All { bytes: 1 << 28 },
        ..Options::default()
    };
    let mut recording = run(&config, &options).recording.expect("recorded");
    recording.command = format!("skbsim view lockless-stuck --seed {seed}");
    recording
}

/// Opened at the violation, the screen shows who owned the seqlock, who failed to get it, and the skb left behind.
#[test]
fn the_screen_at_the_stuck_packet() {
    let recording = stuck();
    let violation = &recording.violations[0];
    let decisive = recording
        .records
        .iter()
        .rfind(|r| r.kind() == Kind::TrylockFail && r.time <= violation.time)
        .expect("a failed trylock");
    let lock = &recording.names.locks[decisive.a as usize];
    let owner = &recording.names.cpus[decisive.b as usize];
    let loser = &recording.names.cpus[usize::from(decisive.cpu)];
    assert_ne!(owner, loser);
    let options = ViewOptions {
        at: Some(violation.time),
        color: false,
        ascii: true,
    };
    let skb = format!("skb {}", violation.skb.expect("a stuck packet"));
    for (width, height) in [(120, 40), (80, 24)] {
        let screen = screen_text(&recording, &options, width, height);
        insta::assert_snapshot!(format!("stuck_{width}x{height}"), screen);
        for word in [
            format!("trylock_fail {lock} owner {owner}"),
            skb.clone(),
            loser.clone(),
        ] {
            assert!(
                screen.contains(&word),
                "{width}x{height} shows no `{word}`:\n{screen}"
            );
        }
        let packet = screen_text_after(
            &recording,
            &ViewOptions {
                at: None,
                ..options
            },
            "!f",
            width,
            height,
        );
        insta::assert_snapshot!(format!("stuck_packet_{width}x{height}"), packet);
        assert!(
            packet.contains("STILL QUEUED when the run ended"),
            "{width}x{height}:\n{packet}"
        );
    }
}
