//! TCP from end to end: two hosts and a cable.

use super::testing::profile;
use super::{Options, Outcome, run};
use crate::config::{
    Config, Device, DeviceKind, Host, Kernel, Link, Moderation, Netperf, Netserver, Nic, NicDriver,
    Qdisc, Stop, Vlan, Workload,
};
use crate::engine::StopReason;
use crate::frame::{Tag, Tpid};
use crate::kernel::Func;
use crate::kernel::features::{Features, VlanFeatures};
use crate::kernel::variant::{Builtin, Lockless};
use crate::machine::cost::{Arch, Param};
use crate::machine::layout::LayoutSet;
use crate::trace::{Kind, Mode, Record};
use crate::violation::Law;
use std::sync::Arc;

fn nic() -> Nic {
    Nic {
        driver: NicDriver::Plain,
        tx_ring: 512,
        rx_ring: 1024,
        rate: 10_000_000_000,
        irq_cpus: vec![0],
        moderation: Moderation::Delay {
            after: 75_000_000,
            frames: u32::MAX,
        },
        bql: None,
        stop_thresh: 1,
        wake_thresh: 256,
        napi_weight: crate::kernel::napi::WEIGHT,
        wire_overhead: crate::machine::nic::ETHERNET_OVERHEAD,
        features: Features::NONE,
        vlan_features: Features::NONE,
        max_tags_offload: 1,
        tx_memory: 0,
    }
}

const OFFLOADS: Features = Features::SG.or(Features::HW_CSUM).or(Features::TSO);

fn myri10ge() -> Nic {
    Nic {
        driver: NicDriver::Myri10ge,
        features: OFFLOADS,
        vlan_features: OFFLOADS,
        tx_ring: 1024,
        ..nic()
    }
}

fn vlan(name: &str, on: usize, vid: u16, reorder_hdr: bool) -> Device {
    let tag = Tag { tpid: Tpid::Q, vid };
    Device {
        name: name.into(),
        kind: DeviceKind::Vlan(Vlan {
            on,
            tag,
            reorder_hdr,
        }),
        txqs: 1,
        qdisc: Qdisc::Noqueue,
        rps_cpus: Vec::new(),
        xps: Vec::new(),
    }
}

fn kernel(config: &mut Config, vlan_features: VlanFeatures) {
    for host in &mut config.hosts {
        host.kernel.vlan_features = vlan_features;
        host.kernel.validate_in_lock = vlan_features != VlanFeatures::Modern;
        host.kernel.lockless = Lockless::Builtin(Builtin::Locked);
    }
}

/// What became of one skb of 45 segments.
#[derive(Debug, PartialEq, Eq)]
struct Fate {
    /// Frames handed to the lowest driver, and how many went over the wire with data.
    handed: u64,
    wire: usize,
    /// Length of the first.
    len: u32,
    segmented: usize,
    summed: usize,
    laws: Vec<Law>,
}

fn fate(nic: &Nic, above: &[Device], rule: VlanFeatures) -> Fate {
    let mut config = config(Some(65_160), nic, above);
    kernel(&mut config, rule);
    let options = Options {
        trace: Mode::All { bytes: 64 << 20 },
        ..Options::default()
    };
    let outcome = run(&config, &options);
    let records = outcome.recording.map(|r| r.records).unwrap_or_default();
    let wire: Vec<u32> = records
        .iter()
        .filter(|r| r.kind() == Kind::WireDone && r.b > 200)
        .map(|r| r.b)
        .collect();
    let entered = |f: Func| {
        let enter = |r: &&Record| r.kind() == Kind::FnEnter && r.a == f as u32;
        records.iter().filter(enter).count()
    };
    let laws: Vec<Law> = outcome.violations.iter().map(|v| v.law).collect();
    if laws.is_empty() {
        assert_eq!(outcome.metrics.streams[0].bytes, 65_160, "{nic:?}");
    }
    Fate {
        handed: outcome.metrics.devices[0].tx_packets,
        wire: wire.len(),
        len: wire[0],
        segmented: entered(Func::SkbSegment),
        summed: entered(Func::ChecksumHelp) + entered(Func::Linearize),
        laws,
    }
}

