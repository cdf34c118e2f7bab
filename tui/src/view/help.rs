//! The keys of this screen, from the key table, and what the letters mean.

use super::{put, rule};
use crate::app::{App, Screen};
use crate::keymap;
use crate::theme::Meaning;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

/// What the letters of the timeline mean.
const LEGEND: [&str; 9] = [
    "any    V law broken   * packet dropped   ! trylock failed",
    "       underlined: more than one thing in the column, the most severe shown",
    "CPU    = task   s softirq   h hardirq   x spins   . idle",
    "fn     [name ] one call   | a call too short for its name   : several calls",
    "lock   own: the CPU that holds it (0-9 a-z A-Z), . free",
    "       wait: the CPU that has waited longest",
    "qdisc  packets held: one digit, rounded up where they are more than 9",
    "txq    | net_dev_xmit   D doorbell   digits: XOFF bits   . on",
    "line   the core that had it last   b its dirty copy moved",
];

/// Covers the screen below with its help.
pub struct Help<'a>(pub &'a App<'a>);

/// Rows of the help on this screen that do not hold keys.
const HEADING: u16 = 1;

/// How many bindings a page holds, and whether the legend follows on the same page.
fn layout(app: &App, height: u16) -> (usize, bool) {
    let room = height.saturating_sub(HEADING).max(1);
    let bindings = keymap::bindings(app.screen).count();
    let legend = LEGEND.len() as u16 + 1;
    let fits = bindings.div_ceil(2) <= usize::from(room.saturating_sub(legend));
    (2 * usize::from(room), fits)
}

/// How many pages the help of this screen has in its window.
pub fn pages(app: &App) -> usize {
    let (per_page, fits) = layout(app, app.size.1.saturating_sub(4));
    let of_keys = keymap::bindings(app.screen).count().div_ceil(per_page);
    of_keys + usize::from(app.screen == Screen::Timeline && !fits)
}

impl Widget for Help<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let (app, theme) = (self.0, self.0.theme());
        let (per_page, fits) = layout(app, area.height);
        let (page, pages) = (app.help.saturating_sub(1), pages(app));
        let of = if pages > 1 {
            format!(", page {} of {pages} (? turns it)", page + 1)
        } else {
            String::new()
        };
        rule(
            app,
            buf,
            area,
            0,
            &format!("keys of the screen {}{of}", app.screen.name()),
        );
        let bindings: Vec<_> = keymap::bindings(app.screen)
            .skip(page * per_page)
            .take(per_page)
            .collect();
        let rows = bindings.len().div_ceil(2).max(1);
        let width = area.width / 2;
        for (n, binding) in bindings.iter().enumerate() {
            let x = area.x + (n / rows) as u16 * width;
            let cell = Rect {
                x,
                y: area.y + HEADING,
                width: width - 1,
                height: area.height - HEADING,
            };
            put(
                buf,
                cell,
                1,
                (n % rows) as u16,
                binding.label,
                theme.style(Meaning::Key),
            );
            put(
                buf,
                cell,
                9,
                (n % rows) as u16,
                binding.help,
                theme.style(Meaning::Text),
            );
        }
        let last = page + 1 == pages;
        if app.screen == Screen::Timeline && last {
            let y = if fits { HEADING + rows as u16 } else { 0 };
            let below = Rect {
                y: area.y + y,
                height: area.height - y,
                ..area
            };
            rule(app, buf, below, 0, "letters of the timeline");
            for (y, line) in (1..).zip(LEGEND) {
                put(buf, below, 1, y, line, theme.style(Meaning::Text));
            }
        }
    }
}
