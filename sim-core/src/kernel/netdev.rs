//! Devices and their transmit queues.
//!
//! Follows Linux 5.11 `include/linux/netdevice.h`. A queue's read-mostly part and its written part
//! (`_xmit_lock`, owner, `trans_start`, `state`, dql) lie on different lines.

use super::dql::{self, Bql};
use super::locking::SpinLock;
use super::netdev_fields::Fields;
use super::offload::{Caps, Offload};
use super::{Cost, Cpu};
use crate::machine::Rmw;
use crate::machine::layout::{Layout, LayoutSet};
use crate::machine::memory::{Placement, Word};
use crate::machine::nic::{Port, TxRing};
use crate::trace::Kind;
use std::cell::Cell;

/// `NET_XMIT_SUCCESS` = `NETDEV_TX_OK`.
pub const NET_XMIT_SUCCESS: i32 = 0;
/// `NET_XMIT_DROP`.
pub const NET_XMIT_DROP: i32 = 1;
/// `NET_XMIT_CN`.
pub const NET_XMIT_CN: i32 = 2;
/// `NETDEV_TX_BUSY`.
pub const NETDEV_TX_BUSY: i32 = 0x10;
/// `-ENOMEM`.
pub const ENOMEM: i32 = -12;
/// `-ENETDOWN`.
pub const ENETDOWN: i32 = -100;

/// `dev_xmit_complete`: the driver has taken care of the skb.
pub fn dev_xmit_complete(rc: i32) -> bool {
    rc < 0x0f
}

/// Bits of `netdev_queue.state`.
pub mod txq_state {
    /// The driver stopped the queue.
    pub const DRV_XOFF: u64 = 1;
    /// The stack (BQL) stopped it.
    pub const STACK_XOFF: u64 = 2;
    /// Frozen for reconfiguration.
    pub const FROZEN: u64 = 4;
}

/// The kernel's own layout of `struct netdev_queue` (v5.x, x86-64).
pub fn netdev_queue_layout() -> Layout {
    Layout::new(
        "netdev_queue",
        &[
            ("qdisc", 8, 8),
            ("_xmit_lock", 128, 4),
            ("xmit_lock_owner", 132, 4),
            ("trans_start", 136, 8),
            ("state", 144, 8),
            ("dql", 152, 12),
        ],
    )
}

/// A transmit queue.
#[derive(Debug)]
pub struct TxQueue {
    /// Index of its device.
    pub dev: usize,
    /// Number in the trace.
    pub number: u32,
    /// Number within its device.
    pub index: u32,
    /// Index of its qdisc, if it has one.
    pub qdisc: Option<usize>,
    lltx: bool,
    /// `qdisc` pointer, read-mostly.
    pub(crate) qdisc_word: Word,
    lock: SpinLock,
    owner: Word,
    trans_start: Word,
    state: Word,
    pub(crate) dql: Word,
    /// Byte queue limits, if the driver keeps them.
    pub bql: Option<Bql>,
}

/// What a transmit queue is made with.
pub(crate) struct TxQueueSpec {
    /// Index of its device, and its number in the trace.
    pub at: (usize, u32),
    /// `NETIF_F_LLTX`.
    pub lltx: bool,
    /// Byte queue limits, if the driver keeps them.
    pub bql: Option<dql::Limits>,
    /// Kernel version, which picks the kind of spinlock.
    pub version: (u32, u32),
}

impl TxQueue {
    pub(crate) fn place(
        memory: &mut Placement,
        layouts: &LayoutSet,
        name: &str,
        spec: TxQueueSpec,
        locks: &mut Vec<String>,
    ) -> TxQueue {
        let TxQueueSpec {
            at,
            lltx,
            bql,
            version,
        } = spec;
        let placed = memory.object(
            format_args!("netdev_queue {name}"),
            layouts.get("netdev_queue", netdev_queue_layout),
        );
        let mut field = |f: &str| memory.field(&placed, f);
        locks.push(format!("{name} _xmit_lock"));
        TxQueue {
            dev: at.0,
            number: at.1,
            index: 0,
            qdisc: None,
            lltx,
            qdisc_word: field("qdisc"),
            lock: SpinLock::new(version, field("_xmit_lock"), locks.len() as u32 - 1),
            owner: field("xmit_lock_owner"),
            trans_start: field("trans_start"),
            state: field("state"),
            dql: field("dql"),
            bql: bql.map(|limits| Bql::place(memory, name, placed.line_of("dql"), limits)),
        }
    }

