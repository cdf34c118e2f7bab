//! Machine profile files: every hardware cost with its provenance.
//!
//! A profile has no defaults for costs: a number that nobody wrote down has no source.

use crate::error::{At, Rejected, Sources};
use crate::rules;
use crate::schema;
use crate::tree::{Kind, Node};
use crate::units::Quantity;
use crate::walk::{Obj, Placed, Value, Walk};
use sim_core::machine::cost::{Arch, MemoryModel, Param, Profile, TopologySpec, Unit};
use std::borrow::Cow;

/// A machine profile and where each of its values comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileFile {
    /// What the simulator uses.
    pub profile: Profile,
    /// Provenance of each value, indexed by the number of its [`Param`].
    pub values: Vec<Sourced>,
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced {
    /// In the base unit of its parameter.
    pub value: u64,
    /// Where it was read, measured or derived.
    pub source: Option<String>,
    /// What the source, or the fit, leaves open.
    pub range: Option<(u64, u64)>,
    /// Published row it was fitted to.
    pub fitted: Option<String>,
    /// Remark.
    pub note: Option<String>,
}

impl ProfileFile {
    /// Reads a profile from `text`; `name` is the file's name in errors.
    ///
    /// # Errors
    /// With all problems of the text.
    pub fn parse(name: &str, text: &str) -> Result<ProfileFile, Rejected> {
        let mut sources = Sources::default();
        sources.add(name, text);
        let mut walk = Walk::default();
        let file = walk
            .syntax(text, 0)
            .and_then(|node| read_profile(&mut walk, &node));
        match file {
            Some(file) if walk.issues.is_empty() => Ok(file),
            _ => Err(sources.reject(walk.issues)),
        }
    }

    /// Provenance of one value.
    pub fn sourced(&self, param: Param) -> &Sourced {
        &self.values[param as usize]
    }

    /// Published rows that the profile is fitted to, without repeats, in order of parameters.
    pub fn fitted_rows(&self) -> Vec<&str> {
        let mut rows: Vec<&str> = Vec::new();
        for row in self.values.iter().filter_map(|v| v.fitted.as_deref()) {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        rows
    }
}

/// Other names of parameters: what arm64 calls `spin_wake`, and `memory` beside the field that says
/// which memory model a machine has.
const ALIASES: [(&str, &str); 2] = [("wfe_wake", "spin_wake"), ("memory_latency", "memory")];

/// The parameter called `name`.
pub(crate) fn param(name: &str) -> Option<Param> {
    let name = ALIASES.iter().find(|a| a.0 == name).map_or(name, |a| a.1);
    Param::ALL.iter().copied().find(|p| p.name() == name)
}

/// The parameter that field `name` of `machine` overrides. Its field `memory` is the memory model.
pub(crate) fn override_param(name: &str) -> Option<Param> {
    if name == "memory" { None } else { param(name) }
}

/// What an override of `param` is called.
pub(crate) fn override_name(param: Param) -> &'static str {
    if param.name() == "memory" {
        "memory_latency"
    } else {
        param.name()
    }
}

/// All names of parameters that a file may use.
pub(crate) fn param_names() -> Vec<&'static str> {
    Param::ALL
        .iter()
        .map(|p| p.name())
        .chain(ALIASES.map(|a| a.0))
        .collect()
}

/// A value of `param` as a file writes it.
pub fn print_value(param: Param, value: u64) -> String {
    match param.unit() {
        Unit::Time => format!("\"{}\"", Quantity::Time.print(value)),
        Unit::Permille | Unit::InsnsPerUs | Unit::Insns => value.to_string(),
    }
}

/// Reads a value of `param` in its unit and range.
pub(crate) fn read_value(walk: &mut Walk, value: &Value<'_>, param: Param) -> Option<Placed<u64>> {
    let (low, high) = param.range();
    if param.unit() != Unit::Time {
        return walk.count(value, low, high);
    }
    let read = walk.quantity(value, Quantity::Time)?;
    if (low..=high).contains(&read.value) {
        return Some(read);
    }
    let print = |n| Quantity::Time.print(n);
    let message = format!(
        "{} is not in {}..={}",
        print(read.value),
        print(low),
        print(high)
    );
    walk.report(rules::OUT_OF_RANGE, read.at, message, None);
    None
}

/// Reads a whole profile.
pub(crate) fn read_profile(walk: &mut Walk, node: &Node) -> Option<ProfileFile> {
    let obj = walk.obj(node, "", &schema::PROFILE, &[])?;
    let name = obj.get("name").and_then(|v| walk.text(&v));
    let arch = obj.get("arch").and_then(|v| {
        walk.word(
            &v,
            false,
            &[("arm64", Arch::Arm64), ("x86_64", Arch::X86_64)],
        )
    });
    let memory = obj
        .get("memory")
        .and_then(|v| walk.word(&v, false, &MEMORY[..2]));
    let store_buffer = obj.get("store_buffer").and_then(|v| walk.switch(&v));
    let topology = obj.get("topology").and_then(|v| read_topology(walk, &v));
    let values = obj.get("values").and_then(|v| read_values(walk, &v))?;
    let profile = Profile {
        name: name?.value,
        arch: arch?.value,
        memory: memory?.value,
        store_buffer: store_buffer?.value,
        topology: topology?,
        values: values.iter().map(|v| v.value).collect(),
    };
    Some(ProfileFile { profile, values })
}

/// The words for memory models; a profile may not use the last.
pub(crate) const MEMORY: [(&str, MemoryModel); 3] = [
    ("tso", MemoryModel::Tso),
    ("weak", MemoryModel::Weak),
    ("sc", MemoryModel::Sc),
];

