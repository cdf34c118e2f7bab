//! Softirqs: raising, running, handing over to ksoftirqd.
//!
//! Follows Linux 5.11 `kernel/softirq.c` and `net/core/dev.c` (`__netif_schedule`, `net_tx_action`,
//! `net_rx_action`). Absent: other vectors than NET_TX and NET_RX.

use super::napi::napi_poll;
use super::netdev::TxQueue;
use super::sched::generic::{locked_run_begin, locked_run_end, qdisc_run_dequeued};
use super::sched::lockless;
use super::sched::qdisc::{Qdisc, state};
use super::skb::Skb;
use super::variant::{Builtin, Lockless};
use super::{Cost, Cpu, Func};
use crate::engine::time::Span;
use crate::machine::counters::add;
use crate::machine::{Order, Rmw};
use crate::trace::Kind;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// `NET_TX_SOFTIRQ`.
pub const NET_TX: u32 = 2;
/// `NET_RX_SOFTIRQ`.
pub const NET_RX: u32 = 3;

/// `TIMER_SOFTIRQ`: only TCP's.
pub const TIMER: u32 = 1;
/// `TASKLET_SOFTIRQ`: only TCP's.
pub const TASKLET: u32 = 6;

/// `MAX_SOFTIRQ_RESTART`.
const MAX_RESTART: u32 = 10;
/// `MAX_SOFTIRQ_TIME`: 2 ms.
const MAX_TIME: Span = Span::from_ns(2_000_000);
/// `netdev_budget`: packets a `net_rx_action`.
const NETDEV_BUDGET: u32 = 300;
/// `netdev_budget_usecs`: two ticks at HZ = 250.
const NETDEV_BUDGET_TIME: Span = Span::from_ns(8_000_000);
/// `struct softnet_data` and what else softirqs keep for each CPU.
#[derive(Debug, Default)]
pub struct Softnet {
    pending: Cell<u32>,
    output_queue: RefCell<VecDeque<usize>>,
    poll_list: RefCell<VecDeque<usize>>,
    /// `completion_queue`: freed in an interrupt or a poll, to be freed in NET_TX.
    pub(crate) completion: RefCell<Vec<Skb>>,
    /// `tsq_tasklet`: sockets that may send again.
    pub(crate) tsq: RefCell<Vec<u16>>,
    /// `/proc/net/softnet_stat`.
    pub stat: super::backlog::SoftnetStat,
    /// Context of ksoftirqd.
    pub(crate) ksoftirqd: Cell<u32>,
}

impl Softnet {
    /// Whether a qdisc is on the output queue.
    pub fn has_output(&self, qdisc: usize) -> bool {
        self.output_queue.borrow().contains(&qdisc)
    }
    /// Whether any softirq is pending.
    pub fn is_pending(&self) -> bool {
        self.pending.get() != 0
    }
    /// Puts a NAPI instance on the poll list.
    pub(crate) fn add_poll(&self, napi: usize) {
        self.poll_list.borrow_mut().push_back(napi);
    }
}

/// `local_bh_disable`.
pub(crate) fn local_bh_disable(cpu: Cpu<'_>) {
    cpu.bh_disable();
}

/// `local_bh_enable`: pending softirqs run here, on the stack of the task.
pub(crate) async fn local_bh_enable(cpu: Cpu<'_>) {
    cpu.spend(Cost::LocalBhEnable);
    if cpu.bh_enable() && cpu.k.softnet(cpu.id()).is_pending() && !ksoftirqd_running(cpu) {
        cpu.settle().await;
        cpu.run_softirqs().await;
    }
}

fn ksoftirqd_running(cpu: Cpu<'_>) -> bool {
    cpu.machine()
        .task_runnable(cpu.k.softnet(cpu.id()).ksoftirqd.get())
}

