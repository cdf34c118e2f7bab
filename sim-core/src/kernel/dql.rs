//! Byte queue limits: the arithmetic of `lib/dynamic_queue_limits.c`, and its words on the lines of a
//! transmit queue.
//!
//! The same in Linux 3.3 to 6.9 but for stall detection (6.8), which is absent. All counts are `u32`
//! and wrap.

use super::Cpu;
use super::netdev::{TxQueue, txq_state};
use super::softirq::netif_schedule_queue;
use crate::machine::memory::{LineId, Placement, Word};
use crate::machine::{Footprint, Order, Rmw};
use crate::trace::{DqlField, Kind};
use std::cell::Cell;

/// Greatest `limit` there is (`DQL_MAX_LIMIT`).
pub const MAX_LIMIT: u32 = (u32::MAX / 2) - (u32::MAX / 16);

/// `POSDIFF`.
fn posdiff(a: u32, b: u32) -> u32 {
    if a.wrapping_sub(b) as i32 > 0 {
        a.wrapping_sub(b)
    } else {
        0
    }
}

/// `AFTER_EQ`.
fn after_eq(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 >= 0
}

/// The half of `struct dql` that only the completing side writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Objects that may be in flight.
    pub limit: u32,
    /// Completed so far.
    pub num_completed: u32,
    /// By how much the limit was exceeded at the last completion.
    pub prev_ovlimit: u32,
    /// `num_queued` at the last completion.
    pub prev_num_queued: u32,
    /// `last_obj_cnt` at the last completion.
    pub prev_last_obj_cnt: u32,
    /// Least slack in the current hold time.
    pub lowest_slack: u32,
    /// Jiffies at which it began.
    pub slack_start_time: u64,
    /// `limit_max`.
    pub max_limit: u32,
    /// `limit_min`.
    pub min_limit: u32,
    /// Jiffies after which slack takes the limit back (netdev: HZ).
    pub slack_hold_time: u64,
}

impl Completion {
    /// `dql_init`: limit 0, so that the first packet is always admitted and no second.
    pub fn new(hold: u64, now: u64) -> Completion {
        Completion {
            limit: 0,
            num_completed: 0,
            prev_ovlimit: 0,
            prev_num_queued: 0,
            prev_last_obj_cnt: 0,
            lowest_slack: u32::MAX,
            slack_start_time: now,
            max_limit: MAX_LIMIT,
            min_limit: 0,
            slack_hold_time: hold,
        }
    }

    /// `dql_completed`: `count` more are done. Returns the new `adj_limit`.
    pub fn completed(
        &mut self,
        count: u32,
        num_queued: u32,
        last_obj_cnt: u32,
        jiffies: u64,
    ) -> u32 {
        let done = self.num_completed.wrapping_add(count);
        let mut limit = self.limit;
        let mut ovlimit = posdiff(num_queued.wrapping_sub(self.num_completed), limit);
        let inprogress = num_queued.wrapping_sub(done);
        let prev_inprogress = self.prev_num_queued.wrapping_sub(self.num_completed);
        let all_prev_completed = after_eq(done, self.prev_num_queued);
        if (ovlimit != 0 && inprogress == 0) || (self.prev_ovlimit != 0 && all_prev_completed) {
            // Starved: the queue ran dry although there was more to send.
            limit = limit
                .wrapping_add(posdiff(done, self.prev_num_queued))
                .wrapping_add(self.prev_ovlimit);
            self.slack_start_time = jiffies;
            self.lowest_slack = u32::MAX;
        } else if inprogress != 0 && prev_inprogress != 0 && !all_prev_completed {
            // Busy all the time: what was never needed is slack.
            let slack = posdiff(
                limit.wrapping_add(self.prev_ovlimit),
                2u32.wrapping_mul(done.wrapping_sub(self.num_completed)),
            );
            let last = if self.prev_ovlimit != 0 {
                posdiff(self.prev_last_obj_cnt, self.prev_ovlimit)
            } else {
                0
            };
            self.lowest_slack = self.lowest_slack.min(slack.max(last));
            if jiffies > self.slack_start_time + self.slack_hold_time {
                limit = posdiff(limit, self.lowest_slack);
                self.slack_start_time = jiffies;
                self.lowest_slack = u32::MAX;
            }
        }
        limit = limit.clamp(self.min_limit, self.max_limit);
        if limit != self.limit {
            self.limit = limit;
            ovlimit = 0;
        }
        self.prev_ovlimit = ovlimit;
        self.prev_last_obj_cnt = last_obj_cnt;
        self.num_completed = done;
        self.prev_num_queued = num_queued;
        limit.wrapping_add(done)
    }
}

/// Byte queue limits of one transmit queue.
#[derive(Debug)]
pub struct Bql {
    num_queued: Word,
    adj_limit: Word,
    last_obj_cnt: Word,
    line: LineId,
    completion: Cell<Completion>,
}

