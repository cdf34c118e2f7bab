//! `dev_watchdog`: a timer that looks for transmit queues that have been stopped for too long.
//!
//! Follows Linux 3.19, 5.15 and 6.9 `net/sched/sch_generic.c`. Up to v5.15 it freezes all queues of the
//! device at each turn (`netif_tx_lock`), later only when it has found one. What the driver does then
//! (a reset) is absent: it is counted and recorded. Absent too: `tx_global_lock`, which nobody else takes.

use crate::kernel::Cpu;
use crate::kernel::netdev::TxQueue;
use crate::kernel::softirq::netif_schedule_queue;
use crate::trace::Kind;

/// First version that freezes the queues only when one has timed out.
const LESS_INTRUSIVE: (u32, u32) = (5, 16);

/// Number of the mark in the trace.
pub const MARK: u32 = 0;
/// Its name.
pub const MARK_NAME: &str = "ndo_tx_timeout";

/// Runs the watchdogs that are due.
pub(crate) async fn run(cpu: Cpu<'_>) {
    for (index, dev) in cpu.k.devs.iter().enumerate() {
        if dev.watchdog_due.replace(false) {
            dev_watchdog(cpu, index).await;
        }
    }
}

async fn dev_watchdog(cpu: Cpu<'_>, dev: usize) {
    let (k, device) = (cpu.k, cpu.k.dev(dev));
    let Some(timeo) = k.config.watchdog else {
        return;
    };
    let timeo = timeo / (1_000_000_000_000 / u64::from(k.config.hz));
    let freeze_first = k.config.version < LESS_INTRUSIVE;
    if freeze_first {
        freeze(cpu, dev).await;
    }
    let mut timed_out = false;
    for txq in &k.txqs[device.txqs.clone()] {
        if stuck(cpu, txq, timeo).await {
            timed_out = true;
            cpu.record(Kind::Mark, MARK, txq.number);
            // The first one found ends the scan.
            break;
        }
    }
    if timed_out {
        if !freeze_first {
            freeze(cpu, dev).await;
        }
        k.bump(&device.tx_timeouts, 1);
    }
    if freeze_first || timed_out {
        for txq in &k.txqs[device.txqs.clone()] {
            txq.set_frozen(cpu, false).await;
            // netif_tx_unlock
            if !txq.stopped(cpu).await {
                netif_schedule_queue(cpu, txq).await;
            }
        }
    }
}

/// Stopped, by the driver or by BQL, and nothing was sent for longer than `timeo` jiffies.
async fn stuck(cpu: Cpu<'_>, txq: &TxQueue, timeo: u64) -> bool {
    txq.stopped(cpu).await && cpu.jiffies() > txq.last_start(cpu).await + timeo
}

/// `netif_tx_lock`: once each queue's lock was held, nobody sends.
async fn freeze(cpu: Cpu<'_>, dev: usize) {
    for txq in &cpu.k.txqs[cpu.k.dev(dev).txqs.clone()] {
        txq.tx_lock(cpu).await;
        txq.set_frozen(cpu, true).await;
        txq.tx_unlock(cpu).await;
    }
}
