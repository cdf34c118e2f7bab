//! `struct Qdisc`: the words that senders share, where the layout puts them.

use super::codel_qdisc::Codel;
use super::fq_codel::FqCodel;
use super::pfifo::Fifo;
use super::pfifo_fast::PfifoFast;
use super::prio::Prio;
use super::qdisc_watchdog::QdiscWatchdog;
use super::tbf::Tbf;
use crate::engine::time::Instant;
use crate::kernel::locking::QSpinLock;
use crate::kernel::netdev::{NET_XMIT_CN, NET_XMIT_DROP, NET_XMIT_SUCCESS};
use crate::kernel::skb::Skb;
use crate::kernel::{Cpu, Func, Reason};
use crate::machine::layout::{Layout, LayoutSet};
use crate::machine::memory::{Placement, Word};
use crate::trace::Kind;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Bits of `Qdisc.state`.
pub mod state {
    /// `__QDISC_STATE_SCHED`: on some CPU's output queue.
    pub const SCHED: u64 = 1;
    /// `__QDISC_STATE_DEACTIVATED`.
    pub const DEACTIVATED: u64 = 2;
    /// `__QDISC_STATE_MISSED` (v5.13); `NEED_RESCHEDULE` of the thread's first patch.
    pub const MISSED: u64 = 4;
    /// `__QDISC_STATE_DRAINING` (v5.14).
    pub const DRAINING: u64 = 8;
}

/// The kernel's own layout of `struct Qdisc`, v5.4 to v5.15 (x86-64 offsets; the hot half starts
/// at byte 128).
pub fn layout_5_11() -> Layout {
    Layout::new(
        "Qdisc",
        &[
            ("enqueue", 0, 8),
            ("flags", 16, 4),
            ("cpu_bstats", 64, 8),
            ("gso_skb", 128, 24),
            ("qlen", 168, 4),
            ("lock", 172, 4),
            ("bstats", 176, 16),
            ("running", 192, 4),
            ("qstats", 196, 20),
            ("state", 216, 8),
            ("next_sched", 224, 8),
            ("skb_bad_txq", 232, 24),
            ("busylock", 256, 4),
            ("seqlock", 260, 4),
            ("empty", 264, 1),
        ],
    )
}

/// The same from v5.16: `state2` instead of `running`, one line longer.
pub fn layout_5_16() -> Layout {
    Layout::new(
        "Qdisc",
        &[
            ("enqueue", 0, 8),
            ("flags", 16, 4),
            ("cpu_bstats", 64, 8),
            ("gso_skb", 128, 24),
            ("qlen", 168, 4),
            ("lock", 172, 4),
            ("bstats", 176, 16),
            ("qstats", 192, 20),
            ("running", 216, 1),
            ("state", 216, 8),
            ("state2", 224, 8),
            ("next_sched", 232, 8),
            ("skb_bad_txq", 240, 24),
            ("busylock", 320, 4),
            ("seqlock", 324, 4),
            ("empty", 328, 1),
        ],
    )
}

/// What a qdisc queues with.
#[derive(Debug)]
pub enum Queueing {
    /// Three rings.
    PfifoFast(Box<PfifoFast>),
    /// One list.
    Fifo(Fifo),
    /// Three lists.
    Prio(Prio),
    /// Flows.
    FqCodel(FqCodel),
    /// One list with the CoDel law.
    Codel(Codel),
    /// A token bucket and its child.
    Tbf(Box<Tbf>),
}

/// A queueing discipline on one transmit queue.
#[derive(Debug)]
pub struct Qdisc {
    /// Number in the trace and in the kernel's table.
    pub number: u32,
    /// Transmit queue it belongs to.
    pub txq: usize,
    /// What `tc` calls it.
    pub kind: &'static str,
    /// Another qdisc's: it has no lock of its own, and the trace follows its parent.
    pub child: bool,
    /// `TCQ_F_NOLOCK`.
    pub nolock: bool,
    /// `TCQ_F_CAN_BYPASS`.
    pub can_bypass: bool,
    /// Read-mostly head of the struct.
    pub(crate) enqueue: Word,
    /// Number of requeued skbs.
    pub(crate) gso_skb: Word,
    /// `q.qlen` (locked qdiscs).
    pub(crate) qlen: Word,
    /// `bstats` (locked qdiscs).
    pub(crate) bstats: Word,
    /// Seqcount or `state2`: running.
    pub(crate) running: Word,
    /// `qstats` (locked qdiscs).
    pub(crate) qstats: Word,
    /// State bits; the bits are in [`state`].
    pub state: Word,
    /// Length of the list of skbs for another txq.
    pub(crate) skb_bad_txq: Word,
    /// `empty`, a hint (v5.0 to v5.13).
    pub(crate) empty: Word,
    /// The root lock.
    pub root_lock: QSpinLock,
    /// Taken before the root lock by those who saw the qdisc running.
    pub busylock: QSpinLock,
    /// Who drains (lockless).
    pub seqlock: QSpinLock,
    /// How it queues.
    pub queue: Queueing,
    requeued: RefCell<VecDeque<Skb>>,
    /// What a child dropped at dequeue, for its parent to hear of.
    lost: RefCell<Vec<Skb>>,
    /// Counters for reports; no simulated cost of their own.
    pub stats: QdiscStats,
    /// The last time somebody failed to become the one who drains: when, which CPU.
    pub last_lost: Cell<Option<(Instant, u16, Func)>>,
}

