//! UDP sockets at the level of datagrams: sending with a send buffer, receiving into a queue with a reader.
//!
//! Follows Linux 6.1 `net/ipv4/udp.c` and `net/core/{sock,datagram}.c`. Modelled: `sk_wmem_alloc` and
//! `sk_rmem_alloc` as the atomics they are, the receive queue's lock, the reader's own queue and the batched
//! return of memory, `busylock` above half of the buffer, waking and sleeping. Costs are those of a traced
//! send and receive over veth. Absent: fragmentation, GRO of UDP, memory accounting beyond the socket.

use super::backlog::NET_RX_SUCCESS;
use super::core::dev_xmit::{dev_queue_xmit, netdev_pick_tx};
use super::locking::QSpinLock;
use super::skb::{Skb, line};
use super::softirq::{local_bh_disable, local_bh_enable};
use super::wait::WaitQueue;
use super::{Cost, Cpu, Func, Reason};
use crate::frame::{ETH_HLEN, Frame};
use crate::machine::memory::{LineId, Placement, Word};
use crate::machine::{Footprint, Order, Rmw};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// In the number of an skb's owner: it is a UDP sender, not a TCP socket.
pub(crate) const OWNER: u16 = 0x8000;
/// IPv4 and UDP headers.
pub const IP_UDP_HEADER: u32 = 28;
/// `sizeof(struct sk_buff)` and the slab's rounding.
const STRUCT: u32 = 256;
/// `SKB_DATA_ALIGN(sizeof(struct skb_shared_info))`.
const SHINFO: u32 = 320;

/// `skb->truesize` of a datagram whose frame has `len` bytes: its struct and its `kmalloc`ed head.
pub fn truesize(len: u32) -> u32 {
    STRUCT + (len + SHINFO).next_power_of_two()
}

/// What became of all datagrams of a host. `sent` = what its sockets and those of others got, and the rest.
#[derive(Debug, Default)]
pub struct UdpTotals {
    /// Datagrams made.
    pub sent: Cell<u64>,
    /// Datagrams that reached a receive queue.
    pub received: Cell<u64>,
    /// Datagrams dropped somewhere in the stack, each with its reason.
    pub dropped: Cell<u64>,
    /// Datagrams that found a NIC's receive ring full, or no memory.
    pub missed: Cell<u64>,
    /// Datagrams that left for where nothing is modelled: a dummy, a port without a cable.
    pub left: Cell<u64>,
}

/// The sending side of a socket.
#[derive(Debug)]
pub struct UdpSender {
    index: u16,
    sndbuf: u32,
    wmem: Word,
    wait: WaitQueue,
}

impl UdpSender {
    pub(crate) fn place(memory: &mut Placement, index: usize, sndbuf: u32) -> UdpSender {
        UdpSender {
            index: index as u16,
            sndbuf,
            wmem: memory.lone_word(format_args!("udp sock {index} sk_wmem_alloc"), 0),
            wait: WaitQueue::default(),
        }
    }

    /// Whether its task waits for room although nobody is left who would make some.
    pub fn waits(&self) -> bool {
        self.wait.is_waited_on()
    }
}

/// A bound socket and what its reader keeps.
#[derive(Debug)]
pub struct UdpSock {
    /// Device that its address belongs to.
    pub dev: usize,
    /// Its port.
    pub port: u16,
    rcvbuf: u32,
    line: LineId,
    rmem: Word,
    lock: QSpinLock,
    busylock: QSpinLock,
    reader_lock: QSpinLock,
    queue: RefCell<VecDeque<Skb>>,
    reader: RefCell<VecDeque<Skb>>,
    deficit: Cell<u32>,
    wait: WaitQueue,
    /// Datagrams queued.
    pub received: Cell<u64>,
    /// `RcvbufErrors`.
    pub rcvbuf_errors: Cell<u64>,
    /// Datagrams that the reader read.
    pub read: Cell<u64>,
    /// Their payload bytes.
    pub bytes: Cell<u64>,
}

impl UdpSock {
    pub(crate) fn place(
        memory: &mut Placement,
        locks: &mut Vec<String>,
        dev: usize,
        port: u16,
        rcvbuf: u32,
    ) -> UdpSock {
        let name = format!("udp sock :{port}");
        let line = memory.lines(format_args!("{name} sk_receive_queue"), 1);
        let queue_lock = memory.word(line, 20, format_args!("{name} sk_receive_queue.lock"), 0);
        let reader = memory.lines(format_args!("{name} reader_queue"), 1);
        let reader_lock = memory.word(reader, 20, format_args!("{name} reader_queue.lock"), 0);
        let mut lock = |word: Word, what: &str| {
            locks.push(format!("{name} {what}"));
            QSpinLock::new(word, locks.len() as u32 - 1)
        };
        UdpSock {
            dev,
            port,
            rcvbuf,
            line,
            lock: lock(queue_lock, "sk_receive_queue"),
            reader_lock: lock(reader_lock, "reader_queue"),
            rmem: memory.lone_word(format_args!("{name} sk_rmem_alloc"), 0),
            busylock: lock(
                memory.lone_word(format_args!("{name} busylock"), 0),
                "busylock",
            ),
            queue: RefCell::default(),
            reader: RefCell::default(),
            deficit: Cell::new(0),
            wait: WaitQueue::default(),
            received: Cell::new(0),
            rcvbuf_errors: Cell::new(0),
            read: Cell::new(0),
            bytes: Cell::new(0),
        }
    }

