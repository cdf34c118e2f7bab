//! A sender that sends one packet at fixed intervals, and the probe that sends a single one.

use crate::engine::time::Span;
use crate::kernel::core::dev_xmit::dev_queue_xmit;
use crate::kernel::skb::Packet;
use crate::kernel::softirq::{local_bh_disable, local_bh_enable};
use crate::kernel::{Cost, Cpu, Func};

/// What a paced sender sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paced {
    pub dev: usize,
    pub every: Span,
    pub size: u32,
    pub packets: Option<u64>,
    pub flow: u32,
    /// Its context within the machine, for its timer.
    pub ctx: u32,
}

/// Body of a paced sender. A packet that is late is sent at once; none is skipped.
pub(crate) async fn sender(cpu: Cpu<'_>, p: Paced) {
    let start = cpu.now();
    let mut number = 0;
    while p.packets.is_none_or(|n| number < n) {
        let due = start + Span::from_ps(p.every.ps() * number);
        if cpu.now() < due {
            cpu.settle().await;
            cpu.machine().start_at(p.ctx, due.max(cpu.now()));
            cpu.sleep().await;
        }
        if !send(cpu, p, number).await {
            break;
        }
        number += 1;
    }
    cpu.settle().await;
    cpu.sleep().await;
}

/// Builds and sends one packet; false if no skb could be had.
async fn send(cpu: Cpu<'_>, p: Paced, number: u64) -> bool {
    let _span = cpu.enter(Func::PacedSend);
    let packet = Packet {
        flow: p.flow,
        number,
        len: p.size,
        priority: 0,
    };
    let Some(skb) = cpu.k.skbs.alloc(cpu, packet).await else {
        return false;
    };
    cpu.spend(Cost::PktgenFill);
    cpu.k.skbs.set_born(skb, cpu.now());
    cpu.k.bump(&cpu.k.flow(p.flow).offered, 1);
    local_bh_disable(cpu);
    let rc = dev_queue_xmit(cpu, p.dev, 0, skb).await;
    cpu.k.note_result(p.flow, rc, p.size);
    local_bh_enable(cpu).await;
    true
}
