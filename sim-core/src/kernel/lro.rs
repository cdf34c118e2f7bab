//! Large receive offload in software: segments of one connection become one skb with a fragment each.
//!
//! Follows Linux 3.7 `net/ipv4/inet_lro.c` in its page mode. An aggregate ends when it is full, when
//! something arrives that cannot follow, and when the driver flushes. Absent: several connections at once
//! (one descriptor a ring here, eight there).

use super::skb::{Meta, RxPages, Skb};
use super::{Cost, Cpu};
use crate::frame::{Frame, L4};
use std::cell::Cell;

/// The aggregate of a receive ring.
#[derive(Debug)]
pub struct Lro {
    max: u16,
    held: Cell<Option<Frame>>,
    /// Aggregates passed on, and frames in them.
    pub aggregates: Cell<u64>,
    /// Frames in them.
    pub frames: Cell<u64>,
}

impl Lro {
    /// Aggregates of up to `max` segments.
    pub fn new(max: u16) -> Lro {
        Lro {
            max,
            held: Cell::new(None),
            aggregates: Cell::new(0),
            frames: Cell::new(0),
        }
    }

    /// Adds `frame`. Returns what is to be passed on before it, and what with it.
    pub fn add(&self, frame: Frame) -> [Option<Frame>; 2] {
        let L4::Tcp(next) = frame.l4 else {
            return [self.held.take(), Some(frame)];
        };
        // `lro_tcp_ip_check`: pure ACKs and PSH are not for aggregates.
        if next.len == 0 || next.push || frame.corrupt {
            return [self.held.take(), Some(frame)];
        }
        let Some(mut held) = self.held.take() else {
            self.held.set(Some(frame));
            return [None, None];
        };
        let L4::Tcp(tcp) = &mut held.l4 else {
            unreachable!("only TCP is held")
        };
        let follows = tcp.conn == next.conn
            && tcp.seq + u64::from(tcp.len) == next.seq
            && held.tags == frame.tags;
        if !follows {
            self.held.set(Some(frame));
            return [Some(held), None];
        }
        if held.gso_size == 0 {
            held.gso_size = tcp.len as u16;
        }
        tcp.len += next.len;
        tcp.ack = next.ack;
        tcp.window = next.window;
        held.len += next.len;
        held.segs += 1;
        if held.segs >= self.max {
            return [Some(held), None];
        }
        self.held.set(Some(held));
        [None, None]
    }

    /// `lro_flush_all`.
    pub fn flush(&self) -> Option<Frame> {
        self.held.take()
    }

    /// `lro_gen_skb` and `lro_flush`: an skb of the aggregate `frame`.
    pub(crate) async fn gen_skb(&self, cpu: Cpu<'_>, frame: Frame, pages: RxPages) -> Option<Skb> {
        cpu.spend(Cost::LroFlush);
        let skb = cpu.k.skbs.alloc_frame(cpu, frame).await?;
        let payload = match frame.l4 {
            L4::Tcp(tcp) => tcp.len,
            L4::Udp => 0,
        };
        let meta = Meta {
            nr_frags: if payload > 0 {
                frame.segs.min(17) as u8
            } else {
                0
            },
            data_len: payload,
            rx_pages: Some(pages),
            ..Meta::default()
        };
        cpu.k.skbs.set_meta(skb, meta);
        cpu.k.bump(&self.aggregates, 1);
        cpu.k.bump(&self.frames, u64::from(frame.segs));
        Some(skb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::TcpHeader;

    fn segment(seq: u64, len: u32, push: bool) -> Frame {
        let tcp = TcpHeader {
            seq,
            len,
            push,
            ..TcpHeader::default()
        };
        Frame {
            len: 66 + len,
            segs: 1,
            l4: L4::Tcp(tcp),
            ..Frame::default()
        }
    }

    fn lens(frames: [Option<Frame>; 2]) -> Vec<(u32, u16)> {
        frames.iter().flatten().map(|f| (f.len, f.segs)).collect()
    }

    #[test]
    fn an_aggregate_ends_when_full_or_broken() {
        let lro = Lro::new(3);
        assert!(lens(lro.add(segment(0, 100, false))).is_empty());
        assert!(lens(lro.add(segment(100, 100, false))).is_empty());
        assert_eq!(lens(lro.add(segment(200, 100, false))), [(366, 3)], "full");
        assert!(lens(lro.add(segment(300, 100, false))).is_empty());
        assert_eq!(lens(lro.add(segment(500, 100, false))), [(166, 1)], "a gap");
        assert_eq!(
            lens(lro.add(segment(600, 100, true))),
            [(166, 1), (166, 1)],
            "PSH goes alone"
        );
        assert_eq!(lro.flush(), None);
        assert_eq!(lens(lro.add(segment(0, 0, false))), [(66, 1)], "pure ACK");
    }
}
