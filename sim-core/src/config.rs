//! What a world is built from: plain data, already checked. The `scenarios` crate makes it from a
//! file; tests and examples make it by hand.

use crate::frame::Tag;
use crate::kernel::drivers::ixgbe::TxKick;
use crate::kernel::features::{Features, VlanFeatures};
use crate::kernel::variant::Lockless;
use crate::machine::cost::Profile;
use crate::machine::layout::LayoutSet;
use std::sync::Arc;

/// A whole simulation: hosts, how long, and what to measure. The seed is given to the run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the scenario.
    pub name: String,
    /// The hosts. They share nothing but links.
    pub hosts: Vec<Host>,
    /// Cables between NICs.
    pub links: Vec<Link>,
    /// When to stop.
    pub stop: Stop,
    /// Warm-up before counters start, in picoseconds (0 = count from the start).
    pub warmup: u64,
    /// Upper bound on micro-steps, a guard against runs that never end.
    pub step_limit: u64,
}

/// A cable between two ports, full duplex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Index of the host and of its device at one end.
    pub a: (usize, usize),
    /// And at the other.
    pub b: (usize, usize),
    /// Propagation delay in picoseconds.
    pub delay: u64,
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At this simulated time, in picoseconds.
    At(u64),
    /// When nothing is left to do, or at this time if that never happens.
    Quiescent {
        /// In picoseconds.
        limit: u64,
    },
}

/// One host: a machine, a kernel, devices and what runs on it.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The hardware.
    pub machine: Arc<Profile>,
    /// The kernel.
    pub kernel: Kernel,
    /// Struct layouts.
    pub layouts: LayoutSet,
    /// Network devices.
    pub devices: Vec<Device>,
    /// Loads.
    pub workloads: Vec<Workload>,
}

/// Kernel version and toggles.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// How a lockless qdisc decides who drains it.
    pub lockless: Lockless,
    /// `set3` only: which reading of the unpublished retry optimisation.
    pub set3_retry: Set3Retry,
    /// `/proc/sys/net/core/dev_weight`: packets one `__qdisc_run` may send.
    pub dev_weight: u32,
    /// arm64 up to v5.19: `test_and_set_bit` on a bit that is set already is a plain load.
    pub tas_bit_early_return: bool,
    /// Major and minor version, where the kernel itself differs: locks, pages, instruction counts.
    pub version: (u32, u32),
    /// How `packet_direct_xmit` handles the transmit lock.
    pub direct: crate::kernel::packet::Direct,
    /// CPUs that run something take timer interrupts.
    pub ticks: bool,
    /// HZ: timer ticks a second.
    pub hz: u32,
    /// The barriers between the stop bit and the second look in BQL.
    pub bql_mb: bool,
    /// The second look of drivers after they stopped a queue, with its barriers.
    pub stop_recheck: bool,
    /// When drivers that can choose (ixgbe) ring the doorbell.
    pub tx_kick: TxKick,
    /// `watchdog_timeo` of NICs in picoseconds; `None`: no watchdog.
    pub watchdog: Option<u64>,
    /// What VLAN devices promise for tagged frames, and with it whose feature rules hold.
    pub vlan_features: VlanFeatures,
    /// Up to 3.17: segmentation, checksums and tags are done in software under the transmit lock.
    pub validate_in_lock: bool,
    /// A clock with a visible grain, for comparing with recordings made on one.
    pub clock: Option<ClockSource>,
    /// `/proc/sys/net/core/netdev_max_backlog`: packets a CPU's backlog queue may hold.
    pub max_backlog: u32,
    /// The pair of barriers between veth's ring and `rx_notify_masked`.
    pub veth_mb: bool,
    /// Where redirected frames wait, by version.
    pub redirect: Redirect,
    /// `DEV_MAP_BULK_SIZE`: frames in a bulk queue.
    pub xdp_bulk: u32,
    /// Off: drivers forget `xdp_do_flush` at the end of a poll.
    pub xdp_flush: bool,
    /// Indirect calls go through retpolines.
    pub retpoline: bool,
    /// Instruction counts by cost key that replace the built-in ones.
    pub costs: Vec<(crate::kernel::cost::Cost, u32)>,
}

