//! The way of one packet, stage by stage.

use super::{bar, percent, put, rule, scroll};
use crate::app::App;
use crate::lens::journey::{Journey, Stage};
use crate::lens::{time, words};
use crate::theme::Meaning;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

/// Rows below the table.
const FOOT: u16 = 6;

/// The packet screen.
pub struct Packet<'a>(pub &'a App<'a>);

impl Widget for Packet<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let (app, theme) = (self.0, self.0.theme());
        let Some(journey) = &app.journey else {
            let text = "No packet is followed: select an event of one on the timeline and press f, or search for skb:N.";
            put(buf, area, 1, 1, text, theme.style(Meaning::Text));
            return;
        };
        let total = journey.total(&app.trace);
        rule(
            app,
            buf,
            area,
            0,
            &format!(
                "skb:{}: {} in {} stages{}",
                journey.skb,
                time::duration(total),
                journey.stages.len(),
                fate(journey)
            ),
        );
        put(
            buf,
            area,
            0,
            1,
            &heading(app, area.width),
            theme.style(Meaning::Title),
        );
        let rows = area.height.saturating_sub(2 + FOOT);
        let from = scroll(app.row, journey.stages.len(), usize::from(rows));
        for (y, n) in (from..journey.stages.len())
            .take(usize::from(rows))
            .enumerate()
        {
            let selected = n == app.row;
            let style = theme.style(if selected {
                Meaning::Focus
            } else {
                Meaning::Text
            });
            let text = row(app, n, &journey.stages[n], total, area.width);
            put(
                buf,
                area,
                0,
                y as u16 + 2,
                if selected { ">" } else { " " },
                style,
            );
            put(buf, area, 1, y as u16 + 2, &text, style);
        }
        foot(
            app,
            journey,
            Rect {
                y: area.y + area.height - FOOT,
                height: FOOT,
                ..area
            },
            buf,
        );
    }
}

/// Columns for the function, the time and the CPU.
fn widths(app: &App, width: u16) -> [usize; 3] {
    let place = if width >= 100 { 26 } else { 16 };
    [place, app.time_width(), app.cpu_width()]
}

fn fate(journey: &Journey) -> &'static str {
    match (journey.dropped, journey.left_queued) {
        (true, _) => ", dropped",
        (_, true) => ", STILL QUEUED when the run ended",
        _ => "",
    }
}

fn heading(app: &App, width: u16) -> String {
    let [place, time_width, cpu] = widths(app, width);
    let time = format!("time({})", app.time_unit());
    format!(
        "   # {time:>time_width$} {:>9} {:<6} {:<cpu$} {:<place$} event",
        "delta(ns)", "spent", "CPU", "where"
    )
}

fn row(app: &App, n: usize, stage: &Stage, total: u64, width: u16) -> String {
    let trace = &app.trace;
    let record = trace.record(stage.record);
    let wide = width >= 100;
    let [place_width, time_width, cpu_width] = widths(app, width);
    let cpu = words::cpu(&trace.names, record.cpu);
    let delta = if n == 0 {
        "-".to_owned()
    } else {
        time::ns(stage.delta)
    };
    let part = if n == 0 { "" } else { stage.part.text() };
    let place: String = stage.place.chars().take(place_width).collect();
    let event = format!(
        "{} {}",
        words::kind(&record),
        words::arguments(trace, &record)
    );
    let event = event.replace(
        &format!(
            "skb:{} ",
            app.journey.as_ref().map_or(0, |journey| journey.skb)
        ),
        "",
    );
    let at = app.time(record.time);
    let line = format!(
        "{:>3} {at:>time_width$} {delta:>9} {part:<6} {cpu:<cpu_width$} {place:<place_width$} {event}",
        n + 1
    );
    if wide {
        format!("{line:<107.107} {}", bar(stage.delta, total, 10))
    } else {
        line
    }
}

fn foot(app: &App, journey: &Journey, area: Rect, buf: &mut Buffer) {
    let theme = app.theme();
    let total = journey.total(&app.trace);
    rule(app, buf, area, 0, "where the time went");
    for (y, (part, spent)) in (1..).zip(journey.parts(&app.trace)) {
        let (share, bar) = (percent(spent, total), bar(spent, total, 40));
        let line = format!(
            " {:<8} {:>12} ns {share:>6} {bar}",
            part.text(),
            time::ns(spent)
        );
        put(buf, area, 0, y, &line, theme.style(Meaning::Text));
    }
    if journey.left_queued {
        let blamed = app
            .trace
            .source()
            .violations()
            .iter()
            .find(|v| v.skb == Some(journey.skb));
        let why = blamed.map_or_else(String::new, |v| {
            words::safe(&format!(": {} in {}", v.law, v.function))
        });
        put(
            buf,
            area,
            1,
            4,
            &format!("nobody took it out of its qdisc{why} (! goes there)"),
            theme.style(Meaning::Title),
        );
    }
}
