//! `AF_PACKET` sockets: sending with and without a ring, past the qdisc or through it.
//!
//! Follows Linux 3.14 and 6.9 `net/packet/af_packet.c`; what differs by version is chosen by
//! [`Direct`] and by the kernel version. Modelled: TX_RING with its frame status, pending count,
//! destructor and compound pages; the charge on `sk_wmem_alloc`. Absent: receive, fanout, virtio
//! headers, time stamps.

mod direct;
mod pages;
mod snd;
mod tpacket;

pub(crate) use direct::packet_direct_xmit;
pub(crate) use pages::Pages;
pub(crate) use snd::packet_snd;
pub(crate) use tpacket::tpacket_snd;

use super::core::dev_xmit::dev_queue_xmit;
use super::netdev::{NET_XMIT_CN, NET_XMIT_SUCCESS};
use super::skb::Skb;
use super::{Cost, Cpu, Func};
use crate::machine::memory::{Placement, Word};
use crate::machine::{Order, Rmw};
use std::cell::Cell;

/// `-EAGAIN`.
pub const EAGAIN: i32 = -11;
/// `-ENOBUFS`.
pub const ENOBUFS: i32 = -105;

/// `net.core.wmem_default`: what a socket may have in flight, in truesize.
const SNDBUF: u64 = 212_992;
/// Truesize of an skb without its payload: struct, shared info and head.
const TRUESIZE: u64 = 768;

/// How `packet_direct_xmit` handles the transmit lock, by version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direct {
    /// v3.14: the transmit lock is taken on every device.
    V3_14,
    /// The thread's patch: `HARD_TX_LOCK`, so LLTX devices are not locked.
    LltxPatch,
    /// And packets dropped because the device is down are counted (v3.15). No device here goes down, so
    /// it does what `LltxPatch` does.
    LltxDropcount,
    /// And BQL's stop bit is ignored (v3.15 as released).
    LltxDrvStopped,
    /// `__dev_direct_xmit` with the whole of `validate_xmit_skb_list`.
    V6_9,
}

impl Direct {
    /// All of them.
    pub const ALL: &'static [Direct] = &[
        Direct::V3_14,
        Direct::LltxPatch,
        Direct::LltxDropcount,
        Direct::LltxDrvStopped,
        Direct::V6_9,
    ];

    /// The name used in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Direct::V3_14 => "v3_14",
            Direct::LltxPatch => "lltx_patch",
            Direct::LltxDropcount => "lltx_dropcount",
            Direct::LltxDrvStopped => "lltx_drv_stopped",
            Direct::V6_9 => "v6_9",
        }
    }

    /// What kernel `version` shipped.
    pub fn shipped(version: (u32, u32)) -> Direct {
        match version {
            v if v < (3, 15) => Direct::V3_14,
            v if v < (4, 20) => Direct::LltxDrvStopped,
            _ => Direct::V6_9,
        }
    }

    /// Only the driver's stop bit keeps a packet back, not BQL's.
    fn ignores_stack_xoff(self) -> bool {
        self >= Direct::LltxDrvStopped
    }
}

/// What to do when the last reference to an skb goes (`skb->destructor`), on whichever CPU that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destructor {
    /// `sock_wfree` of socket number `sock`.
    SockWfree {
        /// Index of the socket.
        sock: u32,
    },
    /// `tpacket_destruct_skb`: frame `frame` of the socket's ring is free again. It holds a page.
    Tpacket {
        /// Index of the socket.
        sock: u32,
        /// Frame of its ring.
        frame: u32,
    },
}

/// The transmit ring of a socket.
#[derive(Debug)]
pub struct Ring {
    /// `tp_status` of frame 0; the others follow.
    status: Word,
    frames: u32,
    head: Cell<u32>,
    /// `pg_vec_lock`'s count.
    mutex: Word,
    pages: Pages,
    /// Number in its flow of the packet in each frame: it stays the same when a frame is sent again.
    numbers: Vec<Cell<u64>>,
}

/// A packet socket.
#[derive(Debug)]
pub struct PacketSock {
    /// Index of the device it is bound to.
    pub dev: usize,
    /// Sending context.
    pub flow: u32,
    /// Its own number.
    number: u32,
    /// `PACKET_QDISC_BYPASS`.
    bypass: bool,
    /// `sk_wmem_alloc`.
    wmem: Word,
    /// Frames on their way (`pending_refcnt`, a count a CPU).
    pending: Cell<u32>,
    ring: Option<Ring>,
    /// Calls that ended with ENOBUFS.
    pub enobufs: Cell<u64>,
}

/// Status of a ring's frame.
pub mod tp_status {
    /// `TP_STATUS_AVAILABLE`: the user may fill it.
    pub const AVAILABLE: u64 = 0;
    /// `TP_STATUS_SEND_REQUEST`: the kernel is to send it.
    pub const SEND_REQUEST: u64 = 1;
    /// `TP_STATUS_SENDING`: it is on its way.
    pub const SENDING: u64 = 2;
}

/// What a socket is opened with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub dev: usize,
    pub flow: u32,
    pub number: u32,
    pub bypass: bool,
    /// Frames of its ring; none is a socket without a ring.
    pub frames: u32,
}

