//! Lockless qdiscs: who may drain, and who is told to look again. One variant a kernel version
//! or patch.
//!
//! Follows `include/net/sch_generic.h` and `net/sched/sch_generic.c` of v4.16 to v6.9, and the
//! patches of the lockless-qdisc thread (2021). `set2` and `set3` are read from the names of their
//! patches: only `v1` and the RFC are printed there.

use super::generic::{qdisc_run_dequeued, sch_direct_xmit};
use super::pfifo_fast::PfifoFast;
use super::qdisc::{Qdisc, Queueing, state};
use crate::config::Set3Retry;
use crate::kernel::netdev::{NET_XMIT_DROP, NET_XMIT_SUCCESS};
use crate::kernel::skb::Skb;
use crate::kernel::softirq::__netif_schedule;
use crate::kernel::variant::Builtin as V;
use crate::kernel::variant::Lockless;
use crate::kernel::{Cost, Cpu, Func};
use crate::machine::Rmw;

fn set(bits: u64) -> Rmw {
    Rmw::Mask {
        clear: 0,
        set: bits,
    }
}

fn clear(bits: u64) -> Rmw {
    Rmw::Mask {
        clear: bits,
        set: 0,
    }
}

/// The built-in variant in force; a user's counts as `v0` where it says nothing.
fn variant(cpu: Cpu<'_>) -> V {
    match &cpu.k.config.lockless {
        Lockless::Builtin(v) => *v,
        Lockless::User(_) => V::V0,
    }
}

/// `test_and_set_bit`: on arm64 up to v5.19 a plain load if the bit is set already.
async fn test_and_set_bit(cpu: Cpu<'_>, q: &Qdisc, bit: u64) -> bool {
    if cpu.k.config.tas_bit_early_return && cpu.load(q.state).await & bit != 0 {
        return true;
    }
    cpu.rmw(q.state, set(bit), crate::machine::Order::Full)
        .await
        & bit
        != 0
}

/// The seqlock is ours: what the variant writes before it starts.
async fn begin_owned(cpu: Cpu<'_>, q: &Qdisc) {
    let v = variant(cpu);
    // The RFC (and with it sets 2 and 3) no longer clears the hint here.
    if matches!(
        v,
        V::V0 | V::V0b | V::V1 | V::V2 | V::V3 | V::V3NoStoppedFix
    ) {
        cpu.store(q.empty, 0).await;
    }
    if has_seqcount(v) {
        // write_seqcount_begin: sequence++; smp_wmb.
        let n = cpu.load(q.running).await;
        cpu.store(q.running, n + 1).await;
        cpu.smp_wmb().await;
    }
    cpu.k.bump(&q.stats.runs, 1);
}

fn has_seqcount(v: V) -> bool {
    !matches!(v, V::Set3 | V::V4 | V::V5)
}

/// Tries to become the CPU that drains `q`. False means that somebody else does, and, in the
/// variants that are right, is bound to look again.
pub(crate) async fn qdisc_run_begin(cpu: Cpu<'_>, q: &Qdisc) -> bool {
    let _span = cpu.enter(Func::QdiscRunBegin);
    let mine = match &cpu.k.config.lockless {
        Lockless::User(ops) => ops.run_begin(cpu, q).await,
        Lockless::Builtin(v) => run_begin_builtin(cpu, q, *v).await,
    };
    if !mine {
        q.last_lost
            .set(Some((cpu.now(), cpu.id(), Func::QdiscRunBegin)));
    }
    mine
}

async fn run_begin_builtin(cpu: Cpu<'_>, q: &Qdisc, v: V) -> bool {
    // [1] Nobody drains: take over.
    if !q.seqlock.try_lock(cpu).await {
        // [2] Somebody does: leave word. [3] Perhaps they have just left: try again.
        let again = match v {
            V::Locked | V::V0 | V::V0b | V::RfcBypass => false,
            V::V1 | V::Set2 => {
                cpu.rmw_posted(q.state, set(state::MISSED)).await;
                true
            }
            V::V2 => {
                __netif_schedule(cpu, q).await;
                false
            }
            V::Set3 => {
                if cpu.load(q.state).await & state::MISSED != 0 {
                    false
                } else {
                    cpu.rmw_posted(q.state, set(state::MISSED)).await;
                    cpu.k.config.set3_retry == Set3Retry::ReadFirst
                }
            }
            V::V3 | V::V3NoStoppedFix => {
                if cpu.load(q.state).await & state::MISSED != 0 {
                    false
                } else {
                    cpu.rmw_posted(q.state, set(state::MISSED)).await;
                    true
                }
            }
            V::V4 => {
                // smp_mb__before_atomic: orders nothing for the plain test that follows on x86.
                if cpu.load(q.state).await & state::MISSED != 0 {
                    false
                } else {
                    cpu.rmw_posted(q.state, set(state::MISSED)).await;
                    cpu.after_atomic().await;
                    true
                }
            }
            V::V5 => !test_and_set_bit(cpu, q, state::MISSED).await,
        };
        if !(again && q.seqlock.try_lock(cpu).await) {
            return false;
        }
    }
    begin_owned(cpu, q).await;
    true
}

