//! A RON document as a tree in which every node and every field name knows where it stands.
//!
//! Not a general RON value: byte strings and ranges are kept only as far as the checks need them.
//! `ron` itself has no spans for values and stops at its first error, so nothing here is built on it.

/// A piece of one source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// Which text: 0 is the scenario, others are `--set` values and machine profiles.
    pub source: u16,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// An identifier and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// The identifier, without `r#`.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Where it stands, from its first to its last byte.
    pub span: Span,
}

/// `name: value` inside a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldNode {
    /// The name.
    pub name: Name,
    /// The value.
    pub value: Node,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `()`.
    Unit,
    /// `true` or `false`.
    Bool(bool),
    /// `'c'`.
    Char(char),
    /// `"text"` or `r"text"`.
    Str(String),
    /// `b"bytes"`; no field takes one.
    Bytes,
    /// A whole number.
    Int(i128),
    /// A number with a point or an exponent.
    Float(f64),
    /// `a..b`, `a..=b`, `a..`, `..b`; bounds that are not whole numbers are dropped.
    Range(Option<i128>, Option<i128>),
    /// A bare identifier: `on`, `v0`, `Noqueue`.
    Ident(String),
    /// `None`.
    None,
    /// `Some(value)`.
    Some(Box<Node>),
    /// `[a, b]`.
    List(Vec<Node>),
    /// `{key: value}`.
    Map(Vec<(Node, Node)>),
    /// `(a, b)` or `Name(a, b)`, also `Name()`.
    Tuple(Option<Name>, Vec<Node>),
    /// `(a: 1)` or `Name(a: 1)`.
    Struct(Option<Name>, Vec<FieldNode>),
}

impl Node {
    /// What the node is, in the words of an error message.
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Unit => "`()`".into(),
            Kind::Bool(b) => format!("`{b}`"),
            Kind::Char(c) => format!("the character {c:?}"),
            Kind::Str(s) => format!("the text {:?}", shorten(s)),
            Kind::Bytes => "a byte string".into(),
            Kind::Int(n) => format!("the number {n}"),
            Kind::Float(x) => format!("the number {x}"),
            Kind::Range(..) => "a range".into(),
            Kind::Ident(s) => format!("`{}`", shorten(s)),
            Kind::None => "`None`".into(),
            Kind::Some(_) => "`Some(..)`".into(),
            Kind::List(_) => "a list".into(),
            Kind::Map(_) => "a map".into(),
            Kind::Tuple(Some(n), _) | Kind::Struct(Some(n), _) => {
                format!("`{}(..)`", shorten(&n.text))
            }
            Kind::Tuple(None, _) => "a tuple".into(),
            Kind::Struct(None, _) => "a struct".into(),
        }
    }

    /// Gives every node of the tree the span `span` (for values that no text wrote).
    pub fn respan(&mut self, span: Span) {
        self.span = span;
        match &mut self.kind {
            Kind::Some(inner) => inner.respan(span),
            Kind::List(items) | Kind::Tuple(_, items) => {
                items.iter_mut().for_each(|n| n.respan(span))
            }
            Kind::Map(pairs) => pairs.iter_mut().for_each(|(k, v)| {
                k.respan(span);
                v.respan(span);
            }),
            Kind::Struct(_, fields) => fields.iter_mut().for_each(|f| {
                f.name.span = span;
                f.value.respan(span);
            }),
            _ => {}
        }
    }

    /// The value of field `name`, if this is a struct that has it.
    pub fn field(&self, name: &str) -> Option<&Node> {
        match &self.kind {
            Kind::Struct(_, fields) => fields
                .iter()
                .find(|f| f.name.text == name)
                .map(|f| &f.value),
            _ => None,
        }
    }
}

/// At most 40 characters of `text`, so that no message drowns in a value.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}
