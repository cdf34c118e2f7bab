//! `fq_codel`: deficit round robin over hashed flows, each with CoDel, under the root lock.
//!
//! Follows Linux 6.9 `net/sched/sch_fq_codel.c`. The flow hash is a multiplication, so that a few
//! consecutive ports never share a bucket (the kernel's is keyed at random). Absent: memory limit, ECN,
//! filters.

use super::codel::{self, Params, Vars, codel_time};
use super::qdisc::Qdisc;
use crate::kernel::skb::{Skb, Skbs, line};
use crate::kernel::{Cost, Cpu, Func};
use crate::machine::Footprint;
use crate::machine::memory::{LineId, Placement};
use std::cell::RefCell;
use std::collections::VecDeque;

/// Most packets of one overlimit drop (`drop_batch_size`).
const DROP_BATCH: u32 = 64;

/// Settings.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Packets.
    pub limit: u32,
    /// Buckets.
    pub flows: u32,
    /// Bytes a round.
    pub quantum: u32,
    /// The law's.
    pub codel: Params,
}

#[derive(Debug, Default)]
struct Bucket {
    queue: VecDeque<(Skb, u32)>,
    backlog: u32,
    deficit: i32,
    vars: Vars,
    /// On the list of new or old flows.
    listed: bool,
}

#[derive(Debug)]
struct State {
    buckets: Vec<Bucket>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

/// The flows.
#[derive(Debug)]
pub struct FqCodel {
    settings: Settings,
    lines: LineId,
    state: RefCell<State>,
}

/// What became of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Enqueued {
    /// Others (or itself) that were dropped to make room.
    pub dropped: Vec<Skb>,
    /// They were of its own flow (`NET_XMIT_CN`).
    pub congested: bool,
}

struct Head<'a> {
    bucket: &'a mut Bucket,
    skbs: &'a Skbs,
    dropped: &'a mut Vec<Skb>,
}

impl codel::Queue for Head<'_> {
    type Packet = (Skb, u32);
    fn pop(&mut self) -> Option<(Skb, u32)> {
        let packet = self.bucket.queue.pop_front()?;
        self.bucket.backlog -= self.skbs.len(packet.0);
        Some(packet)
    }
    fn enqueued(&self, packet: (Skb, u32)) -> u32 {
        packet.1
    }
    fn backlog(&self) -> u32 {
        self.bucket.backlog
    }
    fn drop(&mut self, packet: (Skb, u32)) {
        self.dropped.push(packet.0);
    }
}

impl FqCodel {
    pub(crate) fn place(memory: &mut Placement, name: &str, settings: Settings) -> FqCodel {
        FqCodel {
            settings,
            lines: memory.lines(format_args!("Qdisc {name} flows"), settings.flows),
            state: RefCell::new(State {
                buckets: (0..settings.flows).map(|_| Bucket::default()).collect(),
                new: VecDeque::new(),
                old: VecDeque::new(),
            }),
        }
    }

    /// `fq_codel_enqueue`; the caller holds the root lock.
    pub(crate) async fn enqueue(&self, cpu: Cpu<'_>, q: &Qdisc, skb: Skb) -> Enqueued {
        let _span = cpu.enter(Func::FqCodelEnqueue);
        cpu.spend(Cost::FqCodelEnqueue);
        cpu.spend(Cost::SkbHash);
        cpu.spend(Cost::KtimeGet);
        let (len, index) = (
            cpu.k.skbs.len(skb),
            cpu.k.skbs.frame(skb).hash_to(self.settings.flows) as usize,
        );
        cpu.touch([
            Footprint {
                base: self.lines.nth(index as u32),
                reads: 1,
                writes: 1,
            },
            cpu.k.skbs.struct_lines(skb, 0, line::L0),
        ])
        .await;
        q.note_enqueue(cpu, skb);
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let b = &mut state.buckets[index];
        b.queue
            .push_back((skb, codel_time(cpu.k.ktime(cpu.now()).ns())));
        b.backlog += len;
        if !b.listed {
            b.listed = true;
            b.deficit = self.settings.quantum as i32;
            state.new.push_back(index);
        }
        let mut result = Enqueued {
            dropped: Vec::new(),
            congested: false,
        };
        if q.stats.qlen.get() > u64::from(self.settings.limit) {
            result.congested = self.drop_from_fattest(cpu, state, &mut result.dropped) == index;
        }
        result
    }

    /// Half of the fattest flow's bytes go, or a batch of packets, from its head.
    fn drop_from_fattest(&self, cpu: Cpu<'_>, state: &mut State, dropped: &mut Vec<Skb>) -> usize {
        // `>` and not `>=`: the first of equally fat ones, as in the kernel's scan.
        let mut fattest = 0;
        for (i, b) in state.buckets.iter().enumerate() {
            if b.backlog > state.buckets[fattest].backlog {
                fattest = i;
            }
        }
        let b = &mut state.buckets[fattest];
        let threshold = b.backlog / 2;
        let (mut n, mut bytes) = (0, 0);
        while let Some((skb, _)) = b.queue.pop_front() {
            bytes += cpu.k.skbs.len(skb);
            dropped.push(skb);
            n += 1;
            if n >= DROP_BATCH || bytes >= threshold {
                break;
            }
        }
        b.backlog -= bytes;
        b.vars.count += n;
        fattest
    }

    /// `fq_codel_dequeue`; the caller holds the root lock. What CoDel threw away goes to `dropped`.
    pub(crate) async fn dequeue(&self, cpu: Cpu<'_>, dropped: &mut Vec<Skb>) -> Option<Skb> {
        let _span = cpu.enter(Func::FqCodelDequeue);
        cpu.spend(Cost::FqCodelDequeue);
        cpu.spend(Cost::KtimeGet);
        let (skb, index) = self.pick(cpu, dropped)?;
        cpu.touch([
            Footprint {
                base: self.lines.nth(index as u32),
                reads: 1,
                writes: 1,
            },
            cpu.k.skbs.struct_lines(skb, line::L0, line::L0),
        ])
        .await;
        Some(skb)
    }

    fn pick(&self, cpu: Cpu<'_>, dropped: &mut Vec<Skb>) -> Option<(Skb, usize)> {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        loop {
            let from_new = !state.new.is_empty();
            let index = *state.new.front().or(state.old.front())?;
            let b = &mut state.buckets[index];
            let leave = |state: &mut State| {
                if from_new {
                    state.new.pop_front();
                } else {
                    state.old.pop_front();
                }
            };
            if b.deficit <= 0 {
                b.deficit += self.settings.quantum as i32;
                leave(state);
                state.old.push_back(index);
                continue;
            }
            let mut vars = b.vars;
            let mut head = Head {
                bucket: b,
                skbs: &cpu.k.skbs,
                dropped,
            };
            let now = codel_time(cpu.k.ktime(cpu.now()).ns());
            let packet = vars.dequeue(&mut head, &self.settings.codel, now);
            b.vars = vars;
            let Some((skb, _)) = packet else {
                // A new flow goes round the old ones once, so that it cannot be new for ever.
                if from_new && !state.old.is_empty() {
                    leave(state);
                    state.old.push_back(index);
                } else {
                    b.listed = false;
                    leave(state);
                }
                continue;
            };
            b.deficit -= cpu.k.skbs.len(skb) as i32;
            return Some((skb, index));
        }
    }

    pub(crate) fn peek_all(&self) -> Vec<Skb> {
        let state = self.state.borrow();
        state
            .buckets
            .iter()
            .flat_map(|b| b.queue.iter().map(|&(skb, _)| skb))
            .collect()
    }
}
