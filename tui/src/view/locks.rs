//! One row a lock, as in `perf lock contention`.

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
        let name_width = if area.width >= 100 { 30 } else { 18 };
        let heading = format!(
            "  {:<name_width$} {:>8} {:>9} {:>7} {:>10} {:>8} {:>8} {:>8} {:>8}",
            "lock",
            "acquired",
            "contended",
            "tryfail",
            "wait total",
            "wait avg",
            "wait max",
            "hold avg",
            "hold max"
        );
        put(buf, area, 0, 0, &heading, theme.style(Meaning::Title));
        let rows = tables::locks(&app.trace);
        let room = usize::from(area.height) - 2;
        let from = scroll(app.row, rows.len(), room);
        for (y, (n, row)) in rows.iter().enumerate().skip(from).take(room).enumerate() {
            let selected = n == app.row;
            let style = theme.style(if selected {
                Meaning::Focus
            } else {
                Meaning::Text
            });
            let s = row.stats;
            let name: String = row.name.chars().take(name_width).collect();
            let line = format!(
                "{} {name:<name_width$} {:>8} {:>9} {:>7} {:>10} {:>8} {:>8} {:>8} {:>8}",
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
        let note = "times in ns; averages of waits are over contended acquisitions only; tryfail: trylocks that failed";
        put(
            buf,
            area,
            1,
            area.height - 1,
            note,
            theme.style(Meaning::Dim),
        );
    }
}
