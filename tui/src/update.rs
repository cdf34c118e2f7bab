//! The only place where [`App`] changes.

use crate::app::{App, Found, Input, Screen, TimeFormat};
use crate::keymap::{self, Key, Msg, Way};
use crate::lens::cells::Axis;
use crate::lens::journey::Journey;
use crate::lens::lanes::{self, LaneKey};
use crate::lens::search::Query;
use crate::lens::{links, tables};

/// What the terminal loop has to do, since `update` touches nothing but the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Leave.
    Quit,
    /// Print this line once the terminal is given back.
    Print(String),
}

/// Handles a key.
pub fn press(app: &mut App, key: Key) -> Option<Effect> {
    if app.help > 0 {
        // `?` turns the page; any other key ends the help, and ^C leaves even from here.
        let more = key == Key::Char('?') && app.help < crate::view::help::pages(app);
        app.help = if more { app.help + 1 } else { 0 };
        return (key == Key::Ctrl('c')).then_some(Effect::Quit);
    }
    let msg = keymap::message(&app.input, app.screen, key)?;
    update(app, msg)
}

/// Changes the state as the message says.
pub fn update(app: &mut App, msg: Msg) -> Option<Effect> {
    if !matches!(msg, Msg::Resize(..)) {
        app.message = None;
    }
    match msg {
        Msg::Pan(tenths) => pan(app, tenths),
        Msg::Row(by) => row(app, by.into()),
        Msg::RowEnd(Way::Back) => row(app, isize::MIN / 2),
        Msg::RowEnd(Way::Forth) => row(app, isize::MAX / 2),
        Msg::Step(way) => step(app, way),
        Msg::ZoomIn => zoom(app, crate::lens::time::rung_below(app.viewport.per_col)),
        Msg::ZoomOut => zoom(app, crate::lens::time::rung_above(app.viewport.per_col)),
        Msg::Fit => fit(app),
        Msg::FitAll => app.fit(0, app.trace.extent(app.axis)),
        Msg::Centre => app.centre(app.cursor_position()),
        Msg::End(Way::Back) => select(app, 0),
        Msg::End(Way::Forth) => select(app, app.trace.len().saturating_sub(1)),
        Msg::Cause => jump(
            app,
            links::cause(&app.trace, app.cursor),
            "no cause is recorded",
        ),
        Msg::Effect => jump(
            app,
            links::effect(&app.trace, app.cursor),
            "it enabled nothing that was recorded",
        ),
        Msg::Follow => follow(app),
        Msg::OtherPacket(way) => other_packet(app, way),
        Msg::Search => app.input = Input::Search(String::new()),
        Msg::Match(way) => next_match(app, way),
        Msg::Finding => finding(app),
        Msg::MarkPrefix => app.input = Input::SetMark,
        Msg::JumpPrefix => app.input = Input::JumpToMark,
        Msg::Mark(name) => set_mark(app, name),
        Msg::Jump(name) => jump_to_mark(app, name),
        Msg::Enter => enter(app),
        Msg::Hide => hide(app),
        Msg::Pin => pin(app),
        Msg::Undo => undo(app),
        Msg::Axis => axis(app),
        Msg::TimeFormat => time_format(app),
        Msg::Screen(screen) => show(app, screen),
        Msg::Reopen => return Some(reopen(app)),
        Msg::Help => app.help = 1,
        Msg::Back => back(app),
        Msg::Quit => return Some(Effect::Quit),
        Msg::Resize(width, height) => resize(app, width, height),
        Msg::Type(c) => edit(app, |text| text.push(c)),
        Msg::Erase => edit(app, |text| text.truncate(text.len().saturating_sub(1))),
        Msg::Commit => search(app),
    }
    None
}

fn pan(app: &mut App, tenths: i8) {
    let by = (app.window() / 10).max(app.viewport.per_col) * u64::from(tenths.unsigned_abs());
    let latest = app.trace.extent(app.axis).saturating_sub(app.window() / 2);
    let start = app.viewport.start;
    app.viewport.start = if tenths < 0 {
        start.saturating_sub(by)
    } else {
        (start + by).min(latest.max(start))
    };
}

