//! `qdisc_watchdog`: a high-resolution timer that gets a throttled qdisc going again.
//!
//! Follows Linux 6.1 `net/sched/sch_api.c`. It fires on the CPU that armed it.

use crate::engine::time::Instant;
use crate::kernel::softirq::__netif_schedule;
use crate::kernel::{Cost, Cpu, Func};
use std::cell::Cell;

/// The timer of one qdisc.
#[derive(Debug)]
pub struct QdiscWatchdog {
    due: Cell<Option<Instant>>,
    cpu: Cell<u16>,
    /// Engine id of its event.
    event: u32,
}

impl QdiscWatchdog {
    pub(crate) fn new(event: u32) -> QdiscWatchdog {
        QdiscWatchdog {
            due: Cell::new(None),
            cpu: Cell::new(0),
            event,
        }
    }

    /// When it is due, if it is armed.
    pub fn due(&self) -> Option<Instant> {
        self.due.get()
    }

    /// The CPU it fires on.
    pub fn cpu(&self) -> u16 {
        self.cpu.get()
    }

    /// `qdisc_watchdog_schedule_ns`. The events of earlier times find that it is due later.
    pub(crate) fn schedule(&self, cpu: Cpu<'_>, at: Instant) {
        cpu.spend(Cost::WatchdogSchedule);
        if self.due.get() == Some(at) {
            return;
        }
        self.due.set(Some(at));
        self.cpu.set(cpu.id());
        cpu.machine().push_device(at.max(cpu.now()), self.event);
    }
}

/// `qdisc_watchdog` of all timers of this CPU that are due, in its timer interrupt.
pub(crate) async fn expire(cpu: Cpu<'_>) {
    let _span = cpu.enter(Func::QdiscWatchdog);
    cpu.spend(Cost::Watchdog);
    for q in &cpu.k.qdiscs {
        let Some(watchdog) = q.watchdog().filter(|w| w.cpu() == cpu.id()) else {
            continue;
        };
        if watchdog
            .due()
            .is_some_and(|due| due <= cpu.k.ktime(cpu.now()))
        {
            watchdog.due.set(None);
            __netif_schedule(cpu, q).await;
        }
    }
}
