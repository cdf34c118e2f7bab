//! The selection in words, what its call cost, and why it happened.

use super::lanes::track;
use super::{bar, percent, put, rule};
use crate::app::App;
use crate::lens::cost::Cost;
use crate::lens::lanes::{self, LaneKey};
use crate::lens::track::Class;
use crate::lens::{Span, links, time, words};
use crate::theme::Meaning;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

/// Causes shown above each other.
const CAUSES_MAX: usize = 3;
/// Records looked at for an effect while drawing; the key `]` looks at all.
const EFFECT_WITHIN: usize = 4096;

/// The pane of the selection.
pub struct Selection<'a>(pub &'a App<'a>);

impl Widget for Selection<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let (app, theme) = (self.0, self.0.theme());
        rule(app, buf, area, 0, "selection");
        if app.trace.is_empty() {
            put(
                buf,
                area,
                1,
                1,
                "this run kept no records",
                theme.style(Meaning::Text),
            );
            return;
        }
        let room = usize::from(area.height) - 1;
        let lines = if room < 8 {
            compact(app)
        } else {
            full(app, usize::from(area.width) - 2)
        };
        for (y, (meaning, line)) in lines.iter().take(room).enumerate() {
            put(buf, area, 1, y as u16 + 1, line, theme.style(*meaning));
        }
    }
}

type Line = (Meaning, String);

fn full(app: &App, width: usize) -> Vec<Line> {
    let trace = &app.trace;
    let record = trace.record(app.cursor);
    let text = |text: String| (Meaning::Text, text);
    let mut lines = vec![(Meaning::Title, headline(app))];
    let number = time::grouped(app.cursor as u64);
    let skb = app
        .skb()
        .map_or_else(String::new, |skb| format!("  skb:{skb} (f)"));
    let cpu = words::cpu(&trace.names, record.cpu);
    lines.push(text(format!(
        "at {} {}  {cpu}  record {number}{skb}",
        app.time(record.time),
        app.time_unit()
    )));
    lines.extend(lane_state(app).map(text));
    for finding in finding(app) {
        lines.extend(
            wrap(&finding, width)
                .into_iter()
                .take(3)
                .map(|line| (Meaning::Title, line)),
        );
    }
    if let Some(span) = span(app) {
        lines.extend(cost_lines(app, span).into_iter().map(text));
    }
    lines.extend(causes(app).into_iter().map(text));
    lines
}

fn compact(app: &App) -> Vec<Line> {
    let trace = &app.trace;
    let record = trace.record(app.cursor);
    let cpu = words::cpu(&trace.names, record.cpu);
    let at = format!(
        "{} {} {cpu}  {}",
        app.time(record.time),
        app.time_unit(),
        headline(app)
    );
    let mut lines = vec![(Meaning::Title, at)];
    lines.extend(
        finding(app)
            .into_iter()
            .take(1)
            .map(|finding| (Meaning::Title, finding)),
    );
    if let Some(span) = span(app) {
        let cost = Cost::of(trace, span);
        let name = words::name(&trace.names.functions, span.function);
        let part = |name: &str, part: u64| {
            format!(
                "  {name} {} ns {}",
                time::ns(part),
                percent(part, cost.total).split('.').next().unwrap_or("0")
            ) + "%"
        };
        let parts = [
            part("insns", cost.instructions()),
            part("line", cost.transfer),
            part("wait", cost.wait),
        ];
        lines.push((
            Meaning::Text,
            format!(
                "in {name} {}:{}",
                time::duration(cost.total),
                parts.concat()
            ),
        ));
    }
    lines.extend(causes(app).into_iter().map(|cause| (Meaning::Text, cause)));
    lines
}

fn headline(app: &App) -> String {
    let record = app.trace.record(app.cursor);
    format!(
        "{} {}",
        words::kind(&record),
        words::arguments(&app.trace, &record)
    )
}

/// What the selected record is to be blamed for.
fn finding(app: &App) -> Vec<String> {
    let blamed = app
        .trace
        .findings
        .iter()
        .filter(|finding| finding.record as usize == app.cursor);
    let mut texts: Vec<String> = Vec::new();
    for number in blamed.filter_map(|finding| finding.violation) {
        let text = format!("V {}", words::violation(&app.trace, number));
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

fn span<'a>(app: &'a App) -> Option<&'a Span> {
    app.trace
        .span_of(app.cursor)
        .map(|span| &app.trace.spans[span as usize])
}