    /// Datagrams that were not read yet.
    pub fn peek_all(&self) -> Vec<Skb> {
        let (reader, queue) = (self.reader.borrow(), self.queue.borrow());
        reader.iter().chain(queue.iter()).copied().collect()
    }

    /// Its locks.
    pub fn locks(&self) -> [&QSpinLock; 3] {
        [&self.lock, &self.busylock, &self.reader_lock]
    }

    async fn touch(&self, cpu: Cpu<'_>) {
        cpu.touch([Footprint {
            base: self.line,
            reads: 1,
            writes: 1,
        }])
        .await;
    }
}

/// `sendto` of one datagram by task `task`, waiting for the send buffer: what `dev_queue_xmit` said, or `None`
/// if no skb could be had.
pub(crate) async fn udp_sendmsg(
    cpu: Cpu<'_>,
    sock: &UdpSender,
    dev: usize,
    frame: Frame,
    connected: bool,
    task: u32,
) -> Option<i32> {
    let _span = cpu.enter(Func::UdpSendmsg);
    cpu.spend(Cost::UdpSendmsg);
    if !connected {
        cpu.spend(Cost::UdpRoute);
    }
    sock_wait_for_wmem(cpu, sock, task).await;
    let (k, size) = (cpu.k, truesize(frame.len));
    let skb = k.skbs.alloc_frame(cpu, frame).await?;
    k.bump(&k.udp.sent, 1);
    // skb_set_owner_w
    cpu.rmw(sock.wmem, Rmw::Add(u64::from(size)), Order::Relaxed)
        .await;
    k.skbs.set_owner(skb, Some((OWNER | sock.index, size)));
    cpu.copy(frame.len.saturating_sub(ETH_HLEN + IP_UDP_HEADER));
    let all = line::L0 | line::L1 | line::L2 | line::L3;
    cpu.touch([
        k.skbs.struct_lines(skb, 0, all),
        k.skbs.head_lines(skb, 0, line::HEADERS),
    ])
    .await;
    k.skbs.set_born(skb, cpu.now());
    let queue = netdev_pick_tx(cpu, dev, skb).await;
    Some(dev_queue_xmit(cpu, dev, queue, skb).await)
}

/// `sock_alloc_send_pskb`: waits while the buffer is full.
async fn sock_wait_for_wmem(cpu: Cpu<'_>, sock: &UdpSender, task: u32) {
    while cpu.load(sock.wmem).await >= u64::from(sock.sndbuf) {
        sock.wait.prepare(task);
        if cpu.load(sock.wmem).await < u64::from(sock.sndbuf) {
            sock.wait.cancel();
            break;
        }
        sock.wait.schedule(cpu).await;
    }
}

/// `sock_wfree`: the datagram is gone; a sender that waits goes on once half of the buffer is free.
pub(crate) async fn sock_wfree(cpu: Cpu<'_>, owner: u16, size: u32) {
    let sock = &cpu.k.udp_senders[usize::from(owner & !OWNER)];
    cpu.spend(Cost::UdpWfree);
    let less = Rmw::Add(u64::from(size).wrapping_neg());
    let left = cpu.rmw(sock.wmem, less, Order::Full).await - u64::from(size);
    if left < u64::from(sock.sndbuf / 2) {
        sock.wait.wake(cpu).await;
    }
}

/// `udp_rcv` of what `dev` received: to the socket, if there is one.
pub(crate) async fn udp_rcv(cpu: Cpu<'_>, dev: usize, skb: Skb) {
    let _span = cpu.enter(Func::UdpRcv);
    cpu.spend(Cost::UdpRcv);
    let (k, frame) = (cpu.k, cpu.k.skbs.frame(skb));
    cpu.touch([
        k.skbs
            .struct_lines(skb, line::L1 | line::L2 | line::L3, line::L1 | line::L3),
        k.skbs.head_lines(skb, line::HEADERS, 0),
    ])
    .await;
    let bound = |s: &&UdpSock| s.dev == dev && s.port == frame.dport;
    let Some(sock) = k.udp_socks.iter().find(bound) else {
        return k.drop_skb(cpu, skb, Reason::NoSocket).await;
    };
    if frame.corrupt {
        return k.drop_skb(cpu, skb, Reason::UdpCsum).await;
    }
    if enqueue_schedule_skb(cpu, sock, skb, truesize(frame.len)).await == NET_RX_SUCCESS {
        k.bump(&sock.received, 1);
        k.bump(&k.udp.received, 1);
        return;
    }
    k.bump(&sock.rcvbuf_errors, 1);
    k.drop_skb(cpu, skb, Reason::SocketRcvbuff).await;
}