fn zoom(app: &mut App, per_col: u64) {
    let all = app
        .trace
        .extent(app.axis)
        .div_ceil(u64::from(app.geometry().plot).max(1));
    let widest = crate::lens::time::rung_above(all);
    let per_col = per_col.clamp(app.per_col_min(), widest.max(app.per_col_min()));
    let cursor = app.cursor_position();
    let fixed = if app.sees(cursor) {
        cursor
    } else {
        app.viewport.start + app.window() / 2
    };
    let column = (fixed - app.viewport.start) / app.viewport.per_col;
    app.viewport.per_col = per_col;
    app.viewport.start = fixed.saturating_sub(column * per_col);
    // Far out there is nothing to the right of the run, so the room there is better used on the left.
    let latest = app.trace.extent(app.axis).saturating_sub(app.window() / 2);
    app.viewport.start = app.viewport.start.min(latest);
}

fn fit(app: &mut App) {
    let range = match (app.marks.get(&'A'), app.marks.get(&'B')) {
        (Some(&a), Some(&b)) if a != b => Some((a.min(b), a.max(b))),
        _ => app.trace.span_of(app.cursor).map(|span| {
            let span = app.trace.spans[span as usize];
            (span.enter as usize, span.leave as usize)
        }),
    };
    let Some((from, to)) = range else {
        app.message = Some("nothing to fit: set marks A and B, or select a function".to_owned());
        return;
    };
    let (from, to) = (
        app.trace.position(app.axis, from),
        app.trace.position(app.axis, to),
    );
    let air = (to - from) / 20;
    app.fit(from.saturating_sub(air), to + air);
}

/// Selects a record and brings it into view.
fn select(app: &mut App, record: usize) {
    app.cursor = record.min(app.trace.len().saturating_sub(1));
    let position = app.cursor_position();
    if !app.sees(position) {
        app.centre(position);
    }
}

/// Selects a record that may belong to another lane.
fn select_anywhere(app: &mut App, record: usize) {
    select(app, record);
    if !links::belongs(&app.trace, app.lane, &app.trace.record(record)) {
        let home = lanes::home(&app.trace, record);
        if app.lanes().contains(&home) {
            app.lane = home;
        }
    }
    if let (Screen::Packet, Some(journey)) = (app.screen, &app.journey)
        && let Some(row) = journey
            .stages
            .iter()
            .position(|stage| stage.record == record)
    {
        app.row = row;
    }
}

fn jump(app: &mut App, to: Option<usize>, otherwise: &str) {
    match to {
        Some(record) => select_anywhere(app, record),
        None => app.message = Some(otherwise.to_owned()),
    }
}

fn step(app: &mut App, way: Way) {
    // A selection that was panned out of view is forgotten: the next event is the next one seen.
    let window = app.viewport.start..app.viewport.start + app.window();
    let from = match (window.contains(&app.cursor_position()), way) {
        (true, _) => app.cursor,
        (false, Way::Forth) => app
            .trace
            .record_at(app.axis, window.start)
            .saturating_sub(1),
        (false, Way::Back) => app.trace.record_at(app.axis, window.end),
    };
    let by = if way == Way::Forth { 1 } else { -1 };
    match links::neighbour(&app.trace, app.lane, from, by) {
        Some(record) => select(app, record),
        None => app.message = Some("no more events in this lane".to_owned()),
    }
}

fn row(app: &mut App, by: isize) {
    let moved = |at: usize, len: usize| at.saturating_add_signed(by).min(len.saturating_sub(1));
    match app.screen {
        Screen::Timeline => {
            let lanes = app.lanes();
            let at = lanes.iter().position(|&lane| lane == app.lane).unwrap_or(0);
            if let Some(&lane) = lanes.get(moved(at, lanes.len())) {
                app.lane = lane;
            }
        }
        Screen::Events => select_anywhere(app, moved(app.cursor, app.trace.len())),
        Screen::Packet => {
            let Some(journey) = &app.journey else { return };
            app.row = moved(app.row, journey.stages.len());
            if let Some(stage) = journey.stages.get(app.row) {
                select_anywhere(app, stage.record);
            }
        }
        Screen::Locks => app.row = moved(app.row, tables::locks(&app.trace).len()),
        Screen::Lines => app.row = moved(app.row, app.trace.busiest_lines.len()),
    }
}

