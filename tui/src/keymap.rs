//! Keys to messages: one table, which is also the help.

use crate::app::{Input, Screen};

/// A key, whatever the terminal library calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A character.
    Char(char),
    /// A character with Ctrl.
    Ctrl(char),
    /// Cursor left.
    Left,
    /// Cursor right.
    Right,
    /// Cursor up.
    Up,
    /// Cursor down.
    Down,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Backspace.
    Backspace,
}

/// What the user wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Msg {
    /// Move the window by tenths of itself.
    Pan(i8),
    /// Move the lane focus or the selected row.
    Row(i8),
    /// Move the lane focus or the selected row to the first or last.
    RowEnd(Way),
    /// Select the next record of the lane.
    Step(Way),
    /// Show less time, larger.
    ZoomIn,
    /// Show more time, smaller.
    ZoomOut,
    /// Fit the range A..B, or the selected call.
    Fit,
    /// Fit the whole run.
    FitAll,
    /// Put the selection into the middle.
    Centre,
    /// Show the start or the end of the run.
    End(Way),
    /// Select the cause of the selection.
    Cause,
    /// Select the effect of the selection.
    Effect,
    /// Follow the packet of the selection.
    Follow,
    /// Follow the next or previous packet.
    OtherPacket(Way),
    /// Begin a search.
    Search,
    /// Select the next match.
    Match(Way),
    /// Select the next finding.
    Finding,
    /// The next key names a mark to set.
    MarkPrefix,
    /// The next key names a mark to jump to.
    JumpPrefix,
    /// Unfold the lane, or show the row on the timeline.
    Enter,
    /// Hide the lane.
    Hide,
    /// Pin the lane to the top, or let it go.
    Pin,
    /// Undo the last change of the lanes.
    Undo,
    /// Next axis mode.
    Axis,
    /// Next time format.
    TimeFormat,
    /// Show a screen.
    Screen(Screen),
    /// Show the command that opens this view again.
    Reopen,
    /// Show or hide the help.
    Help,
    /// Back out of what was begun.
    Back,
    /// Leave the viewer.
    Quit,
    /// The window has a new size.
    Resize(u16, u16),
    /// One more character of a search.
    Type(char),
    /// One character less.
    Erase,
    /// The search is complete.
    Commit,
    /// Set this mark.
    Mark(char),
    /// Jump to this mark.
    Jump(char),
}

/// One of two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Towards the start.
    Back,
    /// Towards the end.
    Forth,
}

/// A line of the table.
pub struct Binding {
    /// Keys that do it.
    pub keys: &'static [Key],
    /// How the keys are written.
    pub label: &'static str,
    /// What they do.
    pub msg: Msg,
    /// On which screens; none means on all.
    pub screens: &'static [Screen],
    /// In words.
    pub help: &'static str,
}

const fn on(
    screens: &'static [Screen],
    keys: &'static [Key],
    label: &'static str,
    msg: Msg,
    help: &'static str,
) -> Binding {
    Binding {
        keys,
        label,
        msg,
        screens,
        help,
    }
}

const ALL: &[Screen] = &[];
const TIME: &[Screen] = &[Screen::Timeline];
const RECORDS: &[Screen] = &[Screen::Timeline, Screen::Events, Screen::Packet];
const PACKET: &[Screen] = &[Screen::Packet];

