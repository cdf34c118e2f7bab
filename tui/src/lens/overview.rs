//! How busy the machine was over the whole run, for the overview row.

use super::Trace;
use super::track::Class;

const BUCKETS: usize = 1 << 12;

/// Busy time of all CPUs, in equal parts of the run.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// Busy picoseconds before each bucket.
    before: Vec<u64>,
    width: u64,
    cpus: u64,
}

impl Load {
    /// Adds up the context lanes.
    pub(super) fn new(trace: &Trace) -> Load {
        let width = trace.end.div_ceil(BUCKETS as u64).max(1);
        let mut busy = vec![0; BUCKETS];
        let mut cpus = 0;
        for cpu in &trace.cpus {
            let items = cpu.contexts.items();
            cpus += u64::from(items.iter().any(|item| item.class != Class::IDLE));
            for item in items
                .iter()
                .filter(|item| item.class > Class::IDLE && item.last > item.first)
            {
                add(
                    &mut busy,
                    width,
                    trace.time(item.first as usize),
                    trace.time(item.last as usize),
                );
            }
        }
        let mut sum = 0;
        let mut before = vec![0];
        before.extend(busy.iter().map(|part| {
            sum += part;
            sum
        }));
        Load {
            before,
            width,
            cpus,
        }
    }

    /// Busy share of the machine between two times, in percent. Rounded outwards to whole buckets.
    pub fn percent(&self, from: u64, to: u64) -> u64 {
        if self.cpus == 0 {
            return 0;
        }
        let low = (from / self.width).min(BUCKETS as u64 - 1);
        let high = to.div_ceil(self.width).clamp(low + 1, BUCKETS as u64);
        let busy = self.before[high as usize] - self.before[low as usize];
        (100 * u128::from(busy)
            / (u128::from(high - low) * u128::from(self.width) * u128::from(self.cpus)))
            as u64
    }
}

fn add(busy: &mut [u64], width: u64, from: u64, to: u64) {
    let mut at = from;
    while at < to {
        let bucket = at / width;
        let until = to.min((bucket + 1) * width);
        busy[(bucket as usize).min(BUCKETS - 1)] += until - at;
        at = until;
    }
}
