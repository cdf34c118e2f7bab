//! Records in words.

use super::Trace;
use super::time;
use sim_core::trace::{DqlField, Kind, Level, LineName, NO_CPU, Names, Record, WordName};

/// The softirq vectors, in the order of their numbers.
const VECTORS: [&str; 10] = [
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
];

/// Names with everything replaced that a terminal might obey or that is not one cell wide: names can come
/// from a scenario file, and so could escape sequences.
pub fn safe_names(names: &Names) -> Names {
    let all = |texts: &[String]| texts.iter().map(|text| safe(text)).collect();
    let word = |word: &WordName| WordName {
        name: safe(&word.name),
        ..word.clone()
    };
    Names {
        scenario: safe(&names.scenario),
        cpus: all(&names.cpus),
        cores: names.cores.clone(),
        tasks: all(&names.tasks),
        functions: all(&names.functions),
        words: names.words.iter().map(word).collect(),
        lines: names
            .lines
            .iter()
            .map(|line| LineName {
                name: safe(&line.name),
            })
            .collect(),
        locks: all(&names.locks),
        qdiscs: all(&names.qdiscs),
        txqs: all(&names.txqs),
        reasons: all(&names.reasons),
        marks: all(&names.marks),
    }
}

/// `text` with every character that is not printable ASCII replaced.
pub fn safe(text: &str) -> String {
    text.chars()
        .map(|c| if (' '..='~').contains(&c) { c } else { '?' })
        .collect()
}

/// The name with this number, or the number where the run has no name for it.
pub fn name(names: &[String], number: u32) -> String {
    names
        .get(number as usize)
        .cloned()
        .unwrap_or_else(|| format!("#{number}"))
}

/// The name of a shared word.
pub fn word(names: &Names, number: u32) -> String {
    names
        .words
        .get(number as usize)
        .map_or_else(|| format!("word #{number}"), |word| word.name.clone())
}

/// The name of a cache line.
pub fn line(names: &Names, number: u32) -> String {
    names
        .lines
        .get(number as usize)
        .map_or_else(|| format!("line #{number}"), |line| line.name.clone())
}

/// The name of a CPU; `-` for what no CPU caused.
pub fn cpu(names: &Names, number: u16) -> String {
    match number {
        NO_CPU => "-".to_owned(),
        _ => names
            .cpus
            .get(usize::from(number))
            .cloned()
            .unwrap_or_else(|| format!("CPU{number}")),
    }
}

/// The packet a record is about.
pub fn skb(trace: &Trace, record: &Record) -> Option<u32> {
    match record.kind() {
        Kind::SkbAlloc
        | Kind::QdiscEnqueue
        | Kind::QdiscDequeue
        | Kind::QdiscRequeue
        | Kind::SkbDrop
        | Kind::DevXmit
        | Kind::SkbFree
        | Kind::NetRx => Some(record.a),
        Kind::Violation => trace.source().violations().get(record.a as usize)?.skb,
        _ => None,
    }
}

/// The word of a record's kind, with trailing parts that matter less cut off by the caller.
pub fn kind(record: &Record) -> &'static str {
    record.kind().text()
}

