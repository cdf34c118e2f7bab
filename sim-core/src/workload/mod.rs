//! Loads: what puts packets into the stack.

pub(crate) mod netperf;
pub(crate) mod paced;
pub(crate) mod pktgen;
pub(crate) mod trafgen;
pub(crate) mod train;
pub(crate) mod udp;
