//! TCP endpoints at the level of skbs.
//!
//! Follows Linux 3.7 `net/ipv4/{tcp,tcp_input,tcp_output}.c` and `net/core/sock.c`. Modelled: send and
//! receive buffers, size goal, Nagle, splitting, TSQ, a clone for each transmission, windows, an ACK for
//! more than one segment, the socket's lock and backlog, sleeping and waking of both owners.
//! Approximated: connections are established from the start and the congestion window is large, as the
//! links lose nothing. Absent: retransmission (a lost segment is a violation), prequeue, options beside
//! timestamps, an adaptive `ato` of delayed ACKs.

mod input;
mod output;
mod recvmsg;
mod sendmsg;

pub(crate) use input::run_timers;
pub(crate) use input::tcp_v4_rcv;
pub(crate) use output::{tcp_tasklet, tcp_wfree};
pub(crate) use recvmsg::tcp_recvmsg;
pub(crate) use sendmsg::tcp_sendmsg;

use super::locking::QSpinLock;
use super::skb::Skb;
use super::softirq::{local_bh_disable, local_bh_enable};
use super::wait::WaitQueue;
use super::{Cost, Cpu};
use crate::engine::time::{Instant, Span};
use crate::machine::Footprint;
use crate::machine::memory::{LineId, Placement, Word};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// IPv4 header, TCP header and timestamps.
pub const IP_TCP_HEADER: u32 = 52;
/// Bytes of truesize beside the payload: `sk_buff`, `skb_shared_info` and `MAX_TCP_HEADER` of 3.7.
pub const TRUESIZE: u32 = 960;
/// `gso_max_size`.
const GSO_MAX_SIZE: u32 = 65_536;
/// `MAX_TCP_HEADER` of 3.7 with room for a link header.
const MAX_TCP_HEADER: u32 = 320;
/// Size of the page fragments of a task (`sk_page_frag`, order 3; 3.7).
pub const PAGE_FRAG: u32 = 32_768;

/// `TCP_MAX_QUICKACKS`.
const MAX_QUICKACKS: u8 = 16;
/// `TCP_DELACK_MIN` at HZ = 250 to 1000.
const DELACK: Span = Span::from_ns(40_000_000);

/// Lines of a socket, as bits.
mod line {
    /// Receive queue and what `tcp_recvmsg` looks at.
    pub const RCV: u16 = 1;
    /// Sequence numbers and windows.
    pub const SEQ: u16 = 2;
    /// Write queue.
    pub const WRITE: u16 = 4;
    /// Timers, statistics, options.
    pub const MISC: u16 = 8;
}

/// What the receiving end of a connection keeps.
#[derive(Debug, Default)]
pub(crate) struct Rcv {
    queue: RefCell<VecDeque<Skb>>,
    /// Next byte expected, first byte not read, and `rcv_nxt` of the last ACK.
    nxt: Cell<u64>,
    copied: Cell<u64>,
    wup: Cell<u64>,
    /// Bytes of the first skb of the queue that were read.
    offset: Cell<u32>,
    /// Window of the last ACK.
    wnd: Cell<u32>,
    /// `icsk_ack.quick`: ACKs that are sent at once at the start.
    quick: Cell<u8>,
    /// When the delayed ACK is due, and whether its timer's event is under way.
    delack: Cell<Option<Instant>>,
    timer: Cell<bool>,
    /// `ICSK_ACK_PUSHED`: something that ended with PSH waits for its ACK.
    pushed: Cell<bool>,
}

/// What the sending end keeps: acknowledged <= sent <= written.
#[derive(Debug, Default)]
pub(crate) struct Snd {
    /// Sent and not acknowledged, then not sent.
    queue: RefCell<VecDeque<Skb>>,
    /// How many of them were sent (`sk_send_head` is the next).
    sent: Cell<usize>,
    una: Cell<u64>,
    nxt: Cell<u64>,
    written: Cell<u64>,
    pushed: Cell<u64>,
    /// `snd_wnd`, and the largest seen.
    wnd: Cell<u32>,
    max_wnd: Cell<u32>,
    /// Truesize of the queue.
    wmem_queued: Cell<u32>,
    /// `SOCK_NOSPACE`.
    nospace: Cell<bool>,
    /// Truesize below TCP (`sk_wmem_alloc`).
    wmem: Cell<u32>,
    throttled: Cell<bool>,
    /// On a CPU's tasklet list.
    queued: Cell<bool>,
    /// `TCP_TSQ_DEFERRED`: the tasklet found the socket owned.
    deferred: Cell<bool>,
    /// Number of the next skb that is sent, in program order.
    number: Cell<u64>,
}

