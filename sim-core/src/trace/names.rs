//! The words behind the numbers of trace records.

/// Where a shared word lives and what the kernel calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordName {
    /// The kernel's name, e.g. `qdisc d0:0 seqlock` (object first, then the field).
    pub name: String,
    /// Index of its cache line in [`Names::lines`].
    pub line: u32,
    /// Byte offset within the line.
    pub offset: u16,
}

/// A cache line that holds named words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineName {
    /// Object and line, e.g. `Qdisc d0:0 line 2`.
    pub name: String,
}

/// Every name that a trace's numbers stand for. Made once, before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Name of the scenario.
    pub scenario: String,
    /// One name a logical CPU, e.g. `CPU0` (`h0/CPU0` when there are several hosts).
    pub cpus: Vec<String>,
    /// Coherence core of each logical CPU (SMT siblings share one).
    pub cores: Vec<u16>,
    /// Tasks, e.g. `kpktgend_0`, `ksoftirqd/0`.
    pub tasks: Vec<String>,
    /// Kernel functions.
    pub functions: Vec<String>,
    /// Shared words.
    pub words: Vec<WordName>,
    /// Cache lines.
    pub lines: Vec<LineName>,
    /// Locks, e.g. `d0:0 seqlock`.
    pub locks: Vec<String>,
    /// Qdiscs, e.g. `d0:0 pfifo_fast`.
    pub qdiscs: Vec<String>,
    /// Transmit queues, e.g. `d0:0`.
    pub txqs: Vec<String>,
    /// Drop reasons.
    pub reasons: Vec<String>,
    /// Marks of the model.
    pub marks: Vec<String>,
}
