//! A socket's wait queue: one task sleeps until somebody wakes it.
//!
//! Follows Linux 6.1 `net/core/sock.c` (`sk_wait_event`, `sock_def_readable`). A socket here has one owner,
//! so there is one waiter at most.

use super::{Cost, Cpu};
use std::cell::Cell;

/// The task that waits, and whether it was woken since it began to.
#[derive(Debug, Default)]
pub(crate) struct WaitQueue {
    waiter: Cell<Option<u32>>,
    woken: Cell<bool>,
}

impl WaitQueue {
    /// `prepare_to_wait`: from here on a wake-up counts.
    pub fn prepare(&self, task: u32) {
        self.woken.set(false);
        self.waiter.set(Some(task));
    }

    /// `finish_wait` without having slept.
    pub fn cancel(&self) {
        self.waiter.set(None);
    }

    /// `schedule_timeout`: sleeps, unless it was woken already.
    pub async fn schedule(&self, cpu: Cpu<'_>) {
        cpu.spend(Cost::SkWaitData);
        cpu.settle().await;
        // Nothing can come in between this test and the sleep.
        if !self.woken.get() {
            cpu.sleep().await;
            cpu.elapse(cpu.machine().costs.irq_entry);
            cpu.elapse(cpu.machine().costs.context_switch);
        }
        cpu.spend(Cost::SkWokenUp);
        self.waiter.set(None);
    }

    /// Whether somebody waits and was not woken yet.
    pub fn is_waited_on(&self) -> bool {
        self.waiter.get().is_some() && !self.woken.get()
    }

    /// `wake_up`.
    pub async fn wake(&self, cpu: Cpu<'_>) {
        let Some(task) = self.waiter.get().filter(|_| !self.woken.get()) else {
            return;
        };
        self.woken.set(true);
        cpu.spend(Cost::TryToWakeUp);
        cpu.settle().await;
        cpu.machine().wake_task(task);
    }
}
