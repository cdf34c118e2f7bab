//! The lanes: one row each, one cell a column, the most severe thing in it shown.

use super::{put, scroll};
use crate::app::App;
use crate::geometry::Geometry;
use crate::lens::cells::{Cell, Columns, cells};
use crate::lens::lanes::{self, LaneKey};
use crate::lens::track::{Class, Track};
use crate::lens::words;
use crate::theme::{Meaning, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::widgets::Widget;

/// The lanes that fit, pinned ones at the top, the focused one in view.
pub struct Lanes<'a>(pub &'a App<'a>);

impl Widget for Lanes<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let (app, geometry) = (self.0, self.0.geometry());
        let columns = Columns::new(
            &app.trace,
            app.axis,
            app.viewport,
            usize::from(geometry.plot),
        );
        let (rows, above, below) = visible(app, usize::from(area.height));
        for (y, &lane) in rows.iter().enumerate() {
            let row = Rect {
                y: area.y + y as u16,
                height: 1,
                ..area
            };
            margin(app, geometry, lane, row, buf);
            bars(app.theme(), geometry, row, 0, buf);
            plot(app, lane, &columns, geometry.margin + 1, row, buf);
        }
        let style = app.theme().style(Meaning::Dim);
        let right = geometry.margin + geometry.plot + 1;
        if above > 0 {
            put(buf, area, right, 0, "^", style);
        }
        if below > 0 {
            put(buf, area, right, area.height - 1, "v", style);
        }
    }
}

/// The lanes to draw, and how many there are above and below them.
fn visible(app: &App, height: usize) -> (Vec<LaneKey>, usize, usize) {
    let all = app.lanes();
    let pinned = app.layout.pinned.len().min(height.saturating_sub(1));
    let (fixed, rest) = all.split_at(pinned.min(all.len()));
    let room = height - fixed.len();
    let at = rest.iter().position(|&lane| lane == app.lane).unwrap_or(0);
    let from = scroll(at, rest.len(), room);
    let shown = rest.iter().skip(from).take(room);
    let rows: Vec<LaneKey> = fixed.iter().chain(shown).copied().collect();
    (rows, from, rest.len().saturating_sub(from + room))
}

/// The bars left and right of the plot.
pub(super) fn bars(theme: Theme, geometry: Geometry, area: Rect, y: u16, buf: &mut Buffer) {
    let bar = theme.vertical().to_string();
    let style = theme.style(Meaning::Dim);
    put(buf, area, geometry.margin, y, &bar, style);
    put(
        buf,
        area,
        geometry.margin + geometry.plot + 1,
        y,
        &bar,
        style,
    );
}

fn margin(app: &App, geometry: Geometry, lane: LaneKey, row: Rect, buf: &mut Buffer) {
    let theme = app.theme();
    let focused = lane == app.lane;
    let style = theme.style(if focused {
        Meaning::Focus
    } else {
        Meaning::Text
    });
    let (mut name, mut part) = lanes::title(&app.trace, lane);
    // In a narrow margin the name needs the room more; only what tells two rows of one thing apart stays.
    if geometry.margin < 20 && ["ctx", "own", "len", "core"].contains(&part) {
        part = "";
    }
    let scrolled_to_top = row.y == 0;
    if name.is_empty() && (scrolled_to_top || app.layout.pinned.contains(&lane)) {
        name = lanes::title(&app.trace, parent(lane)).0;
    }
    let fold = match lanes::fold(&app.trace, &app.layout, geometry.functions, lane) {
        _ if app.layout.pinned.contains(&lane) => "^",
        Some(true) => "-",
        Some(false) => "+",
        None => " ",
    };
    put(buf, row, 0, 0, if focused { ">" } else { " " }, style);
    put(buf, row, 1, 0, fold, theme.style(Meaning::Dim));
    let width = geometry.margin - 2;
    let name_width = width - part.len() as u16 - u16::from(!part.is_empty());
    put(
        buf,
        row,
        2,
        0,
        &shorten(&name, usize::from(name_width)),
        style,
    );
    put(buf, row, 2 + width - part.len() as u16, 0, part, style);
}

fn parent(lane: LaneKey) -> LaneKey {
    match lane {
        LaneKey::Function(cpu) | LaneKey::Depth(cpu, _) => LaneKey::Context(cpu),
        LaneKey::Waiters(lock) => LaneKey::Owner(lock),
        lane => lane,
    }
}

