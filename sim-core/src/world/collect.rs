//! From the counters of a world to [`Metrics`].

use super::build::{Host, World};
use crate::engine::time::Span;
use crate::kernel::locking::Inspect;
use crate::kernel::sched::qdisc::Qdisc;
use crate::kernel::tcp::Sock;
use crate::machine::counters::Reading;
use crate::metrics::{self, Metrics};

impl World {
    /// End of the warm-up: what was counted so far does not count.
    pub(super) fn begin_window(&self) {
        for host in &self.hosts {
            host.machine.account_all();
            host.machine.reset_accesses();
            for f in &host.kernel.flows {
                f.latency.borrow_mut().reset();
            }
            for q in &host.kernel.qdiscs {
                q.stats.qlen_max.set(q.stats.qlen.get());
            }
        }
        *self.warm.borrow_mut() = Some(self.read(0));
    }

    /// The counters of the window, which is `window` picoseconds long.
    pub(super) fn collect(&self, window: u64) -> Metrics {
        let mut now = self.read(window);
        if let Some(warm) = &*self.warm.borrow() {
            subtract(&mut now, warm);
        }
        now
    }

    fn read(&self, window: u64) -> Metrics {
        let mut m = Metrics {
            window,
            flows: Vec::new(),
            devices: Vec::new(),
            qdiscs: Vec::new(),
            cpus: Vec::new(),
            locks: Vec::new(),
            lines: if self.named { self.lines() } else { Vec::new() },
            streams: self.streams(),
            softnet: Vec::new(),
            udp: Vec::new(),
        };
        let mut names = self.names.qdiscs.iter();
        for host in &self.hosts {
            read_host(host, &mut names, &mut m);
        }
        m
    }

    /// Each connection with both hosts' time. Approximated: all that a host does is counted, as netperf
    /// does.
    fn streams(&self) -> Vec<metrics::Stream> {
        let mut all = Vec::new();
        for (from, sender) in self.tcp_ends().filter(|(_, s)| s.window == 0) {
            let Some((to, reader)) = self
                .tcp_ends()
                .find(|(_, s)| s.conn == sender.conn && s.window > 0)
            else {
                continue;
            };
            let flow = &from.kernel.flow(sender.flow).name;
            all.push(metrics::Stream {
                name: format!("{}/{flow}", from.name),
                bytes: reader.bytes_read.get(),
                send: busy(from),
                recv: busy(to),
            });
        }
        all
    }

    pub(super) fn tcp_ends(&self) -> impl Iterator<Item = (&Host, &Sock)> {
        self.hosts
            .iter()
            .flat_map(|h| h.kernel.socks.iter().map(move |s| (h, s)))
    }
}

fn busy(host: &Host) -> metrics::Busy {
    let times = |cpu: &u16| {
        let r = host.machine.reading(*cpu);
        r.task + r.softirq + r.hardirq
    };
    metrics::Busy {
        cpus: host.machine.cpus() as u32,
        busy: host.cpus.iter().map(times).sum(),
    }
}

fn read_host<'a>(host: &Host, names: &mut impl Iterator<Item = &'a String>, m: &mut Metrics) {
    let k = &host.kernel;
    let first_cpu = host.machine.first_cpu();
    for f in k.flows.iter().filter(|f| !f.name.ends_with("@probe")) {
        m.flows.push(metrics::Flow {
            name: f.name.clone(),
            cpu: first_cpu + f.cpu,
            offered: f.offered.get(),
            sent: f.sent.get(),
            errors: f.errors.get(),
            bytes: f.bytes.get(),
            latency: f.latency.borrow().clone(),
        });
    }
    for (i, d) in k.devs.iter().enumerate() {
        m.devices.push(metrics::Device {
            name: d.name.clone(),
            tx_packets: d.tx_packets.get(),
            tx_bytes: d.tx_bytes.get(),
            tx_dropped: d.tx_dropped.get(),
            rx_packets: d.rx_packets.get(),
            rx_dropped: d.rx_dropped.get()
                + k.port(i)
                    .map_or(0, |p| p.rx.iter().map(|r| r.missed.get()).sum()),
            doorbells: k
                .port(i)
                .map_or(0, |p| p.tx.iter().map(|r| r.doorbells()).sum()),
            tx_ring_max: k
                .port(i)
                .and_then(|p| p.tx.iter().map(|r| u64::from(r.used_max())).max())
                .unwrap_or(0),
            tx_timeouts: d.tx_timeouts.get(),
        });
    }
    for q in &k.qdiscs {
        let (name, kind) = names
            .next()
            .and_then(|n| n.split_once(' '))
            .expect("a name a qdisc");
        m.qdiscs.push(read_qdisc(name, kind, q));
        let mut parent = q;
        while let Some(child) = parent.child_qdisc() {
            // A parent's drops count those of its children.
            m.qdiscs.push(metrics::Qdisc {
                child: true,
                ..read_qdisc(name, child.kind, child)
            });
            parent = child;
        }
        let locks = q.locks();
        m.locks.extend(
            locks
                .iter()
                .map(|l| l.stats.read(&host.lock_names[l.stats.number() as usize])),
        );
    }
    let others = k
        .txqs
        .iter()
        .map(|t| t.xmit_lock() as &dyn Inspect)
        .chain(k.skbs.caches().map(|c| c.list_lock() as &dyn Inspect));
    m.locks.extend(others.map(|l| {
        l.stats()
            .read(&host.lock_names[l.stats().number() as usize])
    }));
    read_receive(host, m);
    for &cpu in &host.cpus {
        m.cpus.push(read_cpu(
            format!("CPU{}", first_cpu + cpu),
            &host.machine.reading(cpu),
            host.machine.costs.cycle,
        ));
    }
}

