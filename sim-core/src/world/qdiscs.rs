//! From a configuration to queueing disciplines.

use crate::config;
use crate::kernel::sched::codel::{self, codel_time};
use crate::kernel::sched::codel_qdisc::Codel;
use crate::kernel::sched::fq_codel::{self, FqCodel};
use crate::kernel::sched::pfifo::{Fifo, Limit};
use crate::kernel::sched::pfifo_fast::PfifoFast;
use crate::kernel::sched::prio::Prio;
use crate::kernel::sched::qdisc::{Qdisc, QdiscPlace, Queueing};
use crate::kernel::sched::qdisc_watchdog::QdiscWatchdog;
use crate::kernel::sched::rate::RateCfg;
use crate::kernel::sched::tbf::{self, Tbf};
use crate::machine::layout::LayoutSet;
use crate::machine::memory::Placement;
use crate::machine::nic::ETH_ZLEN;

/// `psched_mtu` of an Ethernet device: MTU and header.
const PSCHED_MTU: u32 = 1514;

/// What `tc` calls a qdisc.
pub(super) fn kind_of(qdisc: &config::Qdisc) -> &'static str {
    match qdisc {
        config::Qdisc::PfifoFast { .. } => "pfifo_fast",
        config::Qdisc::Pfifo { .. } => "pfifo",
        config::Qdisc::Bfifo { .. } => "bfifo",
        config::Qdisc::Prio { .. } => "prio",
        config::Qdisc::Codel { .. } => "codel",
        config::Qdisc::FqCodel { .. } => "fq_codel",
        config::Qdisc::Tbf(_) => "tbf",
        config::Qdisc::Mq(_) => "mq",
        config::Qdisc::Noqueue => "noqueue",
    }
}

/// Where a qdisc goes.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    pub name: &'a str,
    pub number: u32,
    pub txq: usize,
    /// Engine id of its watchdog, if it has one.
    pub timer: u32,
    pub child: bool,
    pub lockless: bool,
}

pub(super) fn qdisc(
    config: &config::Qdisc,
    spot: Spot<'_>,
    layouts: &LayoutSet,
    memory: &mut Placement,
    locks: &mut Vec<String>,
) -> Qdisc {
    let name = spot.name;
    let child = match config {
        config::Qdisc::Tbf(t) => {
            let name = format!("{name} 1:1");
            let spot = Spot {
                name: &name,
                child: true,
                ..spot
            };
            Some(qdisc(&t.child, spot, layouts, memory, locks))
        }
        _ => None,
    };
    let at = QdiscPlace {
        memory,
        layouts,
        name,
        number: spot.number,
        txq: spot.txq,
        kind: kind_of(config),
        child: spot.child,
        locks,
    };
    let units = |ps: u64| codel_time(ps / 1000);
    let law = |target, interval| codel::Params {
        target: units(target),
        interval: units(interval),
        mtu: PSCHED_MTU,
    };
    match *config {
        config::Qdisc::PfifoFast { limit } => {
            // Below a parent, that one's lock protects it.
            let nolock = spot.lockless && !spot.child;
            Qdisc::place(at, nolock, true, |memory, locks| {
                Queueing::PfifoFast(Box::new(PfifoFast::place(memory, name, limit, locks)))
            })
        }
        config::Qdisc::Pfifo { limit } => Qdisc::place(at, false, limit >= 1, |_, _| {
            Queueing::Fifo(Fifo::new(Limit::Packets(limit)))
        }),
        config::Qdisc::Bfifo { limit } => Qdisc::place(at, false, limit >= PSCHED_MTU, |_, _| {
            Queueing::Fifo(Fifo::new(Limit::Bytes(limit)))
        }),
        config::Qdisc::Prio {
            limit,
            bands,
            priomap,
        } => Qdisc::place(at, false, false, |memory, _| {
            Queueing::Prio(Prio::place(memory, name, limit, bands, priomap))
        }),
        config::Qdisc::Codel {
            limit,
            target,
            interval,
        } => Qdisc::place(at, false, limit >= 1, |_, _| {
            Queueing::Codel(Codel::new(limit, law(target, interval)))
        }),
        config::Qdisc::FqCodel {
            limit,
            flows,
            quantum,
            target,
            interval,
        } => Qdisc::place(at, false, true, |memory, _| {
            let settings = fq_codel::Settings {
                limit,
                flows,
                quantum,
                codel: law(target, interval),
            };
            Queueing::FqCodel(FqCodel::place(memory, name, settings))
        }),
        config::Qdisc::Tbf(ref t) => Qdisc::place(at, false, false, |_, _| {
            let rate = |bits: u64| RateCfg::new(bits / 8, t.overhead, t.mpu);
            let settings = tbf::Settings {
                rate: rate(t.rate),
                burst: t.burst,
                peak: t.peak.map(|(bits, mtu)| (rate(bits), mtu)),
            };
            let child = child.expect("made above");
            Queueing::Tbf(Box::new(Tbf::new(
                settings,
                QdiscWatchdog::new(spot.timer),
                child,
            )))
        }),
        config::Qdisc::Mq(_) | config::Qdisc::Noqueue => {
            unreachable!("neither is ever in the way of a packet")
        }
    }
}

/// Packets that it may hold.
pub(super) fn qdisc_room(qdisc: &config::Qdisc) -> u64 {
    match *qdisc {
        config::Qdisc::PfifoFast { limit } => 3 * u64::from(limit),
        config::Qdisc::Prio { limit, bands, .. } => u64::from(bands) * u64::from(limit),
        config::Qdisc::Pfifo { limit }
        | config::Qdisc::Codel { limit, .. }
        | config::Qdisc::FqCodel { limit, .. } => u64::from(limit),
        config::Qdisc::Bfifo { limit } => u64::from(limit / ETH_ZLEN) + 1,
        config::Qdisc::Tbf(ref tbf) => qdisc_room(&tbf.child),
        config::Qdisc::Mq(ref each) => qdisc_room(each),
        config::Qdisc::Noqueue => 0,
    }
}
