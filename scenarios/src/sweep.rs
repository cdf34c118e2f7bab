//! Changing a tree at a path: `--set` and the axes of a sweep are the same thing.
//!
//! Changes are made before any check, so a changed value goes through the rules of the value that
//! stood there, and its errors point at where the new value was written.

use crate::error::At;
use crate::file::as_struct;
use crate::rules;
use crate::schema;
use crate::tree::{FieldNode, Kind, Name, Node, Span};
use crate::walk::{Value, Walk};

/// Most points of a sweep.
pub const MAX_POINTS: usize = 4096;
/// Most hosts, devices, loads and senders of all points together.
pub(crate) const MAX_PARTS: usize = 1 << 20;

/// An axis of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The path of the field, or `threads` or `variant`.
    pub path: String,
    /// The values, as the file writes them.
    pub values: Vec<String>,
}

/// An axis before its values are checked.
pub(crate) struct AxisDraft {
    pub path: String,
    pub at: At,
    pub values: Vec<Node>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    Index(usize),
}

/// Sets the value at `path`. Fields that are missing on the way are created.
///
/// # Errors
/// If the path is malformed or leads nowhere; the message says where it ends.
pub(crate) fn set(root: &mut Node, path: &str, value: &Node) -> Result<(), String> {
    let named = parameter(root, path);
    if !named.is_empty() {
        return named
            .iter()
            .try_for_each(|path| place(root, &steps(path)?, value, ""));
    }
    match path {
        "threads" => set_threads(root, value),
        "variant" => set(root, "kernel.lockless", value),
        _ => place(root, &steps(path)?, value, ""),
    }
}

/// The paths that the scenario's parameter `name` sets; none if it has no such parameter.
fn parameter(root: &Node, name: &str) -> Vec<String> {
    let Kind::Struct(_, fields) = &root.kind else {
        return Vec::new();
    };
    let Some(all) = fields.iter().find(|f| f.name.text == "parameters") else {
        return Vec::new();
    };
    let paths = match &all.value.kind {
        Kind::Map(pairs) => pairs
            .iter()
            .find(|(key, _)| matches!(&key.kind, Kind::Str(text) if text == name))
            .map(|(_, value)| value),
        Kind::Struct(None, fields) => fields
            .iter()
            .find(|f| f.name.text == name)
            .map(|f| &f.value),
        _ => None,
    };
    let Some(Kind::List(paths)) = paths.map(|p| &p.kind) else {
        return Vec::new();
    };
    let text = |p: &Node| match &p.kind {
        Kind::Str(text) => Some(text.clone()),
        _ => None,
    };
    paths.iter().filter_map(text).collect()
}

fn steps(path: &str) -> Result<Vec<Step>, String> {
    let malformed = || format!("`{}` is no path", crate::tree::shorten(path));
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (name, indexes) = part.split_at(part.find('[').unwrap_or(part.len()));
        if name.is_empty()
            || !name
                .chars()
                .all(|c| c == '_' || c == '-' || c.is_alphanumeric())
        {
            return Err(malformed());
        }
        steps.push(Step::Field(name.to_owned()));
        let mut rest = indexes;
        while !rest.is_empty() {
            let (index, tail) = rest
                .strip_prefix('[')
                .and_then(|r| r.split_once(']'))
                .ok_or_else(malformed)?;
            steps.push(Step::Index(index.parse().map_err(|_| malformed())?));
            rest = tail;
        }
    }
    // Deeper than any field, so a long path costs no stack.
    if steps.len() > 16 {
        Err(malformed())
    } else {
        Ok(steps)
    }
}

fn place(node: &mut Node, steps: &[Step], value: &Node, so_far: &str) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        *node = value.clone();
        return Ok(());
    };
    let here = if so_far.is_empty() {
        "the scenario".to_owned()
    } else {
        format!("`{so_far}`")
    };
    match step {
        Step::Index(i) => {
            let Kind::List(items) = &mut node.kind else {
                return Err(format!("{here} is not a list"));
            };
            let len = items.len();
            let item = items.get_mut(*i).ok_or_else(|| {
                format!("{here} has no element {i}: it has {len}, counted from 0")
            })?;
            place(item, rest, value, &format!("{so_far}[{i}]"))
        }
        Step::Field(name) => {
            let path = crate::walk::join(so_far, name);
            let child =
                child(node, name, value.span).ok_or_else(|| format!("{here} has no fields"))?;
            place(child, rest, value, &path)
        }
    }
}