/// Stops draining, and looks whether somebody left word meanwhile.
pub(crate) async fn qdisc_run_end(cpu: Cpu<'_>, q: &Qdisc) {
    let _span = cpu.enter(Func::QdiscRunEnd);
    let v = match &cpu.k.config.lockless {
        Lockless::User(ops) => return ops.run_end(cpu, q).await,
        Lockless::Builtin(v) => *v,
    };
    if has_seqcount(v) {
        cpu.smp_wmb().await;
        let n = cpu.load(q.running).await;
        cpu.store(q.running, n + 1).await;
    }
    q.seqlock.unlock(cpu).await;
    match v {
        V::Locked | V::V0 | V::V0b | V::V2 | V::RfcBypass => {}
        V::V1 | V::Set2 | V::Set3 => {
            let s = cpu.load(q.state).await;
            if s & state::MISSED != 0 && s & state::DEACTIVATED == 0 {
                __netif_schedule(cpu, q).await;
            }
        }
        V::V3 | V::V3NoStoppedFix => {
            if cpu.load(q.state).await & state::MISSED != 0 {
                cpu.rmw_posted(q.state, clear(state::MISSED)).await;
                __netif_schedule(cpu, q).await;
            }
        }
        V::V4 | V::V5 => {
            if v == V::V5 {
                // The unlock before the test: without it the test may be early (race C).
                cpu.smp_mb().await;
            }
            if cpu.load(q.state).await & state::MISSED != 0 {
                __netif_schedule(cpu, q).await;
            }
        }
    }
}

/// At the top of `dequeue_skb`: v1 clears its bit on every call.
pub(crate) async fn before_dequeue(cpu: Cpu<'_>, q: &Qdisc) {
    if matches!(variant(cpu), V::V1 | V::Set2 | V::Set3) {
        cpu.rmw_posted(q.state, clear(state::MISSED)).await;
    }
}

/// After a scan that found nothing: whether to scan once more.
pub(crate) async fn look_again(cpu: Cpu<'_>, q: &Qdisc) -> bool {
    let bits = match variant(cpu) {
        V::V3 | V::V3NoStoppedFix => state::MISSED,
        V::V4 | V::V5 => state::MISSED | state::DRAINING,
        _ => return false,
    };
    if cpu.load(q.state).await & bits == 0 {
        return false;
    }
    cpu.rmw_posted(q.state, clear(state::MISSED)).await;
    if bits & state::DRAINING != 0 {
        cpu.rmw_posted(q.state, clear(state::DRAINING)).await;
    }
    cpu.after_atomic().await;
    true
}

/// The scan found nothing and no other follows: the hint, where there is one.
pub(crate) async fn found_empty(cpu: Cpu<'_>, q: &Qdisc) {
    if !matches!(variant(cpu), V::V4 | V::V5) {
        cpu.store(q.empty, 1).await;
    }
}

/// The transmit queue is stopped: v5.13 and later take their word back until it wakes.
pub(crate) async fn maybe_clear_missed(cpu: Cpu<'_>, q: &Qdisc) {
    let v = variant(cpu);
    if !q.nolock || !matches!(v, V::V3 | V::V4 | V::V5) {
        return;
    }
    cpu.rmw_posted(q.state, clear(state::MISSED)).await;
    cpu.after_atomic().await;
    let txq = cpu.k.txq(q.txq);
    if !txq.frozen_or_stopped(cpu).await {
        cpu.rmw_posted(q.state, set(state::MISSED)).await;
    } else if v != V::V3 {
        cpu.rmw_posted(q.state, set(state::DRAINING)).await;
    }
}

/// More is to be sent later (requeue, quota): who is told.
pub(crate) async fn come_back(cpu: Cpu<'_>, q: &Qdisc) {
    let v = variant(cpu);
    if matches!(v, V::RfcBypass | V::Set2 | V::Set3) {
        cpu.store(q.empty, 0).await;
    }
    if matches!(v, V::V4 | V::V5) {
        // run_end sees it and schedules.
        cpu.rmw_posted(q.state, set(state::MISSED)).await;
    } else {
        __netif_schedule(cpu, q).await;
    }
}

