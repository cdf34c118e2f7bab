//! `pfifo_fast`: three bands, a ring each.
//!
//! Follows Linux 4.16 to 6.9 `net/sched/sch_generic.c`. Modelled: band choice, rings with batched
//! slot release, per-CPU statistics, the second look of the MISSED variants. Absent: change of
//! `tx_queue_len` while running.

use super::lockless;
use super::ptr_ring::PtrRing;
use super::qdisc::Qdisc;
use crate::kernel::skb::{Skb, line};
use crate::kernel::{Cost, Cpu, Func};
use crate::machine::memory::Placement;

/// `prio2band`: band of each `skb->priority & 15`.
pub(crate) const PRIO2BAND: [usize; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
const BANDS: usize = 3;

/// The three rings.
#[derive(Debug)]
pub struct PfifoFast {
    rings: [PtrRing; BANDS],
}

impl PfifoFast {
    /// Places three rings of `limit` packets each.
    pub(crate) fn place(
        memory: &mut Placement,
        name: &str,
        limit: u32,
        locks: &mut Vec<String>,
    ) -> PfifoFast {
        let rings = std::array::from_fn(|band| {
            let ring = format!("{name} band {band}");
            locks.push(format!("{ring} producer_lock"));
            PtrRing::place(memory, &ring, limit, locks.len() as u32 - 1)
        });
        PfifoFast { rings }
    }

    /// The rings, band 0 first.
    pub fn rings(&self) -> &[PtrRing; BANDS] {
        &self.rings
    }

    /// `pfifo_fast_enqueue`: false if the band is full.
    pub(crate) async fn enqueue(&self, cpu: Cpu<'_>, q: &Qdisc, skb: Skb) -> bool {
        let _span = cpu.enter(Func::PfifoFastEnqueue);
        cpu.spend(Cost::PfifoFastEnqueue);
        let band = PRIO2BAND[(cpu.k.skbs.priority(skb) & 15) as usize];
        let queued = self.rings[band]
            .produce(cpu, skb, || q.note_enqueue(cpu, skb))
            .await;
        if q.nolock {
            // this_cpu_inc(qlen), this_cpu_add(backlog); or drops++.
            cpu.this_cpu_op();
            if queued {
                cpu.this_cpu_op();
            }
        }
        queued
    }

    /// `pfifo_fast_dequeue`.
    pub(crate) async fn dequeue(&self, cpu: Cpu<'_>, q: &Qdisc) -> Option<Skb> {
        let _span = cpu.enter(Func::PfifoFastDequeue);
        cpu.spend(Cost::PfifoFastDequeue);
        let mut skb = self.scan(cpu).await;
        if skb.is_none() && q.nolock && lockless::look_again(cpu, q).await {
            skb = self.scan(cpu).await;
            if skb.is_none() {
                lockless::found_empty(cpu, q).await;
            }
        } else if skb.is_none() && q.nolock {
            lockless::found_empty(cpu, q).await;
        }
        if let Some(skb) = skb {
            // qdisc_pkt_len lies in the skb's cb.
            cpu.touch([cpu.k.skbs.struct_lines(skb, line::L0, 0)]).await;
            if q.nolock {
                cpu.this_cpu_op();
                cpu.this_cpu_op();
            }
        }
        skb
    }

    async fn scan(&self, cpu: Cpu<'_>) -> Option<Skb> {
        for ring in &self.rings {
            if !ring.is_empty(cpu).await
                && let Some(skb) = ring.consume(cpu).await
            {
                return Some(skb);
            }
        }
        None
    }

    /// `pfifo_fast_peek`, as the RFC's bypass uses it.
    pub(crate) async fn has_packet(&self, cpu: Cpu<'_>) -> bool {
        for ring in &self.rings {
            if !ring.is_empty(cpu).await {
                return true;
            }
        }
        false
    }

    /// `pfifo_fast_peek`.
    pub(crate) async fn peek(&self, cpu: Cpu<'_>) -> Option<Skb> {
        for ring in &self.rings {
            if let Some(skb) = ring.peek(cpu).await {
                return Some(skb);
            }
        }
        None
    }

    pub(crate) fn peek_all(&self, cpu: Cpu<'_>) -> Vec<Skb> {
        self.rings.iter().flat_map(|r| r.peek_all(cpu)).collect()
    }
}
