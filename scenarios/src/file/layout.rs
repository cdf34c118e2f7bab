//! Layouts of structs: by name, inline, as pahole printed them, or one of these with changes.

use crate::error::At;
use crate::loader::Loading;
use crate::rules;
use crate::schema;
use crate::tree::{Kind, Span};
use crate::walk::{Placed, Value};
use sim_core::kernel::layouts;
use sim_core::machine::layout::{Field, Layout, LayoutSet};
use std::borrow::Cow;

/// Largest struct that is placed, in bytes.
const MAX_STRUCT: u32 = 65_536;

/// A field and where the scenario, or pahole's text, gives it.
type Given = (Field, At);

/// Adds `{"Qdisc": {"state": (88, 8)}, "netdev_queue": "5.11"}` to `set`.
pub(super) fn read(loading: &mut Loading<'_>, value: &Value<'_>, set: &mut LayoutSet) {
    for (name, value) in loading.walk.entries(value) {
        if !layouts::STRUCTS.contains(&name.value.as_str()) {
            let message = format!(
                "no struct `{}` is placed",
                crate::tree::shorten(&name.value)
            );
            let help = format!("known: {}", layouts::STRUCTS.join(", "));
            loading
                .walk
                .report(rules::LAYOUT_FIELDS, name.at, message, Some(help));
            continue;
        }
        // A missing entry means the kernel's own layout, as of 5.11.
        set.by_name.remove(&name.value);
        if matches!(&value.node.kind, Kind::Str(version) if version == "5.11") {
            continue;
        }
        let Some(mut fields) = fields(loading, &name.value, &value) else {
            continue;
        };
        fields.sort_by_key(|(f, _)| f.offset);
        judge(loading, &name.value, &fields, &value);
        let layout = Layout {
            name: name.value.clone(),
            fields: fields.into_iter().map(|(f, _)| f).collect(),
        };
        set.by_name.insert(name.value, layout);
    }
}

/// The fields of struct `of`, however they are given.
fn fields(loading: &mut Loading<'_>, of: &str, value: &Value<'_>) -> Option<Vec<Given>> {
    match &value.node.kind {
        Kind::Str(name) => named(loading, of, name, value),
        Kind::Tuple(Some(word), items) if word.text == "Pahole" => {
            let [path] = items.as_slice() else {
                loading.walk.mistyped(value, "`Pahole(\"FILE\")`", None);
                return None;
            };
            let path = Value {
                node: Cow::Borrowed(path),
                path: value.path.clone(),
                given: true,
            };
            let path = loading.walk.text(&path)?;
            pahole(loading, of, &path)
        }
        Kind::Struct(Some(word), _) if word.text == "Changed" => changed(loading, of, value),
        Kind::Tuple(Some(_), _) | Kind::Struct(Some(_), _) => {
            let expected =
                "a layout: a name, `Pahole(\"FILE\")`, `Changed(from: .., fields: ..)` or fields";
            loading.walk.mistyped(value, expected, None);
            None
        }
        _ => Some(inline(loading, value)),
    }
}

fn named(loading: &mut Loading<'_>, of: &str, name: &str, value: &Value<'_>) -> Option<Vec<Given>> {
    let Some(layout) = crate::layouts::builtin(of, name) else {
        let message = format!("unknown layout \"{}\"", crate::tree::shorten(name));
        let known = crate::layouts::names(of).join("\", \"");
        let help = format!(
            "known for {of}: \"{known}\"; or give the fields: {{\"field\": (offset, size)}}, or \
             Pahole(\"FILE\")"
        );
        loading
            .walk
            .report(rules::LAYOUT_NAME, value.at(), message, Some(help));
        return None;
    };
    Some(layout.fields.into_iter().map(|f| (f, value.at())).collect())
}

/// `Pahole("net_device.txt")`: the fields that the simulator touches, out of all that are printed.
fn pahole(loading: &mut Loading<'_>, of: &str, path: &Placed<String>) -> Option<Vec<Given>> {
    let (source, structs) = loading.pahole(path)?;
    let Some(found) = crate::layouts::find(&structs, of) else {
        let names: Vec<&str> = structs.iter().map(|s| s.name.as_str()).collect();
        let message = format!(
            "{} has no struct `{of}`, but {}",
            path.value,
            crate::error::quoted_list(names.iter().take(8))
        );
        let help = Some(format!("`pahole -C {of} vmlinux` prints it"));
        loading
            .walk
            .report(rules::LAYOUT_FIELDS, path.at.clone(), message, help);
        return None;
    };
    if found.bytes() > MAX_STRUCT {
        let message = format!("`{of}` has {} bytes", found.bytes());
        let help = Some(format!("at most {MAX_STRUCT} are placed"));
        loading
            .walk
            .report(rules::LAYOUT_SIZE, path.at.clone(), message, help);
        return None;
    }
    let at = |(start, end): (usize, usize)| At {
        span: Span {
            source,
            start: start as u32,
            end: end as u32,
        },
        path: path.at.path.clone(),
    };
    let fields = crate::layouts::fields(found, of);
    Some(fields.into_iter().map(|(f, p)| (f, at(p))).collect())
}

