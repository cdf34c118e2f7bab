//! skbsim's simulator: no files, no terminal, no printing.

pub mod config;
pub mod engine;
pub mod kernel;
pub mod machine;
pub mod metrics;
pub mod trace;
pub mod violation;
pub mod world;
