//! `skbsim layout`: which fields of a struct share a cache line.

use crate::args::{Format, Layout};
use crate::exit::{Exit, Stop};
use crate::report::json;
use crate::session::Session;
use crate::text::{self, Align, Table};
use scenarios::pahole::{self, Member, Struct};
use serde::Serialize;
use sim_core::kernel::{layouts, netdev_fields};
use sim_core::machine::layout::LINE_BYTES;
use std::io::Write;
use std::path::Path;

/// Runs the command.
pub fn run(session: &mut Session<'_>, args: &Layout) -> Result<Exit, Stop> {
    let of = args.name.as_deref();
    let structs = match builtin(&args.file, of.unwrap_or("net_device")) {
        Some(structs) => structs,
        None => scenarios::Loader::new(session.registry)
            .load_layout(Path::new(&args.file))
            .map_err(|r| Stop::new(Exit::Invalid, r.render(session.look.err_color)))?,
    };
    let found = match of {
        Some(of) => scenarios::layouts::find(&structs, of),
        None => structs.first(),
    };
    let Some(found) = found else {
        let names: Vec<&str> = structs.iter().map(|s| s.name.as_str()).collect();
        let text = format!(
            "error: {} has no struct `{}`; it has {}",
            args.file,
            of.unwrap_or_default(),
            names.join(", ")
        );
        return Err(Stop::new(Exit::Invalid, text));
    };
    let name = match (found.is_fragment(), of) {
        (false, _) => &found.name,
        // The only struct that anybody quotes in part.
        (true, of) => of.unwrap_or("net_device"),
    };
    let text = match args.format {
        Format::Text => table(found, name),
        Format::Json => document(found, name),
    };
    write!(session.out, "{text}")?;
    Ok(Exit::Ok)
}

/// What pahole printed for a built-in layout.
fn builtin(name: &str, of: &str) -> Option<Vec<Struct>> {
    pahole::parse(scenarios::layouts::text(of, name)?).ok()
}

/// First and last line of a member.
fn lines(m: &Member) -> (u32, u32) {
    let last = (m.offset + m.size.max(1) - 1) / LINE_BYTES;
    (m.offset / LINE_BYTES, last)
}

/// Kernel functions that read and write a member on the packets' way, as far as the simulator knows.
fn users(of: &str, m: &Member) -> (Vec<&'static str>, Vec<&'static str>) {
    let used = layouts::used(of)
        .iter()
        .find(|u| u.at.iter().any(|(name, _, _)| *name == m.name));
    match used {
        Some(used) if of == "net_device" => netdev_fields::users(used.name),
        _ => Default::default(),
    }
}

/// One line a member, in pahole's order, and an empty one between cache lines.
fn table(s: &Struct, of: &str) -> String {
    let mut table = Table::new(&[
        ("line", Align::Right),
        ("offset", Align::Right),
        ("size", Align::Right),
        ("field", Align::Left),
        ("read by", Align::Left),
        ("written by", Align::Left),
    ]);
    let mut breaks = Vec::new();
    let mut free = s.members.first().map_or(0, |m| m.offset);
    let mut line = None;
    for m in s.members.iter().filter(|m| !m.nested) {
        let (first, last) = lines(m);
        if m.offset > free {
            let hole = format!("({} hole)", text::count((m.offset - free) as usize, "byte"));
            let cells = [String::new(), free.to_string(), String::new(), hole];
            table.row(
                cells
                    .into_iter()
                    .chain([String::new(), String::new()])
                    .collect(),
            );
            breaks.push(false);
        }
        free = free.max(m.offset + m.size);
        breaks.push(line.is_some_and(|l| l != first));
        line = Some(last.max(first));
        let shown = if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        };
        let field = match m.bits {
            Some((bit, width)) => format!("{}:{width} (bit {bit})", m.name),
            None => m.name.clone(),
        };
        let (reads, writes) = users(of, m);
        table.row(vec![
            shown,
            m.offset.to_string(),
            m.size.to_string(),
            field,
            reads.join(", "),
            writes.join(", "),
        ]);
    }
    let what = if s.is_fragment() {
        "a part".to_owned()
    } else {
        let lines = s.bytes().div_ceil(LINE_BYTES) as usize;
        format!("{} bytes, {}", s.bytes(), text::count(lines, "cache line"))
    };
    let mut out = format!("struct {of}   {what}\n\n");
    let rendered = table.render("");
    let mut rows = rendered.lines();
    out += &rows
        .next()
        .map_or(String::new(), |head| format!("{head}\n"));
    for (row, new_line) in rows.zip(breaks) {
        if new_line {
            out.push('\n');
        }
        out += row;
        out.push('\n');
    }
    out
}

#[derive(Serialize)]
struct Field<'a> {
    field: &'a str,
    offset: u32,
    size: u32,
    first_bit: Option<u32>,
    bits: Option<u32>,
    first_line: u32,
    last_line: u32,
    read_by: Vec<&'static str>,
    written_by: Vec<&'static str>,
}

#[derive(Serialize)]
struct Whole<'a> {
    name: &'a str,
    bytes: u32,
    fields: Vec<Field<'a>>,
}

/// `skbsim.layout/1`.
fn document(s: &Struct, of: &str) -> String {
    let fields = s.members.iter().map(|m| {
        let (read_by, written_by) = users(of, m);
        let (first_line, last_line) = lines(m);
        Field {
            field: &m.name,
            offset: m.offset,
            size: m.size,
            first_bit: m.bits.map(|b| b.0),
            bits: m.bits.map(|b| b.1),
            first_line,
            last_line,
            read_by,
            written_by,
        }
    });
    json::document(
        "skbsim.layout/1",
        Whole {
            name: of,
            bytes: s.bytes(),
            fields: fields.collect(),
        },
    )
}

#[cfg(test)]
mod tests {
    use crate::exit::Exit;
    use crate::testing::skbsim;

    #[test]
    fn the_threads_struct() {
        insta::assert_snapshot!(skbsim("layout patched").out);
    }

    /// A whole struct: holes, bit-fields, members on two lines.
    #[test]
    fn a_recorded_struct() {
        let out = skbsim("layout 6.1 --struct netdev_queue").out;
        insta::assert_snapshot!(out);
    }

    #[test]
    fn json_has_every_member() {
        let ran = skbsim("layout 6.18 --format json");
        let value: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
        let fields = value["data"]["fields"].as_array().expect("a list");
        let tx = fields.iter().find(|f| f["field"] == "_tx").expect("_tx");
        assert_eq!((&tx["offset"], &tx["first_line"]), (&24.into(), &0.into()));
        assert!(fields.len() > 150, "{}", fields.len());
    }

    #[test]
    fn what_is_not_there_is_said() {
        let ran = skbsim("layout nowhere.txt");
        assert_eq!(ran.exit, Exit::Invalid);
        assert!(ran.err.contains("nowhere.txt"), "{}", ran.err);
        let ran = skbsim("layout 6.1 --struct sk_buf");
        assert_eq!(ran.exit, Exit::Invalid);
    }
}
