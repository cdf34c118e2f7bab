//! The time axis: round numbers, and what one column stands for.

use super::put;
use crate::app::{App, TimeFormat};
use crate::lens::cells::{Axis, EVENT_UNIT};
use crate::lens::time;
use crate::theme::Meaning;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

/// Columns between two labels at least.
const LABEL_COLUMNS: u64 = 16;

/// One row with labelled ticks; `^` under it is the selection.
pub struct TimeAxis<'a>(pub &'a App<'a>);

impl Widget for TimeAxis<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let (app, theme, geometry) = (self.0, self.0.theme(), self.0.geometry());
        let (start, per_col, window) = (app.viewport.start, app.viewport.per_col, app.window());
        let line = theme
            .horizontal()
            .to_string()
            .repeat(usize::from(geometry.plot));
        put(
            buf,
            area,
            geometry.margin + 1,
            0,
            &line,
            theme.style(Meaning::Dim),
        );
        super::lanes::bars(theme, geometry, area, 0, buf);
        let step = time::rung_above((per_col * LABEL_COLUMNS).saturating_sub(1));
        let (unit, name) = unit(app, step);
        put(
            buf,
            area,
            1,
            0,
            &format!("{name} {}", scale(app)),
            theme.style(Meaning::Title),
        );
        let at = app.cursor_position();
        let cursor = app
            .sees(at)
            .then(|| geometry.margin + 1 + ((at - start) / per_col) as u16);
        let origin = origin(app);
        let mut tick = origin % step + (start.saturating_sub(origin % step)).div_ceil(step) * step;
        while tick < start + window {
            let x = geometry.margin + 1 + ((tick - start) / per_col) as u16;
            let label = label(tick, origin, unit);
            let fits = x + (label.len() as u16) < geometry.margin + geometry.plot;
            // Half a number would be read as another one.
            let covered = cursor.is_some_and(|at| (x..=x + label.len() as u16).contains(&at));
            let text = if fits && !covered {
                format!("+{label}")
            } else {
                "+".to_owned()
            };
            put(buf, area, x, 0, &text, theme.style(Meaning::Text));
            tick += step;
        }
        if let Some(x) = cursor {
            put(buf, area, x, 0, "^", theme.style(Meaning::Cursor));
        }
    }
}

fn origin(app: &App) -> u64 {
    match (app.axis, app.time_format, app.marks.get(&'A')) {
        (Axis::Linear, TimeFormat::SinceA, Some(&a)) => app.trace.time(a),
        _ => 0,
    }
}

fn label(tick: u64, origin: u64, unit: u64) -> String {
    match tick >= origin {
        true => time::fraction(tick - origin, unit, 6),
        false => format!("-{}", time::fraction(origin - tick, unit, 6)),
    }
}

/// The unit of the labels: the one in which the steps are short to write.
fn unit(app: &App, step: u64) -> (u64, &'static str) {
    match (app.axis, app.time_format) {
        (Axis::Event, _) => (EVENT_UNIT, "rec"),
        (_, TimeFormat::Us) => match step {
            0..1_000_000_000 => (1_000_000, "us"),
            1_000_000_000..1_000_000_000_000 => (1_000_000_000, "ms"),
            _ => (1_000_000_000_000, "s"),
        },
        (_, TimeFormat::Ns) => (1_000, "ns"),
        (_, TimeFormat::SinceA) => (1_000, "ns-A"),
    }
}

fn scale(app: &App) -> String {
    match app.axis {
        Axis::Linear => format!("{}/col", time::duration(app.viewport.per_col)),
        Axis::Event if app.viewport.per_col < EVENT_UNIT => {
            format!(
                "{} col/rec",
                time::fraction(EVENT_UNIT, app.viewport.per_col, 1)
            )
        }
        Axis::Event => format!(
            "{}/col",
            time::fraction(app.viewport.per_col, EVENT_UNIT, 1)
        ),
    }
}
