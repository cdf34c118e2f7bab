//! `tcp_write_xmit` and below: from the write queue to `dev_queue_xmit`; TSQ; ACKs.

use super::sendmsg::{payload, set_segments};
use super::{IP_TCP_HEADER, Sock, TRUESIZE, line};
use crate::frame::{ETH_HLEN, Frame, L4, TcpHeader};
use crate::kernel::core::dev_xmit::dev_queue_xmit;
use crate::kernel::drivers::vlan;
use crate::kernel::skb::{Meta, Skb, line as skb_line};
use crate::kernel::softirq::{TASKLET, raise_softirq};
use crate::kernel::{Cost, Cpu, Func};
use crate::machine::{Order, Rmw};

/// Bytes of the stream that the writing CPU still has in its second-level cache. Each was read at the user's and written
/// here, and those that are cut are written once more: 384 KiB, of the 512 KiB that the smallest of such caches hold.
const CACHED: u64 = 131_072;

/// How much of the write queue may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Push {
    /// `tcp_push_one`.
    One,
    /// All that the windows allow.
    All,
}

/// Sends from the write queue what windows, Nagle and TSQ allow.
pub(super) async fn tcp_write_xmit(cpu: Cpu<'_>, sock: &Sock, push: Push) {
    let _span = cpu.enter(Func::TcpWriteXmit);
    let snd = &sock.snd;
    loop {
        let Some(skb) = snd.queue.borrow().get(snd.sent.get()).copied() else {
            return;
        };
        cpu.spend(Cost::TcpWriteXmit);
        cpu.touch([sock.lines(line::SEQ | line::WRITE, 0)]).await;
        let Some(bytes) = sendable(cpu, sock, skb) else {
            return;
        };
        // TSQ.
        if cpu.load(sock.wmem_word).await >= u64::from(sock.limit_output) {
            snd.throttled.set(true);
            return;
        }
        if bytes < payload(cpu, skb) && !tso_fragment(cpu, sock, skb, bytes).await {
            return;
        }
        if !transmit(cpu, sock, skb).await {
            return;
        }
        if push == Push::One {
            return;
        }
    }
}

/// How many bytes of `skb` may be sent now: `tcp_snd_wnd_test`, `tcp_nagle_test`, `tcp_mss_split_point`.
fn sendable(cpu: Cpu<'_>, sock: &Sock, skb: Skb) -> Option<u32> {
    let snd = &sock.snd;
    let L4::Tcp(tcp) = cpu.k.skbs.frame(skb).l4 else {
        return None;
    };
    let end = snd.una.get() + u64::from(snd.wnd.get());
    let window = end.saturating_sub(tcp.seq).min(u64::from(u32::MAX)) as u32;
    if window < tcp.len.min(sock.mss) {
        return None;
    }
    let tail = snd.queue.borrow().back() == Some(&skb);
    let in_flight = snd.nxt.get() > snd.una.get();
    let needed = tcp.len.min(window);
    if !tail && needed == tcp.len {
        return Some(needed);
    }
    // A partial segment at the tail waits while anything is in flight.
    if needed < sock.mss {
        return (!in_flight).then_some(needed);
    }
    if tail && needed == tcp.len && needed % sock.mss != 0 && !in_flight {
        return Some(needed);
    }
    Some(needed - needed % sock.mss)
}

/// `tso_fragment`: cuts `skb` behind `bytes` of payload; false if no skb could be had.
async fn tso_fragment(cpu: Cpu<'_>, sock: &Sock, skb: Skb, bytes: u32) -> bool {
    let skbs = &cpu.k.skbs;
    let mut first = skbs.frame(skb);
    let mut second = first;
    let (L4::Tcp(a), L4::Tcp(b)) = (&mut first.l4, &mut second.l4) else {
        return false;
    };
    b.seq += u64::from(bytes);
    b.len -= bytes;
    a.len = bytes;
    a.push = false;
    let rest = b.len;
    second.len -= bytes;
    first.len -= rest;
    set_segments(&mut first, sock.mss);
    set_segments(&mut second, sock.mss);
    let Some(new) = skbs.alloc_frame(cpu, second).await else {
        return false;
    };
    cpu.spend(Cost::TcpFragment);
    let mut meta = skbs.meta(skb);
    let frags = meta.nr_frags;
    let share = |len: u32| (len.div_ceil(super::PAGE_FRAG) as u8).min(frags);
    skbs.set_meta(
        new,
        Meta {
            nr_frags: share(rest),
            data_len: if frags > 0 { rest } else { 0 },
            cloned: false,
            ..meta
        },
    );
    meta.nr_frags = share(bytes);
    meta.data_len = if frags > 0 { bytes } else { 0 };
    skbs.set_meta(skb, meta);
    skbs.set_frame(skb, first);
    let at = sock.snd.sent.get() + 1;
    sock.snd.queue.borrow_mut().insert(at, new);
    sock.snd
        .wmem_queued
        .set(sock.snd.wmem_queued.get() + TRUESIZE);
    true
}

