//! What a search of schedules found: the phases, the finding, its table of steps.

use crate::session::{Again, Look, Tone};
use crate::text::{self, Align, Table};
use sim_core::engine::schedule::AccessKind;
use sim_core::explore::{Agent, Find, Hunt, Race, Replay, Report, Step, Token, Verdict};
use sim_core::machine::cost::MemoryModel;
use sim_core::trace::Names;
use sim_core::violation::Violation;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The report for people.
pub fn text(hunt: &Hunt, report: &Report, again: &Again, look: &Look, verbose: bool) -> String {
    let mut out = head(hunt, report);
    out += &phases(report).render("  ");
    out.push('\n');
    match &report.verdict {
        Verdict::Found(find) => out += &finding(find, again, look, verbose),
        Verdict::FoundAll(finds) => {
            let _ = writeln!(out, "{}\n", text::count(finds.len(), "different finding"));
            for find in finds {
                out += &finding(find, again, look, verbose);
                out.push('\n');
            }
        }
        Verdict::Clean => {
            let done = look.paint(Tone::Good, "no law broken");
            let _ = writeln!(out, "{done}: {}", bound(report));
            out += CAVEAT;
        }
        Verdict::Limit(limit) => {
            let _ = writeln!(
                out,
                "stopped by a limit ({limit}), no law broken so far: {}",
                bound(report)
            );
        }
    }
    out
}

const CAVEAT: &str = "\
  (all orders of accesses to shared words that differ; the allocator's words are no points, loads are never early)
";

fn head(hunt: &Hunt, report: &Report) -> String {
    let size = report
        .size
        .map_or_else(String::new, |s| format!("   {s} (CPUs x packets)"));
    format!(
        "scenario  {}{size}   memory {}   {} shared words\n",
        hunt.label,
        memory(report.memory),
        report.points
    )
}

fn memory(model: MemoryModel) -> &'static str {
    match model {
        MemoryModel::Sc => "SC",
        MemoryModel::Tso => "TSO",
        MemoryModel::Weak => "weak",
    }
}

fn phases(report: &Report) -> Table {
    let mut table = Table::new(&[
        ("phase", Align::Left),
        ("schedules", Align::Right),
        ("cut", Align::Right),
        ("states", Align::Right),
        ("steps", Align::Right),
        ("", Align::Left),
    ]);
    let last = report.phases.len().saturating_sub(1);
    for (i, phase) in report.phases.iter().enumerate() {
        let s = &phase.stats;
        let end = match (&report.verdict, phase.complete) {
            (_, true) => "complete",
            (Verdict::Found(_) | Verdict::FoundAll(_), _) if i == last => "found",
            _ => "stopped",
        };
        table.row(vec![
            phase.name.clone(),
            text::group(s.schedules),
            text::group(s.cut),
            if s.states > 0 {
                text::group(s.states)
            } else {
                "-".to_owned()
            },
            text::group(s.steps),
            end.to_owned(),
        ]);
    }
    table
}

fn bound(report: &Report) -> String {
    match report.preemptions {
        Some(n) => format!(
            "complete for every schedule with up to {} under {}",
            text::count(n as usize, "preemption"),
            memory(report.memory)
        ),
        None => "no bound was completed".to_owned(),
    }
}

fn finding(find: &Find, again: &Again, look: &Look, verbose: bool) -> String {
    let mut out = String::new();
    for v in &find.violations {
        out += &violation(v, look);
    }
    let size = find.size.map_or_else(String::new, |s| format!(" at {s}"));
    let n = find.token.deviations.len();
    let _ = writeln!(
        out,
        "  {} from the usual schedule{size}, {} steps",
        text::count(n, "deviation"),
        find.steps.len()
    );
    for race in &find.races {
        let _ = writeln!(
            out,
            "  decided by: {}",
            race_text(race, &find.steps, &find.names)
        );
    }
    out.push('\n');
    out += &table(&find.steps, &find.names, &find.races, verbose);
    let token = find.token.to_string();
    let _ = write!(
        out,
        "\n  replay: {}\n  view:   {}\n",
        again.run_schedule(&token),
        again.view_schedule(&token)
    );
    out
}

