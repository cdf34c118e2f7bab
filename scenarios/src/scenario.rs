//! A scenario that passed every rule, and the points of its sweep.

use crate::expect::Expect;
use crate::explore::Explore;
use crate::file::{Draft, HostDraft, KindDraft, LoadDraft, Measure, NicDraft};
use crate::sweep::Axis;
use crate::walk::Placed;
use sim_core::config::{
    Config, Device, DeviceKind, Host, Kernel, Link, Netperf, Netserver, Nic, Pktgen, Trafgen,
    UdpFlood, UdpSink, Veth, Vlan, Workload,
};
use sim_core::frame::Tag;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// A checked scenario. There is no way to make one but [`crate::Loader`], so it keeps every rule of
/// [`crate::rules`].
#[derive(Clone, Debug)]
pub struct Scenario {
    config: Config,
    axes: Vec<Axis>,
    points: Vec<Point>,
    measure: Option<Measure>,
    expect: Expect,
    explore: Option<Explore>,
    digest: String,
    effective: String,
}

/// One combination of a sweep's values.
#[derive(Clone, Debug)]
pub struct Point {
    /// The combination on one line: `threads=4 variant=v0`; empty without a sweep.
    pub label: String,
    /// The combination: axis and value, in the order of the axes.
    pub values: Vec<(String, String)>,
    /// What to run.
    pub config: Config,
}

impl Point {
    pub(crate) fn new(values: Vec<(String, String)>, config: Config) -> Point {
        let label: Vec<String> = values
            .iter()
            .map(|(axis, value)| format!("{axis}={value}"))
            .collect();
        Point {
            label: label.join(" "),
            values,
            config,
        }
    }
}

impl Scenario {
    pub(crate) fn new(
        draft: &Draft,
        config: Config,
        axes: Vec<Axis>,
        points: Vec<Point>,
        effective: String,
        source: &str,
        sets: &[(String, String)],
    ) -> Scenario {
        let mut hash = Xxh3::new();
        hash.update(source.as_bytes());
        for (path, ron) in sets {
            hash.update(format!("\0{path}={ron}").as_bytes());
        }
        let digest = format!("{:032x}", hash.digest128());
        let measure = draft.measure.as_ref().map(|m| m.value);
        Scenario {
            config,
            axes,
            points,
            measure,
            expect: draft.expect.clone(),
            explore: draft.explore.clone(),
            digest,
            effective,
        }
    }

    /// Name of the scenario.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// What to run when the sweep is left aside.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The axes of the sweep.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Every combination of the axes' values, the last axis changing fastest. Without a sweep, one
    /// point with an empty label.
    pub fn points(&self) -> Vec<Point> {
        self.points.clone()
    }

    /// The measurement, if there is one.
    pub fn measure(&self) -> Option<Measure> {
        self.measure
    }

    /// What a test judges.
    pub fn expect(&self) -> &Expect {
        &self.expect
    }

    /// How its schedules are explored, if it says so.
    pub fn explore(&self) -> Option<&Explore> {
        self.explore.as_ref()
    }

    /// Digest of the source text and of every `set`, 32 hex digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The scenario in RON with every default filled in. Loading it gives the same configuration.
    pub fn effective(&self) -> &str {
        &self.effective
    }
}

/// A configuration from a draft that passed every rule; `None` if it did not.
pub(crate) fn build(draft: &Draft) -> Option<Config> {
    Some(Config {
        name: draft.name.as_ref()?.value.clone(),
        hosts: draft
            .hosts
            .iter()
            .map(|h| host(&draft.hosts, h))
            .collect::<Option<_>>()?,
        links: draft
            .links
            .iter()
            .map(|l| {
                Some(Link {
                    a: port(&draft.hosts, &l.a.as_ref()?.value)?,
                    b: port(&draft.hosts, &l.b.as_ref()?.value)?,
                    delay: l.delay?,
                })
            })
            .collect::<Option<_>>()?,
        stop: draft.stop.as_ref()?.value,
        warmup: draft.measure.as_ref().map_or(0, |m| m.value.warmup),
        step_limit: draft.step_limit.as_ref()?.value,
    })
}

