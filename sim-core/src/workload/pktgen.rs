//! The kernel's packet generator.
//!
//! Follows Linux 5.11 `net/core/pktgen.c`: a kernel thread a CPU that holds a reference of its own to
//! the packet it sent last and drops it at the start of its next turn. Absent: delay, flows, VLAN tags,
//! queue maps (every thread uses queue 0, as by default), `netif_receive`.

use crate::config::{Pktgen, XmitMode};
use crate::kernel::core::dev_xmit::{dev_queue_xmit, netdev_start_xmit, xmit_flush};
use crate::kernel::netdev::{NET_XMIT_SUCCESS, dev_xmit_complete};
use crate::kernel::skb::{Packet, Skb, line};
use crate::kernel::softirq::{cond_resched, local_bh_disable, local_bh_enable};
use crate::kernel::{Cost, Cpu, Func};

struct Thread<'a> {
    config: &'a Pktgen,
    flow: u32,
    skb: Option<Skb>,
    clones: u32,
    number: u64,
    done: u64,
    /// The last packet was taken: make a new one. False: try the same again.
    last_ok: bool,
}

/// Body of thread `kpktgend_N`.
pub(crate) async fn thread(cpu: Cpu<'_>, config: &Pktgen, flow: u32) {
    let mut t = Thread {
        config,
        flow,
        skb: None,
        clones: 0,
        number: 0,
        done: 0,
        last_ok: true,
    };
    while config.packets.is_none_or(|n| t.done < n) {
        cpu.spend(Cost::PktgenWorker);
        if !t.xmit(cpu).await {
            break;
        }
        cond_resched(cpu).await;
    }
    // pktgen_stop_device
    t.drop_last(cpu).await;
    cpu.settle().await;
    cpu.sleep().await;
}

impl Thread<'_> {
    async fn drop_last(&mut self, cpu: Cpu<'_>) {
        if let Some(skb) = self.skb.take() {
            cpu.k.skbs.put(cpu, skb).await;
            cpu.k.held.set(cpu.k.held.get() - 1);
        }
    }

    /// `pktgen_xmit`; false if no skb could be had.
    async fn xmit(&mut self, cpu: Cpu<'_>) -> bool {
        let _span = cpu.enter(Func::PktgenXmit);
        cpu.spend(Cost::PktgenXmit);
        let fresh = self.skb.is_none() || self.last_ok && self.clones >= self.config.clone_skb;
        if fresh {
            self.drop_last(cpu).await;
            self.skb = self.fill_packet(cpu).await;
            self.clones = 0;
        } else if self.last_ok {
            self.clones += 1;
        }
        let Some(skb) = self.skb else { return false };
        cpu.k.skbs.set_born(skb, cpu.now());
        match self.config.mode {
            XmitMode::QueueXmit => self.queue_xmit(cpu, skb).await,
            XmitMode::StartXmit => self.start_xmit(cpu, skb).await,
        }
        true
    }

    async fn fill_packet(&mut self, cpu: Cpu<'_>) -> Option<Skb> {
        let _span = cpu.enter(Func::FillPacket);
        let packet = Packet {
            flow: self.flow,
            number: self.number,
            len: self.config.size,
            priority: self.config.priority,
        };
        let skb = cpu.k.skbs.alloc(cpu, packet).await?;
        cpu.k.held.set(cpu.k.held.get() + 1);
        cpu.spend(Cost::PktgenFill);
        let all = line::L0 | line::L1 | line::L2 | line::L3;
        cpu.touch([
            cpu.k.skbs.struct_lines(skb, 0, all),
            cpu.k.skbs.head_lines(skb, 0, line::HEADERS),
        ])
        .await;
        cpu.spend(Cost::KtimeGetReal);
        cpu.elapse(cpu.machine().costs.clock_read);
        Some(skb)
    }

    fn offer(&mut self, cpu: Cpu<'_>, skb: Skb) {
        cpu.k.skbs.renumber(skb, self.number);
        self.number += 1;
        self.done += 1;
        cpu.k.bump(&cpu.k.flow(self.flow).offered, 1);
    }

    async fn queue_xmit(&mut self, cpu: Cpu<'_>, skb: Skb) {
        local_bh_disable(cpu);
        cpu.k.skbs.get(cpu, skb, 1).await;
        self.offer(cpu, skb);
        let rc = dev_queue_xmit(cpu, self.config.dev, 0, skb).await;
        cpu.k.note_result(self.flow, rc, self.config.size);
        self.last_ok = true;
        local_bh_enable(cpu).await;
    }

    async fn start_xmit(&mut self, cpu: Cpu<'_>, skb: Skb) {
        local_bh_disable(cpu);
        let number = cpu.k.dev(self.config.dev).txqs.start;
        let txq = cpu.k.txq(number);
        txq.hard_tx_lock(cpu).await;
        if txq.frozen_or_stopped(cpu).await {
            self.last_ok = false;
        } else {
            let mut left = self.config.burst;
            cpu.k.skbs.get(cpu, skb, left).await;
            loop {
                left -= 1;
                self.offer(cpu, skb);
                let rc = netdev_start_xmit(cpu, skb, number, left > 0).await;
                self.last_ok = dev_xmit_complete(rc);
                if self.last_ok {
                    cpu.k.note_result(self.flow, rc, self.config.size);
                } else {
                    // Not taken: the same packet again at the next turn.
                    left += 1;
                    self.number -= 1;
                    self.done -= 1;
                    cpu.k
                        .flow(self.flow)
                        .offered
                        .set(cpu.k.flow(self.flow).offered.get() - 1);
                    break;
                }
                if left == 0 || rc != NET_XMIT_SUCCESS || txq.frozen_or_stopped(cpu).await {
                    break;
                }
                cpu.spend(Cost::PktgenBurst);
            }
            if left > 0 {
                if left < self.config.burst {
                    // The last of them said that more would follow.
                    xmit_flush(cpu, number).await;
                }
                cpu.k.skbs.put_spare(cpu, skb, left).await;
            }
        }
        txq.hard_tx_unlock(cpu).await;
        local_bh_enable(cpu).await;
        if !self.last_ok {
            // cpu_relax before the next try, else time would stand still on a free machine.
            cpu.elapse(cpu.machine().costs.spin_loop);
        }
    }
}