/// `Changed(from: "patched", fields: {"tx_packets": (1060, 4)})`: fields moved, or added.
fn changed(loading: &mut Loading<'_>, of: &str, value: &Value<'_>) -> Option<Vec<Given>> {
    let obj = loading
        .walk
        .obj(&value.node, &value.path, &schema::CHANGED, &[])?;
    let (from, own) = (obj.get("from")?, obj.get("fields")?);
    if matches!(from.node.kind, Kind::Struct(Some(_), _)) {
        // Changes of changes would only hide what is asked.
        loading
            .walk
            .mistyped(&from, "a name, `Pahole(\"FILE\")` or fields", None);
        return None;
    }
    let mut all = fields(loading, of, &from)?;
    for (field, at) in inline(loading, &own) {
        if !layouts::used(of).iter().any(|u| u.name == field.name) {
            let known = layouts::used(of).iter().map(|u| u.name);
            let message = format!("`{}` is not touched", crate::tree::shorten(&field.name));
            loading
                .walk
                .unknown(rules::LAYOUT_FIELDS, at, message, known, &field.name);
            continue;
        }
        all.retain(|(f, _)| f.name != field.name);
        all.push((field, at));
    }
    Some(all)
}

fn inline(loading: &mut Loading<'_>, value: &Value<'_>) -> Vec<Given> {
    let mut placed: Vec<Given> = Vec::new();
    for (key, entry) in loading.walk.entries(value) {
        if let Some((offset, size)) = field_place(loading, &entry) {
            let field = Field {
                name: key.value,
                offset,
                size,
            };
            placed.push((field, entry.at()));
        }
    }
    placed
}

fn field_place(loading: &mut Loading<'_>, entry: &Value<'_>) -> Option<(u32, u32)> {
    let items = match &entry.node.kind {
        Kind::Tuple(None, items) => items.as_slice(),
        _ => &[],
    };
    let [offset, size] = items else {
        loading
            .walk
            .mistyped(entry, "a place (offset, size) in bytes", None);
        return None;
    };
    let mut bytes = |node, low, high| {
        let value = Value {
            node: Cow::Borrowed(node),
            path: entry.path.clone(),
            given: true,
        };
        loading.walk.count32(&value, low, high)
    };
    let (offset, size) = (bytes(offset, 0, MAX_STRUCT - 1), bytes(size, 1, 4_096));
    Some((offset?.value, size?.value))
}

/// Fields in order of offset do not overlap, words lie on one line, and nothing is missing.
fn judge(loading: &mut Loading<'_>, of: &str, fields: &[Given], value: &Value<'_>) {
    let before = loading.walk.issues.len();
    for (i, (field, at)) in fields.iter().enumerate() {
        let end = field.offset + field.size;
        if let Some((other, _)) = fields[..i]
            .iter()
            .find(|(f, _)| field.offset < f.offset + f.size)
        {
            let message = format!(
                "`{}` (bytes {}..{end}) overlaps `{}` (bytes {}..{})",
                field.name,
                field.offset,
                other.name,
                other.offset,
                other.offset + other.size
            );
            let help = format!(
                "the first free byte behind it is {}",
                other.offset + other.size
            );
            loading
                .walk
                .report(rules::LAYOUT_OVERLAP, at.clone(), message, Some(help));
        }
        if !crate::layouts::on_one_line(field) {
            let message = format!(
                "`{}` (bytes {}..{end}) lies on two cache lines",
                field.name, field.offset
            );
            let help = format!("the next line begins at byte {}", end / 64 * 64);
            loading
                .walk
                .report(rules::LAYOUT_LINE, at.clone(), message, Some(help));
        }
    }
    let missing: Vec<&str> = layouts::required(of)
        .filter(|name| !fields.iter().any(|(f, _)| f.name == *name))
        .collect();
    // What is missing may be what the wrong places are about.
    if !missing.is_empty() && loading.walk.issues.len() == before {
        let message = format!("layout of `{of}` has no {}", missing.join(", "));
        let help = "give each as {\"field\": (offset, size)}; kernel code touches it".to_owned();
        loading
            .walk
            .report(rules::LAYOUT_FIELDS, value.at(), message, Some(help));
    }
}