/// A connected socket.
#[derive(Debug)]
pub struct Sock {
    /// Number of the connection, the same at both ends.
    pub(crate) conn: u16,
    /// Its index in the kernel.
    pub(crate) index: u16,
    /// Device that the route leads to.
    pub(crate) dev: usize,
    /// Its flow.
    pub(crate) flow: u32,
    /// `sk_sndbuf`.
    pub(crate) sndbuf: u32,
    /// `tcp_limit_output_bytes`.
    pub(crate) limit_output: u32,
    /// Largest window it advertises.
    pub(crate) window: u32,
    /// Payload of a segment.
    pub(crate) mss: u32,
    lock: QSpinLock,
    lines: LineId,
    wmem_word: Word,
    owned: Cell<bool>,
    backlog: RefCell<VecDeque<Skb>>,
    pub(crate) snd: Snd,
    pub(crate) rcv: Rcv,
    /// CPU on which its timer runs.
    pub(crate) timer_cpu: Cell<u16>,
    wait: WaitQueue,
    /// Payload bytes that its owner read.
    pub(crate) bytes_read: Cell<u64>,
}

/// What a socket is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    pub conn: u16,
    pub dev: usize,
    pub flow: u32,
    pub sndbuf: u32,
    pub limit_output: u32,
    pub window: u32,
    pub mss: u32,
    /// Window of the other end.
    pub peer_window: u32,
}

impl Sock {
    pub(crate) fn place(
        memory: &mut Placement,
        locks: &mut Vec<String>,
        index: u16,
        spec: Spec,
    ) -> Sock {
        let name = format!("sock {}", spec.conn);
        locks.push(format!("{name} slock"));
        let sock = Sock {
            conn: spec.conn,
            index,
            dev: spec.dev,
            flow: spec.flow,
            sndbuf: spec.sndbuf,
            limit_output: spec.limit_output,
            window: spec.window,
            mss: spec.mss,
            lock: QSpinLock::new(
                memory.lone_word(format_args!("{name} slock"), 0),
                locks.len() as u32 - 1,
            ),
            lines: memory.lines(&name, 4),
            wmem_word: memory.lone_word(format_args!("{name} sk_wmem_alloc"), 0),
            owned: Cell::new(false),
            backlog: RefCell::default(),
            snd: Snd::default(),
            rcv: Rcv::default(),
            timer_cpu: Cell::new(0),
            wait: WaitQueue::default(),
            bytes_read: Cell::new(0),
        };
        sock.snd.wnd.set(spec.peer_window);
        sock.snd.max_wnd.set(spec.peer_window);
        sock.rcv.wnd.set(spec.window);
        sock.rcv.quick.set(MAX_QUICKACKS);
        sock
    }

    /// Its lock.
    pub fn slock(&self) -> &QSpinLock {
        &self.lock
    }

    /// skbs on its queues.
    pub fn skbs(&self) -> usize {
        self.backlog.borrow().len() + self.snd.queue.borrow().len() + self.rcv.queue.borrow().len()
    }

    /// Bytes written, acknowledged, received in order and read.
    pub fn counts(&self) -> [u64; 4] {
        [
            self.snd.written.get(),
            self.snd.una.get(),
            self.rcv.nxt.get(),
            self.bytes_read.get(),
        ]
    }

    fn lines(&self, reads: u16, writes: u16) -> Footprint {
        Footprint {
            base: self.lines,
            reads,
            writes,
        }
    }

    /// `lock_sock`: the owner's lock. One task owns a socket here, so it never waits for another.
    pub(crate) async fn lock_sock(&self, cpu: Cpu<'_>) {
        cpu.spend(Cost::LockSock);
        local_bh_disable(cpu);
        self.lock.lock(cpu).await;
        self.owned.set(true);
        self.lock.unlock(cpu).await;
        local_bh_enable(cpu).await;
    }

    /// `release_sock`: what came meanwhile is worked off first.
    pub(crate) async fn release_sock(&self, cpu: Cpu<'_>) {
        cpu.spend(Cost::ReleaseSock);
        local_bh_disable(cpu);
        self.lock.lock(cpu).await;
        while !self.backlog.borrow().is_empty() {
            let list = std::mem::take(&mut *self.backlog.borrow_mut());
            self.lock.unlock(cpu).await;
            local_bh_enable(cpu).await;
            for skb in list {
                cpu.spend(Cost::ReleaseBacklog);
                // The softirq may have run on another CPU: these lines come from there.
                input::tcp_v4_do_rcv(cpu, self, skb).await;
            }
            local_bh_disable(cpu);
            self.lock.lock(cpu).await;
        }
        if self.snd.deferred.replace(false) {
            output::tcp_write_xmit(cpu, self, output::Push::All).await;
        }
        self.owned.set(false);
        self.lock.unlock(cpu).await;
        local_bh_enable(cpu).await;
    }

    /// Sleeps until [`wake`](Sock::wake); the caller owns the socket, which is released meanwhile.
    async fn wait(&self, cpu: Cpu<'_>, task: u32) {
        self.wait.prepare(task);
        self.release_sock(cpu).await;
        self.wait.schedule(cpu).await;
        self.lock_sock(cpu).await;
    }

    /// `sk_data_ready`, `sk_write_space`.
    async fn wake(&self, cpu: Cpu<'_>) {
        cpu.spend(Cost::SockReadable);
        self.wait.wake(cpu).await;
    }
}
