//! Bulk queues: frames that wait for their device, of one CPU. No locks, softirq only.

use super::XdpFrame;
use crate::kernel::drivers::xdp_xmit;
use crate::kernel::{Cost, Cpu, Func};
use crate::trace::Kind;
use std::cell::RefCell;

/// Whose queue it is: up to 5.5 each slot of a devmap has one, from 5.6 each device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A slot of a map.
    Slot { map: usize, key: usize },
    /// A device.
    Device,
}

/// `struct xdp_dev_bulk_queue`.
#[derive(Debug)]
struct Bulk {
    owner: Owner,
    dev: usize,
    frames: Vec<XdpFrame>,
    /// On the flush list.
    linked: bool,
}

/// All bulk queues of a CPU, in the order of its flush list where they are linked.
#[derive(Debug, Default)]
pub struct BulkQueues {
    queues: RefCell<Vec<Bulk>>,
    /// `dev_flush_list`: queues with something in them.
    flush_list: RefCell<Vec<usize>>,
}

impl BulkQueues {
    /// Frames that wait.
    pub fn len(&self) -> usize {
        self.queues.borrow().iter().map(|b| b.frames.len()).sum()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn index(&self, owner: Owner, dev: usize) -> usize {
        let mut queues = self.queues.borrow_mut();
        if let Some(i) = queues.iter().position(|b| b.owner == owner && b.dev == dev) {
            return i;
        }
        queues.push(Bulk {
            owner,
            dev,
            frames: Vec::new(),
            linked: false,
        });
        queues.len() - 1
    }
}

/// `bq_enqueue`: a full queue is sent first, without a doorbell.
pub(crate) async fn enqueue(cpu: Cpu<'_>, owner: Owner, dev: usize, frame: XdpFrame) {
    let _span = cpu.enter(Func::BqEnqueue);
    cpu.spend(Cost::BqEnqueue);
    let all = &cpu.k.xdp.bulk[usize::from(cpu.id())];
    let i = all.index(owner, dev);
    if all.queues.borrow()[i].frames.len() >= cpu.k.config.xdp_bulk as usize {
        xmit_all(cpu, i, false).await;
    }
    let mut queues = all.queues.borrow_mut();
    let bulk = &mut queues[i];
    if !bulk.linked {
        bulk.linked = true;
        all.flush_list.borrow_mut().push(i);
    }
    bulk.frames.push(frame);
}

/// `bq_xmit_all`.
async fn xmit_all(cpu: Cpu<'_>, i: usize, flush: bool) {
    let _span = cpu.enter(Func::BqXmitAll);
    let all = &cpu.k.xdp.bulk[usize::from(cpu.id())];
    let (dev, frames) = {
        let mut queues = all.queues.borrow_mut();
        (queues[i].dev, std::mem::take(&mut queues[i].frames))
    };
    if frames.is_empty() {
        return;
    }
    cpu.spend(Cost::BqXmitAll);
    for _ in &frames {
        cpu.spend(Cost::BqXmitFrame);
    }
    cpu.indirect_call();
    let sent = xdp_xmit(cpu, dev, &frames, flush).await;
    let drops = frames.len() as u64 - u64::from(sent.unwrap_or(0));
    cpu.k.bump(&cpu.k.xdp.xmit_drops, drops);
    cpu.record(Kind::XdpXmit, frames.len() as u32, u32::from(flush));
}

/// `__dev_flush`: every queue on the list, each with one doorbell.
pub(crate) async fn flush(cpu: Cpu<'_>) {
    let all = &cpu.k.xdp.bulk[usize::from(cpu.id())];
    let list = std::mem::take(&mut *all.flush_list.borrow_mut());
    for i in list {
        all.queues.borrow_mut()[i].linked = false;
        xmit_all(cpu, i, true).await;
    }
}
