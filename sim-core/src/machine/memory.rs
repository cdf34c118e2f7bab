//! Simulated memory: words that live on cache lines, placed before the run.
//!
//! All values lie in one arena, so layouts are data, and a state hash or a reset is one walk.

use super::layout::{LINE_BYTES, Layout};
use crate::trace::{LineName, WordName};
use std::fmt::Display;

/// A shared word: a handle into the machine's arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(pub(super) u32);

/// A cache line of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineId(pub(super) u32);

impl Word {
    /// Its number in [`Names::words`](crate::trace::Names::words).
    pub fn number(self) -> u32 {
        self.0
    }
    /// The `n`-th word after this one, for words placed as an array.
    #[inline(always)]
    pub fn nth(self, n: u32) -> Word {
        Word(self.0 + n)
    }
}

impl LineId {
    /// The `n`-th line after this one, for lines placed together.
    #[inline(always)]
    pub fn nth(self, n: u32) -> LineId {
        LineId(self.0 + n)
    }
    /// Its number in [`Names::lines`](crate::trace::Names::lines).
    pub fn number(self) -> u32 {
        self.0
    }
}

/// Places words on lines, before the run.
#[derive(Debug, Default)]
pub struct Placement {
    pub(super) line_of: Vec<u32>,
    pub(super) initial: Vec<u64>,
    pub(super) lines: u32,
    quiet: Vec<bool>,
    is_quiet: bool,
    words: Vec<WordName>,
    line_names: Vec<LineName>,
    named: bool,
}

/// A struct that was placed.
#[derive(Clone, Debug)]
pub struct Placed {
    object: String,
    layout: Layout,
    first: LineId,
}

impl Placement {
    /// An empty memory. Without names (`named` off) a run is the same, only its trace is mute.
    pub fn new(named: bool) -> Placement {
        Placement {
            named,
            ..Placement::default()
        }
    }

    /// Whether words and lines have names.
    pub(super) fn is_named(&self) -> bool {
        self.named
    }

    /// Whether the words placed from now on are bookkeeping that no order of steps is explored around: the
    /// allocator's, say.
    pub fn set_quiet(&mut self, quiet: bool) {
        self.is_quiet = quiet;
    }

    /// Which words are bookkeeping.
    pub(crate) fn take_quiet(&mut self) -> Vec<bool> {
        std::mem::take(&mut self.quiet)
    }

    /// Where no access has a price nobody asks who holds a line: none are made.
    pub(crate) fn drop_lines(&mut self) {
        self.lines = 0;
    }

    /// Places `n` fresh lines called `name`. Names are only made where they are wanted.
    pub fn lines(&mut self, name: impl Display, n: u32) -> LineId {
        let first = self.lines;
        self.lines += n;
        if self.named {
            self.line_names.extend((0..n).map(|i| LineName {
                name: if n == 1 {
                    name.to_string()
                } else {
                    format!("{name} line {i}")
                },
            }));
        }
        LineId(first)
    }

    /// Places a word at `offset` of `line`, holding `initial`.
    pub fn word(&mut self, line: LineId, offset: u16, name: impl Display, initial: u64) -> Word {
        let word = self.line_of.len() as u32;
        self.line_of.push(line.0);
        self.quiet.push(self.is_quiet);
        self.initial.push(initial);
        if self.named {
            self.words.push(WordName {
                name: name.to_string(),
                line: line.0,
                offset,
            });
        }
        Word(word)
    }

    /// A word alone on its line.
    pub fn lone_word(&mut self, name: impl Display, initial: u64) -> Word {
        let line = self.lines(&name, 1);
        self.word(line, 0, name, initial)
    }

    /// Places an object with this layout on fresh lines.
    pub fn object(&mut self, object: impl Display, layout: Layout) -> Placed {
        let first = self.lines(&object, layout.lines());
        Placed {
            // Only names are made of it.
            object: if self.named {
                object.to_string()
            } else {
                String::new()
            },
            layout,
            first,
        }
    }

    /// A word for field `field` of a placed object.
    ///
    /// # Panics
    /// If the layout has no such field: the layout of a struct must hold every field the kernel
    /// code touches (the scenario reader checks that).
    pub fn field(&mut self, placed: &Placed, field: &str) -> Word {
        let Some(f) = placed.layout.field(field) else {
            panic!("layout `{}` has no field `{field}`", placed.layout.name)
        };
        let line = placed.first.nth(f.offset / LINE_BYTES);
        let name = format_args!("{} {field}", placed.object);
        self.word(line, (f.offset % LINE_BYTES) as u16, name, 0)
    }

    /// The names of words and lines, for the trace.
    pub fn take_names(&mut self) -> (Vec<WordName>, Vec<LineName>) {
        (
            std::mem::take(&mut self.words),
            std::mem::take(&mut self.line_names),
        )
    }
}

impl Placed {
    /// Whether its layout has a field of this name.
    pub fn has(&self, field: &str) -> bool {
        self.layout.field(field).is_some()
    }

    /// The line on which `field` lies.
    ///
    /// # Panics
    /// If the layout has no such field.
    pub fn line_of(&self, field: &str) -> LineId {
        let f = self.layout.field(field).expect("field of its layout");
        self.first.nth(f.offset / LINE_BYTES)
    }
}
