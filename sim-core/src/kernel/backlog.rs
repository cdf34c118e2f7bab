//! The backlog of each CPU: how packets of virtual devices, and packets that RPS spreads, get to the stack.
//!
//! Follows Linux 6.1 `net/core/dev.c` (`netif_rx`, `enqueue_to_backlog`, `process_backlog`, `get_rps_cpu`,
//! `net_rps_send_ipi`) and the layout of `struct softnet_data` there. Modelled: the queue and its lock, the
//! state of the backlog's NAPI instance (plain, under that lock), `netdev_max_backlog`, RPS by flow hash, the
//! interrupt to the other CPU. Approximated: an IPI costs its sender one uncached write (the APIC's or the
//! GIC's) and takes as long to arrive. Absent: RFS, flow limit, per-CPU deferred frees.

use super::locking::QSpinLock;
use super::napi::{BACKLOG, Napi, WEIGHT, napi_state};
use super::skb::{Skb, line};
use super::softirq::{NET_RX, raise_softirq};
use super::{Cost, Cpu, Func, Reason};
use crate::machine::layout::{Layout, LayoutSet};
use crate::machine::memory::{Placement, Word};
use crate::machine::{Order, Rmw};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// `NET_RX_SUCCESS`.
pub const NET_RX_SUCCESS: i32 = 0;
/// `NET_RX_DROP`.
pub const NET_RX_DROP: i32 = 1;

/// The kernel's own layout of `struct softnet_data` (6.1.192, x86-64), as far as code here touches it.
pub fn softnet_layout() -> Layout {
    Layout::new(
        "softnet_data",
        &[
            ("process_queue", 16, 24),
            ("processed", 40, 4),
            ("received_rps", 48, 4),
            ("rps_ipi_list", 56, 8),
            ("input_queue_head", 128, 4),
            ("csd", 192, 32),
            ("input_queue_tail", 236, 4),
            ("dropped", 240, 4),
            ("input_pkt_queue.qlen", 264, 4),
            ("input_pkt_queue.lock", 268, 4),
            ("backlog.state", 288, 8),
        ],
    )
}

/// What `/proc/net/softnet_stat` shows of a CPU. `time_squeeze` is counted by `net_rx_action`.
#[derive(Debug, Default)]
pub struct SoftnetStat {
    /// Packets that `__netif_receive_skb_core` saw.
    pub processed: Cell<u64>,
    /// Packets that found the backlog full.
    pub dropped: Cell<u64>,
    /// Polls cut short by budget or time.
    pub time_squeeze: Cell<u64>,
    /// RPS interrupts taken.
    pub received_rps: Cell<u64>,
}

/// The backlog of one CPU: its words of `softnet_data`, and its queues.
#[derive(Debug)]
pub struct Backlog {
    process_queue_word: Word,
    processed_word: Word,
    received_rps: Word,
    rps_ipi_list: Word,
    input_queue_head: Word,
    csd: Word,
    input_queue_tail: Word,
    dropped: Word,
    qlen: Word,
    lock: QSpinLock,
    /// `backlog.state`.
    state: Word,
    /// Number of its NAPI instance.
    napi: usize,
    /// `input_pkt_queue`: each packet with the device that it came in by.
    input: RefCell<VecDeque<(Skb, usize)>>,
    /// `process_queue`: private to the CPU.
    process: RefCell<VecDeque<(Skb, usize)>>,
    /// CPUs that this one is to interrupt.
    ipis: RefCell<VecDeque<u16>>,
}

impl Backlog {
    /// Places the backlog of `cpu`; `napi` is the number that its NAPI instance will have.
    pub(crate) fn place(
        memory: &mut Placement,
        layouts: &LayoutSet,
        locks: &mut Vec<String>,
        cpu: u16,
        napi: usize,
    ) -> Backlog {
        let name = format!("softnet_data cpu{cpu}");
        let placed = memory.object(&name, layouts.get("softnet_data", softnet_layout));
        let mut field = |f: &str| memory.field(&placed, f);
        locks.push(format!("{name} input_pkt_queue"));
        Backlog {
            process_queue_word: field("process_queue"),
            processed_word: field("processed"),
            received_rps: field("received_rps"),
            rps_ipi_list: field("rps_ipi_list"),
            input_queue_head: field("input_queue_head"),
            csd: field("csd"),
            input_queue_tail: field("input_queue_tail"),
            dropped: field("dropped"),
            qlen: field("input_pkt_queue.qlen"),
            lock: QSpinLock::new(field("input_pkt_queue.lock"), locks.len() as u32 - 1),
            state: field("backlog.state"),
            napi,
            input: RefCell::default(),
            process: RefCell::default(),
            ipis: RefCell::default(),
        }
    }

