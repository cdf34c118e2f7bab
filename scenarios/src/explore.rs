//! What a scenario says about the exploration of its schedules.

use sim_core::explore::{Size, Token};

/// How the schedules of a scenario are explored, and under which changes there must be none that breaks a law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explore {
    /// CPUs that send, and packets of each.
    pub size: Option<Size>,
    /// All schedules with so many preemptions are tried.
    pub preemptions: u32,
    /// Before that, all with so many deviations from the usual one.
    pub deviations: u32,
    /// A schedule that was found once: it is run instead of a search.
    pub schedule: Option<Token>,
    /// Paths and values, as for `--set`: with all of them the bug is repaired.
    pub repair: Vec<(String, String)>,
}