/// `raise_softirq_irqoff`.
pub(crate) fn raise_softirq(cpu: Cpu<'_>, vector: u32) {
    let softnet = cpu.k.softnet(cpu.id());
    softnet.pending.set(softnet.pending.get() | 1 << vector);
    cpu.record(Kind::SoftirqRaise, vector, 0);
    if !cpu.in_interrupt() {
        wakeup_softirqd(cpu);
    }
}

fn wakeup_softirqd(cpu: Cpu<'_>) {
    cpu.machine()
        .wake_task(cpu.k.softnet(cpu.id()).ksoftirqd.get());
}

/// `dev_kfree_skb_irq`: freed by the next NET_TX of this CPU.
pub(crate) fn dev_kfree_skb_irq(cpu: Cpu<'_>, skb: Skb) {
    cpu.spend(Cost::KfreeSkbIrq);
    cpu.k.softnet(cpu.id()).completion.borrow_mut().push(skb);
    raise_softirq(cpu, NET_TX);
}

/// `__netif_schedule`: asks for a NET_TX run of `q` on this CPU, unless one is asked for already.
pub async fn __netif_schedule(cpu: Cpu<'_>, q: &Qdisc) {
    let _span = cpu.enter(Func::NetifSchedule);
    cpu.spend(Cost::NetifSchedule);
    let set = if cpu.k.config.tas_bit_early_return && cpu.load(q.state).await & state::SCHED != 0 {
        true
    } else {
        cpu.rmw(
            q.state,
            Rmw::Mask {
                clear: 0,
                set: state::SCHED,
            },
            Order::Full,
        )
        .await
            & state::SCHED
            != 0
    };
    cpu.record(Kind::NetifSchedule, q.number, u32::from(set));
    if !set {
        cpu.k
            .softnet(cpu.id())
            .output_queue
            .borrow_mut()
            .push_back(q.number as usize);
        raise_softirq(cpu, NET_TX);
    }
}

/// `netif_schedule_queue`, for a queue that was found not stopped.
pub(crate) async fn netif_schedule_queue(cpu: Cpu<'_>, txq: &TxQueue) {
    match txq.qdisc {
        Some(q) => __netif_schedule(cpu, cpu.k.qdisc(q)).await,
        // noqueue's run finds nothing, but it is scheduled all the same.
        None => raise_softirq(cpu, NET_TX),
    }
}

/// `netif_tx_wake_queue`.
pub(crate) async fn netif_tx_wake_queue(cpu: Cpu<'_>, txq: &TxQueue) {
    if txq.test_and_clear_stopped(cpu).await {
        netif_schedule_queue(cpu, txq).await;
    }
}

/// Body of a CPU's softirq context.
pub(crate) async fn softirq_context(cpu: Cpu<'_>) {
    loop {
        __do_softirq(cpu).await;
        cpu.settle().await;
        cpu.finish(false);
        cpu.started().await;
    }
}

async fn __do_softirq(cpu: Cpu<'_>) {
    let _span = cpu.enter(Func::DoSoftirq);
    let softnet = cpu.k.softnet(cpu.id());
    let end = cpu.now() + MAX_TIME;
    for round in 1.. {
        cpu.spend(Cost::DoSoftirq);
        let pending = softnet.pending.replace(0);
        if pending & 1 << TIMER != 0 {
            super::tcp::run_timers(cpu).await;
            super::sched::watchdog::run(cpu).await;
        }
        if pending & 1 << NET_TX != 0 {
            add(&cpu.counters().net_tx, 1);
            net_tx_action(cpu).await;
        }
        if pending & 1 << NET_RX != 0 {
            add(&cpu.counters().net_rx, 1);
            net_rx_action(cpu).await;
        }
        if pending & 1 << TASKLET != 0 {
            super::tcp::tcp_tasklet(cpu).await;
        }
        if softnet.pending.get() == 0 {
            break;
        }
        let resched = cpu.machine().need_resched(cpu.id());
        if round >= MAX_RESTART || cpu.now() >= end || resched {
            add(&cpu.counters().squeezed, 1);
            wakeup_softirqd(cpu);
            break;
        }
    }
}

