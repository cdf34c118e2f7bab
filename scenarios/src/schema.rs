//! Every field of the format: name, type, default, meaning.
//!
//! One table for three uses: unknown and missing fields are found with it, defaults are read from
//! it, and the reference chapter is printed from it.

/// What happens when a field is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// An error.
    Required,
    /// This RON text is read in its place.
    Ron(&'static str),
    /// Something that depends on other fields, in words.
    Computed(&'static str),
}

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldSpec {
    /// Its name.
    pub name: &'static str,
    /// Its type, in words.
    pub ty: &'static str,
    /// Its default.
    pub default: Fallback,
    /// What it means.
    pub doc: &'static str,
}

/// One struct or variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructSpec {
    /// Its name: written before the parenthesis where there is a choice.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Its fields.
    pub fields: &'static [FieldSpec],
}

macro_rules! structs {
    ($($id:ident $name:literal $doc:literal { $($field:ident: $ty:literal $default:expr, $fdoc:literal;)* })*) => {
        $(
            #[doc = $doc]
            pub static $id: StructSpec = StructSpec {
                name: $name,
                doc: $doc,
                fields: &[$(FieldSpec { name: stringify!($field), ty: $ty, default: $default, doc: $fdoc }),*],
            };
        )*
        /// All structs, in the order of the reference chapter.
        pub static STRUCTS: &[&StructSpec] = &[$(&$id),*];
    };
}

use Fallback::{Computed, Required, Ron};

