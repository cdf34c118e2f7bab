//! `pfifo` and `bfifo`: one list under the root lock, tail drop by packets or by bytes.
//!
//! Follows Linux 5.11 `net/sched/sch_fifo.c`. The list words share a line with the root lock.

use super::qdisc::Qdisc;
use crate::kernel::skb::{Skb, line};
use crate::kernel::{Cost, Cpu, Func};
use std::cell::RefCell;
use std::collections::VecDeque;

/// What a list may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `pfifo`: packets.
    Packets(u32),
    /// `bfifo`: bytes.
    Bytes(u32),
}

/// The list.
#[derive(Debug)]
pub struct Fifo {
    limit: Limit,
    list: RefCell<VecDeque<Skb>>,
}

impl Fifo {
    pub(crate) fn new(limit: Limit) -> Fifo {
        Fifo {
            limit,
            list: RefCell::default(),
        }
    }

    /// `pfifo_enqueue`, `bfifo_enqueue`; the caller holds the root lock. False if full.
    pub(crate) async fn enqueue(&self, cpu: Cpu<'_>, q: &Qdisc, skb: Skb) -> bool {
        let _span = cpu.enter(Func::PfifoEnqueue);
        cpu.spend(Cost::PfifoEnqueue);
        let fits = match self.limit {
            Limit::Packets(limit) => cpu.load(q.qlen).await < u64::from(limit),
            Limit::Bytes(limit) => {
                let len = u64::from(cpu.k.skbs.len(skb));
                cpu.load(q.qstats).await + len <= u64::from(limit)
            }
        };
        if !fits {
            return false;
        }
        cpu.touch([cpu.k.skbs.struct_lines(skb, 0, line::L0)]).await;
        self.list.borrow_mut().push_back(skb);
        q.note_enqueue(cpu, skb);
        true
    }

    /// `qdisc_dequeue_head`; the caller holds the root lock.
    pub(crate) async fn dequeue(&self, cpu: Cpu<'_>, q: &Qdisc) -> Option<Skb> {
        let _span = cpu.enter(Func::PfifoDequeue);
        cpu.spend(Cost::QdiscDequeueHead);
        cpu.load(q.qlen).await;
        let skb = self.list.borrow_mut().pop_front()?;
        cpu.touch([cpu.k.skbs.struct_lines(skb, line::L0, line::L0)])
            .await;
        Some(skb)
    }

    /// `qdisc_peek_head`.
    pub(crate) fn peek(&self) -> Option<Skb> {
        self.list.borrow().front().copied()
    }

    pub(crate) fn peek_all(&self) -> Vec<Skb> {
        self.list.borrow().iter().copied().collect()
    }
}