    /// Its NAPI instance, whose state is a field of `softnet_data`.
    pub(crate) fn napi(&self, cpu: u16) -> Napi {
        Napi::at(self.state, BACKLOG, usize::from(cpu), WEIGHT)
    }

    /// The lock of its queue.
    pub fn lock(&self) -> &QSpinLock {
        &self.lock
    }

    /// Everything that waits in it, next to be handed up first.
    pub fn peek_all(&self) -> Vec<Skb> {
        let (process, input) = (self.process.borrow(), self.input.borrow());
        process
            .iter()
            .chain(input.iter())
            .map(|&(skb, _)| skb)
            .collect()
    }
}

/// `netif_rx_internal`: a packet that virtual device `dev` received, in a context with softirqs off. It goes
/// to the backlog of this CPU, or of the one that RPS says.
pub(crate) async fn netif_rx(cpu: Cpu<'_>, dev: usize, skb: Skb) -> i32 {
    cpu.spend(Cost::NetifRx);
    let target = match get_rps_cpu(cpu, dev, skb).await {
        Some(target) => target,
        None => cpu.id(),
    };
    enqueue_to_backlog(cpu, dev, skb, target).await
}

/// `get_rps_cpu`: the CPU that the packet's flow belongs to, if `dev` spreads flows.
pub(crate) async fn get_rps_cpu(cpu: Cpu<'_>, dev: usize, skb: Skb) -> Option<u16> {
    let map = &cpu.k.dev(dev).rps_cpus;
    if map.is_empty() {
        return None;
    }
    cpu.spend(Cost::GetRpsCpu);
    cpu.k.skbs.get_hash(cpu, skb).await;
    let at = cpu.k.skbs.frame(skb).hash_to(map.len() as u32);
    Some(map[at as usize])
}

/// `enqueue_to_backlog`.
pub(crate) async fn enqueue_to_backlog(cpu: Cpu<'_>, dev: usize, skb: Skb, target: u16) -> i32 {
    let _span = cpu.enter(Func::EnqueueToBacklog);
    let k = cpu.k;
    let sd = &k.backlogs[usize::from(target)];
    cpu.spend(Cost::EnqueueToBacklog);
    cpu.irq_disable();
    sd.lock.lock(cpu).await;
    let qlen = cpu.load(sd.qlen).await;
    if qlen > u64::from(k.config.max_backlog) {
        let n = cpu.load(sd.dropped).await;
        cpu.store(sd.dropped, n + 1).await;
        sd.lock.unlock(cpu).await;
        cpu.irq_enable();
        k.bump(&k.softnet(target).stat.dropped, 1);
        // atomic_long_inc(&dev->rx_dropped)
        cpu.elapse(cpu.machine().costs.rmw);
        k.bump(&k.dev(dev).rx_dropped, 1);
        k.drop_skb(cpu, skb, Reason::CpuBacklog).await;
        return NET_RX_DROP;
    }
    if qlen == 0 {
        // Whoever sees packets in it knows that a poll is due.
        let state = cpu.load(sd.state).await;
        if state & napi_state::SCHED == 0 {
            cpu.store(sd.state, state | napi_state::SCHED).await;
            napi_schedule_rps(cpu, target).await;
        }
    }
    cpu.touch([k.skbs.struct_lines(skb, 0, line::L0)]).await;
    sd.input.borrow_mut().push_back((skb, dev));
    cpu.store(sd.qlen, qlen + 1).await;
    let tail = cpu.load(sd.input_queue_tail).await;
    cpu.store(sd.input_queue_tail, tail + 1).await;
    sd.lock.unlock(cpu).await;
    cpu.irq_enable();
    NET_RX_SUCCESS
}

/// `napi_schedule_rps`: polled here, or an interrupt is owed to the other CPU.
async fn napi_schedule_rps(cpu: Cpu<'_>, target: u16) {
    cpu.spend(Cost::BacklogSchedule);
    if target == cpu.id() {
        cpu.k
            .softnet(target)
            .add_poll(cpu.k.backlogs[usize::from(target)].napi);
    } else {
        let mine = &cpu.k.backlogs[usize::from(cpu.id())];
        mine.ipis.borrow_mut().push_back(target);
        let n = mine.ipis.borrow().len() as u64;
        cpu.store(mine.rps_ipi_list, n).await;
    }
    raise_softirq(cpu, NET_RX);
}

