//! What a run counted, in the units and words of `tc -s`, `ethtool -S`, `perf stat` and pktgen.
//!
//! Counters cover the measured window (after the warm-up) unless they say "whole run".

use hdrhistogram::Histogram;

/// All counters of one run.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Length of the measured window in picoseconds.
    pub window: u64,
    /// One entry a workload thread, in order of configuration.
    pub flows: Vec<Flow>,
    /// Devices.
    pub devices: Vec<Device>,
    /// Qdiscs.
    pub qdiscs: Vec<Qdisc>,
    /// Logical CPUs.
    pub cpus: Vec<Cpu>,
    /// Locks, in order of creation.
    pub locks: Vec<Lock>,
    /// Named cache lines that moved at least once, in order of number.
    pub lines: Vec<Line>,
    /// TCP streams, in order of configuration.
    pub streams: Vec<Stream>,
    /// Receive path of each logical CPU, of hosts that receive by way of a backlog or a socket.
    pub softnet: Vec<Softnet>,
    /// UDP sockets with a reader, in order of configuration.
    pub udp: Vec<UdpSock>,
}

impl Metrics {
    /// Packets a second over all flows, as pktgen sums its threads (`sofar` of each).
    pub fn pps(&self) -> f64 {
        rate(self.flows.iter().map(|f| f.sent).sum(), self.window)
    }

    /// Packets a second that the drivers of all devices sent.
    pub fn tx_pps(&self) -> f64 {
        rate(self.devices.iter().map(|d| d.tx_packets).sum(), self.window)
    }
}

/// `count` events in `window` picoseconds, as events a second.
pub fn rate(count: u64, window: u64) -> f64 {
    if window == 0 {
        0.0
    } else {
        count as f64 * 1e12 / window as f64
    }
}

/// One sending context. `offered = sent + errors` (whole run and window alike).
#[derive(Clone, Debug)]
pub struct Flow {
    /// pktgen's name for it, e.g. `d0@0`.
    pub name: String,
    /// CPU it is pinned to.
    pub cpu: u16,
    /// Transmit attempts.
    pub offered: u64,
    /// Attempts that returned success (`sofar`).
    pub sent: u64,
    /// Attempts that returned an error or a drop.
    pub errors: u64,
    /// Bytes of the successful ones.
    pub bytes: u64,
    /// Time from the attempt to the driver's `ndo_start_xmit`, in nanoseconds, of packets that got there.
    pub latency: Histogram<u64>,
}

/// One network device (`ip -s link`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Interface name.
    pub name: String,
    /// Packets handed to the driver and accepted.
    pub tx_packets: u64,
    /// Their bytes.
    pub tx_bytes: u64,
    /// Packets dropped on the transmit path outside a qdisc.
    pub tx_dropped: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Frames lost because the receive ring was full, and packets dropped before the stack saw them.
    pub rx_dropped: u64,
    /// Doorbells of its transmit rings.
    pub doorbells: u64,
    /// Most descriptors in use on one of its transmit rings (whole run).
    pub tx_ring_max: u64,
    /// Times the watchdog found a queue stopped for too long.
    pub tx_timeouts: u64,
}

/// One qdisc (`tc -s qdisc`).
/// `enqueued = dequeued + dropped_by_reset + queued` at the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qdisc {
    /// e.g. `d0:0`.
    pub name: String,
    /// e.g. `pfifo_fast`.
    pub kind: String,
    /// It is the child of the one before it.
    pub child: bool,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Times a shaper had packets and no tokens.
    pub overlimits: u64,
    /// Packets put back after the driver was busy.
    pub requeues: u64,
    /// Packets sent without being queued.
    pub bypassed: u64,
    /// Packets queued at the end.
    pub qlen: u64,
    /// Bytes queued at the end.
    pub backlog: u64,
    /// Largest number of packets queued.
    pub qlen_max: u64,
    /// Times a CPU became the one that drains it.
    pub runs: u64,
}

/// One logical CPU. Times in picoseconds; `task + softirq + hardirq + idle = window`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// e.g. `CPU0`.
    pub name: String,
    /// Time in process context.
    pub task: u64,
    /// Time in softirq context.
    pub softirq: u64,
    /// Time in hard interrupts.
    pub hardirq: u64,
    /// Idle time.
    pub idle: u64,
    /// Part of the busy time spent spinning.
    pub spin: u64,
    /// Part of the busy time stalled on line transfers.
    pub stall: u64,
    /// Part of the process context's time spent in user mode.
    pub user: u64,
    /// Instructions retired in kernel mode.
    pub instructions: u64,
    /// Instructions retired in user mode.
    pub user_instructions: u64,
    /// Cycles in kernel mode; 0 where the machine's profile states no clock.
    pub cycles: u64,
    /// Last-level cache references: misses in the core's own caches.
    pub llc_references: u64,
    /// Of those, the ones no other core could serve.
    pub llc_misses: u64,
    /// Lines taken dirty from another core.
    pub hitm: u64,
    /// Mispredicted branches at the exits of spin loops.
    pub branch_misses: u64,
    /// Task switches.
    pub context_switches: u64,
    /// NET_TX softirqs run.
    pub net_tx: u64,
    /// NET_RX softirqs run.
    pub net_rx: u64,
    /// Times `__do_softirq` ran out of restarts or time and woke ksoftirqd.
    pub squeezed: u64,
}