/// `__udp_enqueue_schedule_skb`.
async fn enqueue_schedule_skb(cpu: Cpu<'_>, sock: &UdpSock, skb: Skb, size: u32) -> i32 {
    cpu.spend(Cost::UdpEnqueue);
    let (rcvbuf, added) = (u64::from(sock.rcvbuf), u64::from(size));
    let rmem = cpu.load(sock.rmem).await;
    if rmem > rcvbuf {
        return super::backlog::NET_RX_DROP;
    }
    // Under memory pressure producers meet here and not at the queue's lock.
    let busy = rmem > rcvbuf / 2;
    if busy {
        sock.busylock.lock(cpu).await;
    }
    let old = cpu.rmw(sock.rmem, Rmw::Add(added), Order::Full).await;
    let fits = old <= rcvbuf;
    if fits {
        sock.lock.lock(cpu).await;
        sock.touch(cpu).await;
        cpu.touch([cpu.k.skbs.struct_lines(skb, 0, line::L0)]).await;
        sock.queue.borrow_mut().push_back(skb);
        sock.lock.unlock(cpu).await;
        // sock_def_readable
        if sock.wait.is_waited_on() {
            cpu.spend(Cost::SockReadable);
            sock.wait.wake(cpu).await;
        } else {
            cpu.spend(Cost::SockReadableNobody);
        }
    } else {
        let less = Rmw::Add(added.wrapping_neg());
        cpu.rmw(sock.rmem, less, Order::Relaxed).await;
    }
    if busy {
        sock.busylock.unlock(cpu).await;
    }
    if fits {
        NET_RX_SUCCESS
    } else {
        super::backlog::NET_RX_DROP
    }
}

/// `recvfrom` of one datagram by task `task`, which sleeps until there is one.
pub(crate) async fn udp_recvmsg(cpu: Cpu<'_>, sock: &UdpSock, task: u32) {
    cpu.spend(Cost::SysRecv);
    let _span = cpu.enter(Func::UdpRecvmsg);
    cpu.spend(Cost::UdpRecvmsg);
    let skb = loop {
        if let Some(skb) = try_recv(cpu, sock).await {
            break skb;
        }
        sock.wait.prepare(task);
        if sock.queue.borrow().is_empty() {
            sock.wait.schedule(cpu).await;
        } else {
            sock.wait.cancel();
        }
    };
    let skbs = &cpu.k.skbs;
    let payload = skbs.len(skb).saturating_sub(ETH_HLEN + IP_UDP_HEADER);
    cpu.touch([skbs.head_lines(skb, line::HEADERS, 0)]).await;
    cpu.copy_cold(payload);
    cpu.settle().await;
    cpu.k.bump(&sock.read, 1);
    cpu.k.bump(&sock.bytes, u64::from(payload));
    skbs.put(cpu, skb).await;
}

/// `__skb_recv_udp` without waiting: the reader's own queue, refilled at once with all that came.
async fn try_recv(cpu: Cpu<'_>, sock: &UdpSock) -> Option<Skb> {
    local_bh_disable(cpu);
    sock.reader_lock.lock(cpu).await;
    let mut first = sock.reader.borrow_mut().pop_front();
    if first.is_none() {
        cpu.touch([Footprint {
            base: sock.line,
            reads: 1,
            writes: 0,
        }])
        .await;
        if !sock.queue.borrow().is_empty() {
            sock.lock.lock(cpu).await;
            splice(cpu, sock).await;
            first = sock.reader.borrow_mut().pop_front();
            if let Some(skb) = first {
                rmem_release(cpu, sock, skb, true).await;
            }
            sock.lock.unlock(cpu).await;
        }
    } else if let Some(skb) = first {
        rmem_release(cpu, sock, skb, false).await;
    }
    sock.reader_lock.unlock(cpu).await;
    local_bh_enable(cpu).await;
    if let Some(skb) = first {
        cpu.touch([cpu.k.skbs.struct_lines(skb, line::L0 | line::L3, line::L0)])
            .await;
    }
    first
}

async fn splice(cpu: Cpu<'_>, sock: &UdpSock) {
    sock.touch(cpu).await;
    sock.reader
        .borrow_mut()
        .append(&mut sock.queue.borrow_mut());
}

/// `udp_rmem_release`: memory is given back once a quarter of the buffer is owed, or nothing else waits.
async fn rmem_release(cpu: Cpu<'_>, sock: &UdpSock, skb: Skb, locked: bool) {
    let owed = sock.deficit.get() + truesize(cpu.k.skbs.len(skb));
    sock.deficit.set(owed);
    if owed < sock.rcvbuf / 4 && !sock.reader.borrow().is_empty() {
        return;
    }
    sock.deficit.set(0);
    if !locked {
        sock.lock.lock(cpu).await;
    }
    let less = Rmw::Add(u64::from(owed).wrapping_neg());
    cpu.rmw(sock.rmem, less, Order::Relaxed).await;
    // Saves taking the lock at the next receive.
    splice(cpu, sock).await;
    if !locked {
        sock.lock.unlock(cpu).await;
    }
}