/// What `tc -s qdisc` shows, and a little more.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct QdiscStats {
    pub bytes: Cell<u64>,
    pub packets: Cell<u64>,
    pub dropped: Cell<u64>,
    pub overlimits: Cell<u64>,
    pub requeues: Cell<u64>,
    pub bypassed: Cell<u64>,
    pub enqueued: Cell<u64>,
    pub dequeued: Cell<u64>,
    pub removed: Cell<u64>,
    pub qlen: Cell<u64>,
    pub backlog: Cell<u64>,
    pub qlen_max: Cell<u64>,
    pub runs: Cell<u64>,
}

pub(crate) fn bump(cell: &Cell<u64>, n: u64) {
    cell.set(cell.get() + n);
}

/// Where a new qdisc goes and what it is called.
pub(crate) struct QdiscPlace<'a> {
    pub memory: &'a mut Placement,
    pub layouts: &'a LayoutSet,
    pub name: &'a str,
    pub number: u32,
    pub txq: usize,
    pub kind: &'static str,
    pub child: bool,
    pub locks: &'a mut Vec<String>,
}

impl Qdisc {
    /// Places a qdisc. `make` makes its queue.
    pub(crate) fn place(
        at: QdiscPlace<'_>,
        nolock: bool,
        can_bypass: bool,
        make: impl FnOnce(&mut Placement, &mut Vec<String>) -> Queueing,
    ) -> Qdisc {
        let QdiscPlace {
            memory,
            layouts,
            name,
            number,
            txq,
            kind,
            child,
            locks,
        } = at;
        let placed = memory.object(
            format_args!("Qdisc {name}"),
            layouts.get("Qdisc", layout_5_11),
        );
        let mut field = |f: &str| memory.field(&placed, f);
        let mut lock = |word: Word, what: &str| {
            locks.push(format!("{name} {what}"));
            QSpinLock::new(word, locks.len() as u32 - 1)
        };
        let root_lock = lock(field("lock"), "root_lock");
        let busylock = lock(field("busylock"), "busylock");
        let seqlock = lock(field("seqlock"), "seqlock");
        Qdisc {
            number,
            txq,
            kind,
            child,
            nolock,
            can_bypass,
            enqueue: field("enqueue"),
            gso_skb: field("gso_skb"),
            qlen: field("qlen"),
            bstats: field("bstats"),
            running: field("running"),
            qstats: field("qstats"),
            state: field("state"),
            skb_bad_txq: field("skb_bad_txq"),
            empty: field("empty"),
            root_lock,
            busylock,
            seqlock,
            queue: make(memory, locks),
            requeued: RefCell::default(),
            lost: RefCell::default(),
            stats: QdiscStats::default(),
            last_lost: Cell::new(None),
        }
    }

    /// Notes that `skb` was queued.
    pub(crate) fn note_enqueue(&self, cpu: Cpu<'_>, skb: Skb) {
        let s = &self.stats;
        bump(&s.enqueued, 1);
        self.note_len(cpu, 1, cpu.k.skbs.len(skb), Kind::QdiscEnqueue, skb);
        s.qlen_max.set(s.qlen_max.get().max(s.qlen.get()));
    }

    /// Notes that `skb` left the queue to be sent.
    pub(crate) fn note_dequeue(&self, cpu: Cpu<'_>, skb: Skb) {
        let s = &self.stats;
        bump(&s.dequeued, 1);
        self.note_len(cpu, u64::MAX, cpu.k.skbs.len(skb), Kind::QdiscDequeue, skb);
    }

    /// Notes that `skb`, which was queued, is thrown away.
    fn note_removed(&self, cpu: Cpu<'_>, skb: Skb) {
        bump(&self.stats.removed, 1);
        self.note_len(cpu, u64::MAX, cpu.k.skbs.len(skb), Kind::QdiscDequeue, skb);
    }

