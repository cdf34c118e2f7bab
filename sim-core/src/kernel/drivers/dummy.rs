//! `drivers/net/dummy.c`: LLTX, counts the packet and frees it.

use crate::kernel::netdev::NET_XMIT_SUCCESS;
use crate::kernel::skb::{Skb, line};
use crate::kernel::{Cost, Cpu, Func};

/// `dummy_xmit`.
pub(crate) async fn dummy_xmit(cpu: Cpu<'_>, skb: Skb) -> i32 {
    let _span = cpu.enter(Func::DummyXmit);
    cpu.spend(Cost::DummyXmit);
    cpu.touch([cpu
        .k
        .skbs
        .struct_lines(skb, line::L0 | line::L1 | line::L3, 0)])
        .await;
    // dev_lstats_add
    cpu.this_cpu_op();
    if cpu.k.skbs.frame(skb).dport != 0 {
        cpu.k.bump(&cpu.k.udp.left, 1);
    }
    cpu.k.skbs.put(cpu, skb).await;
    NET_XMIT_SUCCESS
}
