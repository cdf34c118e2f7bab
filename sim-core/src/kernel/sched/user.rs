//! Lockless variants from outside the tree.
//!
//! Implement [`LocklessVariant`] and register it under a name; scenarios then choose it with
//! `kernel: (lockless: that_name)`. Everything else is as in `v0`: packets are always queued, and
//! whoever becomes the owner drains.

use super::qdisc::Qdisc;
use crate::kernel::Cpu;
use std::future::Future;
use std::pin::Pin;

/// How a user's variant decides who drains a lockless qdisc.
pub trait LocklessVariant: Send + Sync {
    /// The name used in scenarios.
    fn name(&self) -> &str;

    /// `qdisc_run_begin`: true if this CPU is to drain `q`.
    fn run_begin(&self, cpu: Cpu<'_>, q: &Qdisc) -> impl Future<Output = bool>;

    /// `qdisc_run_end`: the drain is over; the seqlock must be released here.
    fn run_end(&self, cpu: Cpu<'_>, q: &Qdisc) -> impl Future<Output = ()>;
}

/// A future in a box; one a call, only for users' variants.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Object-safe form of [`LocklessVariant`]; every variant has it.
pub trait LocklessOps: Send + Sync {
    /// See [`LocklessVariant::name`].
    fn name(&self) -> &str;
    /// See [`LocklessVariant::run_begin`].
    fn run_begin<'a>(&'a self, cpu: Cpu<'a>, q: &'a Qdisc) -> Boxed<'a, bool>;
    /// See [`LocklessVariant::run_end`].
    fn run_end<'a>(&'a self, cpu: Cpu<'a>, q: &'a Qdisc) -> Boxed<'a, ()>;
}

impl<V: LocklessVariant> LocklessOps for V {
    fn name(&self) -> &str {
        LocklessVariant::name(self)
    }
    fn run_begin<'a>(&'a self, cpu: Cpu<'a>, q: &'a Qdisc) -> Boxed<'a, bool> {
        Box::pin(LocklessVariant::run_begin(self, cpu, q))
    }
    fn run_end<'a>(&'a self, cpu: Cpu<'a>, q: &'a Qdisc) -> Boxed<'a, ()> {
        Box::pin(LocklessVariant::run_end(self, cpu, q))
    }
}