    /// Its lock.
    pub fn xmit_lock(&self) -> &SpinLock {
        &self.lock
    }

    /// `__netif_tx_lock`: whatever the device says of itself.
    pub(crate) async fn tx_lock(&self, cpu: Cpu<'_>) {
        cpu.spend(Cost::HardTxLock);
        self.lock.lock(cpu).await;
        cpu.store(self.owner, u64::from(cpu.id()) + 1).await;
    }

    /// `__netif_tx_unlock`.
    pub(crate) async fn tx_unlock(&self, cpu: Cpu<'_>) {
        cpu.store(self.owner, 0).await;
        self.lock.unlock(cpu).await;
    }

    /// `HARD_TX_LOCK`: nothing on an LLTX device.
    pub(crate) async fn hard_tx_lock(&self, cpu: Cpu<'_>) {
        if !self.lltx {
            self.tx_lock(cpu).await;
        }
    }

    /// `HARD_TX_UNLOCK`.
    pub(crate) async fn hard_tx_unlock(&self, cpu: Cpu<'_>) {
        if !self.lltx {
            self.tx_unlock(cpu).await;
        }
    }

    /// `netif_xmit_frozen_or_stopped`.
    pub(crate) async fn frozen_or_stopped(&self, cpu: Cpu<'_>) -> bool {
        cpu.load(self.state).await != 0
    }

    /// `netif_xmit_frozen_or_drv_stopped`: BQL's bit does not count.
    pub(crate) async fn frozen_or_drv_stopped(&self, cpu: Cpu<'_>) -> bool {
        cpu.load(self.state).await & (txq_state::DRV_XOFF | txq_state::FROZEN) != 0
    }

    /// `netif_xmit_stopped`: FROZEN does not count.
    pub(crate) async fn stopped(&self, cpu: Cpu<'_>) -> bool {
        cpu.load(self.state).await & (txq_state::DRV_XOFF | txq_state::STACK_XOFF) != 0
    }

    /// `txq_trans_update`: only where the lock has an owner, so never on an LLTX device.
    pub(crate) async fn trans_update(&self, cpu: Cpu<'_>) {
        if cpu.load(self.owner).await != 0 {
            cpu.store(self.trans_start, cpu.jiffies()).await;
        }
    }

    /// `trans_start`, in jiffies.
    pub(crate) async fn last_start(&self, cpu: Cpu<'_>) -> u64 {
        cpu.load(self.trans_start).await
    }

    /// Sets or clears FROZEN.
    pub(crate) async fn set_frozen(&self, cpu: Cpu<'_>, on: bool) {
        let bit = txq_state::FROZEN;
        let change = Rmw::Mask {
            clear: if on { 0 } else { bit },
            set: if on { bit } else { 0 },
        };
        cpu.rmw_posted(self.state, change).await;
    }

    /// `netif_tx_queue_stopped`: only the driver's bit counts.
    pub(crate) async fn drv_stopped(&self, cpu: Cpu<'_>) -> bool {
        cpu.load(self.state).await & txq_state::DRV_XOFF != 0
    }

    /// The word of the state bits.
    pub(crate) fn state_word(&self) -> Word {
        self.state
    }

    /// `dql_avail`; 0 without BQL.
    pub(crate) async fn dql_avail(&self, cpu: Cpu<'_>) -> i32 {
        match &self.bql {
            Some(bql) => bql.avail(cpu).await,
            None => {
                cpu.load(self.dql).await;
                0
            }
        }
    }

    /// `netif_tx_stop_queue`.
    pub(crate) async fn stop(&self, cpu: Cpu<'_>) {
        cpu.rmw_posted(
            self.state,
            Rmw::Mask {
                clear: 0,
                set: txq_state::DRV_XOFF,
            },
        )
        .await;
        cpu.record(Kind::TxqState, self.number, txq_state::DRV_XOFF as u32);
    }

