//! Rules about queueing disciplines.

use crate::file::HostDraft;
use crate::rules;
use crate::walk::Walk;
use sim_core::config::Qdisc;

/// Slots of simulated memory that each transmit queue's qdisc takes: arrays, not lists.
pub(crate) fn slots(qdisc: &Qdisc) -> u64 {
    match qdisc {
        Qdisc::PfifoFast { limit } => 3 * u64::from(*limit),
        Qdisc::FqCodel { flows, .. } => u64::from(*flows),
        Qdisc::Tbf(tbf) => slots(&tbf.child),
        Qdisc::Mq(each) => slots(each),
        Qdisc::Pfifo { .. }
        | Qdisc::Bfifo { .. }
        | Qdisc::Codel { .. }
        | Qdisc::Prio { .. }
        | Qdisc::Noqueue => 0,
    }
}

/// Whether it could never hold a packet.
pub(crate) fn is_empty(qdisc: &Qdisc) -> bool {
    match qdisc {
        Qdisc::PfifoFast { limit }
        | Qdisc::Pfifo { limit }
        | Qdisc::Bfifo { limit }
        | Qdisc::Codel { limit, .. }
        | Qdisc::Prio { limit, .. }
        | Qdisc::FqCodel { limit, .. } => *limit == 0,
        Qdisc::Tbf(tbf) => is_empty(&tbf.child),
        Qdisc::Mq(each) => is_empty(each),
        Qdisc::Noqueue => false,
    }
}

/// `mq` is refused on a device with one queue (`mq_init`).
pub(crate) fn multiqueue(host: &HostDraft, walk: &mut Walk) {
    for device in &host.devices {
        let (Some(qdisc), Some(txqs)) = (&device.qdisc, &device.txqs) else {
            continue;
        };
        if matches!(qdisc.value, Qdisc::Mq(_)) && txqs.value < 2 {
            let message = "mq on a device with one transmit queue";
            let help = Some("give the device `txqs: 2` or more, or its child as the root".into());
            walk.report(rules::MULTIQUEUE, qdisc.at.clone(), message, help);
        }
        for queue in device.xps.iter().flatten() {
            if queue.value >= u64::from(txqs.value) {
                let message = format!("transmit queue {} of {}", queue.value, txqs.value);
                let help = Some("queues count from 0".into());
                walk.report(rules::MULTIQUEUE, queue.at.clone(), message, help);
            }
        }
    }
}
