//! What differs between kernels, and the arithmetic of feature words.
//!
//! Follows `net/core/dev.c` and `include/linux/{netdev_features,netdevice,if_vlan}.h` of Linux 3.7.2, 6.1.192
//! (Debian stable), 6.9.5 and 6.12.117 (stable). Stable kernels carry backports: 6.1.192 has forms that
//! mainline 6.9 has not. Inferred, not read as a whole: 6.18, which has the 6.12.117 forms and the AccECN bit
//! (`gso: AccECN support`: bit 35 inside GSO_SOFTWARE and outside ALL_TSO, FCOE_CRC and SCTP_CRC one higher).

use super::bits::Features;

/// Whose rules a host follows (`kernel.features`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// Linux 3.7.2. Only base devices and VLANs are modelled.
    V3_7,
    /// Linux 6.1.192.
    V6_1,
    /// Linux 6.9.5.
    V6_9,
    /// Linux 6.12.117.
    V6_12,
    /// The 6.12 forms with the AccECN bit; inferred.
    V6_18,
}

impl Release {
    /// All of them, oldest first.
    pub const ALL: &'static [Release] = &[
        Release::V3_7,
        Release::V6_1,
        Release::V6_9,
        Release::V6_12,
        Release::V6_18,
    ];

    /// The name used in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Release::V3_7 => "v3_7",
            Release::V6_1 => "v6_1",
            Release::V6_9 => "v6_9",
            Release::V6_12 => "v6_12",
            Release::V6_18 => "v6_18",
        }
    }

    /// The release called `name`.
    pub fn from_name(name: &str) -> Option<Release> {
        Release::ALL.iter().copied().find(|r| r.name() == name)
    }

    /// The closest modelled release for what `uname -r` says, for example `6.1.0-57-amd64`. A kernel newer
    /// than all of them gets the newest, one between two the older. `None`: not a version.
    pub fn from_uname(version: &str) -> Option<Release> {
        let mut numbers = version.split(|c: char| !c.is_ascii_digit());
        let major: u32 = numbers.next()?.parse().ok()?;
        let minor: u32 = numbers.next()?.parse().ok()?;
        Some(match (major, minor) {
            (..=3, _) => Release::V3_7,
            (4 | 5, _) | (6, ..=8) => Release::V6_1,
            (6, 9..=11) => Release::V6_9,
            // The AccECN bit came with 6.15 (the series was merged in March 2025).
            (6, 12..=14) => Release::V6_12,
            _ => Release::V6_18,
        })
    }
}

/// What a VLAN device promises for frames that already carry a tag (`kernel.vlan_features`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VlanFeatures {
    /// Nothing: `vlan_features` stays 0, apart from register's HIGHDMA.
    V3_7,
    /// The patch of the thread: `vlan_features` = its own `features`. Wrong on a stack: what the hardware
    /// promises for one tag leaks upwards and is taken as a promise for any number.
    ThreadPatch,
    /// `real_dev->vlan_features`, so it never grows with depth.
    Modern,
}

impl VlanFeatures {
    /// All of them.
    pub const ALL: &'static [VlanFeatures] = &[
        VlanFeatures::V3_7,
        VlanFeatures::ThreadPatch,
        VlanFeatures::Modern,
    ];

    /// The name used in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            VlanFeatures::V3_7 => "v3_7",
            VlanFeatures::ThreadPatch => "thread_patch",
            VlanFeatures::Modern => "modern",
        }
    }

    /// The rule called `name`.
    pub fn from_name(name: &str) -> Option<VlanFeatures> {
        let mut all = VlanFeatures::ALL.iter().copied();
        all.find(|v| v.name() == name)
    }
}

/// How two feature words are combined where an upper device takes what the lower one can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intersect {
    /// Bit by bit, as before 3.12.
    PlainAnd,
    /// `netdev_intersect_features`: HW_CSUM on one side includes the checksums by protocol of the other.
    Superset,
}

/// The rules of a host's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Which kernel.
    pub release: Release,
    /// What VLAN devices promise.
    pub vlan_features: VlanFeatures,
    /// How words are combined.
    pub intersect: Intersect,
}

impl Rules {
    /// The rules of an unpatched `release`.
    pub const fn new(release: Release) -> Rules {
        let old = matches!(release, Release::V3_7);
        Rules {
            release,
            vlan_features: if old {
                VlanFeatures::V3_7
            } else {
                VlanFeatures::Modern
            },
            intersect: if old {
                Intersect::PlainAnd
            } else {
                Intersect::Superset
            },
        }
    }

    /// Linux 3.7, before feature words knew tunnels, 802.1ad and mangled IDs.
    pub(super) fn old(self) -> bool {
        self.release == Release::V3_7
    }
    /// From 6.12 on: LLTX and NETNS_LOCAL are no bits, masters start from `base`.
    pub(super) fn recent(self) -> bool {
        self.release >= Release::V6_12
    }

