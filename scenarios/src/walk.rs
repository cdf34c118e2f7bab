//! Walking the tree: structs against their tables, values against their types.
//!
//! Every method reports what it finds wrong and gives `None` for it, so the walk goes on and all
//! mistakes of a file are found together.

use crate::error::{At, Issue, did_you_mean, quoted_list};
use crate::rules;
use crate::schema::{Fallback, FieldSpec, StructSpec};
use crate::tree::{FieldNode, Kind, Node};
use crate::units::Quantity;
use std::borrow::Cow;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Placed<T> {
    pub value: T,
    pub at: At,
}

/// Collects what is wrong.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub issues: Vec<Issue>,
}

/// A struct node whose field names have been checked against its table.
pub(crate) struct Obj<'t> {
    pub spec: &'static StructSpec,
    pub at: At,
    fields: &'t [FieldNode],
}

/// The value of a field: the file's, or the default.
pub(crate) struct Value<'t> {
    pub node: Cow<'t, Node>,
    pub path: String,
    pub given: bool,
}

impl Value<'_> {
    pub fn at(&self) -> At {
        At {
            span: self.node.span,
            path: self.path.clone(),
        }
    }

    pub fn place<T>(&self, value: T) -> Placed<T> {
        Placed {
            value,
            at: self.at(),
        }
    }
}

pub(crate) fn join(path: &str, field: &str) -> String {
    if path.is_empty() {
        field.to_owned()
    } else {
        format!("{path}.{field}")
    }
}

impl<'t> Obj<'t> {
    /// The field `name`: as given, or its default. `None` if there is neither (then a required
    /// field has been reported already).
    pub fn get(&self, name: &str) -> Option<Value<'t>> {
        if let Some(value) = self.given(name) {
            return Some(value);
        }
        let spec = self.spec.fields.iter().find(|f| f.name == name)?;
        let Fallback::Ron(text) = spec.default else {
            return None;
        };
        let mut node = crate::parse::parse(text, 0).ok()?;
        node.respan(self.at.span);
        Some(Value {
            node: Cow::Owned(node),
            path: join(&self.at.path, name),
            given: false,
        })
    }

    /// The field `name` if the file gives it.
    pub fn given(&self, name: &str) -> Option<Value<'t>> {
        let field = self.fields.iter().find(|f| f.name.text == name)?;
        Some(Value {
            node: Cow::Borrowed(&field.value),
            path: join(&self.at.path, name),
            given: true,
        })
    }
}

impl Walk {
    pub fn report(
        &mut self,
        code: &'static str,
        at: At,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.issues.push(Issue {
            code,
            message: message.into(),
            at,
            help,
        });
    }

