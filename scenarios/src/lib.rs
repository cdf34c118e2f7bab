//! Scenarios: from RON files to checked configurations of the simulator.
//!
//! A scenario is a question in a file. This crate reads it ([`Loader`]), judges it by every rule at
//! once ([`rules::RULES`]), says what is wrong with line, column and remedy ([`Rejected`]), and
//! otherwise gives a [`Scenario`]: a base configuration, the points of its sweep, what to measure and
//! what to expect.
//!
//! ```
//! use scenarios::{Loader, Registry};
//!
//! let text = r#"(
//!     version: 1, name: "one-sender", machine: "kunpeng-920",
//!     hosts: [(
//!         name: "h0",
//!         devices: [(name: "d0", kind: Dummy)],
//!         workloads: [Pktgen(dev: "d0", mode: QueueXmit, cpus: [0])],
//!     )],
//!     measure: (window: "3ms"),
//!     sweep: (variant: [v0, v5]),
//! )"#;
//! let registry = Registry::new();
//! let scenario = Loader::new(&registry).load_str("one-sender.ron", text)?;
//! assert_eq!(scenario.points().len(), 2);
//! assert_eq!(scenario.points()[1].label, "variant=v5");
//!
//! let wrong = text.replace("Dummy", "Dumy").replace("[0]", "[99]");
//! let rejected = Loader::new(&registry).load_str("one-sender.ron", &wrong).unwrap_err();
//! assert_eq!(rejected.problems.len(), 2);
//! assert_eq!((rejected.problems[0].line, rejected.problems[0].col), (5, 38));
//! # Ok::<(), scenarios::Rejected>(())
//! ```
//!
//! The way of a file: [`parse`] (text to a tree with spans), `sweep` (`--set` and axes, on the tree),
//! `file` (names, types, units: a draft), `check` (the rules), `scenario` (the configuration). The
//! format itself is one table, [`schema`].
//!
//! Not here: running anything, and finding files on disk other than the ones that are named.

pub mod error;
pub mod expect;
mod explore;
pub mod layouts;
pub mod library;
pub mod pahole;
pub mod parse;
pub mod rules;
pub mod schema;
pub mod tree;
pub mod units;

mod check;
mod effective;
mod file;
mod loader;
mod machine;
mod qdiscs;
mod receive;
mod reference;
mod registry;
mod render;
mod scenario;
mod streams;
mod sweep;
mod walk;

pub use error::{Problem, Rejected};
pub use expect::{Bound, Expect, Violations};
pub use explore::Explore;
pub use file::Measure;
pub use loader::Loader;
pub use machine::{ProfileFile, Sourced, print_value};
pub use reference::reference_markdown;
pub use registry::{RegisterError, Registry};
pub use scenario::{Point, Scenario};
pub use sweep::Axis;
