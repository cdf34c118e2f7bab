//! `dev_queue_xmit`: from a packet to its device.
//!
//! Follows Linux 5.11 `net/core/dev.c`. Absent: priority from cgroups, egress hooks, dst handling
//! (no packet here has a counted dst). Stacked devices recurse at their `ndo_start_xmit`.

use super::validate::{Validated, validate_xmit_skb};
use crate::kernel::drivers;
use crate::kernel::netdev::{
    Driver, ENETDOWN, ENOMEM, NET_XMIT_DROP, NET_XMIT_SUCCESS, NETDEV_TX_BUSY, dev_xmit_complete,
};
use crate::kernel::netdev_fields::{self, Reads};
use crate::kernel::sched::generic::{
    is_running, locked_run_begin, locked_run_end, qdisc_run_dequeued, sch_direct_xmit,
};
use crate::kernel::sched::lockless;
use crate::kernel::sched::qdisc::{Qdisc, state};
use crate::kernel::skb::{Skb, line};
use crate::kernel::softirq::{local_bh_disable, local_bh_enable};
use crate::kernel::{Cost, Cpu, Func, Reason};
use crate::trace::Kind;

/// `__dev_queue_xmit` on transmit queue `queue_mapping` of device `dev` (modulo how many it has).
pub async fn dev_queue_xmit(cpu: Cpu<'_>, dev: usize, queue_mapping: usize, skb: Skb) -> i32 {
    let _span = cpu.enter(Func::DevQueueXmit);
    local_bh_disable(cpu);
    let k = cpu.k;
    let device = k.dev(dev);
    let number = device.txqs.start + queue_mapping % device.txqs.len();
    let txq = k.txq(number);
    let qdisc = txq.qdisc.map(|q| k.qdisc(q));
    cpu.spend(match qdisc {
        Some(q) if q.nolock => Cost::DevQueueXmit,
        Some(_) => Cost::DevQueueXmitLocked,
        None => Cost::DevQueueXmitNoqueue,
    });
    // qdisc_pkt_len_init, tx queue choice, mac_header.
    let writes = line::L0 | line::L1 | line::L2;
    cpu.touch([
        k.skbs.struct_lines(skb, line::L3, writes),
        k.skbs.head_lines(skb, line::SHINFO, 0),
    ])
    .await;
    netdev_fields::read(cpu, dev, Reads::QueueXmit).await;
    cpu.load(txq.qdisc_word).await;
    let rc = match qdisc {
        Some(q) => {
            let _span = cpu.enter(Func::DevXmitSkb);
            cpu.load(q.enqueue).await;
            if q.nolock {
                lockless::xmit(cpu, q, skb).await
            } else {
                dev_xmit_skb_locked(cpu, q, skb).await
            }
        }
        None => xmit_noqueue(cpu, dev, number, skb).await,
    };
    local_bh_enable(cpu).await;
    rc
}

/// `netdev_pick_tx`: the transmit queue of `dev` for `skb`, by the map of CPUs or by flow hash. Absent: the
/// queue that a socket remembers.
pub(crate) async fn netdev_pick_tx(cpu: Cpu<'_>, dev: usize, skb: Skb) -> usize {
    let device = cpu.k.dev(dev);
    let queues = device.txqs.len();
    if queues == 1 {
        return 0;
    }
    if !device.xps.is_empty() {
        return usize::from(device.xps[usize::from(cpu.id()) % device.xps.len()]);
    }
    cpu.k.skbs.get_hash(cpu, skb).await;
    cpu.k.skbs.frame(skb).hash_to(queues as u32) as usize
}

/// The locked half of `__dev_xmit_skb`.
async fn dev_xmit_skb_locked(cpu: Cpu<'_>, q: &Qdisc, skb: Skb) -> i32 {
    // Those who see it running queue on busylock, so that the owner meets one rival at most.
    let mut contended = is_running(cpu, q).await;
    if contended {
        q.busylock.lock(cpu).await;
    }
    q.root_lock.lock(cpu).await;
    let mut to_free = Vec::new();
    let rc = if cpu.load(q.state).await & state::DEACTIVATED != 0 {
        to_free.push(skb);
        NET_XMIT_DROP
    } else if q.can_bypass && cpu.load(q.qlen).await == 0 && locked_run_begin(cpu, q).await {
        let n = cpu.load(q.bstats).await;
        cpu.store(q.bstats, n + 1).await;
        q.note_sent(cpu, skb);
        cpu.k.bump(&q.stats.bypassed, 1);
        if sch_direct_xmit(cpu, q, skb, true).await {
            if contended {
                q.busylock.unlock(cpu).await;
                contended = false;
            }
            qdisc_run_dequeued(cpu, q).await;
        }
        locked_run_end(cpu, q).await;
        NET_XMIT_SUCCESS
    } else {
        cpu.spend(Cost::DevQdiscEnqueue);
        let rc = q.enqueue_locked(cpu, skb, &mut to_free).await;
        if locked_run_begin(cpu, q).await {
            if contended {
                q.busylock.unlock(cpu).await;
                contended = false;
            }
            qdisc_run_dequeued(cpu, q).await;
            locked_run_end(cpu, q).await;
        }
        rc
    };
    q.root_lock.unlock(cpu).await;
    for skb in to_free {
        q.drop_skb(cpu, skb).await;
    }
    if contended {
        q.busylock.unlock(cpu).await;
    }
    rc
}

