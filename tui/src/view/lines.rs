//! One row a cache line that moved, and the fields of the selected one, as in `perf c2c`.

use super::lanes::shorten;
use super::{put, rule, scroll};
use crate::app::App;
use crate::lens::{LineStats, tables, time};
use crate::theme::Meaning;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

/// The table of lines above, the table of fields below.
pub struct Lines<'a>(pub &'a App<'a>);

impl Widget for Lines<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let (app, theme) = (self.0, self.0.theme());
        let half = area.height / 2;
        let name_width = if area.width >= 100 { 40 } else { 22 };
        put(
            buf,
            area,
            0,
            0,
            &heading("line", name_width),
            theme.style(Meaning::Title),
        );
        let rows = tables::lines(&app.trace);
        let room = usize::from(half) - 1;
        let from = scroll(app.row, rows.len(), room);
        for (y, (n, row)) in rows.iter().enumerate().skip(from).take(room).enumerate() {
            let selected = n == app.row;
            let style = theme.style(if selected {
                Meaning::Focus
            } else {
                Meaning::Text
            });
            let line = format!(
                "{} {}",
                if selected { ">" } else { " " },
                columns(&row.name, name_width, &row.stats)
            );
            put(buf, area, 0, y as u16 + 1, &line, style);
        }
        let Some(row) = rows.get(app.row) else {
            put(
                buf,
                area,
                1,
                1,
                "no cache line moved",
                theme.style(Meaning::Text),
            );
            return;
        };
        let below = Rect {
            y: area.y + half,
            height: area.height - half,
            ..area
        };
        rule(app, buf, below, 0, &format!("fields of {}", row.name));
        put(
            buf,
            below,
            0,
            1,
            &heading("+offset field", name_width),
            theme.style(Meaning::Title),
        );
        let fields = tables::fields(&app.trace, row.line);
        for (y, field) in (2..below.height.saturating_sub(1)).zip(&fields) {
            let name = format!("+{:<3} {}", field.offset, field.name);
            let line = format!("  {}", columns(&name, name_width, &field.stats));
            put(buf, below, 0, y, &line, theme.style(Meaning::Text));
        }
        let note = match fields.iter().filter(|field| field.stats.hitm > 0).count() {
            0 | 1 => "a transfer is charged to the access after it; stall in ns",
            _ => "several fields of this line are fetched dirty: false sharing?  stall in ns",
        };
        put(
            buf,
            below,
            1,
            below.height - 1,
            note,
            theme.style(Meaning::Dim),
        );
    }
}

fn heading(name: &str, width: usize) -> String {
    format!(
        "  {name:<width$} {:>9} {:>7} {:>10} {:>7} {:>7} {:>7}",
        "transfers", "hitm", "stall", "loads", "stores", "rmws"
    )
}

fn columns(name: &str, width: usize, s: &LineStats) -> String {
    let name = shorten(name, width);
    let stall = time::fraction(s.stall, 1_000, 1);
    format!(
        "{name:<width$} {:>9} {:>7} {stall:>10} {:>7} {:>7} {:>7}",
        s.transfers, s.hitm, s.loads, s.stores, s.rmws
    )
}
