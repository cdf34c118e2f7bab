//! Strings, characters and numbers.

use super::{Parsed, Parser};
use crate::tree::{Kind, Node};

impl<'a> Parser<'a> {
    pub(super) fn string(&mut self) -> Parsed<String> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.bump() {
                Some('"') => return Ok(text),
                Some('\\') => {
                    if !self.continuation() {
                        text.push(self.escape(false)?);
                    }
                }
                Some(c) => text.push(c),
                None => {
                    return Err(self.error(
                        start,
                        start + 1,
                        "this text is never closed with `\"`",
                    ));
                }
            }
        }
    }

    /// A backslash at the end of a line swallows the line break and the indentation.
    fn continuation(&mut self) -> bool {
        let found = self.eat("\r\n") || self.eat("\n");
        if found {
            let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
            self.at += self.rest().find(|c| !blank(c)).unwrap_or(self.rest().len());
        }
        found
    }

    pub(super) fn raw_string(&mut self) -> Parsed<String> {
        let start = self.at;
        self.at += 1;
        let hashes = self.rest().len() - self.rest().trim_start_matches('#').len();
        self.at += hashes + 1;
        let close = format!("\"{}", "#".repeat(hashes));
        match self.rest().find(&close) {
            Some(len) => {
                let text = self.rest()[..len].to_owned();
                self.at += len + close.len();
                Ok(text)
            }
            None => Err(self.error(
                start,
                start + 1,
                format!("this text is never closed with `{close}`"),
            )),
        }
    }

    pub(super) fn byte_string(&mut self) -> Parsed<()> {
        let start = self.at;
        self.at += 1;
        if self.peek() == Some('r') {
            return self.raw_string().map(drop);
        }
        self.at += 1;
        loop {
            match self.bump() {
                Some('"') => return Ok(()),
                Some('\\') => {
                    if !self.continuation() {
                        self.escape(true)?;
                    }
                }
                Some(_) => {}
                None => {
                    return Err(self.error(
                        start,
                        start + 1,
                        "this byte string is never closed with `\"`",
                    ));
                }
            }
        }
    }

    pub(super) fn char_literal(&mut self) -> Parsed<char> {
        let start = self.at;
        self.at += 1;
        let c = match self.bump() {
            Some('\\') => self.escape(false)?,
            Some(c) => c,
            None => {
                return Err(self.error(
                    start,
                    start + 1,
                    "this character is never closed with `'`",
                ));
            }
        };
        if !self.eat("'") {
            return Err(self.error(start, self.at, "expected one character in single quotes"));
        }
        Ok(c)
    }

    /// The rest of an escape, after its backslash.
    fn escape(&mut self, bytes: bool) -> Parsed<char> {
        let start = self.at - 1;
        let bad = |p: &Self| p.error(start, p.at, "unknown escape in a text");
        match self.bump() {
            Some(c @ ('\'' | '"' | '\\')) => Ok(c),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('0') => Ok('\0'),
            Some('x') => self.hex_escape(bytes).ok_or_else(|| bad(self)),
            Some('u') => self.unicode_escape().ok_or_else(|| bad(self)),
            _ => Err(bad(self)),
        }
    }

    fn hex_byte(&mut self) -> Option<u8> {
        let high = self.bump()?.to_digit(16)?;
        let low = self.bump()?.to_digit(16)?;
        u8::try_from(high * 16 + low).ok()
    }

    /// `\x41`; up to four of them in a row may spell one UTF-8 character.
    fn hex_escape(&mut self, bytes: bool) -> Option<char> {
        let mut utf8 = vec![self.hex_byte()?];
        if bytes {
            return Some(char::from(utf8[0]));
        }
        loop {
            if let Ok(text) = std::str::from_utf8(&utf8) {
                return text.chars().next();
            }
            if utf8.len() == 4 || !self.eat("\\x") {
                return None;
            }
            utf8.push(self.hex_byte()?);
        }
    }

    fn unicode_escape(&mut self) -> Option<char> {
        if !self.eat("{") {
            return None;
        }
        let len = self.rest().find('}').filter(|len| (1..=6).contains(len))?;
        let code = u32::from_str_radix(&self.rest()[..len], 16).ok()?;
        self.at += len + 1;
        char::from_u32(code)
    }

    pub(super) fn number_or_range(&mut self, start: usize) -> Parsed<Node> {
        if self.rest().starts_with("..") {
            return self.range_after(start, Kind::Unit);
        }
        let kind = self.number()?;
        self.range_after(start, kind)
    }

    /// The `..` and the end of a range, if there is one.
    pub(super) fn range_after(&mut self, start: usize, first: Kind) -> Parsed<Node> {
        if !self.eat("..") {
            return Ok(self.node(start, first));
        }
        let inclusive = self.eat("=");
        let rest = self.rest();
        let number_ahead = rest
            .starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
            || ["inf", "NaN", "b'"].iter().any(|s| rest.starts_with(s));
        let last = match number_ahead || inclusive {
            true => Some(self.number()?),
            false => None,
        };
        let whole = |kind: Option<Kind>| match kind {
            Some(Kind::Int(n)) => Some(n),
            _ => None,
        };
        let end = whole(last).map(|n| n.saturating_add(i128::from(inclusive)));
        Ok(self.node(start, Kind::Range(whole(Some(first)), end)))
    }

    /// A number literal: decimal, `0x`, `0o`, `0b`, `b'c'`, underscores, type suffixes.
    fn number(&mut self) -> Parsed<Kind> {
        let start = self.at;
        if self.eat("b'") {
            let c = match self.bump() {
                Some('\\') => self.escape(true)?,
                Some(c) => c,
                None => '\0',
            };
            let closed = self.eat("'");
            let byte = u8::try_from(u32::from(c)).ok().filter(|_| closed);
            let bad = self.error(start, self.at, "expected one byte, such as `b'a'`");
            return byte.map(|b| Kind::Int(i128::from(b))).ok_or(bad);
        }
        let text = self.number_text();
        let kind = integer(text).or_else(|| float(text));
        kind.ok_or_else(|| {
            let shown = crate::tree::shorten(text);
            let mut error = self.error(start, self.at, format!("`{shown}` is not a number"));
            error.help = Some(format!(
                "if it is a name, or a number with a unit, put it in quotes: \"{shown}\""
            ));
            error
        })
    }

    /// Takes everything that belongs to a number: letters for prefixes and suffixes, a sign at the
    /// start or after an exponent, a point unless it begins `..`.
    fn number_text(&mut self) -> &'a str {
        let start = self.at;
        if matches!(self.peek(), Some('+' | '-')) {
            self.at += 1;
        }
        let mut last = ' ';
        while let Some(c) = self.peek() {
            let sign = matches!(c, '+' | '-') && matches!(last, 'e' | 'E');
            let point = c == '.' && !self.rest().starts_with("..");
            if !(sign || point || c == '_' || c.is_ascii_alphanumeric()) {
                break;
            }
            last = c;
            self.at += c.len_utf8();
        }
        &self.text[start..self.at]
    }
}

fn integer(text: &str) -> Option<Kind> {
    const SUFFIXES: [&str; 10] = [
        "i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "u128",
    ];
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (base, digits) = match digits.get(..2) {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        _ => (10, digits),
    };
    let digits = SUFFIXES
        .iter()
        .find_map(|s| digits.strip_suffix(s))
        .unwrap_or(digits);
    if digits.is_empty() || digits.starts_with('_') {
        return None;
    }
    let mut value: i128 = 0;
    for c in digits.chars().filter(|&c| c != '_') {
        let digit = i128::from(c.to_digit(base)?);
        value = value.checked_mul(i128::from(base))?.checked_add(digit)?;
    }
    Some(Kind::Int(if negative { -value } else { value }))
}

fn float(text: &str) -> Option<Kind> {
    let bare = text
        .strip_suffix("f32")
        .or_else(|| text.strip_suffix("f64"))
        .unwrap_or(text);
    let unsigned = bare.trim_start_matches(['+', '-']);
    let digits = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !digits && !matches!(unsigned, "inf" | "NaN") {
        return None;
    }
    bare.replace('_', "").parse().ok().map(Kind::Float)
}