/// A device without a queue: straight to the driver, or lost.
async fn xmit_noqueue(cpu: Cpu<'_>, dev: usize, number: usize, skb: Skb) -> i32 {
    let txq = cpu.k.txq(number);
    let mut head = skb;
    netdev_fields::read(cpu, dev, Reads::Noqueue).await;
    if !cpu.k.config.validate_in_lock {
        cpu.spend(Cost::ValidateXmit);
        let reads = line::L1 | line::L2 | line::L3;
        cpu.touch([cpu.k.skbs.struct_lines(skb, reads, line::L0)])
            .await;
        netdev_fields::read(cpu, dev, Reads::Validate).await;
        if !cpu.k.skbs.is_plain(skb) {
            let Some(valid) = validate_xmit_skb(cpu, dev, skb).await else {
                return ENOMEM;
            };
            head = valid.head;
        }
    }
    txq.hard_tx_lock(cpu).await;
    let mut left = Xmit {
        rc: NETDEV_TX_BUSY,
        rest: Some(head),
    };
    if !txq.stopped(cpu).await {
        left = dev_hard_start_xmit(cpu, head, number).await;
    }
    txq.hard_tx_unlock(cpu).await;
    let Some(mut lost) = left.rest else {
        return left.rc;
    };
    loop {
        let next = cpu.k.skbs.next(lost);
        cpu.k.bump(&cpu.k.dev(dev).tx_dropped, 1);
        netdev_fields::count_dropped(cpu, dev).await;
        cpu.k.drop_skb(cpu, lost, Reason::TxQueueStopped).await;
        match next {
            Some(skb) => lost = skb,
            None => return ENETDOWN,
        }
    }
}

/// `validate_xmit_skb_list`: what is to be sent in its place; `None` if all of it was dropped. In 3.7 it
/// is done later, under the lock.
pub(crate) async fn validate_xmit_skb_list(cpu: Cpu<'_>, dev: usize, head: Skb) -> Option<Skb> {
    if cpu.k.config.validate_in_lock {
        return Some(head);
    }
    let skbs = &cpu.k.skbs;
    let mut list: Option<(Skb, Skb)> = None;
    let mut next = Some(head);
    while let Some(skb) = next {
        next = skbs.next(skb);
        let Some(valid) = validate(cpu, dev, skb).await else {
            continue;
        };
        match &mut list {
            None => list = Some((valid.head, valid.last)),
            Some((_, last)) => {
                skbs.set_next(*last, Some(valid.head));
                *last = valid.last;
            }
        }
        if next.is_none() {
            skbs.set_next(valid.last, None);
        }
    }
    list.map(|(head, last)| {
        skbs.set_next(last, None);
        head
    })
}

/// `validate_xmit_skb` of one packet.
async fn validate(cpu: Cpu<'_>, dev: usize, skb: Skb) -> Option<Validated> {
    let skbs = &cpu.k.skbs;
    let reads = line::L1 | line::L2 | line::L3;
    cpu.spend(if cpu.k.config.validate_in_lock {
        Cost::ValidateInLock
    } else {
        Cost::ValidateXmit
    });
    cpu.touch([skbs.struct_lines(skb, reads, line::L0)]).await;
    cpu.touch([skbs.head_lines(skb, line::SHINFO, 0)]).await;
    netdev_fields::read(cpu, dev, Reads::Validate).await;
    if skbs.is_plain(skb) {
        return Some(Validated {
            head: skb,
            last: skb,
            whole: None,
        });
    }
    validate_xmit_skb(cpu, dev, skb).await
}

/// What became of a list.
pub(crate) struct Xmit {
    /// Of the last one that the driver saw.
    pub rc: i32,
    /// What it did not take.
    pub rest: Option<Skb>,
}

