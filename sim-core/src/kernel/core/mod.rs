//! `net/core`.

pub mod dev_xmit;