impl Default for Kernel {
    /// Linux 5.11 as released: the lockless qdisc that loses packets, `dev_weight` 64.
    fn default() -> Kernel {
        Kernel {
            lockless: Lockless::Builtin(crate::kernel::variant::Builtin::V0),
            set3_retry: Set3Retry::ReadFirst,
            dev_weight: 64,
            tas_bit_early_return: false,
            version: (5, 11),
            direct: crate::kernel::packet::Direct::V6_9,
            ticks: false,
            hz: 250,
            bql_mb: true,
            stop_recheck: true,
            tx_kick: TxKick::XmitMore,
            watchdog: None,
            vlan_features: VlanFeatures::Modern,
            validate_in_lock: false,
            clock: None,
            max_backlog: 1000,
            veth_mb: true,
            redirect: Redirect::V5_6,
            xdp_bulk: 16,
            xdp_flush: true,
            retpoline: false,
            costs: Vec::new(),
        }
    }
}

/// `xdp_do_redirect` by kernel version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// 5.4: a bulk queue a map slot, a frame at a time without a map.
    V5_4,
    /// 5.5: the same with one flush list a CPU.
    V5_5,
    /// 5.6: a bulk queue a device, with and without a map.
    V5_6,
    /// 5.13: the core frees what the driver did not take.
    V5_13,
}

impl Redirect {
    /// All of them, oldest first.
    pub const ALL: [Redirect; 4] = [
        Redirect::V5_4,
        Redirect::V5_5,
        Redirect::V5_6,
        Redirect::V5_13,
    ];

    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Redirect::V5_4 => "v5_4",
            Redirect::V5_5 => "v5_5",
            Redirect::V5_6 => "v5_6",
            Redirect::V5_13 => "v5_13",
        }
    }
}

/// A coarse clock; see [`kernel::clock`](crate::kernel::clock).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSource {
    /// Steps in which it reads, in picoseconds.
    pub grain: u64,
    /// Least time for which its clockevent can be programmed, in picoseconds.
    pub min_delta: u64,
    /// By how much the start of the run is ahead of what the clock reads then, in picoseconds.
    pub phase: u64,
}

/// The two readings of set 3's "spin_trylock() retry" patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set3Retry {
    /// `3a`: read the bit first; if it is set, return at once.
    ReadFirst,
    /// `3b`: set the bit and do not try again (reopens race A).
    NoRetry,
}

/// A network device.
#[derive(Clone, Debug)]
pub struct Device {
    /// Interface name.
    pub name: String,
    /// Driver.
    pub kind: DeviceKind,
    /// Number of transmit queues.
    pub txqs: u32,
    /// Root qdisc (of each queue).
    pub qdisc: Qdisc,
    /// `/sys/class/net/DEV/queues/rx-0/rps_cpus`: CPUs over which received flows are spread, if any.
    pub rps_cpus: Vec<u16>,
    /// Transmit queue of each CPU (`xps_cpus` turned round): CPU n uses entry n modulo their number. Empty:
    /// by flow hash.
    pub xps: Vec<u16>,
}

/// Which driver a device has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// `drivers/net/dummy.c`: LLTX, frees every packet at once.
    Dummy,
    /// A NIC.
    Nic(Nic),
    /// `net/8021q`: a VLAN on another device.
    Vlan(Vlan),
    /// `drivers/net/loopback.c`: what it sends it receives.
    Loopback,
    /// `drivers/net/veth.c`: one end of a pair.
    Veth(Veth),
}

