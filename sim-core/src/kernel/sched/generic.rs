//! Draining a queueing discipline: the loop, requeueing, handing packets to the device.
//!
//! Follows Linux 5.11 `net/sched/sch_generic.c` and `include/net/pkt_sched.h`; what differs between
//! versions for lockless qdiscs is in [`lockless`](super::lockless).
//! Absent: skb_bad_txq beyond its test, offload, bulk dequeue (no driver here has BQL).

use super::lockless;
use super::qdisc::{Qdisc, Queueing};
use crate::kernel::core::dev_xmit::dev_hard_start_xmit;
use crate::kernel::netdev::{NET_XMIT_SUCCESS, dev_xmit_complete};
use crate::kernel::skb::{Skb, line};
use crate::kernel::softirq::__netif_schedule;
use crate::kernel::{Cost, Cpu, Func, Reason};

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
    cpu.k.bump(&q.stats.dropped, 1);
    cpu.k.drop_skb(cpu, skb, Reason::QdiscDrop).await;
    lockless::REFUSED
}

/// `__qdisc_run`: sends until nothing is left or the quota is used up.
pub(crate) async fn qdisc_run_dequeued(cpu: Cpu<'_>, q: &Qdisc) {
    let _span = cpu.enter(Func::QdiscRun);
    cpu.spend(Cost::QdiscRun);
    let mut quota = cpu.k.config.dev_weight;
    while qdisc_restart(cpu, q).await {
        quota = quota.saturating_sub(1);
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

/// `qdisc_restart`: one packet; false if there was none or the device would not take it.
async fn qdisc_restart(cpu: Cpu<'_>, q: &Qdisc) -> bool {
    let Some((skb, validate)) = dequeue_skb(cpu, q).await else {
        return false;
    };
    cpu.spend(Cost::QdiscRunPacket);
    sch_direct_xmit(cpu, q, skb, validate).await
}

/// `dequeue_skb`: requeued packets first.
async fn dequeue_skb(cpu: Cpu<'_>, q: &Qdisc) -> Option<(Skb, bool)> {
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
            return skb.map(|skb| (skb, false));
        }
    }
    if txq.frozen_or_stopped(cpu).await {
        lockless::maybe_clear_missed(cpu, q).await;
        return None;
    }
    cpu.load(q.skb_bad_txq).await;
    let skb = match &q.queue {
        Queueing::PfifoFast(rings) => rings.dequeue(cpu, q).await,
        Queueing::Pfifo(list) => list.dequeue(cpu, q).await,
    }?;
    if !q.nolock {
        // qlen, qstats and bstats under the root lock.
        let n = cpu.load(q.qlen).await;
        cpu.store(q.qlen, n.wrapping_sub(1)).await;
        let backlog = cpu.load(q.qstats).await;
        cpu.store(
            q.qstats,
            backlog.wrapping_sub(u64::from(cpu.k.skbs.len(skb))),
        )
        .await;
        let sent = cpu.load(q.bstats).await;
        cpu.store(q.bstats, sent + 1).await;
    }
    q.note_dequeue(cpu, skb);
    q.note_sent(cpu, skb);
    // try_bulk_dequeue_skb: dql_avail is 0 without BQL.
    cpu.load(txq.dql).await;
    Some((skb, true))
}

/// `sch_direct_xmit`: false if the device would not take the packet (it is requeued then).
/// For a locked qdisc the root lock is dropped meanwhile.
pub(crate) async fn sch_direct_xmit(cpu: Cpu<'_>, q: &Qdisc, skb: Skb, validate: bool) -> bool {
    let _span = cpu.enter(Func::SchDirectXmit);
    cpu.spend(Cost::SchDirectXmit);
    if !q.nolock {
        q.root_lock.unlock(cpu).await;
    }
    if validate {
        cpu.spend(Cost::ValidateXmit);
        let reads = line::L1 | line::L2 | line::L3;
        let skbs = &cpu.k.skbs;
        cpu.touch([skbs.struct_lines(skb, reads, line::L0)]).await;
        cpu.touch([skbs.head_lines(skb, line::SHINFO, 0)]).await;
    }
    let txq = cpu.k.txq(q.txq);
    txq.hard_tx_lock(cpu).await;
    let sent = if txq.frozen_or_stopped(cpu).await {
        lockless::maybe_clear_missed(cpu, q).await;
        false
    } else {
        dev_xmit_complete(dev_hard_start_xmit(cpu, skb, q.txq, false).await)
    };
    txq.hard_tx_unlock(cpu).await;
    if !q.nolock {
        q.root_lock.lock(cpu).await;
    }
    if !sent {
        dev_requeue_skb(cpu, q, skb).await;
    }
    sent
}

/// `dev_requeue_skb`.
async fn dev_requeue_skb(cpu: Cpu<'_>, q: &Qdisc, skb: Skb) {
    if q.nolock {
        q.root_lock.lock(cpu).await;
    }
    q.push_requeued(cpu, skb).await;
    if q.nolock {
        q.root_lock.unlock(cpu).await;
        lockless::come_back(cpu, q).await;
    } else {
        __netif_schedule(cpu, q).await;
    }
}
