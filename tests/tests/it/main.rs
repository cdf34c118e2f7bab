//! What holds for the whole of skbsim: the same bytes for the same seed (`determinism`, `golden`), the
//! laws of the counters (`laws`), races found and repairs without any (`explore`), checkers that fire when a bug is planted (`planted`), variants from
//! outside the tree (`user_variant`), the viewer at a stuck packet (`viewer`), and the architecture as
//! scans of the source (`tidy`).

mod determinism;
mod doorbell;
mod explore;
mod features_recordings;
mod golden;
mod laws;
mod layouts;
mod lltx;
mod nic_recordings;
mod planted;
mod qdisc_recordings;
mod receive;
mod support;
mod tc;
mod tidy;
mod user_variant;
mod viewer;
