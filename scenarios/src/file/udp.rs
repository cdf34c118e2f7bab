//! UDP: floods and sinks.

use super::load::{cpus, packets, pps, quantity, text};
use super::{Packets, netperf};
use crate::loader::Loading;
use crate::units::Quantity;
use crate::walk::{Obj, Placed};

pub(crate) struct UdpFloodDraft {
    pub dev: Option<Placed<String>>,
    pub cpus: Option<Vec<Placed<u64>>>,
    pub size: Option<Placed<u64>>,
    pub pps: Option<Option<u64>>,
    pub packets: Packets,
    pub flows: Option<u32>,
    pub connected: Option<bool>,
    pub port: Option<Placed<u32>>,
    pub sndbuf: Option<Placed<u64>>,
}

pub(crate) struct UdpSinkDraft {
    pub dev: Option<Placed<String>>,
    pub cpu: Option<Vec<Placed<u64>>>,
    pub port: Option<Placed<u32>>,
    pub rcvbuf: Option<Placed<u64>>,
}

/// `SOCK_MIN_SNDBUF`, rounded up to what holds the largest frame.
const MIN_BUFFER: u64 = 16_384;

pub(super) fn flood(loading: &mut Loading<'_>, obj: &Obj<'_>) -> UdpFloodDraft {
    UdpFloodDraft {
        dev: text(loading, obj, "dev"),
        cpus: cpus(loading, obj),
        size: quantity(loading, obj, "size", Quantity::Size),
        pps: pps(loading, obj),
        packets: packets(loading, obj),
        flows: obj
            .get("flows")
            .and_then(|v| loading.walk.count32(&v, 1, 256))
            .map(|n| n.value),
        connected: obj
            .get("connected")
            .and_then(|v| loading.walk.switch(&v))
            .map(|on| on.value),
        port: netperf::port(loading, obj),
        sndbuf: netperf::buffer(loading, obj, "sndbuf", MIN_BUFFER),
    }
}

pub(super) fn sink(loading: &mut Loading<'_>, obj: &Obj<'_>) -> UdpSinkDraft {
    UdpSinkDraft {
        dev: text(loading, obj, "dev"),
        cpu: netperf::cpu(loading, obj),
        port: netperf::port(loading, obj),
        rcvbuf: netperf::buffer(loading, obj, "rcvbuf", MIN_BUFFER),
    }
}