fn cost_lines(app: &App, span: &Span) -> Vec<String> {
    let trace = &app.trace;
    let cost = Cost::of(trace, span);
    let name = words::name(&trace.names.functions, span.function);
    let open = if span.leave as usize >= trace.len() {
        " (never returned)"
    } else {
        ""
    };
    let partial = if cost.partial {
        " (its first million records)"
    } else {
        ""
    };
    let from = app.time(trace.time(span.enter as usize));
    let mut lines = vec![format!(
        "in {name}()  from {from}  took {}{open}{partial}",
        time::duration(cost.total)
    )];
    let parts = [
        ("instructions", cost.instructions()),
        ("line transfer", cost.transfer),
        ("wait", cost.wait),
        ("interrupted", cost.interrupted),
    ];
    for (name, part) in parts {
        if part > 0 || name != "interrupted" {
            let (share, bar) = (percent(part, cost.total), bar(part, cost.total, 16));
            lines.push(format!(
                "   {name:<14} {:>9} ns {share:>6} {bar}",
                time::ns(part)
            ));
        }
    }
    lines
}

fn causes(app: &App) -> Vec<String> {
    let trace = &app.trace;
    let mut lines = Vec::new();
    let mut at = app.cursor;
    while let Some(cause) = links::cause(trace, at).filter(|_| lines.len() < CAUSES_MAX) {
        lines.push(format!(
            "[ {:indent$}{}",
            "",
            told(app, cause),
            indent = lines.len()
        ));
        at = cause;
    }
    if let Some(effect) = links::effect_within(trace, app.cursor, EFFECT_WITHIN) {
        lines.push(format!("] {}", told(app, effect)));
    }
    lines
}

fn told(app: &App, i: usize) -> String {
    let record = app.trace.record(i);
    let here = app.trace.time(app.cursor);
    let cpu = words::cpu(&app.trace.names, record.cpu);
    let text = words::arguments(&app.trace, &record);
    format!(
        "{} {cpu} {} {text}",
        time::difference(here, record.time),
        words::kind(&record)
    )
}

/// What the focused lane says at the selection.
pub(super) fn lane_state(app: &App) -> Option<String> {
    let trace = &app.trace;
    let item = track(app, app.lane)?.state_at(app.cursor as u32)?;
    let value = item.value;
    let what = match app.lane {
        LaneKey::Context(_) if item.class == Class::IDLE => "idle".to_owned(),
        LaneKey::Context(_) if item.class == Class::TASK => words::name(&trace.names.tasks, value),
        LaneKey::Context(_) if item.class == Class::SPIN => {
            format!("spins on {}", words::word(&trace.names, value))
        }
        LaneKey::Owner(_) if item.class == Class::IDLE => "free".to_owned(),
        LaneKey::Owner(_) => format!("held by {}", words::cpu(&trace.names, value as u16)),
        LaneKey::Waiters(_) => format!("{} waits", words::cpu(&trace.names, value as u16)),
        LaneKey::Qdisc(_) if value == u32::MAX => "empty".to_owned(),
        LaneKey::Qdisc(_) => format!("{value} packets"),
        LaneKey::Txq(_) if item.class <= Class::TASK => {
            words::txq_state(if item.class == Class::IDLE { 0 } else { value })
        }
        LaneKey::Line(_) if item.class == Class::TASK => format!("in core {value}"),
        _ => return None,
    };
    let (from, to) = (
        trace.time(item.first as usize),
        trace.time(item.last as usize),
    );
    let name = lanes::title(trace, app.lane).0;
    Some(format!(
        "{name} {what}  {} .. {}  {}",
        app.time(from),
        app.time(to),
        time::duration(to - from)
    ))
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        if lines[last].is_empty() {
            lines[last] = word.to_owned();
        } else if lines[last].len() + 1 + word.len() <= width {
            lines[last] = format!("{} {word}", lines[last]);
        } else {
            lines.push(format!("  {word}"));
        }
    }
    lines
}