/// `dev_hard_start_xmit` of the list at `first`: `xmit_more` for all but the last. It ends early if the
/// driver is busy or has stopped the queue. In 3.7 each packet is made fit for the device here.
pub(crate) async fn dev_hard_start_xmit(cpu: Cpu<'_>, first: Skb, number: usize) -> Xmit {
    let _span = cpu.enter(Func::DevHardStartXmit);
    if !cpu.k.config.validate_in_lock {
        return xmit_list(cpu, first, number).await;
    }
    let skbs = &cpu.k.skbs;
    let (dev, mut next) = (cpu.k.txq(number).dev, Some(first));
    let mut done = Xmit {
        rc: NET_XMIT_SUCCESS,
        rest: None,
    };
    while let Some(skb) = next {
        next = skbs.next(skb);
        skbs.set_next(skb, None);
        let Some(valid) = validate(cpu, dev, skb).await else {
            continue;
        };
        done = xmit_list(cpu, valid.head, number).await;
        if let Some(whole) = valid.whole {
            skbs.put(cpu, whole).await;
        }
        if let Some(rest) = done.rest {
            let mut last = rest;
            while let Some(after) = skbs.next(last) {
                last = after;
            }
            skbs.set_next(last, next);
            break;
        }
    }
    done
}

async fn xmit_list(cpu: Cpu<'_>, first: Skb, number: usize) -> Xmit {
    let skbs = &cpu.k.skbs;
    let mut skb = first;
    loop {
        cpu.spend(Cost::DevHardStartXmit);
        let next = skbs.next(skb);
        skbs.set_next(skb, None);
        netdev_fields::read(cpu, cpu.k.txq(number).dev, Reads::XmitOne).await;
        let rc = netdev_start_xmit(cpu, skb, number, next.is_some()).await;
        if !dev_xmit_complete(rc) {
            skbs.set_next(skb, next);
            if skb != first {
                // The list ends sooner than its packets were told.
                xmit_flush(cpu, number).await;
            }
            return Xmit {
                rc,
                rest: Some(skb),
            };
        }
        let Some(next) = next else {
            return Xmit { rc, rest: None };
        };
        if cpu.k.txq(number).drv_stopped(cpu).await {
            xmit_flush(cpu, number).await;
            return Xmit {
                rc: NETDEV_TX_BUSY,
                rest: Some(next),
            };
        }
        skb = next;
    }
}

/// `netdev_start_xmit`: the driver's `ndo_start_xmit`.
pub(crate) async fn netdev_start_xmit(cpu: Cpu<'_>, skb: Skb, number: usize, more: bool) -> i32 {
    let k = cpu.k;
    let txq = k.txq(number);
    let device = k.dev(txq.dev);
    netdev_fields::read(cpu, txq.dev, Reads::StartXmit).await;
    cpu.indirect_call();
    let (len, id) = (k.skbs.len(skb), k.skbs.id(skb));
    cpu.record(Kind::DevXmit, id, txq.number);
    if let Driver::Vlan(vlan) = &device.driver {
        // Counted by the device itself; order and latency are the lowest device's.
        return drivers::vlan::xmit(cpu, vlan, txq.dev, skb).await;
    }
    let seen = k.note_xmit(cpu, skb, txq.dev);
    let rc = match &device.driver {
        Driver::Vlan(_) => unreachable!("handled above"),
        Driver::Dummy => drivers::dummy::dummy_xmit(cpu, skb).await,
        Driver::Loopback => drivers::loopback::loopback_xmit(cpu, txq.dev, skb).await,
        Driver::Veth(veth) => drivers::veth::veth_xmit(cpu, veth, skb).await,
        Driver::Mlx5(nic) => drivers::mlx5::xmit(cpu, nic, txq, skb, more).await,
        Driver::Myri10ge(nic) => drivers::myri10ge::xmit(cpu, nic, txq, skb).await,
        Driver::Ixgbe(nic) => drivers::ixgbe::xmit(cpu, nic, txq, skb, more).await,
        Driver::Nic(nic) => drivers::nic::xmit(cpu, nic, txq, skb, more).await,
    };
    if dev_xmit_complete(rc) {
        k.bump(&device.tx_packets, 1);
        k.bump(&device.tx_bytes, u64::from(len));
        k.sent(seen);
        netdev_fields::count_tx(cpu, txq.dev).await;
        txq.trans_update(cpu).await;
        if !more {
            xmit_flush(cpu, number).await;
        }
    }
    rc
}

/// The core's half of `ndo_xmit_flush` (August 2014): after a packet, or the last of a list, the driver is
/// told to tell the device, if it has the operation.
pub(crate) async fn xmit_flush(cpu: Cpu<'_>, number: usize) {
    if !cpu.k.config.tx_kick.in_core() {
        return;
    }
    cpu.spend(Cost::XmitFlushTest);
    let txq = cpu.k.txq(number);
    if let Driver::Ixgbe(nic) = &cpu.k.dev(txq.dev).driver {
        cpu.elapse(cpu.machine().costs.indirect_call);
        drivers::ixgbe::xmit_flush(cpu, nic, txq).await;
    }
}
