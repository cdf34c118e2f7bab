//! What is read from a finished run, by name.

use crate::report::perf::Events;
use sim_core::metrics::{Busy, Metrics, Stream};

macro_rules! metrics {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// A number of a run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Metric { $($(#[$doc])* $name),* }

        impl Metric {
            /// All of them, in order.
            pub const ALL: &'static [Metric] = &[$(Metric::$name),*];
        }
    };
}

metrics! {
    /// Packets in the measured window.
    Packets,
    /// Length of the measured window in seconds.
    Window,
    /// Packets a second: of the sending threads if there are any, else of the devices.
    Rate,
    /// Packets a second that the drivers sent.
    TxRate,
    /// Nanoseconds a packet, all CPUs together.
    NsPerPacket,
    /// Busy CPU nanoseconds a packet.
    BusyNsPerPacket,
    /// Kernel instructions a packet.
    Instructions,
    /// Kernel cycles a packet.
    Cycles,
    /// Last-level cache references a packet.
    CacheReferences,
    /// Mispredicted branches a packet.
    BranchMisses,
    /// Payload of the TCP stream in 10^6 bit/s.
    Throughput,
    /// Busy share of the sender's CPUs in percent.
    UtilSend,
    /// Busy share of the receiver's CPUs in percent.
    UtilRecv,
    /// CPU microseconds a KB on the sender.
    DemandSend,
    /// CPU microseconds a KB on the receiver.
    DemandRecv,
}

/// Every [`Metric`] of one run; `None` where the run has no such thing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading([Option<f64>; Metric::ALL.len()]);

impl Reading {
    /// Of these counters.
    pub fn of(metrics: &Metrics) -> Reading {
        let events = Events::of(metrics);
        let each = |count: u64| (events.packets > 0).then(|| count as f64 / events.packets as f64);
        let rate = if metrics.flows.is_empty() {
            metrics.tx_pps()
        } else {
            metrics.pps()
        };
        let stream = metrics.streams.first();
        let netperf = |of: fn(&Stream, u64) -> f64| stream.map(|s| of(s, metrics.window));
        let demand = |side: fn(&Stream) -> &Busy| {
            let stream = stream.filter(|s| s.bytes > 0);
            stream.map(|s| side(s).service_demand(s.bytes))
        };
        let mut reading = Reading::default();
        for &metric in Metric::ALL {
            let value = match metric {
                Metric::Packets => Some(events.packets as f64),
                Metric::Window => Some(metrics.window as f64 / 1e12),
                Metric::Rate => Some(rate),
                Metric::TxRate => Some(metrics.tx_pps()),
                Metric::NsPerPacket => each(metrics.window).map(|ps| ps / 1e3),
                Metric::BusyNsPerPacket => each(events.busy).map(|ps| ps / 1e3),
                Metric::Instructions => each(events.instructions),
                Metric::Cycles => events.cycles.and_then(each),
                Metric::CacheReferences => each(events.cache_references),
                Metric::BranchMisses => each(events.branch_misses),
                Metric::Throughput => netperf(|s, window| s.throughput(window) / 1e6),
                Metric::UtilSend => netperf(|s, window| s.send.utilisation_pct(window)),
                Metric::UtilRecv => netperf(|s, window| s.recv.utilisation_pct(window)),
                Metric::DemandSend => demand(|s| &s.send),
                Metric::DemandRecv => demand(|s| &s.recv),
            };
            reading.0[metric as usize] = value;
        }
        reading
    }

    /// One of them.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0[metric as usize]
    }

    /// The same with one replaced, for made-up runs.
    #[cfg(test)]
    pub fn with(mut self, metric: Metric, value: f64) -> Reading {
        self.0[metric as usize] = Some(value);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters are a packet, streams only where there is one.
    #[test]
    fn a_run_is_read() {
        let mut metrics = crate::testing::outcome(0).metrics;
        let reading = Reading::of(&metrics);
        assert_eq!(reading.get(Metric::Packets), Some(45_805.0));
        assert_eq!(
            reading.get(Metric::Instructions),
            Some(2.0 * 12_345_678.0 / 45_805.0)
        );
        assert_eq!(reading.get(Metric::Throughput), None);
        assert_eq!(reading.get(Metric::DemandSend), None);
        metrics.flows.clear();
        assert_eq!(Reading::of(&metrics).get(Metric::Instructions), None);
        metrics.streams.push(Stream {
            bytes: 1024,
            send: Busy {
                cpus: 2,
                busy: 10_000_000_000,
            },
            ..Stream::default()
        });
        let reading = Reading::of(&metrics);
        assert_eq!(reading.get(Metric::UtilSend), Some(50.0));
        assert_eq!(reading.get(Metric::DemandSend), Some(10_000.0));
    }
}
