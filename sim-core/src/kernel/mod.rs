//! Linux by subsystem. File names follow the kernel tree; each function has the kernel's name and
//! touches shared words in the kernel's order. Every touch is one await: count the awaits and you
//! have counted the places where another CPU may get in.

pub mod backlog;
pub mod clock;
#[path = "core/mod.rs"]
pub mod core;
pub mod cost;
pub mod dql;
pub mod drivers;
pub mod features;
mod flow;
pub(crate) mod forward;
mod func;
pub mod layouts;
pub mod locking;
pub mod lro;
pub mod napi;
pub mod netdev;
pub mod netdev_fields;
pub mod offload;
pub mod packet;
pub mod sched;
pub mod skb;
pub mod slab;
pub mod softirq;
pub mod tcp;
pub mod udp;
pub mod variant;
pub(crate) mod wait;
pub mod xdp;

pub use cost::Cost;
pub use flow::Flow;
pub use func::Func;

use crate::config;
use crate::engine::time::{Instant, Span};
use crate::frame::Tag;
use crate::machine::nic::Port;
use crate::machine::{self, FnSpan};
use crate::trace::Kind;
use crate::violation::Violation;
use backlog::Backlog;
use clock::Clock;
use cost::CostTable;
use locking::McsNodes;
use napi::Napi;
use netdev::{Driver, NetDevice, TxQueue};
use packet::PacketSock;
use sched::qdisc::Qdisc;
use skb::{Skb, Skbs};
use softirq::Softnet;
use std::cell::{Cell, RefCell};
use std::ops::Deref;
use tcp::Sock;
use udp::{UdpSender, UdpSock, UdpTotals};
use xdp::{Pages, Xdp, XdpFrame};

/// What a retpoline adds to an indirect call: 8.463 ns against 1.251 ns, measured on a Xeon E5-1650 v4
/// (`function-pointer call` with and without, xdp-project).
const RETPOLINE: Span = Span::from_ps(7_212);

/// Why an skb was dropped, as the trace says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Reason {
    /// `SKB_DROP_REASON_QDISC_DROP`: the qdisc was full.
    QdiscDrop,
    /// The qdisc was deactivated.
    QdiscDeactivated,
    /// The device's queue was stopped and it has no qdisc.
    TxQueueStopped,
    /// Nobody here has the frame's VLAN.
    OtherHost,
    /// Its checksum is wrong.
    TcpCsum,
    /// The stack below could not be handed it: no memory.
    NoMem,
    /// `SKB_DROP_REASON_CPU_BACKLOG`: the CPU's backlog was full.
    CpuBacklog,
    /// `SKB_DROP_REASON_FULL_RING`: the receiving veth's ring was full.
    FullRing,
    /// `SKB_DROP_REASON_NO_SOCKET`: nobody listens at its port.
    NoSocket,
    /// `SKB_DROP_REASON_SOCKET_RCVBUFF`: the socket's receive buffer was full.
    SocketRcvbuff,
    /// `SKB_DROP_REASON_UDP_CSUM`: its checksum is wrong.
    UdpCsum,
}

impl Reason {
    /// All of them, in the order of their numbers.
    pub const ALL: &'static [Reason] = &[
        Reason::QdiscDrop,
        Reason::QdiscDeactivated,
        Reason::TxQueueStopped,
        Reason::OtherHost,
        Reason::TcpCsum,
        Reason::NoMem,
        Reason::CpuBacklog,
        Reason::FullRing,
        Reason::NoSocket,
        Reason::SocketRcvbuff,
        Reason::UdpCsum,
    ];

    /// The word in the trace.
    pub fn name(self) -> &'static str {
        match self {
            Reason::QdiscDrop => "QDISC_DROP",
            Reason::QdiscDeactivated => "QDISC_DEACTIVATED",
            Reason::TxQueueStopped => "DEV_READY",
            Reason::OtherHost => "OTHERHOST",
            Reason::TcpCsum => "TCP_CSUM",
            Reason::NoMem => "NOMEM",
            Reason::CpuBacklog => "CPU_BACKLOG",
            Reason::FullRing => "FULL_RING",
            Reason::NoSocket => "NO_SOCKET",
            Reason::SocketRcvbuff => "SOCKET_RCVBUFF",
            Reason::UdpCsum => "UDP_CSUM",
        }
    }
}

/// A host's kernel.
#[derive(Debug)]
pub struct Kernel {
    /// Toggles.
    pub config: config::Kernel,
    /// skbs.
    pub skbs: Skbs,
    pub(crate) costs: CostTable,
    pub(crate) softnets: Vec<Softnet>,
    pub(crate) mcs: Vec<McsNodes>,
    pub(crate) devs: Vec<NetDevice>,
    pub(crate) txqs: Vec<TxQueue>,
    pub(crate) qdiscs: Vec<Qdisc>,
    pub(crate) packet_socks: Vec<PacketSock>,
    pub(crate) napis: Vec<Napi>,
    pub(crate) clock: Option<Clock>,
    /// XDP.
    pub xdp: Xdp,
    pub(crate) flows: Vec<Flow>,
    pub(crate) socks: Vec<Sock>,
    /// One a CPU, or none at all where nothing is received by them.
    pub(crate) backlogs: Vec<Backlog>,
    pub(crate) udp_socks: Vec<UdpSock>,
    pub(crate) udp_senders: Vec<UdpSender>,
    /// What became of all datagrams.
    pub udp: UdpTotals,
    /// Engine id of the first socket's timer.
    pub(crate) timers: Cell<u32>,
    pub(crate) violations: RefCell<Vec<Violation>>,
    /// skbs that senders hold a reference of.
    pub(crate) held: Cell<u32>,
}

