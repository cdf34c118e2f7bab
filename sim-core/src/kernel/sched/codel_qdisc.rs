//! `codel`: one queue with the CoDel law, under the root lock.
//!
//! Follows Linux 6.1 `net/sched/sch_codel.c`. The law is in [`super::codel`].

use super::codel::{self, Params, Vars, codel_time};
use super::qdisc::Qdisc;
use crate::kernel::skb::{Skb, Skbs, line};
use crate::kernel::{Cost, Cpu, Func};
use std::cell::RefCell;
use std::collections::VecDeque;

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<(Skb, u32)>,
    backlog: u32,
    vars: Vars,
}

/// The queue.
#[derive(Debug)]
pub struct Codel {
    limit: u32,
    params: Params,
    state: RefCell<State>,
}

struct Head<'a> {
    state: &'a mut State,
    skbs: &'a Skbs,
    dropped: &'a mut Vec<Skb>,
}

impl codel::Queue for Head<'_> {
    type Packet = (Skb, u32);
    fn pop(&mut self) -> Option<(Skb, u32)> {
        let packet = self.state.queue.pop_front()?;
        self.state.backlog -= self.skbs.len(packet.0);
        Some(packet)
    }
    fn enqueued(&self, packet: (Skb, u32)) -> u32 {
        packet.1
    }
    fn backlog(&self) -> u32 {
        self.state.backlog
    }
    fn drop(&mut self, packet: (Skb, u32)) {
        self.dropped.push(packet.0);
    }
}

impl Codel {
    pub(crate) fn new(limit: u32, params: Params) -> Codel {
        Codel {
            limit,
            params,
            state: RefCell::default(),
        }
    }

    /// `codel_qdisc_enqueue`; the caller holds the root lock. False if full.
    pub(crate) async fn enqueue(&self, cpu: Cpu<'_>, q: &Qdisc, skb: Skb) -> bool {
        let _span = cpu.enter(Func::CodelEnqueue);
        cpu.spend(Cost::CodelEnqueue);
        // qdisc_qlen: a packet that a parent has peeked at is still part of the queue.
        if cpu.load(q.qlen).await >= u64::from(self.limit) {
            return false;
        }
        let now = codel_time(cpu.ktime_get().ns());
        cpu.touch([cpu.k.skbs.struct_lines(skb, 0, line::L0)]).await;
        let mut state = self.state.borrow_mut();
        state.queue.push_back((skb, now));
        state.backlog += cpu.k.skbs.len(skb);
        drop(state);
        q.note_enqueue(cpu, skb);
        true
    }

    /// `codel_qdisc_dequeue`; the caller holds the root lock. What the law threw away goes to `dropped`.
    pub(crate) async fn dequeue(&self, cpu: Cpu<'_>, dropped: &mut Vec<Skb>) -> Option<Skb> {
        let _span = cpu.enter(Func::CodelDequeue);
        cpu.spend(Cost::CodelDequeue);
        let now = codel_time(cpu.ktime_get().ns());
        let (skb, _) = {
            let mut state = self.state.borrow_mut();
            let mut vars = state.vars;
            let mut head = Head {
                state: &mut state,
                skbs: &cpu.k.skbs,
                dropped,
            };
            let packet = vars.dequeue(&mut head, &self.params, now);
            state.vars = vars;
            packet?
        };
        cpu.touch([cpu.k.skbs.struct_lines(skb, line::L0, line::L0)])
            .await;
        Some(skb)
    }

    pub(crate) fn peek_all(&self) -> Vec<Skb> {
        self.state.borrow().queue.iter().map(|p| p.0).collect()
    }
}