/// Cuts a name in its middle: both the object at its start and the field at its end tell names apart.
pub(super) fn shorten(name: &str, width: usize) -> String {
    if name.len() <= width || width < 4 {
        return name.chars().take(width).collect();
    }
    let tail = (width - 2) * 2 / 3;
    format!(
        "{}..{}",
        &name[..width - 2 - tail],
        &name[name.len() - tail..]
    )
}

pub(super) fn track<'t>(app: &'t App, lane: LaneKey) -> Option<&'t Track> {
    let trace = &app.trace;
    let cpu = |cpu: u16| trace.cpus.get(usize::from(cpu));
    match lane {
        LaneKey::Marks => Some(&trace.marks),
        LaneKey::Context(n) => cpu(n).map(|cpu| &cpu.contexts),
        LaneKey::Function(n) => cpu(n).map(|cpu| &cpu.innermost),
        LaneKey::Depth(n, depth) => cpu(n).and_then(|cpu| cpu.depths.get(usize::from(depth))),
        LaneKey::Owner(lock) => trace.locks.get(lock as usize).map(|lock| &lock.owner),
        LaneKey::Waiters(lock) => trace.locks.get(lock as usize).map(|lock| &lock.waiters),
        LaneKey::Qdisc(qdisc) => trace.qdiscs.get(qdisc as usize).map(|qdisc| &qdisc.len),
        LaneKey::Txq(txq) => trace.txqs.get(txq as usize),
        LaneKey::Line(line) => trace.lines.get(line as usize).map(|line| &line.owner),
    }
}

fn plot(app: &App, lane: LaneKey, columns: &Columns, left: u16, row: Rect, buf: &mut Buffer) {
    let Some(track) = track(app, lane) else {
        return;
    };
    let cells = cells(&app.trace, track, columns);
    let mut text: Vec<char> = cells.iter().map(|cell| glyph(lane, cell)).collect();
    for run in runs(&cells) {
        inscribe(app, lane, &cells[run.start], &mut text[run]);
    }
    let theme = app.theme();
    for (c, (cell, glyph)) in cells.iter().zip(text).enumerate() {
        let mut style = theme.style(meaning(lane, cell));
        // More hides here than one character can say.
        if cell.many {
            style = style.add_modifier(Modifier::UNDERLINED);
        }
        put(
            buf,
            row,
            left + c as u16,
            0,
            glyph.encode_utf8(&mut [0; 4]),
            style,
        );
    }
    if lane == LaneKey::Marks {
        marks(app, columns, left, row, buf);
    }
    if lane == app.lane
        && let Some(c) = columns.of(app.cursor)
        && let Some(cell) = buf.cell_mut((row.x + left + c as u16, row.y))
    {
        cell.set_style(theme.style(Meaning::Cursor));
    }
}

/// The user's marks, and the range between A and B.
fn marks(app: &App, columns: &Columns, left: u16, row: Rect, buf: &mut Buffer) {
    let style = app.theme().style(Meaning::Mark);
    if let (Some(&a), Some(&b)) = (app.marks.get(&'A'), app.marks.get(&'B')) {
        let inside = |c: &usize| {
            let record = columns.record[*c];
            record > a.min(b) as u32 && record <= a.max(b) as u32
        };
        for c in (0..columns.len()).filter(inside) {
            if buf
                .cell((row.x + left + c as u16, row.y))
                .is_some_and(|cell| cell.symbol() == " ")
            {
                put(buf, row, left + c as u16, 0, "~", style);
            }
        }
    }
    for (&name, &record) in &app.marks {
        if let Some(c) = columns.of(record) {
            put(
                buf,
                row,
                left + c as u16,
                0,
                name.encode_utf8(&mut [0; 4]),
                style,
            );
        }
    }
}

/// The character of a finding, the same in every lane.
pub(super) fn finding_glyph(class: Class) -> char {
    match class {
        Class::VIOLATION => 'V',
        Class::DROP => '*',
        _ => '!',
    }
}

fn glyph(lane: LaneKey, cell: &Cell) -> char {
    match (lane, cell.class) {
        (_, Class::NONE) => ' ',
        (_, class) if class >= Class::TRYLOCK => finding_glyph(class),
        (LaneKey::Context(_), Class::IDLE) => '.',
        (LaneKey::Context(_), Class::TASK) => '=',
        (LaneKey::Context(_), Class::SOFTIRQ) => 's',
        (LaneKey::Context(_), Class::HARDIRQ) => 'h',
        (LaneKey::Context(_), _) => 'x',
        (LaneKey::Function(_) | LaneKey::Depth(..), _) if cell.value == u32::MAX => ':',
        (LaneKey::Function(_) | LaneKey::Depth(..), _) => '|',
        (LaneKey::Qdisc(_), class) => char::from(b'0' + class.0 - 1),
        (LaneKey::Txq(_), Class::XMIT) => '|',
        (LaneKey::Txq(_), Class::DOORBELL) => 'D',
        (LaneKey::Line(_), Class::BOUNCE) => 'b',
        (_, Class::IDLE) => '.',
        (_, _) if cell.value == u32::MAX => '#',
        (_, _) => owner(cell.value),
    }
}

