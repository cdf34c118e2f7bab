//! `packet_snd`: one packet, copied from the user.

use super::{Destructor, EAGAIN, ENOBUFS, PacketSock, TRUESIZE, net_xmit_errno};
use crate::kernel::skb::{Packet, line};
use crate::kernel::{Cost, Cpu, Func};

/// Sends one packet; an error is the user's to try again.
pub(crate) async fn packet_snd(cpu: Cpu<'_>, sock: &PacketSock, packet: Packet) -> Result<(), i32> {
    let _span = cpu.enter(Func::PacketSnd);
    cpu.spend(Cost::PacketSnd);
    let k = cpu.k;
    if !sock.may_send(cpu).await {
        return Err(EAGAIN);
    }
    let Some(skb) = k.skbs.alloc(cpu, packet).await else {
        return Err(ENOBUFS);
    };
    sock.charge(cpu, TRUESIZE + u64::from(packet.len)).await;
    // skb_copy_datagram_from_iter
    cpu.spend(Cost::PacketCopyFrom);
    let all = line::L0 | line::L1 | line::L2 | line::L3;
    cpu.touch([
        k.skbs.struct_lines(skb, 0, all),
        k.skbs.head_lines(skb, 0, line::HEADERS),
    ])
    .await;
    cpu.spend(Cost::PacketParseHeaders);
    k.skbs.set_destructor(
        skb,
        Some(Destructor::SockWfree { sock: sock.number }),
        TRUESIZE + u64::from(packet.len),
    );
    k.skbs.set_born(skb, cpu.now());
    let offered = &k.flow(sock.flow).offered;
    k.bump(offered, 1);
    let rc = sock.xmit(cpu, skb).await;
    let err = if rc > 0 { net_xmit_errno(rc) } else { 0 };
    if err == ENOBUFS {
        offered.set(offered.get() - 1);
        sock.enobufs.set(sock.enobufs.get() + 1);
        return Err(err);
    }
    k.note_result(sock.flow, if rc > 0 { err } else { rc }, packet.len);
    Ok(())
}
