//! The struct layouts that the simulator places, by name and kernel version.

use super::{netdev, sched::qdisc};
use crate::machine::layout::Layout;

/// Structs whose fields lie where a layout says.
pub const STRUCTS: &[&str] = &["Qdisc", "netdev_queue", "net_device"];

/// Kernel versions that name a built-in layout.
pub const VERSIONS: &[&str] = &["5.11", "5.16"];

/// The kernel's own layout of `name` in version `version`, if both are known. `net_device` has no
/// field that the code modelled so far writes, so its layout is empty.
pub fn builtin(name: &str, version: &str) -> Option<Layout> {
    if !VERSIONS.contains(&version) {
        return None;
    }
    match (name, version) {
        ("Qdisc", "5.16") => Some(qdisc::layout_5_16()),
        ("Qdisc", _) => Some(qdisc::layout_5_11()),
        ("netdev_queue", _) => Some(netdev::netdev_queue_layout()),
        ("net_device", _) => Some(Layout::new("net_device", &[])),
        _ => None,
    }
}

/// Fields that a layout of struct `name` must place: the kernel code touches them.
pub fn required(name: &str) -> &'static [&'static str] {
    match name {
        "Qdisc" => &[
            "enqueue",
            "gso_skb",
            "qlen",
            "lock",
            "bstats",
            "running",
            "qstats",
            "state",
            "skb_bad_txq",
            "busylock",
            "seqlock",
            "empty",
        ],
        "netdev_queue" => &[
            "qdisc",
            "_xmit_lock",
            "xmit_lock_owner",
            "trans_start",
            "state",
            "dql",
        ],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_layout_places_what_the_code_touches() {
        for name in STRUCTS {
            for version in VERSIONS {
                let layout = builtin(name, version).expect("built in");
                for field in required(name) {
                    assert!(layout.field(field).is_some(), "{name} {version} {field}");
                }
            }
        }
    }
}
