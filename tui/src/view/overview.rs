//! The whole run in one row: how busy, and where the findings are.

use super::put;
use crate::app::App;
use crate::lens::cells::{self, Axis, Columns, Viewport};
use crate::lens::track::Class;
use crate::theme::Meaning;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::Widget;

/// From idle to every CPU busy.
const RAMP: &[u8] = b".:-=+o#@";

/// One row of load and findings; a second one, if there is room, shows where the window is.
pub struct Overview<'a>(pub &'a App<'a>);

impl Widget for Overview<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        if area.height == 0 {
            return;
        }
        let (app, theme, geometry) = (self.0, self.0.theme(), self.0.geometry());
        let plot = usize::from(geometry.plot);
        let per_col = app.trace.end.max(1).div_ceil(plot as u64).max(1);
        let columns = Columns::new(
            &app.trace,
            Axis::Linear,
            Viewport { start: 0, per_col },
            plot,
        );
        let marks = cells::cells(&app.trace, &app.trace.marks, &columns);
        let window = shown(app, per_col, plot);
        put(buf, area, 1, 0, "busy", theme.style(Meaning::Dim));
        super::lanes::bars(theme, geometry, area, 0, buf);
        for (c, mark) in marks.iter().enumerate() {
            let x = geometry.margin + 1 + c as u16;
            let from = c as u64 * per_col;
            let (glyph, style) = match mark.class {
                Class::NONE if from >= app.trace.end => (' ', Style::default()),
                Class::NONE => (load(app, from, per_col), theme.style(Meaning::Dim)),
                class => (
                    super::lanes::finding_glyph(class),
                    theme.style(Meaning::Of(class)),
                ),
            };
            let inside = window.contains(&c) && area.height == 1;
            let style = if inside {
                style.add_modifier(Modifier::REVERSED)
            } else {
                style
            };
            put(buf, area, x, 0, glyph.encode_utf8(&mut [0; 4]), style);
        }
        if area.height > 1 {
            put(buf, area, 1, 1, "window", theme.style(Meaning::Dim));
            super::lanes::bars(theme, geometry, area, 1, buf);
            for c in window.clone().take(plot) {
                let glyph = match c {
                    _ if window.end - window.start == 1 => "^",
                    c if c == window.start => "[",
                    c if c + 1 == window.end => "]",
                    _ => "-",
                };
                put(
                    buf,
                    area,
                    geometry.margin + 1 + c as u16,
                    1,
                    glyph,
                    theme.style(Meaning::Text),
                );
            }
        }
    }
}

fn load(app: &App, from: u64, per_col: u64) -> char {
    let percent = app
        .trace
        .load
        .percent(from, (from + per_col).min(app.trace.end));
    // Anything at all is more than nothing.
    let step = (percent * (RAMP.len() as u64 - 1)).div_ceil(100);
    char::from(RAMP[(step as usize).min(RAMP.len() - 1)])
}

/// The columns of the overview that the window covers.
fn shown(app: &App, per_col: u64, plot: usize) -> std::ops::Range<usize> {
    let (from, to) = match app.axis {
        Axis::Linear => (app.viewport.start, app.viewport.start + app.window()),
        Axis::Event => {
            let record = |position| app.trace.time(app.trace.record_at(Axis::Event, position));
            (
                record(app.viewport.start),
                record(app.viewport.start + app.window()),
            )
        }
    };
    let first = ((from / per_col) as usize).min(plot - 1);
    let last = (to.min(app.trace.end).div_ceil(per_col) as usize).clamp(first + 1, plot);
    first..last
}