    /// `enqueue` of a locked qdisc; the caller holds the root lock. Who has to be freed once it is
    /// dropped goes to `to_free`.
    pub(crate) async fn enqueue_locked(
        &self,
        cpu: Cpu<'_>,
        skb: Skb,
        to_free: &mut Vec<Skb>,
    ) -> i32 {
        let mut rc = NET_XMIT_SUCCESS;
        let before = to_free.len();
        let queued = match &self.queue {
            Queueing::PfifoFast(rings) => rings.enqueue(cpu, self, skb).await,
            Queueing::Fifo(list) => list.enqueue(cpu, self, skb).await,
            Queueing::Prio(bands) => bands.enqueue(cpu, self, skb).await,
            Queueing::Codel(queue) => queue.enqueue(cpu, self, skb).await,
            Queueing::FqCodel(flows) => {
                let result = flows.enqueue(cpu, self, skb).await;
                if result.congested {
                    rc = NET_XMIT_CN;
                }
                to_free.extend(result.dropped);
                true
            }
            Queueing::Tbf(bucket) => {
                rc = bucket.enqueue(cpu, skb, to_free).await;
                if rc == NET_XMIT_DROP {
                    self.note_dropped(to_free.len() - before);
                    return rc;
                }
                self.note_enqueue(cpu, skb);
                true
            }
        };
        if !queued {
            to_free.push(skb);
            self.note_dropped(1);
            return NET_XMIT_DROP;
        }
        self.change_len(cpu, 1, cpu.k.skbs.len(skb)).await;
        for &gone in &to_free[before..] {
            self.note_removed(cpu, gone);
            self.change_len(cpu, u64::MAX, cpu.k.skbs.len(gone)).await;
        }
        self.note_dropped(to_free.len() - before);
        rc
    }

    /// A child counts its drops where they happen; a root, when they are freed.
    fn note_dropped(&self, n: usize) {
        if self.child {
            bump(&self.stats.dropped, n as u64);
        }
    }

    /// `dequeue`, under what protects it.
    pub(crate) async fn dequeue(&self, cpu: Cpu<'_>) -> Option<Skb> {
        let mut dropped = Vec::new();
        let skb = match &self.queue {
            Queueing::PfifoFast(rings) => rings.dequeue(cpu, self).await,
            Queueing::Fifo(list) => list.dequeue(cpu, self).await,
            Queueing::Prio(bands) => bands.dequeue(cpu).await,
            Queueing::FqCodel(flows) => flows.dequeue(cpu, &mut dropped).await,
            Queueing::Codel(queue) => queue.dequeue(cpu, &mut dropped).await,
            Queueing::Tbf(bucket) => {
                let (skb, waits) = bucket.dequeue(cpu).await;
                dropped = bucket.child.lost.take();
                bump(&self.stats.overlimits, u64::from(waits));
                skb
            }
        };
        for gone in dropped {
            self.lose(cpu, gone).await;
        }
        let skb = skb?;
        if !self.nolock {
            self.change_len(cpu, u64::MAX, cpu.k.skbs.len(skb)).await;
            let sent = cpu.load(self.bstats).await;
            cpu.store(self.bstats, sent + 1).await;
        }
        self.note_dequeue(cpu, skb);
        self.note_sent(cpu, skb);
        Some(skb)
    }

    /// A queued packet is thrown away at dequeue; the parent of a child still has to hear of it.
    async fn lose(&self, cpu: Cpu<'_>, gone: Skb) {
        self.note_removed(cpu, gone);
        self.change_len(cpu, u64::MAX, cpu.k.skbs.len(gone)).await;
        if self.child {
            self.note_dropped(1);
            self.lost.borrow_mut().push(gone);
        } else {
            self.drop_skb(cpu, gone).await;
        }
    }

    /// `peek` of a child, under the root lock. Where the queue cannot tell who is next, the next one is taken
    /// out and kept (`qdisc_peek_dequeued`).
    pub(crate) async fn peek(&self, cpu: Cpu<'_>) -> Option<Skb> {
        match &self.queue {
            Queueing::PfifoFast(rings) => rings.peek(cpu).await,
            Queueing::Fifo(list) => list.peek(),
            Queueing::Prio(bands) => bands.peek(cpu).await,
            Queueing::FqCodel(_) | Queueing::Codel(_) | Queueing::Tbf(_) => {
                if let Some(&skb) = self.requeued.borrow().front() {
                    return Some(skb);
                }
                let skb = self.dequeue(cpu).await?;
                self.requeued.borrow_mut().push_back(skb);
                cpu.store(self.gso_skb, 1).await;
                // It is still part of the queue.
                self.change_len(cpu, 1, cpu.k.skbs.len(skb)).await;
                bump(&self.stats.enqueued, 1);
                self.count_len(1, cpu.k.skbs.len(skb));
                Some(skb)
            }
        }
    }

