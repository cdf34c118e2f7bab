//! How much a configuration sends, and the same with less: what is explored has to be small.

use crate::config::{Config, Qdisc, Stop, Workload};
use crate::machine::cost::{Param, TopologySpec};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Sending contexts and packets of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// CPUs that send.
    pub cpus: u32,
    /// Packets that each of them sends.
    pub packets: u64,
}

/// What an endless load is cut to.
pub const USUAL: Size = Size {
    cpus: 2,
    packets: 2,
};
/// Most CPUs and packets that can be explored: beyond, nothing ends.
const MOST: Size = Size {
    cpus: 8,
    packets: 64,
};

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.cpus, self.packets)
    }
}

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Size, String> {
        let parts = text.split_once('x').and_then(|(c, p)| {
            let size = Size {
                cpus: c.parse().ok()?,
                packets: p.parse().ok()?,
            };
            let fits =
                (1..=MOST.cpus).contains(&size.cpus) && (1..=MOST.packets).contains(&size.packets);
            fits.then_some(size)
        });
        parts.ok_or_else(|| {
            format!("`{text}` is no size: write CPUS x PACKETS, up to {MOST}, for example 2x1")
        })
    }
}

/// CPUs and packets (`None`: endless) of a load whose senders are alike.
fn senders(w: &mut Workload) -> Option<(&mut Vec<u16>, &mut Option<u64>)> {
    match w {
        Workload::Pktgen(p) => Some((&mut p.cpus, &mut p.packets)),
        Workload::Paced { cpus, packets, .. } => Some((cpus, packets)),
        Workload::UdpFlood(u) => Some((&mut u.cpus, &mut u.packets)),
        Workload::Trafgen(t) => Some((&mut t.cpus, &mut t.packets)),
        _ => None,
    }
}

fn arrivals(w: &mut Workload) -> Option<&mut Option<u64>> {
    match w {
        Workload::XdpRedirect { packets, .. } | Workload::Forward { packets, .. } => Some(packets),
        _ => None,
    }
}

/// The size of `config`; `None` if a load never ends.
pub fn of(config: &Config) -> Option<Size> {
    let mut size = Size {
        cpus: 0,
        packets: 0,
    };
    for mut w in config.hosts.iter().flat_map(|h| h.workloads.clone()) {
        if let Some(packets) = arrivals(&mut w) {
            size.packets = size.packets.max((*packets)?);
            continue;
        }
        match &w {
            Workload::Trafgen(t) => {
                size.cpus += t.cpus.len() as u32;
                size.packets = size.packets.max(t.share(0)?);
            }
            Workload::Train { packets, .. } => {
                size.cpus += 1;
                size.packets = size.packets.max(packets.len() as u64);
            }
            Workload::Netperf(_) => return None,
            _ => {
                if let Some((cpus, packets)) = senders(&mut w) {
                    size.cpus += cpus.len() as u32;
                    size.packets = size.packets.max((*packets)?);
                }
            }
        }
    }
    Some(size)
}

/// `config` with each load cut to `size`, run to rest.
pub fn cut(config: &Config, size: Size) -> Config {
    let mut config = config.clone();
    for w in config.hosts.iter_mut().flat_map(|h| &mut h.workloads) {
        if let Some(packets) = arrivals(w) {
            *packets = Some(packets.map_or(size.packets, |p| p.min(size.packets)));
        }
        let whole = matches!(w, Workload::Trafgen(_));
        if let Workload::Train { packets, .. } = w {
            packets.truncate(size.packets as usize);
        }
        if let Some((cpus, packets)) = senders(w) {
            cpus.truncate(size.cpus as usize);
            let each = size.packets * if whole { cpus.len() as u64 } else { 1 };
            *packets = Some(packets.map_or(each, |p| p.min(each)));
        }
    }
    config
}

/// Slots of a ring that few packets cannot fill.
const ROOM: u64 = 64;

fn shorten(qdisc: &mut Qdisc) {
    match qdisc {
        Qdisc::PfifoFast { limit } | Qdisc::Pfifo { limit } => *limit = (*limit).min(ROOM as u32),
        Qdisc::Mq(each) => shorten(each),
        _ => {}
    }
}

/// `config` as it is explored: to rest, without warm-up, and with no more hardware than is used, since
/// no order depends on it.
pub(super) fn prepared(config: &Config) -> Config {
    let mut config = config.clone();
    config.warmup = 0;
    if let Stop::At(at) = config.stop {
        config.stop = Stop::Quiescent { limit: at };
    }
    // Rings that are never half full need not be large; their batches stay what they are.
    let few = of(&config).is_some_and(|s| u64::from(s.cpus.max(1)) * s.packets <= ROOM / 3);
    for host in &mut config.hosts {
        for device in host.devices.iter_mut().filter(|_| few) {
            shorten(&mut device.qdisc);
        }
        let nic_cpus = host.devices.iter().flat_map(|d| match &d.kind {
            crate::config::DeviceKind::Nic(nic) => nic.irq_cpus.clone(),
            _ => Vec::new(),
        });
        let rps = host.devices.iter().flat_map(|d| d.rps_cpus.clone());
        let mut last = nic_cpus.chain(rps).max().unwrap_or(0);
        let mut bounded = true;
        for w in &mut host.workloads {
            match w {
                Workload::Train { cpu, .. } => last = last.max(*cpu),
                Workload::UdpSink(_) | Workload::Netperf(_) | Workload::Netserver(_) => {
                    bounded = false;
                }
                w => {
                    if let Some((cpus, _)) = senders(w) {
                        last = last.max(cpus.iter().copied().max().unwrap_or(0));
                    }
                }
            }
        }
        let mut profile = (*host.machine).clone();
        if bounded {
            profile.topology = TopologySpec {
                sockets: 1,
                dies: 1,
                clusters: 1,
                cores: last + 1,
                smt: 1,
            };
        }
        profile.set(Param::StartSpread, 0);
        host.machine = Arc::new(profile);
    }
    config
}
