//! Results as text and JSON. Nothing here knows files, terminals or time: an outcome goes in, the
//! same bytes come out.

pub mod c2c;
pub mod counters;
pub mod explore;
pub mod json;
pub mod netperf;
pub mod one;
pub mod perf;
pub mod receive;
pub mod repro;
pub mod seeds;
pub mod violation;
