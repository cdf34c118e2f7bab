//! The reference chapter, printed from the tables that the checks use.

use crate::expect::METRICS;
use crate::machine::print_value;
use crate::registry::Registry;
use crate::rules::RULES;
use crate::schema::{Fallback, STRUCTS};
use crate::units::Quantity;
use sim_core::kernel::cost::Cost;
use sim_core::machine::cost::{Param, Unit};
use sim_core::violation::Law;
use std::fmt::Write as _;

/// Every field, unit, machine parameter, variant, cost key, metric, law and rule, as Markdown.
pub fn reference_markdown() -> String {
    let mut out = String::from(
        "# Reference of the scenario format\n\nGenerated from the tables that the checks use.\n",
    );
    for spec in STRUCTS {
        let _ = writeln!(out, "\n## {}\n\n{}", spec.name, spec.doc);
        if !spec.fields.is_empty() {
            table(
                &mut out,
                &["field", "type", "default", "meaning"],
                spec.fields.iter().map(|f| {
                    let default = match f.default {
                        Fallback::Required => "required".into(),
                        Fallback::Ron(text) => format!("`{text}`"),
                        Fallback::Computed(words) => words.to_owned(),
                    };
                    vec![
                        format!("`{}`", f.name),
                        f.ty.to_owned(),
                        default,
                        f.doc.to_owned(),
                    ]
                }),
            );
        }
    }
    units(&mut out);
    params(&mut out);
    variants(&mut out);
    out.push_str("\n## Cost keys\n\nInstructions a call, for `kernel: (costs: {..})`.\n");
    table(
        &mut out,
        &["key", "instructions", "range", "source"],
        Cost::ALL.iter().map(|c| {
            let (low, high) = c.range();
            vec![
                format!("`{}`", c.name()),
                c.insns().to_string(),
                format!("{low}..={high}"),
                c.source().to_owned(),
            ]
        }),
    );
    out.push_str("\n## Metrics\n\nFor `expect: (metrics: [..])`.\n");
    table(
        &mut out,
        &["metric", "unit", "meaning"],
        METRICS
            .iter()
            .map(|m| vec![format!("`{}`", m.name), m.unit.to_owned(), m.doc.to_owned()]),
    );
    let _ = writeln!(
        out,
        "\n## Laws\n\nFor `expect: (violations: Require([..]))`: {}.",
        crate::error::quoted_list(Law::ALL.map(|l| l.name()))
    );
    out.push_str("\n## Rules\n");
    table(
        &mut out,
        &["code", "rule", "why"],
        RULES
            .iter()
            .map(|r| vec![r.code.to_owned(), r.title.to_owned(), r.explain.to_owned()]),
    );
    out
}

fn table(out: &mut String, head: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let rule: String = head.iter().map(|_| "---|").collect();
    let _ = writeln!(out, "\n| {} |\n|{rule}", head.join(" | "));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

fn units(out: &mut String) {
    out.push_str("\n## Units\n\nA quantity is text: a number and a unit, without a blank. It must be a whole number of the smallest unit.\n");
    let all = [
        Quantity::Time,
        Quantity::Size,
        Quantity::Rate,
        Quantity::PacketRate,
    ];
    table(
        out,
        &["quantity", "units"],
        all.iter().map(|q| {
            vec![
                q.noun().to_owned(),
                crate::error::quoted_list(q.units().iter().map(|u| u.0)),
            ]
        }),
    );
}

fn params(out: &mut String) {
    out.push_str(
        "\n## Machine parameters\n\nIn `values` of a profile, and as fields of `machine`.\n",
    );
    table(
        out,
        &["parameter", "unit", "range", "meaning"],
        Param::ALL.iter().map(|&p| {
            let unit = match p.unit() {
                Unit::Time => "time",
                Unit::Permille => "thousandths",
                Unit::InsnsPerUs => "instructions a microsecond",
                Unit::Insns => "instructions",
            };
            let (low, high) = p.range();
            let range = format!("{} to {}", print_value(p, low), print_value(p, high));
            vec![
                format!("`{}`", p.name()),
                unit.to_owned(),
                range,
                p.doc().to_owned(),
            ]
        }),
    );
}

/// What each built-in variant is. The documentation of the enum is not there at run time.
const VARIANTS: &[(&str, &str)] = &[
    (
        "locked",
        "pfifo_fast without its lockless flag: the classic root lock.",
    ),
    (
        "v0",
        "v4.16 to v5.12: a failed trylock simply leaves; packets can get stuck.",
    ),
    (
        "v0b",
        "v5.2 to v5.5: the first bypass, without a second look under the lock.",
    ),
    ("v1", "The thread's patch: NEED_RESCHEDULE (its set 1)."),
    ("v2", "`__netif_schedule()` whenever the trylock fails."),
    ("v3", "v5.13: MISSED."),
    (
        "v3_no_stopped_fix",
        "v5.13 without its third patch: MISSED stays set while the queue is stopped.",
    ),
    ("v4", "v5.14 to v5.18: bypass and DRAINING."),
    ("v5", "v5.19 and later: both barrier fixes."),
    ("rfc_bypass", "The thread's RFC v3: a bypass on top of v0."),
    ("set2", "Patch set 2: v1 and the bypass."),
    (
        "set3",
        "Patch set 3: set 2 without seqcount, with the return code checked and the retry optimised.",
    ),
];

fn variants(out: &mut String) {
    out.push_str(
        "\n## Lockless variants\n\nFor `kernel: (lockless: ..)`. A program can register more.\n",
    );
    let registry = Registry::new();
    let doc = |name: &str| {
        VARIANTS
            .iter()
            .find(|v| v.0 == name)
            .map_or("", |v| v.1)
            .to_owned()
    };
    table(
        out,
        &["variant", "what it is"],
        registry
            .variant_names()
            .map(|name| vec![format!("`{name}`"), doc(name)]),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chapter names everything there is.
    #[test]
    fn complete() {
        let text = reference_markdown();
        let params = Param::ALL.iter().map(|p| p.name());
        let costs = Cost::ALL.iter().map(|c| c.name());
        let fields = STRUCTS.iter().flat_map(|s| s.fields).map(|f| f.name);
        for name in params.chain(costs).chain(fields) {
            assert!(text.contains(&format!("| `{name}` |")), "{name}");
        }
        for name in Registry::new().variant_names() {
            assert!(
                VARIANTS.iter().any(|v| v.0 == name),
                "{name} has no description"
            );
        }
    }
}