impl PacketSock {
    pub(crate) fn place(memory: &mut Placement, name: &str, open: Open) -> PacketSock {
        let name = format!("packet socket {name}");
        let wmem = memory.lone_word(format_args!("{name} sk_wmem_alloc"), 1);
        let ring = (open.frames > 0).then(|| {
            let mutex = memory.lone_word(format_args!("{name} pg_vec_lock"), 1);
            let status: Vec<Word> = (0..open.frames)
                .map(|f| {
                    memory.lone_word(
                        format_args!("{name} frame {f} tp_status"),
                        tp_status::AVAILABLE,
                    )
                })
                .collect();
            Ring {
                status: status[0],
                frames: open.frames,
                head: Cell::new(0),
                mutex,
                pages: Pages::place(memory, &name, open.frames),
                numbers: (0..open.frames).map(|_| Cell::new(0)).collect(),
            }
        });
        PacketSock {
            dev: open.dev,
            flow: open.flow,
            number: open.number,
            bypass: open.bypass,
            wmem,
            pending: Cell::new(0),
            ring,
            enobufs: Cell::new(0),
        }
    }

    /// Its ring.
    ///
    /// # Panics
    /// If it has none.
    pub fn ring(&self) -> &Ring {
        self.ring.as_ref().expect("a socket with a ring")
    }

    /// What is still charged to the socket or held by it although no packet of it is on its way.
    pub(crate) fn leaks(&self, cpu: Cpu<'_>) -> Option<String> {
        let pages = self.ring.as_ref().map_or(0, |r| r.pages.held(cpu));
        let wmem = cpu.machine().peek(self.wmem) - 1;
        let clean = self.pending.get() == 0 && wmem == 0 && pages == 0;
        (!clean).then(|| {
            format!(
                "a packet socket has {} frames pending, {wmem} bytes charged and {pages} page references",
                self.pending.get()
            )
        })
    }

    /// `sock_alloc_send_pskb`'s test: is there room in the send buffer?
    async fn may_send(&self, cpu: Cpu<'_>) -> bool {
        cpu.spend(Cost::SockAllocSend);
        cpu.load(self.wmem).await < SNDBUF
    }

    /// An atomic on `sk_wmem_alloc`.
    async fn charge(&self, cpu: Cpu<'_>, bytes: u64) {
        cpu.rmw(self.wmem, Rmw::Add(bytes), Order::Full).await;
    }

    /// `po->xmit`.
    async fn xmit(&self, cpu: Cpu<'_>, skb: Skb) -> i32 {
        cpu.elapse(cpu.machine().costs.indirect_call);
        // packet_pick_tx_queue: by CPU.
        let queues = cpu.k.dev(self.dev).txqs.len();
        let queue = usize::from(cpu.id()) % queues;
        if self.bypass {
            packet_direct_xmit(cpu, self.dev, queue, skb).await
        } else {
            dev_queue_xmit(cpu, self.dev, queue, skb).await
        }
    }
}

impl Ring {
    /// Number of frames.
    pub fn frames(&self) -> u32 {
        self.frames
    }
    /// `tp_status` of frame `frame`.
    pub(crate) fn status(&self, frame: u32) -> Word {
        self.status.nth(frame)
    }
    /// Says which packet of the flow is in frame `frame`.
    pub(crate) fn set_number(&self, frame: u32, number: u64) {
        self.numbers[frame as usize].set(number);
    }
}

/// `net_xmit_errno`: congestion is no error, everything else is ENOBUFS.
fn net_xmit_errno(rc: i32) -> i32 {
    match rc {
        NET_XMIT_SUCCESS | NET_XMIT_CN => 0,
        rc if rc < 0 => rc,
        _ => ENOBUFS,
    }
}

/// Runs an skb's destructor: `skb_release_head_state`.
pub(crate) async fn destruct(cpu: Cpu<'_>, destructor: Destructor, truesize: u64) {
    let sock = match destructor {
        Destructor::SockWfree { sock } => &cpu.k.packet_socks[sock as usize],
        Destructor::Tpacket { sock, frame } => {
            let sock = &cpu.k.packet_socks[sock as usize];
            tpacket_destruct_skb(cpu, sock, frame).await;
            sock
        }
    };
    sock_wfree(cpu, sock, truesize).await;
}

async fn tpacket_destruct_skb(cpu: Cpu<'_>, sock: &PacketSock, frame: u32) {
    let _span = cpu.enter(Func::TpacketDestructSkb);
    cpu.spend(Cost::TpacketDestruct);
    let was = sock.pending.get();
    sock.pending
        .set(was.checked_sub(1).expect("one a frame on its way"));
    cpu.store(sock.ring().status(frame), tp_status::AVAILABLE)
        .await;
    cpu.smp_wmb().await;
}

/// `sock_wfree`: all but one byte go, so that the socket stays; whoever waits for room is looked for
/// behind a full barrier; then the last one.
async fn sock_wfree(cpu: Cpu<'_>, sock: &PacketSock, truesize: u64) {
    let _span = cpu.enter(Func::SockWfree);
    cpu.spend(Cost::SockWfree);
    sock.charge(cpu, (truesize - 1).wrapping_neg()).await;
    // sock_def_write_space
    if cpu.load(sock.wmem).await * 2 <= SNDBUF {
        // wq_has_sleeper
        cpu.smp_mb().await;
    }
    sock.charge(cpu, 1u64.wrapping_neg()).await;
}

/// Gives back the page that a ring's skb holds (`skb_release_data`).
pub(crate) async fn release_frag(cpu: Cpu<'_>, destructor: Destructor) {
    if let Destructor::Tpacket { sock, frame } = destructor {
        let sock = &cpu.k.packet_socks[sock as usize];
        sock.ring().pages.put(cpu, frame).await;
    }
}
