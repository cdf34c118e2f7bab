//! Draining a queueing discipline: the loop, requeueing, handing packets to the device.
//!
//! Follows Linux 5.11 `net/sched/sch_generic.c` and `include/net/pkt_sched.h`; what differs between
//! versions for lockless qdiscs is in [`lockless`](super::lockless).
//! Absent: skb_bad_txq beyond its test, offload.

use super::lockless;
use super::qdisc::Qdisc;
use crate::kernel::core::dev_xmit::{dev_hard_start_xmit, validate_xmit_skb_list};
use crate::kernel::netdev::{NET_XMIT_SUCCESS, TxQueue};
use crate::kernel::skb::{Skb, line};
use crate::kernel::softirq::__netif_schedule;
use crate::kernel::{Cost, Cpu, Func};
use crate::trace::Kind;

/// `qdisc_run_begin` of a locked qdisc; the caller holds the root lock.
pub(crate) async fn locked_run_begin(cpu: Cpu<'_>, q: &Qdisc) -> bool {
    if is_running(cpu, q).await {
        return false;
    }
    let n = cpu.load(q.running).await;
    cpu.store(q.running, n + 1).await;
    cpu.smp_wmb().await;
    cpu.k.bump(&q.stats.runs, 1);
    true
}

/// `qdisc_run_end` of a locked qdisc.
pub(crate) async fn locked_run_end(cpu: Cpu<'_>, q: &Qdisc) {
    cpu.smp_wmb().await;
    let n = cpu.load(q.running).await;
    cpu.store(q.running, n + 1).await;
}

/// `qdisc_is_running`: odd seqcount.
pub(crate) async fn is_running(cpu: Cpu<'_>, q: &Qdisc) -> bool {
    cpu.load(q.running).await & 1 == 1
}

/// What a sender is told, and what is counted, after an enqueue.
pub(crate) async fn enqueue_result(cpu: Cpu<'_>, q: &Qdisc, skb: Skb, queued: bool) -> i32 {
    if queued {
        return NET_XMIT_SUCCESS;
    }
    q.drop_skb(cpu, skb).await;
    lockless::REFUSED
}

/// `__qdisc_run`: sends until nothing is left or the quota is used up.
pub(crate) async fn qdisc_run_dequeued(cpu: Cpu<'_>, q: &Qdisc) {
    let _span = cpu.enter(Func::QdiscRun);
    cpu.spend(Cost::QdiscRun);
    let mut quota = cpu.k.config.dev_weight;
    while let Some(packets) = qdisc_restart(cpu, q).await {
        quota = quota.saturating_sub(packets);
        if quota == 0 {
            if q.nolock {
                lockless::come_back(cpu, q).await;
            } else {
                __netif_schedule(cpu, q).await;
            }
            break;
        }
    }
}

/// `qdisc_restart`: one packet, or as many as BQL lets through at once. How many there were; `None` if
/// there were none or the device would not take them.
async fn qdisc_restart(cpu: Cpu<'_>, q: &Qdisc) -> Option<u32> {
    let batch = dequeue_skb(cpu, q).await?;
    cpu.spend(Cost::QdiscRunPacket);
    sch_direct_xmit(cpu, q, batch.head, batch.validate)
        .await
        .then_some(batch.packets)
}

/// What `dequeue_skb` found: a list.
struct Batch {
    head: Skb,
    packets: u32,
    validate: bool,
}

/// `dequeue_skb`: requeued packets first.
async fn dequeue_skb(cpu: Cpu<'_>, q: &Qdisc) -> Option<Batch> {
    let _span = cpu.enter(Func::DequeueSkb);
    if q.nolock {
        lockless::before_dequeue(cpu, q).await;
    }
    let txq = cpu.k.txq(q.txq);
    if cpu.load(q.gso_skb).await != 0 {
        if q.nolock {
            q.root_lock.lock(cpu).await;
        }
        let stopped = txq.frozen_or_stopped(cpu).await;
        let skb = if stopped {
            None
        } else {
            q.pop_requeued(cpu).await
        };
        if stopped {
            lockless::maybe_clear_missed(cpu, q).await;
        }
        if q.nolock {
            q.root_lock.unlock(cpu).await;
        }
        if skb.is_some() || stopped {
            return skb.map(|head| Batch {
                head,
                packets: 1,
                validate: false,
            });
        }
    }
    if txq.frozen_or_stopped(cpu).await {
        lockless::maybe_clear_missed(cpu, q).await;
        return None;
    }
    cpu.load(q.skb_bad_txq).await;
    let head = q.dequeue(cpu).await?;
    let packets = try_bulk_dequeue_skb(cpu, q, txq, head).await;
    Some(Batch {
        head,
        packets,
        validate: true,
    })
}

/// `try_bulk_dequeue_skb`: more packets behind `head` while BQL has room for them. How many in all.
async fn try_bulk_dequeue_skb(cpu: Cpu<'_>, q: &Qdisc, txq: &TxQueue, head: Skb) -> u32 {
    let skbs = &cpu.k.skbs;
    skbs.set_next(head, None);
    let mut bytelimit = txq.dql_avail(cpu).await - skbs.len(head) as i32;
    let (mut packets, mut last) = (1, head);
    while bytelimit > 0
        && let Some(next) = q.dequeue(cpu).await
    {
        bytelimit -= skbs.len(next) as i32;
        cpu.touch([skbs.struct_lines(last, 0, line::L0)]).await;
        skbs.set_next(last, Some(next));
        skbs.set_next(next, None);
        last = next;
        packets += 1;
    }
    if packets > 1 {
        cpu.record(Kind::QdiscBulk, q.number, packets);
    }
    packets
}

/// `sch_direct_xmit` of the list at `head`: false if the device would not take all of it (the rest is
/// requeued then). For a locked qdisc the root lock is dropped meanwhile.
pub(crate) async fn sch_direct_xmit(cpu: Cpu<'_>, q: &Qdisc, head: Skb, validate: bool) -> bool {
    let _span = cpu.enter(Func::SchDirectXmit);
    cpu.spend(Cost::SchDirectXmit);
    if !q.nolock {
        q.root_lock.unlock(cpu).await;
    }
    let txq = cpu.k.txq(q.txq);
    let head = if validate {
        validate_xmit_skb_list(cpu, txq.dev, head).await
    } else {
        Some(head)
    };
    let Some(head) = head else {
        if !q.nolock {
            q.root_lock.lock(cpu).await;
        }
        return true;
    };
    txq.hard_tx_lock(cpu).await;
    let rest = if txq.frozen_or_stopped(cpu).await {
        lockless::maybe_clear_missed(cpu, q).await;
        Some(head)
    } else {
        dev_hard_start_xmit(cpu, head, q.txq).await.rest
    };
    txq.hard_tx_unlock(cpu).await;
    if !q.nolock {
        q.root_lock.lock(cpu).await;
    }
    if let Some(rest) = rest {
        dev_requeue_skb(cpu, q, rest).await;
    }
    rest.is_none()
}

/// `dev_requeue_skb`: a list.
async fn dev_requeue_skb(cpu: Cpu<'_>, q: &Qdisc, head: Skb) {
    if q.nolock {
        q.root_lock.lock(cpu).await;
    }
    let mut next = Some(head);
    while let Some(skb) = next {
        next = cpu.k.skbs.next(skb);
        cpu.k.skbs.set_next(skb, None);
        q.push_requeued(cpu, skb).await;
    }
    if q.nolock {
        q.root_lock.unlock(cpu).await;
        lockless::come_back(cpu, q).await;
    } else {
        __netif_schedule(cpu, q).await;
    }
}
