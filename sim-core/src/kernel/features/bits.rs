//! Feature bits and groups of them.
//!
//! Follows Linux 6.1 `include/linux/netdev_features.h`: bit numbers, and the strings of `net/ethtool/common.c`.
//! Later kernels renumber three bits and add one; [`Features::from_word`] and [`Features::to_word`]
//! translate, so that a set means the same under every release.

use super::rules::Release;
use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, Not};

/// A set of `NETIF_F_*` bits, by the numbers of Linux 6.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Features(u64);

macro_rules! features {
    ($($id:ident = $bit:literal, $name:literal;)*) => {
        impl Features {
            $(#[doc = concat!("`NETIF_F_", stringify!($id), "`, `ethtool -k` name `", $name, "`.")]
            pub const $id: Features = Features(1 << $bit);)*

            /// Every named bit: bit, kernel macro without `NETIF_F_`, ethtool name.
            pub const NAMES: &'static [(u32, &'static str, &'static str)] =
                &[$(($bit, stringify!($id), $name)),*];
        }
    };
}

// Bit 2 has no name in any kernel read; it holds GSO_ACCECN, which later kernels put at 35.
// GSO_UDP (UFO) has had no ethtool name since 4.14; it has its old one here.
features! {
    SG = 0, "tx-scatter-gather";
    IP_CSUM = 1, "tx-checksum-ipv4";
    GSO_ACCECN = 2, "tx-tcp-accecn-segmentation";
    HW_CSUM = 3, "tx-checksum-ip-generic";
    IPV6_CSUM = 4, "tx-checksum-ipv6";
    HIGHDMA = 5, "highdma";
    FRAGLIST = 6, "tx-scatter-gather-fraglist";
    HW_VLAN_CTAG_TX = 7, "tx-vlan-hw-insert";
    HW_VLAN_CTAG_RX = 8, "rx-vlan-hw-parse";
    HW_VLAN_CTAG_FILTER = 9, "rx-vlan-filter";
    VLAN_CHALLENGED = 10, "vlan-challenged";
    GSO = 11, "tx-generic-segmentation";
    LLTX = 12, "tx-lockless";
    NETNS_LOCAL = 13, "netns-local";
    GRO = 14, "rx-gro";
    LRO = 15, "rx-lro";
    TSO = 16, "tx-tcp-segmentation";
    GSO_ROBUST = 17, "tx-gso-robust";
    TSO_ECN = 18, "tx-tcp-ecn-segmentation";
    TSO_MANGLEID = 19, "tx-tcp-mangleid-segmentation";
    TSO6 = 20, "tx-tcp6-segmentation";
    FSO = 21, "tx-fcoe-segmentation";
    GSO_GRE = 22, "tx-gre-segmentation";
    GSO_GRE_CSUM = 23, "tx-gre-csum-segmentation";
    GSO_IPXIP4 = 24, "tx-ipxip4-segmentation";
    GSO_IPXIP6 = 25, "tx-ipxip6-segmentation";
    GSO_UDP_TUNNEL = 26, "tx-udp_tnl-segmentation";
    GSO_UDP_TUNNEL_CSUM = 27, "tx-udp_tnl-csum-segmentation";
    GSO_PARTIAL = 28, "tx-gso-partial";
    GSO_TUNNEL_REMCSUM = 29, "tx-tunnel-remcsum-segmentation";
    GSO_SCTP = 30, "tx-sctp-segmentation";
    GSO_ESP = 31, "tx-esp-segmentation";
    GSO_UDP = 32, "tx-udp-fragmentation";
    GSO_UDP_L4 = 33, "tx-udp-segmentation";
    GSO_FRAGLIST = 34, "tx-gso-list";
    FCOE_CRC = 35, "tx-checksum-fcoe-crc";
    SCTP_CRC = 36, "tx-checksum-sctp";
    FCOE_MTU = 37, "fcoe-mtu";
    NTUPLE = 38, "rx-ntuple-filter";
    RXHASH = 39, "rx-hashing";
    RXCSUM = 40, "rx-checksum";
    NOCACHE_COPY = 41, "tx-nocache-copy";
    LOOPBACK = 42, "loopback";
    RXFCS = 43, "rx-fcs";
    RXALL = 44, "rx-all";
    HW_VLAN_STAG_TX = 45, "tx-vlan-stag-hw-insert";
    HW_VLAN_STAG_RX = 46, "rx-vlan-stag-hw-parse";
    HW_VLAN_STAG_FILTER = 47, "rx-vlan-stag-filter";
    HW_L2FW_DOFFLOAD = 48, "l2-fwd-offload";
    HW_TC = 49, "hw-tc-offload";
    HW_ESP = 50, "esp-hw-offload";
    HW_ESP_TX_CSUM = 51, "esp-tx-csum-hw-offload";
    RX_UDP_TUNNEL_PORT = 52, "rx-udp_tunnel-port-offload";
    HW_TLS_TX = 53, "tls-hw-tx-offload";
    HW_TLS_RX = 54, "tls-hw-rx-offload";
    GRO_HW = 55, "rx-gro-hw";
    HW_TLS_RECORD = 56, "tls-hw-record";
    GRO_FRAGLIST = 57, "rx-gro-list";
    HW_MACSEC = 58, "macsec-hw-offload";
    GRO_UDP_FWD = 59, "rx-udp-gro-forwarding";
    HW_HSR_TAG_INS = 60, "hsr-tag-ins-offload";
    HW_HSR_TAG_RM = 61, "hsr-tag-rm-offload";
    HW_HSR_FWD = 62, "hsr-fwd-offload";
    HW_HSR_DUP = 63, "hsr-dup-offload";
}

