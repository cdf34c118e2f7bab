//! What happened in a run: small fixed records, kept in chunks, and the digest over them.
//!
//! Everything shown anywhere (report, viewer, export) is a fold over these records and the
//! metrics. A record is 24 bytes and names things by number; [`Names`] turns the numbers back
//! into the kernel's words.

mod names;
mod record;
mod sink;
mod source;

pub use names::{LineName, Names, WordName};
pub use record::{DqlField, Kind, Level, NO_CPU, Record};
pub use sink::{Mode, Sink};
pub use source::{Recording, Source};