/// One TCP stream, with what netperf's TCP_STREAM test needs to report it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// Name of the workload and its flow.
    pub name: String,
    /// Payload bytes that the receiving socket's owner read.
    pub bytes: u64,
    /// The sending host's CPUs ("local" in netperf's report).
    pub send: Busy,
    /// The receiving host's CPUs ("remote").
    pub recv: Busy,
}

impl Stream {
    /// Payload bits a second.
    pub fn throughput(&self, window: u64) -> f64 {
        rate(self.bytes, window) * 8.0
    }
}

/// All CPUs of one host together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// Number of logical CPUs.
    pub cpus: u32,
    /// Picoseconds that they were not idle, summed.
    pub busy: u64,
}

impl Busy {
    /// Busy share of all CPUs in percent, as netperf's `% S`.
    pub fn utilisation_pct(&self, window: u64) -> f64 {
        match u128::from(self.cpus) * u128::from(window) {
            0 => 0.0,
            all => 100.0 * self.busy as f64 / all as f64,
        }
    }

    /// netperf's service demand: microseconds of CPU time a KB (1024 bytes) moved.
    pub fn service_demand(&self, bytes: u64) -> f64 {
        if bytes == 0 {
            0.0
        } else {
            self.busy as f64 / 1e6 / (bytes as f64 / 1024.0)
        }
    }
}

/// A CPU's line of `/proc/net/softnet_stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Softnet {
    /// e.g. `CPU0`.
    pub name: String,
    /// Packets that `__netif_receive_skb_core` saw.
    pub processed: u64,
    /// Packets that found the backlog full.
    pub dropped: u64,
    /// Polls cut short by budget or time.
    pub time_squeeze: u64,
    /// RPS interrupts taken.
    pub received_rps: u64,
}

/// A UDP socket with a reader (`/proc/net/udp`, `nstat`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UdpSock {
    /// Its device and port, e.g. `eth0:9`.
    pub name: String,
    /// Datagrams queued (`UdpInDatagrams` once read).
    pub received: u64,
    /// Datagrams that found its buffer full (`UdpRcvbufErrors`).
    pub rcvbuf_errors: u64,
    /// Datagrams read.
    pub read: u64,
    /// Their payload bytes.
    pub bytes: u64,
}

/// One lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// e.g. `d0:0 busylock`.
    pub name: String,
    /// Successful acquisitions.
    pub acquired: u64,
    /// Acquisitions that had to wait.
    pub contended: u64,
    /// Failed trylocks.
    pub failed: u64,
    /// Total time waited, picoseconds.
    pub wait: u64,
    /// Longest wait, picoseconds.
    pub wait_max: u64,
}

/// One cache line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// e.g. `Qdisc d0:0 line 2`.
    pub name: String,
    /// Moves between cores.
    pub transfers: u64,
    /// Moves of a dirty copy.
    pub hitm: u64,
    /// Dirty moves by field that was accessed: `(field, count)`, only those that occurred.
    pub hitm_by_field: Vec<(String, u64)>,
    /// Who accessed it: by field and kernel function, in order of offset.
    pub accesses: Vec<Access>,
    /// Dirty moves by what was written before and what was wanted, the most frequent first.
    pub pairs: Vec<Pair>,
}

/// Accesses of one kernel function to one field, as `perf c2c` lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The field, e.g. `Qdisc d0:0 seqlock`; empty where a line is touched without saying what for.
    pub field: String,
    /// Bytes from the start of the line; `None` with an empty field.
    pub offset: Option<u16>,
    /// The kernel function.
    pub function: String,
    /// Logical CPUs that it ran on then.
    pub cpus: Vec<u16>,
    /// Loads, those of atomics and spins included.
    pub loads: u64,
    /// Stores, those of atomics included.
    pub stores: u64,
    /// Plain stores that had to wait for the line.
    pub store_misses: u64,
    /// Accesses that took the line dirty from a core of the same die. `perf c2c` counts only loads here.
    pub hitm_local: u64,
    /// The same from another die.
    pub hitm_remote: u64,
}

/// Dirty moves of a line for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// Field that the core that lost the line had written last; empty as in [`Access::field`].
    pub wrote: String,
    /// Kernel function that had written it.
    pub wrote_in: String,
    /// Field that the core that took the line accessed.
    pub wanted: String,
    /// Kernel function that accessed it.
    pub wanted_in: String,
    /// How often.
    pub hitm: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// netperf's own numbers are consistent with its definitions: 5660.66 Mbit/s at 25.54 % of four
    /// CPUs are 1.478 us/KB (printed in the VLAN offload thread).
    #[test]
    fn service_demand_is_busy_time_a_kilobyte() {
        let window = 10_000_000_000_000;
        let send = Busy {
            cpus: 4,
            busy: 10_216_000_000_000,
        };
        let stream = Stream {
            name: "netperf".into(),
            bytes: 7_075_825_000,
            send,
            recv: Busy::default(),
        };
        assert!((stream.throughput(window) / 1e6 - 5660.66).abs() < 0.01);
        assert!((send.utilisation_pct(window) - 25.54).abs() < 0.01);
        assert!((send.service_demand(stream.bytes) - 1.478).abs() < 0.001);
        assert_eq!(Busy::default().utilisation_pct(window), 0.0);
        assert_eq!(send.service_demand(0), 0.0);
    }
}
