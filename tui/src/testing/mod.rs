//! Driving the viewer without a terminal.

mod sample;

pub use sample::{Writer, sample};

use crate::app::App;
use crate::keymap::{Msg, script};
use crate::lens::Trace;
use crate::update::{Effect, press, update};
use crate::{ViewOptions, text};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use sim_core::trace::Source;

/// A viewer that is driven by key scripts and read as text.
pub struct Harness<'s> {
    /// The viewer's state.
    pub app: App<'s>,
    /// What the last script asked the terminal loop for.
    pub effect: Option<Effect>,
}

impl<'s> Harness<'s> {
    /// Opens a run in a window of 120x40, in ASCII and without colour.
    pub fn open(source: &'s dyn Source) -> Harness<'s> {
        Harness::open_with(
            source,
            ViewOptions {
                ascii: true,
                ..ViewOptions::default()
            },
        )
    }

    /// Opens a run as the options say.
    pub fn open_with(source: &'s dyn Source, options: ViewOptions) -> Harness<'s> {
        Harness {
            app: App::new(Trace::new(source), options, (120, 40)),
            effect: None,
        }
    }

    /// Presses keys one after another; see [`script`] for how special keys are written.
    pub fn press(&mut self, keys: &str) -> &mut Harness<'s> {
        self.effect = None;
        for key in script(keys) {
            self.effect = press(&mut self.app, key).or(self.effect.take());
        }
        self
    }

    /// Makes the window this large.
    pub fn resize(&mut self, width: u16, height: u16) -> &mut Harness<'s> {
        update(&mut self.app, Msg::Resize(width, height));
        self
    }

    /// What a window of this size shows.
    ///
    /// # Panics
    /// If a widget panics.
    pub fn screen(&mut self, width: u16, height: u16) -> String {
        self.resize(width, height);
        let mut terminal =
            Terminal::new(TestBackend::new(width, height)).expect("a buffer in memory");
        terminal
            .draw(|frame| frame.render_widget(&self.app, frame.area()))
            .expect("drawn in memory");
        text(terminal.backend().buffer())
    }
}
