//! The words of `struct net_device` that packets read and write.
//!
//! Follows Linux 5.11 `net/core/dev.c`: which function reads which fields, in its order. Read-mostly lines
//! are hot in every cache, so a function's reads are one touch of the lines that they lie on; independent
//! misses overlap. Placed only where a scenario gives a layout of the struct.
//! Approximated: `miniq_egress` is read by every packet, as if some device had clsact (a static key).
//! Absent: fields that need more than the packet at hand (GSO sizes, `num_tc`), and `xdp_bulkq`, which only
//! redirected frames read.

use super::{Cpu, Func};
use crate::machine::layout::Layout;
use crate::machine::memory::{Placement, Word};
use crate::machine::{Footprint, Order, Rmw};

/// A function that reads fields of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// `__dev_queue_xmit`: `sch_handle_egress`, `netdev_core_pick_tx`.
    QueueXmit,
    /// The same on a device without a queue: is it up?
    Noqueue,
    /// `validate_xmit_skb`: what can it do?
    Validate,
    /// `xmit_one`: is anybody listening?
    XmitOne,
    /// `netdev_start_xmit`: the driver's function.
    StartXmit,
    /// `__netif_receive_skb_core`.
    Receive,
}

/// What each function reads, in the kernel's order.
const READS: &[(Reads, Func, &[&str])] = &[
    (
        Reads::QueueXmit,
        Func::DevQueueXmit,
        &[
            "miniq_egress",
            "priv_flags",
            "real_num_tx_queues",
            "netdev_ops",
            "xps_cpus_map",
            "_tx",
        ],
    ),
    (Reads::Noqueue, Func::DevQueueXmit, &["flags"]),
    (
        Reads::Validate,
        Func::SchDirectXmit,
        &["features", "netdev_ops"],
    ),
    (Reads::XmitOne, Func::DevHardStartXmit, &["ptype_all"]),
    (Reads::StartXmit, Func::DevHardStartXmit, &["netdev_ops"]),
    (
        Reads::Receive,
        Func::NetifReceive,
        &["ptype_all", "rx_handler", "ptype_specific"],
    ),
];

/// Who reads field `name` on the packets' way, and who writes it: kernel functions.
pub fn users(name: &str) -> (Vec<&'static str>, Vec<&'static str>) {
    let reads = READS.iter().filter(|(_, _, fields)| fields.contains(&name));
    let mut reads: Vec<&str> = reads.map(|(_, f, _)| f.name()).collect();
    reads.dedup();
    let writes = match name {
        "tx_packets" => vec!["ndo_start_xmit"],
        "rx_packets" => vec![Func::NicPoll.name()],
        "tx_dropped" => vec![Func::DevQueueXmit.name()],
        _ => Vec::new(),
    };
    (reads, writes)
}

/// What one function reads.
#[derive(Debug, Default)]
struct Group {
    lines: Vec<Footprint>,
    words: Vec<Word>,
}

/// The placed words of one device.
#[derive(Debug)]
pub(crate) struct Fields {
    groups: Vec<Group>,
    tx_packets: Option<Word>,
    rx_packets: Option<Word>,
    tx_dropped: Option<Word>,
}

impl Fields {
    /// Places device `name`, with `txqs` transmit queues; `None` if the layout places nothing.
    pub fn place(
        memory: &mut Placement,
        layout: Option<&Layout>,
        name: &str,
        txqs: u32,
    ) -> Option<Fields> {
        let layout = layout.filter(|l| !l.fields.is_empty())?;
        let placed = memory.object(format_args!("net_device {name}"), layout.clone());
        let mut words = Vec::new();
        for (_, _, fields) in READS {
            for &field in *fields {
                if placed.has(field) && !words.iter().any(|(f, _)| *f == field) {
                    words.push((field, memory.field(&placed, field)));
                }
            }
        }
        let groups = READS.iter().map(|(_, _, fields)| {
            let mut group = Group::default();
            for &field in *fields {
                // get_xps_queue is asked only where there is a choice.
                let Some(&(_, word)) = words
                    .iter()
                    .find(|(f, _)| *f == field && (field != "xps_cpus_map" || txqs > 1))
                else {
                    continue;
                };
                group.words.push(word);
                group.add(placed.line_of(field).number(), &placed, field);
            }
            group
        });
        let groups = groups.collect();
        let mut written = |field| placed.has(field).then(|| memory.field(&placed, field));
        Some(Fields {
            groups,
            tx_packets: written("tx_packets"),
            rx_packets: written("rx_packets"),
            tx_dropped: written("tx_dropped"),
        })
    }

    async fn read(&self, cpu: Cpu<'_>, what: Reads) {
        let group = &self.groups[what as usize];
        for lines in &group.lines {
            cpu.touch_fields(*lines, &group.words).await;
        }
    }
}

impl Group {
    /// Adds the line of `field`. A footprint spans 16 lines; what lies farther off is one of its own.
    fn add(&mut self, line: u32, placed: &crate::machine::memory::Placed, field: &str) {
        for f in &mut self.lines {
            if let Some(bit) = line.checked_sub(f.base.number()).filter(|&b| b < 16) {
                f.reads |= 1 << bit;
                return;
            }
        }
        self.lines.push(Footprint {
            base: placed.line_of(field),
            reads: 1,
            writes: 0,
        });
    }
}

/// A function reads its fields of a device, if they are placed.
#[inline(always)]
pub(crate) async fn read(cpu: Cpu<'_>, dev: usize, what: Reads) {
    if let Some(fields) = &cpu.k.dev(dev).fields {
        fields.read(cpu, what).await;
    }
}

/// `dev->stats.tx_packets++`, of a driver that counts in the device.
pub(crate) async fn count_tx(cpu: Cpu<'_>, dev: usize) {
    if let Some(word) = cpu.k.dev(dev).fields.as_ref().and_then(|f| f.tx_packets) {
        count(cpu, word).await;
    }
}

/// `dev->stats.rx_packets++`, likewise.
pub(crate) async fn count_rx(cpu: Cpu<'_>, dev: usize) {
    if let Some(word) = cpu.k.dev(dev).fields.as_ref().and_then(|f| f.rx_packets) {
        count(cpu, word).await;
    }
}

/// `atomic_long_inc(&dev->tx_dropped)`.
pub(crate) async fn count_dropped(cpu: Cpu<'_>, dev: usize) {
    if let Some(word) = cpu.k.dev(dev).fields.as_ref().and_then(|f| f.tx_dropped) {
        cpu.rmw(word, Rmw::Add(1), Order::Relaxed).await;
    }
}

async fn count(cpu: Cpu<'_>, word: Word) {
    let n = cpu.load(word).await;
    cpu.store(word, n + 1).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The enum numbers the table.
    #[test]
    fn groups_stand_at_their_numbers() {
        for (i, (what, _, _)) in READS.iter().enumerate() {
            assert_eq!(*what as usize, i);
        }
    }

    /// Every field that is read or written is one that a layout may place.
    #[test]
    fn every_field_is_known() {
        let known = |name: &str| {
            crate::kernel::layouts::used("net_device")
                .iter()
                .any(|u| u.name == name)
        };
        for field in READS.iter().flat_map(|(_, _, fields)| *fields) {
            assert!(known(field), "{field}");
            assert!(!users(field).0.is_empty());
        }
        for field in ["tx_packets", "rx_packets", "tx_dropped"] {
            assert!(known(field) && !users(field).1.is_empty());
        }
    }
}
