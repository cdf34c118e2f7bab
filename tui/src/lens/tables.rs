//! The rows of the tables of locks and of cache lines.

use super::{LineStats, LockStats, Trace, words};

/// One lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockRow {
    /// Index into the names of locks.
    pub lock: u32,
    /// Its name.
    pub name: String,
    /// Its sums.
    pub stats: LockStats,
}

/// The locks that were used, those waited for longest first.
pub fn locks(trace: &Trace) -> Vec<LockRow> {
    let used = trace
        .locks
        .iter()
        .enumerate()
        .filter(|(_, lock)| lock.stats.acquired + lock.stats.failed > 0);
    let row = |(n, lock): (usize, &super::LockTracks)| LockRow {
        lock: n as u32,
        name: words::name(&trace.names.locks, n as u32),
        stats: lock.stats,
    };
    let mut rows: Vec<LockRow> = used.map(row).collect();
    rows.sort_by_key(|row| {
        std::cmp::Reverse((row.stats.wait_total, row.stats.failed, row.stats.acquired))
    });
    rows
}

/// One cache line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// Index into the names of lines.
    pub line: u32,
    /// Its name.
    pub name: String,
    /// Its sums.
    pub stats: LineStats,
}

/// The lines that moved, those that moved most first.
pub fn lines(trace: &Trace) -> Vec<LineRow> {
    let row = |&line: &u32| LineRow {
        line,
        name: words::line(&trace.names, line),
        stats: trace.lines[line as usize].stats,
    };
    trace.busiest_lines.iter().map(row).collect()
}

/// One field of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRow {
    /// Byte offset within the line.
    pub offset: u16,
    /// The word's name.
    pub name: String,
    /// Its sums.
    pub stats: LineStats,
}

/// The words on a line that were touched, by offset.
pub fn fields(trace: &Trace, line: u32) -> Vec<FieldRow> {
    let words = trace
        .names
        .words
        .iter()
        .zip(&trace.words)
        .filter(|(word, _)| word.line == line);
    let touched = words.filter(|(_, s)| s.loads + s.stores + s.rmws + s.transfers > 0);
    let row = |(word, stats): (&sim_core::trace::WordName, &LineStats)| FieldRow {
        offset: word.offset,
        name: word.name.clone(),
        stats: *stats,
    };
    let mut rows: Vec<FieldRow> = touched.map(row).collect();
    rows.sort_by_key(|row| row.offset);
    rows
}