fn read_qdisc(name: &str, kind: &str, q: &Qdisc) -> metrics::Qdisc {
    let s = &q.stats;
    metrics::Qdisc {
        name: name.to_owned(),
        kind: kind.to_owned(),
        child: false,
        bytes: s.bytes.get(),
        packets: s.packets.get(),
        dropped: s.dropped.get(),
        overlimits: s.overlimits.get(),
        requeues: s.requeues.get(),
        bypassed: s.bypassed.get(),
        qlen: s.qlen.get(),
        backlog: s.backlog.get(),
        qlen_max: s.qlen_max.get(),
        runs: s.runs.get(),
    }
}

/// What was received by way of backlogs and sockets, if any of it can be.
fn read_receive(host: &Host, m: &mut Metrics) {
    let k = &host.kernel;
    if !k.backlogs.is_empty() || !k.udp_socks.is_empty() {
        for &cpu in &host.cpus {
            let stat = &k.softnet(cpu).stat;
            m.softnet.push(metrics::Softnet {
                name: format!("CPU{}", host.machine.first_cpu() + cpu),
                processed: stat.processed.get(),
                dropped: stat.dropped.get(),
                time_squeeze: stat.time_squeeze.get(),
                received_rps: stat.received_rps.get(),
            });
        }
    }
    for s in &k.udp_socks {
        m.udp.push(metrics::UdpSock {
            name: format!("{}:{}", k.dev(s.dev).name, s.port),
            received: s.received.get(),
            rcvbuf_errors: s.rcvbuf_errors.get(),
            read: s.read.get(),
            bytes: s.bytes.get(),
        });
    }
}

fn read_cpu(name: String, r: &Reading, cycle: Span) -> metrics::Cpu {
    let kernel = r.task - r.user + r.softirq + r.hardirq;
    metrics::Cpu {
        name,
        task: r.task,
        softirq: r.softirq,
        hardirq: r.hardirq,
        idle: r.idle,
        spin: r.spin,
        stall: r.stall,
        user: r.user,
        instructions: r.instructions,
        user_instructions: r.user_instructions,
        cycles: kernel.checked_div(cycle.ps()).unwrap_or(0),
        llc_references: r.llc_references,
        llc_misses: r.llc_misses,
        hitm: r.hitm,
        branch_misses: r.branch_misses,
        context_switches: r.context_switches,
        net_tx: r.net_tx,
        net_rx: r.net_rx,
        squeezed: r.squeezed,
    }
}

macro_rules! less {
    ($now:expr, $warm:expr, $($field:ident),*) => { $( $now.$field -= $warm.$field; )* };
}

fn subtract(now: &mut Metrics, warm: &Metrics) {
    for (n, w) in now.flows.iter_mut().zip(&warm.flows) {
        less!(n, w, offered, sent, errors, bytes);
    }
    for (n, w) in now.devices.iter_mut().zip(&warm.devices) {
        less!(
            n,
            w,
            tx_packets,
            tx_bytes,
            tx_dropped,
            rx_packets,
            rx_dropped,
            doorbells,
            tx_timeouts
        );
    }
    for (n, w) in now.qdiscs.iter_mut().zip(&warm.qdiscs) {
        less!(
            n, w, bytes, packets, dropped, overlimits, requeues, bypassed, runs
        );
    }
    for (n, w) in now.softnet.iter_mut().zip(&warm.softnet) {
        less!(n, w, processed, dropped, time_squeeze, received_rps);
    }
    for (n, w) in now.udp.iter_mut().zip(&warm.udp) {
        less!(n, w, received, rcvbuf_errors, read, bytes);
    }
    for (n, w) in now.cpus.iter_mut().zip(&warm.cpus) {
        less!(
            n,
            w,
            task,
            softirq,
            hardirq,
            idle,
            spin,
            stall,
            user,
            instructions,
            user_instructions,
            cycles,
            llc_references,
            llc_misses,
            hitm,
            branch_misses,
            context_switches,
            net_tx,
            net_rx,
            squeezed
        );
    }
    for (n, w) in now.streams.iter_mut().zip(&warm.streams) {
        less!(n, w, bytes);
        less!(n.send, w.send, busy);
        less!(n.recv, w.recv, busy);
    }
    for (n, w) in now.locks.iter_mut().zip(&warm.locks) {
        less!(n, w, acquired, contended, failed, wait);
    }
    let warm_lines: std::collections::BTreeMap<&str, &metrics::Line> =
        warm.lines.iter().map(|l| (l.name.as_str(), l)).collect();
    for n in &mut now.lines {
        if let Some(w) = warm_lines.get(n.name.as_str()) {
            less!(n, w, transfers, hitm);
            for (field, count) in &mut n.hitm_by_field {
                *count -= w
                    .hitm_by_field
                    .iter()
                    .find(|(f, _)| f == field)
                    .map_or(0, |(_, c)| *c);
            }
        }
    }
}