/// `tcp_transmit_skb` of the send head: a clone goes down, the skb itself waits for its ACK.
async fn transmit(cpu: Cpu<'_>, sock: &Sock, skb: Skb) -> bool {
    let (skbs, snd) = (&cpu.k.skbs, &sock.snd);
    let Some(clone) = skbs.clone(cpu, skb).await else {
        return false;
    };
    let truesize = payload(cpu, skb) + TRUESIZE;
    let mut frame = skbs.frame(clone);
    frame.number = snd.number.get();
    snd.number.set(frame.number + 1);
    if let L4::Tcp(tcp) = &mut frame.l4 {
        fill(sock, tcp);
        snd.nxt.set(tcp.seq + u64::from(tcp.len));
        if snd.written.get() - tcp.seq > CACHED {
            let meta = skbs.meta(clone);
            skbs.set_meta(
                clone,
                Meta {
                    cached_on: None,
                    ..meta
                },
            );
        }
    }
    skbs.set_frame(clone, frame);
    snd.sent.set(snd.sent.get() + 1);
    cpu.spend(Cost::TcpTransmit);
    cpu.touch([
        sock.lines(line::SEQ | line::MISC, line::SEQ | line::MISC),
        skbs.struct_lines(clone, 0, skb_line::L1 | skb_line::L2),
        skbs.head_lines(clone, 0, skb_line::HEADERS),
    ])
    .await;
    // skb_set_owner_w.
    snd.wmem.set(snd.wmem.get() + truesize);
    let add = Rmw::Add(u64::from(truesize));
    cpu.rmw(sock.wmem_word, add, Order::Relaxed).await;
    skbs.set_owner(clone, Some((sock.index, truesize)));
    ip_queue_xmit(cpu, sock, clone).await;
    true
}

/// Acknowledgement and window of what leaves now.
fn fill(sock: &Sock, tcp: &mut TcpHeader) {
    let rcv = &sock.rcv;
    let unread = rcv.nxt.get() - rcv.copied.get();
    // A window is never taken back.
    let promised = (rcv.wup.get() + u64::from(rcv.wnd.get())).saturating_sub(rcv.nxt.get());
    let room = u64::from(sock.window).saturating_sub(unread);
    let window = room.max(promised).min(u64::from(sock.window)) as u32;
    rcv.wup.set(rcv.nxt.get());
    rcv.wnd.set(window);
    rcv.pushed.set(false);
    rcv.delack.set(None);
    tcp.ack = rcv.nxt.get();
    tcp.window = window;
}

/// `ip_queue_xmit` and the neighbour: headers, then the device.
async fn ip_queue_xmit(cpu: Cpu<'_>, sock: &Sock, skb: Skb) {
    let (k, skbs) = (cpu.k, &cpu.k.skbs);
    cpu.spend(Cost::IpQueueXmit);
    cpu.spend(Cost::IpFinishOutput2);
    vlan::hard_header(cpu, sock.dev, skb);
    cpu.touch([skbs.head_lines(skb, 0, skb_line::HEADERS)])
        .await;
    skbs.set_born(skb, cpu.now());
    let len = skbs.len(skb);
    let flow = k.flow(sock.flow);
    k.bump(&flow.offered, 1);
    let rc = dev_queue_xmit(cpu, sock.dev, 0, skb).await;
    k.note_result(sock.flow, rc, len);
}

/// `tcp_send_ack`.
pub(super) async fn tcp_send_ack(cpu: Cpu<'_>, sock: &Sock) {
    let _span = cpu.enter(Func::TcpSendAck);
    let mut tcp = TcpHeader {
        conn: sock.conn,
        seq: sock.snd.nxt.get(),
        ..TcpHeader::default()
    };
    fill(sock, &mut tcp);
    let frame = Frame {
        flow: sock.flow,
        number: sock.snd.number.get(),
        len: ETH_HLEN + IP_TCP_HEADER,
        port: u32::from(sock.conn),
        segs: 1,
        l4: L4::Tcp(tcp),
        ..Frame::default()
    };
    let Some(skb) = cpu.k.skbs.alloc_frame(cpu, frame).await else {
        return;
    };
    sock.snd.number.set(frame.number + 1);
    cpu.spend(Cost::TcpTransmitAck);
    cpu.touch([
        sock.lines(line::SEQ | line::MISC, line::SEQ | line::MISC),
        cpu.k.skbs.head_lines(skb, 0, skb_line::HEADERS),
    ])
    .await;
    ip_queue_xmit(cpu, sock, skb).await;
}

/// `tcp_wfree`, the destructor of what TCP sent.
pub(crate) async fn tcp_wfree(cpu: Cpu<'_>, sock: u16, truesize: u32) {
    let sock = &cpu.k.socks[usize::from(sock)];
    let snd = &sock.snd;
    cpu.spend(Cost::TcpWfree);
    let less = Rmw::Add(u64::from(truesize).wrapping_neg());
    cpu.rmw(sock.wmem_word, less, Order::Relaxed).await;
    snd.wmem.set(snd.wmem.get() - truesize);
    if snd.throttled.get() && !snd.queued.get() {
        snd.throttled.set(false);
        snd.queued.set(true);
        cpu.k.softnet(cpu.id()).tsq.borrow_mut().push(sock.index);
        raise_softirq(cpu, TASKLET);
    }
}

/// `tcp_tasklet_func`: sockets whose packets have left go on sending.
pub(crate) async fn tcp_tasklet(cpu: Cpu<'_>) {
    let _span = cpu.enter(Func::TcpTasklet);
    let list = std::mem::take(&mut *cpu.k.softnet(cpu.id()).tsq.borrow_mut());
    for index in list {
        let sock = &cpu.k.socks[usize::from(index)];
        cpu.spend(Cost::TcpTasklet);
        sock.lock.lock(cpu).await;
        sock.snd.queued.set(false);
        if sock.owned.get() {
            sock.snd.deferred.set(true);
        } else {
            tcp_write_xmit(cpu, sock, Push::All).await;
        }
        sock.lock.unlock(cpu).await;
    }
}