    /// `netif_tx_start_queue`: takes the bit back; the caller goes on sending anyway.
    pub(crate) async fn start(&self, cpu: Cpu<'_>) {
        let clear = Rmw::Mask {
            clear: txq_state::DRV_XOFF,
            set: 0,
        };
        cpu.rmw_posted(self.state, clear).await;
        cpu.record(Kind::TxqState, self.number, 0);
    }

    /// The atomic of `netif_tx_wake_queue`: true if the queue was stopped.
    pub(crate) async fn test_and_clear_stopped(&self, cpu: Cpu<'_>) -> bool {
        let clear = Rmw::Mask {
            clear: txq_state::DRV_XOFF,
            set: 0,
        };
        let was = cpu
            .rmw(self.state, clear, crate::machine::Order::Full)
            .await
            & txq_state::DRV_XOFF
            != 0;
        if was {
            cpu.record(Kind::TxqState, self.number, 0);
        }
        was
    }

    /// The state bits, looked at from outside the run.
    pub fn peek_state(&self, cpu: Cpu<'_>) -> u64 {
        cpu.machine().peek(self.state)
    }
}

/// Which driver serves a device.
#[derive(Debug)]
pub enum Driver {
    /// `dummy`.
    Dummy,
    /// The plain NIC.
    Nic(super::drivers::nic::Nic),
    /// Myricom's.
    Myri10ge(super::drivers::myri10ge::Myri10ge),
    /// `mlx5e`.
    Mlx5(Box<super::drivers::mlx5::Mlx5>),
    /// Intel's.
    Ixgbe(Box<super::drivers::ixgbe::Ixgbe>),
    /// A VLAN on another device.
    Vlan(super::drivers::vlan::Vlan),
    /// `loopback`.
    Loopback,
    /// One end of a veth pair.
    Veth(super::drivers::veth::Veth),
}

impl Driver {
    /// Transmit rings whose packets are skbs.
    pub fn skb_rings(&self) -> &[TxRing] {
        match (self, self.port()) {
            (Driver::Mlx5(nic), Some(port)) => &port.tx[..nic.channels],
            (_, Some(port)) => &port.tx,
            (_, None) => &[],
        }
    }

    /// Its hardware, if it has any.
    pub fn port(&self) -> Option<&Port> {
        match self {
            Driver::Dummy | Driver::Vlan(_) | Driver::Loopback | Driver::Veth(_) => None,
            Driver::Nic(nic) => Some(&nic.port),
            Driver::Myri10ge(nic) => Some(&nic.port),
            Driver::Mlx5(nic) => Some(&nic.port),
            Driver::Ixgbe(nic) => Some(&nic.port),
        }
    }
}

impl NetDevice {
    /// What it can do.
    pub fn caps(&self) -> Caps {
        self.offload.caps()
    }
}

/// A network device.
#[derive(Debug)]
pub struct NetDevice {
    /// Interface name.
    pub name: String,
    /// Its first transmit queue in the kernel's table, and how many.
    pub txqs: std::ops::Range<usize>,
    /// Its driver.
    pub driver: Driver,
    /// What it can do.
    pub offload: Offload,
    /// Engine id of its first event; see [`drivers::event`](super::drivers::event).
    pub(crate) events: u32,
    /// Which of its events is the watchdog of its first queue's qdisc; the others follow.
    pub(crate) watchdogs: u32,
    /// Its struct's words, where a layout places them.
    pub(crate) fields: Option<Fields>,
    /// Packets and bytes sent, packets dropped outside a qdisc.
    pub tx_packets: Cell<u64>,
    /// Bytes sent.
    pub tx_bytes: Cell<u64>,
    /// Packets dropped outside a qdisc.
    pub tx_dropped: Cell<u64>,
    /// Packets received.
    pub rx_packets: Cell<u64>,
    /// Packets received and dropped before the stack saw them.
    pub rx_dropped: Cell<u64>,
    /// `rps_cpus`: where its received flows are spread to, if anywhere.
    pub rps_cpus: Vec<u16>,
    /// Transmit queue of each CPU, or none: by flow hash.
    pub xps: Vec<u16>,
    /// Its watchdog's timer has fired and the watchdog has not run yet.
    pub(crate) watchdog_due: Cell<bool>,
    /// Times the watchdog called `ndo_tx_timeout`.
    pub tx_timeouts: Cell<u64>,
}
