//! `packet_direct_xmit`: from a socket to the driver, past the qdisc.
//!
//! Follows `net/packet/af_packet.c` of v3.14.1, its patches of 2014, and `__dev_direct_xmit` of v6.9.5.
//! Approximated: no packet of a packet socket is segmented or linearised here, so validation is its
//! instructions only.

use super::Direct;
use crate::kernel::core::dev_xmit::netdev_start_xmit;
use crate::kernel::netdev::{NETDEV_TX_BUSY, dev_xmit_complete};
use crate::kernel::skb::{Skb, line};
use crate::kernel::softirq::{local_bh_disable, local_bh_enable};
use crate::kernel::{Cost, Cpu, Func, Reason};

/// `packet_direct_xmit` on queue `queue` of device `dev`. Called with no BH disabled.
///
/// A stopped queue is [`NETDEV_TX_BUSY`], and the skb is gone all the same.
pub(crate) async fn packet_direct_xmit(cpu: Cpu<'_>, dev: usize, queue: usize, skb: Skb) -> i32 {
    let _span = cpu.enter(Func::PacketDirectXmit);
    cpu.spend(Cost::PacketDirectXmit);
    // netif_skb_features, and what else validation looks at.
    cpu.spend(Cost::DirectValidate);
    let skbs = &cpu.k.skbs;
    cpu.touch([
        skbs.struct_lines(skb, line::L0 | line::L1 | line::L2 | line::L3, 0),
        skbs.head_lines(skb, line::SHINFO, 0),
    ])
    .await;
    let number = cpu.k.dev(dev).txqs.start + queue;
    if cpu.k.config.direct == Direct::V3_14 {
        locked(cpu, number, skb).await
    } else {
        hard_tx_locked(cpu, number, skb).await
    }
}

/// v3.14: the transmit lock, whatever the device says of itself.
async fn locked(cpu: Cpu<'_>, number: usize, skb: Skb) -> i32 {
    let txq = cpu.k.txq(number);
    local_bh_disable(cpu);
    txq.tx_lock(cpu).await;
    let mut rc = NETDEV_TX_BUSY;
    if !txq.frozen_or_stopped(cpu).await {
        // trans_start is updated in there, under the lock and after the driver.
        rc = netdev_start_xmit(cpu, skb, number, false).await;
    }
    if !dev_xmit_complete(rc) {
        // Freed inside the lock, not counted.
        cpu.k.drop_skb(cpu, skb, Reason::TxQueueStopped).await;
    }
    txq.tx_unlock(cpu).await;
    local_bh_enable(cpu).await;
    rc
}

/// Since the patch: `HARD_TX_LOCK`, which leaves LLTX devices alone.
async fn hard_tx_locked(cpu: Cpu<'_>, number: usize, skb: Skb) -> i32 {
    let direct = cpu.k.config.direct;
    let txq = cpu.k.txq(number);
    local_bh_disable(cpu);
    txq.hard_tx_lock(cpu).await;
    let stopped = if direct.ignores_stack_xoff() {
        txq.frozen_or_drv_stopped(cpu).await
    } else {
        txq.frozen_or_stopped(cpu).await
    };
    let mut rc = NETDEV_TX_BUSY;
    if !stopped {
        rc = netdev_start_xmit(cpu, skb, number, false).await;
    }
    txq.hard_tx_unlock(cpu).await;
    local_bh_enable(cpu).await;
    if !dev_xmit_complete(rc) {
        // The BUSY case counts in no version; `drop:` does, for what never reached a queue.
        cpu.k.drop_skb(cpu, skb, Reason::TxQueueStopped).await;
    }
    rc
}
