//! Systematic search: schedules in the order of what they cost, each state once.
//!
//! A work item is a list of [`Deviation`]s; a run follows it and goes on as usual. Each step after the last
//! deviation whose state is new gives one item for everybody else who could have gone there. A
//! state is known by its happens-before order ([`Point::state`]), so orders of independent steps are one.
//!
//! Items of one cost are run in batches that do not know of each other, and merged in their order: what is
//! found first, and every count, is the same for any number of threads.

use super::hunt::Watch;
use super::usual::{Deviating, Deviation, without_costs};
use super::{Job, Stats};
use crate::engine::StopReason;
use crate::engine::schedule::{Agent, Enabled, Point, Schedule};
use crate::engine::time::Span;
use crate::violation::Violation;
use crate::world::Explore;
use std::collections::{BTreeMap, BTreeSet};

/// Work items in a batch.
const BATCH: usize = 128;

/// What a deviation costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// Each costs one: the fewest deviations are found first.
    Deviation,
    /// Only taking the CPU from a context that could go on costs: a preemption, an early device, an early
    /// interrupt. Stores becoming visible are free.
    Preemption,
}

impl Price {
    fn of(self, current: Option<u16>, enabled: &[Enabled], chosen: Agent) -> u32 {
        if self == Price::Deviation {
            return 1;
        }
        let goes_on = |cpu: Option<u16>| {
            cpu.is_some_and(|c| enabled.iter().any(|e| e.agent == Agent::Cpu(c)))
        };
        match chosen {
            Agent::Drain(..) => 0,
            Agent::Cpu(c) => u32::from(current != Some(c) && goes_on(current)),
            Agent::Irq(_) => 1,
            Agent::Device(_) => u32::from(enabled.iter().any(|e| matches!(e.agent, Agent::Cpu(_)))),
        }
    }

    /// A state, as far as what can still happen at which price goes.
    fn key(self, state: u128, usual: &super::usual::Usual) -> u128 {
        let more = match self {
            Price::Deviation => usual.key(),
            Price::Preemption => usual.current().map_or(u128::from(u16::MAX), u128::from),
        };
        crate::machine::explored::mix(state, more)
    }
}

/// A schedule to run.
#[derive(Clone, Debug)]
struct Item {
    deviations: Vec<Deviation>,
}

/// A state that a run came to, and who else could have gone there.
#[derive(Debug)]
struct Node {
    step: u32,
    key: u128,
    /// Agent, price, and key of the state it leads to.
    others: Vec<(Agent, u32, u128)>,
}

/// Follows an item and notes the states after it.
struct Explorer<'a> {
    follow: Deviating,
    price: Price,
    left: u32,
    known: &'a BTreeSet<u128>,
    nodes: Vec<Node>,
}

impl Schedule for Explorer<'_> {
    without_costs!();

    fn choose(&mut self, point: &Point<'_>) -> Option<usize> {
        let past = self.follow.is_past();
        let chosen = self.follow.pick(point);
        if past {
            let key = self.price.key(point.state, self.follow.usual());
            if self.known.contains(&key) {
                return None;
            }
            let current = self.follow.usual().current();
            let others = point
                .enabled
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != chosen);
            let others = others.filter_map(|(i, e)| {
                let price = self.price.of(current, point.enabled, e.agent);
                if price > self.left {
                    return None;
                }
                let mut after = self.follow.usual().clone();
                after.went(point.enabled, i);
                Some((e.agent, price, self.price.key(e.next, &after)))
            });
            self.nodes.push(Node {
                step: point.step,
                key,
                others: others.collect(),
            });
        }
        self.follow.went(point, chosen);
        Some(chosen)
    }
}

/// What became of one item.
struct Ran {
    nodes: Vec<Node>,
    explore: Explore,
}

/// A schedule that breaks a law.
#[derive(Clone, Debug)]
pub struct Found {
    /// How it differs from the usual one.
    pub deviations: Vec<Deviation>,
    /// What it breaks.
    pub violations: Vec<Violation>,
}

/// How a search ended.
#[derive(Clone, Debug)]
pub enum End {
    /// Everything within the bound was tried.
    Complete,
    /// A law was broken.
    Found(Found),
    /// Words turned out to be points: all starts anew with these.
    Points(Vec<Vec<bool>>),
    /// A limit was hit: which.
    Limit(&'static str),
}

/// Tries all schedules that cost at most `bound`.
pub(super) fn search(
    job: &Job<'_>,
    price: Price,
    bound: u32,
    stats: &mut Stats,
    watch: &mut Watch<'_, '_>,
) -> End {
    let mut known: BTreeSet<u128> = BTreeSet::new();
    // What each state that was seen from its neighbour costs at least.
    let mut edges: BTreeMap<u128, u32> = BTreeMap::new();
    let mut frontier: Vec<Vec<Item>> = vec![Vec::new(); bound as usize + 1];
    frontier[0].push(Item {
        deviations: Vec::new(),
    });
    for cost in 0..=bound {
        while !frontier[cost as usize].is_empty() {
            let level = &mut frontier[cost as usize];
            let batch = level.split_off(level.len().saturating_sub(BATCH));
            let left = bound - cost;
            let ran = job.each(&batch, |item| explore(job, item, price, left, &known));
            for (item, ran) in batch.iter().zip(ran) {
                stats.ran(&ran.explore);
                if let Some(StopReason::StepLimit(_)) = ran.explore.stop {
                    return End::Limit("a schedule did not end (step_limit)");
                }
                if !ran.explore.complete {
                    return End::Points(ran.explore.points);
                }
                if !ran.explore.violations.is_empty() {
                    let found = Found {
                        deviations: item.deviations.clone(),
                        violations: ran.explore.violations,
                    };
                    match &mut watch.all {
                        None => return End::Found(found),
                        Some(all) => all.push(found),
                    }
                }
                for node in ran.nodes {
                    if !known.insert(node.key) {
                        continue;
                    }
                    for (agent, price, leads_to) in node.others {
                        let cheaper = edges.get(&leads_to).is_none_or(|&c| cost + price < c);
                        if known.contains(&leads_to) || !cheaper {
                            continue;
                        }
                        edges.insert(leads_to, cost + price);
                        let mut deviations = item.deviations.clone();
                        deviations.push(Deviation {
                            step: node.step,
                            agent,
                        });
                        frontier[(cost + price) as usize].push(Item { deviations });
                    }
                }
            }
            stats.states = known.len() as u64;
            if let Some(limit) = watch.limit(stats) {
                return End::Limit(limit);
            }
        }
        watch.bound = Some(cost);
    }
    End::Complete
}

fn explore(job: &Job<'_>, item: &Item, price: Price, left: u32, known: &BTreeSet<u128>) -> Ran {
    let mut explorer = Explorer {
        follow: Deviating::new(&item.deviations),
        price,
        left,
        known,
        nodes: Vec::new(),
    };
    let explore = job.run(&mut explorer);
    Ran {
        nodes: explorer.nodes,
        explore,
    }
}
