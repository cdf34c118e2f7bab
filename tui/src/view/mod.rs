//! State to cells: one widget a file. Widgets read no clock and keep no state.

pub mod axis;
pub mod detail;
pub mod events;
pub mod frame;
pub mod help;
pub mod lanes;
pub mod lines;
pub mod locks;
pub mod overview;
pub mod packet;

use crate::app::{App, Screen};
use crate::geometry::SIZE_MIN;
use crate::theme::{Meaning, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

impl App<'_> {
    /// How to draw.
    pub fn theme(&self) -> Theme {
        Theme {
            color: self.options.color,
            ascii: self.options.ascii,
        }
    }
}

impl Widget for &App<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        if area.width < SIZE_MIN.0 || area.height < SIZE_MIN.1 {
            let text = format!(
                "skbsim view needs {}x{}; this is {}x{}",
                SIZE_MIN.0, SIZE_MIN.1, area.width, area.height
            );
            put(buf, area, 0, 0, &text, Style::default());
            return;
        }
        frame::Frame(self).render(area, buf);
        let inner = Rect {
            y: area.y + 2,
            height: area.height - 4,
            ..area
        };
        if self.help > 0 {
            help::Help(self).render(inner, buf);
            return;
        }
        match self.screen {
            Screen::Timeline => timeline(self, inner, buf),
            Screen::Packet => packet::Packet(self).render(inner, buf),
            Screen::Events => events_screen(self, inner, buf),
            Screen::Locks => locks::Locks(self).render(inner, buf),
            Screen::Lines => lines::Lines(self).render(inner, buf),
        }
    }
}

fn timeline(app: &App, area: Rect, buf: &mut Buffer) {
    let geometry = app.geometry();
    let rows = |y: u16, height: u16| Rect {
        y: area.y + y,
        height,
        ..area
    };
    overview::Overview(app).render(rows(0, geometry.overview), buf);
    axis::TimeAxis(app).render(rows(geometry.overview, 1), buf);
    lanes::Lanes(app).render(rows(geometry.overview + 1, geometry.lanes), buf);
    if geometry.detail == 0 {
        return;
    }
    let below = rows(geometry.overview + 1 + geometry.lanes, geometry.detail);
    let (selection, events) = if area.width >= 100 {
        // The list has the longer lines.
        let left = area.width * 2 / 5 + 1;
        let right = Rect {
            x: below.x + left + 1,
            width: below.width - left - 1,
            ..below
        };
        for y in below.y..below.y + below.height {
            let bar = app.theme().vertical().to_string();
            put(
                buf,
                below,
                left,
                y - below.y,
                &bar,
                app.theme().style(Meaning::Dim),
            );
        }
        (
            Rect {
                width: left,
                ..below
            },
            right,
        )
    } else {
        let upper = below.height - 3;
        (
            Rect {
                height: upper,
                ..below
            },
            Rect {
                y: below.y + upper,
                height: 3,
                ..below
            },
        )
    };
    detail::Selection(app).render(selection, buf);
    let heading = u16::from(area.width >= 100);
    if heading == 1 {
        rule(app, buf, events, 0, "events near the selection (3 = all)");
    }
    let list = Rect {
        y: events.y + heading,
        height: events.height - heading,
        ..events
    };
    events::EventList {
        app,
        numbers: false,
    }
    .render(list, buf);
}

fn events_screen(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = app.theme();
    let heading = events::heading(app);
    put(buf, area, 0, 0, &heading, theme.style(Meaning::Title));
    let list = Rect {
        y: area.y + 1,
        height: area.height - 1,
        ..area
    };
    events::EventList { app, numbers: true }.render(list, buf);
}

/// Writes `text` at column `x` and row `y` of `area`, cut off at its right edge; returns the column after it.
pub(crate) fn put(buf: &mut Buffer, area: Rect, x: u16, y: u16, text: &str, style: Style) -> u16 {
    if y >= area.height || x >= area.width {
        return x;
    }
    let (end, _) = buf.set_stringn(
        area.x + x,
        area.y + y,
        text,
        usize::from(area.width - x),
        style,
    );
    end - area.x
}

/// Writes a rule with a heading.
pub(crate) fn rule(app: &App, buf: &mut Buffer, area: Rect, y: u16, heading: &str) {
    let theme = app.theme();
    let line = theme
        .horizontal()
        .to_string()
        .repeat(usize::from(area.width));
    put(buf, area, 0, y, &line, theme.style(Meaning::Dim));
    put(
        buf,
        area,
        2,
        y,
        &format!(" {heading} "),
        theme.style(Meaning::Title),
    );
}

/// The first of `len` rows to show in `height` rows, so that row `at` is seen, in the middle where possible.
pub(crate) fn scroll(at: usize, len: usize, height: usize) -> usize {
    at.saturating_sub(height / 2)
        .min(len.saturating_sub(height))
}

/// `part` of `whole` as a bar of `width` characters at most; never empty for something.
pub(crate) fn bar(part: u64, whole: u64, width: u64) -> String {
    let length = if whole == 0 {
        0
    } else {
        (u128::from(part) * u128::from(width)).div_ceil(u128::from(whole))
    };
    "#".repeat(length.min(u128::from(width)) as usize)
}

/// `part` of `whole` in percent with one decimal.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let tenths = if whole == 0 {
        0
    } else {
        u128::from(part) * 1000 / u128::from(whole)
    };
    format!("{}.{}%", tenths / 10, tenths % 10)
}