/// A schedule that was run again.
pub fn replayed(
    replay: &Replay,
    token: &Token,
    again: &Again,
    look: &Look,
    verbose: bool,
) -> String {
    let mut out = format!(
        "schedule  {token}\ndigest    {}   {} steps\n\n",
        replay.digest,
        replay.steps.len()
    );
    if replay.violations.is_empty() {
        let _ = writeln!(out, "{}", look.paint(Tone::Good, "no law broken"));
    }
    for v in &replay.violations {
        out += &violation(v, look);
    }
    out.push('\n');
    out += &table(&replay.steps, &replay.names, &[], verbose);
    let _ = write!(
        out,
        "\n  view:   {}\n",
        again.view_schedule(&token.to_string())
    );
    out
}

/// The same as one document.
pub fn replayed_json(replay: &Replay, token: &Token, again: &Again) -> String {
    let token = token.to_string();
    let document = serde_json::json!({
        "schema": "skbsim.schedule/1",
        "data": {
            "token": token, "digest": replay.digest,
            "size": replay.size.map(|s| s.to_string()),
            "violations": violations_json(&replay.violations),
            "steps": steps_json(&replay.steps, &replay.names),
            "view": again.view_schedule(&token),
        },
    });
    format!("{document:#}\n")
}

fn violation(v: &Violation, look: &Look) -> String {
    let head = look.paint(Tone::Bad, &format!("VIOLATION {}", v.law));
    let cpu = v.cpu.map_or(String::new(), |c| format!(" on CPU{c}"));
    format!("{head}{cpu} in {}\n  {}\n", v.function, v.what)
}

fn violations_json(violations: &[Violation]) -> Vec<serde_json::Value> {
    let one = |v: &Violation| serde_json::json!({"law": v.law.name(), "cpu": v.cpu, "function": v.function, "what": v.what});
    violations.iter().map(one).collect()
}

fn steps_json(steps: &[Step], names: &Names) -> Vec<serde_json::Value> {
    let one = |s: &Step| {
        serde_json::json!({
            "step": s.at, "agent": s.agent.to_string(), "kind": format!("{:?}", s.kind),
            "word": word(s, names), "value": s.value, "held": s.held,
            "function": function(s, names),
        })
    };
    steps.iter().map(one).collect()
}

/// A race in words.
pub fn race_text(race: &Race, steps: &[Step], names: &Names) -> String {
    let say = |s: &Step| {
        let what = match s.kind {
            AccessKind::Read => "reads",
            AccessKind::ReadModifyWrite => "changes",
            _ => "writes",
        };
        let who = s
            .agent
            .cpu()
            .map_or_else(|| s.agent.to_string(), |c| format!("CPU{c}"));
        format!("{who} {what} it in {}", function(s, names))
    };
    let first = &steps[race.first];
    format!(
        "{}: {} before {}",
        word(first, names),
        say(first),
        say(&steps[race.second])
    )
}

fn word(step: &Step, names: &Names) -> String {
    names
        .words
        .get(step.word as usize)
        .map_or_else(String::new, |w| w.name.clone())
}

fn function(step: &Step, names: &Names) -> String {
    names
        .functions
        .get(usize::from(step.function))
        .cloned()
        .unwrap_or_default()
}

/// One row a step, one column an agent.
pub fn table(steps: &[Step], names: &Names, races: &[Race], verbose: bool) -> String {
    let relevant = relevant(steps, verbose);
    let mut columns: Vec<Column> = steps.iter().map(|s| Column::of(s.agent)).collect();
    columns.sort();
    columns.dedup();
    let mut heads = vec![("step", Align::Right)];
    let titles: Vec<String> = columns.iter().map(|c| c.title(names)).collect();
    heads.extend(titles.iter().map(|t| (t.as_str(), Align::Left)));
    heads.push(("", Align::Left));
    let mut table = Table::new(&heads);
    let mut last: Vec<Option<u16>> = vec![None; columns.len()];
    for (i, step) in steps.iter().enumerate() {
        if !relevant[i] {
            continue;
        }
        let at = columns
            .iter()
            .position(|c| *c == Column::of(step.agent))
            .unwrap_or(0);
        let mut cells = vec![String::new(); columns.len()];
        let mark = races.iter().enumerate().find_map(|(n, r)| {
            let n = n + 1;
            (r.first == i)
                .then(|| format!("<- {n} first"))
                .or_else(|| (r.second == i).then(|| format!("<- {n} second")))
        });
        let changed = last[at] != Some(step.function);
        last[at] = Some(step.function);
        let what = access(step, names);
        cells[at] = if changed && step.function != u16::MAX {
            format!("{what}  [{}]", function(step, names))
        } else {
            what
        };
        let mut row = vec![step.at.to_string()];
        row.extend(cells);
        row.push(mark.unwrap_or_default());
        table.row(row);
    }
    table.render("  ")
}

