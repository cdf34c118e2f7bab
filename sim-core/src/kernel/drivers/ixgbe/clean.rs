//! Completion and receiving: `ixgbe_poll`, `ixgbe_clean_tx_irq`, `ixgbe_clean_rx_irq`.

use super::{Ixgbe, TX_WAKE_THRESHOLD, bytecount, read};
use crate::kernel::drivers::{nic, unmask};
use crate::kernel::napi::napi_complete_done;
use crate::kernel::skb::Skb;
use crate::kernel::softirq::netif_tx_wake_queue;
use crate::kernel::{Cost, Cpu, Func};
use crate::machine::nic::Moderation;

/// `IXGBE_DEFAULT_TX_WORK`: packets one `ixgbe_clean_tx_irq` takes.
const TX_WORK: u32 = 256;
/// `IXGBE_RX_BUFFER_WRITE`: buffers given back at a time.
const RX_BUFFER_WRITE: u32 = 16;

/// `ixgbe_poll` of vector `napi`.
pub(crate) async fn poll(cpu: Cpu<'_>, dev: usize, nic: &Ixgbe, napi: usize, budget: u32) -> u32 {
    let _span = cpu.enter(Func::IxgbePoll);
    let v = cpu.k.napis[napi].vector;
    let tx_complete = clean_tx_irq(cpu, dev, nic, v).await;
    let work = clean_rx_irq(cpu, dev, nic, v, budget).await;
    if !tx_complete || work >= budget {
        return budget;
    }
    // What comes from here on is for the next interrupt.
    nic.port.seen(v);
    if napi_complete_done(cpu, napi).await {
        if let Some(gap) = nic.itr[v].set()
            && let Moderation::Throttle(now) = &nic.port.vectors[v].moderation
            && now.get() != gap
        {
            // EITR
            cpu.uncached_write().await;
            now.set(gap);
        }
        unmask(cpu, dev, v).await;
    }
    work.min(budget - 1)
}

/// `ixgbe_clean_tx_irq` of ring `queue`: false if there is more than one run takes.
async fn clean_tx_irq(cpu: Cpu<'_>, dev: usize, nic: &Ixgbe, queue: usize) -> bool {
    let _span = cpu.enter(Func::IxgbeCleanTx);
    let (ring, hw) = (&nic.rings[queue], &nic.port.tx[queue]);
    let (mut left, mut packets, mut bytes) = (TX_WORK, 0u32, 0u32);
    let mut at = cpu.load(ring.next_to_clean).await;
    while left > 0 {
        // next_to_watch, which says whether there is a packet and where it ends;
        cpu.touch([ring.buffer(at, false)]).await;
        if hw.frames() == 0 {
            break;
        }
        // and whether the device has written its last descriptor back.
        let Some(done) = hw.done() else {
            cpu.touch([read(hw.line(hw.next_to_clean()))]).await;
            break;
        };
        let eop = done.first + u64::from(done.descs) - 1;
        cpu.touch([read(hw.line(eop))]).await;
        cpu.spend(Cost::NicClean);
        let skb = Skb(done.cookie);
        packets += u32::from(done.frame.segs.max(1));
        bytes += bytecount(cpu, skb);
        cpu.touch([ring.buffer(done.first, true)]).await;
        cpu.k.skbs.put(cpu, skb).await;
        for n in 1..done.descs {
            cpu.spend(Cost::OffloadCleanDesc);
            cpu.touch([ring.buffer(done.first + u64::from(n), true)])
                .await;
        }
        hw.take_done();
        at = (eop + 1) % u64::from(ring.count);
        left -= 1;
    }
    cpu.store(ring.next_to_clean, at).await;
    let sum = cpu.load(ring.stats).await;
    cpu.store(ring.stats, sum + u64::from(packets)).await;
    nic.itr[queue].tx.add(u64::from(packets), u64::from(bytes));
    let txq = cpu.k.txq(cpu.k.dev(dev).txqs.start + queue);
    txq.tx_completed_queue(cpu, packets, bytes).await;
    if packets > 0 && ring.unused(cpu).await >= TX_WAKE_THRESHOLD {
        // next_to_clean before the look at the bit: the sender does it in the other order.
        if cpu.k.config.stop_recheck {
            cpu.smp_mb().await;
        }
        if txq.drv_stopped(cpu).await {
            netif_tx_wake_queue(cpu, txq).await;
            cpu.k.bump(&ring.restart_queue, 1);
        }
    }
    left > 0
}

/// `ixgbe_clean_rx_irq`: frames taken. Buffers go back to the device in batches, each with a tail write.
async fn clean_rx_irq(cpu: Cpu<'_>, dev: usize, nic: &Ixgbe, queue: usize, budget: u32) -> u32 {
    let ring = &nic.port.rx[queue];
    let (mut work, mut bytes) = (0, 0);
    while work < budget {
        if ring.withheld() >= RX_BUFFER_WRITE {
            refill(cpu, nic, queue).await;
        }
        let Some(frame) = ring.take(cpu.now()) else {
            break;
        };
        bytes += u64::from(frame.len);
        nic::receive(cpu, dev, ring, nic.forward_to.get(), frame).await;
        work += 1;
    }
    if ring.withheld() > 0 {
        refill(cpu, nic, queue).await;
    }
    nic.itr[queue].rx.add(u64::from(work), bytes);
    work
}

/// `ixgbe_alloc_rx_buffers`.
async fn refill(cpu: Cpu<'_>, nic: &Ixgbe, queue: usize) {
    cpu.uncached_write().await;
    nic.port.rx[queue].refill();
}