const fn all(sets: &[Features]) -> Features {
    let (mut word, mut i) = (0, 0);
    while i < sets.len() {
        word |= sets[i].0;
        i += 1;
    }
    Features(word)
}

/// Groups that are the same under every release; those that are not are methods of `Rules`.
impl Features {
    /// No feature.
    pub const NONE: Features = Features(0);
    /// `NETIF_F_CSUM_MASK`: any transmit checksum of TCP and UDP.
    pub const CSUM_MASK: Features = all(&[Self::IP_CSUM, Self::IPV6_CSUM, Self::HW_CSUM]);
    /// The two checksums bound to a protocol, which HW_CSUM includes.
    pub const PROTO_CSUM: Features = all(&[Self::IP_CSUM, Self::IPV6_CSUM]);
    /// `NETIF_F_GSO_ENCAP_ALL`.
    pub const GSO_ENCAP_ALL: Features = all(&[
        Self::GSO_GRE,
        Self::GSO_GRE_CSUM,
        Self::GSO_IPXIP4,
        Self::GSO_IPXIP6,
        Self::GSO_UDP_TUNNEL,
        Self::GSO_UDP_TUNNEL_CSUM,
    ]);
    /// `NETIF_F_GSO_MASK`: every kind of segmentation.
    pub const GSO_MASK: Features = Features(((1 << 35) - (1 << 16)) | Self::GSO_ACCECN.0);
    /// `NETIF_F_SOFT_FEATURES`: on every device, whatever its hardware.
    pub const SOFT: Features = all(&[Self::GSO, Self::GRO]);
    /// `NETIF_F_SOFT_FEATURES_OFF`: as `SOFT`, off by default.
    pub const SOFT_OFF: Features = all(&[Self::GRO_FRAGLIST, Self::GRO_UDP_FWD]);
    /// `NETIF_F_ALL_FOR_ALL`: an upper device has it only if all its ports do.
    pub const ALL_FOR_ALL: Features = all(&[Self::NOCACHE_COPY, Self::FSO]);
    /// `NETIF_F_UPPER_DISABLES`: off on an upper device means off below.
    pub const UPPER_DISABLES: Features = Self::LRO;
    /// The insertion of tags on transmit, both kinds.
    pub const TAG_TX: Features = all(&[Self::HW_VLAN_CTAG_TX, Self::HW_VLAN_STAG_TX]);
    /// `NETIF_F_VLAN_FEATURES`.
    pub const VLAN_FEATURES: Features = all(&[
        Self::TAG_TX,
        Self::HW_VLAN_CTAG_RX,
        Self::HW_VLAN_CTAG_FILTER,
        Self::HW_VLAN_STAG_RX,
        Self::HW_VLAN_STAG_FILTER,
    ]);
    /// `BOND_XFRM_FEATURES`.
    pub const XFRM: Features = all(&[Self::HW_ESP, Self::HW_ESP_TX_CSUM, Self::GSO_ESP]);
    /// `BOND_TLS_FEATURES`.
    pub const TLS: Features = all(&[Self::HW_TLS_TX, Self::HW_TLS_RX]);