/// One end of a veth pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Veth {
    /// Index of the other end, on the same host.
    pub peer: usize,
    /// It receives by a ring and NAPI (GRO on, or an XDP program attached), not by the backlog.
    pub napi: bool,
}

/// A VLAN device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// Index of the device that it lies on (`real_dev`); it may be a VLAN itself.
    pub on: usize,
    /// Its tag.
    pub tag: Tag,
    /// `VLAN_FLAG_REORDER_HDR`. Off: the tag goes into the data when the header is built.
    pub reorder_hdr: bool,
}

/// A NIC: its hardware, and what its driver is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nic {
    /// Which device and driver.
    pub driver: NicDriver,
    /// Descriptors in each transmit ring.
    pub tx_ring: u32,
    /// Descriptors in each receive ring.
    pub rx_ring: u32,
    /// Link rate in bits a second.
    pub rate: u64,
    /// Logical CPU of each interrupt vector, at least one; a vector serves one ring each way.
    pub irq_cpus: Vec<u16>,
    /// Interrupt moderation.
    pub moderation: Moderation,
    /// Byte queue limits (`limit_min`, `limit_max`), if the driver keeps them.
    pub bql: Option<(u32, u32)>,
    /// The queue is stopped when fewer descriptors than this are free.
    pub stop_thresh: u32,
    /// It is woken when at least this many are.
    pub wake_thresh: u32,
    /// NAPI weight: most packets of one poll.
    pub napi_weight: u32,
    /// Bytes that each frame costs on the wire beside its own (preamble, FCS, gap).
    pub wire_overhead: u32,
    /// `features`: what it can do.
    pub features: Features,
    /// `vlan_features`: what of it for a frame with one tag.
    pub vlan_features: Features,
    /// Tags that it parses when it segments or sums.
    pub max_tags_offload: u8,
    /// Bytes that it fetches ahead of the wire into memory of its own; it is done with a frame then.
    pub tx_memory: u32,
}

/// The drivers of NICs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicDriver {
    /// A plain NIC with priced steps: a ring each way, doorbell, NAPI.
    Plain,
    /// `myri10ge`: TSO, checksums and LRO, descriptors written into the NIC.
    Myri10ge,
    /// `mlx5e`: XDP, one completion entry a doorbell.
    Mlx5,
    /// `ixgbe`: a ring each way for each vector, BQL, adaptive moderation.
    Ixgbe,
}

/// Interrupt moderation of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moderation {
    /// An interrupt this long (in picoseconds) after the first event it reports, or when so many wait.
    Delay {
        /// `ethtool -C` usecs, in picoseconds.
        after: u64,
        /// `ethtool -C` frames.
        frames: u32,
    },
    /// At least this long (in picoseconds) between two interrupts.
    Throttle(u64),
    /// The driver adapts the time between interrupts to the traffic (ixgbe's `rx-usecs 1`).
    Adaptive,
}

/// A queueing discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Qdisc {
    /// `pfifo_fast`; `limit` = `tx_queue_len`, the size of each of its three rings.
    PfifoFast {
        /// Packets a band.
        limit: u32,
    },
    /// `pfifo`.
    Pfifo {
        /// Packets.
        limit: u32,
    },
    /// `bfifo`.
    Bfifo {
        /// Bytes.
        limit: u32,
    },
    /// `prio`; each band is a `pfifo` of this limit.
    Prio {
        /// Packets a band.
        limit: u32,
        /// Bands, 2 to 16.
        bands: u8,
        /// Band of each `skb->priority & 15`.
        priomap: [u8; 16],
    },
    /// `codel`.
    Codel {
        /// Packets.
        limit: u32,
        /// Target delay in picoseconds.
        target: u64,
        /// Interval in picoseconds.
        interval: u64,
    },
    /// `tbf`.
    Tbf(Box<Tbf>),
    /// `mq`: each transmit queue has this one; `mq` itself is never in the way of a packet.
    Mq(Box<Qdisc>),
    /// `fq_codel`.
    FqCodel {
        /// Packets.
        limit: u32,
        /// Hash buckets.
        flows: u32,
        /// Bytes a round; 0 = MTU + header.
        quantum: u32,
        /// Target delay in picoseconds.
        target: u64,
        /// Interval in picoseconds.
        interval: u64,
    },
    /// `noqueue`.
    Noqueue,
}

