//! Every screen at both sizes, as text.

use tui::ViewOptions;
use tui::testing::{Harness, sample};

/// Both sizes of a screen that a key script leads to.
fn screens(name: &str, at: Option<u64>, keys: &str) {
    let run = sample();
    for (width, height) in [(120, 40), (80, 24)] {
        let mut ui = Harness::open_with(
            &run,
            ViewOptions {
                at,
                color: false,
                ascii: true,
            },
        );
        ui.resize(width, height);
        ui.press(keys);
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), ui.screen(width, height));
    }
}

#[test]
fn timeline_of_the_whole_run() {
    screens("timeline", None, "");
}

#[test]
fn timeline_at_the_race() {
    screens("race", Some(2_900_000), "");
}

#[test]
fn timeline_with_calls_by_depth_and_a_range() {
    screens("depths", None, "mA......mBgjj⏎");
}

#[test]
fn timeline_by_event_number() {
    screens("by_event", Some(2_900_000), "x");
}

#[test]
fn packet_left_in_the_qdisc() {
    screens("packet", Some(2_900_000), "f");
}

#[test]
fn events() {
    screens("events", Some(2_900_000), "3");
}

#[test]
fn locks() {
    screens("locks", None, "4");
}

#[test]
fn lines() {
    screens("lines", None, "5");
}

#[test]
fn help() {
    screens("help", None, "?");
}

/// The last page of the help explains the letters where they did not fit on the first.
#[test]
fn help_last_page() {
    screens("help_last", None, "???");
}

/// Below 80x24 nothing is drawn that could be misread.
#[test]
fn a_small_window_asks_for_a_larger_one() {
    let run = sample();
    let text = Harness::open(&run).screen(60, 20);
    assert_eq!(text.trim(), "skbsim view needs 80x24; this is 60x20");
}

const SCRIPTS: [&str; 9] = ["", "!!", "?", "???", "!f", "3", "4", "5", "mA/hitm⏎n"];

/// Asked for ASCII, the viewer draws nothing else.
#[test]
fn ascii_means_ascii() {
    let run = sample();
    for keys in SCRIPTS {
        let mut ui = Harness::open(&run);
        assert!(ui.press(keys).screen(120, 40).is_ascii(), "{keys}");
    }
}

/// Colour only repeats what letters say: without it, the characters are the same and no cell is coloured.
#[test]
fn colour_is_never_the_only_carrier() {
    use ratatui::{buffer::Buffer, layout::Rect, style::Color, widgets::Widget};
    let run = sample();
    let area = Rect::new(0, 0, 120, 40);
    for keys in SCRIPTS {
        let draw = |color| {
            let mut ui = Harness::open_with(
                &run,
                ViewOptions {
                    color,
                    ..ViewOptions::default()
                },
            );
            let mut buffer = Buffer::empty(area);
            (&ui.press(keys).app).render(area, &mut buffer);
            buffer
        };
        let (plain, coloured) = (draw(false), draw(true));
        assert!(
            plain
                .content
                .iter()
                .all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset),
            "{keys}"
        );
        assert!(
            plain
                .content
                .iter()
                .zip(&coloured.content)
                .all(|(a, b)| a.symbol() == b.symbol()),
            "{keys}"
        );
    }
}

/// Names come from files; a terminal must not obey them.
#[test]
fn names_cannot_carry_escape_sequences() {
    let mut run = sample();
    run.names.scenario = "a\u{1b}[2Jb\n".to_owned();
    run.names.functions[0] = "ü\u{202e}x".to_owned();
    let text = Harness::open(&run).screen(120, 40);
    assert!(text.is_ascii() && text.contains("a?[2Jb?"));
}