fn access(step: &Step, names: &Names) -> String {
    let name = word(step, names);
    let value = if step.value > 9 {
        format!("{:#x}", step.value)
    } else {
        step.value.to_string()
    };
    match step.kind {
        AccessKind::Read => format!("R   {name} = {value}"),
        AccessKind::ReadModifyWrite => format!("RMW {name} = {value}"),
        AccessKind::Drain => format!("..W {name} = {value} visible"),
        AccessKind::Arrival => match step.agent {
            Agent::Device(n) => format!("device event {n}"),
            _ => "interrupt".to_owned(),
        },
        _ if step.held => format!("W.. {name} = {value} held"),
        _ => format!("W   {name} = {value}"),
    }
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Column {
    Cpu(u16),
    Devices,
}

impl Column {
    fn of(agent: Agent) -> Column {
        agent.cpu().map_or(Column::Devices, Column::Cpu)
    }
    fn title(self, names: &Names) -> String {
        match self {
            Column::Cpu(c) => names
                .cpus
                .get(usize::from(c))
                .cloned()
                .unwrap_or_else(|| format!("CPU{c}")),
            Column::Devices => "devices".to_owned(),
        }
    }
}

/// Steps on words that two agents use here with a write among them; a store is shown when it was held, else
/// only as it becomes visible.
fn relevant(steps: &[Step], verbose: bool) -> Vec<bool> {
    let mut users: std::collections::BTreeMap<u32, (BTreeSet<Option<u16>>, bool)> =
        Default::default();
    for s in steps {
        let u = users.entry(s.word).or_default();
        u.0.insert(s.agent.cpu());
        u.1 |= s.kind != AccessKind::Read;
    }
    let at_once = |i: usize| {
        let s = &steps[i];
        steps.get(i + 1).is_some_and(|next| {
            next.kind == AccessKind::Drain
                && next.word == s.word
                && next.agent.cpu() == s.agent.cpu()
        })
    };
    steps
        .iter()
        .enumerate()
        .map(|(i, s)| {
            if s.kind == AccessKind::Arrival || verbose {
                return true;
            }
            if s.held && at_once(i) {
                return false;
            }
            users.get(&s.word).is_some_and(|u| u.0.len() > 1 && u.1)
        })
        .collect()
}

/// The report as one document.
pub fn json(hunt: &Hunt, report: &Report, again: &Again) -> String {
    use serde_json::json;
    let phases: Vec<_> = report
        .phases
        .iter()
        .map(|p| {
            json!({
                "name": p.name, "complete": p.complete, "schedules": p.stats.schedules,
                "cut": p.stats.cut, "states": p.stats.states, "steps": p.stats.steps,
            })
        })
        .collect();
    let finds: &[Find] = match &report.verdict {
        Verdict::Found(find) => std::slice::from_ref(find),
        Verdict::FoundAll(finds) => finds,
        _ => &[],
    };
    let found = finds.iter().map(|find| {
        let races: Vec<_> = find.races.iter().map(|r| json!([r.first, r.second])).collect();
        let token = find.token.to_string();
        json!({
            "token": token, "deviations": find.token.deviations.len(), "phase": find.phase,
            "size": find.size.map(|s| s.to_string()), "violations": violations_json(&find.violations), "races": races,
            "steps": steps_json(&find.steps, &find.names), "replay": again.run_schedule(&token), "view": again.view_schedule(&token),
        })
    });
    let found: Vec<_> = found.collect();
    let verdict = match &report.verdict {
        Verdict::Found(_) | Verdict::FoundAll(_) => "found",
        Verdict::Clean => "clean",
        Verdict::Limit(_) => "limit",
    };
    let document = json!({
        "schema": "skbsim.explore/1",
        "data": {
            "scenario": hunt.label, "memory": memory(report.memory),
            "size": report.size.map(|s| s.to_string()), "points": report.points,
            "verdict": verdict, "preemptions": report.preemptions, "phases": phases, "found": found,
        },
    });
    format!("{document:#}\n")
}
