//! One trace record and its kinds.

/// The value of [`Record::cpu`] for records that no CPU caused (devices, timers).
pub const NO_CPU: u16 = u16::MAX;

/// One thing that happened. 24 bytes, so that a 64 KiB chunk holds 2730.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Record {
    /// Simulated time in picoseconds since the start of the run.
    pub time: u64,
    /// The logical CPU (numbered across hosts), or [`NO_CPU`].
    pub cpu: u16,
    /// A [`Kind`] as a number; see [`Record::kind`].
    pub kind: u16,
    /// How many records back the one stands that enabled this one; 0 = none known.
    pub cause: u32,
    /// First argument; its meaning depends on the kind.
    pub a: u32,
    /// Second argument; its meaning depends on the kind.
    pub b: u32,
}

impl Record {
    /// The kind of this record.
    ///
    /// # Panics
    /// If the record was not written by this version of the simulator.
    pub fn kind(&self) -> Kind {
        Kind::ALL[usize::from(self.kind)]
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// What a [`Record`] says. The comment of each kind gives the meaning of `a` and `b`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Kind { $($(#[$doc])* $name),* }

        impl Kind {
            /// Every kind, in the order of its number.
            pub const ALL: &'static [Kind] = &[$(Kind::$name),*];

            /// The word used for this kind in text outputs.
            pub fn text(self) -> &'static str {
                match self { $(Kind::$name => $text),* }
            }
        }
    };
}

kinds! {
    /// A context starts to run on the CPU (it sleeps or was suspended before).
    /// `a`: [`Level`]; `b`: index into [`Names::tasks`](super::Names::tasks) (tasks only).
    CtxEnter = "ctx_enter",
    /// The running context of level `a` stops running: it went idle, finished, or another
    /// context is put on top of it (the matching `CtxEnter` of that one follows).
    CtxLeave = "ctx_leave",
    /// A kernel function is entered. `a`: index into [`Names::functions`](super::Names::functions).
    FnEnter = "fn_enter",
    /// The kernel function `a` returns. `b`: its result where one was recorded.
    FnLeave = "fn_leave",
    /// A plain load of word `a` bound the value `b` (low 32 bits).
    Load = "load",
    /// A plain store of `b` (low 32 bits) to word `a` was issued (into the store buffer).
    Store = "store",
    /// A release store of `b` to word `a` was issued (`smp_store_release`, `spin_unlock`).
    StoreRelease = "store_release",
    /// An atomic read-modify-write left `b` (low 32 bits) in word `a`.
    Rmw = "rmw",
    /// A store that had waited in this CPU's store buffer became visible: word `a`, value `b`.
    Drain = "store_drain",
    /// A memory barrier completed. `a`: 0 wmb, 1 mb; `b`: picoseconds waited.
    Barrier = "barrier",
    /// This CPU missed on cache line `a`; `b`: picoseconds the CPU stalled for it.
    /// The cost part "line transfer" of a span is the sum of these.
    LineMiss = "line_transfer",
    /// The dirty copy of line `a` was taken from core `b` (HITM). Follows its `LineMiss`.
    LineFrom = "hitm",
    /// The CPU starts to spin on word `a`.
    SpinBegin = "spin_begin",
    /// The CPU stops spinning on word `a`; `b`: nanoseconds waited.
    /// The cost part "wait" of a span is the sum of these.
    SpinEnd = "spin_end",
    /// Lock `a` (index into [`Names::locks`](super::Names::locks)) was acquired; `b`: nanoseconds waited.
    LockAcquire = "lock_acquire",
    /// Lock `a` was released; `b`: nanoseconds it was held.
    LockRelease = "lock_release",
    /// A trylock of lock `a` failed; `b`: the CPU that owned it, or [`NO_CPU`].
    TrylockFail = "trylock_fail",
    /// skb `a` was allocated; `b`: length in bytes.
    SkbAlloc = "skb_alloc",
    /// skb `a` was put into qdisc `b` (index into [`Names::qdiscs`](super::Names::qdiscs)).
    /// A `QdiscLen` record follows.
    QdiscEnqueue = "qdisc_enqueue",
    /// skb `a` was taken from qdisc `b`. A `QdiscLen` record follows.
    QdiscDequeue = "qdisc_dequeue",
    /// skb `a` went back to the head of qdisc `b` (`dev_requeue_skb`).
    QdiscRequeue = "qdisc_requeue",
    /// `b` packets were taken from qdisc `a` at once (bulk dequeue).
    QdiscBulk = "qdisc_bulk",
    /// Qdisc `a` now holds `b` packets.
    QdiscLen = "qdisc_qlen",
    /// skb `a` was dropped; `b`: index into [`Names::reasons`](super::Names::reasons).
    SkbDrop = "kfree_skb",
    /// skb `a` was handed to the driver of txq `b` (index into [`Names::txqs`](super::Names::txqs)).
    DevXmit = "net_dev_xmit",
    /// skb `a` was freed for good (last reference).
    SkbFree = "consume_skb",
    /// skb `a` was received by device `b`.
    NetRx = "netif_receive_skb",
    /// Qdisc `a` was put on this CPU's output queue (`__netif_schedule`); `b`: 1 if SCHED was
    /// already set, so that nothing happened.
    NetifSchedule = "netif_schedule",
    /// Softirq vector `a` was raised on this CPU.
    SoftirqRaise = "softirq_raise",
    /// txq `a` changed its state bits to `b` (bit 0 DRV_XOFF, 1 STACK_XOFF, 2 FROZEN).
    TxqState = "txq_state",
    /// Doorbell of txq `a` was rung; `b`: new tail.
    Doorbell = "doorbell",
    /// The device of txq `a` put a frame's last bit on the wire; `b`: bytes without FCS.
    WireDone = "wire_done",
    /// A bulk queue handed `a` frames to its device; `b`: 1 if the doorbell was asked for.
    XdpXmit = "xdp_devmap_xmit",
    /// The frame in page `a` could not be redirected; `b`: the errno.
    XdpRedirectErr = "xdp_redirect_err",
    /// The vector of NAPI instance `a` interrupts; `b`: descriptors that its device completed so far.
    NicIrq = "nic_irq",
    /// A NAPI poll took `a` packets of at most `b`.
    NapiPoll = "napi_poll",
    /// BQL of a txq at a completion: `a`: txq << 8 | [`DqlField`]; `b`: its value.
    Dql = "dql_completed",
    /// A mark of the model itself: `a` index into [`Names::marks`](super::Names::marks).
    Mark = "mark",
    /// A law was broken here: `a` index into the outcome's violations.
    Violation = "violation",
}

