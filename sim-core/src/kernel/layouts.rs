//! The struct layouts that the simulator places, by name and kernel version, and where the fields that
//! its code touches are found in a layout that somebody else wrote down.

use super::{netdev, sched::qdisc};
use crate::machine::layout::Layout;

/// Structs whose fields lie where a layout says.
pub const STRUCTS: &[&str] = &["Qdisc", "netdev_queue", "net_device"];

/// Kernel versions that name a built-in layout.
pub const VERSIONS: &[&str] = &["5.11", "5.15", "5.16"];

/// The kernel's own layout of `name` in version `version`, if both are known.
///
/// `net_device` of 5.11 is empty: without a layout none of its lines is simulated, for they are read-mostly,
/// hot in every cache, and cost nothing after the first miss. That of 5.15 is the part that lies on the
/// line of `_tx`.
pub fn builtin(name: &str, version: &str) -> Option<Layout> {
    if !VERSIONS.contains(&version) {
        return None;
    }
    match (name, version) {
        ("Qdisc", "5.16") => Some(qdisc::layout_5_16()),
        ("Qdisc", _) => Some(qdisc::layout_5_11()),
        ("netdev_queue", _) => Some(netdev::netdev_queue_layout()),
        ("net_device", "5.11") => Some(Layout::new("net_device", &[])),
        ("net_device", _) => Some(net_device_5_15()),
        _ => None,
    }
}

/// v5.15 `include/linux/netdevice.h`: what a transmit reads behind `_tx` fits on one line, because
/// `qdisc_hash` and `watchdog_timeo` have moved behind it.
fn net_device_5_15() -> Layout {
    Layout::new(
        "net_device",
        &[
            ("_tx", 896, 8),
            ("num_tx_queues", 904, 4),
            ("real_num_tx_queues", 908, 4),
            ("qdisc", 912, 8),
            ("tx_queue_len", 920, 4),
            ("tx_global_lock", 924, 4),
            ("xdp_bulkq", 928, 8),
            ("xps_cpus_map", 936, 8),
            ("xps_rxqs_map", 944, 8),
            ("miniq_egress", 952, 8),
        ],
    )
}

/// A field that kernel code here touches, and where other layouts have it.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    /// Its name here.
    pub name: &'static str,
    /// Where it is found, the first that exists: a member's name, bytes from the member's start, and bytes
    /// of the field (0: all of the member).
    pub at: &'static [(&'static str, u32, u32)],
    /// A layout without it cannot be placed.
    pub required: bool,
}