async fn nolock_is_empty(cpu: Cpu<'_>, q: &Qdisc) -> bool {
    cpu.load(q.state).await & (state::MISSED | state::DRAINING) == 0
}

/// `qdisc_run` for a lockless qdisc.
pub(crate) async fn qdisc_run(cpu: Cpu<'_>, q: &Qdisc) {
    if qdisc_run_begin(cpu, q).await {
        // v5.0 to v5.12: a deactivated qdisc is not run.
        let tests = matches!(
            variant(cpu),
            V::V0 | V::V0b | V::V1 | V::V2 | V::RfcBypass | V::Set2 | V::Set3
        );
        if !tests || cpu.load(q.state).await & state::DEACTIVATED == 0 {
            qdisc_run_dequeued(cpu, q).await;
        }
        qdisc_run_end(cpu, q).await;
    }
}

/// The lockless half of `__dev_xmit_skb`.
pub(crate) async fn xmit(cpu: Cpu<'_>, q: &Qdisc, skb: Skb) -> i32 {
    let v = variant(cpu);
    let bypass = match v {
        V::V0b | V::RfcBypass | V::Set2 | V::Set3 => {
            cpu.load(q.empty).await != 0 && qdisc_run_begin(cpu, q).await
        }
        V::V4 | V::V5 => nolock_is_empty(cpu, q).await && qdisc_run_begin(cpu, q).await,
        _ => false,
    };
    if bypass {
        return xmit_bypass(cpu, q, skb, v).await;
    }
    let rc = enqueue(cpu, q, skb).await;
    let run = match v {
        // Patch 3 of v5.13: a stopped queue is run when it wakes.
        V::V3 => !cpu.k.txq(q.txq).frozen_or_stopped(cpu).await,
        V::RfcBypass | V::Set2 => {
            cpu.store(q.empty, 0).await;
            true
        }
        V::Set3 => {
            cpu.store(q.empty, 0).await;
            rc == NET_XMIT_SUCCESS
        }
        _ => true,
    };
    if run {
        qdisc_run(cpu, q).await;
    }
    rc
}

/// We own the qdisc and its hint says empty: send without queueing.
async fn xmit_bypass(cpu: Cpu<'_>, q: &Qdisc, skb: Skb, v: V) -> i32 {
    let queue_first = match v {
        V::RfcBypass | V::Set2 | V::Set3 => may_need_requeuing(cpu, q).await,
        V::V4 | V::V5 => !nolock_is_empty(cpu, q).await,
        _ => false,
    };
    if queue_first {
        let rc = enqueue(cpu, q, skb).await;
        qdisc_run_dequeued(cpu, q).await;
        qdisc_run_end(cpu, q).await;
        return rc;
    }
    // Per-CPU bstats: plain adds under u64_stats.
    q.note_sent(cpu, skb);
    cpu.k.bump(&q.stats.bypassed, 1);
    if sch_direct_xmit(cpu, q, skb, true).await {
        let more = match v {
            V::V4 | V::V5 => !nolock_is_empty(cpu, q).await,
            V::V0b => true,
            _ => cpu.load(q.empty).await == 0,
        };
        if more {
            qdisc_run_dequeued(cpu, q).await;
        }
    }
    qdisc_run_end(cpu, q).await;
    NET_XMIT_SUCCESS
}

/// The RFC's `sch_may_need_requeuing`: the hint may be stale, so look under the lock.
async fn may_need_requeuing(cpu: Cpu<'_>, q: &Qdisc) -> bool {
    cpu.spend(Cost::MayNeedRequeuing);
    if cpu.load(q.gso_skb).await != 0 {
        return true;
    }
    rings(q).has_packet(cpu).await
}

/// The only qdisc with `TCQ_F_NOLOCK`.
fn rings(q: &Qdisc) -> &PfifoFast {
    match &q.queue {
        Queueing::PfifoFast(rings) => rings,
        _ => unreachable!("only pfifo_fast is lockless"),
    }
}

/// `dev_qdisc_enqueue` of a lockless qdisc; a refused packet is dropped.
async fn enqueue(cpu: Cpu<'_>, q: &Qdisc, skb: Skb) -> i32 {
    cpu.spend(Cost::DevQdiscEnqueue);
    let queued = rings(q).enqueue(cpu, q, skb).await;
    super::generic::enqueue_result(cpu, q, skb, queued).await
}

/// The code a sender gets for a refused packet.
pub(crate) const REFUSED: i32 = NET_XMIT_DROP;
