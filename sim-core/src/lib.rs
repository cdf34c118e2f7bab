//! skbsim's simulator: no files, no terminal, no printing.
//!
//! Kernel code is written once, as `async fn` over shared words that live on cache lines. Each touch
//! of a shared word is one await: one micro-step, one place where another CPU may get in. The
//! [engine](engine) gives every step a cost, so costs decide the order; throughput, latency, lock waits
//! and lost packets come out.

pub mod config;
pub mod engine;
pub mod kernel;
pub mod machine;
pub mod metrics;
pub mod trace;
pub mod violation;
mod workload;
pub mod world;