const fn needed(name: &'static str, at: &'static [(&'static str, u32, u32)]) -> Used {
    Used {
        name,
        at,
        required: true,
    }
}

const fn known(name: &'static str, at: &'static [(&'static str, u32, u32)]) -> Used {
    Used {
        name,
        at,
        required: false,
    }
}

/// `q` is a `qdisc_skb_head`: two pointers, `qlen`, `lock`. `running` became a bit of `state2` in 5.16, and
/// `empty` went in 5.14; code of older variants that still touches it finds it behind `seqlock`.
const QDISC: &[Used] = &[
    needed("enqueue", &[("enqueue", 0, 0)]),
    known("flags", &[("flags", 0, 0)]),
    known("cpu_bstats", &[("cpu_bstats", 0, 0)]),
    needed("gso_skb", &[("gso_skb", 0, 0)]),
    needed("qlen", &[("qlen", 0, 0), ("q.qlen", 0, 0), ("q", 16, 4)]),
    needed("lock", &[("lock", 0, 0), ("q.lock", 0, 0), ("q", 20, 4)]),
    needed("bstats", &[("bstats", 0, 0)]),
    needed("running", &[("running", 0, 0), ("state2", 0, 0)]),
    needed("qstats", &[("qstats", 0, 0)]),
    needed("state", &[("state", 0, 0)]),
    known("next_sched", &[("next_sched", 0, 0)]),
    needed("skb_bad_txq", &[("skb_bad_txq", 0, 0)]),
    needed("busylock", &[("busylock", 0, 0)]),
    needed("seqlock", &[("seqlock", 0, 0)]),
    needed("empty", &[("empty", 0, 0), ("rcu", 0, 1)]),
];

const NETDEV_QUEUE: &[Used] = &[
    needed("qdisc", &[("qdisc", 0, 0)]),
    needed("_xmit_lock", &[("_xmit_lock", 0, 0)]),
    needed("xmit_lock_owner", &[("xmit_lock_owner", 0, 0)]),
    needed("trans_start", &[("trans_start", 0, 0)]),
    needed("state", &[("state", 0, 0)]),
    needed("dql", &[("dql", 0, 0)]),
];

/// Only `_tx` and the number of queues must be there, so that the part of the struct that a mail quotes is
/// enough; what a layout does not place is not read. `xps_maps` holds both maps since 5.13, and
/// `tcx_egress` took the place of `miniq_egress` in 6.6. `tx_packets`, `rx_packets` and `tx_dropped` are
/// no members of today's struct: a scenario adds them to ask what a counter in it costs.
const NET_DEVICE: &[Used] = &[
    known("priv_flags", &[("priv_flags", 0, 0)]),
    known("netdev_ops", &[("netdev_ops", 0, 0)]),
    needed("_tx", &[("_tx", 0, 0)]),
    known("num_tx_queues", &[("num_tx_queues", 0, 0)]),
    needed("real_num_tx_queues", &[("real_num_tx_queues", 0, 0)]),
    known("qdisc", &[("qdisc", 0, 0)]),
    known("tx_queue_len", &[("tx_queue_len", 0, 0)]),
    known("tx_global_lock", &[("tx_global_lock", 0, 0)]),
    known("watchdog_timeo", &[("watchdog_timeo", 0, 0)]),
    known("xdp_bulkq", &[("xdp_bulkq", 0, 0)]),
    known(
        "xps_cpus_map",
        &[("xps_cpus_map", 0, 0), ("xps_maps", 0, 8)],
    ),
    known(
        "xps_rxqs_map",
        &[("xps_rxqs_map", 0, 0), ("xps_maps", 8, 8)],
    ),
    known(
        "miniq_egress",
        &[("miniq_egress", 0, 0), ("tcx_egress", 0, 0)],
    ),
    known("state", &[("state", 0, 0)]),
    known("flags", &[("flags", 0, 0)]),
    known("features", &[("features", 0, 0)]),
    known("ptype_all", &[("ptype_all", 0, 0)]),
    known("ptype_specific", &[("ptype_specific", 0, 0)]),
    known("rx_handler", &[("rx_handler", 0, 0)]),
    known("ip_ptr", &[("ip_ptr", 0, 0)]),
    known("tx_packets", &[("tx_packets", 0, 0)]),
    known("rx_packets", &[("rx_packets", 0, 0)]),
    known("tx_dropped", &[("tx_dropped", 0, 0)]),
];

/// The fields of struct `name` that mean something here.
pub fn used(name: &str) -> &'static [Used] {
    match name {
        "Qdisc" => QDISC,
        "netdev_queue" => NETDEV_QUEUE,
        "net_device" => NET_DEVICE,
        _ => &[],
    }
}

/// Fields that a layout of struct `name` must place: the kernel code touches them.
pub fn required(name: &str) -> impl Iterator<Item = &'static str> {
    used(name).iter().filter(|u| u.required).map(|u| u.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_layout_places_what_the_code_touches() {
        for name in STRUCTS {
            for version in VERSIONS {
                let layout = builtin(name, version).expect("built in");
                // The empty one says that the struct is not simulated.
                for field in required(name).filter(|_| !layout.fields.is_empty()) {
                    assert!(layout.field(field).is_some(), "{name} {version} {field}");
                }
            }
        }
    }
}
