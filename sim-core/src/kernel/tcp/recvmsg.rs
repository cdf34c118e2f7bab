//! `tcp_recvmsg`: from the receive queue to a buffer of the user.

use super::output::tcp_send_ack;
use super::sendmsg::payload;
use super::{Sock, line};
use crate::kernel::skb::line as skb_line;
use crate::kernel::{Cost, Cpu, Func};

/// `tcp_recvmsg` into a buffer of `size` bytes, by task `task`: returns once something was read and
/// nothing more is there.
pub(crate) async fn tcp_recvmsg(cpu: Cpu<'_>, sock: &Sock, size: u32, task: u32) {
    cpu.spend(Cost::SysRecv);
    let _span = cpu.enter(Func::TcpRecvmsg);
    cpu.spend(Cost::TcpRecvmsg);
    sock.lock_sock(cpu).await;
    let rcv = &sock.rcv;
    let mut copied = 0;
    while copied < size {
        cpu.touch([sock.lines(line::RCV, 0)]).await;
        let first = rcv.queue.borrow().front().copied();
        let Some(skb) = first else {
            if !sock.backlog.borrow().is_empty() {
                cleanup_rbuf(cpu, sock, copied).await;
                sock.release_sock(cpu).await;
                sock.lock_sock(cpu).await;
            } else if copied > 0 {
                break;
            } else {
                cleanup_rbuf(cpu, sock, copied).await;
                sock.wait(cpu, task).await;
            }
            continue;
        };
        let skbs = &cpu.k.skbs;
        let left = payload(cpu, skb) - rcv.offset.get();
        let copy = left.min(size - copied);
        cpu.spend(Cost::TcpRecvSkb);
        cpu.touch([
            skbs.struct_lines(skb, skb_line::L0 | skb_line::L1 | skb_line::L3, 0),
            skbs.head_lines(skb, skb_line::HEADERS | skb_line::SHINFO, 0),
        ])
        .await;
        for _ in 0..copy.div_ceil(sock.mss) {
            cpu.spend(Cost::CopyFrag);
        }
        cpu.copy_cold(copy);
        cpu.settle().await;
        copied += copy;
        rcv.copied.set(rcv.copied.get() + u64::from(copy));
        sock.bytes_read.set(sock.bytes_read.get() + u64::from(copy));
        if copy < left {
            rcv.offset.set(rcv.offset.get() + copy);
        } else {
            rcv.offset.set(0);
            rcv.queue.borrow_mut().pop_front();
            cpu.touch([sock.lines(0, line::RCV)]).await;
            skbs.put(cpu, skb).await;
        }
    }
    cleanup_rbuf(cpu, sock, copied).await;
    sock.release_sock(cpu).await;
}

/// `tcp_cleanup_rbuf`: an ACK that reading made due: two segments wait for theirs, something that ended
/// with PSH was read, or the window can open to twice what the sender knows.
async fn cleanup_rbuf(cpu: Cpu<'_>, sock: &Sock, copied: u32) {
    let rcv = &sock.rcv;
    let waiting = rcv.nxt.get() - rcv.wup.get();
    let unread = rcv.nxt.get() - rcv.copied.get();
    let known = (rcv.wup.get() + u64::from(rcv.wnd.get())).saturating_sub(rcv.nxt.get());
    let room = u64::from(sock.window).saturating_sub(unread);
    let pushed = copied > 0 && rcv.pushed.get() && rcv.queue.borrow().is_empty();
    let opens = copied > 0 && room >= 2 * known && 2 * known <= u64::from(sock.window);
    if waiting > u64::from(sock.mss) || waiting > 0 && pushed || opens {
        tcp_send_ack(cpu, sock).await;
    }
}