/// Which field of `struct dql` a [`Kind::Dql`] record shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum DqlField {
    Packets,
    Count,
    NumQueued,
    NumCompleted,
    AdjLimit,
    Limit,
    PrevOvlimit,
    LowestSlack,
}

impl DqlField {
    /// All, in the order of their numbers.
    pub const ALL: [DqlField; 8] = [
        DqlField::Packets,
        DqlField::Count,
        DqlField::NumQueued,
        DqlField::NumCompleted,
        DqlField::AdjLimit,
        DqlField::Limit,
        DqlField::PrevOvlimit,
        DqlField::LowestSlack,
    ];

    /// The kernel's name.
    pub fn name(self) -> &'static str {
        [
            "packets",
            "count",
            "num_queued",
            "num_completed",
            "adj_limit",
            "limit",
            "prev_ovlimit",
            "lowest_slack",
        ][self as usize]
    }
}

/// Which of a CPU's contexts runs; a higher one suspends a lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Level {
    /// Process context (a kernel thread or a system call).
    Task = 0,
    /// Softirq context.
    Softirq = 1,
    /// Hard interrupt context.
    Hardirq = 2,
}

impl Level {
    /// The level with this number (the `a` of [`Kind::CtxEnter`]).
    ///
    /// # Panics
    /// If `n` is above 2.
    pub fn from_number(n: u32) -> Level {
        [Level::Task, Level::Softirq, Level::Hardirq][n as usize]
    }

    /// The kernel's word for the level.
    pub fn text(self) -> &'static str {
        ["task", "softirq", "hardirq"][self as usize]
    }
}
