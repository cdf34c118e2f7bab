//! Problems as a terminal shows them. The only place that knows `miette`.

use crate::error::{Problem, Rejected};
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
};
use std::fmt;

struct Report<'r> {
    problem: &'r Problem,
    source: NamedSource<String>,
}

impl fmt::Debug for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.problem)
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.problem.code, self.problem.message)
    }
}

impl std::error::Error for Report<'_> {}

impl Diagnostic for Report<'_> {
    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.problem
            .help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.problem.span;
        let label = match self.problem.path.as_str() {
            "" => None,
            path => Some(format!("at {path}")),
        };
        let len = span.end.saturating_sub(span.start) as usize;
        Some(Box::new(std::iter::once(LabeledSpan::new(
            label,
            span.start as usize,
            len,
        ))))
    }
}

/// Draws all problems of `rejected` one below the other.
pub(crate) fn render(rejected: &Rejected, color: bool) -> String {
    let theme = if color {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(100)
        .with_context_lines(1);
    let mut text = String::new();
    for problem in rejected {
        let source = rejected.texts.text(problem.span.source).to_owned();
        let report = Report {
            problem,
            source: NamedSource::new(&problem.file, source),
        };
        if handler.render_report(&mut text, &report).is_err() {
            // A span that miette cannot draw still has its message.
            text.push_str(&problem.to_string());
        }
        text.push('\n');
    }
    text.push_str(&rejected.summary());
    text.push('\n');
    text
}
