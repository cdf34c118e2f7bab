//! The viewer's state: plain data. Only [`update`](crate::update) changes it.

use crate::ViewOptions;
use crate::geometry::Geometry;
use crate::lens::cells::{Axis, EVENT_UNIT, Viewport};
use crate::lens::journey::Journey;
use crate::lens::lanes::{self, LaneKey, Layout};
use crate::lens::{Trace, links, time};
use std::collections::BTreeMap;

/// What fills the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Screen {
    /// Lanes over time.
    #[default]
    Timeline,
    /// The way of one packet.
    Packet,
    /// Every record.
    Events,
    /// One row a lock.
    Locks,
    /// One row a cache line.
    Lines,
}

impl Screen {
    /// Every screen, in the order of the keys `1` to `5`.
    pub const ALL: [Screen; 5] = [
        Screen::Timeline,
        Screen::Packet,
        Screen::Events,
        Screen::Locks,
        Screen::Lines,
    ];

    /// Its name in the row of screens.
    pub fn name(self) -> &'static str {
        ["Timeline", "Packet", "Events", "Locks", "Lines"][self as usize]
    }
}

/// How times are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TimeFormat {
    /// Microseconds since the start of the run.
    #[default]
    Us,
    /// Nanoseconds since the start of the run.
    Ns,
    /// Nanoseconds since mark A.
    SinceA,
}

/// What the next key means.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Input {
    /// A command.
    #[default]
    Command,
    /// The name of a mark to set.
    SetMark,
    /// The name of a mark to jump to.
    JumpToMark,
    /// More of a search.
    Search(String),
}

/// A search and what it found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// As it was typed.
    pub text: String,
    /// The records, in order.
    pub hits: Vec<u32>,
}

/// Everything the viewer knows.
pub struct App<'s> {
    /// The run.
    pub trace: Trace<'s>,
    /// How it was opened.
    pub options: ViewOptions,
    /// Columns and rows of the window.
    pub size: (u16, u16),
    /// What fills the window.
    pub screen: Screen,
    /// The page of the help that covers it; 0 for none.
    pub help: usize,
    /// What the next key means.
    pub input: Input,
    /// What the horizontal axis counts.
    pub axis: Axis,
    /// The visible part of it.
    pub viewport: Viewport,
    /// How times are written.
    pub time_format: TimeFormat,
    /// The selected record.
    pub cursor: usize,
    /// The focused lane.
    pub lane: LaneKey,
    /// Which lanes are shown.
    pub layout: Layout,
    /// Layouts to go back to.
    pub layouts_before: Vec<Layout>,
    /// Marked records. `A` and `B` span the range.
    pub marks: BTreeMap<char, usize>,
    /// The last search.
    pub found: Option<Found>,
    /// The packet that is followed.
    pub journey: Option<Journey>,
    /// The selected row of a table.
    pub row: usize,
    /// What to tell the user about the last key.
    pub message: Option<String>,
}