    /// Reports an unknown name, with the nearest known one or the list of all.
    pub fn unknown<'k>(
        &mut self,
        code: &'static str,
        at: At,
        message: String,
        known: impl IntoIterator<Item = &'k str>,
        given: &str,
    ) {
        let known: Vec<&str> = known.into_iter().collect();
        let help = match (did_you_mean(given, known.iter().copied()), known.is_empty()) {
            (_, true) => None,
            (Some(name), _) if known.len() > 24 => Some(format!("did you mean `{name}`?")),
            (Some(name), _) => Some(format!(
                "did you mean `{name}`? Known: {}",
                quoted_list(&known)
            )),
            (None, _) => Some(format!("known: {}", quoted_list(&known))),
        };
        self.report(code, at, message, help);
    }

    fn wrong_type(&mut self, node: &Node, path: &str, expected: &str, help: Option<String>) {
        let at = At {
            span: node.span,
            path: path.to_owned(),
        };
        self.report(
            rules::WRONG_TYPE,
            at,
            format!("expected {expected}, found {}", node.describe()),
            help,
        );
    }

    /// Checks the field names of `node` against `spec` and `extra`.
    pub fn obj<'t>(
        &mut self,
        node: &'t Node,
        path: &str,
        spec: &'static StructSpec,
        extra: &[&str],
    ) -> Option<Obj<'t>> {
        let (name, fields): (_, &[FieldNode]) = match &node.kind {
            Kind::Struct(name, fields) => (name.as_ref(), fields),
            Kind::Tuple(name, items) if items.is_empty() => (name.as_ref(), &[]),
            Kind::Unit => (None, &[]),
            Kind::Ident(text) if text == spec.name => (None, &[]),
            _ => {
                self.wrong_type(
                    node,
                    path,
                    &format!("`{}` with named fields", spec.name),
                    None,
                );
                return None;
            }
        };
        if let Some(name) = name.filter(|n| n.text != spec.name) {
            let at = At {
                span: name.span,
                path: path.to_owned(),
            };
            self.report(
                rules::WRONG_TYPE,
                at,
                format!("expected `{}`, found `{}`", spec.name, name.text),
                None,
            );
            return None;
        }
        self.field_names(fields, path, spec, extra);
        let at = At {
            span: node.span,
            path: path.to_owned(),
        };
        self.missing_fields(fields, &at, name.map_or(node.span, |n| n.span), spec);
        Some(Obj { spec, at, fields })
    }

    fn field_names(&mut self, fields: &[FieldNode], path: &str, spec: &StructSpec, extra: &[&str]) {
        for (i, field) in fields.iter().enumerate() {
            let name = field.name.text.as_str();
            let at = At {
                span: field.name.span,
                path: join(path, name),
            };
            let known = || {
                spec.fields
                    .iter()
                    .map(|f| f.name)
                    .chain(extra.iter().copied())
            };
            if !known().any(|k| k == name) {
                let message = format!(
                    "unknown field `{}` in `{}`",
                    crate::tree::shorten(name),
                    spec.name
                );
                self.unknown(rules::UNKNOWN_FIELD, at, message, known(), name);
            } else if fields[..i].iter().any(|f| f.name.text == name) {
                self.report(
                    rules::DUPLICATE_FIELD,
                    at,
                    format!("field `{name}` is given twice"),
                    None,
                );
            }
        }
    }

    fn missing_fields(
        &mut self,
        fields: &[FieldNode],
        at: &At,
        head: crate::tree::Span,
        spec: &StructSpec,
    ) {
        let missing = |f: &&FieldSpec| {
            f.default == Fallback::Required && fields.iter().all(|g| g.name.text != f.name)
        };
        for field in spec.fields.iter().filter(missing) {
            // Mark the name or the first byte only: the whole struct may be pages long.
            let end = if head == at.span {
                head.start + 1
            } else {
                head.end
            };
            let at = At {
                span: crate::tree::Span {
                    end: end.min(head.end),
                    ..head
                },
                path: at.path.clone(),
            };
            let message = format!("missing field `{}` in `{}`", field.name, spec.name);
            self.report(
                rules::MISSING_FIELD,
                at,
                message,
                Some(format!("`{}` takes: {}", field.name, field.ty)),
            );
        }
    }

    /// Reads one of several structs by its name, as in `PfifoFast(limit: 1000)` or `Noqueue`.
    pub fn choice<'t>(
        &mut self,
        node: &'t Node,
        path: &str,
        what: &str,
        specs: &[&'static StructSpec],
    ) -> Option<Obj<'t>> {
        let (name, span) = match &node.kind {
            Kind::Struct(Some(n), _) | Kind::Tuple(Some(n), _) => (n.text.as_str(), n.span),
            Kind::Ident(name) => (name.as_str(), node.span),
            _ => {
                let names = quoted_list(specs.iter().map(|s| s.name));
                self.wrong_type(node, path, &format!("{what}: {names}"), None);
                return None;
            }
        };
        let Some(spec) = specs.iter().find(|s| s.name == name) else {
            let at = At {
                span,
                path: path.to_owned(),
            };
            let message = format!("`{}` is not {what}", crate::tree::shorten(name));
            self.unknown(
                rules::UNKNOWN_CHOICE,
                at,
                message,
                specs.iter().map(|s| s.name),
                name,
            );
            return None;
        };
        self.obj(node, path, spec, &[])
    }

    /// Reads one of several words. Text in quotes is taken too where `quoted`.
    pub fn word<T: Copy>(
        &mut self,
        value: &Value<'_>,
        quoted: bool,
        words: &[(&str, T)],
    ) -> Option<Placed<T>> {
        let names = || quoted_list(words.iter().map(|w| w.0));
        let text = match &value.node.kind {
            Kind::Ident(text) => text,
            Kind::Str(text) if quoted => text,
            other => {
                let word = match other {
                    Kind::Bool(on) if words.iter().any(|w| w.0 == "on") => {
                        Some(if *on { "on" } else { "off" })
                    }
                    Kind::Str(text) => words.iter().map(|w| w.0).find(|w| w == text),
                    _ => None,
                };
                let help = word.map(|w| format!("write it as a bare word: {w}"));
                self.wrong_type(
                    &value.node,
                    &value.path,
                    &format!("one of {}", names()),
                    help,
                );
                return None;
            }
        };
        match words.iter().find(|w| w.0 == text) {
            Some(&(_, found)) => Some(value.place(found)),
            None => {
                let message = format!("unknown word `{}`", crate::tree::shorten(text));
                self.unknown(
                    rules::UNKNOWN_CHOICE,
                    value.at(),
                    message,
                    words.iter().map(|w| w.0),
                    text,
                );
                None
            }
        }
    }

    /// `on` or `off`.
    pub fn switch(&mut self, value: &Value<'_>) -> Option<Placed<bool>> {
        self.word(value, false, &[("on", true), ("off", false)])
    }

    /// Text in quotes.
    pub fn text(&mut self, value: &Value<'_>) -> Option<Placed<String>> {
        match &value.node.kind {
            Kind::Str(text) => Some(value.place(text.clone())),
            other => {
                let help = match other {
                    Kind::Ident(word) => Some(format!(
                        "put it in quotes: \"{}\"",
                        crate::tree::shorten(word)
                    )),
                    _ => None,
                };
                self.wrong_type(&value.node, &value.path, "text in quotes", help);
                None
            }
        }
    }

    /// A whole number in `low..=high`.
    pub fn count(&mut self, value: &Value<'_>, low: u64, high: u64) -> Option<Placed<u64>> {
        let Kind::Int(n) = value.node.kind else {
            self.wrong_type(&value.node, &value.path, "a whole number", None);
            return None;
        };
        match u64::try_from(n) {
            Ok(n) if (low..=high).contains(&n) => Some(value.place(n)),
            _ => {
                self.report(
                    rules::OUT_OF_RANGE,
                    value.at(),
                    format!("{n} is not in {low}..={high}"),
                    None,
                );
                None
            }
        }
    }

    /// A whole number of 32 bits.
    pub fn count32(&mut self, value: &Value<'_>, low: u32, high: u32) -> Option<Placed<u32>> {
        let placed = self.count(value, u64::from(low), u64::from(high))?;
        u32::try_from(placed.value).ok().map(|n| Placed {
            value: n,
            at: placed.at,
        })
    }

    /// A quantity with its unit.
    pub fn quantity(&mut self, value: &Value<'_>, quantity: Quantity) -> Option<Placed<u64>> {
        let read = match &value.node.kind {
            Kind::Str(text) => quantity.parse(text),
            Kind::Int(n) => Err(quantity.missing_unit(&n.to_string())),
            Kind::Float(x) => Err(quantity.missing_unit(&x.to_string())),
            _ => {
                let example = format!("such as \"{}\"", quantity.print(50_000));
                self.wrong_type(
                    &value.node,
                    &value.path,
                    &format!("{} {example}", quantity.noun()),
                    None,
                );
                return None;
            }
        };
        match read {
            Ok(n) => Some(value.place(n)),
            Err(error) => {
                let code = if error.missing {
                    rules::MISSING_UNIT
                } else {
                    rules::BAD_QUANTITY
                };
                self.report(code, value.at(), error.message, Some(error.help));
                None
            }
        }
    }

    /// `None`, or a value, bare or in `Some(..)`. The outer `None` is an error already reported.
    pub fn optional<T>(
        &mut self,
        value: Value<'_>,
        read: impl FnOnce(&mut Walk, &Value<'_>) -> Option<T>,
    ) -> Option<Option<T>> {
        match &value.node.kind {
            Kind::None => Some(None),
            Kind::Some(inner) => {
                let inner = Value {
                    node: Cow::Borrowed(inner),
                    path: value.path.clone(),
                    given: value.given,
                };
                read(self, &inner).map(Some)
            }
            _ => read(self, &value).map(Some),
        }
    }

    /// The elements of a list, each with its path.
    pub fn list<'v>(&mut self, value: &'v Value<'_>) -> Vec<Value<'v>> {
        let Kind::List(items) = &value.node.kind else {
            self.wrong_type(
                &value.node,
                &value.path,
                "a list",
                Some("lists are written [a, b]".into()),
            );
            return Vec::new();
        };
        let element = |(i, node)| Value {
            node: Cow::Borrowed(node),
            path: format!("{}[{i}]", value.path),
            given: value.given,
        };
        items.iter().enumerate().map(element).collect()
    }

    /// The entries of a map `{"key": value}` or of a struct `(key: value)`, keys first.
    pub fn entries<'v>(&mut self, value: &'v Value<'_>) -> Vec<(Placed<String>, Value<'v>)> {
        let mut entries: Vec<(Placed<String>, Value<'v>)> = Vec::new();
        let mut pairs: Vec<(String, crate::tree::Span, &Node)> = Vec::new();
        match &value.node.kind {
            Kind::Struct(None, fields) => {
                pairs.extend(
                    fields
                        .iter()
                        .map(|f| (f.name.text.clone(), f.name.span, &f.value)),
                );
            }
            Kind::Map(map) => {
                for (key, node) in map {
                    match &key.kind {
                        Kind::Str(text) | Kind::Ident(text) => {
                            pairs.push((text.clone(), key.span, node))
                        }
                        _ => self.wrong_type(key, &value.path, "a name in quotes", None),
                    }
                }
            }
            Kind::Unit => {}
            _ => self.wrong_type(
                &value.node,
                &value.path,
                "a map",
                Some("maps are written {\"name\": value}".into()),
            ),
        }
        for (name, span, node) in pairs {
            let at = At {
                span,
                path: join(&value.path, &name),
            };
            if entries.iter().any(|(key, _)| key.value == name) {
                let message = format!("`{}` is given twice", crate::tree::shorten(&name));
                self.report(rules::DUPLICATE_FIELD, at, message, None);
                continue;
            }
            let inner = Value {
                node: Cow::Borrowed(node),
                path: at.path.clone(),
                given: value.given,
            };
            entries.push((Placed { value: name, at }, inner));
        }
        entries
    }

    /// Reports a type that none of the other methods covers.
    pub fn mistyped(&mut self, value: &Value<'_>, expected: &str, help: Option<&str>) {
        self.wrong_type(&value.node, &value.path, expected, help.map(str::to_owned));
    }
}

impl Walk {
    /// Parses `text` as source number `source`; a syntax error is reported like any other problem.
    pub fn syntax(&mut self, text: &str, source: u16) -> Option<Node> {
        use crate::parse::SyntaxRule;
        match crate::parse::parse(text, source) {
            Ok(node) => Some(node),
            Err(error) => {
                let code = match error.what {
                    SyntaxRule::Syntax => rules::SYNTAX,
                    SyntaxRule::Size => rules::TOO_LARGE,
                    SyntaxRule::Depth => rules::TOO_DEEP,
                };
                self.report(
                    code,
                    At {
                        span: error.span,
                        path: String::new(),
                    },
                    error.message,
                    error.help,
                );
                None
            }
        }
    }
}