fn read_topology(walk: &mut Walk, value: &Value<'_>) -> Option<TopologySpec> {
    let obj = walk.obj(&value.node, &value.path, &schema::TOPOLOGY, &[])?;
    let mut part = |name| {
        let value = obj.get(name)?;
        walk.count(&value, 1, 256)
            .and_then(|n| u16::try_from(n.value).ok())
    };
    let (sockets, dies, clusters) = (part("sockets"), part("dies"), part("clusters"));
    let (cores, smt) = (part("cores"), part("smt"));
    let parts = [sockets?, dies?, clusters?, cores?, smt?];
    // In 64 bits: five factors of up to 256 overflow 32.
    let cpus: u64 = parts.iter().map(|&n| u64::from(n)).product();
    if cpus > MAX_CPUS {
        let message = format!("the topology has {cpus} CPUs; at most {MAX_CPUS} are simulated");
        walk.report(rules::TOO_MANY_CPUS, value.at(), message, None);
        return None;
    }
    let [sockets, dies, clusters, cores, smt] = parts;
    Some(TopologySpec {
        sockets,
        dies,
        clusters,
        cores,
        smt,
    })
}

/// Most CPUs of a machine.
const MAX_CPUS: u64 = 256;

fn read_values(walk: &mut Walk, value: &Value<'_>) -> Option<Vec<Sourced>> {
    let mut found: Vec<Option<Sourced>> = vec![None; Param::ALL.len()];
    let mut given = vec![false; Param::ALL.len()];
    for (key, entry) in walk.entries(value) {
        match param(&key.value) {
            Some(param) => {
                given[param as usize] = true;
                found[param as usize] = read_sourced(walk, &entry, param);
            }
            None => {
                let message = format!("unknown parameter `{}`", crate::tree::shorten(&key.value));
                walk.unknown(
                    rules::PROFILE_UNKNOWN,
                    key.at,
                    message,
                    param_names(),
                    &key.value,
                );
            }
        }
    }
    let missing: Vec<&str> = Param::ALL
        .iter()
        .filter(|&&p| !given[p as usize])
        .map(|p| p.name())
        .collect();
    if !missing.is_empty() {
        let mut at = value.at();
        at.span.end = at.span.start + 1;
        let message = format!("missing parameters: {}", crate::error::quoted_list(missing));
        walk.report(rules::PROFILE_MISSING, at, message, None);
    }
    found.into_iter().collect()
}

fn read_sourced(walk: &mut Walk, entry: &Value<'_>, param: Param) -> Option<Sourced> {
    let obj = walk.obj(&entry.node, &entry.path, &schema::VALUE, &[])?;
    let value = obj.get("value").and_then(|v| read_value(walk, &v, param));
    let range = obj
        .given("range")
        .map(|v| (v.at(), read_range(walk, &v, param)));
    let mut text = |name| obj.given(name).and_then(|v| walk.text(&v));
    let (source, fitted, note) = (text("source"), text("fitted"), text("note"));
    provenance(walk, &obj, fitted.as_ref());
    let value = value?;
    let range = match range {
        Some((at, range)) => Some(within(walk, at, range?, value.value, param)?),
        None => None,
    };
    let plain = |text: Option<Placed<String>>| text.map(|t| t.value);
    Some(Sourced {
        value: value.value,
        source: plain(source),
        range,
        fitted: plain(fitted),
        note: plain(note),
    })
}

fn read_range(walk: &mut Walk, value: &Value<'_>, param: Param) -> Option<(u64, u64)> {
    let Kind::Tuple(None, items) = &value.node.kind else {
        walk.mistyped(value, "a range (low, high)", None);
        return None;
    };
    let [low, high] = items.as_slice() else {
        walk.mistyped(value, "a range (low, high)", None);
        return None;
    };
    let mut end = |node| {
        let end = Value {
            node: Cow::Borrowed(node),
            path: value.path.clone(),
            given: true,
        };
        read_value(walk, &end, param)
    };
    let (low, high) = (end(low), end(high));
    Some((low?.value, high?.value))
}

fn within(
    walk: &mut Walk,
    at: At,
    range: (u64, u64),
    value: u64,
    param: Param,
) -> Option<(u64, u64)> {
    if (range.0..=range.1).contains(&value) {
        return Some(range);
    }
    let print = |n| print_value(param, n);
    let message = format!("the value {} lies outside its own range", print(value));
    walk.report(rules::VALUE_RANGE, at, message, None);
    None
}

fn provenance(walk: &mut Walk, obj: &Obj<'_>, fitted: Option<&Placed<String>>) {
    let (source, range) = (obj.given("source").is_some(), obj.given("range").is_some());
    if obj.given("fitted").is_none() && !(source && range) {
        let missing = match (source, range) {
            (true, false) => "its source is given, but no `range`",
            (false, true) => "its range is given, but no `source`",
            _ => "it has no `source` and no `fitted`",
        };
        let message = format!("where does this value come from? {missing}");
        walk.report(
            rules::PROVENANCE,
            obj.at.clone(),
            message,
            Some("give `source` and `range`, or `fitted`".into()),
        );
    }
    if let Some(row) = fitted {
        let experiment = ["S0.", "S1.", "S2.", "S3.", "S4."]
            .iter()
            .any(|s| row.value.starts_with(s));
        let part = |p: &str| {
            !p.is_empty()
                && p.chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+'))
        };
        if !experiment || !row.value.split('.').all(part) {
            let message = format!(
                "`{}` is not the id of a published row",
                crate::tree::shorten(&row.value)
            );
            walk.report(
                rules::FITTED_ID,
                row.at.clone(),
                message,
                Some("ids look like S3.table.vanilla.t1".into()),
            );
        }
    }
}
