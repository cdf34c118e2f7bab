//! `net/sched`: queueing disciplines.

pub mod codel;
pub mod codel_qdisc;
pub mod fq_codel;
pub(crate) mod generic;
pub(crate) mod lockless;
pub mod pfifo;
pub mod pfifo_fast;
pub mod prio;
pub mod ptr_ring;
pub mod qdisc;
pub mod qdisc_watchdog;
pub mod rate;
pub mod tbf;
pub mod user;
pub mod watchdog;
