//! What a recording must fulfil before anybody indexes names with its numbers.

use sim_core::trace::{DqlField, Kind, Level, NO_CPU, Record, Recording};

/// Checks names against each other, and every record against the names and its predecessor.
pub fn check(recording: &Recording) -> Result<(), String> {
    let names = &recording.names;
    if names.cores.len() != names.cpus.len() {
        return Err("the header is damaged: not one core a CPU".to_owned());
    }
    if let Some(word) = names
        .words
        .iter()
        .find(|w| w.line as usize >= names.lines.len())
    {
        return Err(format!(
            "the header is damaged: word `{}` is on a line that has no name",
            word.name
        ));
    }
    let mut before = 0;
    for (i, record) in recording.records.iter().enumerate() {
        one(recording, i, record).map_err(|what| format!("record {i} is damaged: {what}"))?;
        if record.time < before {
            return Err(format!("record {i} is damaged: time runs backwards"));
        }
        before = record.time;
    }
    Ok(())
}

fn one(recording: &Recording, i: usize, r: &Record) -> Result<(), String> {
    let kind = *Kind::ALL
        .get(usize::from(r.kind))
        .ok_or_else(|| format!("there is no kind {}", r.kind))?;
    let names = &recording.names;
    if r.cpu != NO_CPU && usize::from(r.cpu) >= names.cpus.len() {
        return Err(format!("there is no CPU {}", r.cpu));
    }
    if u64::from(r.cause) > i as u64 + recording.dropped {
        return Err("its cause lies before the first record".to_owned());
    }
    let in_a = |what: &str, n: usize| within(what, r.a, n);
    let in_b = |what: &str, n: usize| within(what, r.b, n);
    match kind {
        Kind::CtxEnter | Kind::CtxLeave => {
            in_a("level", Level::Hardirq as usize + 1)?;
            if kind == Kind::CtxEnter && r.a == Level::Task as u32 {
                in_b("task", names.tasks.len())
            } else {
                Ok(())
            }
        }
        Kind::FnEnter | Kind::FnLeave => in_a("function", names.functions.len()),
        Kind::Load
        | Kind::Store
        | Kind::StoreRelease
        | Kind::Rmw
        | Kind::Drain
        | Kind::SpinBegin
        | Kind::SpinEnd => in_a("word", names.words.len()),
        Kind::LineMiss | Kind::LineFrom => in_a("line", names.lines.len()),
        Kind::LockAcquire | Kind::LockRelease | Kind::TrylockFail => {
            in_a("lock", names.locks.len())
        }
        Kind::QdiscEnqueue | Kind::QdiscDequeue | Kind::QdiscRequeue => {
            in_b("qdisc", names.qdiscs.len())
        }
        Kind::QdiscLen | Kind::QdiscBulk | Kind::NetifSchedule => in_a("qdisc", names.qdiscs.len()),
        Kind::SkbDrop => in_b("reason", names.reasons.len()),
        Kind::DevXmit => in_b("txq", names.txqs.len()),
        Kind::TxqState | Kind::Doorbell | Kind::WireDone => in_a("txq", names.txqs.len()),
        Kind::Dql => {
            within("txq", r.a >> 8, names.txqs.len())?;
            within("field of dql", r.a & 0xff, DqlField::ALL.len())
        }
        Kind::Mark => in_a("mark", names.marks.len()),
        Kind::Violation => in_a("violation", recording.violations.len()),
        Kind::Barrier
        | Kind::SkbAlloc
        | Kind::SkbFree
        | Kind::NetRx
        | Kind::SoftirqRaise
        | Kind::NicIrq
        | Kind::XdpXmit
        | Kind::XdpRedirectErr
        | Kind::NapiPoll => Ok(()),
    }
}

fn within(what: &str, number: u32, n: usize) -> Result<(), String> {
    if (number as usize) < n {
        Ok(())
    } else {
        Err(format!("there is no {what} {number}"))
    }
}