/// Limits as set in `/sys/class/net/DEV/queues/tx-N/byte_queue_limits/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `limit_min`.
    pub min: u32,
    /// `limit_max`.
    pub max: u32,
    /// HZ: the hold time in jiffies.
    pub hz: u32,
}

impl Bql {
    /// Puts the sending side's words on `line`, behind the queue's own, and the completing side's on
    /// the line after.
    pub(crate) fn place(memory: &mut Placement, name: &str, line: LineId, limits: Limits) -> Bql {
        let mut word = |offset, what: &str| {
            memory.word(
                line,
                offset,
                format_args!("netdev_queue {name} dql.{what}"),
                0,
            )
        };
        let (num_queued, adj_limit) = (word(24, "num_queued"), word(28, "adj_limit"));
        let last_obj_cnt = word(32, "last_obj_cnt");
        let mut completion = Completion::new(u64::from(limits.hz), 0);
        completion.min_limit = limits.min;
        completion.max_limit = limits.max.min(MAX_LIMIT);
        Bql {
            num_queued,
            adj_limit,
            last_obj_cnt,
            line: memory.lines(format_args!("netdev_queue {name} dql completion"), 1),
            completion: Cell::new(completion),
        }
    }

    /// `dql_avail`: what may still be queued; negative when over the limit.
    pub(crate) async fn avail(&self, cpu: Cpu<'_>) -> i32 {
        let adj = cpu.load(self.adj_limit).await as u32;
        let queued = cpu.load(self.num_queued).await as u32;
        adj.wrapping_sub(queued) as i32
    }

    async fn queued(&self, cpu: Cpu<'_>, bytes: u32) {
        cpu.store(self.last_obj_cnt, u64::from(bytes)).await;
        let n = cpu.load(self.num_queued).await as u32;
        cpu.store(self.num_queued, u64::from(n.wrapping_add(bytes)))
            .await;
    }

    /// The completing side's state, for reports and checks.
    pub fn completion(&self) -> Completion {
        self.completion.get()
    }
}

impl TxQueue {
    /// `__netdev_tx_sent_queue`: `bytes` were put on the ring. True if the doorbell is to be rung now.
    /// Without BQL: unless more follows, or the queue is stopped.
    pub(crate) async fn sent_queue(&self, cpu: Cpu<'_>, bytes: u32, more: bool) -> bool {
        let Some(bql) = &self.bql else {
            return !more || self.frozen_or_stopped(cpu).await;
        };
        if more {
            bql.queued(cpu, bytes).await;
            return self.drv_stopped(cpu).await;
        }
        self.tx_sent_queue(cpu, bytes).await;
        true
    }

    /// `netdev_tx_sent_queue`.
    pub(crate) async fn tx_sent_queue(&self, cpu: Cpu<'_>, bytes: u32) {
        let Some(bql) = &self.bql else { return };
        bql.queued(cpu, bytes).await;
        if bql.avail(cpu).await >= 0 {
            return;
        }
        self.set_stack_xoff(cpu, true).await;
        // The bit before the second look, or a completion in between wakes nobody.
        if cpu.k.config.bql_mb {
            cpu.smp_mb().await;
        }
        if bql.avail(cpu).await >= 0 {
            self.set_stack_xoff(cpu, false).await;
        }
    }

    async fn set_stack_xoff(&self, cpu: Cpu<'_>, on: bool) {
        let bit = txq_state::STACK_XOFF;
        let change = Rmw::Mask {
            clear: if on { 0 } else { bit },
            set: if on { bit } else { 0 },
        };
        cpu.rmw_posted(self.state_word(), change).await;
        cpu.record(Kind::TxqState, self.number, if on { bit as u32 } else { 0 });
    }

    /// `netdev_tx_completed_queue`: schedules the queue's qdisc if BQL had stopped it.
    pub(crate) async fn tx_completed_queue(&self, cpu: Cpu<'_>, pkts: u32, bytes: u32) {
        let Some(bql) = &self.bql else { return };
        if bytes == 0 {
            return;
        }
        let num_queued = cpu.load(bql.num_queued).await as u32;
        let last_obj = cpu.load(bql.last_obj_cnt).await as u32;
        let mut c = bql.completion.get();
        self.record_dql(cpu, DqlField::Packets, pkts);
        self.record_dql(cpu, DqlField::Count, bytes);
        self.record_dql(cpu, DqlField::NumQueued, num_queued);
        let adj_limit = c.completed(bytes, num_queued, last_obj, cpu.jiffies());
        bql.completion.set(c);
        cpu.touch([Footprint {
            base: bql.line,
            reads: 0,
            writes: 1,
        }])
        .await;
        cpu.store(bql.adj_limit, u64::from(adj_limit)).await;
        self.unblock(cpu, bql).await;
        self.record_dql(cpu, DqlField::NumCompleted, c.num_completed);
        self.record_dql(cpu, DqlField::AdjLimit, adj_limit);
        self.record_dql(cpu, DqlField::Limit, c.limit);
        self.record_dql(cpu, DqlField::PrevOvlimit, c.prev_ovlimit);
        self.record_dql(cpu, DqlField::LowestSlack, c.lowest_slack);
    }

