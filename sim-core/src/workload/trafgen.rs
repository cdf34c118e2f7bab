//! trafgen (netsniff-ng): processes that send as fast as they can through packet sockets.
//!
//! One process, socket and ring a CPU. A process fills every frame of its ring that is free, in user
//! mode, and asks the kernel to send them (`sendto` with MSG_DONTWAIT); a frame that the kernel could not
//! send stays in the ring. Without a ring it sends each packet by itself. Absent: the timer that calls
//! sendto every 10 us besides; a ring of a few hundred frames is full before.

use crate::config::Trafgen;
use crate::kernel::packet::{packet_snd, tp_status, tpacket_snd};
use crate::kernel::skb::Packet;
use crate::kernel::softirq::cond_resched;
use crate::kernel::{Cost, Cpu, Func};

/// Body of the process with socket `sock`; it sends `packets` of them, or goes on for ever.
pub(crate) async fn process(cpu: Cpu<'_>, config: &Trafgen, sock: u32, packets: Option<u64>) {
    let sock = &cpu.k.packet_socks[sock as usize];
    let (mut filled, mut at) = (0, 0);
    let left = |n: u64| packets.is_none_or(|all| n < all);
    let sent = || cpu.k.flow(sock.flow).sent.get() + cpu.k.flow(sock.flow).errors.get();
    cpu.set_user(true);
    while left(sent()) {
        if config.frames == 0 {
            cpu.user_insns(cpu.k.costs.get(Cost::TrafgenFill));
            let packet = Packet {
                flow: sock.flow,
                number: sent(),
                len: config.size,
                priority: 0,
            };
            syscall(cpu, async || {
                // ENOBUFS: the same once more.
                let _ = packet_snd(cpu, sock, packet).await;
            })
            .await;
            continue;
        }
        let ring = sock.ring();
        let before = filled;
        while left(filled) && filled - before < u64::from(ring.frames()) {
            if cpu.load(ring.status(at)).await != tp_status::AVAILABLE {
                break;
            }
            cpu.user_insns(cpu.k.costs.get(Cost::TrafgenFill));
            ring.set_number(at, filled);
            cpu.store(ring.status(at), tp_status::SEND_REQUEST).await;
            filled += 1;
            at = (at + 1) % ring.frames();
        }
        syscall(cpu, async || {
            let _ = tpacket_snd(cpu, sock, config.size).await;
        })
        .await;
    }
    cpu.settle().await;
    cpu.set_user(false);
    cpu.sleep().await;
}

/// `sendto`: into the kernel and back.
async fn syscall(cpu: Cpu<'_>, body: impl AsyncFnOnce()) {
    cpu.settle().await;
    cpu.set_user(false);
    let _span = cpu.enter(Func::SysSendto);
    cpu.spend(Cost::SysSendto);
    body().await;
    cond_resched(cpu).await;
    cpu.settle().await;
    cpu.set_user(true);
}