impl Kernel {
    /// Device `i`.
    pub fn dev(&self, i: usize) -> &NetDevice {
        &self.devs[i]
    }
    /// Transmit queue `i`.
    pub fn txq(&self, i: usize) -> &TxQueue {
        &self.txqs[i]
    }
    /// Qdisc `i`.
    pub fn qdisc(&self, i: usize) -> &Qdisc {
        &self.qdiscs[i]
    }
    /// `softnet_data` of `cpu`.
    pub fn softnet(&self, cpu: u16) -> &Softnet {
        &self.softnets[usize::from(cpu)]
    }
    /// Sending context `i`.
    pub fn flow(&self, i: u32) -> &Flow {
        &self.flows[i as usize]
    }
    /// The VLAN device on `dev` with this tag (`vlan_find_dev`).
    pub fn vlan_on(&self, dev: usize, tag: Option<Tag>) -> Option<usize> {
        let tag = tag?;
        self.devs.iter().position(|d| match &d.driver {
            netdev::Driver::Vlan(v) => v.on == dev && v.tag == tag,
            _ => false,
        })
    }
    /// The socket of connection `conn`.
    ///
    /// # Panics
    /// If this host has no end of it.
    pub fn sock(&self, conn: u16) -> &Sock {
        let sock = self.socks.iter().find(|s| s.conn == conn);
        sock.expect("a load has a socket")
    }
    /// The hardware of device `dev`, if it has any.
    pub fn port(&self, dev: usize) -> Option<&Port> {
        self.devs.get(dev)?.driver.port()
    }
    pub(crate) fn mcs(&self, cpu: u16) -> McsNodes {
        self.mcs[usize::from(cpu)]
    }
    /// Receive pages of device `dev`, if its driver has XDP.
    pub(crate) fn pages(&self, dev: usize) -> Option<&Pages> {
        match &self.devs.get(dev)?.driver {
            Driver::Mlx5(nic) => Some(&nic.pages),
            _ => None,
        }
    }
    /// A frame of XDP ends: sent, or dropped. Its page goes back.
    pub(crate) fn xdp_return(&self, cpu: Cpu<'_>, frame: XdpFrame, sent: bool) {
        if let Some(pages) = self.pages(frame.rx_dev) {
            pages.recycle(cpu, frame.page);
        }
        if sent {
            self.note_result(frame.frame.flow, netdev::NET_XMIT_SUCCESS, frame.frame.len);
        } else {
            self.note_drop(frame.frame);
        }
    }
    /// What the clock reads at `now`.
    pub(crate) fn ktime(&self, now: Instant) -> Instant {
        self.clock.as_ref().map_or(now, |clock| clock.read(now))
    }
    /// Adds to a statistic.
    #[inline(always)]
    pub(crate) fn bump(&self, cell: &Cell<u64>, n: u64) {
        cell.set(cell.get() + n);
    }

    /// `kfree_skb` of a packet that will not be sent.
    pub(crate) async fn drop_skb(&self, cpu: Cpu<'_>, skb: Skb, reason: Reason) {
        cpu.record(Kind::SkbDrop, self.skbs.id(skb), reason as u32);
        if self.skbs.frame(skb).dport != 0 {
            self.bump(&self.udp.dropped, 1);
        }
        self.skbs.put(cpu, skb).await;
    }
}

/// The handle that kernel code takes first: a CPU's context and the kernel it runs.
#[derive(Clone, Copy)]
pub struct Cpu<'w> {
    hw: machine::Cpu<'w>,
    /// The kernel.
    pub k: &'w Kernel,
}

impl<'w> Deref for Cpu<'w> {
    type Target = machine::Cpu<'w>;
    #[inline(always)]
    fn deref(&self) -> &machine::Cpu<'w> {
        &self.hw
    }
}

impl<'w> Cpu<'w> {
    /// Joins a context and a kernel.
    pub fn new(hw: machine::Cpu<'w>, k: &'w Kernel) -> Cpu<'w> {
        Cpu { hw, k }
    }

    /// Retires the instructions of `cost`.
    #[inline(always)]
    pub fn spend(self, cost: Cost) {
        self.hw.insns(self.k.costs.get(cost));
    }

    /// `ktime_get`. A coarse clock is moved by reading it in process context only: that of user-mode Linux in
    /// time travel looks at `in_softirq` too, which is true where softirqs are off.
    pub fn ktime_get(self) -> Instant {
        self.spend(Cost::KtimeGet);
        if self.k.clock.is_none() || !self.hw.in_interrupt() {
            self.hw.elapse(self.hw.machine().costs.clock_read);
        }
        self.k.ktime(self.hw.now())
    }

    /// `jiffies`, counted from the start of the run.
    #[inline(always)]
    pub fn jiffies(self) -> u64 {
        self.hw.now().ps() * u64::from(self.k.config.hz) / 1_000_000_000_000
    }

    /// An indirect call, through a retpoline if the kernel is built so.
    pub fn indirect_call(self) {
        let plain = self.hw.machine().costs.indirect_call;
        self.hw.elapse(if self.k.config.retpoline {
            plain + RETPOLINE
        } else {
            plain
        });
    }

    /// Opens the span of a kernel function.
    #[inline(always)]
    pub fn enter(self, function: Func) -> FnSpan<'w> {
        self.hw.span(function as u16)
    }
}