    /// `qdisc_dequeue_peeked`.
    pub(crate) async fn dequeue_peeked(&self, cpu: Cpu<'_>) -> Option<Skb> {
        if self.requeued.borrow().is_empty() {
            self.dequeue(cpu).await
        } else {
            self.pop_requeued(cpu).await
        }
    }

    /// Its timer, if it has one.
    pub fn watchdog(&self) -> Option<&QdiscWatchdog> {
        match &self.queue {
            Queueing::Tbf(bucket) => Some(&bucket.watchdog),
            _ => None,
        }
    }

    /// What it queues with, if that is another qdisc.
    pub fn child_qdisc(&self) -> Option<&Qdisc> {
        match &self.queue {
            Queueing::Tbf(bucket) => Some(&bucket.child),
            _ => None,
        }
    }

    /// qlen and backlog under the root lock.
    async fn change_len(&self, cpu: Cpu<'_>, delta: u64, len: u32) {
        let n = cpu.load(self.qlen).await;
        cpu.store(self.qlen, n.wrapping_add(delta)).await;
        let backlog = cpu.load(self.qstats).await;
        cpu.store(
            self.qstats,
            backlog.wrapping_add(delta.wrapping_mul(u64::from(len))),
        )
        .await;
    }

    /// `qdisc_drop` once the lock is dropped: counted and freed.
    pub(crate) async fn drop_skb(&self, cpu: Cpu<'_>, skb: Skb) {
        bump(&self.stats.dropped, 1);
        cpu.k.drop_skb(cpu, skb, Reason::QdiscDrop).await;
    }

    fn count_len(&self, delta: u64, len: u32) {
        let s = &self.stats;
        s.qlen.set(s.qlen.get().wrapping_add(delta));
        let bytes = delta.wrapping_mul(u64::from(len));
        s.backlog.set(s.backlog.get().wrapping_add(bytes));
    }

    fn note_len(&self, cpu: Cpu<'_>, delta: u64, len: u32, kind: Kind, skb: Skb) {
        self.count_len(delta, len);
        if !self.child {
            cpu.record(kind, cpu.k.skbs.id(skb), self.number);
            cpu.record(Kind::QdiscLen, self.number, self.stats.qlen.get() as u32);
        }
    }

    /// Notes that `skb` was sent (`bstats`).
    pub(crate) fn note_sent(&self, cpu: Cpu<'_>, skb: Skb) {
        bump(&self.stats.packets, 1);
        bump(&self.stats.bytes, u64::from(cpu.k.skbs.len(skb)));
    }

    /// Puts `skb` on the list of requeued ones (the caller holds what protects it).
    pub(crate) async fn push_requeued(&self, cpu: Cpu<'_>, skb: Skb) {
        self.requeued.borrow_mut().push_back(skb);
        let n = self.requeued.borrow().len() as u64;
        cpu.store(self.gso_skb, n).await;
        if !self.nolock {
            // Still part of the queue: nobody may bypass it.
            self.change_len(cpu, 1, cpu.k.skbs.len(skb)).await;
        }
        bump(&self.stats.requeues, 1);
        bump(&self.stats.enqueued, 1);
        self.note_len(cpu, 1, cpu.k.skbs.len(skb), Kind::QdiscRequeue, skb);
    }

    /// Takes the first requeued skb.
    pub(crate) async fn pop_requeued(&self, cpu: Cpu<'_>) -> Option<Skb> {
        let skb = self.requeued.borrow_mut().pop_front()?;
        let n = self.requeued.borrow().len() as u64;
        cpu.store(self.gso_skb, n).await;
        if !self.nolock {
            self.change_len(cpu, u64::MAX, cpu.k.skbs.len(skb)).await;
        }
        self.note_dequeue(cpu, skb);
        Some(skb)
    }

    /// Everything that is queued, looked at from outside the run, next to be sent first.
    pub fn peek_all(&self, cpu: Cpu<'_>) -> Vec<Skb> {
        let mut all: Vec<Skb> = self.requeued.borrow().iter().copied().collect();
        match &self.queue {
            Queueing::PfifoFast(q) => all.extend(q.peek_all(cpu)),
            Queueing::Fifo(q) => all.extend(q.peek_all()),
            Queueing::Prio(q) => all.extend(q.peek_all()),
            Queueing::FqCodel(q) => all.extend(q.peek_all()),
            Queueing::Codel(q) => all.extend(q.peek_all()),
            Queueing::Tbf(q) => all.extend(q.child.peek_all(cpu)),
        }
        all
    }

    /// Its locks.
    pub fn locks(&self) -> Vec<&QSpinLock> {
        let mut locks = vec![&self.root_lock, &self.busylock, &self.seqlock];
        if let Queueing::PfifoFast(q) = &self.queue {
            locks.extend(q.rings().iter().map(|r| r.producer_lock()));
        }
        locks
    }
}
