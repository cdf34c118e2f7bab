//! `tbf`: a token bucket in front of another qdisc, under the root lock.
//!
//! Follows Linux 6.1 `net/sched/sch_tbf.c`. A packet may go when the tokens left after it are not negative.
//! Absent: segmentation of what is larger than the bucket.

use super::qdisc::Qdisc;
use super::qdisc_watchdog::QdiscWatchdog;
use super::rate::RateCfg;
use crate::engine::time::Instant;
use crate::kernel::netdev::NET_XMIT_DROP;
use crate::kernel::skb::Skb;
use crate::kernel::{Cost, Cpu, Func};
use std::cell::Cell;

/// Settings.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The rate.
    pub rate: RateCfg,
    /// Bucket in bytes: what is larger can never go.
    pub burst: u32,
    /// A second bucket: its rate, and its size in bytes.
    pub peak: Option<(RateCfg, u32)>,
}

/// The bucket.
#[derive(Debug)]
pub struct Tbf {
    settings: Settings,
    max_size: u32,
    /// Depth of both buckets in nanoseconds, and what is in them.
    buffer: i64,
    peak_buffer: i64,
    tokens: Cell<i64>,
    ptokens: Cell<i64>,
    /// `t_c` in nanoseconds.
    checked: Cell<i64>,
    pub(crate) watchdog: QdiscWatchdog,
    /// What queues.
    pub child: Box<Qdisc>,
}

impl Tbf {
    pub(crate) fn new(settings: Settings, watchdog: QdiscWatchdog, child: Qdisc) -> Tbf {
        let buffer = settings.rate.l2t_ns(settings.burst);
        let peak_buffer = settings.peak.map_or(0, |(rate, mtu)| rate.l2t_ns(mtu));
        Tbf {
            settings,
            max_size: settings
                .peak
                .map_or(settings.burst, |(_, mtu)| mtu.min(settings.burst)),
            buffer,
            peak_buffer,
            tokens: Cell::new(buffer),
            ptokens: Cell::new(peak_buffer),
            checked: Cell::new(0),
            watchdog,
            child: Box::new(child),
        }
    }

    /// `tbf_enqueue`; the caller holds the root lock.
    pub(crate) async fn enqueue(&self, cpu: Cpu<'_>, skb: Skb, to_free: &mut Vec<Skb>) -> i32 {
        let _span = cpu.enter(Func::TbfEnqueue);
        cpu.spend(Cost::TbfEnqueue);
        if cpu.k.skbs.len(skb) > self.max_size {
            to_free.push(skb);
            return NET_XMIT_DROP;
        }
        // Boxed: a child may have children.
        Box::pin(self.child.enqueue_locked(cpu, skb, to_free)).await
    }

    /// `tbf_dequeue`; the caller holds the root lock. True with nothing: it has to wait.
    pub(crate) async fn dequeue(&self, cpu: Cpu<'_>) -> (Option<Skb>, bool) {
        let _span = cpu.enter(Func::TbfDequeue);
        cpu.spend(Cost::TbfDequeue);
        let Some(skb) = Box::pin(self.child.peek(cpu)).await else {
            return (None, false);
        };
        let now = cpu.ktime_get().ns() as i64;
        let len = cpu.k.skbs.len(skb);
        let passed = (now - self.checked.get()).min(self.buffer);
        let ptoks = self.settings.peak.map_or(0, |(rate, _)| {
            (passed + self.ptokens.get()).min(self.peak_buffer) - rate.l2t_ns(len)
        });
        let toks = (passed + self.tokens.get()).min(self.buffer) - self.settings.rate.l2t_ns(len);
        if toks.min(ptoks) < 0 {
            let wait = (-toks).max(-ptoks);
            let at = Instant::from_ps((now + wait) as u64 * 1000);
            self.watchdog.schedule(cpu, at);
            return (None, true);
        }
        // Another packet than was looked at, if one of a higher band came meanwhile: not under one lock.
        let skb = Box::pin(self.child.dequeue_peeked(cpu)).await;
        if skb.is_some() {
            self.checked.set(now);
            self.tokens.set(toks);
            self.ptokens.set(ptoks);
        }
        (skb, false)
    }
}
