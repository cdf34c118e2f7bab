//! `tcp_v4_rcv` and below: segments and ACKs.

use super::output::{Push, tcp_send_ack, tcp_write_xmit};
use super::sendmsg::payload;
use super::{DELACK, Sock, TRUESIZE, line};
use crate::frame::{L4, TcpHeader};
use crate::kernel::skb::{Skb, line as skb_line};
use crate::kernel::{Cost, Cpu, Func, Reason};
use crate::violation::{Law, Violation};

/// `tcp_v4_rcv`: to the socket, or to its backlog while its owner has it.
pub(crate) async fn tcp_v4_rcv(cpu: Cpu<'_>, skb: Skb) {
    let _span = cpu.enter(Func::TcpV4Rcv);
    cpu.spend(Cost::TcpV4Rcv);
    let k = cpu.k;
    let L4::Tcp(tcp) = k.skbs.frame(skb).l4 else {
        return k.skbs.put(cpu, skb).await;
    };
    if k.skbs.frame(skb).corrupt {
        return k.drop_skb(cpu, skb, Reason::TcpCsum).await;
    }
    let Some(sock) = k.socks.iter().find(|s| s.conn == tcp.conn) else {
        return k.skbs.put(cpu, skb).await;
    };
    sock.lock.lock(cpu).await;
    if sock.owned.get() {
        cpu.touch([k.skbs.struct_lines(skb, 0, skb_line::L0)]).await;
        sock.backlog.borrow_mut().push_back(skb);
    } else {
        tcp_v4_do_rcv(cpu, sock, skb).await;
    }
    sock.lock.unlock(cpu).await;
}

/// `tcp_rcv_established`.
pub(super) async fn tcp_v4_do_rcv(cpu: Cpu<'_>, sock: &Sock, skb: Skb) {
    let skbs = &cpu.k.skbs;
    cpu.touch([
        skbs.struct_lines(skb, skb_line::L1 | skb_line::L2 | skb_line::L3, 0),
        skbs.head_lines(skb, skb_line::HEADERS, 0),
        sock.lines(line::SEQ, line::SEQ),
    ])
    .await;
    let L4::Tcp(tcp) = skbs.frame(skb).l4 else {
        unreachable!("tcp_v4_rcv takes TCP only")
    };
    if tcp.len == 0 {
        cpu.spend(Cost::TcpRcvAck);
        tcp_ack(cpu, sock, tcp).await;
        skbs.put(cpu, skb).await;
        tcp_write_xmit(cpu, sock, Push::All).await;
        return check_space(cpu, sock).await;
    }
    let rcv = &sock.rcv;
    if tcp.seq != rcv.nxt.get() {
        lost(cpu, sock, skb, tcp);
        return skbs.put(cpu, skb).await;
    }
    cpu.spend(Cost::TcpRcvData);
    rcv.nxt.set(tcp.seq + u64::from(tcp.len));
    rcv.pushed.set(rcv.pushed.get() || tcp.push);
    cpu.touch([
        sock.lines(line::RCV, line::RCV | line::SEQ | line::MISC),
        skbs.struct_lines(skb, 0, skb_line::L0),
    ])
    .await;
    rcv.queue.borrow_mut().push_back(skb);
    // __tcp_ack_snd_check: more than one segment, and the window has not shrunk.
    let unread = rcv.nxt.get() - rcv.copied.get();
    let open = u64::from(sock.window) >= unread + u64::from(sock.window / 2);
    if rcv.quick.get() > 0 || rcv.nxt.get() - rcv.wup.get() > u64::from(sock.mss) && open {
        rcv.quick.set(rcv.quick.get().saturating_sub(1));
        tcp_send_ack(cpu, sock).await;
    } else if rcv.delack.get().is_none() {
        send_delayed_ack(cpu, sock);
    }
    sock.wake(cpu).await;
}

