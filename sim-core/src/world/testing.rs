//! Kernel code under test: the contexts of a small host run what a test gives them instead of a load.

use super::build::{Body, World};
use super::{Options, contexts};
use crate::config::{
    Config, Device, DeviceKind, Host, Kernel, Moderation, Nic, NicDriver, Qdisc, Set3Retry, Stop,
    Workload,
};
use crate::engine::task::Task;
use crate::engine::time::Instant;
use crate::engine::{Class, StopReason};
use crate::kernel::Cpu;
use crate::kernel::features::Features;
use crate::kernel::variant::{Builtin, Lockless};
use crate::machine::cost::{Arch, MemoryModel, Param, Profile, TopologySpec};
use crate::machine::layout::LayoutSet;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A host of a test: so many senders' CPUs, one device `d0` with a `pfifo_fast` of `limit`, one NIC `e0`.
#[derive(Clone, Debug)]
pub(crate) struct Rig {
    pub profile: Profile,
    pub cpus: u16,
    pub limit: u32,
    pub dev_weight: u32,
    pub seed: u64,
}

/// Round costs without chance: a thousand instructions a microsecond, 40 ns to a neighbour's line.
pub(crate) fn profile(arch: Arch) -> Profile {
    let (memory, values) = match arch {
        Arch::Arm64 => (MemoryModel::Weak, vec![0; Param::ALL.len()]),
        Arch::X86_64 => (MemoryModel::Tso, vec![0; Param::ALL.len()]),
    };
    let topology = TopologySpec {
        sockets: 1,
        dies: 1,
        clusters: 1,
        cores: 8,
        smt: 1,
    };
    let mut p = Profile {
        name: "test".into(),
        arch,
        memory,
        store_buffer: true,
        topology,
        values,
    };
    use Param::*;
    for (param, value) in [
        (InsnsPerUs, 1000),
        (TransferCluster, 40_000),
        (TransferDie, 40_000),
        (TransferSocket, 40_000),
        (TransferRemote, 40_000),
        (Memory, 80_000),
        (Rmw, 5_000),
        (Mb, 10_000),
        (SpinLoop, 5_000),
        (IrqEntry, 100_000),
        (ContextSwitch, 500_000),
        (JitterChunk, 1),
        (SmtGain, 1300),
        (CopyByte, 250),
        (CopyWarm, 250),
        (Mlp, 2000),
    ] {
        p.set(param, value);
    }
    p
}

impl Rig {
    pub fn new(arch: Arch, cpus: u16) -> Rig {
        Rig {
            profile: profile(arch),
            cpus,
            limit: 64,
            dev_weight: 64,
            seed: 0,
        }
    }

    fn config(&self) -> Config {
        let nic = DeviceKind::Nic(Nic {
            driver: NicDriver::Plain,
            tx_ring: 64,
            rx_ring: 64,
            rate: 10_000_000_000,
            irq_cpus: vec![0],
            moderation: Moderation::Throttle(50_000_000),
            bql: None,
            stop_thresh: 1,
            wake_thresh: 1,
            napi_weight: crate::kernel::napi::WEIGHT,
            wire_overhead: crate::machine::nic::ETHERNET_OVERHEAD,
            features: Features::NONE,
            vlan_features: Features::NONE,
            max_tags_offload: 1,
            tx_memory: 0,
        });
        let device = |name: &str, kind, qdisc| Device {
            name: name.into(),
            kind,
            txqs: 1,
            qdisc,
            rps_cpus: Vec::new(),
            xps: Vec::new(),
        };
        Config {
            name: "test".into(),
            links: Vec::new(),
            hosts: vec![Host {
                name: "h0".into(),
                machine: Arc::new(self.profile.clone()),
                kernel: Kernel {
                    lockless: Lockless::Builtin(Builtin::V5),
                    set3_retry: Set3Retry::ReadFirst,
                    dev_weight: self.dev_weight,
                    tas_bit_early_return: false,
                    ..Kernel::default()
                },
                layouts: LayoutSet::default(),
                devices: vec![
                    device(
                        "d0",
                        DeviceKind::Dummy,
                        Qdisc::PfifoFast { limit: self.limit },
                    ),
                    device("e0", nic, Qdisc::Noqueue),
                ],
                workloads: vec![Workload::Paced {
                    dev: 0,
                    cpus: (0..self.cpus).collect(),
                    every: 1_000_000,
                    size: 60,
                    packets: Some(200),
                }],
            }],
            stop: Stop::Quiescent {
                limit: 100_000_000_000,
            },
            warmup: 0,
            step_limit: 10_000_000,
        }
    }

    /// Runs `body` as the task of each CPU until all has come to rest.
    ///
    /// # Panics
    /// If a body did not come to its end, so its assertions prove nothing.
    pub fn run<F>(&self, body: F) -> StopReason
    where
        F: for<'w> Fn(Cpu<'w>) -> Pin<Box<dyn Future<Output = ()> + 'w>>,
    {
        let finished = Cell::new(0);
        let config = self.config();
        let world = World::build(
            &config,
            &Options {
                seed: self.seed,
                ..Options::default()
            },
        );
        let mut tasks: Vec<Task<'_>> = contexts(&world, &config);
        let host = &world.hosts[0];
        for (ctx, what) in host.bodies.iter().enumerate() {
            if matches!(what, Body::Paced(_)) && host.probe != Some(ctx as u32) {
                let cpu = host.cpu(ctx as u32);
                let (work, finished) = (body(cpu), &finished);
                tasks[ctx] = Box::pin(async move {
                    work.await;
                    finished.set(finished.get() + 1);
                    cpu.settle().await;
                    cpu.sleep().await;
                });
            }
        }
        world.engine.push(
            Instant::from_ps(100_000_000_000),
            Class::Drain,
            world.events.stop,
        );
        world.start();
        let stop = world.go(&mut tasks);
        assert_eq!(
            finished.get(),
            self.cpus,
            "every CPU came to its end: {stop:?}"
        );
        stop
    }
}
