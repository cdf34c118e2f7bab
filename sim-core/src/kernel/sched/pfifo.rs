//! `pfifo`: one list under the root lock, tail drop.
//!
//! Follows Linux 5.11 `net/sched/sch_fifo.c`. The list words share a line with the root lock.

use super::qdisc::Qdisc;
use crate::kernel::skb::{Skb, line};
use crate::kernel::{Cost, Cpu, Func};
use std::cell::RefCell;
use std::collections::VecDeque;

/// The list.
#[derive(Debug)]
pub struct Pfifo {
    limit: u32,
    list: RefCell<VecDeque<Skb>>,
}

impl Pfifo {
    pub(crate) fn new(limit: u32) -> Pfifo {
        Pfifo {
            limit,
            list: RefCell::default(),
        }
    }

    /// `pfifo_enqueue`; the caller holds the root lock. False if full.
    pub(crate) async fn enqueue(&self, cpu: Cpu<'_>, q: &Qdisc, skb: Skb) -> bool {
        let _span = cpu.enter(Func::PfifoEnqueue);
        cpu.spend(Cost::PfifoEnqueue);
        if cpu.load(q.qlen).await >= u64::from(self.limit) {
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

    pub(crate) fn peek_all(&self) -> Vec<Skb> {
        self.list.borrow().iter().copied().collect()
    }
}
