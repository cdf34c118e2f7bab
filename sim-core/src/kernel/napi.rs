//! NAPI: scheduling a poll, polling, completing.
//!
//! Follows Linux 5.15 `net/core/dev.c`. Absent: busy polling, threaded NAPI, deferral of hard interrupts.

use super::softirq::{NET_RX, raise_softirq};
use super::{Cost, Cpu, Func};
use crate::machine::memory::{Placement, Word};
use crate::machine::{Order, Rmw};
use crate::trace::Kind;
use std::cell::Cell;

/// `NAPI_POLL_WEIGHT`: most packets of one poll.
pub const WEIGHT: u32 = 64;

/// Bits of `napi_struct.state`.
pub mod napi_state {
    /// On a poll list, or being polled.
    pub const SCHED: u64 = 1;
    /// Scheduled again meanwhile (4.11).
    pub const MISSED: u64 = 2;
}

/// In the place of a device: the backlog of a CPU.
pub const BACKLOG: usize = usize::MAX;

/// `struct napi_struct` of one interrupt vector, of a veth's receive queue, or of a CPU's backlog.
#[derive(Debug)]
pub struct Napi {
    /// Its device, or [`BACKLOG`].
    pub dev: usize,
    /// Number of its vector within the device.
    pub vector: usize,
    /// Most packets of one poll.
    pub weight: u32,
    state: Word,
    /// Polls, and packets they took.
    pub polls: Cell<u64>,
    /// Packets they took.
    pub packets: Cell<u64>,
}

impl Napi {
    pub(crate) fn place(
        memory: &mut Placement,
        name: &str,
        dev: usize,
        vector: usize,
        weight: u32,
    ) -> Napi {
        let state = memory.lone_word(format_args!("napi_struct {name}-{vector} state"), 0);
        Napi::at(state, dev, vector, weight)
    }

    /// One whose state is a field of something else.
    pub(crate) fn at(state: Word, dev: usize, vector: usize, weight: u32) -> Napi {
        Napi {
            dev,
            vector,
            weight,
            state,
            polls: Cell::new(0),
            packets: Cell::new(0),
        }
    }

    /// `napi_schedule_prep`: true if the caller is to put it on a poll list.
    pub(crate) async fn schedule_prep(&self, cpu: Cpu<'_>) -> bool {
        let old = cpu.load(self.state).await;
        // One cmpxchg: SCHED, and MISSED if it was scheduled already.
        let set = if old & napi_state::SCHED != 0 {
            napi_state::SCHED | napi_state::MISSED
        } else {
            napi_state::SCHED
        };
        let old = cpu
            .rmw(self.state, Rmw::Mask { clear: 0, set }, Order::Full)
            .await;
        old & napi_state::SCHED == 0
    }
}

/// `napi_schedule` from a hard interrupt: onto this CPU's poll list.
pub(crate) async fn napi_schedule(cpu: Cpu<'_>, number: usize) -> bool {
    let napi = &cpu.k.napis[number];
    if !napi.schedule_prep(cpu).await {
        return false;
    }
    __napi_schedule(cpu, number);
    true
}

/// `__napi_schedule`: onto this CPU's poll list.
pub(crate) fn __napi_schedule(cpu: Cpu<'_>, number: usize) {
    cpu.k.softnet(cpu.id()).add_poll(number);
    raise_softirq(cpu, NET_RX);
}

/// `napi_complete_done`: true if the driver is to let the device interrupt again; false if somebody
/// scheduled it meanwhile (it is on the poll list again then).
pub(crate) async fn napi_complete_done(cpu: Cpu<'_>, number: usize) -> bool {
    let _span = cpu.enter(Func::NapiComplete);
    let napi = &cpu.k.napis[number];
    let clear = Rmw::Mask {
        clear: napi_state::SCHED | napi_state::MISSED,
        set: 0,
    };
    let old = cpu.rmw(napi.state, clear, Order::Full).await;
    if old & napi_state::MISSED == 0 {
        return true;
    }
    cpu.rmw(
        napi.state,
        Rmw::Mask {
            clear: 0,
            set: napi_state::SCHED,
        },
        Order::Full,
    )
    .await;
    __napi_schedule(cpu, number);
    false
}

/// `__napi_poll`: packets taken, and whether it wants to be polled again.
pub(crate) async fn napi_poll(cpu: Cpu<'_>, number: usize) -> (u32, bool) {
    let _span = cpu.enter(Func::NapiPoll);
    let napi = &cpu.k.napis[number];
    let work = if napi.dev == BACKLOG {
        cpu.spend(Cost::NapiPollBacklog);
        super::backlog::process_backlog(cpu, napi.weight).await
    } else {
        cpu.spend(Cost::NapiPoll);
        super::drivers::poll(cpu, number, napi.weight).await
    };
    cpu.k.bump(&napi.polls, 1);
    cpu.k.bump(&napi.packets, u64::from(work));
    cpu.record(Kind::NapiPoll, work, napi.weight);
    (work, work >= napi.weight)
}