fn host(name: &str, devices: Vec<Device>, load: Workload) -> Host {
    Host {
        name: name.into(),
        machine: Arc::new(profile(Arch::X86_64)),
        kernel: Kernel::default(),
        layouts: LayoutSet::default(),
        devices,
        workloads: vec![load],
    }
}

fn eth0(nic: Nic) -> Device {
    Device {
        name: "eth0".into(),
        kind: DeviceKind::Nic(nic),
        txqs: 1,
        qdisc: Qdisc::Pfifo { limit: 1000 },
        rps_cpus: Vec::new(),
        xps: Vec::new(),
    }
}

/// Two hosts; `above` are the devices on eth0, and the connection uses the last.
fn config(bytes: Option<u64>, nic: &Nic, above: &[Device]) -> Config {
    let mut devices = vec![eth0(nic.clone())];
    devices.extend_from_slice(above);
    let dev = devices.len() - 1;
    let netperf = Workload::Netperf(Netperf {
        dev,
        cpu: 0,
        conn: 1,
        mtu: 1500,
        message: 65_536,
        sndbuf: 1 << 20,
        limit_output: 131_072,
        bytes,
    });
    let netserver = Workload::Netserver(Netserver {
        dev,
        cpu: 1,
        conn: 1,
        mtu: 1500,
        window: 512 << 10,
        size: 87_380,
    });
    Config {
        name: "tcp".into(),
        hosts: vec![
            host("h0", devices.clone(), netperf),
            host("h1", devices, netserver),
        ],
        links: vec![Link {
            a: (0, 0),
            b: (1, 0),
            delay: 500_000,
        }],
        stop: bytes.map_or(Stop::At(20_000_000_000), |_| Stop::Quiescent {
            limit: 1_000_000_000_000,
        }),
        warmup: if bytes.is_some() { 0 } else { 5_000_000_000 },
        step_limit: 1_000_000_000,
    }
}

fn go(config: &Config, seed: u64) -> Outcome {
    let options = Options {
        seed,
        ..Options::default()
    };
    run(config, &options)
}

/// Every byte written is read, once and in order, and everything is freed.
#[test]
fn all_bytes_arrive() {
    for bytes in [1, 1448, 1449, 65_536, 3_000_000] {
        let outcome = go(&config(Some(bytes), &nic(), &[]), 1);
        assert_eq!(outcome.violations, [], "{bytes}");
        assert_eq!(outcome.stop, StopReason::Quiescent);
        assert_eq!(outcome.metrics.streams[0].bytes, bytes);
    }
}

/// The table at the end of the specification's test vectors: what reaches the NIC, by kernel and stack.
#[test]
fn what_reaches_the_nic() {
    use VlanFeatures::{Modern, ThreadPatch, V3_7};
    let r = myri10ge();
    let inserts = Nic {
        features: OFFLOADS | Features::HW_VLAN_CTAG_TX,
        ..r.clone()
    };
    let one = |reorder| [vlan("v", 0, 5, reorder)];
    let two = [vlan("v", 0, 5, true), vlan("w", 1, 7, true)];
    let fate_of = |handed, len, segmented| Fate {
        handed,
        wire: 45,
        len,
        segmented,
        summed: 0,
        laws: vec![],
    };
    let tso = fate_of(1, 1518, 0);
    assert_eq!(fate(&r, &[], V3_7), fate_of(1, 1514, 0), "no VLAN");
    assert_eq!(fate(&r, &one(true), V3_7), tso, "V on R");
    assert_eq!(
        fate(&r, &one(false), V3_7),
        fate_of(45, 1518, 1),
        "no reorder_hdr"
    );
    assert_eq!(fate(&inserts, &one(false), V3_7), tso, "R inserts tags");
    assert_eq!(fate(&r, &one(false), ThreadPatch), tso, "the patch");
    assert_eq!(fate(&r, &one(true), Modern), tso);
    assert_eq!(fate(&r, &one(false), Modern), tso);
    // The sender makes segments itself, and sums while it copies.
    assert_eq!(fate(&r, &two, V3_7), fate_of(45, 1522, 0), "W on V on R");
    // Segmented at the bottom, not copied.
    assert_eq!(fate(&r, &two, Modern), fate_of(45, 1522, 1));
    let wrong = fate(&r, &two, ThreadPatch);
    assert_eq!(
        (wrong.handed, wrong.len, wrong.segmented),
        (1, 1522, 0),
        "{wrong:?}"
    );
    assert_eq!(wrong.laws[0], Law::BadOffload);
    let parses_two = Nic {
        max_tags_offload: 2,
        ..r
    };
    assert_eq!(fate(&parses_two, &two, ThreadPatch), fate_of(1, 1522, 0));
}

