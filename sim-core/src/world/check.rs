//! The laws, checked after a run.

use super::build::{Host, World};
use crate::engine::StopReason;
use crate::kernel::drivers::veth::Veth;
use crate::kernel::locking::Inspect;
use crate::kernel::netdev::Driver;
use crate::kernel::sched::qdisc::{Qdisc, state};
use crate::kernel::skb::Skb;
use crate::kernel::udp::UdpTotals;
use crate::kernel::{Cpu, Func};
use crate::trace::Level;
use crate::violation::{Law, Violation};
use std::cell::Cell;

impl World {
    /// All broken laws, in order of time. Most hold only once nothing happens any more.
    pub(super) fn check(&self, stop: &StopReason) -> Vec<Violation> {
        let mut found = Vec::new();
        for (index, host) in self.hosts.iter().enumerate() {
            found.append(&mut host.kernel.violations.borrow_mut());
            if let StopReason::Deadlock(who) = stop {
                found.push(self.violation(
                    Law::Deadlock,
                    format!("contexts wait for ever: {}", who.join("; ")),
                ));
            }
            if matches!(stop, StopReason::Quiescent | StopReason::Deadlock(_)) {
                self.check_qdiscs(index, host, &mut found);
                self.check_receive(host, &mut found);
                self.check_locks(host, &mut found);
            }
            if *stop == StopReason::Quiescent {
                self.check_skbs(host, &mut found);
                self.check_flows(host, &mut found);
                self.check_xdp(host, &mut found);
                self.check_rings(host, &mut found);
            }
        }
        if *stop == StopReason::Quiescent {
            self.check_streams(&mut found);
            self.check_datagrams(&mut found);
        }
        found.sort_by_key(|v| v.time);
        found
    }

    /// written = acknowledged at the sender, received = read at the other end, and all four are one.
    fn check_streams(&self, found: &mut Vec<Violation>) {
        for (host, sender) in self.tcp_ends().filter(|(_, s)| s.window == 0) {
            let reader = self
                .tcp_ends()
                .find(|(_, s)| s.conn == sender.conn && s.window > 0);
            let [written, acked, ..] = sender.counts();
            let [_, _, received, read] = reader.map_or([0; 4], |(_, s)| s.counts());
            if [acked, received, read] != [written; 3] {
                let what = format!(
                    "{}: {written} bytes written, {received} received, {read} read, {acked} acknowledged, and nothing is under way",
                    host.kernel.flow(sender.flow).name
                );
                found.push(self.violation(Law::PacketLost, what));
            }
        }
    }

    /// sent = received + dropped + missed + left, over all hosts, and received = read. What is stuck was
    /// reported, and is not lost.
    fn check_datagrams(&self, found: &mut Vec<Violation>) {
        if found.iter().any(|v| v.law == Law::PacketStuck) {
            return;
        }
        let sum = |of: fn(&UdpTotals) -> &Cell<u64>| -> u64 {
            self.hosts.iter().map(|h| of(&h.kernel.udp).get()).sum()
        };
        let (sent, received) = (sum(|u| &u.sent), sum(|u| &u.received));
        let (dropped, missed, left) = (sum(|u| &u.dropped), sum(|u| &u.missed), sum(|u| &u.left));
        if sent != received + dropped + missed + left {
            let what = format!(
                "{sent} datagrams were sent, but {received} received, {dropped} dropped, {missed} missed by a receive ring and {left} gone elsewhere"
            );
            found.push(self.violation(Law::PacketLost, what));
        }
    }

    /// At quiescence nothing waits to be received: not in a backlog, a veth's ring or a socket.
    fn check_receive(&self, host: &Host, found: &mut Vec<Violation>) {
        let k = &host.kernel;
        let mut places: Vec<(String, Option<u16>, Vec<Skb>)> = Vec::new();
        for (cpu, sd) in k.backlogs.iter().enumerate() {
            let cpu = cpu as u16;
            places.push((format!("the backlog of CPU{cpu}"), Some(cpu), sd.peek_all()));
        }
        for d in &k.devs {
            if let Driver::Veth(Veth { rq: Some(rq), .. }) = &d.driver {
                let waiting = rq.ring.peek_all(host.cpu(0));
                places.push((format!("the ring of {}", d.name), None, waiting));
            }
        }
        for s in &k.udp_socks {
            places.push((format!("the socket of port {}", s.port), None, s.peek_all()));
        }
        for (place, cpu, waiting) in places {
            let Some(&first) = waiting.first() else {
                continue;
            };
            let skb = k.skbs.id(first);
            let what = format!(
                "skb {skb} stays in {place} ({} there) and nobody is due to take it",
                waiting.len()
            );
            let first = host.machine.first_cpu();
            found.push(Violation {
                skb: Some(skb),
                cpu: Some(first + cpu.or(host.cpus.first().copied()).unwrap_or(0)),
                ..self.violation(Law::PacketStuck, what)
            });
        }
        for (n, sender) in k.udp_senders.iter().enumerate() {
            if sender.waits() {
                let what = format!("UDP sender {n} waits for room in its buffer for ever");
                found.push(self.violation(Law::Deadlock, what));
            }
        }
    }

