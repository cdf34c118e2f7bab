//! netperf TCP_STREAM: one side sends as fast as the connection takes it, the other reads all that comes.

use crate::config::{Netperf, Netserver};
use crate::kernel::Cpu;
use crate::kernel::tcp::{tcp_recvmsg, tcp_sendmsg};

/// Body of netperf. `ctx` is its own task.
pub(crate) async fn netperf(cpu: Cpu<'_>, load: &Netperf, ctx: u32) {
    let sock = cpu.k.sock(load.conn);
    let mut left = load.bytes.unwrap_or(u64::MAX);
    while left > 0 {
        let message = left.min(u64::from(load.message)) as u32;
        tcp_sendmsg(cpu, sock, message, ctx).await;
        left -= u64::from(message);
    }
    cpu.settle().await;
    cpu.sleep().await;
}

/// Body of netserver.
pub(crate) async fn netserver(cpu: Cpu<'_>, load: &Netserver, ctx: u32) {
    let sock = cpu.k.sock(load.conn);
    loop {
        tcp_recvmsg(cpu, sock, load.size, ctx).await;
    }
}
