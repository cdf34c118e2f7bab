//! TCP from end to end: two hosts and a cable.

use super::testing::profile;
use super::{Options, Outcome, run};
use crate::config::{
    Config, Device, DeviceKind, Host, Kernel, Link, Moderation, Netperf, Netserver, Nic, NicDriver,
    Qdisc, Stop, Workload,
};
use crate::engine::StopReason;
use crate::machine::cost::Arch;
use crate::machine::layout::LayoutSet;
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
        wire_overhead: crate::machine::nic::ETHERNET_OVERHEAD,
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
        message: 65_536,
        sndbuf: 1 << 20,
        limit_output: 131_072,
        bytes,
    });
    let netserver = Workload::Netserver(Netserver {
        dev,
        cpu: 1,
        conn: 1,
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

/// An endless stream fills the window with bytes.
#[test]
fn a_stream_streams() {
    let outcome = go(&config(None, &nic(), &[]), 1);
    assert_eq!(outcome.violations, []);
    let s = &outcome.metrics.streams[0];
    let w = outcome.metrics.window;
    println!(
        "{:.2} Mbit/s, send {:.2} % {:.3}, recv {:.2} % {:.3}",
        s.throughput(w) / 1e6,
        s.send.utilisation_pct(w),
        s.send.service_demand(s.bytes),
        s.recv.utilisation_pct(w),
        s.recv.service_demand(s.bytes)
    );
    assert!(s.throughput(w) > 500e6, "{}", s.throughput(w));
}
