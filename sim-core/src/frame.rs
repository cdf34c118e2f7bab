//! What is in a frame: the part of its bytes that devices and the stack look at. Plain data, the same
//! on the wire and in an skb.

/// `ETH_HLEN`.
pub const ETH_HLEN: u32 = 14;
/// `VLAN_HLEN`.
pub const VLAN_HLEN: u32 = 4;
/// Most tags in the data of one frame.
pub const MAX_TAGS: usize = 4;

/// EtherType of what a frame carries behind all tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// IPv4.
    #[default]
    Ipv4,
    /// IPv6.
    Ipv6,
    /// Something without checksum or segmentation offloads.
    Other,
}

/// TPID of a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tpid {
    /// 802.1Q, 0x8100.
    #[default]
    Q,
    /// 802.1ad, 0x88a8.
    Ad,
}

/// A VLAN tag: TPID and VLAN id (PCP and DEI are not modelled).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// TPID.
    pub tpid: Tpid,
    /// VLAN id.
    pub vid: u16,
}

/// The tags in a frame's data, outermost first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    list: [Tag; MAX_TAGS],
    len: u8,
}

impl Tags {
    /// The tags, outermost first.
    pub fn as_slice(&self) -> &[Tag] {
        &self.list[..usize::from(self.len)]
    }
    /// The outermost.
    pub fn outer(&self) -> Option<Tag> {
        self.as_slice().first().copied()
    }
    /// Puts `tag` outside all others.
    ///
    /// # Panics
    /// With more than [`MAX_TAGS`] tags; scenarios cannot stack VLANs that deep.
    pub fn push(&mut self, tag: Tag) {
        assert!(usize::from(self.len) < MAX_TAGS, "at most {MAX_TAGS} tags");
        self.list.copy_within(0..usize::from(self.len), 1);
        self.list[0] = tag;
        self.len += 1;
    }
    /// Takes the outermost off.
    pub fn pop(&mut self) -> Option<Tag> {
        let outer = self.outer()?;
        self.list.copy_within(1..usize::from(self.len), 0);
        self.len -= 1;
        Some(outer)
    }
}

/// A TCP segment's header, as far as the endpoints look at it. Sequence numbers do not wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// Connection.
    pub conn: u16,
    /// First byte of the payload.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    /// `ack_seq`.
    pub ack: u64,
    /// Receive window in bytes, scaled.
    pub window: u32,
    /// PSH.
    pub push: bool,
}

/// Transport header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum L4 {
    /// UDP, or anything whose ports only matter for the flow hash.
    #[default]
    Udp,
    /// TCP.
    Tcp(TcpHeader),
}

/// A frame, or with `segs` > 1 a chain of frames of one flow that share their headers (GSO, GRO).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Sending context; a flow is one sending context in program order.
    pub flow: u32,
    /// Number within the flow.
    pub number: u64,
    /// Bytes from the Ethernet header to the end of the payload, without FCS.
    pub len: u32,
    /// What it carries.
    pub protocol: Protocol,
    /// Tags in the data.
    pub tags: Tags,
    /// Transport header.
    pub l4: L4,
    /// Value that the flow hash comes from (UDP source port).
    pub port: u32,
    /// UDP destination port; 0 for what no socket waits for.
    pub dport: u16,
    /// Frames on the wire that this one stands for; at least 1.
    pub segs: u16,
    /// Payload bytes of each of them but the last (`gso_size`); 0 if `segs` is 1.
    pub gso_size: u16,
    /// Hardware wrote its checksum or its headers to a wrong place: whoever receives it discards it.
    pub corrupt: bool,
}

impl Frame {
    /// The flow hash (`skb->hash`). A multiplication, so that a few consecutive ports never collide; the
    /// kernel's is keyed at random.
    pub fn hash(&self) -> u32 {
        self.port.wrapping_mul(0x9e37_79b1)
    }

    /// `reciprocal_scale`: the hash spread over `0..n`.
    pub fn hash_to(&self, n: u32) -> u32 {
        ((u64::from(self.hash()) * u64::from(n)) >> 32) as u32
    }

    /// Bytes of all headers: what each segment repeats.
    pub fn header_len(&self) -> u32 {
        match self.l4 {
            L4::Tcp(tcp) => self.len - tcp.len,
            L4::Udp => ETH_HLEN + 28 + VLAN_HLEN * self.tags.as_slice().len() as u32,
        }
    }

    /// The `n`-th of its `segs` frames.
    pub fn segment(&self, n: u16) -> Frame {
        if self.segs <= 1 {
            return *self;
        }
        let header = self.header_len();
        let offset = u32::from(n) * u32::from(self.gso_size);
        let payload = (self.len - header - offset).min(u32::from(self.gso_size));
        let mut one = Frame {
            len: header + payload,
            segs: 1,
            gso_size: 0,
            ..*self
        };
        if let L4::Tcp(tcp) = &mut one.l4 {
            tcp.seq += u64::from(offset);
            tcp.len = payload;
            tcp.push &= n + 1 == self.segs;
        }
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_the_payload_once() {
        let tcp = TcpHeader {
            seq: 1000,
            len: 3000,
            push: true,
            ..TcpHeader::default()
        };
        let whole = Frame {
            len: 66 + 3000,
            l4: L4::Tcp(tcp),
            segs: 3,
            gso_size: 1448,
            ..Frame::default()
        };
        let parts: Vec<(u64, u32, u32, bool)> = (0..3)
            .map(|n| {
                let part = whole.segment(n);
                let L4::Tcp(tcp) = part.l4 else { panic!("TCP") };
                (tcp.seq, tcp.len, part.len, tcp.push)
            })
            .collect();
        assert_eq!(
            parts,
            [
                (1000, 1448, 1514, false),
                (2448, 1448, 1514, false),
                (3896, 104, 170, true)
            ]
        );
    }

    #[test]
    fn tags_are_a_stack() {
        let mut tags = Tags::default();
        let tag = |vid| Tag { tpid: Tpid::Q, vid };
        tags.push(tag(5));
        tags.push(tag(7));
        assert_eq!(tags.as_slice(), [tag(7), tag(5)]);
        assert_eq!(tags.pop(), Some(tag(7)));
        assert_eq!(tags.pop(), Some(tag(5)));
        assert_eq!(tags.pop(), None);
    }
}