    /// The bits that this kernel has.
    pub fn known(self) -> Features {
        let gone = Features::LLTX | Features::NETNS_LOCAL | Features::FCOE_MTU;
        match self.release {
            Release::V3_7 => {
                let newer = Features::GSO_MASK - Features::GSO_ROBUST - self.gso_software();
                let offloads = Features::from_bits(!0 << 45);
                !(newer - Features::FSO) - offloads
            }
            Release::V6_1 | Release::V6_9 => !Features::GSO_ACCECN,
            Release::V6_12 => !gone - Features::GSO_ACCECN,
            Release::V6_18 => !gone,
        }
    }
    /// LLTX, where it is a bit.
    pub(super) fn lltx(self) -> Features {
        Features::LLTX.if_(!self.recent())
    }
    /// NETNS_LOCAL, where it is a bit.
    pub(super) fn netns_local(self) -> Features {
        Features::NETNS_LOCAL.if_(!self.recent())
    }
    /// `NETIF_F_NEVER_CHANGE`: what ethtool may not ask for.
    pub fn never_change(self) -> Features {
        Features::VLAN_CHALLENGED | self.lltx() | self.netns_local()
    }
    /// `NETIF_F_ALL_TSO`.
    pub fn all_tso(self) -> Features {
        let tso = Features::TSO | Features::TSO_ECN | Features::TSO6;
        tso | Features::TSO_MANGLEID.if_(!self.old())
    }
    /// `NETIF_F_GSO_SOFTWARE`: segmentation that software can do too.
    pub fn gso_software(self) -> Features {
        if self.old() {
            return self.all_tso() | Features::GSO_UDP;
        }
        self.all_tso()
            | Features::GSO_SCTP
            | Features::GSO_UDP_L4
            | Features::GSO_FRAGLIST
            | Features::GSO_ACCECN.if_(self.release >= Release::V6_18)
    }
    /// `NETIF_F_ALL_FCOE`.
    pub fn all_fcoe(self) -> Features {
        let fcoe = Features::FCOE_CRC | Features::FSO;
        fcoe | Features::FCOE_MTU.if_(!self.recent())
    }
    /// `NETIF_F_ONE_FOR_ALL`: an upper device has it if one of its ports does.
    pub fn one_for_all(self) -> Features {
        self.gso_software()
            | Features::GSO_ROBUST
            | Features::SG
            | Features::HIGHDMA
            | Features::FRAGLIST
            | Features::VLAN_CHALLENGED
    }

    /// `netdev_base_features`: where a master starts before it looks at its ports.
    pub fn base(self, f: Features) -> Features {
        (f - self.one_for_all()) | Features::ALL_FOR_ALL
    }

    /// `netdev_intersect_features`.
    pub fn intersect(self, mut a: Features, mut b: Features) -> Features {
        if self.intersect == Intersect::Superset {
            if a.has(Features::HW_CSUM) && !b.has(Features::HW_CSUM) {
                a |= Features::PROTO_CSUM;
            } else if b.has(Features::HW_CSUM) && !a.has(Features::HW_CSUM) {
                b |= Features::PROTO_CSUM;
            }
        }
        a & b
    }

    /// `netdev_increment_features`: `all` with one more port, `one`, under what the master wants, `mask`.
    pub fn increment(self, mut all: Features, one: Features, mut mask: Features) -> Features {
        if mask.has(Features::HW_CSUM) {
            mask |= Features::CSUM_MASK;
        }
        mask |= Features::VLAN_CHALLENGED;
        all |= one & (self.one_for_all() | Features::CSUM_MASK) & mask;
        all &= one | !Features::ALL_FOR_ALL;
        if all.has(Features::HW_CSUM) {
            all -= Features::PROTO_CSUM;
        }
        all
    }

    /// `netdev_add_tso_features`: TSO on an upper device whatever its ports have, since software segments.
    pub fn add_tso(self, f: Features, mask: Features) -> Features {
        let keep = Features::ALL_FOR_ALL.if_(self.release != Release::V6_9);
        self.increment(f, self.all_tso() | keep, mask)
    }

    /// `netdev_fix_features`: drops what cannot be without something else, in the kernel's order.
    pub fn fix_common(self, mut f: Features, gso_partial: Features) -> Features {
        let tso = self.all_tso();
        let proto = Features::PROTO_CSUM;
        if f.has(Features::HW_CSUM) && f.any(proto) {
            f -= proto;
        }
        if self.old() && f.has(Features::SG) && !f.any(Features::CSUM_MASK) {
            f -= Features::SG;
        }
        if f.any(tso) && !f.has(Features::SG) {
            f -= tso;
        }
        if !self.old() {
            let v4 = Features::HW_CSUM | Features::IP_CSUM;
            if f.has(Features::TSO) && !f.any(v4) {
                f -= Features::TSO | Features::TSO_ECN;
            }
            let v6 = Features::HW_CSUM | Features::IPV6_CSUM;
            if f.has(Features::TSO6) && !f.any(v6) {
                f -= Features::TSO6;
            }
            if f.has(Features::TSO_MANGLEID) && !f.has(Features::TSO) {
                f -= Features::TSO_MANGLEID;
            }
        }
        if f & tso == Features::TSO_ECN {
            f -= Features::TSO_ECN;
        }
        if f.has(Features::GSO) && !f.has(Features::SG) {
            f -= Features::GSO;
        }
        let csum_both = f.has(Features::HW_CSUM) || f.has(proto);
        if self.old() {
            if f.has(Features::GSO_UDP) && !(f.has(Features::SG) && csum_both) {
                f -= Features::GSO_UDP;
            }
            return f;
        }
        if f.any(gso_partial) && !f.has(Features::GSO_PARTIAL) {
            f -= gso_partial;
        }
        if !f.has(Features::RXCSUM) {
            f -= Features::GRO_HW;
        }
        if f.has(Features::RXFCS) {
            f -= Features::LRO | Features::GRO_HW;
        }
        if f.has(Features::GRO_HW) {
            f -= Features::LRO;
        }
        if !csum_both {
            f -= Features::HW_TLS_TX;
        }
        if !f.has(Features::RXCSUM) {
            f -= Features::HW_TLS_RX;
        }
        if self.recent() && !csum_both {
            f -= Features::GSO_UDP_L4;
        }
        f
    }
}