/// A token bucket filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tbf {
    /// Bits a second.
    pub rate: u64,
    /// Bucket in bytes; larger packets are dropped.
    pub burst: u32,
    /// Bytes that each packet counts more.
    pub overhead: u32,
    /// Bytes that each packet counts at least.
    pub mpu: u32,
    /// A second bucket: bits a second and bytes (`peakrate`, `mtu`).
    pub peak: Option<(u64, u32)>,
    /// What queues.
    pub child: Qdisc,
}

/// A load.
#[derive(Clone, Debug)]
pub enum Workload {
    /// The kernel's packet generator, one thread on each of `cpus`.
    Pktgen(Pktgen),
    /// netsniff-ng's trafgen, one process on each of `cpus`.
    Trafgen(Trafgen),
    /// A sender that sends one packet every `every` on each of `cpus`.
    Paced {
        /// Index of the device.
        dev: usize,
        /// Logical CPUs, one thread each.
        cpus: Vec<u16>,
        /// Interval in picoseconds.
        every: u64,
        /// Packet length in bytes, without FCS.
        size: u32,
        /// Packets a thread, or endless.
        packets: Option<u64>,
    },
    /// A list of packets, sent from one CPU at given times.
    Train {
        /// Index of the device.
        dev: usize,
        /// Logical CPU.
        cpu: u16,
        /// The packets.
        packets: Vec<TrainPacket>,
    },
    /// Frames arrive at a NIC whose XDP program redirects them.
    XdpRedirect {
        /// Index of the ingress NIC.
        from: usize,
        /// Device they are redirected to; `None` names one that does not exist.
        to: Option<usize>,
        /// `bpf_redirect_map` instead of `bpf_redirect`.
        map: bool,
        /// Packet length in bytes, without FCS.
        size: u32,
        /// Frames a second offered, or `None` for as many as the ring takes.
        pps: Option<u64>,
        /// Frames, or endless.
        packets: Option<u64>,
    },
    /// Frames arrive at a NIC and are forwarded (IPv4) out of another device.
    Forward {
        /// Index of the ingress NIC.
        from: usize,
        /// Index of the egress device.
        to: usize,
        /// Packet length in bytes, without FCS.
        size: u32,
        /// Frames a second offered, or `None` for as many as the ring takes.
        pps: Option<u64>,
        /// Frames, or endless.
        packets: Option<u64>,
    },
    /// Datagrams as fast as the socket takes them, or at a rate.
    UdpFlood(UdpFlood),
    /// A socket and the task that reads it.
    UdpSink(UdpSink),
    /// The sending side of a netperf TCP_STREAM test.
    Netperf(Netperf),
    /// Its receiving side.
    Netserver(Netserver),
}

/// A sender of UDP datagrams: `sendto` in a loop, one task a CPU.
#[derive(Clone, Debug)]
pub struct UdpFlood {
    /// Index of the device that the route leads to.
    pub dev: usize,
    /// Logical CPUs, one task each.
    pub cpus: Vec<u16>,
    /// Frame length in bytes with all headers, without FCS.
    pub size: u32,
    /// Datagrams a second of each task, or `None` for as fast as it can.
    pub pps: Option<u64>,
    /// Datagrams of each task, or endless.
    pub packets: Option<u64>,
    /// Sockets (source ports) that each task takes in turn.
    pub flows: u32,
    /// The sockets are connected: no route lookup a datagram.
    pub connected: bool,
    /// Destination port.
    pub port: u16,
    /// `SO_SNDBUF` as the kernel keeps it, in bytes of truesize.
    pub sndbuf: u32,
}