impl<'s> App<'s> {
    /// Opens a run: at `options.at` if given, else all of it.
    pub fn new(trace: Trace<'s>, options: ViewOptions, size: (u16, u16)) -> App<'s> {
        let mut app = App {
            trace,
            options,
            size,
            screen: Screen::Timeline,
            help: 0,
            input: Input::Command,
            axis: Axis::Linear,
            viewport: Viewport {
                start: 0,
                per_col: 1,
            },
            time_format: TimeFormat::Us,
            cursor: 0,
            lane: LaneKey::Marks,
            layout: Layout::default(),
            layouts_before: Vec::new(),
            marks: BTreeMap::new(),
            found: None,
            journey: None,
            row: 0,
            message: None,
        };
        app.fit(0, app.trace.extent(app.axis));
        app.lane = app.lanes().get(1).copied().unwrap_or(LaneKey::Marks);
        if let Some(at) = options.at {
            app.open_at(at);
        }
        app
    }

    /// Picoseconds a column when a run is opened at a moment.
    const CLOSE_UP: u64 = 20_000;

    fn open_at(&mut self, at: u64) {
        let at = at.min(self.trace.end);
        self.cursor = self.trace.nearest(at);
        // Several records share the moment: the one to be blamed is the one to look at.
        let here = |record: u32| self.trace.time(record as usize) == self.trace.time(self.cursor);
        if let Some(finding) = self
            .trace
            .findings
            .iter()
            .find(|finding| here(finding.record))
        {
            self.cursor = finding.record as usize;
        }
        self.lane = lanes::home(&self.trace, self.cursor);
        self.viewport.per_col = self.viewport.per_col.clamp(1, App::CLOSE_UP);
        self.centre(at);
    }

    /// The division of the window.
    pub fn geometry(&self) -> Geometry {
        let wanted = |functions| lanes::lanes(&self.trace, &self.layout, functions).len();
        let geometry = Geometry::new(self.size, wanted(true));
        if geometry.functions {
            geometry
        } else {
            Geometry {
                functions: false,
                ..Geometry::new(self.size, wanted(false))
            }
        }
    }

    /// The lanes, in order.
    pub fn lanes(&self) -> Vec<LaneKey> {
        lanes::lanes(&self.trace, &self.layout, self.geometry().functions)
    }

    /// Axis units that the window spans.
    pub fn window(&self) -> u64 {
        u64::from(self.geometry().plot) * self.viewport.per_col
    }

    /// Smallest useful zoom: a tenth of a nanosecond, or a tenth of a record, a column.
    pub fn per_col_min(&self) -> u64 {
        EVENT_UNIT / 10
    }

    /// Puts an axis position into the middle of the window.
    pub fn centre(&mut self, position: u64) {
        let latest = self
            .trace
            .extent(self.axis)
            .saturating_sub(self.window() / 2);
        self.viewport.start = position.saturating_sub(self.window() / 2).min(latest);
    }

    /// Shows an axis range in full.
    pub fn fit(&mut self, from: u64, to: u64) {
        let plot = u64::from(self.geometry().plot).max(1);
        let exact = (to - from + 1).div_ceil(plot).max(self.per_col_min());
        // Two digits are enough to read, and waste a tenth of the window at most.
        let digit = 10u64.pow(exact.ilog10().saturating_sub(1));
        self.viewport.per_col = exact.div_ceil(digit) * digit;
        self.viewport.start = from;
    }

    /// Whether an axis position is in the window.
    pub fn sees(&self, position: u64) -> bool {
        (self.viewport.start..self.viewport.start + self.window()).contains(&position)
    }

    /// Axis position of the cursor.
    pub fn cursor_position(&self) -> u64 {
        self.trace.position(self.axis, self.cursor)
    }

    /// The packet of the selection, or else the one that is followed.
    pub fn skb(&self) -> Option<u32> {
        links::skb(&self.trace, self.cursor)
    }

    /// A time in the chosen format, without its unit.
    pub fn time(&self, ps: u64) -> String {
        let mark = self.marks.get(&'A').map(|&record| self.trace.time(record));
        match (self.time_format, mark) {
            (TimeFormat::Ns, _) => time::ns(ps),
            (TimeFormat::SinceA, Some(a)) if ps < a => format!("-{}", time::ns(a - ps)),
            (TimeFormat::SinceA, Some(a)) => time::ns(ps - a),
            _ => time::us(ps),
        }
    }

    /// Columns that times need in a list: enough for the last one.
    pub fn time_width(&self) -> usize {
        self.time(self.trace.end).len().max(8)
    }

    /// Columns that CPU names need in a list.
    pub fn cpu_width(&self) -> usize {
        self.trace
            .names
            .cpus
            .iter()
            .map(String::len)
            .max()
            .unwrap_or(0)
            .clamp(4, 10)
    }

    /// The unit of [`App::time`].
    pub fn time_unit(&self) -> &'static str {
        match self.time_format {
            TimeFormat::Us => "us",
            TimeFormat::Ns => "ns",
            TimeFormat::SinceA => "ns-A",
        }
    }

    /// The command that opens the viewer here again.
    pub fn command(&self) -> String {
        let at = time::ns(self.trace.time(self.cursor));
        format!("{} --at {at}ns", self.trace.source().command())
    }
}
