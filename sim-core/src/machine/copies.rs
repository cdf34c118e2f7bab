//! Copies of what is in the caches already.

use super::{Cpu, Span};

impl Cpu<'_> {
    /// Copies `bytes` that this CPU wrote a moment ago, or reads them for a checksum: they come from its
    /// second-level cache.
    pub fn copy_warm(self, bytes: u32) {
        let span = Span::from_ps(self.machine().costs.copy_warm.ps() * u64::from(bytes));
        self.elapse(self.machine().copying(self.id(), span));
    }
}
