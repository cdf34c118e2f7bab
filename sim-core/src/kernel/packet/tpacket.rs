//! `tpacket_snd`: sends every frame of the ring that the user asked for.

use super::{Destructor, EAGAIN, PacketSock, TRUESIZE, net_xmit_errno, tp_status};
use crate::kernel::skb::{Packet, Skb, line};
use crate::kernel::{Cost, Cpu, Func};
use crate::machine::{Order, Rmw};

/// Sends frames of `len` bytes from the socket's ring, from its head on, until one is not to be sent.
/// Returns how many were, or the error that ended it.
///
/// A frame whose packet a stopped queue refused is marked `SEND_REQUEST` again: the next call tries it
/// once more, so nothing is lost.
pub(crate) async fn tpacket_snd(cpu: Cpu<'_>, sock: &PacketSock, len: u32) -> Result<u64, i32> {
    let _span = cpu.enter(Func::TpacketSnd);
    let ring = sock.ring();
    // mutex_lock(&po->pg_vec_lock)
    cpu.rmw(ring.mutex, Rmw::Add(1u64.wrapping_neg()), Order::Full)
        .await;
    let mut sent = 0;
    let result = loop {
        let frame = ring.head.get();
        cpu.spend(Cost::TpacketSnd);
        // packet_current_frame
        if cpu.load(ring.status(frame)).await != tp_status::SEND_REQUEST {
            break Ok(sent);
        }
        match send_frame(cpu, sock, frame, len).await {
            Ok(()) => sent += 1,
            Err(err) => {
                cpu.store(ring.status(frame), tp_status::SEND_REQUEST).await;
                cpu.smp_wmb().await;
                break Err(err);
            }
        }
        ring.head.set((frame + 1) % ring.frames());
    };
    cpu.rmw(ring.mutex, Rmw::Add(1), Order::Full).await;
    result
}

/// One frame: an skb whose payload stays in the ring, and off it goes.
async fn send_frame(cpu: Cpu<'_>, sock: &PacketSock, frame: u32, len: u32) -> Result<(), i32> {
    let k = cpu.k;
    let ring = sock.ring();
    if !sock.may_send(cpu).await {
        return Err(EAGAIN);
    }
    let packet = Packet {
        flow: sock.flow,
        number: ring.numbers[frame as usize].get(),
        len,
        priority: 0,
    };
    let Some(skb) = k.skbs.alloc(cpu, packet).await else {
        return Err(super::ENOBUFS);
    };
    // skb_set_owner_w
    sock.charge(cpu, TRUESIZE).await;
    tpacket_fill_skb(cpu, sock, skb, frame, len).await;
    k.skbs.set_destructor(
        skb,
        Some(Destructor::Tpacket {
            sock: sock.number,
            frame,
        }),
        TRUESIZE + u64::from(len),
    );
    cpu.store(ring.status(frame), tp_status::SENDING).await;
    cpu.smp_wmb().await;
    sock.pending.set(sock.pending.get() + 1);
    k.skbs.set_born(skb, cpu.now());
    let offered = &k.flow(sock.flow).offered;
    k.bump(offered, 1);
    let rc = sock.xmit(cpu, skb).await;
    let err = if rc > 0 { net_xmit_errno(rc) } else { 0 };
    if err != 0 && cpu.load(ring.status(frame)).await == tp_status::AVAILABLE {
        // The skb is gone already. It was no attempt: the frame is tried again.
        offered.set(offered.get() - 1);
        sock.enobufs.set(sock.enobufs.get() + 1);
        return Err(err);
    }
    k.note_result(sock.flow, if rc > 0 { err } else { rc }, len);
    Ok(())
}

/// The headers are copied, the rest of the frame becomes a page fragment.
async fn tpacket_fill_skb(cpu: Cpu<'_>, sock: &PacketSock, skb: Skb, frame: u32, len: u32) {
    cpu.spend(Cost::TpacketFill);
    let skbs = &cpu.k.skbs;
    let all = line::L0 | line::L1 | line::L2 | line::L3;
    cpu.touch([
        skbs.struct_lines(skb, 0, all),
        skbs.head_lines(skb, 0, line::HEADERS | line::SHINFO),
    ])
    .await;
    sock.charge(cpu, u64::from(len)).await;
    sock.ring().pages.get(cpu, frame).await;
    cpu.spend(Cost::PacketParseHeaders);
}
