//! `skbsim list`: scenarios, machine profiles, variants and experiments.

use crate::args::{Format, List};
use crate::exit::{Exit, Stop};
use crate::library;
use crate::report::json;
use crate::session::Session;
use crate::text::{Align, Table};
use serde::Serialize;
use std::io::Write;

/// A name and what it stands for.
#[derive(Serialize)]
struct Entry {
    name: String,
    about: String,
}

#[derive(Serialize)]
struct Everything {
    scenarios: Vec<Entry>,
    machines: Vec<Entry>,
    variants: Vec<Entry>,
    experiments: Vec<Entry>,
}

/// Runs the command.
pub fn run(session: &mut Session<'_>, args: &List) -> Result<Exit, Stop> {
    let entry = |name: &str, about: &str| Entry {
        name: name.to_owned(),
        about: about.to_owned(),
    };
    let all = Everything {
        scenarios: library::builtins()
            .map(|(name, about)| entry(name, about))
            .collect(),
        machines: library::machines(session.registry)
            .map(|(name, about)| entry(name, about))
            .collect(),
        variants: session
            .registry
            .variant_names()
            .map(|name| entry(name, about_variant(name)))
            .collect(),
        experiments: super::repro::EXPERIMENTS
            .iter()
            .map(|e| entry(e.name, e.about))
            .collect(),
    };
    let text = match args.format {
        Format::Json => json::document("skbsim.list/1", all),
        Format::Text => {
            section("scenarios (skbsim run NAME)", &all.scenarios)
                + "\n"
                + &section("machines (machine: \"NAME\")", &all.machines)
                + "\n"
                + &section(
                    "lockless variants (kernel: (lockless: NAME))",
                    &all.variants,
                )
                + "\n"
                + &section("experiments (skbsim repro NAME)", &all.experiments)
        }
    };
    write!(session.out, "{text}")?;
    Ok(Exit::Ok)
}

fn section(head: &str, entries: &[Entry]) -> String {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
    for e in entries {
        table.row(vec![e.name.clone(), e.about.clone()]);
    }
    let rows: String = table
        .render("  ")
        .lines()
        .skip(1)
        .map(|line| format!("{line}\n"))
        .collect();
    format!("{head}\n{rows}")
}

fn about_variant(name: &str) -> &'static str {
    match name {
        "locked" => "pfifo_fast without TCQ_F_NOLOCK: the classic root lock",
        "v0" => "v4.16 to v5.12: a failed trylock simply leaves (loses packets)",
        "v0b" => "v5.2 to v5.5: the first bypass, without a second look under the lock",
        "v1" => "the thread's patch (its patch set 1): NEED_RESCHEDULE",
        "v2" => "just __netif_schedule() when the trylock fails",
        "v3" => "v5.13 as merged: MISSED",
        "v3_no_stopped_fix" => "v5.13 without its third patch",
        "v4" => "v5.14 to v5.18: bypass and DRAINING",
        "v5" => "v5.19 and later: both barrier fixes",
        "rfc_bypass" => "the thread's RFC v3 bypass on top of v0",
        "set2" => "patch set 2: v1 and the bypass",
        "set3" => "patch set 3: set 2, no seqcount, return code checked, retry optimised",
        _ => "registered by this program",
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::skbsim;

    #[test]
    fn everything_has_a_name_and_a_meaning() {
        let ran = skbsim("list --format json");
        let value: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
        for part in ["scenarios", "machines", "variants", "experiments"] {
            let entries = value["data"][part].as_array().expect(part);
            assert!(!entries.is_empty(), "{part}");
            assert!(
                entries.iter().all(|e| e["name"] != "" && e["about"] != ""),
                "{part}: {entries:?}"
            );
            assert!(
                entries
                    .iter()
                    .all(|e| e["about"] != "registered by this program"),
                "{part}"
            );
        }
        let text = skbsim("list").out;
        assert!(
            text.contains("  lockless-stuck")
                && text.contains("  kunpeng-920")
                && text.contains("  set3"),
            "{text}"
        );
    }
}
