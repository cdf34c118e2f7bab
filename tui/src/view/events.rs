//! Records as text lines.

use super::{put, scroll};
use crate::app::App;
use crate::lens::{time, words};
use crate::theme::Meaning;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

/// The records around the selection; only the rows that are seen are built.
pub struct EventList<'a> {
    /// The state.
    pub app: &'a App<'a>,
    /// Whether each row begins with the number of its record.
    pub numbers: bool,
}

impl Widget for EventList<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let (app, theme) = (self.app, self.app.theme());
        let height = usize::from(area.height);
        let from = scroll(app.cursor, app.trace.len(), height);
        for (y, i) in (from..app.trace.len()).take(height).enumerate() {
            let selected = i == app.cursor;
            let found = app
                .found
                .as_ref()
                .is_some_and(|found| found.hits.binary_search(&(i as u32)).is_ok());
            let row = row(app, i, self.numbers);
            let style = theme.style(match selected {
                true => Meaning::Focus,
                false if found => Meaning::Mark,
                false => Meaning::Text,
            });
            let sign = if selected { ">" } else { sign(app, i, found) };
            put(buf, area, 0, y as u16, sign, style);
            put(buf, area, 1, y as u16, &row, style);
        }
    }
}

/// What a row is besides a record: a finding or a match.
fn sign(app: &App, i: usize, found: bool) -> &'static str {
    let findings = &app.trace.findings;
    let at = findings.partition_point(|finding| (finding.record as usize) < i);
    match findings
        .get(at)
        .filter(|finding| finding.record as usize == i)
    {
        Some(finding) if finding.violation.is_some() => "V",
        Some(_) => "*",
        None if found => "/",
        None => " ",
    }
}

/// The heading over a list with numbers.
pub fn heading(app: &App) -> String {
    let time = format!("time({})", app.time_unit());
    let (time_width, cpu_width) = (app.time_width(), app.cpu_width());
    format!(
        "  {:>8} {time:>time_width$} {:>9} {:<cpu_width$} {:<13} arguments",
        "record", "delta(ns)", "CPU", "event"
    )
}

fn row(app: &App, i: usize, numbers: bool) -> String {
    let trace = &app.trace;
    let record = trace.record(i);
    let kind: String = words::kind(&record).chars().take(13).collect();
    let cpu = words::cpu(&trace.names, record.cpu);
    let arguments = words::arguments(trace, &record);
    let time = app.time(record.time);
    let delta = match i {
        0 => "-".to_owned(),
        _ => format!("+{}", time::ns(record.time - trace.time(i - 1))),
    };
    let (time_width, cpu_width) = (app.time_width(), app.cpu_width());
    match numbers {
        true => {
            format!(
                " {i:>8} {time:>time_width$} {delta:>9} {cpu:<cpu_width$} {kind:<13} {arguments}"
            )
        }
        false => {
            format!(" {time:>time_width$} {delta:>6} {cpu:<cpu_width$} {kind:<13} {arguments}")
        }
    }
}
