//! `net/core`.

pub mod dev_xmit;
pub(crate) mod receive;
pub(crate) mod validate;
