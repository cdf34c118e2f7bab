//! Engine (skeleton).

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The configured end was reached.
    Deadline,
    /// Nothing was left to do.
    Quiescent,
    /// Contexts wait for each other: one line each, `CPU0 task kpktgend_0 waits on d0:0 seqlock`.
    Deadlock(Vec<String>),
    /// The step limit was hit; the text names the last mark or function of the busiest context.
    StepLimit(String),
    /// The recording ran out of its memory.
    TraceFull,
}
