//! Finding records: `text`, or `field:value`, several of them meaning "and".

use super::{Trace, words};
use sim_core::trace::{Kind, Record};

/// A search, prepared so that no record has to be put into words.
///
/// Fields: `skb`, `cpu` (numbers or names), `kind`, `fn`, `word`, `line`, `lock`, `qdisc`, `txq`. Plain text is
/// looked for in all names and kinds. Case does not matter.
#[derive(Clone, Debug)]
pub struct Query {
    terms: Vec<Term>,
}

#[derive(Clone, Debug)]
enum Term {
    Skb(u32),
    Cpu(Vec<bool>),
    Names(Box<NameMatch>),
}

#[derive(Clone, Debug, Default)]
struct NameMatch {
    kinds: Vec<bool>,
    functions: Vec<bool>,
    tasks: Vec<bool>,
    words: Vec<bool>,
    lines: Vec<bool>,
    locks: Vec<bool>,
    qdiscs: Vec<bool>,
    txqs: Vec<bool>,
    reasons: Vec<bool>,
    marks: Vec<bool>,
}

impl Query {
    /// Reads a search as it was typed.
    ///
    /// # Errors
    /// A sentence for the user if a field is not known or its value makes no sense.
    pub fn parse(trace: &Trace, text: &str) -> Result<Query, String> {
        let terms = text
            .split_whitespace()
            .map(|term| parse_term(trace, term))
            .collect::<Result<Vec<_>, _>>()?;
        if terms.is_empty() {
            Err("nothing to look for".to_owned())
        } else {
            Ok(Query { terms })
        }
    }

    /// The records that match, in order.
    pub fn hits(&self, trace: &Trace) -> Vec<u32> {
        let matches = |&i: &u32| self.matches(trace, &trace.record(i as usize));
        (0..trace.len() as u32).filter(matches).collect()
    }

    /// Whether a record matches.
    pub fn matches(&self, trace: &Trace, record: &Record) -> bool {
        self.terms.iter().all(|term| match term {
            Term::Skb(skb) => words::skb(trace, record) == Some(*skb),
            Term::Cpu(cpus) => is(cpus, u32::from(record.cpu)),
            Term::Names(names) => names.matches(trace, record),
        })
    }
}

fn parse_term(trace: &Trace, term: &str) -> Result<Term, String> {
    let names = &trace.names;
    let Some((field, value)) = term.split_once(':') else {
        return Ok(Term::Names(Box::new(anywhere(trace, term))));
    };
    let mut by_name = NameMatch::default();
    match field {
        "skb" => {
            return value
                .parse()
                .map(Term::Skb)
                .map_err(|_| format!("skb:{value} is not a number"));
        }
        "cpu" => return Ok(Term::Cpu(cpus(trace, value))),
        "kind" => by_name.kinds = kinds(value),
        "fn" | "function" => by_name.functions = find(&names.functions, value),
        "word" => by_name.words = words_named(trace, value),
        "line" => by_name.lines = lines_named(trace, value),
        "lock" => by_name.locks = find(&names.locks, value),
        "qdisc" => by_name.qdiscs = find(&names.qdiscs, value),
        "txq" => by_name.txqs = find(&names.txqs, value),
        // `d0:0` is a name, not a field.
        _ if field.len() < 3 || field.chars().any(|c| c.is_ascii_digit()) => {
            return Ok(Term::Names(Box::new(anywhere(trace, term))));
        }
        _ => {
            return Err(format!(
                "no field {field}; there are skb cpu kind fn word line lock qdisc txq"
            ));
        }
    }
    Ok(Term::Names(Box::new(by_name)))
}

fn anywhere(trace: &Trace, text: &str) -> NameMatch {
    let names = &trace.names;
    NameMatch {
        kinds: kinds(text),
        functions: find(&names.functions, text),
        tasks: find(&names.tasks, text),
        words: words_named(trace, text),
        lines: lines_named(trace, text),
        locks: find(&names.locks, text),
        qdiscs: find(&names.qdiscs, text),
        txqs: find(&names.txqs, text),
        reasons: find(&names.reasons, text),
        marks: find(&names.marks, text),
    }
}

fn contains(name: &str, text: &str) -> bool {
    name.to_lowercase().contains(&text.to_lowercase())
}

fn find(names: &[String], text: &str) -> Vec<bool> {
    names.iter().map(|name| contains(name, text)).collect()
}

fn kinds(text: &str) -> Vec<bool> {
    Kind::ALL
        .iter()
        .map(|kind| contains(kind.text(), text))
        .collect()
}

fn words_named(trace: &Trace, text: &str) -> Vec<bool> {
    trace
        .names
        .words
        .iter()
        .map(|word| contains(&word.name, text))
        .collect()
}

fn lines_named(trace: &Trace, text: &str) -> Vec<bool> {
    trace
        .names
        .lines
        .iter()
        .map(|line| contains(&line.name, text))
        .collect()
}

fn cpus(trace: &Trace, value: &str) -> Vec<bool> {
    let number = value.parse::<usize>().ok();
    trace
        .names
        .cpus
        .iter()
        .enumerate()
        .map(|(i, name)| number.map_or_else(|| name == value, |n| n == i))
        .collect()
}

fn is(set: &[bool], number: u32) -> bool {
    set.get(number as usize).copied().unwrap_or(false)
}

impl NameMatch {
    fn matches(&self, trace: &Trace, record: &Record) -> bool {
        let (a, b) = (record.a, record.b);
        let kind = record.kind();
        is(&self.kinds, kind as u32)
            || match kind {
                Kind::CtxEnter => a == 0 && is(&self.tasks, b),
                Kind::FnEnter | Kind::FnLeave => is(&self.functions, a),
                Kind::Load | Kind::Store | Kind::StoreRelease | Kind::Rmw | Kind::Drain => {
                    self.word(trace, a)
                }
                Kind::SpinBegin | Kind::SpinEnd => self.word(trace, a),
                Kind::LineMiss | Kind::LineFrom => is(&self.lines, a),
                Kind::LockAcquire | Kind::LockRelease | Kind::TrylockFail => is(&self.locks, a),
                Kind::QdiscEnqueue | Kind::QdiscDequeue | Kind::QdiscRequeue => is(&self.qdiscs, b),
                Kind::QdiscLen | Kind::QdiscBulk | Kind::NetifSchedule => is(&self.qdiscs, a),
                Kind::SkbDrop => is(&self.reasons, b),
                Kind::DevXmit => is(&self.txqs, b),
                Kind::TxqState | Kind::Doorbell | Kind::WireDone => is(&self.txqs, a),
                Kind::Dql => is(&self.txqs, a >> 8),
                Kind::Mark => is(&self.marks, a),
                _ => false,
            }
    }

    fn word(&self, trace: &Trace, word: u32) -> bool {
        is(&self.words, word)
            || trace
                .names
                .words
                .get(word as usize)
                .is_some_and(|word| is(&self.lines, word.line))
    }
}