/// A UDP socket and its reader.
#[derive(Clone, Debug)]
pub struct UdpSink {
    /// Index of the device that its address belongs to.
    pub dev: usize,
    /// Logical CPU of the reader.
    pub cpu: u16,
    /// Port.
    pub port: u16,
    /// `SO_RCVBUF` as the kernel keeps it, in bytes of truesize.
    pub rcvbuf: u32,
}

/// netperf: sends as much as the connection takes.
#[derive(Clone, Debug)]
pub struct Netperf {
    /// Index of the device that the route leads to.
    pub dev: usize,
    /// Logical CPU it runs on.
    pub cpu: u16,
    /// Number of the connection; one [`Netserver`] has the same.
    pub conn: u16,
    /// MTU of the device.
    pub mtu: u32,
    /// Bytes of one `send`.
    pub message: u32,
    /// `sk_sndbuf`, in bytes of truesize.
    pub sndbuf: u32,
    /// `tcp_limit_output_bytes` (TSQ): what one connection may have below TCP, in bytes of truesize.
    pub limit_output: u32,
    /// Bytes to send, or endless.
    pub bytes: Option<u64>,
}

/// netserver: reads all that comes.
#[derive(Clone, Debug)]
pub struct Netserver {
    /// Index of the device that its address belongs to.
    pub dev: usize,
    /// Logical CPU it runs on.
    pub cpu: u16,
    /// Number of the connection.
    pub conn: u16,
    /// MTU of the device.
    pub mtu: u32,
    /// Largest window it advertises, in bytes.
    pub window: u32,
    /// Bytes of one `recv`.
    pub size: u32,
}

/// One packet of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainPacket {
    /// When the sender's timer is due, in picoseconds; a packet that is late is sent at once.
    pub at: u64,
    /// What the sender's clock read when it sent it, if it was later than that.
    pub sent: Option<u64>,
    /// Length in bytes without FCS.
    pub len: u32,
    /// `skb->priority`.
    pub priority: u32,
    /// Flow: packets of one flow and priority keep their order, and a flow has one hash.
    pub flow: u32,
}

/// Settings of pktgen, named as in `/proc/net/pktgen`.
#[derive(Clone, Debug)]
pub struct Pktgen {
    /// Index of the device.
    pub dev: usize,
    /// `xmit_mode`.
    pub mode: XmitMode,
    /// One kernel thread a CPU.
    pub cpus: Vec<u16>,
    /// `count` of each thread; `None` = 0 in pktgen = endless.
    pub packets: Option<u64>,
    /// `clone_skb`.
    pub clone_skb: u32,
    /// `burst`.
    pub burst: u32,
    /// `pkt_size` in bytes, without FCS.
    pub size: u32,
    /// `skb_priority`.
    pub priority: u32,
}

/// Settings of trafgen.
#[derive(Clone, Debug)]
pub struct Trafgen {
    /// Index of the device.
    pub dev: usize,
    /// One process a CPU, pinned to it.
    pub cpus: Vec<u16>,
    /// `-n`: packets of all processes together, or endless.
    pub packets: Option<u64>,
    /// Packet length in bytes, without FCS.
    pub size: u32,
    /// Frames of each process's TX_RING; 0 is a socket without a ring.
    pub frames: u32,
    /// `-q`: through the qdisc, instead of past it.
    pub qdisc_path: bool,
}

impl Trafgen {
    /// What process `n` has to send.
    pub fn share(&self, n: usize) -> Option<u64> {
        let processes = self.cpus.len() as u64;
        let extra = |all: u64| u64::from((n as u64) < all % processes);
        self.packets.map(|all| all / processes + extra(all))
    }
}

/// pktgen's `xmit_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XmitMode {
    /// `start_xmit`: straight to the driver.
    StartXmit,
    /// `queue_xmit`: through the qdisc.
    QueueXmit,
}