/// A ring that is too small for what TCP sends is stopped and woken, and nothing is lost on the way.
#[test]
fn a_small_ring_stops_and_wakes() {
    let small = Nic {
        tx_ring: 96,
        ..myri10ge()
    };
    let stacks = [
        vec![vlan("v", 0, 5, false)],
        vec![vlan("v", 0, 5, true), vlan("w", 1, 7, true)],
    ];
    for rule in [VlanFeatures::V3_7, VlanFeatures::Modern] {
        for above in &stacks {
            let mut config = config(Some(2_000_000), &small, above);
            kernel(&mut config, rule);
            for host in &mut config.hosts {
                // Faster than the wire, so that the ring fills.
                let mut profile = (*host.machine).clone();
                profile.set(Param::InsnsPerUs, 20_000);
                profile.set(Param::CopyByte, 10);
                profile.set(Param::CopyWarm, 10);
                host.machine = Arc::new(profile);
            }
            let outcome = go(&config, 1);
            assert_eq!(outcome.violations, [], "{rule:?} {above:?}");
            assert_eq!(outcome.metrics.streams[0].bytes, 2_000_000);
        }
    }
}

/// The same seed gives the same run, with and without the fast path.
#[test]
fn streams_are_deterministic() {
    let mut config = config(Some(1_000_000), &myri10ge(), &[vlan("v", 0, 5, false)]);
    kernel(&mut config, VlanFeatures::V3_7);
    let digest = |seed, fast_path| {
        let options = Options {
            seed,
            fast_path,
            ..Options::default()
        };
        run(&config, &options).digest
    };
    assert_eq!(digest(1, true), digest(1, true));
    assert_eq!(digest(1, true), digest(1, false));
}

/// A tag that nobody has, or tags in another order, reach no socket.
#[test]
fn only_the_same_stack_receives() {
    let nic = myri10ge();
    let sends = [vlan("v", 0, 5, true), vlan("w", 1, 7, true)];
    let mut config = config(Some(10_000), &nic, &sends);
    kernel(&mut config, VlanFeatures::Modern);
    config.hosts[1].devices[1] = vlan("v", 0, 7, true);
    config.hosts[1].devices[2] = vlan("w", 1, 5, true);
    let outcome = go(&config, 1);
    assert_eq!(outcome.metrics.streams[0].bytes, 0);
    assert_eq!(outcome.violations.len(), 1, "{:?}", outcome.violations);
    assert_eq!(outcome.violations[0].law, Law::PacketLost);
}

/// An endless stream fills the wire if nothing else limits.
#[test]
fn a_stream_streams() {
    let outcome = go(&config(None, &nic(), &[]), 1);
    assert_eq!(outcome.violations, []);
    let s = &outcome.metrics.streams[0];
    let w = outcome.metrics.window;
    // One of the eight CPUs is the sender's, and busy.
    assert!((12.4..=12.51).contains(&s.send.utilisation_pct(w)));
    assert!(s.throughput(w) > 500e6, "{}", s.throughput(w));
}
