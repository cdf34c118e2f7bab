//! skbsim's simulator: no files, no terminal, no printing.
//!
//! Kernel code is written once, as `async fn` over shared words that live on cache lines. Each touch
//! of a shared word is one await: one micro-step, one place where another CPU may get in. The
//! [engine] gives every step a cost, so costs decide the order; throughput, latency, lock waits
//! and lost packets come out.
//!
//! # A tour
//!
//! The smallest world: two CPUs, a dummy device, and a pktgen thread on each that sends one packet.
//!
//! ```
//! use sim_core::config::*;
//! use sim_core::machine::cost::{Arch, Profile};
//! use sim_core::machine::layout::LayoutSet;
//! use sim_core::trace::{Kind, Mode, Source};
//! use sim_core::world::{Options, run};
//!
//! let pktgen = Pktgen {
//!     dev: 0,
//!     mode: XmitMode::QueueXmit,
//!     cpus: vec![0, 1],
//!     packets: Some(1),
//!     clone_skb: 0,
//!     burst: 1,
//!     size: 60,
//!     priority: 0,
//! };
//! let host = Host {
//!     name: "h0".into(),
//!     machine: Profile::round(Arch::X86_64, 2).into(),
//!     kernel: Kernel::default(),
//!     layouts: LayoutSet::default(),
//!     devices: vec![Device {
//!         name: "d0".into(),
//!         kind: DeviceKind::Dummy,
//!         txqs: 1,
//!         qdisc: Qdisc::PfifoFast { limit: 16 },
//!         rps_cpus: Vec::new(),
//!         xps: Vec::new(),
//!     }],
//!     workloads: vec![Workload::Pktgen(pktgen)],
//! };
//! let config = Config {
//!     name: "tour".into(),
//!     hosts: vec![host],
//!     links: vec![],
//!     stop: Stop::Quiescent { limit: 1_000_000_000 },
//!     warmup: 0,
//!     step_limit: 1_000_000,
//! };
//! let options = Options { trace: Mode::All { bytes: 1 << 20 }, ..Options::default() };
//! let outcome = run(&config, &options);
//!
//! // Both packets were offered; whatever happened to them is accounted for.
//! assert_eq!(outcome.metrics.flows.iter().map(|f| f.offered).sum::<u64>(), 2);
//!
//! // The trace says who touched what, when. Here: every atomic on the lock that decides who drains.
//! let trace = outcome.recording.expect("it was on");
//! let seqlock = trace.names().words.iter().position(|w| w.name == "Qdisc d0:0 seqlock").unwrap();
//! let taken = (0..trace.len())
//!     .map(|i| trace.get(i))
//!     .filter(|r| r.kind() == Kind::Rmw && r.a == seqlock as u32)
//!     .count();
//! assert!(taken >= 1);
//!
//! // The same seed gives the same run, byte for byte.
//! assert_eq!(run(&config, &Options::default()).digest, outcome.digest);
//! ```
//!
//! Where to look next: [`kernel`] has one file a kernel file, [`machine`] is the memory model,
//! [`world::run`] the wiring, [`violation::Law`] what may not happen.

pub mod config;
pub mod engine;
pub mod explore;
pub mod frame;
pub mod kernel;
pub mod machine;
pub mod metrics;
pub mod trace;
pub mod violation;
mod workload;
pub mod world;