    fn violation(&self, law: Law, what: String) -> Violation {
        Violation {
            law,
            time: self.engine.last().ps(),
            cpu: None,
            function: Func::None.name(),
            what,
            skb: None,
            freed_by_next: None,
        }
    }

    /// At quiescence a queued packet has somebody who is due to send it.
    fn check_qdiscs(&self, index: usize, host: &Host, found: &mut Vec<Violation>) {
        let cpu = host.cpu(0);
        for (i, q) in host.kernel.qdiscs.iter().enumerate() {
            let queued = q.peek_all(cpu);
            let name = &self.names.qdiscs[self.first_qdisc(index) + i];
            if let Some(&first) = queued.first() {
                let scheduled = host.machine.peek(q.state) & state::SCHED != 0
                    && host.kernel.softnets.iter().any(|s| s.has_output(i));
                if !scheduled {
                    let skb = host.kernel.skbs.id(first);
                    let what = format!(
                        "skb {skb} stays in qdisc {name} ({} queued) and no CPU is due to send it",
                        queued.len()
                    );
                    let mut v = Violation {
                        skb: Some(skb),
                        ..self.violation(Law::PacketStuck, what)
                    };
                    let born = host.kernel.skbs.born(first);
                    v.cpu = Some(
                        host.machine.first_cpu()
                            + host.kernel.flow(host.kernel.skbs.flow(first).0).cpu,
                    );
                    if let Some((at, cpu, function)) = q.last_lost.get().filter(|l| l.0 >= born) {
                        v.time = at.ps();
                        v.cpu = Some(host.machine.first_cpu() + cpu);
                        v.function = function.name();
                    }
                    found.push(v);
                }
            }
            if !q.adds_up(queued.len() as u64) {
                found.push(self.violation(
                    Law::CounterMismatch,
                    format!(
                        "qdisc {name}: enqueued {} is not dequeued {} + queued {} (qlen says {})",
                        q.stats.enqueued.get(),
                        q.stats.dequeued.get(),
                        queued.len(),
                        q.stats.qlen.get()
                    ),
                ));
            }
        }
    }

    fn check_locks(&self, host: &Host, found: &mut Vec<Violation>) {
        let k = &host.kernel;
        let locks = k
            .qdiscs
            .iter()
            .flat_map(|q| q.locks())
            .map(|l| l as &dyn Inspect)
            .chain(k.txqs.iter().map(|t| t.xmit_lock() as &dyn Inspect))
            .chain(k.skbs.caches().map(|c| c.list_lock() as &dyn Inspect))
            .chain(k.socks.iter().map(|s| s.slock() as &dyn Inspect))
            .chain(k.backlogs.iter().map(|b| b.lock() as &dyn Inspect))
            .chain(
                k.udp_socks
                    .iter()
                    .flat_map(|s| s.locks().map(|l| l as &dyn Inspect)),
            );
        for lock in locks.filter(|l| l.is_locked(host.cpu(0))) {
            let owner = lock.stats().owner();
            let what = format!(
                "a lock is held by {owner:?} although nothing runs ({:?})",
                lock.word()
            );
            let cpu = owner.map(|c| host.machine.first_cpu() + c);
            found.push(Violation {
                cpu,
                ..self.violation(Law::LockHeld, what)
            });
        }
    }

    /// allocated = freed + queued + on rings.
    fn check_skbs(&self, host: &Host, found: &mut Vec<Violation>) {
        let k = &host.kernel;
        let queued: usize = k.qdiscs.iter().map(|q| q.peek_all(host.cpu(0)).len()).sum();
        let on_rings: usize = (0..k.devs.len())
            .flat_map(|d| k.dev(d).driver.skb_rings())
            .map(|ring| ring.frames())
            .sum();
        let on_sockets: usize = k.socks.iter().map(|s| s.skbs()).sum();
        let receiving = host.waiting_to_be_received(host.cpu(0)).len();
        let known = queued + on_rings + on_sockets + receiving + k.held.get() as usize;
        if k.skbs.in_use() as usize != known {
            let what = format!(
                "{} skbs are allocated, but only {known} are queued, on a ring, on a socket or held by a sender",
                k.skbs.in_use()
            );
            found.push(self.violation(Law::PacketLost, what));
        }
        if known == k.held.get() as usize {
            let leaks = k.packet_socks.iter().filter_map(|s| s.leaks(host.cpu(0)));
            found.extend(leaks.map(|what| self.violation(Law::CounterMismatch, what)));
        }
    }

