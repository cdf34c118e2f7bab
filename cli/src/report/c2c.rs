//! Cache lines in the two tables of `perf c2c report`, and the pairs of fields behind each dirty move.
//!
//! Where perf samples, this counts everything: `records` are all loads and stores of a line, and HITM are
//! all moves of a dirty copy, also those that a store asked for (perf counts loads alone). LclHitm is a
//! move within a die (a NUMA node), RmtHitm one from farther away.

use crate::text::{self, Align, Table};
use sim_core::metrics::{Access, Line, Metrics, Pair};
use std::fmt::Write;

/// Lines shown, unless all are asked for.
const TOP: usize = 4;
/// Pairs shown of a line.
const PAIRS: usize = 4;

/// Both tables; nothing if no line moved dirty.
pub fn report(metrics: &Metrics, all: bool) -> String {
    let mut moved: Vec<&Line> = metrics
        .lines
        .iter()
        .filter(|l| l.hitm > 0 && !l.accesses.is_empty())
        .collect();
    // A stable sort: what is equal stays in order of placement.
    moved.sort_by_key(|l| std::cmp::Reverse((l.hitm, l.transfers)));
    let shown = if all {
        moved.len()
    } else {
        TOP.min(moved.len())
    };
    let hidden = moved.len() - shown;
    moved.truncate(shown);
    if moved.is_empty() {
        return String::new();
    }
    let total: u64 = metrics.lines.iter().map(|l| l.hitm).sum();
    let mut out = shared(&moved, total);
    if hidden > 0 {
        let _ = writeln!(out, "(and {}; -v shows all)", text::count(hidden, "line"));
    }
    out + "\n" + &distribution(&moved)
}

fn sum(line: &Line, of: fn(&Access) -> u64) -> u64 {
    line.accesses.iter().map(of).sum()
}

/// "Shared Data Cache Line Table".
fn shared(lines: &[&Line], total: u64) -> String {
    let heads = [
        "hitm%",
        "hitm",
        "LclHitm",
        "RmtHitm",
        "records",
        "loads",
        "stores",
        "L1miss",
        "transfers",
    ];
    let mut columns = vec![("Index", Align::Right), ("Cacheline", Align::Left)];
    columns.extend(heads.map(|head| (head, Align::Right)));
    let mut table = Table::new(&columns);
    for (i, line) in lines.iter().enumerate() {
        let (loads, stores) = (sum(line, |a| a.loads), sum(line, |a| a.stores));
        let mut cells = vec![i.to_string(), line.name.clone()];
        cells.push(text::percent(line.hitm, total));
        let counts = [
            line.hitm,
            sum(line, |a| a.hitm_local),
            sum(line, |a| a.hitm_remote),
            loads + stores,
            loads,
            stores,
            sum(line, |a| a.store_misses),
            line.transfers,
        ];
        cells.extend(counts.map(text::group));
        table.row(cells);
    }
    table.render("")
}

/// "Shared Cache Line Distribution Pareto", a row a field and function.
fn distribution(lines: &[&Line]) -> String {
    let heads = ["RmtHitm", "LclHitm", "loads", "stores", "L1miss", "offset"];
    let mut columns = vec![("Num", Align::Right)];
    columns.extend(heads.map(|head| (head, Align::Right)));
    columns.extend([("field", Align::Left), ("cpu cnt", Align::Right)]);
    columns.extend([("symbol", Align::Left), ("cpus", Align::Left)]);
    let mut table = Table::new(&columns);
    for (i, line) in lines.iter().enumerate() {
        for a in &line.accesses {
            let (local, remote) = (sum(line, |a| a.hitm_local), sum(line, |a| a.hitm_remote));
            table.row(vec![
                i.to_string(),
                text::percent(a.hitm_remote, remote),
                text::percent(a.hitm_local, local),
                text::group(a.loads),
                text::group(a.stores),
                text::group(a.store_misses),
                a.offset.map_or("-".to_owned(), |at| format!("{at:#x}")),
                or_line(&a.field).to_owned(),
                a.cpus.len().to_string(),
                a.function.clone(),
                cpus(&a.cpus),
            ]);
        }
    }
    let mut out = table.render("");
    for (i, line) in lines.iter().enumerate() {
        for p in line.pairs.iter().take(PAIRS) {
            out += &pair(i, p, line.hitm);
        }
    }
    out
}

/// A line that is touched as a whole.
fn or_line(field: &str) -> &str {
    if field.is_empty() {
        "(the line)"
    } else {
        field
    }
}

fn pair(number: usize, p: &Pair, hitm: u64) -> String {
    format!(
        "  {number}: {:>5}  {} wrote {}, {} wanted {}\n",
        text::percent(p.hitm, hitm),
        p.wrote_in,
        or_line(&p.wrote),
        p.wanted_in,
        or_line(&p.wanted)
    )
}

/// `0-3,8`, as the kernel writes CPU lists.
pub fn cpus(cpus: &[u16]) -> String {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let text = |(a, b): (u16, u16)| {
        if a == b {
            a.to_string()
        } else {
            format!("{a}-{b}")
        }
    };
    ranges.into_iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_line_with_a_writer_and_readers() {
        let mut metrics = testing::outcome(8).metrics;
        let access = |field: &str, offset, function: &str, cpus: &[u16]| Access {
            field: format!("net_device d0 {field}"),
            offset: Some(offset),
            function: function.into(),
            cpus: cpus.into(),
            ..Access::default()
        };
        metrics.lines.push(Line {
            name: "net_device d0 line 16".into(),
            transfers: 3_000,
            hitm: 2_000,
            accesses: vec![
                Access {
                    loads: 1_000,
                    stores: 1_000,
                    store_misses: 900,
                    ..access("rx_packets", 36, "nic_poll", &[0])
                },
                Access {
                    loads: 2_500,
                    hitm_local: 1_500,
                    hitm_remote: 500,
                    ..access("miniq_egress", 56, "__dev_queue_xmit", &[1, 2, 3, 8])
                },
            ],
            pairs: vec![Pair {
                wrote: "net_device d0 rx_packets".into(),
                wrote_in: "nic_poll".into(),
                wanted: "net_device d0 miniq_egress".into(),
                wanted_in: "__dev_queue_xmit".into(),
                hitm: 2_000,
            }],
            ..Line::default()
        });
        insta::assert_snapshot!(report(&metrics, false));
    }

    #[test]
    fn cpu_lists() {
        assert_eq!(cpus(&[]), "");
        assert_eq!(cpus(&[0, 1, 2, 8, 10, 11]), "0-2,8,10-11");
    }
}
