//! Kernel patches as variants: code in one place, chosen by name in the scenario.

use std::fmt;
use std::sync::Arc;

/// How a lockless (`TCQ_F_NOLOCK`) qdisc decides who drains it.
#[derive(Clone)]
pub enum Lockless {
    /// One of the variants that ship with the simulator.
    Builtin(Builtin),
    /// One that a user registered.
    User(Arc<dyn crate::kernel::sched::user::LocklessOps>),
}

impl fmt::Debug for Lockless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Lockless {
    /// The name used in scenarios.
    pub fn name(&self) -> &str {
        match self {
            Lockless::Builtin(b) => b.name(),
            Lockless::User(u) => u.name(),
        }
    }
}

macro_rules! builtins {
    ($($(#[$doc:meta])* $id:ident = $name:literal),* $(,)?) => {
        /// The lockless-qdisc variants of the kernel's history and of the thread.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Builtin { $($(#[$doc])* $id),* }

        impl Builtin {
            /// All of them.
            pub const ALL: &'static [Builtin] = &[$(Builtin::$id),*];

            /// The name used in scenarios.
            pub fn name(self) -> &'static str {
                match self { $(Builtin::$id => $name),* }
            }

            /// The variant called `name`.
            pub fn from_name(name: &str) -> Option<Builtin> {
                Builtin::ALL.iter().copied().find(|b| b.name() == name)
            }
        }
    };
}

builtins! {
    /// `pfifo_fast` with `TCQ_F_NOLOCK | TCQ_F_CPUSTATS` removed: the classic root lock.
    Locked = "locked",
    /// Vanilla v4.16 to v5.12: a failed trylock simply leaves (loses packets).
    V0 = "v0",
    /// v5.2 to v5.5: the first bypass, without a second look under the lock.
    V0b = "v0b",
    /// The thread's patch: `NEED_RESCHEDULE` (its patch set 1).
    V1 = "v1",
    /// "Just call `__netif_schedule()`" when the trylock fails.
    V2 = "v2",
    /// As merged in v5.13: `MISSED`.
    V3 = "v3",
    /// v5.13 without its third patch: `MISSED` stays set while the queue is stopped.
    V3NoStoppedFix = "v3_no_stopped_fix",
    /// v5.14 to v5.18: bypass and `DRAINING`.
    V4 = "v4",
    /// v5.19 and later: both barrier fixes.
    V5 = "v5",
    /// The thread's RFC v3 bypass on top of vanilla.
    RfcBypass = "rfc_bypass",
    /// Patch set 2: v1 and the bypass.
    Set2 = "set2",
    /// Patch set 3: set 2, no seqcount, return code checked, retry optimised.
    Set3 = "set3",
}
