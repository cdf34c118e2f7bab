//! `tcp_sendmsg`: from a buffer of the user to skbs on the write queue.

use super::output::{Push, tcp_write_xmit};
use super::{GSO_MAX_SIZE, MAX_TCP_HEADER, PAGE_FRAG, Sock, TRUESIZE, line};
use crate::frame::{ETH_HLEN, Frame, L4, TcpHeader};
use crate::kernel::skb::{IpSummed, Meta, Skb};
use crate::kernel::{Cost, Cpu, Func};

/// `tcp_sendmsg` of `len` bytes, by task `task`.
pub(crate) async fn tcp_sendmsg(cpu: Cpu<'_>, sock: &Sock, len: u32, task: u32) {
    cpu.spend(Cost::SysSend);
    let _span = cpu.enter(Func::TcpSendmsg);
    cpu.spend(Cost::TcpSendmsg);
    sock.lock_sock(cpu).await;
    let snd = &sock.snd;
    let goal = size_goal(cpu, sock);
    let mut left = len;
    while left > 0 {
        let skb = match unsent_tail(cpu, sock).filter(|&skb| payload(cpu, skb) < goal) {
            Some(skb) => skb,
            None => entail(cpu, sock, task).await,
        };
        let copy = left.min(goal - payload(cpu, skb)).min(PAGE_FRAG);
        cpu.copy(copy);
        cpu.settle().await;
        append(cpu, sock, skb, copy);
        cpu.touch([sock.lines(line::SEQ, line::SEQ | line::WRITE)])
            .await;
        left -= copy;
        if payload(cpu, skb) < goal || left == 0 {
            continue;
        }
        let forced = snd.written.get() > snd.pushed.get() + u64::from(snd.max_wnd.get() / 2);
        let first = snd.queue.borrow().get(snd.sent.get()) == Some(&skb);
        if forced {
            push(cpu, sock).await;
        } else if first {
            tcp_write_xmit(cpu, sock, Push::One).await;
        }
    }
    push(cpu, sock).await;
    sock.release_sock(cpu).await;
}

/// `tcp_push`: marks the tail and sends what may be sent.
async fn push(cpu: Cpu<'_>, sock: &Sock) {
    cpu.spend(Cost::TcpPush);
    if let Some(skb) = unsent_tail(cpu, sock) {
        let mut frame = cpu.k.skbs.frame(skb);
        if let L4::Tcp(tcp) = &mut frame.l4 {
            tcp.push = true;
        }
        cpu.k.skbs.set_frame(skb, frame);
        sock.snd.pushed.set(sock.snd.written.get());
        tcp_write_xmit(cpu, sock, Push::All).await;
    }
}

/// `tcp_send_mss`: payload of an skb, whole segments up to `gso_max_size`, if the device segments.
pub(super) fn size_goal(cpu: Cpu<'_>, sock: &Sock) -> u32 {
    if cpu.k.dev(sock.dev).caps().gso {
        let room = (GSO_MAX_SIZE - 1 - MAX_TCP_HEADER).min(sock.limit_output / 2);
        let room = room.min(sock.snd.max_wnd.get() / 2).max(sock.mss);
        room - room % sock.mss
    } else {
        sock.mss
    }
}

/// Payload of an skb of the write queue.
pub(super) fn payload(cpu: Cpu<'_>, skb: Skb) -> u32 {
    match cpu.k.skbs.frame(skb).l4 {
        L4::Tcp(tcp) => tcp.len,
        L4::Udp => 0,
    }
}

/// The last skb of the write queue, if it was not sent.
fn unsent_tail(_: Cpu<'_>, sock: &Sock) -> Option<Skb> {
    let queue = sock.snd.queue.borrow();
    queue
        .back()
        .copied()
        .filter(|_| sock.snd.sent.get() < queue.len())
}

/// A new skb at the end of the write queue, once there is room.
async fn entail(cpu: Cpu<'_>, sock: &Sock, task: u32) -> Skb {
    let snd = &sock.snd;
    loop {
        if snd.wmem_queued.get() < sock.sndbuf {
            let frame = Frame {
                flow: sock.flow,
                len: ETH_HLEN + super::IP_TCP_HEADER,
                port: u32::from(sock.conn),
                segs: 1,
                l4: L4::Tcp(TcpHeader {
                    conn: sock.conn,
                    seq: snd.written.get(),
                    ..TcpHeader::default()
                }),
                ..Frame::default()
            };
            if let Some(skb) = cpu.k.skbs.alloc_frame(cpu, frame).await {
                cpu.spend(Cost::TcpSkbEntail);
                let csum = cpu.k.dev(sock.dev).caps().csum;
                let ip_summed = if csum {
                    IpSummed::Partial
                } else {
                    IpSummed::None
                };
                let meta = Meta {
                    ip_summed,
                    cached_on: Some(cpu.id()),
                    ..Meta::default()
                };
                cpu.k.skbs.set_meta(skb, meta);
                snd.queue.borrow_mut().push_back(skb);
                snd.wmem_queued.set(snd.wmem_queued.get() + TRUESIZE);
                return skb;
            }
        }
        // sk_stream_wait_memory.
        snd.nospace.set(true);
        push(cpu, sock).await;
        if snd.wmem_queued.get() >= sock.sndbuf {
            sock.wait(cpu, task).await;
        }
    }
}

/// `copy` bytes more at the end of `skb`.
fn append(cpu: Cpu<'_>, sock: &Sock, skb: Skb, copy: u32) {
    let skbs = &cpu.k.skbs;
    let mut frame = skbs.frame(skb);
    if let L4::Tcp(tcp) = &mut frame.l4 {
        tcp.len += copy;
        // What was marked is not the end any more.
        tcp.push = false;
    }
    frame.len += copy;
    set_segments(&mut frame, sock.mss);
    skbs.set_frame(skb, frame);
    let mut meta = skbs.meta(skb);
    if cpu.k.dev(sock.dev).caps().sg {
        meta.nr_frags = (meta.nr_frags + 1).min(17);
        meta.data_len += copy;
    }
    // Half here and half on another CPU counts as nowhere.
    meta.cached_on = meta.cached_on.filter(|&on| on == cpu.id());
    skbs.set_meta(skb, meta);
    let snd = &sock.snd;
    snd.wmem_queued.set(snd.wmem_queued.get() + copy);
    snd.written.set(snd.written.get() + u64::from(copy));
}

/// `tcp_set_skb_tso_segs`.
pub(super) fn set_segments(frame: &mut Frame, mss: u32) {
    let L4::Tcp(tcp) = frame.l4 else { return };
    frame.segs = tcp.len.div_ceil(mss).max(1) as u16;
    frame.gso_size = if frame.segs > 1 { mss as u16 } else { 0 };
}
