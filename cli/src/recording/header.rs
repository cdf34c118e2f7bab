//! The header of a recording: everything but the records, as JSON, so that other programs can read it.

use serde::{Deserialize, Serialize};
use sim_core::trace::{LineName, Names, Record, Recording, WordName};
use sim_core::violation::{Law, Violation};

/// A [`Recording`] without its records.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    command: String,
    digest: String,
    end_ps: u64,
    dropped: u64,
    violations: Vec<Broken>,
    names: Words,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Broken {
    law: String,
    time_ps: u64,
    cpu: Option<u16>,
    function: String,
    what: String,
    skb: Option<u32>,
    freed_by_next: Option<bool>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    scenario: String,
    cpus: Vec<String>,
    cores: Vec<u16>,
    tasks: Vec<String>,
    functions: Vec<String>,
    /// Name, line, offset.
    words: Vec<(String, u32, u16)>,
    lines: Vec<String>,
    locks: Vec<String>,
    qdiscs: Vec<String>,
    txqs: Vec<String>,
    reasons: Vec<String>,
    marks: Vec<String>,
}

impl Header {
    /// The header that `recording` is written with.
    pub fn of(recording: &Recording) -> Header {
        let n = recording.names.clone();
        Header {
            command: recording.command.clone(),
            digest: recording.digest.clone(),
            end_ps: recording.end,
            dropped: recording.dropped,
            violations: recording.violations.iter().map(Broken::of).collect(),
            names: Words {
                scenario: n.scenario,
                cpus: n.cpus,
                cores: n.cores,
                tasks: n.tasks,
                functions: n.functions,
                words: n
                    .words
                    .into_iter()
                    .map(|w| (w.name, w.line, w.offset))
                    .collect(),
                lines: n.lines.into_iter().map(|l| l.name).collect(),
                locks: n.locks,
                qdiscs: n.qdiscs,
                txqs: n.txqs,
                reasons: n.reasons,
                marks: n.marks,
            },
        }
    }

    /// The recording of this header and these records.
    pub fn recording(self, records: Vec<Record>) -> Recording {
        let n = self.names;
        Recording {
            names: Names {
                scenario: n.scenario,
                cpus: n.cpus,
                cores: n.cores,
                tasks: n.tasks,
                functions: n.functions,
                words: n
                    .words
                    .into_iter()
                    .map(|(name, line, offset)| WordName { name, line, offset })
                    .collect(),
                lines: n.lines.into_iter().map(|name| LineName { name }).collect(),
                locks: n.locks,
                qdiscs: n.qdiscs,
                txqs: n.txqs,
                reasons: n.reasons,
                marks: n.marks,
            },
            records,
            dropped: self.dropped,
            // A law that this version does not know cannot be shown as one; the format version
            // changes with the set of laws, so this drops nothing from files of this version.
            violations: self
                .violations
                .into_iter()
                .filter_map(Broken::violation)
                .collect(),
            digest: self.digest,
            end: self.end_ps,
            command: self.command,
        }
    }
}

impl Broken {
    fn of(v: &Violation) -> Broken {
        Broken {
            law: v.law.name().to_owned(),
            time_ps: v.time,
            cpu: v.cpu,
            function: v.function.to_owned(),
            what: v.what.clone(),
            skb: v.skb,
            freed_by_next: v.freed_by_next,
        }
    }

    fn violation(self) -> Option<Violation> {
        Some(Violation {
            law: Law::ALL.into_iter().find(|law| law.name() == self.law)?,
            time: self.time_ps,
            cpu: self.cpu,
            // Violations name functions by static text. A process reads one recording, so what is
            // leaked here is bounded by the file's size.
            function: Box::leak(self.function.into_boxed_str()),
            what: self.what,
            skb: self.skb,
            freed_by_next: self.freed_by_next,
        })
    }
}
