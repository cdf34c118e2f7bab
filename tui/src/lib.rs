//! The interactive viewer of finished runs.
//!
//! It sees a [`Source`] and nothing else of the simulator: records, names, violations. Three steps lead to the
//! screen, each in a module of its own:
//!
//! * [`lens`]: from the records to lanes, spans, tables and words. Pure.
//! * [`app`] and [`update`](mod@update): the state, and the one place that changes it; [`keymap`] turns keys
//!   into messages and is also the help.
//! * [`view`](mod@view): from the state to cells, one widget a file; [`theme`] gives styles by meaning, and
//!   [`geometry`] divides the window.
//!
//! [`terminal`] is the only module that touches the terminal. [`testing`] drives all the others without one.
//!
//! ```
//! use tui::{ViewOptions, screen_text, screen_text_after, testing};
//!
//! let run = testing::sample();
//! let screen = screen_text(&run, &ViewOptions { at: Some(2_900_000), ..ViewOptions::default() }, 80, 24);
//! assert!(screen.contains("trylock_fail d0:0 seqlock owner CPU0"));
//! let packet = screen_text_after(&run, &ViewOptions::default(), "!!f", 80, 24);
//! assert!(packet.contains("STILL QUEUED when the run ended"));
//! ```

pub mod app;
pub mod geometry;
pub mod keymap;
pub mod lens;
pub mod terminal;
pub mod testing;
pub mod theme;
pub mod update;
pub mod view;

use app::App;
use lens::Trace;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use sim_core::trace::Source;

/// How to open a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ViewOptions {
    /// The moment to look at, in picoseconds; without one, all of the run is shown.
    pub at: Option<u64>,
    /// Whether colours may be used. Letters and fill carry everything without them.
    pub color: bool,
    /// Whether only ASCII characters may be drawn.
    pub ascii: bool,
}

/// Shows a run in the terminal until the user leaves.
///
/// The terminal is restored however this ends: on return, on an error, on a panic, and on SIGTERM or SIGINT.
/// The command that `y` asked for last is printed afterwards, where it can be copied.
///
/// # Errors
/// Whatever the terminal answers; in particular if there is none.
pub fn view(source: &dyn Source, options: ViewOptions) -> std::io::Result<()> {
    terminal::run(source, options)
}

/// One frame of the viewer as text, without a terminal: lines without trailing blanks.
///
/// For output that is piped, and for tests.
pub fn screen_text(source: &dyn Source, options: &ViewOptions, width: u16, height: u16) -> String {
    screen_text_after(source, options, "", width, height)
}

/// The same, after some keys were pressed: `"4"` is the table of locks, `"!f"` the packet of the first finding.
/// [`keymap::script`] says how special keys are written.
pub fn screen_text_after(
    source: &dyn Source,
    options: &ViewOptions,
    keys: &str,
    width: u16,
    height: u16,
) -> String {
    let mut app = App::new(Trace::new(source), *options, (width, height));
    for key in keymap::script(keys) {
        update::press(&mut app, key);
    }
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    (&app).render(buffer.area, &mut buffer);
    text(&buffer)
}

/// The characters of a buffer, line by line.
pub(crate) fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let line = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned() + "\n"
    };
    buffer.content.chunks(width).map(line).collect()
}
