//! Counters of one run in the layouts of `perf lock`, `perf c2c` and softnet_stat.

use crate::text::{self, Align, Table};
use sim_core::metrics::{Cpu, Metrics};

/// Rows shown of a long table, unless all are asked for.
const TOP: usize = 8;

/// Where the CPUs' time went, and their softirqs.
pub fn cpus(metrics: &Metrics) -> String {
    let heads = [
        "task", "softirq", "hardirq", "idle", "spin", "stall", "NET_TX", "NET_RX", "squeezed",
    ];
    let mut columns = vec![("cpu", Align::Left)];
    columns.extend(heads.map(|head| (head, Align::Right)));
    let mut table = Table::new(&columns);
    for cpu in metrics.cpus.iter().filter(|c| !is_idle(c)) {
        let share =
            |part: u64| text::percent(part, cpu.task + cpu.softirq + cpu.hardirq + cpu.idle);
        let mut cells = vec![cpu.name.clone()];
        cells.extend(
            [
                cpu.task,
                cpu.softirq,
                cpu.hardirq,
                cpu.idle,
                cpu.spin,
                cpu.stall,
            ]
            .map(share),
        );
        cells.extend([cpu.net_tx, cpu.net_rx, cpu.squeezed].map(text::group));
        table.row(cells);
    }
    if metrics.cpus.is_empty() {
        return String::new();
    }
    let idle = metrics.cpus.iter().filter(|c| is_idle(c)).count();
    let rest = if idle > 0 {
        format!("({} idle all the time)\n", text::count(idle, "CPU"))
    } else {
        String::new()
    };
    if table.is_empty() {
        rest
    } else {
        table.render("") + &rest
    }
}

fn is_idle(cpu: &Cpu) -> bool {
    cpu.task + cpu.softirq + cpu.hardirq == 0
}

/// As `perf lock report`: the most waited for first.
pub fn locks(metrics: &Metrics, all: bool) -> String {
    let mut used: Vec<_> = metrics
        .locks
        .iter()
        .filter(|l| l.acquired + l.failed > 0)
        .collect();
    // A stable sort: equal waits stay in order of creation.
    used.sort_by_key(|l| std::cmp::Reverse(l.wait));
    let shown = if all { used.len() } else { TOP.min(used.len()) };
    let heads = [
        "acquired",
        "contended",
        "",
        "trylock failed",
        "avg wait (ns)",
        "max wait (ns)",
        "total wait (us)",
    ];
    let mut columns = vec![("lock", Align::Left)];
    columns.extend(heads.map(|head| (head, Align::Right)));
    let mut table = Table::new(&columns);
    for l in &used[..shown] {
        table.row(vec![
            l.name.clone(),
            text::group(l.acquired),
            text::group(l.contended),
            text::percent(l.contended, l.acquired),
            text::group(l.failed),
            (l.wait / 1000)
                .checked_div(l.contended)
                .map_or("-".to_owned(), text::group),
            text::group(l.wait_max / 1000),
            text::group(l.wait / 1_000_000),
        ]);
    }
    if table.is_empty() {
        String::new()
    } else {
        table.render("") + &more(used.len() - shown, "lock")
    }
}

fn more(n: usize, thing: &str) -> String {
    if n == 0 {
        String::new()
    } else {
        format!("(and {}; -v shows all)\n", text::count(n, thing))
    }
}

/// As `perf c2c`: the lines that moved dirty most often, and the fields accessed then.
pub fn lines(metrics: &Metrics, all: bool) -> String {
    let mut moved: Vec<_> = metrics.lines.iter().filter(|l| l.transfers > 0).collect();
    moved.sort_by_key(|l| std::cmp::Reverse((l.hitm, l.transfers)));
    let shown = if all {
        moved.len()
    } else {
        TOP.min(moved.len())
    };
    let columns = [
        ("line", Align::Left),
        ("transfers", Align::Right),
        ("hitm", Align::Right),
        ("fields", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for l in &moved[..shown] {
        let mut fields: Vec<_> = l.hitm_by_field.iter().collect();
        fields.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let most = if all { fields.len() } else { 3 };
        let fields: Vec<String> = fields
            .into_iter()
            .take(most)
            .map(|(name, n)| format!("{name} {}", text::percent(*n, l.hitm)))
            .collect();
        table.row(vec![
            l.name.clone(),
            text::group(l.transfers),
            text::group(l.hitm),
            fields.join(", "),
        ]);
    }
    if table.is_empty() {
        String::new()
    } else {
        table.render("") + &more(moved.len() - shown, "line")
    }
}