fn follow(app: &mut App) {
    match app.skb() {
        Some(skb) => follow_packet(app, skb),
        None => app.message = Some("no packet near the selection".to_owned()),
    }
}

fn follow_packet(app: &mut App, skb: u32) {
    let journey = Journey::new(&app.trace, skb);
    app.row = journey
        .stages
        .iter()
        .rposition(|stage| stage.record <= app.cursor)
        .unwrap_or(0);
    app.journey = Some(journey);
    app.screen = Screen::Packet;
}

fn other_packet(app: &mut App, way: Way) {
    let Some(journey) = &app.journey else { return };
    let next = match way {
        Way::Forth => journey.skb.checked_add(1),
        Way::Back => journey.skb.checked_sub(1),
    };
    let other = next
        .map(|skb| Journey::new(&app.trace, skb))
        .filter(|journey| !journey.stages.is_empty());
    match other {
        Some(journey) => {
            let first = journey.stages[0].record;
            app.journey = Some(journey);
            app.row = 0;
            select_anywhere(app, first);
        }
        None => app.message = Some("no such packet".to_owned()),
    }
}

fn edit(app: &mut App, change: impl FnOnce(&mut String)) {
    if let Input::Search(text) = &mut app.input {
        change(text);
    }
}

fn search(app: &mut App) {
    let Input::Search(text) = std::mem::take(&mut app.input) else {
        return;
    };
    match Query::parse(&app.trace, &text) {
        Ok(query) => {
            app.found = Some(Found {
                hits: query.hits(&app.trace),
                text,
            });
            next_match(app, Way::Forth);
        }
        Err(problem) => app.message = Some(problem),
    }
}

fn next_match(app: &mut App, way: Way) {
    let Some(Found { text, hits }) = &app.found else {
        app.message = Some("no search yet: / begins one".to_owned());
        return;
    };
    let cursor = app.cursor as u32;
    let after = hits.partition_point(|&hit| hit <= cursor);
    let before = hits.partition_point(|&hit| hit < cursor);
    let (hit, wrapped) = match way {
        Way::Forth => (hits.get(after).or(hits.first()), after == hits.len()),
        Way::Back => (
            before.checked_sub(1).map(|i| &hits[i]).or(hits.last()),
            before == 0,
        ),
    };
    match hit.copied() {
        Some(hit) => {
            select_anywhere(app, hit as usize);
            if wrapped {
                app.message = Some("the search went once around".to_owned());
            }
        }
        None => app.message = Some(format!("nothing matches {text}")),
    }
}

fn finding(app: &mut App) {
    let findings = &app.trace.findings;
    let next = findings
        .iter()
        .find(|finding| finding.record as usize > app.cursor)
        .or(findings.first());
    let record = next.map(|finding| finding.record as usize);
    jump(app, record, "no findings in this run");
}

fn set_mark(app: &mut App, name: char) {
    app.input = Input::Command;
    app.marks.insert(name, app.cursor);
}

fn jump_to_mark(app: &mut App, name: char) {
    app.input = Input::Command;
    let mark = app.marks.get(&name).copied();
    jump(app, mark, "no such mark");
}

fn enter(app: &mut App) {
    match app.screen {
        Screen::Timeline => fold(app),
        Screen::Packet | Screen::Events => {
            app.screen = Screen::Timeline;
            app.centre(app.cursor_position());
        }
        Screen::Locks => {
            let lane = tables::locks(&app.trace)
                .get(app.row)
                .map(|row| LaneKey::Owner(row.lock));
            show_lane(app, lane);
        }
        Screen::Lines => {
            let lane = app
                .trace
                .busiest_lines
                .get(app.row)
                .map(|&line| LaneKey::Line(line));
            show_lane(app, lane);
        }
    }
}

fn show_lane(app: &mut App, lane: Option<LaneKey>) {
    let Some(lane) = lane else { return };
    app.screen = Screen::Timeline;
    if !app.lanes().contains(&lane) {
        change_layout(app, |layout| {
            layout.hidden.remove(&lane);
            layout.all_lines |= matches!(lane, LaneKey::Line(_));
        });
    }
    app.lane = lane;
}