/// The value of field or key `name`, created as an empty struct if it is missing.
fn child<'n>(node: &'n mut Node, name: &str, span: Span) -> Option<&'n mut Node> {
    if matches!(node.kind, Kind::Some(_)) {
        let Kind::Some(inner) = &mut node.kind else {
            return None;
        };
        return child(inner, name, span);
    }
    if matches!(node.kind, Kind::Str(_) | Kind::Unit) {
        *node = as_struct(node);
    }
    node.kind = match std::mem::replace(&mut node.kind, Kind::Unit) {
        Kind::Ident(text) => Kind::Struct(
            Some(Name {
                text,
                span: node.span,
            }),
            Vec::new(),
        ),
        Kind::Tuple(text, items) if items.is_empty() => Kind::Struct(text, Vec::new()),
        other => other,
    };
    let empty = || Node {
        kind: Kind::Unit,
        span,
    };
    match &mut node.kind {
        Kind::Struct(_, fields) => {
            let at = fields
                .iter()
                .position(|f| f.name.text == name)
                .unwrap_or(fields.len());
            if at == fields.len() {
                fields.push(FieldNode {
                    name: Name {
                        text: name.to_owned(),
                        span,
                    },
                    value: empty(),
                });
            }
            Some(&mut fields[at].value)
        }
        Kind::Map(pairs) => {
            let is = |key: &Node| matches!(&key.kind, Kind::Str(text) | Kind::Ident(text) if text == name);
            let at = pairs
                .iter()
                .position(|(key, _)| is(key))
                .unwrap_or(pairs.len());
            if at == pairs.len() {
                pairs.push((
                    Node {
                        kind: Kind::Str(name.to_owned()),
                        span,
                    },
                    empty(),
                ));
            }
            Some(&mut pairs[at].1)
        }
        _ => None,
    }
}

/// `threads`: the `cpus` of every load that has them.
fn set_threads(root: &mut Node, value: &Node) -> Result<(), String> {
    let mut loads = 0;
    let span = value.span;
    if let Kind::Struct(_, fields) = &mut root.kind
        && let Some(hosts) = fields.iter_mut().find(|f| f.name.text == "hosts")
        && let Kind::List(hosts) = &mut hosts.value.kind
    {
        for host in hosts {
            let Kind::Struct(_, fields) = &mut host.kind else {
                continue;
            };
            let Some(list) = fields.iter_mut().find(|f| f.name.text == "workloads") else {
                continue;
            };
            let Kind::List(list) = &mut list.value.kind else {
                continue;
            };
            for load in list {
                let named = matches!(&load.kind, Kind::Struct(Some(n), _) if n.text == "Pktgen" || n.text == "Paced");
                if let Some(cpus) = named.then(|| child(load, "cpus", span)).flatten() {
                    *cpus = value.clone();
                    loads += 1;
                }
            }
        }
    }
    if loads == 0 {
        Err("no Pktgen or Paced load has threads to set".into())
    } else {
        Ok(())
    }
}

/// Takes the sweep out of the tree.
pub(crate) fn take(walk: &mut Walk, root: &mut Node) -> Vec<AxisDraft> {
    let Kind::Struct(_, fields) = &mut root.kind else {
        return Vec::new();
    };
    let Some(at) = fields.iter().position(|f| f.name.text == "sweep") else {
        return Vec::new();
    };
    // A second `sweep` stays, and is reported as a field given twice would be: by its name.
    let node = if fields.iter().filter(|f| f.name.text == "sweep").count() == 1 {
        fields.remove(at).value
    } else {
        return Vec::new();
    };
    let value = Value {
        node: std::borrow::Cow::Owned(node),
        path: "sweep".into(),
        given: true,
    };
    let mut axes = Vec::new();
    match &value.node.kind {
        Kind::List(_) => {
            for entry in walk.list(&value) {
                axes.extend(axis(walk, &entry));
            }
        }
        _ => {
            let Some(obj) = walk.obj(&value.node, "sweep", &schema::SWEEP, &[]) else {
                return axes;
            };
            for name in ["threads", "variant"] {
                axes.extend(
                    obj.given(name)
                        .and_then(|v| values(walk, &v, name.to_owned(), v.at())),
                );
            }
        }
    }
    repeats(walk, &axes);
    let points = axes
        .iter()
        .fold(1usize, |n, axis| n.saturating_mul(axis.values.len()));
    if points > MAX_POINTS {
        let message = format!("the sweep has {points} points; at most {MAX_POINTS}");
        walk.report(rules::TOO_MANY_POINTS, value.at(), message, None);
        return Vec::new();
    }
    axes
}

fn axis(walk: &mut Walk, entry: &Value<'_>) -> Option<AxisDraft> {
    let obj = walk.obj(&entry.node, &entry.path, &schema::AXIS, &[])?;
    let path = obj.get("path").and_then(|v| walk.text(&v));
    let list = obj.get("values")?;
    let path = path?;
    values(walk, &list, path.value, path.at)
}

fn values(walk: &mut Walk, value: &Value<'_>, path: String, at: At) -> Option<AxisDraft> {
    let Kind::List(items) = &value.node.kind else {
        walk.mistyped(value, "a list of values", Some("lists are written [a, b]"));
        return None;
    };
    if items.is_empty() {
        walk.report(
            rules::SWEEP_AXES,
            value.at(),
            "an axis without values has no points",
            None,
        );
        return None;
    }
    Some(AxisDraft {
        path,
        at,
        values: items.clone(),
    })
}

fn repeats(walk: &mut Walk, axes: &[AxisDraft]) {
    let full = |axis: &AxisDraft| {
        if axis.path == "variant" {
            "kernel.lockless".to_owned()
        } else {
            axis.path.clone()
        }
    };
    for (i, axis) in axes.iter().enumerate() {
        if axes[..i].iter().any(|other| full(other) == full(axis)) {
            let message = format!("two axes set `{}`", crate::tree::shorten(&axis.path));
            walk.report(rules::SWEEP_AXES, axis.at.clone(), message, None);
        }
    }
}