/// `tcp_send_delayed_ack`: the timer, unless it runs already; one that finds nothing due does nothing.
fn send_delayed_ack(cpu: Cpu<'_>, sock: &Sock) {
    let due = cpu.now() + DELACK;
    sock.rcv.delack.set(Some(due));
    if !sock.rcv.timer.replace(true) {
        let id = cpu.k.timers.get() + u32::from(sock.index);
        sock.timer_cpu.set(cpu.id());
        cpu.machine().push_device(due, id);
    }
}

/// `run_timer_softirq`: delayed ACKs that are due (`tcp_delack_timer`).
pub(crate) async fn run_timers(cpu: Cpu<'_>) {
    for sock in &cpu.k.socks {
        if !sock.rcv.timer.get() || sock.timer_cpu.get() != cpu.id() {
            continue;
        }
        let Some(due) = sock.rcv.delack.get() else {
            sock.rcv.timer.set(false);
            continue;
        };
        let id = cpu.k.timers.get() + u32::from(sock.index);
        if due > cpu.now() {
            cpu.machine().push_device(due, id);
            continue;
        }
        sock.rcv.timer.set(false);
        sock.lock.lock(cpu).await;
        // Owned: the owner's ACK comes with its reading.
        if !sock.owned.get() && sock.rcv.delack.get().is_some() {
            tcp_send_ack(cpu, sock).await;
        }
        sock.lock.unlock(cpu).await;
    }
}

/// `tcp_ack`: what was acknowledged leaves the write queue.
async fn tcp_ack(cpu: Cpu<'_>, sock: &Sock, tcp: TcpHeader) {
    let _span = cpu.enter(Func::TcpAck);
    let (snd, skbs) = (&sock.snd, &cpu.k.skbs);
    cpu.spend(Cost::TcpAck);
    snd.wnd.set(tcp.window);
    snd.max_wnd.set(snd.max_wnd.get().max(tcp.window));
    snd.una.set(snd.una.get().max(tcp.ack));
    cpu.touch([sock.lines(line::MISC, line::SEQ | line::WRITE | line::MISC)])
        .await;
    loop {
        let front = snd.queue.borrow().front().copied();
        let Some(skb) = front.filter(|_| snd.sent.get() > 0) else {
            return;
        };
        let L4::Tcp(sent) = skbs.frame(skb).l4 else {
            unreachable!("the write queue holds TCP")
        };
        if sent.seq + u64::from(sent.len) > snd.una.get() {
            return;
        }
        snd.queue.borrow_mut().pop_front();
        snd.sent.set(snd.sent.get() - 1);
        let truesize = payload(cpu, skb) + TRUESIZE;
        snd.wmem_queued.set(snd.wmem_queued.get() - truesize);
        skbs.put(cpu, skb).await;
    }
}

/// `tcp_check_space`: the writer goes on once a third of the buffer is free.
async fn check_space(cpu: Cpu<'_>, sock: &Sock) {
    let snd = &sock.snd;
    let queued = snd.wmem_queued.get();
    if snd.nospace.get() && sock.sndbuf.saturating_sub(queued) >= queued / 2 {
        snd.nospace.set(false);
        sock.wake(cpu).await;
    }
}

/// A segment is missing, and nobody would send it again.
fn lost(cpu: Cpu<'_>, sock: &Sock, skb: Skb, tcp: TcpHeader) {
    cpu.k.violations.borrow_mut().push(Violation {
        law: Law::PacketLost,
        time: cpu.now().ps(),
        cpu: Some(cpu.machine().first_cpu() + cpu.id()),
        function: Func::TcpV4Rcv.name(),
        what: format!(
            "connection {}: bytes from {} arrive where {} was expected, and TCP here sends nothing again",
            sock.conn,
            tcp.seq,
            sock.rcv.nxt.get()
        ),
        skb: Some(cpu.k.skbs.id(skb)),
        freed_by_next: None,
    });
}