/// One character a CPU: 0-9, a-z, A-Z.
fn owner(number: u32) -> char {
    match number {
        0..36 => char::from_digit(number, 36).expect("below the radix"),
        36..62 => char::from(b'A' + (number - 36) as u8),
        _ => '#',
    }
}

fn meaning(lane: LaneKey, cell: &Cell) -> Meaning {
    match lane {
        _ if cell.class >= Class::TRYLOCK => Meaning::Of(cell.class),
        LaneKey::Owner(_) | LaneKey::Waiters(_) | LaneKey::Line(_) if cell.class > Class::IDLE => {
            if cell.class == Class::BOUNCE {
                Meaning::Of(cell.class)
            } else {
                Meaning::Owner(cell.value)
            }
        }
        LaneKey::Qdisc(_) if cell.class <= Class::digit(0) => Meaning::Dim,
        LaneKey::Qdisc(_) => Meaning::Text,
        LaneKey::Function(_) | LaneKey::Depth(..) => Meaning::Text,
        _ => Meaning::Of(cell.class),
    }
}

/// Stretches of cells that show one and the same thing.
fn runs(cells: &[Cell]) -> Vec<std::ops::Range<usize>> {
    let mut runs = Vec::new();
    let mut from = 0;
    for c in 1..=cells.len() {
        let same = c < cells.len()
            && (cells[c].class, cells[c].value) == (cells[from].class, cells[from].value);
        if !same {
            runs.push(from..c);
            from = c;
        }
    }
    runs
}

/// Writes a name into a stretch where it fits.
fn inscribe(app: &App, lane: LaneKey, cell: &Cell, text: &mut [char]) {
    let names = &app.trace.names;
    match (lane, cell.class) {
        _ if cell.value == u32::MAX || cell.class >= Class::TRYLOCK => {}
        (LaneKey::Context(_), Class::TASK) => centre(text, &words::name(&names.tasks, cell.value)),
        (LaneKey::Context(_), Class::SOFTIRQ) => centre(text, "softirq"),
        (LaneKey::Context(_), Class::HARDIRQ) => centre(text, "hardirq"),
        (LaneKey::Context(_), Class::SPIN) => {
            centre(text, &format!("spin {}", words::word(names, cell.value)))
        }
        (LaneKey::Function(_) | LaneKey::Depth(..), Class::TASK) => {
            let function = app.trace.spans[cell.value as usize].function;
            bracket(text, &words::name(&names.functions, function));
        }
        (LaneKey::Owner(_) | LaneKey::Waiters(_), class)
            if class > Class::IDLE && cell.value > 9 =>
        {
            centre(text, &words::cpu(names, cell.value as u16));
        }
        (LaneKey::Qdisc(_), _) if cell.value > 9 => centre(text, &cell.value.to_string()),
        _ => {}
    }
}

/// Puts a name after the first cell, if some fill is left on both sides.
fn centre(text: &mut [char], name: &str) {
    if name.len() + 3 <= text.len() {
        for (cell, c) in text[1..].iter_mut().zip(name.chars()) {
            *cell = c;
        }
    }
}

/// Draws a call as `[name    ]`, cut to the room it has.
fn bracket(text: &mut [char], name: &str) {
    let last = text.len() - 1;
    if last == 0 {
        return;
    }
    text.fill(' ');
    text[0] = '[';
    text[last] = ']';
    for (cell, c) in text[1..last].iter_mut().zip(name.chars()) {
        *cell = c;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_in_the_middle() {
        assert_eq!(shorten("d0:0 seqlock", 12), "d0:0 seqlock");
        assert_eq!(shorten("Qdisc d0:0 line 2", 12), "Qdis..line 2");
    }

    #[test]
    fn a_call_is_bracketed_and_cut() {
        let draw = |width| {
            let mut text = vec!['|'; width];
            bracket(&mut text, "qdisc_run");
            text.into_iter().collect::<String>()
        };
        assert_eq!(
            [draw(1), draw(2), draw(5), draw(12)],
            ["|", "[]", "[qdi]", "[qdisc_run ]"]
        );
    }
}
