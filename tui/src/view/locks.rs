//! One row a lock, as in `perf lock contention`.

use super::lanes::shorten;
use super::{put, scroll};
use crate::app::App;
use crate::lens::tables;
use crate::theme::Meaning;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

/// The table of locks.
pub struct Locks<'a>(pub &'a App<'a>);

impl Widget for Locks<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let (app, theme) = (self.0, self.0.theme());
        let (name_width, wide) = if area.width >= 100 { (30, 2) } else { (17, 0) };
        let [w6, w7, w8] = [6, 7, 8].map(|width| width + wide);
        let heading = format!(
            "  {:<name_width$} {:>w6$} {:>w6$} {:>w7$} {:>w8$} {:>w6$} {:>w6$} {:>w6$} {:>w6$}",
            "lock", "acq", "cont", "tryfail", "wait", "avg", "max", "hold", "max"
        );
        put(buf, area, 0, 0, &heading, theme.style(Meaning::Title));
        let rows = tables::locks(&app.trace);
        let room = usize::from(area.height) - 4;
        let from = scroll(app.row, rows.len(), room);
        for (y, (n, row)) in rows.iter().enumerate().skip(from).take(room).enumerate() {
            let selected = n == app.row;
            let style = theme.style(if selected {
                Meaning::Focus
            } else {
                Meaning::Text
            });
            let s = row.stats;
            let name = shorten(&row.name, name_width);
            let line = format!(
                "{} {name:<name_width$} {:>w6$} {:>w6$} {:>w7$} {:>w8$} {:>w6$} {:>w6$} {:>w6$} {:>w6$}",
                if selected { ">" } else { " " },
                s.acquired,
                s.contended,
                s.failed,
                s.wait_total,
                s.wait_total / s.contended.max(1),
                s.wait_max,
                s.hold_total / s.acquired.max(1),
                s.hold_max,
            );
            put(buf, area, 0, y as u16 + 1, &line, style);
        }
        let notes = [
            "acq acquired   cont acquired after a wait   tryfail trylocks that failed",
            "wait in all, average (of cont), longest   hold average, longest   in ns",
        ];
        for (y, note) in (area.height - 2..).zip(notes) {
            put(buf, area, 1, y, note, theme.style(Meaning::Dim));
        }
    }
}
