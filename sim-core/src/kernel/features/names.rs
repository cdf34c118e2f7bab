//! Feature names as `ethtool -K` takes them: one bit each, or one of the old names for a group.
//!
//! Follows `net/ethtool/common.c` and ethtool's `off_flag_def`. An old name stands for every bit its pattern
//! matches, whether the device has it or not.

use super::bits::Features;

/// Old names and the patterns they stand for; `*` matches anything.
const LEGACY: &[(&str, &str)] = &[
    ("rx", "rx-checksum"),
    ("tx", "tx-checksum-*"),
    ("sg", "tx-scatter-gather*"),
    ("tso", "tx-tcp*-segmentation"),
    ("ufo", "tx-udp-fragmentation"),
    ("gso", "tx-generic-segmentation"),
    ("gro", "rx-gro"),
    ("lro", "rx-lro"),
    ("rxvlan", "rx-vlan-hw-parse"),
    ("txvlan", "tx-vlan-hw-insert"),
    ("ntuple", "rx-ntuple-filter"),
    ("rxhash", "rx-hashing"),
];

/// Whether `name` is `pattern`, which has at most one `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
    }
}

impl Features {
    /// The bits that `ethtool -K` means by `name`: an old name (`tso`) or a kernel name (`tx-tcp6-segmentation`).
    pub fn from_ethtool(name: &str) -> Option<Features> {
        let old = LEGACY.iter().find(|(old, _)| *old == name);
        let pattern = old.map_or(name, |(_, pattern)| pattern);
        if old.is_none() && name.contains('*') {
            return None;
        }
        let hits = Features::NAMES.iter().filter(|n| matches(pattern, n.2));
        let found = hits.fold(Features::NONE, |all, n| all | Features::from_bits(1 << n.0));
        (!found.is_empty()).then_some(found)
    }

    /// The bit that the kernel calls `NETIF_F_` and `name`.
    pub fn from_macro(name: &str) -> Option<Features> {
        let name = name.strip_prefix("NETIF_F_").unwrap_or(name);
        let mut all = Features::NAMES.iter();
        all.find(|n| n.1 == name)
            .map(|n| Features::from_bits(1 << n.0))
    }
}