/// Body of ksoftirqd.
pub(crate) async fn ksoftirqd(cpu: Cpu<'_>) {
    loop {
        while cpu.k.softnet(cpu.id()).is_pending() {
            let _span = cpu.enter(Func::RunKsoftirqd);
            cpu.spend(Cost::Ksoftirqd);
            cpu.settle().await;
            cpu.run_softirqs().await;
            cond_resched(cpu).await;
        }
        cpu.settle().await;
        cpu.sleep().await;
    }
}

/// `cond_resched`: another runnable task runs if it is its turn.
pub(crate) async fn cond_resched(cpu: Cpu<'_>) {
    let switch = cpu.cond_resched();
    if switch.switches() {
        cpu.spend(Cost::Schedule);
        cpu.settle().await;
    }
    switch.await;
}

async fn net_tx_action(cpu: Cpu<'_>) {
    let _span = cpu.enter(Func::NetTxAction);
    let freed = std::mem::take(&mut *cpu.k.softnet(cpu.id()).completion.borrow_mut());
    for skb in freed {
        cpu.k.skbs.put(cpu, skb).await;
    }
    let list = std::mem::take(&mut *cpu.k.softnet(cpu.id()).output_queue.borrow_mut());
    for number in list {
        cpu.spend(Cost::NetTxAction);
        let q = cpu.k.qdisc(number);
        if !q.nolock {
            q.root_lock.lock(cpu).await;
        } else {
            let v5_13 = matches!(
                cpu.k.config.lockless,
                Lockless::Builtin(
                    Builtin::V3 | Builtin::V3NoStoppedFix | Builtin::V4 | Builtin::V5
                )
            );
            cpu.after_atomic().await;
            if v5_13 && cpu.load(q.state).await & state::DEACTIVATED != 0 {
                clear_sched(cpu, q).await;
                continue;
            }
        }
        // Cleared before the run, so that whoever asks meanwhile is heard.
        clear_sched(cpu, q).await;
        if q.nolock {
            lockless::qdisc_run(cpu, q).await;
        } else {
            if locked_run_begin(cpu, q).await {
                qdisc_run_dequeued(cpu, q).await;
                locked_run_end(cpu, q).await;
            }
            q.root_lock.unlock(cpu).await;
        }
    }
}

async fn clear_sched(cpu: Cpu<'_>, q: &Qdisc) {
    cpu.rmw_posted(
        q.state,
        Rmw::Mask {
            clear: state::SCHED,
            set: 0,
        },
    )
    .await;
}

async fn net_rx_action(cpu: Cpu<'_>) {
    let _span = cpu.enter(Func::NetRxAction);
    let end = cpu.now() + NETDEV_BUDGET_TIME;
    let mut budget = NETDEV_BUDGET;
    let softnet = cpu.k.softnet(cpu.id());
    let mut list = std::mem::take(&mut *softnet.poll_list.borrow_mut());
    let mut repoll = VecDeque::new();
    while let Some(napi) = list.pop_front() {
        let (work, again) = napi_poll(cpu, napi).await;
        budget = budget.saturating_sub(work);
        if again {
            repoll.push_back(napi);
        }
        if budget == 0 || cpu.now() >= end {
            add(&cpu.counters().squeezed, 1);
            cpu.k.bump(&softnet.stat.time_squeeze, 1);
            break;
        }
        if list.is_empty() && budget > 0 {
            list.append(&mut repoll);
        }
    }
    // What is left comes first next time, then what came meanwhile, then what wants more.
    let more = {
        let mut all = softnet.poll_list.borrow_mut();
        list.append(&mut all);
        list.append(&mut repoll);
        *all = list;
        !all.is_empty()
    };
    if more {
        raise_softirq(cpu, NET_RX);
    }
    super::backlog::net_rps_action(cpu).await;
}
