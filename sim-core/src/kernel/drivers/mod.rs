//! Drivers.

pub(crate) mod dummy;
pub mod nic;
