//! The way of one packet.

use super::{Trace, words};
use sim_core::trace::Kind;

/// One stage of a packet's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The record.
    pub record: usize,
    /// Picoseconds since the stage before; 0 for the first.
    pub delta: u64,
    /// The kernel function around it; empty where none was recorded.
    pub place: String,
    /// What part of the way ends here.
    pub part: Part,
}

/// What a packet does between two stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Somebody works on it.
    Served,
    /// It waits in a qdisc.
    Queued,
    /// The device has it.
    Device,
}

/// A packet's way through the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journey {
    /// The packet.
    pub skb: u32,
    /// Its stages in order of time.
    pub stages: Vec<Stage>,
    /// Whether it still sat in a qdisc when the run ended.
    pub left_queued: bool,
    /// Whether it was dropped.
    pub dropped: bool,
}

impl Journey {
    /// Collects the records of packet `skb`: one pass over the run.
    pub fn new(trace: &Trace, skb: u32) -> Journey {
        let mut journey = Journey {
            skb,
            stages: Vec::new(),
            left_queued: false,
            dropped: false,
        };
        let mut doing = Part::Served;
        let blamed = blamed(trace, skb);
        for i in 0..trace.len() {
            let record = trace.record(i);
            if words::skb(trace, &record) != Some(skb) && blamed.binary_search(&(i as u32)).is_err()
            {
                continue;
            }
            let before = journey
                .stages
                .last()
                .map_or(record.time, |stage| trace.time(stage.record));
            let function = trace
                .span_of(i)
                .map(|span| trace.spans[span as usize].function);
            let place =
                function.map_or_else(String::new, |f| words::name(&trace.names.functions, f));
            journey.stages.push(Stage {
                record: i,
                delta: record.time - before,
                place,
                part: doing,
            });
            doing = match record.kind() {
                Kind::QdiscEnqueue | Kind::QdiscRequeue => Part::Queued,
                Kind::DevXmit => Part::Device,
                kind if words::skb(trace, &record).is_none() || kind == Kind::Violation => doing,
                _ => Part::Served,
            };
            journey.dropped |= record.kind() == Kind::SkbDrop;
        }
        journey.left_queued = doing == Part::Queued;
        journey
    }

    /// From the first stage to the last one, or to the end of the run if the packet never got out.
    pub fn total(&self, trace: &Trace) -> u64 {
        let (Some(first), Some(last)) = (self.stages.first(), self.stages.last()) else {
            return 0;
        };
        let end = if self.left_queued {
            trace.end
        } else {
            trace.time(last.record)
        };
        end - trace.time(first.record)
    }

    /// Time spent in each part.
    pub fn parts(&self, trace: &Trace) -> [(Part, u64); 3] {
        let sum = |part: Part| {
            self.stages
                .iter()
                .filter(|stage| stage.part == part)
                .map(|stage| stage.delta)
                .sum()
        };
        let since_last = self
            .stages
            .last()
            .map_or(0, |stage| trace.end - trace.time(stage.record));
        let stuck: u64 = if self.left_queued { since_last } else { 0 };
        [
            (Part::Served, sum(Part::Served)),
            (Part::Queued, sum(Part::Queued) + stuck),
            (Part::Device, sum(Part::Device)),
        ]
    }
}

/// The decisive records of the laws that were broken with this packet, in order: they belong to its way,
/// though they may be about a lock.
fn blamed(trace: &Trace, skb: u32) -> Vec<u32> {
    let violations = trace.source().violations();
    let concerns = |number: u32| {
        violations
            .get(number as usize)
            .is_some_and(|v| v.skb == Some(skb))
    };
    let findings = trace
        .findings
        .iter()
        .filter(|finding| finding.violation.is_some_and(concerns));
    findings.map(|finding| finding.record).collect()
}

impl Part {
    /// The part in a word.
    pub fn text(self) -> &'static str {
        match self {
            Part::Served => "served",
            Part::Queued => "queued",
            Part::Device => "device",
        }
    }
}
