//! From RON text to a spanned tree.
//!
//! Accepts whatever `ron` accepts as a `ron::Value`, and a little more (identifiers with any
//! non-ASCII letter). Never panics and never overflows the stack: size and nesting are limited
//! before memory is taken. `#![enable(..)]` is read and ignored.

use crate::tree::{FieldNode, Kind, Name, Node, Span};

/// Largest text that is read, in bytes.
pub const MAX_BYTES: usize = 4 << 20;
/// Deepest nesting of lists, maps, tuples, structs and `Some`. More than `ron`'s own 128.
pub const MAX_DEPTH: u32 = 160;

/// Why a text is no RON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Where.
    pub span: Span,
    /// Which rule: the text itself, its size, or its nesting.
    pub what: SyntaxRule,
}

/// Kinds of [`SyntaxError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxRule {
    /// Not RON.
    Syntax,
    /// Longer than [`MAX_BYTES`].
    Size,
    /// Deeper than [`MAX_DEPTH`].
    Depth,
}

/// Reads `text` as one RON value. `source` goes into every span.
pub fn parse(text: &str, source: u16) -> Result<Node, SyntaxError> {
    let mut p = Parser {
        text,
        at: 0,
        source,
        depth: 0,
    };
    if text.len() > MAX_BYTES {
        let message = format!(
            "the text has {} bytes; at most {MAX_BYTES} are read",
            text.len()
        );
        return Err(SyntaxError {
            message,
            help: None,
            span: p.span(0, 0),
            what: SyntaxRule::Size,
        });
    }
    p.skip_blank()?;
    while p.peek() == Some('#') {
        p.attribute()?;
        p.skip_blank()?;
    }
    let node = p.value()?;
    p.skip_blank()?;
    match p.peek() {
        None => Ok(node),
        Some(c) => Err(p.here(format!(
            "expected the end of the text, found `{}`",
            c.escape_debug()
        ))),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    source: u16,
    depth: u32,
}

type Parsed<T> = Result<T, SyntaxError>;

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, s: &str) -> bool {
        let found = self.rest().starts_with(s);
        if found {
            self.at += s.len();
        }
        found
    }

    fn span(&self, start: usize, end: usize) -> Span {
        // MAX_BYTES fits into u32; a longer text is refused at byte 0.
        Span {
            source: self.source,
            start: start as u32,
            end: end as u32,
        }
    }

    fn error(&self, start: usize, end: usize, message: impl Into<String>) -> SyntaxError {
        let span = self.span(start, end.max(start));
        SyntaxError {
            message: message.into(),
            help: None,
            span,
            what: SyntaxRule::Syntax,
        }
    }

    fn here(&self, message: impl Into<String>) -> SyntaxError {
        let len = self.peek().map_or(0, char::len_utf8);
        self.error(self.at, self.at + len, message)
    }

    fn found(&self) -> String {
        match self.peek() {
            Some(c) => format!("found `{}`", c.escape_debug()),
            None => "found the end of the text".into(),
        }
    }

    fn node(&self, start: usize, kind: Kind) -> Node {
        Node {
            kind,
            span: self.span(start, self.at),
        }
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) -> Parsed<()> {
        loop {
            let blank = self
                .rest()
                .find(|c| !is_blank(c))
                .unwrap_or(self.rest().len());
            self.at += blank;
            let start = self.at;
            if self.eat("//") {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            } else if self.eat("/*") {
                self.block_comment(start)?;
            } else {
                return Ok(());
            }
        }
    }

    fn block_comment(&mut self, start: usize) -> Parsed<()> {
        let mut level = 1u32;
        while level > 0 {
            if self.eat("/*") {
                level = level.saturating_add(1);
            } else if self.eat("*/") {
                level -= 1;
            } else if self.bump().is_none() {
                return Err(self.error(start, start + 2, "this comment is never closed"));
            }
        }
        Ok(())
    }

    /// `#![enable(..)]`, `#![type = ".."]` or `#![schema = ".."]`.
    fn attribute(&mut self) -> Parsed<()> {
        let start = self.at;
        for part in ["#", "!", "["] {
            if !self.eat(part) {
                return Err(self.error(
                    start,
                    self.at,
                    "expected an attribute such as `#![enable(implicit_some)]`",
                ));
            }
            self.skip_blank()?;
        }
        loop {
            match self.peek() {
                Some(']') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('"') => drop(self.string()?),
                Some('r') if self.raw_string_ahead() => drop(self.raw_string()?),
                Some(_) => drop(self.bump()),
                None => return Err(self.error(start, self.at, "this attribute is never closed")),
            }
            self.skip_blank()?;
        }
    }

    fn value(&mut self) -> Parsed<Node> {
        let start = self.at;
        let Some(c) = self.peek() else {
            return Err(self.here("expected a value, found the end of the text"));
        };
        match c {
            '(' => self.nested(|p| p.parens(start, None)),
            '[' => self.nested(|p| p.list(start)),
            '{' => self.nested(|p| p.map(start)),
            '"' => self.string().map(|s| self.node(start, Kind::Str(s))),
            '\'' => self.char_literal().map(|c| self.node(start, Kind::Char(c))),
            'b' if self.rest().starts_with("b'") => self.number_or_range(start),
            'b' if self.rest().starts_with("b\"")
                || self.rest().starts_with("br") && self.byte_raw_ahead() =>
            {
                self.byte_string()?;
                Ok(self.node(start, Kind::Bytes))
            }
            'r' if self.raw_string_ahead() => {
                self.raw_string().map(|s| self.node(start, Kind::Str(s)))
            }
            '0'..='9' | '+' | '-' | '.' => self.number_or_range(start),
            _ if is_ident_start(c) => self.word(start),
            _ => Err(self.here(format!("expected a value, {}", self.found()))),
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Parsed<Node>) -> Parsed<Node> {
        if self.depth >= MAX_DEPTH {
            let mut error = self.here(format!("nested more than {MAX_DEPTH} levels deep"));
            error.what = SyntaxRule::Depth;
            return Err(error);
        }
        self.depth += 1;
        let node = read(self);
        self.depth -= 1;
        node
    }

    /// An identifier and what may follow it: `true`, `Some(..)`, `Name(..)`, `on`.
    fn word(&mut self, start: usize) -> Parsed<Node> {
        let name = self.ident()?;
        let raw = self.text[start..].starts_with("r#");
        match name.text.as_str() {
            "true" | "false" if !raw => {
                return Ok(self.node(start, Kind::Bool(name.text == "true")));
            }
            "None" if !raw => return Ok(self.node(start, Kind::None)),
            "inf" | "inff32" | "inff64" | "NaN" | "NaNf32" | "NaNf64" if !raw => {
                let x = if name.text.starts_with("inf") {
                    f64::INFINITY
                } else {
                    f64::NAN
                };
                return self.range_after(start, Kind::Float(x));
            }
            "Some" if !raw => {
                self.skip_blank()?;
                return self.nested(|p| p.some(start));
            }
            _ => {}
        }
        let end = self.at;
        self.skip_blank()?;
        if self.peek() == Some('(') {
            return self.nested(|p| p.parens(start, Some(name)));
        }
        self.at = end;
        Ok(Node {
            span: name.span,
            kind: Kind::Ident(name.text),
        })
    }

    fn some(&mut self, start: usize) -> Parsed<Node> {
        if !self.eat("(") {
            return Err(self.here(format!("expected `(` after `Some`, {}", self.found())));
        }
        self.skip_blank()?;
        let inner = self.value()?;
        self.skip_blank()?;
        if self.eat(",") {
            self.skip_blank()?;
        }
        self.close(start, ')')?;
        Ok(self.node(start, Kind::Some(Box::new(inner))))
    }

    fn close(&mut self, start: usize, bracket: char) -> Parsed<()> {
        if self.peek() == Some(bracket) {
            self.at += 1;
            return Ok(());
        }
        if self.peek().is_none() {
            let end = start + self.text[start..].chars().next().map_or(0, char::len_utf8);
            return Err(self.error(start, end, format!("this is never closed with `{bracket}`")));
        }
        let mut error = self.here(format!("expected `,` or `{bracket}`, {}", self.found()));
        if self.peek() == Some('.') {
            error.help = Some("names and versions with a dot go in quotes: \"v5.11\"".into());
        }
        Err(error)
    }

    /// After each element: a comma, or the end.
    fn more(&mut self, bracket: char) -> Parsed<bool> {
        self.skip_blank()?;
        if self.eat(",") {
            self.skip_blank()?;
            // At the end of the text, `close` says which bracket is missing.
            return Ok(self.peek().is_some_and(|c| c != bracket));
        }
        Ok(false)
    }

    fn list(&mut self, start: usize) -> Parsed<Node> {
        self.at += 1;
        let items = self.items(']')?;
        self.close(start, ']')?;
        Ok(self.node(start, Kind::List(items)))
    }

    fn items(&mut self, bracket: char) -> Parsed<Vec<Node>> {
        let mut items = Vec::new();
        self.skip_blank()?;
        let mut more = self.peek() != Some(bracket);
        while more {
            items.push(self.value()?);
            more = self.more(bracket)?;
        }
        Ok(items)
    }

    fn map(&mut self, start: usize) -> Parsed<Node> {
        self.at += 1;
        let mut pairs = Vec::new();
        self.skip_blank()?;
        let mut more = self.peek() != Some('}');
        while more {
            let key = self.value()?;
            self.colon()?;
            pairs.push((key, self.value()?));
            more = self.more('}')?;
        }
        self.close(start, '}')?;
        Ok(self.node(start, Kind::Map(pairs)))
    }

    fn colon(&mut self) -> Parsed<()> {
        self.skip_blank()?;
        if !self.eat(":") {
            return Err(self.here(format!("expected `:`, {}", self.found())));
        }
        self.skip_blank()
    }

    /// `(..)` with or without a name before it: unit, tuple or struct, by what follows.
    fn parens(&mut self, start: usize, name: Option<Name>) -> Parsed<Node> {
        let open = self.at;
        self.at += 1;
        self.skip_blank()?;
        if self.eat(")") {
            let kind = if name.is_some() {
                Kind::Tuple(name, Vec::new())
            } else {
                Kind::Unit
            };
            return Ok(self.node(start, kind));
        }
        if !self.field_ahead() {
            let items = self.items(')')?;
            self.close(open, ')')?;
            return Ok(self.node(start, Kind::Tuple(name, items)));
        }
        let mut fields = Vec::new();
        let mut more = true;
        while more {
            if !self.peek().is_some_and(is_ident_start) {
                return Err(self.here(format!("expected a field name, {}", self.found())));
            }
            let name = self.ident()?;
            self.colon()?;
            fields.push(FieldNode {
                name,
                value: self.value()?,
            });
            more = self.more(')')?;
        }
        self.close(open, ')')?;
        Ok(self.node(start, Kind::Struct(name, fields)))
    }

    /// Whether an identifier and a colon come next.
    fn field_ahead(&mut self) -> bool {
        let back = self.at;
        let is_name = self.peek().is_some_and(is_ident_start) && !self.raw_string_ahead();
        let found = is_name
            && self.ident().is_ok()
            && self.skip_blank().is_ok()
            && self.peek() == Some(':');
        self.at = back;
        found
    }

    fn ident(&mut self) -> Parsed<Name> {
        let start = self.at;
        let raw = self.eat("r#");
        let first = self.at;
        let word = |c: char| is_ident_continue(c) || (raw && matches!(c, '.' | '+' | '-'));
        self.at += self.rest().find(|c| !word(c)).unwrap_or(self.rest().len());
        if self.at == first {
            return Err(self.here(format!("expected a name, {}", self.found())));
        }
        Ok(Name {
            text: self.text[first..self.at].to_owned(),
            span: self.span(start, self.at),
        })
    }

    fn raw_string_ahead(&self) -> bool {
        let hashes = self
            .rest()
            .strip_prefix('r')
            .map(|r| r.trim_start_matches('#'));
        hashes.is_some_and(|r| r.starts_with('"'))
    }

    fn byte_raw_ahead(&self) -> bool {
        let hashes = self
            .rest()
            .strip_prefix("br")
            .map(|r| r.trim_start_matches('#'));
        hashes.is_some_and(|r| r.starts_with('"'))
    }
}

/// White space as RON has it.
fn is_blank(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t'..='\r' | '\u{85}' | '\u{200E}' | '\u{200F}' | '\u{2028}' | '\u{2029}'
    )
}

fn is_ident_start(c: char) -> bool {
    c == '_' || c.is_ascii_alphabetic() || (!c.is_ascii() && !is_blank(c))
}

fn is_ident_continue(c: char) -> bool {
    is_ident_start(c) || c.is_ascii_digit()
}

mod literal;
