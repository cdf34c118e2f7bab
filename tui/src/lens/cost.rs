//! What a function call cost, split by cause.

use super::{Span, Trace};
use sim_core::trace::Kind;

/// Records looked at for one call at most; a call around the whole run would otherwise cost a pass a key press.
const RECORDS_MAX: usize = 1 << 20;

/// The time of one call, in picoseconds.
///
/// `total = instructions + transfer + wait + interrupted`: each part is taken from the records, and the
/// instructions are the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// From entry to return.
    pub total: u64,
    /// Stalls for cache lines, outside of spinning.
    pub transfer: u64,
    /// Spinning.
    pub wait: u64,
    /// Another context ran on the CPU, or none.
    pub interrupted: u64,
    /// Whether the call was too long to be read in full.
    pub partial: bool,
}

impl Cost {
    /// Everything that has no other name.
    pub fn instructions(&self) -> u64 {
        self.total
            .saturating_sub(self.transfer + self.wait + self.interrupted)
    }

    /// Adds up a call.
    pub fn of(trace: &Trace, span: &Span) -> Cost {
        let (enter, leave) = (span.enter as usize, (span.leave as usize).min(trace.len()));
        let upto = leave.min(enter + RECORDS_MAX);
        let mut cost = Cost {
            total: trace.time(leave) - trace.time(enter),
            partial: upto < leave,
            ..Cost::default()
        };
        let mut left_at = None;
        let mut spinning = false;
        for i in enter..upto {
            let record = trace.record(i);
            if record.cpu != span.cpu {
                continue;
            }
            match record.kind() {
                // A context that is put on top ends with the same context entered again below it.
                Kind::CtxLeave if left_at.is_none() => left_at = Some((record.time, record.a)),
                Kind::CtxEnter => {
                    if let Some((since, _)) = left_at.take_if(|&mut (_, level)| level == record.a) {
                        cost.interrupted += record.time - since;
                    }
                }
                _ if left_at.is_some() => {}
                Kind::SpinBegin => spinning = true,
                Kind::SpinEnd => {
                    spinning = false;
                    cost.wait += u64::from(record.b) * 1_000;
                }
                Kind::LineMiss if !spinning => cost.transfer += u64::from(record.b),
                _ => {}
            }
        }
        if let Some((since, _)) = left_at {
            cost.interrupted += trace.time(leave).saturating_sub(since);
        }
        cost
    }
}
