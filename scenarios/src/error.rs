//! What a rejected scenario says: every problem at once, each with its place and its remedy.

use crate::tree::Span;
use std::fmt::{self, Write as _};

/// One mistake in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Rule number, e.g. `E0203`; see [`crate::rules::RULES`].
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// Name of the text it stands in: the scenario, a machine profile, or `--set path=value`.
    pub file: String,
    /// Path of the value in the scenario, e.g. `hosts[0].devices[1].qdisc`.
    pub path: String,
    /// Bytes of the text.
    pub span: Span,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub col: u32,
    /// The offending text, at most 40 characters of its first line.
    pub value: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// A scenario that breaks at least one rule.
///
/// `Display` prints all problems without colour and without wrapping; [`Rejected::render`] draws
/// them for a terminal; the fields are the form for machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Name of the scenario file.
    pub file: String,
    /// Its text.
    pub source: String,
    /// Every problem, sorted by place. Never empty.
    pub problems: Vec<Problem>,
    /// All texts, by the number in a span.
    pub(crate) texts: Sources,
}

impl std::error::Error for Rejected {}

impl<'r> IntoIterator for &'r Rejected {
    type Item = &'r Problem;
    type IntoIter = std::slice::Iter<'r, Problem>;
    fn into_iter(self) -> Self::IntoIter {
        self.problems.iter()
    }
}

impl Rejected {
    /// The problems as a terminal shows them.
    pub fn render(&self, color: bool) -> String {
        crate::render::render(self, color)
    }

    /// The source line of `problem` and the caret line below it.
    fn excerpt(&self, problem: &Problem) -> Option<(String, String)> {
        let text = self.texts.text(problem.span.source);
        let line = text.lines().nth(problem.line as usize - 1)?;
        let marked = text.get(problem.span.start as usize..problem.span.end as usize)?;
        let marked = marked.lines().next().unwrap_or("").chars().count().max(1);
        let before = problem.col as usize - 1;
        // A very long line is cut to the part around the mistake.
        let fits = line.chars().nth(120).is_none();
        let skip = if fits { 0 } else { before.saturating_sub(60) };
        let shown: String = line.chars().skip(skip).take(120).collect();
        let room = shown.chars().count().saturating_sub(before - skip).max(1);
        let blank = shown
            .chars()
            .take(before - skip)
            .map(|c| if c == '\t' { '\t' } else { ' ' });
        let carets: String = blank
            .chain(std::iter::repeat_n('^', marked.min(room)))
            .collect();
        Some((shown, carets))
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            writeln!(f, "{problem}")?;
            let number = problem.line.to_string();
            let margin = " ".repeat(number.len());
            if let Some((line, carets)) = self.excerpt(problem) {
                writeln!(f, " {number} | {line}\n {margin} | {carets}")?;
            }
            if !problem.path.is_empty() {
                writeln!(f, " {margin} = at {}", problem.path)?;
            }
            if let Some(help) = &problem.help {
                writeln!(f, " {margin} = help: {help}")?;
            }
        }
        f.write_str(&self.summary())
    }
}

impl Rejected {
    /// `3 errors in two-queues.ron`.
    pub fn summary(&self) -> String {
        let n = self.problems.len();
        format!(
            "{n} error{} in {}",
            if n == 1 { "" } else { "s" },
            self.file
        )
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: error[{}]: {}",
            self.file, self.line, self.col, self.code, self.message
        )
    }
}

/// A problem before its line and column are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Issue {
    pub code: &'static str,
    pub message: String,
    pub at: At,
    pub help: Option<String>,
}

/// Where a value stands: in the text and in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct At {
    pub span: Span,
    pub path: String,
}

/// The texts that one load has read, by the number that spans carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sources {
    texts: Vec<(String, String)>,
}

impl Sources {
    /// Adds a text; `None` if there are too many.
    pub fn add(&mut self, name: &str, text: &str) -> Option<u16> {
        let number = u16::try_from(self.texts.len()).ok()?;
        self.texts.push((name.to_owned(), text.to_owned()));
        Some(number)
    }

    pub fn text(&self, source: u16) -> &str {
        self.texts
            .get(usize::from(source))
            .map_or("", |(_, text)| text)
    }

    fn name(&self, source: u16) -> &str {
        self.texts
            .get(usize::from(source))
            .map_or("", |(name, _)| name)
    }

    /// The line and column (from 1) of byte `at`.
    fn place(&self, source: u16, at: usize) -> (u32, u32) {
        let text = self.text(source);
        let mut end = at.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line = before.matches('\n').count() + 1;
        let col = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line as u32, col as u32)
    }

    /// Places, sorts and de-duplicates `issues`.
    pub fn problems(&self, issues: Vec<Issue>) -> Vec<Problem> {
        let mut problems: Vec<Problem> = Vec::new();
        for issue in issues {
            let span = issue.at.span;
            let (line, col) = self.place(span.source, span.start as usize);
            let marked = self
                .text(span.source)
                .get(span.start as usize..span.end as usize)
                .unwrap_or("");
            problems.push(Problem {
                code: issue.code,
                message: issue.message,
                file: self.name(span.source).to_owned(),
                path: issue.at.path,
                span,
                line,
                col,
                value: crate::tree::shorten(marked.lines().next().unwrap_or("")),
                help: issue.help,
            });
        }
        problems.sort_by(|a, b| (a.span, a.code, &a.message).cmp(&(b.span, b.code, &b.message)));
        // One mistake in a default that several hosts inherit is one mistake.
        problems.dedup_by(|b, a| (a.span, a.code, &a.message) == (b.span, b.code, &b.message));
        problems
    }

    /// All texts and the problems found in them, as the error of a load.
    pub fn reject(self, issues: Vec<Issue>) -> Rejected {
        let problems = self.problems(issues);
        Rejected {
            file: self.name(0).to_owned(),
            source: self.text(0).to_owned(),
            problems,
            texts: self,
        }
    }
}

/// Joins names for a message: "`a`, `b`, `c`".
pub(crate) fn quoted_list<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let mut list = String::new();
    for name in names {
        let comma = if list.is_empty() { "" } else { ", " };
        let _ = write!(list, "{comma}`{}`", name.as_ref());
    }
    list
}

/// The name among `known` that was probably meant by `given`. Two that are equally near are none:
/// whoever wrote `v6` did not mean `v0` more than `v5`.
pub(crate) fn did_you_mean<'k>(
    given: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<&'k str> {
    let allowed = (given.chars().count() / 3).clamp(1, 3);
    let ranked = known.into_iter().map(|name| (distance(given, name), name));
    let mut near: Vec<(usize, &str)> = ranked.filter(|&(d, _)| d <= allowed).collect();
    near.sort();
    match near.as_slice() {
        [(a, _), (b, _), ..] if a == b => None,
        [(_, name), ..] => Some(name),
        [] => None,
    }
}

/// Edit distance with swaps of neighbours, without regard to case; `usize::MAX` for very long names.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (
        a.to_lowercase().chars().take(65).collect(),
        b.to_lowercase().chars().take(65).collect(),
    );
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = change.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}