    /// The set with these bits, by the numbers of Linux 6.1.
    pub const fn from_bits(bits: u64) -> Features {
        Features(bits)
    }
    /// The bits, by the numbers of Linux 6.1.
    pub const fn bits(self) -> u64 {
        self.0
    }
    /// The set that `word` means in a kernel of `release`.
    pub fn from_word(word: u64, release: Release) -> Features {
        if release < Release::V6_18 {
            return Features(word);
        }
        let moved = Self::GSO_ACCECN.at(word, 35) | Self::FCOE_CRC.at(word, 36);
        Features(word & !(7 << 35)) | moved | Self::SCTP_CRC.at(word, 37)
    }
    /// The word of a kernel of `release` that means this set.
    pub fn to_word(self, release: Release) -> u64 {
        if release < Release::V6_18 {
            return self.0;
        }
        let moved = [
            (Self::GSO_ACCECN, 35),
            (Self::FCOE_CRC, 36),
            (Self::SCTP_CRC, 37),
        ];
        let stay = (self - all(&[Self::GSO_ACCECN, Self::FCOE_CRC, Self::SCTP_CRC])).0;
        moved.iter().fold(stay, |word, &(feature, bit)| {
            word | u64::from(self.has(feature)) << bit
        })
    }
    fn at(self, word: u64, bit: u32) -> Features {
        self.if_(word >> bit & 1 == 1)
    }
    /// This set if `condition`, else none.
    pub const fn if_(self, condition: bool) -> Features {
        if condition { self } else { Features::NONE }
    }
    /// Whether all of `other` is in this set.
    pub const fn has(self, other: Features) -> bool {
        self.0 & other.0 == other.0
    }
    /// Whether some of `other` is in this set.
    pub const fn any(self, other: Features) -> bool {
        self.0 & other.0 != 0
    }
    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Both sets, where a constant is needed.
    pub const fn or(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }
    /// ethtool's names of the bits in the set, lowest bit first.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let named = Self::NAMES.iter();
        named.filter_map(move |&(bit, _, name)| (self.0 >> bit & 1 == 1).then_some(name))
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for name in self.names() {
            write!(f, "{between}{name}")?;
            between = " ";
        }
        if self.is_empty() {
            f.write_str("none")?;
        }
        Ok(())
    }
}

impl BitOr for Features {
    type Output = Features;
    fn bitor(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }
}
impl BitAnd for Features {
    type Output = Features;
    fn bitand(self, other: Features) -> Features {
        Features(self.0 & other.0)
    }
}
impl BitXor for Features {
    type Output = Features;
    fn bitxor(self, other: Features) -> Features {
        Features(self.0 ^ other.0)
    }
}
impl Not for Features {
    type Output = Features;
    fn not(self) -> Features {
        Features(!self.0)
    }
}
impl std::ops::Sub for Features {
    type Output = Features;
    /// The bits that are not in `other`.
    fn sub(self, other: Features) -> Features {
        Features(self.0 & !other.0)
    }
}
impl BitOrAssign for Features {
    fn bitor_assign(&mut self, other: Features) {
        self.0 |= other.0;
    }
}
impl BitAndAssign for Features {
    fn bitand_assign(&mut self, other: Features) {
        self.0 &= other.0;
    }
}
impl std::ops::SubAssign for Features {
    fn sub_assign(&mut self, other: Features) {
        self.0 &= !other.0;
    }
}
