//! A sender that replays a list of packets: when, how long, which priority, which flow.

use crate::config::TrainPacket;
use crate::engine::time::Instant;
use crate::frame::Frame;
use crate::kernel::core::dev_xmit::dev_queue_xmit;
use crate::kernel::skb::Meta;
use crate::kernel::softirq::{local_bh_disable, local_bh_enable};
use crate::kernel::{Cost, Cpu, Func};

/// Which kernel flow each packet belongs to, and the sender's context for its timer.
#[derive(Clone, Debug)]
pub(crate) struct Train<'a> {
    pub dev: usize,
    pub packets: &'a [TrainPacket],
    /// First kernel flow of this load; one for each pair of flow and priority.
    pub first_flow: u32,
    pub ctx: u32,
}

/// The pairs of flow and priority in `packets`, in the order in which they first occur. Packets of one
/// pair keep their order; others may overtake each other.
pub(crate) fn pairs(packets: &[TrainPacket]) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    for p in packets {
        if !pairs.contains(&(p.flow, p.priority)) {
            pairs.push((p.flow, p.priority));
        }
    }
    pairs
}

/// Body of the sender. A packet that is late is sent at once; none is skipped.
pub(crate) async fn sender(cpu: Cpu<'_>, t: Train<'_>) {
    let pairs = pairs(t.packets);
    let mut numbers = vec![0; pairs.len()];
    for p in t.packets {
        let due = Instant::from_ps(p.at);
        if cpu.now() < due {
            cpu.settle().await;
            cpu.machine().start_at(t.ctx, due.max(cpu.now()));
            cpu.sleep().await;
        }
        if let Some(sent) = p.sent {
            // Reading the clock takes its time.
            let read = cpu.k.ktime(cpu.now());
            cpu.elapse(Instant::from_ps(sent).since(read));
        }
        let pair = pairs
            .iter()
            .position(|&pair| pair == (p.flow, p.priority))
            .expect("collected above");
        let frame = Frame {
            flow: t.first_flow + pair as u32,
            number: numbers[pair],
            len: p.len,
            port: p.flow,
            segs: 1,
            ..Frame::default()
        };
        numbers[pair] += 1;
        if !send(cpu, t.dev, p, frame).await {
            break;
        }
    }
    cpu.settle().await;
    cpu.sleep().await;
}

/// Builds and sends one packet; false if no skb could be had.
async fn send(cpu: Cpu<'_>, dev: usize, p: &TrainPacket, frame: Frame) -> bool {
    let _span = cpu.enter(Func::TrainSend);
    let skbs = &cpu.k.skbs;
    let Some(skb) = skbs.alloc_frame(cpu, frame).await else {
        return false;
    };
    let priority = p.priority;
    skbs.set_meta(
        skb,
        Meta {
            priority,
            ..Meta::default()
        },
    );
    cpu.spend(Cost::PktgenFill);
    skbs.set_born(skb, cpu.now());
    cpu.k.bump(&cpu.k.flow(frame.flow).offered, 1);
    local_bh_disable(cpu);
    let rc = dev_queue_xmit(cpu, dev, 0, skb).await;
    cpu.k.note_result(frame.flow, rc, p.len);
    local_bh_enable(cpu).await;
    true
}
