//! Key scripts.

use tui::app::Screen;
use tui::lens::lanes::LaneKey;
use tui::testing::{Harness, sample};
use tui::update::Effect;

fn kind(ui: &Harness) -> &'static str {
    ui.app.trace.record(ui.app.cursor).kind().text()
}

/// `!` goes to the drop, then to the failed trylock that stranded the packet, and around again.
#[test]
fn findings_in_turn() {
    let run = sample();
    let mut ui = Harness::open(&run);
    let mut kinds = Vec::new();
    for _ in 0..4 {
        ui.press("!");
        kinds.push(kind(&ui));
    }
    assert_eq!(
        kinds,
        ["kfree_skb", "trylock_fail", "violation", "kfree_skb"]
    );
}

/// The trylock failed because CPU0 had the lock; `]` leads back.
#[test]
fn causes_and_effects() {
    let run = sample();
    let mut ui = Harness::open(&run);
    ui.press("!![");
    assert_eq!(
        (kind(&ui), ui.app.lane),
        ("lock_acquire", LaneKey::Context(0))
    );
    ui.press("]");
    assert_eq!(
        (kind(&ui), ui.app.lane),
        ("trylock_fail", LaneKey::Context(1))
    );
    assert_eq!(
        ui.press("]").app.message.as_deref(),
        Some("it enabled nothing that was recorded")
    );
}

/// `.` and `,` stay in the lane and step over the events of others.
#[test]
fn steps_stay_in_the_lane() {
    let run = sample();
    let mut ui = Harness::open(&run);
    ui.press("/trylock⏎");
    let lane = ui
        .app
        .lanes()
        .into_iter()
        .position(|lane| lane == LaneKey::Owner(0))
        .unwrap();
    ui.press("g").press(&"j".repeat(lane));
    assert_eq!(kind(ui.press(".")), "lock_release");
    assert_eq!(kind(ui.press(",,")), "lock_acquire");
}

/// A range is measured from event to event, and `z` fits it.
#[test]
fn marks_measure() {
    let run = sample();
    let mut ui = Harness::open(&run);
    ui.press("!!mA[mB'A");
    assert!(
        ui.screen(120, 40)
            .contains("A 2.9000   B 2.3300   B-A -570 ns")
    );
    ui.press("z");
    assert!(ui.app.window() < 900_000, "{}", ui.app.window());
    assert_eq!(ui.press("ttma").app.time(2_890_000), "-10");
}

/// Zooming keeps the selection in its column.
#[test]
fn zoom_is_around_the_selection() {
    let run = sample();
    let mut ui = Harness::open(&run);
    ui.press("!!");
    let column = |ui: &Harness| {
        let at = ui.app.cursor_position();
        assert!(ui.app.sees(at));
        (at - ui.app.viewport.start) / ui.app.viewport.per_col
    };
    let before = column(&ui);
    ui.press("++++");
    assert_eq!(column(&ui), before);
    ui.press("---");
    assert_eq!(column(&ui), before);
    ui.press("hhhhhLLLL0$");
    assert!(ui.app.sees(ui.app.cursor_position()));
}

/// A search goes round, counts, and says what it does not understand.
#[test]
fn searches() {
    let run = sample();
    let mut ui = Harness::open(&run);
    ui.press("/skb:5 kind:enqueue⏎");
    assert_eq!(ui.app.found.as_ref().unwrap().hits.len(), 1);
    assert_eq!(kind(&ui), "qdisc_enqueue");
    ui.press("/kind:rmw cpu:1⏎");
    assert_eq!(ui.app.found.as_ref().unwrap().hits.len(), 2);
    ui.press("/line:5⏎nnN");
    assert_eq!(ui.app.found.as_ref().unwrap().hits.len(), 7);
    assert!(
        !ui.press("/d0:0 busy⏎")
            .app
            .found
            .as_ref()
            .unwrap()
            .hits
            .is_empty()
    );
    let message = ui.press("/colour:red⏎").app.message.clone().unwrap();
    assert!(message.starts_with("no field colour"), "{message}");
    assert_eq!(ui.press("/abc⌫⌫⌫⎋").app.message, None);
}

/// Lanes are hidden, pinned, folded, and brought back one change at a time.
#[test]
fn lanes_can_be_arranged() {
    let run = sample();
    let mut ui = Harness::open(&run);
    let before = ui.app.lanes();
    ui.press("gjo");
    assert!(!ui.app.lanes().contains(&LaneKey::Context(0)));
    ui.press("Gp");
    assert_eq!(ui.app.lanes()[0], LaneKey::Line(1));
    ui.press("uu");
    assert_eq!(ui.app.lanes(), before);
    ui.press("gjj⏎");
    assert!(ui.app.lanes().contains(&LaneKey::Depth(0, 2)));
    assert_eq!(ui.press("u").app.lanes(), before);
}

/// From a packet to its stages and back to the timeline at one of them.
#[test]
fn following_a_packet() {
    let run = sample();
    let mut ui = Harness::open(&run);
    ui.press("!!f");
    let journey = ui.app.journey.as_ref().unwrap();
    assert_eq!(
        (ui.app.screen, journey.skb, journey.left_queued),
        (Screen::Packet, 5, true)
    );
    ui.press("K");
    let journey = ui.app.journey.as_ref().unwrap();
    assert_eq!(
        (
            journey.skb,
            journey.left_queued,
            journey.total(&ui.app.trace)
        ),
        (4, false, 380_000)
    );
    ui.press("jj⏎");
    assert_eq!(
        (ui.app.screen, kind(&ui)),
        (Screen::Timeline, "qdisc_dequeue")
    );
}

/// A row of a table leads to its lane.
#[test]
fn tables_lead_to_lanes() {
    let run = sample();
    let mut ui = Harness::open(&run);
    assert_eq!(ui.press("4j⏎").app.lane, LaneKey::Owner(0));
    assert_eq!(ui.press("5j⏎").app.lane, LaneKey::Line(1));
}

/// `y` gives the command that comes back to this moment.
#[test]
fn a_view_can_be_opened_again() {
    let run = sample();
    let mut ui = Harness::open(&run);
    let expected = "skbsim view two-senders.ron --seed 0x2a --at 2900ns";
    assert_eq!(
        ui.press("!!y").effect,
        Some(Effect::Print(expected.to_owned()))
    );
    assert_eq!(ui.press("q").effect, Some(Effect::Quit));
}

/// The same moment stays in the middle of another window, and every screen survives every size.
#[test]
fn resizing() {
    let run = sample();
    let mut ui = Harness::open(&run);
    ui.press("!!+++c");
    for size in [
        (80, 24),
        (300, 100),
        (81, 25),
        (20, 5),
        (120, 40),
        (1, 1),
        (100, 34),
    ] {
        for keys in ["1", "2", "3", "4", "5", "?", " "] {
            ui.press(keys);
            ui.screen(size.0, size.1);
        }
        if size.0 >= 80 {
            assert!(ui.app.sees(ui.app.cursor_position()));
        }
    }
}

/// A run without records can be looked at, if not for long.
#[test]
fn an_empty_run() {
    let run = sim_core::trace::Recording::default();
    let at = tui::ViewOptions {
        at: Some(5),
        ..Default::default()
    };
    assert!(tui::screen_text(&run, &at, 80, 24).contains("no records"));
    let mut ui = Harness::open(&run);
    for keys in "hljkHLgG.,+-zZc0$[]f/x⏎nN!mA'Ajx⏎opuxt1f2JK3j4j5j⏎y?".chars() {
        ui.press(&keys.to_string());
        ui.screen(120, 40);
        ui.screen(80, 24);
    }
}
