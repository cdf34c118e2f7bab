//! `prio`: bands by priority, each a `pfifo`, under the root lock.
//!
//! Follows Linux 6.1 `net/sched/sch_prio.c`. No bypass. Absent: filters.

use super::qdisc::Qdisc;
use crate::kernel::skb::{Skb, line};
use crate::kernel::{Cost, Cpu, Func};
use crate::machine::Footprint;
use crate::machine::memory::{LineId, Placement};
use std::cell::RefCell;
use std::collections::VecDeque;

/// One child: the written line of its `struct Qdisc`, and its list.
#[derive(Debug)]
struct Band {
    line: LineId,
    list: RefCell<VecDeque<Skb>>,
}

/// The bands.
#[derive(Debug)]
pub struct Prio {
    limit: u32,
    priomap: [u8; 16],
    bands: Vec<Band>,
}

impl Prio {
    pub(crate) fn place(
        memory: &mut Placement,
        name: &str,
        limit: u32,
        bands: u8,
        priomap: [u8; 16],
    ) -> Prio {
        let band = |i| Band {
            line: memory.lines(format_args!("Qdisc {name} band {i}"), 1),
            list: RefCell::default(),
        };
        Prio {
            limit,
            priomap,
            bands: (0..bands).map(band).collect(),
        }
    }

    async fn touch(&self, cpu: Cpu<'_>, band: usize, writes: u16) {
        cpu.touch([Footprint {
            base: self.bands[band].line,
            reads: 1,
            writes,
        }])
        .await;
    }

    /// `prio_enqueue`; the caller holds the root lock. False if the band is full.
    pub(crate) async fn enqueue(&self, cpu: Cpu<'_>, q: &Qdisc, skb: Skb) -> bool {
        let _span = cpu.enter(Func::PrioEnqueue);
        cpu.spend(Cost::PrioEnqueue);
        let band = usize::from(self.priomap[(cpu.k.skbs.priority(skb) & 15) as usize]);
        cpu.spend(Cost::PfifoEnqueue);
        self.touch(cpu, band, 1).await;
        let list = &self.bands[band].list;
        if list.borrow().len() >= self.limit as usize {
            return false;
        }
        cpu.touch([cpu.k.skbs.struct_lines(skb, 0, line::L0)]).await;
        list.borrow_mut().push_back(skb);
        q.note_enqueue(cpu, skb);
        true
    }

    /// `prio_dequeue`; the caller holds the root lock.
    pub(crate) async fn dequeue(&self, cpu: Cpu<'_>) -> Option<Skb> {
        let _span = cpu.enter(Func::PrioDequeue);
        cpu.spend(Cost::PrioDequeue);
        for band in 0..self.bands.len() {
            cpu.spend(Cost::QdiscDequeueHead);
            self.touch(cpu, band, 0).await;
            let skb = self.bands[band].list.borrow_mut().pop_front();
            if let Some(skb) = skb {
                self.touch(cpu, band, 1).await;
                cpu.touch([cpu.k.skbs.struct_lines(skb, line::L0, line::L0)])
                    .await;
                return Some(skb);
            }
        }
        None
    }

    /// `prio_peek`.
    pub(crate) async fn peek(&self, cpu: Cpu<'_>) -> Option<Skb> {
        for (i, band) in self.bands.iter().enumerate() {
            self.touch(cpu, i, 0).await;
            let first = band.list.borrow().front().copied();
            if first.is_some() {
                return first;
            }
        }
        None
    }

    pub(crate) fn peek_all(&self) -> Vec<Skb> {
        self.bands
            .iter()
            .flat_map(|b| b.list.borrow().iter().copied().collect::<Vec<_>>())
            .collect()
    }
}
