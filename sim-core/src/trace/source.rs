//! Reading a finished run.

use super::{Names, Record};
use crate::violation::Violation;

/// A finished run, as the viewer and the reports see it.
pub trait Source {
    /// What the numbers in the records stand for.
    fn names(&self) -> &Names;
    /// How many records there are.
    fn len(&self) -> usize;
    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The `i`-th record in order of occurrence (times never decrease).
    ///
    /// # Panics
    /// If `i >= self.len()`.
    fn get(&self, i: usize) -> Record;
    /// How many records were dropped before the first one kept (a ring sink that wrapped).
    fn dropped(&self) -> u64;
    /// Laws broken in this run, in order of time.
    fn violations(&self) -> &[Violation];
    /// Digest of the run, 32 hex digits.
    fn digest(&self) -> &str;
    /// Time at which the run ended, in picoseconds.
    fn end(&self) -> u64;
    /// The command that makes this run again (for `y` in the viewer).
    fn command(&self) -> &str;
}

/// A run kept in memory.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// See [`Source::names`].
    pub names: Names,
    /// See [`Source::get`].
    pub records: Vec<Record>,
    /// See [`Source::dropped`].
    pub dropped: u64,
    /// See [`Source::violations`].
    pub violations: Vec<Violation>,
    /// See [`Source::digest`].
    pub digest: String,
    /// See [`Source::end`].
    pub end: u64,
    /// See [`Source::command`].
    pub command: String,
}

impl Source for Recording {
    fn names(&self) -> &Names {
        &self.names
    }
    fn len(&self) -> usize {
        self.records.len()
    }
    fn get(&self, i: usize) -> Record {
        self.records[i]
    }
    fn dropped(&self) -> u64 {
        self.dropped
    }
    fn violations(&self) -> &[Violation] {
        &self.violations
    }
    fn digest(&self) -> &str {
        &self.digest
    }
    fn end(&self) -> u64 {
        self.end
    }
    fn command(&self) -> &str {
        &self.command
    }
}
