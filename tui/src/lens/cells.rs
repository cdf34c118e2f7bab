//! From a track and a window to one value a column.

use super::Trace;
use super::track::{Class, Track};

/// Units of the event axis that one record takes.
pub const EVENT_UNIT: u64 = 1000;

/// What the horizontal axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Axis {
    /// Picoseconds.
    #[default]
    Linear,
    /// Records: each takes the same room, so a burst and a long pause fit one screen.
    Event,
}

/// The visible part of the axis, in axis units (picoseconds, or thousandths of a record).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewport {
    /// Axis position of the left edge.
    pub start: u64,
    /// Axis units a column; never 0.
    pub per_col: u64,
}

/// The columns of a window, each with the records that fall into it.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The axis position where each column begins, and where the last one ends.
    pub at: Vec<u64>,
    /// The first record at or after each of those positions.
    pub record: Vec<u32>,
    /// What the positions count.
    pub axis: Axis,
}

impl Columns {
    /// The columns of `viewport`, `count` of them.
    pub fn new(trace: &Trace, axis: Axis, viewport: Viewport, count: usize) -> Columns {
        let at: Vec<u64> = (0..=count as u64)
            .map(|c| viewport.start + c * viewport.per_col)
            .collect();
        let record = at
            .iter()
            .map(|&x| trace.record_at(axis, x) as u32)
            .collect();
        Columns { at, record, axis }
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.record.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The column that shows record `record`, if one does.
    pub fn of(&self, record: usize) -> Option<usize> {
        let record = record as u32;
        let after = self.record.partition_point(|&r| r <= record);
        (after > 0 && after < self.record.len()).then(|| after - 1)
    }
}

/// What one column of a lane shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Cell {
    /// The most severe class in it.
    pub class: Class,
    /// The value of an item of that class; `u32::MAX` where several hide behind it.
    pub value: u32,
    /// Whether the cell stands for more than one item.
    pub many: bool,
}

/// One cell for each column.
pub fn cells(trace: &Trace, track: &Track, columns: &Columns) -> Vec<Cell> {
    let mut begun = track.begun_before(columns.record[0], 0);
    let end = trace.position(columns.axis, trace.len());
    let mut row = Vec::with_capacity(columns.len());
    for c in 0..columns.len() {
        if columns.at[c] >= end.max(1) && columns.record[c] as usize >= trace.len() {
            row.push(Cell::default());
            continue;
        }
        let mut from = begun;
        begun = match columns.record[c + 1] == columns.record[c] {
            true => begun,
            false => track.begun_before(columns.record[c + 1], begun),
        };
        // The state that was on when the column began belongs to it, unless it ended right there.
        if from > 0
            && trace.position(columns.axis, track.items()[from - 1].last as usize) > columns.at[c]
        {
            from -= 1;
        }
        row.push(cell(trace, track, from, begun));
    }
    row
}

fn cell(trace: &Trace, track: &Track, from: usize, to: usize) -> Cell {
    let class = track.severest(from..to, &trace.touched);
    let items = &track.items()[from..to];
    let value = match items {
        [] => u32::MAX,
        [one] => one.value,
        [head, .., tail]
            if head.class == class && (tail.class != class || tail.value == head.value) =>
        {
            head.value
        }
        [.., tail] if tail.class == class => tail.value,
        _ => u32::MAX,
    };
    Cell {
        class,
        value,
        many: items.len() > 1,
    }
}