fn change_layout(app: &mut App, change: impl FnOnce(&mut lanes::Layout)) {
    app.layouts_before.push(app.layout.clone());
    change(&mut app.layout);
}

/// Keeps the focus on a lane that is shown.
fn refocus(app: &mut App, was_at: usize) {
    let lanes = app.lanes();
    if !lanes.contains(&app.lane) {
        app.lane = lanes
            .get(was_at.min(lanes.len().saturating_sub(1)))
            .copied()
            .unwrap_or(LaneKey::Marks);
    }
}

fn position(app: &App) -> usize {
    app.lanes()
        .iter()
        .position(|&lane| lane == app.lane)
        .unwrap_or(0)
}

fn fold(app: &mut App) {
    let lane = match app.lane {
        LaneKey::Depth(cpu, _) => LaneKey::Function(cpu),
        LaneKey::Waiters(lock) => LaneKey::Owner(lock),
        lane => lane,
    };
    if lanes::fold(&app.trace, &app.layout, app.geometry().functions, lane).is_none() {
        app.message = Some("this lane has no more to show".to_owned());
        return;
    }
    let at = position(app);
    change_layout(app, |layout| match lane {
        LaneKey::Line(_) => layout.all_lines = !layout.all_lines,
        _ if layout.toggled.contains(&lane) => drop(layout.toggled.remove(&lane)),
        _ => drop(layout.toggled.insert(lane)),
    });
    app.lane = lane;
    refocus(app, at);
}

fn hide(app: &mut App) {
    let (at, lane) = (position(app), app.lane);
    change_layout(app, |layout| {
        layout.pinned.retain(|&pinned| pinned != lane);
        layout.hidden.insert(lane);
    });
    refocus(app, at);
    app.message = Some("lane hidden; u brings it back".to_owned());
}

fn pin(app: &mut App) {
    let lane = app.lane;
    change_layout(app, |layout| match layout.pinned.contains(&lane) {
        true => layout.pinned.retain(|&pinned| pinned != lane),
        false => layout.pinned.push(lane),
    });
}

fn undo(app: &mut App) {
    match app.layouts_before.pop() {
        Some(layout) => {
            let at = position(app);
            app.layout = layout;
            refocus(app, at);
        }
        None => app.message = Some("nothing to undo".to_owned()),
    }
}

/// Changes what the axis counts; the records in the window stay about the same.
fn axis(app: &mut App) {
    let from = app.trace.record_at(app.axis, app.viewport.start);
    let to = app
        .trace
        .record_at(app.axis, app.viewport.start + app.window());
    app.axis = match app.axis {
        Axis::Linear => Axis::Event,
        Axis::Event => Axis::Linear,
    };
    let (from, to) = (
        app.trace.position(app.axis, from),
        app.trace.position(app.axis, to),
    );
    app.fit(from, to.max(from));
}

fn time_format(app: &mut App) {
    app.time_format = match app.time_format {
        TimeFormat::Us => TimeFormat::Ns,
        TimeFormat::Ns if app.marks.contains_key(&'A') => TimeFormat::SinceA,
        TimeFormat::Ns | TimeFormat::SinceA => TimeFormat::Us,
    };
}

fn show(app: &mut App, screen: Screen) {
    app.row = 0;
    app.screen = screen;
    if screen == Screen::Packet {
        match (&app.journey, app.skb()) {
            (Some(journey), _) => follow_packet(app, journey.skb),
            (None, Some(skb)) => follow_packet(app, skb),
            (None, None) => {}
        }
    }
}

fn reopen(app: &mut App) -> Effect {
    let command = app.command();
    app.message = Some(command.clone());
    Effect::Print(command)
}

fn back(app: &mut App) {
    match app.input {
        Input::Command => app.screen = Screen::Timeline,
        _ => app.input = Input::Command,
    }
}

/// The time in the middle of the window stays there, unless all of the run was shown.
fn resize(app: &mut App, width: u16, height: u16) {
    let all = app.viewport.start == 0 && app.window() >= app.trace.extent(app.axis);
    let middle = app.viewport.start + app.window() / 2;
    let at = position(app);
    app.size = (width, height);
    if all {
        app.fit(0, app.trace.extent(app.axis));
    } else {
        app.centre(middle);
    }
    refocus(app, at);
}