/// Every binding.
#[rustfmt::skip]
pub const BINDINGS: &[Binding] = &[
    on(TIME, &[Key::Char('h'), Key::Left], "h Left", Msg::Pan(-1), "pan a tenth of the window to the left"),
    on(TIME, &[Key::Char('l'), Key::Right], "l Right", Msg::Pan(1), "pan to the right"),
    on(TIME, &[Key::Char('H')], "H", Msg::Pan(-9), "pan a page to the left"),
    on(TIME, &[Key::Char('L')], "L", Msg::Pan(9), "pan a page to the right"),
    on(ALL, &[Key::Char('j'), Key::Down], "j Down", Msg::Row(1), "next lane or row"),
    on(ALL, &[Key::Char('k'), Key::Up], "k Up", Msg::Row(-1), "previous lane or row"),
    on(ALL, &[Key::PageDown, Key::Ctrl('d')], "PgDn ^D", Msg::Row(10), "ten lanes or rows down"),
    on(ALL, &[Key::PageUp, Key::Ctrl('u')], "PgUp ^U", Msg::Row(-10), "ten lanes or rows up"),
    on(ALL, &[Key::Char('g')], "g", Msg::RowEnd(Way::Back), "first lane or row"),
    on(ALL, &[Key::Char('G')], "G", Msg::RowEnd(Way::Forth), "last lane or row"),
    on(TIME, &[Key::Char('.')], ".", Msg::Step(Way::Forth), "next event in the lane"),
    on(TIME, &[Key::Char(',')], ",", Msg::Step(Way::Back), "previous event in the lane"),
    on(TIME, &[Key::Char('+'), Key::Char('=')], "+ =", Msg::ZoomIn, "zoom in around the selection"),
    on(TIME, &[Key::Char('-')], "-", Msg::ZoomOut, "zoom out"),
    on(TIME, &[Key::Char('z')], "z", Msg::Fit, "fit A..B, or the selected call"),
    on(TIME, &[Key::Char('Z')], "Z", Msg::FitAll, "fit the whole run"),
    on(TIME, &[Key::Char('c')], "c", Msg::Centre, "centre the selection"),
    on(TIME, &[Key::Char('0'), Key::Home], "0 Home", Msg::End(Way::Back), "start of the run"),
    on(TIME, &[Key::Char('$'), Key::End], "$ End", Msg::End(Way::Forth), "end of the run"),
    on(RECORDS, &[Key::Char('[')], "[", Msg::Cause, "select the cause"),
    on(RECORDS, &[Key::Char(']')], "]", Msg::Effect, "select the (first) effect"),
    on(RECORDS, &[Key::Char('f')], "f", Msg::Follow, "follow the packet of the selection"),
    on(PACKET, &[Key::Char('J')], "J", Msg::OtherPacket(Way::Forth), "follow the next packet"),
    on(PACKET, &[Key::Char('K')], "K", Msg::OtherPacket(Way::Back), "follow the previous packet"),
    on(ALL, &[Key::Char('/')], "/", Msg::Search, "find: text skb:17 cpu:1 kind:rmw fn: line: word: lock: qdisc: txq:"),
    on(ALL, &[Key::Char('n')], "n", Msg::Match(Way::Forth), "next match"),
    on(ALL, &[Key::Char('N')], "N", Msg::Match(Way::Back), "previous match"),
    on(ALL, &[Key::Char('!')], "!", Msg::Finding, "next finding (broken law or drop)"),
    on(RECORDS, &[Key::Char('m')], "m{A-Z}", Msg::MarkPrefix, "set a mark; A and B span a range"),
    on(RECORDS, &[Key::Char('\'')], "'{A-Z}", Msg::JumpPrefix, "jump to a mark"),
    on(ALL, &[Key::Enter], "Enter", Msg::Enter, "unfold or fold the lane; show the row on the timeline"),
    on(TIME, &[Key::Char('o')], "o", Msg::Hide, "hide the lane"),
    on(TIME, &[Key::Char('p')], "p", Msg::Pin, "pin the lane to the top, or let it go"),
    on(TIME, &[Key::Char('u')], "u", Msg::Undo, "undo the last fold, hide or pin"),
    on(TIME, &[Key::Char('x')], "x", Msg::Axis, "axis: time, or one step an event"),
    on(ALL, &[Key::Char('t')], "t", Msg::TimeFormat, "time: us, ns, since mark A"),
    on(ALL, &[Key::Char('1')], "1", Msg::Screen(Screen::Timeline), "timeline"),
    on(ALL, &[Key::Char('2')], "2", Msg::Screen(Screen::Packet), "the way of one packet"),
    on(ALL, &[Key::Char('3')], "3", Msg::Screen(Screen::Events), "all events"),
    on(ALL, &[Key::Char('4')], "4", Msg::Screen(Screen::Locks), "locks"),
    on(ALL, &[Key::Char('5')], "5", Msg::Screen(Screen::Lines), "cache lines"),
    on(ALL, &[Key::Char('y')], "y", Msg::Reopen, "show the command that opens this view (printed on quit)"),
    on(ALL, &[Key::Char('?')], "?", Msg::Help, "this help"),
    on(ALL, &[Key::Esc], "Esc", Msg::Back, "back"),
    on(ALL, &[Key::Char('q'), Key::Ctrl('c')], "q ^C", Msg::Quit, "quit"),
];

/// The bindings of a screen, in the order of the table.
pub fn bindings(screen: Screen) -> impl Iterator<Item = &'static Binding> {
    BINDINGS
        .iter()
        .filter(move |binding| binding.screens.is_empty() || binding.screens.contains(&screen))
}

/// What a key means now.
pub fn message(input: &Input, screen: Screen, key: Key) -> Option<Msg> {
    match (input, key) {
        (Input::Command, _) => bindings(screen)
            .find(|binding| binding.keys.contains(&key))
            .map(|binding| binding.msg),
        (Input::Search(_), Key::Char(c)) => Some(Msg::Type(c)),
        (Input::Search(_), Key::Backspace) => Some(Msg::Erase),
        (Input::Search(_), Key::Enter) => Some(Msg::Commit),
        (Input::SetMark, Key::Char(c)) if c.is_ascii_alphanumeric() => {
            Some(Msg::Mark(c.to_ascii_uppercase()))
        }
        (Input::JumpToMark, Key::Char(c)) if c.is_ascii_alphanumeric() => {
            Some(Msg::Jump(c.to_ascii_uppercase()))
        }
        (_, Key::Ctrl('c')) => Some(Msg::Quit),
        _ => Some(Msg::Back),
    }
}

/// Reads a script of keys: characters stand for themselves; `⏎` Enter, `⎋` Esc, `⌫` Backspace, `←→↑↓` arrows.
pub fn script(text: &str) -> Vec<Key> {
    let key = |c| match c {
        '⏎' | '\n' => Key::Enter,
        '⎋' => Key::Esc,
        '⌫' => Key::Backspace,
        '←' => Key::Left,
        '→' => Key::Right,
        '↑' => Key::Up,
        '↓' => Key::Down,
        c => Key::Char(c),
    };
    text.chars().map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key does one thing on a screen, and only `m` and `'` wait for another key.
    #[test]
    fn no_binding_is_a_prefix_of_another() {
        for screen in Screen::ALL {
            let mut seen = Vec::new();
            for binding in bindings(screen) {
                for key in binding.keys {
                    assert!(!seen.contains(key), "{key:?} twice on {screen:?}");
                    seen.push(*key);
                }
                let waits = matches!(binding.msg, Msg::MarkPrefix | Msg::JumpPrefix | Msg::Search);
                assert_eq!(
                    waits,
                    ["m{A-Z}", "'{A-Z}", "/"].contains(&binding.label),
                    "{}",
                    binding.label
                );
            }
        }
    }

    /// Digits are screens everywhere (0 is the start of the run), so there are no counts.
    #[test]
    fn digits_are_screens() {
        for screen in Screen::ALL {
            for (digit, target) in ('1'..='5').zip(Screen::ALL) {
                let msg = message(&Input::Command, screen, Key::Char(digit));
                assert_eq!(msg, Some(Msg::Screen(target)));
            }
        }
    }
}