/// `sd_has_rps_ipi_waiting`.
pub(crate) fn has_rps_ipi_waiting(cpu: Cpu<'_>) -> bool {
    let mine = cpu.k.backlogs.get(usize::from(cpu.id()));
    mine.is_some_and(|sd| !sd.ipis.borrow().is_empty())
}

/// `net_rps_action_and_irq_enable`: the interrupts that are owed.
pub(crate) async fn net_rps_action(cpu: Cpu<'_>) {
    if !has_rps_ipi_waiting(cpu) {
        return;
    }
    let mine = &cpu.k.backlogs[usize::from(cpu.id())];
    let list = std::mem::take(&mut *mine.ipis.borrow_mut());
    cpu.store(mine.rps_ipi_list, 0).await;
    for target in list {
        cpu.spend(Cost::SendIpi);
        let sd = &cpu.k.backlogs[usize::from(target)];
        // The target's csd goes on its call_single_queue.
        cpu.rmw(sd.csd, Rmw::Mask { clear: 0, set: 1 }, Order::Full)
            .await;
        cpu.elapse(cpu.machine().costs.mmio);
        cpu.settle().await;
        cpu.machine().raise_irq(target, super::drivers::IPI_VECTOR);
    }
}

/// `rps_trigger_softirq`, in the interrupt on the target.
pub(crate) async fn rps_trigger_softirq(cpu: Cpu<'_>) {
    cpu.spend(Cost::RpsTrigger);
    let sd = &cpu.k.backlogs[usize::from(cpu.id())];
    cpu.rmw(sd.csd, Rmw::Mask { clear: 1, set: 0 }, Order::Full)
        .await;
    cpu.k.softnet(cpu.id()).add_poll(sd.napi);
    raise_softirq(cpu, NET_RX);
    let n = cpu.load(sd.received_rps).await;
    cpu.store(sd.received_rps, n + 1).await;
    cpu.k.bump(&cpu.k.softnet(cpu.id()).stat.received_rps, 1);
}

/// `process_backlog`: the poll of this CPU's backlog; how many packets it took.
pub(crate) async fn process_backlog(cpu: Cpu<'_>, quota: u32) -> u32 {
    let _span = cpu.enter(Func::ProcessBacklog);
    cpu.spend(Cost::ProcessBacklog);
    let sd = &cpu.k.backlogs[usize::from(cpu.id())];
    net_rps_action(cpu).await;
    let mut work = 0;
    loop {
        while let Some((skb, dev)) = take(sd) {
            cpu.spend(Cost::BacklogPacket);
            let n = cpu.load(sd.process_queue_word).await;
            cpu.store(sd.process_queue_word, n.saturating_sub(1)).await;
            super::core::receive::__netif_receive_skb(cpu, dev, skb, Cost::NetifReceiveBacklog)
                .await;
            let head = cpu.load(sd.input_queue_head).await;
            cpu.store(sd.input_queue_head, head + 1).await;
            work += 1;
            if work >= quota {
                return work;
            }
        }
        cpu.irq_disable();
        sd.lock.lock(cpu).await;
        let waiting = cpu.load(sd.qlen).await;
        if waiting == 0 {
            // Only the owner's CPU clears it, and under the lock: no atomic, no repeated test.
            cpu.store(sd.state, 0).await;
        } else {
            cpu.store(sd.qlen, 0).await;
            cpu.store(sd.process_queue_word, waiting).await;
            sd.process.borrow_mut().append(&mut sd.input.borrow_mut());
        }
        sd.lock.unlock(cpu).await;
        cpu.irq_enable();
        if waiting == 0 {
            return work;
        }
    }
}

fn take(sd: &Backlog) -> Option<(Skb, usize)> {
    sd.process.borrow_mut().pop_front()
}

/// `__this_cpu_inc(softnet_data.processed)`.
pub(crate) async fn count_processed(cpu: Cpu<'_>) {
    cpu.k.bump(&cpu.k.softnet(cpu.id()).stat.processed, 1);
    if let Some(sd) = cpu.k.backlogs.get(usize::from(cpu.id())) {
        let n = cpu.load(sd.processed_word).await;
        cpu.store(sd.processed_word, n + 1).await;
    }
}