/// A record's arguments in words.
pub fn arguments(trace: &Trace, record: &Record) -> String {
    let (names, a, b) = (&trace.names, record.a, record.b);
    let lock = || name(&names.locks, a);
    let qdisc = |number| name(&names.qdiscs, number);
    let txq = |number| name(&names.txqs, number);
    match record.kind() {
        Kind::CtxEnter | Kind::CtxLeave => context(names, record),
        Kind::FnEnter => format!("{}()", name(&names.functions, a)),
        Kind::FnLeave if b == 0 => name(&names.functions, a),
        Kind::FnLeave => format!("{} = {b}", name(&names.functions, a)),
        Kind::Load | Kind::Store | Kind::StoreRelease | Kind::Rmw | Kind::Drain => {
            format!("{} = {}", word(names, a), value(b))
        }
        Kind::Barrier => format!(
            "{} waited {} ns",
            if a == 0 { "smp_wmb" } else { "smp_mb" },
            time::ns(b.into())
        ),
        Kind::LineMiss => format!("{} stalled {} ns", line(names, a), time::ns(b.into())),
        Kind::LineFrom => format!("{} dirty in core {b}", line(names, a)),
        Kind::SpinBegin => format!("on {}", word(names, a)),
        Kind::SpinEnd => format!("on {} after {b} ns", word(names, a)),
        Kind::LockAcquire if b == 0 => format!("{} uncontended", lock()),
        Kind::LockAcquire => format!("{} after {b} ns", lock()),
        Kind::LockRelease => format!("{} held {b} ns", lock()),
        Kind::TrylockFail if b == u32::from(NO_CPU) => lock(),
        Kind::TrylockFail => format!("{} owner {}", lock(), cpu(names, b as u16)),
        Kind::SkbAlloc => format!("skb:{a} len {b}"),
        Kind::QdiscEnqueue => format!("skb:{a} into {}", qdisc(b)),
        Kind::QdiscDequeue => format!("skb:{a} from {}", qdisc(b)),
        Kind::QdiscRequeue => format!("skb:{a} back to {}", qdisc(b)),
        Kind::QdiscLen => format!("{} holds {b}", qdisc(a)),
        Kind::SkbDrop => format!("skb:{a} {}", name(&names.reasons, b)),
        Kind::DevXmit => format!("skb:{a} txq {}", txq(b)),
        Kind::NetRx => format!("skb:{a} device {b}"),
        Kind::SkbFree => format!("skb:{a}"),
        Kind::NetifSchedule if b == 0 => qdisc(a),
        Kind::NetifSchedule => format!("{}, SCHED already set", qdisc(a)),
        Kind::SoftirqRaise => VECTORS
            .get(a as usize)
            .map_or_else(|| format!("vec {a}"), |v| (*v).to_owned()),
        Kind::TxqState => format!("{} {}", txq(a), txq_state(b)),
        Kind::Doorbell => format!("{} tail {b}", txq(a)),
        Kind::QdiscBulk => format!("{b} at once from {}", qdisc(a)),
        Kind::WireDone => format!("{} {b} bytes left", txq(a)),
        Kind::NicIrq => format!("napi {a}, {b} descriptors completed"),
        Kind::XdpXmit => format!("{a} frames{}", if b == 1 { ", doorbell" } else { "" }),
        Kind::XdpRedirectErr => format!("page {a} errno {b}"),
        Kind::NapiPoll => format!("{a} of {b} packets"),
        Kind::Dql => {
            let field = DqlField::ALL.get((a & 0xff) as usize);
            let field = field.map_or("?", |f| f.name());
            format!("{} {field} = {b}", txq(a >> 8))
        }
        Kind::Mark => names.marks.get(a as usize).cloned().unwrap_or_default(),
        Kind::Violation => violation(trace, a),
        #[allow(
            unreachable_patterns,
            reason = "kinds are appended to the trace without asking the viewer"
        )]
        _ => format!("a={a} b={b}"),
    }
}

/// A broken law in words.
pub fn violation(trace: &Trace, number: u32) -> String {
    let violation = trace.source().violations().get(number as usize);
    violation.map_or_else(
        || format!("violation #{number}"),
        |v| safe(&format!("{}: {}", v.law, v.what)),
    )
}

/// The state bits of a transmit queue.
pub fn txq_state(bits: u32) -> String {
    let set = ["DRV_XOFF", "STACK_XOFF", "FROZEN"]
        .iter()
        .enumerate()
        .filter(|&(bit, _)| bits >> bit & 1 == 1);
    let texts: Vec<&str> = set.map(|(_, &text)| text).collect();
    if texts.is_empty() {
        "on".to_owned()
    } else {
        texts.join("|")
    }
}

fn context(names: &Names, record: &Record) -> String {
    match Level::from_number(record.a.min(2)) {
        Level::Task if record.kind() == Kind::CtxEnter => {
            format!("task {}", name(&names.tasks, record.b))
        }
        level => level.text().to_owned(),
    }
}

/// Small numbers as they are; the rest in hex, where bits can be seen.
fn value(v: u32) -> String {
    if v < 10_000 {
        v.to_string()
    } else {
        format!("{v:#x}")
    }
}