structs! {
    SCENARIO "Scenario" "The whole file." {
        version: "1" Required, "Version of the format.";
        name: "text" Required, "Name of the scenario; its file is usually called the same.";
        machine: "profile name, path or Machine" Computed("none; needed by each host that has no own"), "Machine of every host that does not say otherwise.";
        kernel: "Kernel" Ron("()"), "Kernel of every host; a host overrides single fields.";
        layouts: "map of struct name to Layout" Ron("()"), "Struct layouts of every host that does not say otherwise: a name, `Pahole(\"FILE\")`, Changed, or a map of field to (offset, size).";
        hosts: "list of Host" Required, "The hosts. They share nothing but links.";
        links: "list of Link" Ron("[]"), "Cables between NICs.";
        parameters: "map of name to list of paths" Ron("{}"), "Short names for `--set` and sweeps: each sets the fields at all its paths.";
        stop: "Quiescent or At" Computed("`At(warmup + window)` if `measure` is given"), "When a run ends.";
        measure: "Measure" Computed("no measurement"), "A window of steady state to measure.";
        sweep: "Sweep, or list of Axis" Ron("[]"), "Axes; every combination of their values is a point.";
        expect: "Expect" Ron("()"), "What `skbsim test` judges.";
        explore: "Explore" Computed("nothing; `skbsim explore` has the same defaults"), "How the schedules are explored. If it is given, `skbsim test` explores them instead of running seeds: the laws of `expect` must be found broken, or none.";
        step_limit: "count" Ron("1_000_000_000"), "Micro-steps after which a run is cut off, as a guard against runs that never end.";
    }
    MACHINE "Machine" "Hardware. Any parameter of a machine profile can be overridden here by its name; `wfe_wake` is another name of `spin_wake`, and the parameter `memory` is called `memory_latency` here." {
        profile: "profile name or path ending in .ron" Required, "The machine profile; a path is relative to the scenario.";
        store_buffer: "on, off" Computed("the profile's; off with `memory: sc`"), "Off: plain stores wait for their line and are visible at once.";
        memory: "tso, weak, sc" Computed("the profile's"), "Memory model; sc is for exploration.";
    }
    KERNEL "Kernel" "Kernel version and patches." {
        base: "version such as \"v5.11\"" Ron("\"v5.11\""), "Picks the defaults of the other fields, and what has no field: ticket locks before v4.2, references to compound pages before v4.5, and instruction counts where a version's are known.";
        lockless: "variant" Computed("what `base` shipped"), "How a lockless qdisc decides who drains it.";
        set3_retry: "\"3a\", \"3b\"" Ron("\"3a\""), "`lockless: set3` only: the reading of its unpublished retry patch. 3a reads the bit first; 3b does not try again and reopens a race.";
        dev_weight: "1 to 65535" Ron("64"), "Packets one run of a qdisc may send (`/proc/sys/net/core/dev_weight`).";
        tas_bit_early_return: "on, off" Computed("on for arm64 up to v5.19, but off with `lockless: v5`"), "arm64: test_and_set_bit on a bit that is set already is a plain load.";
        direct: "v3_14, lltx_patch, lltx_dropcount, lltx_drv_stopped, v6_9" Computed("what `base` shipped"), "How `packet_direct_xmit` (packet sockets past the qdisc) handles the transmit lock: always takes it; leaves LLTX devices alone (the thread's patch); counts drops; ignores BQL's stop bit; v6.9.";
        ticks: "on, off" Ron("off"), "CPUs that run something take a timer interrupt `hz` times a second.";
        hz: "100, 250, 300, 1000" Ron("250"), "Timer ticks a second (`CONFIG_HZ`).";
        bql_mb: "on, off" Ron("on"), "The barriers of BQL between the stop bit and the second look.";
        stop_recheck: "on, off" Ron("on"), "The second look of drivers after they stopped a queue, with its barriers.";
        tx_kick: "always, flush_op, flush_op_no_mmiowb, xmit_more, xmit_more_busy_bug, xmit_more_naive" Computed("what `base` shipped: always before v3.18, then xmit_more"), "When ixgbe's doorbell is rung: for each packet; by the core through `ndo_xmit_flush` (the same with and without mmiowb, which is nothing on x86); for the last packet of a batch or when the queue is stopped. The last two are bugs: BUSY for a full ring without a doorbell for what is in it; no test of the stopped queue.";
        watchdog: "time or None" Ron("None"), "`watchdog_timeo` of NICs, 5s by default in the kernel. None: no watchdog, so that a run whose queue is stopped for good comes to rest.";
        vlan_features: "v3_7, thread_patch, modern" Computed("v3_7 before v3.16, else modern"), "What VLAN devices promise for tagged frames: nothing; their own features (the thread's patch); what the device below promises. The last goes with the feature rules of v6.9, the others with those of v3.7.";
        validate_in_lock: "on, off" Computed("on before v3.18, but off with `vlan_features: modern`"), "Segmentation, checksums and tags are done in software under the transmit lock.";
        redirect: "v5_4, v5_5, v5_6, v5_13" Computed("what `base` shipped"), "Where redirected XDP frames wait: in a bulk queue of their map slot, and without a map not at all; from v5_6 in a bulk queue of the device, with and without a map.";
        xdp_bulk: "1 to 1024" Ron("16"), "Frames in a bulk queue (`DEV_MAP_BULK_SIZE`).";
        xdp_flush: "on, off" Ron("on"), "Off: drivers forget `xdp_do_flush` at the end of a poll.";
        retpoline: "on, off" Ron("off"), "Indirect calls go through retpolines.";
        clock: "ClockSource or None" Ron("None"), "A clock with a visible grain, for comparing with recordings made on one.";
        max_backlog: "1 to 1000000" Ron("1000"), "Packets a CPU's backlog may hold (`/proc/sys/net/core/netdev_max_backlog`).";
        veth_mb: "on, off" Ron("on"), "The barriers of veth between its ring and `rx_notify_masked`; off reopens the window in which a wake-up can be lost (no timed run has been seen to).";
        costs: "map of cost key to instructions" Ron("{}"), "Instruction counts that replace the built-in ones.";
    }
    CLOCK_SOURCE "ClockSource" "A coarse clock: reads in steps, and timers fire late by its rules (user-mode Linux in time travel)." {
        grain: "time" Required, "Steps in which it reads.";
        min_delta: "time" Ron("\"500ns\""), "Least time for which its clockevent can be programmed.";
        phase: "time" Ron("\"0ns\""), "By how much the start of the run is ahead of what the clock reads then.";
    }
    HOST "Host" "One host: a machine, a kernel, devices and loads." {
        name: "text" Required, "Its name.";
        machine: "profile name, path or Machine" Computed("the scenario's"), "Overrides single fields; a `profile` starts afresh.";
        kernel: "Kernel" Computed("the scenario's"), "Overrides single fields.";
        layouts: "map of struct name to Layout" Computed("the scenario's"), "Overrides single structs.";
        devices: "list of Device" Ron("[]"), "Network devices.";
        workloads: "list of Pktgen, Trafgen, Paced, Train, XdpRedirect, Forward, UdpFlood, UdpSink, Netperf, Netserver" Ron("[]"), "Loads.";
    }
    LINK "Link" "A cable between two NICs, full duplex." {
        a: "\"host:device\"" Required, "One end.";
        b: "\"host:device\"" Required, "The other end.";
        delay: "time" Ron("\"500ns\""), "Propagation delay.";
    }
    DEVICE "Device" "A network device." {
        name: "text of 1 to 15 characters" Required, "Interface name.";
        kind: "Dummy, Nic, Myri10ge, Mlx5, Ixgbe, Vlan, Loopback, Veth" Ron("Dummy"), "Device and driver.";
        txqs: "1 to 256" Ron("1"), "Transmit queues.";
        qdisc: "PfifoFast, Pfifo, Bfifo, Prio, Codel, FqCodel, Tbf, Mq, Noqueue" Ron("PfifoFast(limit: 1000)"), "Root qdisc of each transmit queue.";
        rps_cpus: "list of CPUs" Ron("[]"), "CPUs over which flows that it receives are spread (`queues/rx-0/rps_cpus`); empty is off.";
        xps: "list of transmit queues" Ron("[]"), "Queue that each CPU sends to (`xps_cpus` turned round): CPU n uses entry n modulo their number. Empty: by flow hash. pktgen and Train always use queue 0.";
    }
    DUMMY "Dummy" "`drivers/net/dummy.c`: takes every packet without a lock and frees it at once." {}
    LOOPBACK "Loopback" "`drivers/net/loopback.c`: what is sent is received by this CPU's backlog. It takes no lock; give it `qdisc: Noqueue`." {}
    VETH "Veth" "One end of a pair (`drivers/net/veth.c`): what it sends the other receives. It takes no lock; give it `qdisc: Noqueue`." {
        peer: "device name" Required, "The other end, on the same host; it names this one.";
        napi: "on, off" Ron("off"), "It receives by a ring of 256 and NAPI, as with GRO or an XDP program; off: by the backlog.";
    }
    NIC "Nic" "A plain NIC: a descriptor ring each way, doorbell, one vector, NAPI, BQL." {
        tx_ring: "1 to 32768" Ron("512"), "Descriptors in the transmit ring.";
        rx_ring: "1 to 32768" Ron("512"), "Descriptors in the receive ring.";
        rate: "rate" Ron("\"10Gbit\""), "Link rate.";
        irq_cpu: "CPU" Ron("0"), "CPU that takes its interrupts.";
        moderation: "Throttle, Delay" Ron("Throttle(gap: \"50us\")"), "Interrupt moderation.";
        bql: "Bql or None" Ron("None"), "Byte queue limits.";
        stop_thresh: "1 to 32768" Ron("1"), "The queue is stopped when fewer descriptors than this are free.";
        wake_thresh: "1 to 32768" Ron("1"), "It is woken when at least this many are free.";
        napi_weight: "1 to 65535" Ron("64"), "Most packets of one NAPI poll.";
        wire_overhead: "size" Ron("\"24B\""), "What each frame costs on the wire beside its own bytes: preamble 8, FCS 4, gap 12.";
        offloads: "list of sg, ip_csum, hw_csum, tso, vlan_tx" Ron("[]"), "`features`: what the hardware can do.";
        vlan_offloads: "list of the same" Computed("`offloads` without vlan_tx"), "`vlan_features`: what of it for a frame with one tag.";
        max_tags_offload: "0 to 4" Ron("1"), "Tags that the hardware parses when it segments or looks for where to sum; a frame with more breaks a law.";
    }
    MYRI10GE "Myri10ge" "Myricom 10 Gbit/s (`myri10ge`): descriptors are written into the NIC, TSO, checksums, LRO over tags in the data; no tag insertion, no BQL." {
        tx_ring: "1 to 32768" Ron("1024"), "Descriptors in the transmit ring; 64 must be free for a frame to be segmented.";
        rx_ring: "1 to 32768" Ron("1024"), "Descriptors in the receive ring.";
        rate: "rate" Ron("\"10Gbit\""), "Link rate.";
        irq_cpu: "CPU" Ron("0"), "CPU that takes its interrupts.";
        moderation: "Throttle, Delay" Ron("Throttle(gap: \"75us\")"), "Interrupt moderation (`myri10ge_intr_coal_delay`); whether the NIC counts from the last interrupt or from the first event is not documented.";
        napi_weight: "1 to 65535" Ron("64"), "Most packets one poll takes.";
        wire_overhead: "size" Ron("\"24B\""), "What each frame costs on the wire beside its own bytes: preamble 8, FCS 4, gap 12.";
        offloads: "list of sg, ip_csum, hw_csum, tso" Ron("[sg, hw_csum, tso]"), "`features`.";
        vlan_offloads: "list of the same" Computed("`offloads`"), "`vlan_features`.";
        max_tags_offload: "0 to 4" Ron("1"), "Tags that the hardware parses when it segments.";
        tx_memory: "size" Ron("\"128KiB\""), "Memory of the NIC that is filled ahead of the wire: a frame is completed once it lies there. Prior: the NIC has 2 MiB for firmware, rings and both directions; 0 completes a frame when it has left.";
    }
    MLX5 "Mlx5" "Mellanox ConnectX (`mlx5e`): channels, XDP, multi-packet descriptors, one completion entry a doorbell, BQL." {
        tx_ring: "64 to 32768" Ron("1024"), "Descriptors in each send queue.";
        rx_ring: "1 to 32768" Ron("1024"), "Descriptors in each receive queue.";
        rate: "rate" Ron("\"100Gbit\""), "Link rate.";
        irq_cpus: "list of CPUs" Ron("[0]"), "CPU of each channel's interrupt; as many channels.";
        moderation: "Throttle, Delay" Ron("Delay(usecs: \"16us\", frames: 32)"), "Interrupt moderation (the driver's defaults).";
        bql: "Bql or None" Ron("()"), "Byte queue limits.";
        napi_weight: "1 to 65535" Ron("64"), "Most packets one poll takes.";
        wire_overhead: "size" Ron("\"24B\""), "What each frame costs on the wire beside its own bytes: preamble 8, FCS 4, gap 12.";
        offloads: "list of sg, ip_csum, hw_csum, tso, vlan_tx" Ron("[]"), "`features`; segmentation and checksums by this driver are not modelled.";
        vlan_offloads: "list of the same" Computed("`offloads` without vlan_tx"), "`vlan_features`.";
        max_tags_offload: "0 to 4" Ron("1"), "Tags that the hardware parses when it segments.";
    }
    IXGBE "Ixgbe" "Intel 82599 (`ixgbe`): one ring each way and one transmit queue for each vector, TSO, checksums, tag insertion, BQL, adaptive moderation. The queue is stopped below 21 free descriptors and woken at 42." {
        tx_ring: "64 to 4096" Ron("512"), "Descriptors in each transmit ring.";
        rx_ring: "64 to 4096" Ron("512"), "Descriptors in each receive ring.";
        rate: "rate" Ron("\"10Gbit\""), "Link rate.";
        irq_cpus: "list of CPUs, count, or range" Ron("[0]"), "CPU of each interrupt vector; the device has as many `txqs`. Senders use the queue of their CPU's number.";
        moderation: "Adaptive, Throttle" Ron("Adaptive"), "Interrupt moderation: by traffic, or fixed `rx-usecs`.";
        bql: "Bql or None" Ron("()"), "Byte queue limits.";
        napi_weight: "1 to 65535" Ron("64"), "Most frames one poll takes.";
        wire_overhead: "size" Ron("\"24B\""), "What each frame costs on the wire beside its own bytes: preamble 8, FCS 4, gap 12.";
        offloads: "list of sg, ip_csum, hw_csum, tso, vlan_tx" Ron("[sg, ip_csum, tso, vlan_tx]"), "`features`.";
        vlan_offloads: "list of the same" Computed("`offloads` without vlan_tx"), "`vlan_features`.";
        max_tags_offload: "0 to 4" Ron("1"), "Tags that the hardware parses when it segments.";
    }
    VLAN "Vlan" "A VLAN on another device, which may be a VLAN itself (`net/8021q`). It takes no lock; give it `qdisc: Noqueue`." {
        on: "device name" Required, "The device below.";
        id: "1 to 4094" Required, "VLAN id.";
        proto: "q, ad" Ron("q"), "802.1Q or 802.1ad.";
        reorder_hdr: "on, off" Ron("on"), "Off: the tag is put into the data when the header is built, unless the device below inserts tags.";
        mtu: "size or None" Ron("None"), "MTU without the tag; None is that of the device below.";
    }
    ADAPTIVE "Adaptive" "The driver adapts the time between interrupts to the traffic, 10 us to 125 us (`ethtool -C rx-usecs 1`)." {}
    THROTTLE "Throttle" "At least so long between two interrupts (Intel's ITR)." {
        gap: "time" Required, "Time between interrupts; 0 is an interrupt an event.";
    }
    DELAY "Delay" "An interrupt so long after the first event that it reports (`ethtool -C`)." {
        usecs: "time" Required, "Delay; 0 is at once.";
        frames: "1 to 4294967295" Ron("4294967295"), "At once when so many events wait.";
    }
    BQL "Bql" "Byte queue limits, as in `/sys/class/net/DEV/queues/tx-N/byte_queue_limits/`." {
        limit_min: "count" Ron("0"), "Bytes that are always let through.";
        limit_max: "count" Ron("1879048192"), "Most bytes in flight.";
    }
    PFIFO_FAST "PfifoFast" "`pfifo_fast`: three bands, each a ring." {
        limit: "1 to 1000000" Ron("1000"), "Size of each of the three rings (`tx_queue_len`).";
    }
    PFIFO "Pfifo" "`pfifo`: one list under the root lock." {
        limit: "1 to 1000000" Ron("1000"), "Packets.";
    }
    BFIFO "Bfifo" "`bfifo`: one list under the root lock, limited in bytes." {
        limit: "size" Ron("\"1514000B\""), "Bytes; 1 to 1073741824.";
    }
    PRIO "Prio" "`prio`: bands by priority, each a `pfifo`, under the root lock." {
        limit: "1 to 1000000" Ron("1000"), "Packets a band.";
        bands: "2 to 16" Ron("3"), "Bands.";
        priomap: "list of 16 bands" Ron("[1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]"), "Band of each priority.";
    }
    CODEL "Codel" "`codel`: one list with the CoDel law, under the root lock." {
        limit: "1 to 1000000" Ron("1000"), "Packets.";
        target: "time" Ron("\"5ms\""), "Delay that is fine.";
        interval: "time" Ron("\"100ms\""), "For how long more is tolerated.";
    }
    TBF "Tbf" "`tbf`: a token bucket in front of another qdisc." {
        rate: "rate" Required, "Rate.";
        burst: "size" Required, "Bucket; larger packets are dropped.";
        overhead: "size" Ron("\"0B\""), "What each packet counts more.";
        mpu: "size" Ron("\"0B\""), "What each packet counts at least.";
        peak: "Peak or None" Ron("None"), "A second bucket for the peak rate.";
        child: "PfifoFast, Pfifo, Bfifo, Prio, Codel, FqCodel" Ron("Bfifo()"), "What queues; `tc`'s `limit` is that of its Bfifo.";
    }
    PEAK "Peak" "The second bucket of a Tbf." {
        rate: "rate" Required, "`peakrate`.";
        mtu: "size" Required, "`mtu`: its size; larger packets are dropped.";
    }
    MQ "Mq" "`mq`: the root of a device with several transmit queues. It is never in the way of a packet." {
        child: "PfifoFast, Pfifo, Bfifo, Prio, Codel, FqCodel, Tbf" Ron("PfifoFast()"), "Qdisc of each transmit queue.";
    }
    FQ_CODEL "FqCodel" "`fq_codel`: deficit round robin over hashed flows, each with CoDel." {
        limit: "1 to 1000000" Ron("10240"), "Packets.";
        flows: "1 to 65536" Ron("1024"), "Hash buckets.";
        quantum: "size" Ron("\"1514B\""), "Bytes a flow sends in its turn.";
        target: "time" Ron("\"5ms\""), "Delay that is fine.";
        interval: "time" Ron("\"100ms\""), "For how long more is tolerated.";
    }
    NOQUEUE "Noqueue" "`noqueue`: straight to the driver, under the transmit lock unless the driver is LLTX." {}
    PKTGEN "Pktgen" "The kernel's packet generator; fields as in `/proc/net/pktgen`." {
        dev: "device name" Required, "Device to send from.";
        mode: "QueueXmit, StartXmit" Required, "QueueXmit goes through the qdisc, StartXmit straight to the driver.";
        cpus: "list of CPUs, count, or range" Required, "One thread on each; `4` is the CPUs 0 to 3, `4..8` the CPUs 4 to 7.";
        packets: "count or None" Ron("None"), "Packets of each thread; None is endless.";
        clone_skb: "count" Ron("0"), "Times an skb is sent again before a new one is made; StartXmit only.";
        burst: "1 to 65535" Ron("1"), "Packets under one transmit lock; StartXmit only.";
        size: "size" Ron("\"60B\""), "Packet length without the frame check sequence.";
        priority: "0 to 15" Ron("0"), "`skb_priority`, which picks the band of pfifo_fast.";
    }
    TRAFGEN "Trafgen" "netsniff-ng's trafgen: a process a CPU that sends through a packet socket, by default past the qdisc." {
        dev: "device name" Required, "Device to send from.";
        cpus: "list of CPUs, count, or range" Required, "One process on each, pinned; `4` is the CPUs 0 to 3.";
        packets: "count or None" Ron("None"), "`-n`: packets of all processes together; None is endless.";
        size: "size" Ron("\"60B\""), "Packet length without the frame check sequence.";
        frames: "0 to 4096" Ron("256"), "Frames of each process's TX_RING, 2 KB each; 0 is a socket without a ring.";
        qdisc_path: "on, off" Ron("off"), "`-q`: through the qdisc.";
    }
    PACED "Paced" "A sender that sends one packet at a time at a fixed interval." {
        dev: "device name" Required, "Device to send from.";
        cpus: "list of CPUs, count, or range" Required, "One sender on each; `4` is the CPUs 0 to 3.";
        every: "time" Required, "Interval.";
        size: "size" Ron("\"60B\""), "Packet length without the frame check sequence.";
        packets: "count or None" Ron("None"), "Packets of each sender; None is endless.";
    }
    TRAIN "Train" "A list of packets, sent from one CPU at given times through the qdisc." {
        dev: "device name" Required, "Device to send from.";
        cpu: "CPU" Ron("0"), "CPU of the sender.";
        packets: "list of TrainPacket" Required, "The packets; one that is late is sent at once.";
    }
    TRAIN_PACKET "TrainPacket" "One packet of a Train." {
        at: "time" Required, "When the sender's timer is due, counted from the start of the run.";
        sent: "time or None" Ron("None"), "What the sender's clock read when it sent it, if that was later.";
        size: "size" Ron("\"60B\""), "Packet length without the frame check sequence.";
        priority: "0 to 15" Ron("0"), "`skb->priority`, which picks the band.";
        flow: "count" Ron("0"), "Packets of one flow and priority keep their order; a flow has one hash.";
    }
    XDP_REDIRECT "XdpRedirect" "Frames arrive at an Mlx5 whose XDP program redirects them (samples/bpf/xdp_redirect)." {
        from: "device name" Required, "Mlx5 at which frames arrive; its first channel takes them.";
        to: "device name or None" Required, "Device they are redirected to; None is an index that no device has.";
        helper: "redirect, redirect_map" Ron("redirect"), "`bpf_redirect` or `bpf_redirect_map`.";
        size: "size" Ron("\"60B\""), "Frame length without the frame check sequence.";
        pps: "packet rate or None" Ron("None"), "Frames offered a second; None is as many as the ring takes.";
        packets: "count or None" Ron("None"), "Frames; None is endless.";
    }
    FORWARD "Forward" "Frames arrive at a Nic and are forwarded (IPv4) out of another device." {
        from: "device name" Required, "Nic at which frames arrive.";
        to: "device name" Required, "Device they leave from.";
        size: "size" Ron("\"60B\""), "Frame length without the frame check sequence.";
        pps: "packet rate or None" Ron("None"), "Frames offered a second; None is as many as the ring takes.";
        packets: "count or None" Ron("None"), "Frames; None is endless.";
    }
    UDP_FLOOD "UdpFlood" "Datagrams: `sendto` in a loop." {
        dev: "device name" Required, "Device that the route leads to.";
        cpus: "list of CPUs, count, or range" Required, "One task on each; `4` is the CPUs 0 to 3.";
        size: "size" Ron("\"106B\""), "Frame length with all headers (42 bytes) and without the frame check sequence.";
        pps: "packet rate or None" Ron("None"), "Datagrams a second of each task; None is as fast as it can.";
        packets: "count or None" Ron("None"), "Datagrams of each task; None is endless.";
        flows: "1 to 256" Ron("1"), "Sockets, each with a source port of its own, that each task takes in turn.";
        connected: "on, off" Ron("off"), "The sockets are connected: no route lookup a datagram.";
        port: "1 to 65535" Ron("9"), "Destination port.";
        sndbuf: "size" Ron("\"212992B\""), "Send buffer of a socket, in truesize (`net.core.wmem_default`).";
    }
    UDP_SINK "UdpSink" "A UDP socket and the task that reads it." {
        dev: "device name" Required, "Device that its address belongs to.";
        cpu: "CPU" Required, "CPU of the reader.";
        port: "1 to 65535" Ron("9"), "Its port.";
        rcvbuf: "size" Ron("\"212992B\""), "Receive buffer, in truesize (`net.core.rmem_default`).";
    }
    CHANGED "Changed" "A layout with fields moved or added." {
        from: "name, Pahole(\"FILE\") or map of field to (offset, size)" Required, "What is changed.";
        fields: "map of field to (offset, size)" Required, "Fields that lie elsewhere than in `from`, or are new.";
    }
    NETPERF "Netperf" "The sending side of netperf's TCP_STREAM test." {
        dev: "device name" Required, "Device that the route leads to.";
        cpu: "CPU" Required, "CPU it runs on.";
        to: "host name" Required, "Host with the Netserver.";
        port: "1 to 65535" Ron("12865"), "Port of the Netserver.";
        message: "size" Ron("\"65536B\""), "Bytes of one send (`-m`).";
        sndbuf: "size" Ron("\"1MiB\""), "Send buffer, in truesize: what autotuning reaches for twice the data in flight at 10 Gbit/s.";
        limit_output: "size" Ron("\"131072B\""), "`tcp_limit_output_bytes`: what TSQ lets the connection have below TCP, in truesize.";
        bytes: "size or None" Ron("None"), "Bytes to send; None is endless.";
    }
    NETSERVER "Netserver" "The receiving side of netperf's TCP_STREAM test." {
        dev: "device name" Required, "Device that its address belongs to.";
        cpu: "CPU" Required, "CPU it runs on.";
        port: "1 to 65535" Ron("12865"), "Port it listens on.";
        window: "size" Ron("\"524288B\""), "Largest window it advertises: what autotuning reaches for twice the data in flight at 10 Gbit/s.";
        size: "size" Ron("\"87380B\""), "Bytes of one receive (`-M`).";
    }
    QUIESCENT "Quiescent" "Stop when nothing is left to do." {
        limit: "time" Required, "Stop at this time if that never happens.";
    }
    MEASURE "Measure" "A measurement in steady state, repeated with several seeds." {
        warmup: "time" Ron("\"2ms\""), "Time before counters start.";
        window: "time" Required, "Length of the measured window.";
        seeds: "1 to 10000" Ron("1"), "Runs, with the seeds 0 to this less one.";
    }
    EXPLORE "Explore" "A search of the orders in which steps can happen." {
        size: "\"CPUSxPACKETS\"" Computed("what the loads say; 2x2 for loads that never end"), "CPUs that send, and packets of each: loads are cut to it.";
        preemptions: "0 to 8" Ron("3"), "All schedules with so many preemptions are tried.";
        deviations: "0 to 4" Ron("2"), "Before that, all with so many deviations from the usual one.";
        schedule: "token" Computed("searched"), "A schedule that was found once (`skbsim explore --save` writes it); it is run instead of a search.";
        repair: "map of path to RON in quotes" Ron("{}"), "Changes, as for `--set`, under which the bug is repaired: `test` explores that too, and no law may be broken.";
    }
    SWEEP "Sweep" "Short names of the two most usual axes." {
        threads: "list of `cpus` values" Computed("not swept"), "Sets `cpus` of every Pktgen and Paced load.";
        variant: "list of variants" Computed("not swept"), "Sets `kernel.lockless`.";
    }
    AXIS "Axis" "An axis of a sweep in its general form." {
        path: "text" Required, "Which field, as for --set: `hosts[0].workloads[0].size`, or `threads`, `variant`.";
        values: "list" Required, "The values it takes, as they would stand in the file.";
    }
    EXPECT "Expect" "What a test judges; a run only prints it." {
        violations: "Forbid, Allow, Require([..])" Ron("Forbid"), "Broken laws: none may occur, any may, or each of these must.";
        metrics: "list of Bound" Ron("[]"), "Bounds on results.";
    }
    BOUND "Bound" "A bound on one metric." {
        metric: "metric name" Required, "Which metric.";
        min: "number or quantity" Computed("none"), "Smallest value allowed.";
        max: "number or quantity" Computed("none"), "Largest value allowed.";
    }
    PROFILE "Profile" "A machine profile: a file of its own." {
        name: "text" Required, "Name of the profile.";
        arch: "arm64, x86_64" Required, "Instruction set.";
        memory: "weak, tso" Required, "Memory model.";
        store_buffer: "on, off" Ron("on"), "Whether CPUs have store buffers.";
        topology: "Topology" Required, "Shape.";
        values: "map of parameter to Value" Required, "Every parameter, each with its provenance.";
    }
    TOPOLOGY "Topology" "Each number counts the parts in one part of the level above." {
        sockets: "count" Ron("1"), "Sockets.";
        dies: "count" Ron("1"), "Dies in a socket.";
        clusters: "count" Ron("1"), "Clusters in a die.";
        cores: "count" Required, "Cores in a cluster.";
        smt: "count" Ron("1"), "Hardware threads in a core.";
    }
    VALUE "Value" "A parameter's value and where it comes from: `source` and `range`, or `fitted`, or all." {
        value: "by parameter" Required, "The value.";
        source: "text" Computed("none"), "Where it was read, measured or derived; ids such as H140 are rows of the hardware table.";
        range: "(low, high)" Computed("none; needed with `source`"), "What the source, or the fit, leaves open.";
        fitted: "row id" Computed("none"), "Published row to which it was fitted; that row is then no prediction.";
        note: "text" Computed("none"), "What else a reader should know.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every default is RON, so reading it never fails later.
    #[test]
    fn defaults_parse() {
        for field in STRUCTS.iter().flat_map(|s| s.fields) {
            if let Fallback::Ron(text) = field.default {
                assert!(
                    crate::parse::parse(text, 0).is_ok(),
                    "{}: {text}",
                    field.name
                );
            }
        }
    }
}
