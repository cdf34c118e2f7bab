//! A flood of UDP datagrams, and the task that reads a socket.

use crate::config::UdpFlood;
use crate::engine::time::{Instant, Span};
use crate::frame::Frame;
use crate::kernel::udp::{udp_recvmsg, udp_sendmsg};
use crate::kernel::{Cpu, Func};

/// First source port.
const FIRST_PORT: u32 = 10_000;

/// One sending task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    /// Its first kernel flow and its first socket; there is one of each for every source port.
    pub first_flow: u32,
    /// Its first socket.
    pub first_sock: usize,
    /// Its context within the machine, for its timer and its sleep.
    pub ctx: u32,
}

/// Body of a sender. A datagram that is late is sent at once; none is skipped.
pub(crate) async fn flood(cpu: Cpu<'_>, load: &UdpFlood, f: Sender) {
    let start = cpu.now();
    let every = load.pps.map(|pps| 1_000_000_000_000 / pps);
    let mut number = 0;
    while load.packets.is_none_or(|n| number < n) {
        if let Some(every) = every {
            wait_until(cpu, start + Span::from_ps(every * number), f.ctx).await;
        }
        if !send(cpu, load, f, number).await {
            break;
        }
        number += 1;
        // A system call ends: another task may run.
        crate::kernel::softirq::cond_resched(cpu).await;
    }
    cpu.settle().await;
    cpu.sleep().await;
}

async fn wait_until(cpu: Cpu<'_>, due: Instant, ctx: u32) {
    if cpu.now() < due {
        cpu.settle().await;
        cpu.machine().start_at(ctx, due.max(cpu.now()));
        cpu.sleep().await;
    }
}

/// One datagram by the socket whose turn it is; false if no skb could be had.
async fn send(cpu: Cpu<'_>, load: &UdpFlood, f: Sender, number: u64) -> bool {
    let _span = cpu.enter(Func::UdpSendmsg);
    let turn = (number % u64::from(load.flows)) as u32;
    let flow = f.first_flow + turn;
    let index = f.first_sock + turn as usize;
    let frame = Frame {
        flow,
        number: number / u64::from(load.flows),
        len: load.size,
        port: FIRST_PORT + index as u32,
        dport: load.port,
        segs: 1,
        ..Frame::default()
    };
    cpu.k.bump(&cpu.k.flow(flow).offered, 1);
    let sock = &cpu.k.udp_senders[index];
    match udp_sendmsg(cpu, sock, load.dev, frame, load.connected, f.ctx).await {
        Some(rc) => {
            cpu.k.note_result(flow, rc, load.size);
            true
        }
        None => {
            cpu.k
                .note_result(flow, crate::kernel::netdev::ENOMEM, load.size);
            false
        }
    }
}

/// Body of a reader. `ctx` is its own task.
pub(crate) async fn sink(cpu: Cpu<'_>, sock: usize, ctx: u32) {
    loop {
        udp_recvmsg(cpu, &cpu.k.udp_socks[sock], ctx).await;
    }
}