fn host(all: &[HostDraft], host: &HostDraft) -> Option<Host> {
    Some(Host {
        name: host.name.as_ref()?.value.clone(),
        machine: Arc::new(host.machine.as_ref()?.profile.clone()),
        kernel: Kernel {
            lockless: host.kernel.lockless.clone()?,
            set3_retry: host.kernel.set3_retry?,
            dev_weight: host.kernel.dev_weight?,
            tas_bit_early_return: host.kernel.tas_bit_early_return.as_ref()?.value,
            version: host.kernel.version?,
            direct: host.kernel.direct?,
            tx_kick: host.kernel.tx_kick?,
            watchdog: host.kernel.watchdog?,
            ticks: host.kernel.ticks?,
            hz: host.kernel.hz?,
            bql_mb: host.kernel.bql_mb?,
            stop_recheck: host.kernel.stop_recheck?,
            vlan_features: host.kernel.vlan_features?,
            validate_in_lock: host.kernel.validate_in_lock?,
            redirect: host.kernel.redirect?,
            xdp_bulk: host.kernel.xdp_bulk?,
            xdp_flush: host.kernel.xdp_flush?,
            retpoline: host.kernel.retpoline?,
            clock: host.kernel.clock?,
            max_backlog: host.kernel.max_backlog?,
            veth_mb: host.kernel.veth_mb?,
            costs: host.kernel.costs.clone(),
        },
        layouts: host.layouts.clone(),
        devices: host
            .devices
            .iter()
            .map(|d| device(host, d))
            .collect::<Option<_>>()?,
        workloads: host
            .workloads
            .iter()
            .map(|w| stream(all, host, &w.value).unwrap_or_else(|| load(host, &w.value)))
            .collect::<Option<_>>()?,
    })
}

/// A netperf or netserver; `None` for other loads. Connections are numbered by their netservers.
fn stream(all: &[HostDraft], host: &HostDraft, load: &LoadDraft) -> Option<Option<Workload>> {
    let servers = all
        .iter()
        .enumerate()
        .flat_map(|(h, host)| (0..host.workloads.len()).map(move |w| (h, w)));
    let servers: Vec<(usize, usize)> = servers
        .filter(|&(h, w)| matches!(all[h].workloads[w].value, LoadDraft::Netserver(_)))
        .collect();
    let number = |found: (usize, usize)| {
        let at = servers.iter().position(|&s| s == found)?;
        u16::try_from(at).ok()
    };
    let size = |size: &Option<Placed<u64>>| u32::try_from(size.as_ref()?.value).ok();
    let cpu = || u16::try_from(load.cpus().first()?.value).ok();
    let dev = |dev: &Option<Placed<String>>| {
        let name = &dev.as_ref()?.value;
        let named =
            |d: &crate::file::DeviceDraft| d.name.as_ref().is_some_and(|n| n.value == *name);
        host.devices.iter().position(named)
    };
    Some(match load {
        LoadDraft::Netperf(n) => (|| {
            let dev = dev(&n.dev)?;
            Some(Workload::Netperf(Netperf {
                dev,
                cpu: cpu()?,
                conn: number(crate::streams::peer(all, n)?)?,
                mtu: crate::streams::mtu(host, dev) as u32,
                message: size(&n.message)?,
                sndbuf: size(&n.sndbuf)?,
                limit_output: size(&n.limit_output)?,
                bytes: n.bytes.as_ref()?.value,
            }))
        })(),
        LoadDraft::Netserver(n) => (|| {
            let same = |(h, w): &(usize, usize)| match &all[*h].workloads[*w].value {
                LoadDraft::Netserver(other) => std::ptr::eq(&**other, &**n),
                _ => false,
            };
            let dev = dev(&n.dev)?;
            Some(Workload::Netserver(Netserver {
                dev,
                cpu: cpu()?,
                conn: number(*servers.iter().find(|s| same(s))?)?,
                mtu: crate::streams::mtu(host, dev) as u32,
                window: size(&n.window)?,
                size: size(&n.size)?,
            }))
        })(),
        _ => return None,
    })
}

fn device(host: &HostDraft, device: &crate::file::DeviceDraft) -> Option<Device> {
    let kind = match device.kind.as_ref()? {
        KindDraft::Vlan(v) => {
            let on = &v.on.as_ref()?.value;
            let named =
                |d: &crate::file::DeviceDraft| d.name.as_ref().is_some_and(|n| n.value == *on);
            DeviceKind::Vlan(Vlan {
                on: host.devices.iter().position(named)?,
                tag: Tag {
                    tpid: v.proto?,
                    vid: u16::try_from(v.id.as_ref()?.value).ok()?,
                },
                reorder_hdr: v.reorder_hdr?,
            })
        }
        KindDraft::Dummy => DeviceKind::Dummy,
        KindDraft::Loopback => DeviceKind::Loopback,
        KindDraft::Veth(v) => DeviceKind::Veth(Veth {
            peer: crate::streams::index(host, &v.peer.as_ref()?.value)?,
            napi: v.napi?,
        }),
        KindDraft::Nic(draft) => DeviceKind::Nic(nic(draft)?),
    };
    let name = device.name.as_ref()?.value.clone();
    Some(Device {
        name,
        kind,
        txqs: device.txqs.as_ref()?.value,
        qdisc: device.qdisc.as_ref()?.value.clone(),
        rps_cpus: numbers(&device.rps_cpus)?,
        xps: numbers(&device.xps)?,
    })
}

fn numbers(list: &Option<Vec<Placed<u64>>>) -> Option<Vec<u16>> {
    let list = list.as_ref()?.iter();
    list.map(|n| u16::try_from(n.value).ok()).collect()
}

