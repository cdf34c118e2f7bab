//! The terminal: set up, read, drawn on, and always given back.

use crate::ViewOptions;
use crate::app::App;
use crate::keymap::{Key, Msg};
use crate::lens::Trace;
use crate::update::{Effect, press, update};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use sim_core::trace::Source;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a signal may wait until the loop looks: a signal alone does not end a wait for keys.
const PATIENCE: Duration = Duration::from_millis(250);

/// Shows a run until the user leaves. See [`view`](crate::view()).
pub(crate) fn run(source: &dyn Source, options: ViewOptions) -> io::Result<()> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let problem = "the viewer needs a terminal; without one, ask for a screen as text";
        return Err(io::Error::new(io::ErrorKind::Unsupported, problem));
    }
    let trace = Trace::new(source);
    let asked_to_end = ended_by_signal()?;
    // `try_init` installs a panic hook that restores the terminal before the message is printed.
    let terminal = ratatui::try_init()?;
    let restore = Restore;
    let printed = converse(terminal, trace, options, &asked_to_end);
    drop(restore);
    if let Some(line) = printed? {
        println!("{line}");
    }
    Ok(())
}

/// Gives the terminal back when it goes out of scope, whatever the way.
struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Becomes true once the process is asked to end, so that the loop can give the terminal back first.
fn ended_by_signal() -> io::Result<Arc<AtomicBool>> {
    let ended = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    for signal in [
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGHUP,
    ] {
        // A second signal ends the process the ordinary way: the first must have got stuck.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&ended))?;
        signal_hook::flag::register(signal, Arc::clone(&ended))?;
    }
    Ok(ended)
}

/// Draws, waits, handles; returns the line to print at the end.
fn converse(
    mut terminal: DefaultTerminal,
    trace: Trace,
    options: ViewOptions,
    ended: &AtomicBool,
) -> io::Result<Option<String>> {
    let size = terminal.size()?;
    let mut app = App::new(trace, options, (size.width, size.height));
    let mut printed = None;
    let mut stale = true;
    while !ended.load(Ordering::Relaxed) {
        if stale {
            terminal.draw(|frame| frame.render_widget(&app, frame.area()))?;
            stale = false;
        }
        if !event::poll(PATIENCE)? {
            continue;
        }
        let effect = match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                from_terminal(key).and_then(|key| press(&mut app, key))
            }
            Event::Resize(width, height) => update(&mut app, Msg::Resize(width, height)),
            _ => None,
        };
        stale = true;
        match effect {
            Some(Effect::Quit) => break,
            Some(Effect::Print(line)) => printed = Some(line),
            None => {}
        }
    }
    Ok(printed)
}

fn from_terminal(key: KeyEvent) -> Option<Key> {
    Some(match key.code {
        KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            Key::Ctrl(c.to_ascii_lowercase())
        }
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}