    async fn unblock(&self, cpu: Cpu<'_>, bql: &Bql) {
        // adj_limit before the bit: the sender looks at them in the other order.
        if cpu.k.config.bql_mb {
            cpu.smp_mb().await;
        }
        if bql.avail(cpu).await < 0 {
            return;
        }
        let clear = Rmw::Mask {
            clear: txq_state::STACK_XOFF,
            set: 0,
        };
        let was = cpu.rmw(self.state_word(), clear, Order::Full).await;
        if was & txq_state::STACK_XOFF == 0 {
            return;
        }
        let left = was & !txq_state::STACK_XOFF;
        cpu.record(Kind::TxqState, self.number, left as u32);
        if left & txq_state::DRV_XOFF == 0 {
            netif_schedule_queue(cpu, self).await;
        }
    }

    fn record_dql(&self, cpu: Cpu<'_>, field: DqlField, value: u32) {
        cpu.record(Kind::Dql, self.number << 8 | field as u32, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One step of the kernel's own runs: `q n` = queued, `c n jiffy` = completed.
    struct Run {
        c: Completion,
        queued: u32,
        last: u32,
        adj: u32,
    }

    impl Run {
        fn new() -> Run {
            Run {
                c: Completion::new(250, 0),
                queued: 0,
                last: 0,
                adj: 0,
            }
        }
        fn q(&mut self, n: u32) -> &mut Run {
            self.queued = self.queued.wrapping_add(n);
            self.last = n;
            self
        }
        fn c(&mut self, n: u32, jiffy: u64) -> (u32, u32, u32, i32) {
            self.adj = self.c.completed(n, self.queued, self.last, jiffy);
            (
                self.c.limit,
                self.adj,
                self.c.prev_ovlimit,
                self.adj.wrapping_sub(self.queued) as i32,
            )
        }
    }

    /// limit, adj_limit, prev_ovlimit, avail of Linux 5.11's function.
    #[test]
    fn grows_as_in_the_kernel() {
        let mut r = Run::new();
        assert_eq!(r.q(1514).c(1514, 10), (1514, 3028, 0, 1514));
        assert_eq!(r.q(1514).q(1514).c(1514, 11), (1514, 4542, 1514, 0));
        assert_eq!(r.q(1514).c(3028, 12), (4542, 10598, 0, 4542));
        r.q(1514).q(1514).q(1514);
        assert_eq!(r.c(1514, 13), (4542, 12112, 0, 1514));
        assert_eq!(r.c(1514, 14), (4542, 13626, 0, 3028));
        assert_eq!(r.q(65226).c(1514, 20), (4542, 15140, 62198, -60684));
        assert_eq!(r.c(65226, 21), (66740, 142564, 0, 66740));
        assert_eq!(
            r.q(65226).q(65226).c(65226, 22),
            (66740, 207790, 63712, 1514)
        );
        assert_eq!(r.q(65226).c(65226, 23), (130452, 336728, 0, 65226));
        assert_eq!(r.q(65226).c(65226, 300), (130452, 401954, 0, 65226));
        assert_eq!(r.q(65226).c(65226, 301), (130452, 467180, 0, 65226));
        assert_eq!(r.q(1514).c(65226, 600), (130452, 532406, 0, 128938));
        assert_eq!(r.c(1514, 601), (130452, 533920, 0, 130452));
    }

    #[test]
    fn shrinks_after_the_hold_time() {
        let mut r = Run::new();
        assert_eq!(r.q(65226).c(65226, 5), (65226, 130452, 0, 65226));
        assert_eq!(r.q(65226).q(65226).c(65226, 6), (65226, 195678, 65226, 0));
        assert_eq!(r.q(65226).c(130452, 7), (195678, 456582, 0, 195678));
        (0..40).for_each(|_| {
            r.q(1514);
        });
        assert_eq!(r.c(12112, 100), (195678, 468694, 0, 147230));
        let eight = |r: &mut Run| {
            (0..8).for_each(|_| {
                r.q(1514);
            });
        };
        eight(&mut r);
        assert_eq!(r.c(12112, 200), (195678, 480806, 0, 147230));
        assert_eq!(r.c.lowest_slack, 171454);
        eight(&mut r);
        assert_eq!(r.c(12112, 300), (24224, 321464, 0, -24224));
        eight(&mut r);
        assert_eq!(r.c(12112, 400), (24224, 333576, 36336, -24224));
    }
}
