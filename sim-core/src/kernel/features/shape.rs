//! What features ask of a packet: its protocol, its tags, how it is stored and what is left to do.
//!
//! Follows `struct sk_buff` and `skb_shared_info`: only what `netif_skb_features` and the fallbacks read.

use super::bits::Features;
use super::vlan::VLAN_HLEN;

/// An Ethernet type, in host order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// `ETH_P_IP`.
    pub const IP: EtherType = EtherType(0x0800);
    /// `ETH_P_IPV6`.
    pub const IPV6: EtherType = EtherType(0x86DD);
    /// `ETH_P_8021Q`.
    pub const Q: EtherType = EtherType(0x8100);
    /// `ETH_P_8021AD`.
    pub const AD: EtherType = EtherType(0x88A8);
    /// `ETH_P_FCOE`.
    pub const FCOE: EtherType = EtherType(0x8906);
    /// `ETH_P_MPLS_UC`.
    pub const MPLS_UC: EtherType = EtherType(0x8847);
    /// `ETH_P_MPLS_MC`.
    pub const MPLS_MC: EtherType = EtherType(0x8848);

    /// `eth_type_vlan`.
    pub fn is_vlan(self) -> bool {
        self == EtherType::Q || self == EtherType::AD
    }
    /// `eth_p_mpls`.
    pub fn is_mpls(self) -> bool {
        self == EtherType::MPLS_UC || self == EtherType::MPLS_MC
    }
}

/// Most tags that a packet's data may hold: as many as there are levels of devices.
const MAX_TAGS: usize = 8;

/// The tags in a packet's data, outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    protos: [EtherType; MAX_TAGS],
    len: u8,
}

impl Tags {
    /// No tag.
    pub const NONE: Tags = Tags {
        protos: [EtherType::Q; MAX_TAGS],
        len: 0,
    };

    /// These with one more outside.
    ///
    /// # Panics
    /// If there are eight already: no stack of devices is so deep.
    #[must_use]
    pub fn push(mut self, proto: EtherType) -> Tags {
        let len = usize::from(self.len);
        assert!(len < MAX_TAGS, "more tags than levels of devices");
        self.protos.copy_within(..len, 1);
        self.protos[0] = proto;
        self.len += 1;
        self
    }
    /// The tags, outermost first.
    pub fn as_slice(&self) -> &[EtherType] {
        &self.protos[..usize::from(self.len)]
    }
}

/// `skb->ip_summed` on transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpSummed {
    /// Nothing to do: there is a checksum, or none is wanted.
    None,
    /// Known to be right.
    Unnecessary,
    /// Only the pseudo header is summed; the rest is to be done.
    Partial,
}

/// Which checksum `IpSummed::Partial` leaves to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsumTarget {
    /// TCP or UDP: every checksum engine.
    TcpUdp,
    /// CRC32c of SCTP.
    Sctp,
    /// Another, at any offset: HW_CSUM only.
    Other,
}

/// A packet as features see it. Lengths in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkbShape {
    /// Protocol behind all tags.
    pub network: EtherType,
    /// Tags in the data.
    pub tags: Tags,
    /// The tag beside the data (`vlan_tci`, `vlan_proto`), for hardware to insert.
    pub accel_tag: Option<EtherType>,
    /// Payload of a segment; 0: not a GSO packet.
    pub gso_size: u32,
    /// Number of segments.
    pub gso_segs: u32,
    /// `gso_type`, as the features that can do it (`NETIF_F_TSO` for `SKB_GSO_TCPV4`).
    pub gso_type: Features,
    /// What is left to sum.
    pub ip_summed: IpSummed,
    /// Which sum.
    pub csum: CsumTarget,
    /// Page fragments.
    pub nr_frags: u32,
    /// A chain of further skbs.
    pub frag_list: bool,
    /// All bytes.
    pub len: u32,
    /// Bytes of the headers, which every segment repeats.
    pub header_len: u32,
    /// Bytes outside the linear part.
    pub data_len: u32,
    /// There is an inner packet to offload for.
    pub encapsulation: bool,
    /// Some fragment lies where the device cannot reach without HIGHDMA (32-bit kernels only).
    pub highmem: bool,
    /// The IPv4 header forbids fragments.
    pub dont_fragment: bool,
}

impl SkbShape {
    /// A TCP packet over IPv4 of `len` bytes with the header, `mss` payload bytes a segment, in `nr_frags` page
    /// fragments behind a linear header of `header` bytes, as TCP hands it to a device that has SG and a checksum.
    pub fn tcp4(len: u32, header: u32, mss: u32, nr_frags: u32) -> SkbShape {
        let payload = len.saturating_sub(header);
        let gso = payload > mss;
        SkbShape {
            network: EtherType::IP,
            tags: Tags::NONE,
            accel_tag: None,
            gso_size: if gso { mss } else { 0 },
            gso_segs: if gso { payload.div_ceil(mss) } else { 1 },
            gso_type: Features::TSO.if_(gso),
            ip_summed: IpSummed::Partial,
            csum: CsumTarget::TcpUdp,
            nr_frags,
            frag_list: false,
            len,
            header_len: header,
            data_len: if nr_frags > 0 { payload } else { 0 },
            encapsulation: false,
            highmem: false,
            dont_fragment: true,
        }
    }

    /// `skb->protocol`: the outermost tag in the data, else the network protocol.
    pub fn protocol(&self) -> EtherType {
        self.behind(0)
    }
    /// The protocol behind `n` tags of the data.
    pub(super) fn behind(&self, n: usize) -> EtherType {
        let tags = self.tags.as_slice();
        tags.get(n).copied().unwrap_or(self.network)
    }
    /// `skb_is_gso`.
    pub fn is_gso(&self) -> bool {
        self.gso_size > 0
    }
    /// `skb_is_nonlinear`.
    pub fn is_nonlinear(&self) -> bool {
        self.data_len > 0
    }
    /// Tags in all, in the data and beside it.
    pub fn tag_count(&self) -> usize {
        self.tags.as_slice().len() + usize::from(self.accel_tag.is_some())
    }
    /// With one more tag in the data, outside the others.
    #[must_use]
    pub fn with_tag(mut self, proto: EtherType) -> SkbShape {
        self.tags = self.tags.push(proto);
        self.len += VLAN_HLEN;
        self.header_len += VLAN_HLEN;
        self
    }
    /// `__vlan_hwaccel_push_inside`: the tag beside the data goes into it.
    #[must_use]
    pub fn push_tag(mut self) -> SkbShape {
        if let Some(proto) = self.accel_tag.take() {
            self = self.with_tag(proto);
        }
        self
    }
}
