//! Lockless variants from outside the tree (skeleton; more methods come).

/// Object-safe form of a user's variant.
pub trait LocklessOps: Send + Sync {
    /// The name used in scenarios.
    fn name(&self) -> &str;
}
