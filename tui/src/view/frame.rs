//! What surrounds every screen: title, screens, status, keys.

use super::{detail, put};
use crate::app::{App, Input, Screen};
use crate::lens::time;
use crate::lens::words::safe;
use crate::theme::Meaning;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

/// Two rows above and two below.
pub struct Frame<'a>(pub &'a App<'a>);

impl Widget for Frame<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let (app, theme) = (self.0, self.0.theme());
        put(
            buf,
            area,
            0,
            0,
            &title(app, area.width),
            theme.style(Meaning::Title),
        );
        screens(app, area, buf);
        let violated = !app.trace.source().violations().is_empty();
        let status = status(app);
        let meaning = if app.message.is_some() {
            Meaning::Title
        } else {
            Meaning::Text
        };
        put(buf, area, 1, area.height - 2, &status, theme.style(meaning));
        if let Input::Search(text) = &app.input {
            put(
                buf,
                area,
                0,
                area.height - 1,
                &format!(" /{}_", safe(text)),
                theme.style(Meaning::Title),
            );
        } else {
            put(
                buf,
                area,
                1,
                area.height - 1,
                hints(app, area.width, violated),
                theme.style(Meaning::Key),
            );
        }
    }
}

fn title(app: &App, width: u16) -> String {
    let (trace, source) = (&app.trace, app.trace.source());
    let violations = source.violations().len();
    let drops = trace
        .findings
        .iter()
        .filter(|finding| finding.violation.is_none())
        .count();
    let digest = safe(source.digest());
    let short = digest.get(..16).unwrap_or(&digest);
    let findings = match (violations, drops) {
        (0, 0) => "no findings".to_owned(),
        (v, 0) => format!("{v} LAW{} BROKEN", if v == 1 { "" } else { "S" }),
        (0, d) => format!("{d} dropped"),
        (v, d) => format!(
            "{v} LAW{} BROKEN, {d} dropped",
            if v == 1 { "" } else { "S" }
        ),
    };
    let records = time::grouped(trace.len() as u64);
    let lost = match source.dropped() {
        0 => String::new(),
        lost => format!(" (after {} not kept)", time::grouped(lost)),
    };
    let end = time::duration(trace.end);
    let name = &trace.names.scenario;
    if width >= 110 {
        format!(
            " skbsim view  {name}   digest {short}   {end}   {records} records{lost}   {findings}"
        )
    } else {
        format!(
            " {name}  {}  {end}  {records} records{lost}  {findings}",
            &short[..short.len().min(8)]
        )
    }
}

fn screens(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = app.theme();
    let mut x = 0;
    for (number, screen) in (1..).zip(Screen::ALL) {
        let (text, meaning) = match screen == app.screen {
            true => (format!("[{number} {}]", screen.name()), Meaning::Title),
            false => (format!(" {number} {} ", screen.name()), Meaning::Dim),
        };
        x = put(buf, area, x + 1, 1, &text, theme.style(meaning));
    }
    put(
        buf,
        area,
        area.width - 8,
        1,
        "?=help",
        theme.style(Meaning::Key),
    );
}

fn status(app: &App) -> String {
    match &app.input {
        Input::SetMark => {
            return "mark the selection as: a letter (A and B span a range)".to_owned();
        }
        Input::JumpToMark => return "jump to mark: its letter".to_owned(),
        Input::Command | Input::Search(_) => {}
    }
    if let Some(message) = &app.message {
        return safe(message);
    }
    let mut parts: Vec<String> = Vec::new();
    for (name, &record) in &app.marks {
        parts.push(format!("{name} {}", app.time(app.trace.time(record))));
    }
    if let (Some(&a), Some(&b)) = (app.marks.get(&'A'), app.marks.get(&'B')) {
        let (from, to) = (app.trace.time(a), app.trace.time(b));
        parts.push(format!("B-A {}", time::difference_ns(from, to)));
    }
    if let Some(found) = &app.found {
        let at = found
            .hits
            .partition_point(|&hit| hit as usize <= app.cursor);
        parts.push(format!("/{} {at}/{}", safe(&found.text), found.hits.len()));
    }
    if parts.is_empty() && app.help == 0 && app.screen == Screen::Timeline && app.size.1 < 34 {
        // The small pane has no room for it.
        parts.extend(detail::lane_state(app));
    }
    parts.join("   ")
}

fn hints(app: &App, width: u16, violated: bool) -> &'static str {
    match app.screen {
        _ if app.help > 0 => "any key goes back",
        Screen::Timeline if width < 110 && violated => {
            "! finding  hl pan  +- zoom  z fit  ., step  [] cause  f packet  / find  q quit"
        }
        Screen::Timeline if width < 110 => {
            "hl pan  jk lane  +- zoom  z fit  ., step  [] cause  f packet  / find  q quit"
        }
        Screen::Timeline if violated => {
            "! finding  h/l pan  j/k lane  +/- zoom  z fit  ./, step  [/] cause/effect  f packet  m mark  / find  q quit"
        }
        Screen::Timeline => {
            "h/l pan  j/k lane  +/- zoom  z fit  ./, step  [/] cause/effect  f packet  m mark  / find  Enter fold  q quit"
        }
        Screen::Packet => {
            "jk stage  JK packet  [] cause/effect  Enter on timeline  Esc back  q quit"
        }
        Screen::Events => {
            "jk row  [] cause/effect  f packet  m mark  / find  Enter on timeline  q quit"
        }
        Screen::Locks | Screen::Lines => "jk row  Enter show on timeline  Esc back  q quit",
    }
}