fn nic(draft: &NicDraft) -> Option<Nic> {
    Some(Nic {
        driver: draft.driver,
        tx_ring: draft.tx_ring.as_ref()?.value,
        rx_ring: draft.rx_ring.as_ref()?.value,
        rate: draft.rate?,
        irq_cpus: draft
            .irq_cpus
            .as_ref()?
            .iter()
            .map(|c| u16::try_from(c.value).ok())
            .collect::<Option<_>>()?,
        moderation: draft.moderation?,
        bql: draft.bql?,
        stop_thresh: draft.stop_thresh.as_ref()?.value,
        wake_thresh: draft.wake_thresh.as_ref()?.value,
        napi_weight: draft.napi_weight.as_ref()?.value,
        wire_overhead: u32::try_from(draft.wire_overhead.as_ref()?.value).ok()?,
        features: draft.features?,
        vlan_features: draft.vlan_features?,
        max_tags_offload: draft.max_tags_offload?,
        tx_memory: draft.tx_memory?,
    })
}

/// The host and the device that `"host:device"` names.
pub(crate) fn port(hosts: &[HostDraft], end: &str) -> Option<(usize, usize)> {
    let (host, dev) = end.split_once(':')?;
    let named = |name: &Option<crate::walk::Placed<String>>, text: &str| {
        name.as_ref().is_some_and(|n| n.value == text)
    };
    let index = hosts.iter().position(|h| named(&h.name, host))?;
    let dev = hosts[index]
        .devices
        .iter()
        .position(|d| named(&d.name, dev))?;
    Some((index, dev))
}

fn load(host: &HostDraft, load: &LoadDraft) -> Option<Workload> {
    let index = |dev: &Option<crate::walk::Placed<String>>| {
        let name = &dev.as_ref()?.value;
        host.devices
            .iter()
            .position(|d| d.name.as_ref().is_some_and(|n| n.value == *name))
    };
    let cpus = load
        .cpus()
        .iter()
        .map(|c| u16::try_from(c.value).ok())
        .collect::<Option<Vec<u16>>>()?;
    if let LoadDraft::Train { dev, packets, .. } = load {
        return Some(Workload::Train {
            dev: index(dev)?,
            cpu: *cpus.first()?,
            packets: packets.clone()?,
        });
    }
    if let LoadDraft::UdpSink(u) = load {
        return Some(Workload::UdpSink(UdpSink {
            dev: index(&u.dev)?,
            cpu: *cpus.first()?,
            port: u16::try_from(u.port.as_ref()?.value).ok()?,
            rcvbuf: u32::try_from(u.rcvbuf.as_ref()?.value).ok()?,
        }));
    }
    let size = u32::try_from(load.size()?.value).ok()?;
    let packets = load.packets().as_ref()?.value;
    Some(match load {
        LoadDraft::Pktgen {
            dev,
            mode,
            clone_skb,
            burst,
            priority,
            ..
        } => Workload::Pktgen(Pktgen {
            dev: index(dev)?,
            mode: (*mode)?,
            cpus,
            packets,
            clone_skb: clone_skb.as_ref()?.value,
            burst: burst.as_ref()?.value,
            size,
            priority: (*priority)?,
        }),
        LoadDraft::Trafgen {
            dev,
            frames,
            qdisc_path,
            ..
        } => Workload::Trafgen(Trafgen {
            dev: index(dev)?,
            cpus,
            packets,
            size,
            frames: frames.as_ref()?.value,
            qdisc_path: (*qdisc_path)?,
        }),
        LoadDraft::Paced { dev, every, .. } => Workload::Paced {
            dev: index(dev)?,
            cpus,
            every: every.as_ref()?.value,
            size,
            packets,
        },
        LoadDraft::UdpFlood(u) => Workload::UdpFlood(UdpFlood {
            dev: index(&u.dev)?,
            cpus,
            size,
            pps: u.pps?,
            packets,
            flows: u.flows?,
            connected: u.connected?,
            port: u16::try_from(u.port.as_ref()?.value).ok()?,
            sndbuf: u32::try_from(u.sndbuf.as_ref()?.value).ok()?,
        }),
        LoadDraft::Train { .. }
        | LoadDraft::Netperf(_)
        | LoadDraft::Netserver(_)
        | LoadDraft::UdpSink(_) => {
            unreachable!("returned above, or a stream")
        }
        LoadDraft::XdpRedirect {
            from, to, map, pps, ..
        } => Workload::XdpRedirect {
            from: index(from)?,
            to: match to.as_ref()? {
                Some(_) => Some(index(to.as_ref()?)?),
                None => None,
            },
            map: (*map)?,
            size,
            pps: (*pps)?,
            packets,
        },
        LoadDraft::Forward { from, to, pps, .. } => Workload::Forward {
            from: index(from)?,
            to: index(to)?,
            size,
            pps: (*pps)?,
            packets,
        },
    })
}