    /// Every bulk queue is flushed at the end of its poll.
    fn check_xdp(&self, host: &Host, found: &mut Vec<Violation>) {
        let queued = host.kernel.xdp.queued();
        if queued > 0 {
            let what = format!(
                "{queued} redirected frames wait in bulk queues, and no poll is due to flush them"
            );
            found.push(self.violation(Law::BulkNotFlushed, what));
        }
    }

    /// Every posted descriptor gets its doorbell: posted = rung = completed once nothing happens any more.
    fn check_rings(&self, host: &Host, found: &mut Vec<Violation>) {
        for dev in &host.kernel.devs {
            let Some(port) = dev.driver.port() else {
                continue;
            };
            for (i, ring) in port.tx.iter().enumerate() {
                let (posted, rung, completed) = ring.counts();
                if rung < posted {
                    let what = format!(
                        "{} descriptors of {} ring {i} were posted without a doorbell",
                        posted - rung,
                        dev.name
                    );
                    found.push(self.violation(Law::DoorbellMissing, what));
                } else if completed < rung {
                    let what = format!(
                        "{} ring {i}: {posted} descriptors posted, {completed} completed",
                        dev.name
                    );
                    found.push(self.violation(Law::CounterMismatch, what));
                }
            }
        }
    }

    /// offered = sent + errors + redirected frames that are still under way.
    fn check_flows(&self, host: &Host, found: &mut Vec<Violation>) {
        let k = &host.kernel;
        for (number, f) in k.flows.iter().enumerate() {
            let (offered, sent, errors) = (f.offered.get(), f.sent.get(), f.errors.get());
            let pages = (0..k.devs.len()).filter_map(|dev| k.pages(dev));
            let waiting: u64 = pages.map(|p| p.waiting(number as u32)).sum();
            if offered != sent + errors + waiting {
                let what = format!(
                    "flow {}: offered {offered} is not sent {sent} + errors {errors} + waiting {waiting}",
                    f.name
                );
                found.push(self.violation(Law::CounterMismatch, what));
            }
        }
    }

    fn first_qdisc(&self, host: usize) -> usize {
        self.hosts[..host]
            .iter()
            .map(|h| h.kernel.qdiscs.len())
            .sum()
    }

    /// Contexts that spin although nothing can end it.
    pub(super) fn spinning(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for host in &self.hosts {
            for (cpu, level, task) in host.machine.waiting() {
                let function = Func::from_number(host.machine.function(cpu)).name();
                let who = if level == Level::Task {
                    &self.names.tasks[task as usize]
                } else {
                    level.text()
                };
                lines.push(format!("{} CPU{cpu} {who} spins in {function}", host.name));
            }
        }
        lines
    }

    /// The function in which the CPU with most instructions is.
    pub(super) fn busiest_function(&self) -> String {
        let busiest = self
            .hosts
            .iter()
            .flat_map(|h| h.cpus.iter().map(move |&c| (h, c)));
        busiest
            .max_by_key(|(h, c)| h.machine.reading(*c).instructions)
            .map_or_else(String::new, |(h, c)| {
                format!(
                    "{} CPU{c} in {}",
                    h.name,
                    Func::from_number(h.machine.function(c)).name()
                )
            })
    }
}

impl Qdisc {
    /// enqueued = dequeued + queued, and the counter agrees with the queue.
    fn adds_up(&self, queued: u64) -> bool {
        let s = &self.stats;
        s.enqueued.get() == s.dequeued.get() + s.removed.get() + queued && s.qlen.get() == queued
    }
}

impl Host {
    /// skbs in backlogs, in rings of veths, and on UDP sockets.
    pub(super) fn waiting_to_be_received(&self, cpu: Cpu<'_>) -> Vec<Skb> {
        let k = &self.kernel;
        let mut all: Vec<Skb> = k.backlogs.iter().flat_map(|b| b.peek_all()).collect();
        for d in &k.devs {
            if let Driver::Veth(Veth { rq: Some(rq), .. }) = &d.driver {
                all.extend(rq.ring.peek_all(cpu));
            }
        }
        all.extend(k.udp_socks.iter().flat_map(|s| s.peek_all()));
        all
    }
}
