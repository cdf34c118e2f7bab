//! NICs.

use super::NicDraft;
use crate::loader::Loading;
use crate::rules;
use crate::schema;
use crate::units::Quantity;
use crate::walk::{Obj, Placed, Value};
use sim_core::config::{Moderation, NicDriver};

/// Most descriptors of a ring.
const MAX_RING: u32 = 32_768;

pub(super) fn read(loading: &mut Loading<'_>, obj: &Obj<'_>) -> NicDraft {
    let mut count = |name, low, high| {
        obj.get(name)
            .and_then(|v| loading.walk.count32(&v, low, high))
    };
    // A ring of size 0 has a rule of its own.
    let (tx_ring, rx_ring) = (count("tx_ring", 0, MAX_RING), count("rx_ring", 0, MAX_RING));
    let stop_thresh = count("stop_thresh", 1, MAX_RING);
    let wake_thresh = count("wake_thresh", 1, MAX_RING);
    let napi_weight = count("napi_weight", 1, 65_535);
    let rate = obj
        .get("rate")
        .and_then(|v| loading.walk.quantity(&v, Quantity::Rate))
        .filter(|rate| {
            let zero = rate.value == 0;
            if zero {
                loading.walk.report(
                    rules::OUT_OF_RANGE,
                    rate.at.clone(),
                    "a link of rate 0 never sends",
                    None,
                );
            }
            !zero
        });
    let irq_cpu = obj
        .get("irq_cpu")
        .and_then(|v| loading.walk.count(&v, 0, 65_535));
    let wire_overhead = obj
        .get("wire_overhead")
        .and_then(|v| loading.walk.quantity(&v, Quantity::Size));
    NicDraft {
        driver: NicDriver::Plain,
        tx_ring,
        rx_ring,
        rate: rate.map(|r| r.value),
        irq_cpus: irq_cpu.map(|cpu| vec![cpu]),
        moderation: obj.get("moderation").and_then(|v| moderation(loading, &v)),
        bql: obj.get("bql").and_then(|v| bql(loading, v)),
        stop_thresh,
        wake_thresh,
        napi_weight,
        wire_overhead,
    }
}

fn moderation(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<Moderation> {
    let specs = [&schema::THROTTLE, &schema::DELAY];
    let obj = loading
        .walk
        .choice(&value.node, &value.path, "a moderation", &specs)?;
    let mut time = |name| -> Option<Placed<u64>> {
        obj.get(name)
            .and_then(|v| loading.walk.quantity(&v, Quantity::Time))
    };
    if obj.spec.name == "Throttle" {
        return Some(Moderation::Throttle(time("gap")?.value));
    }
    let after = time("usecs");
    let frames = obj
        .get("frames")
        .and_then(|v| loading.walk.count32(&v, 1, u32::MAX));
    Some(Moderation::Delay {
        after: after?.value,
        frames: frames?.value,
    })
}

fn bql(loading: &mut Loading<'_>, value: Value<'_>) -> Option<Option<(u32, u32)>> {
    loading.walk.optional(value, |walk, v| {
        let obj = walk.obj(&v.node, &v.path, &schema::BQL, &[])?;
        let mut limit = |name| {
            obj.get(name)
                .and_then(|v| walk.count32(&v, 0, sim_core::kernel::dql::MAX_LIMIT))
        };
        let (min, max) = (limit("limit_min"), limit("limit_max"));
        let (min, max) = (min?, max?);
        if min.value > max.value {
            let message = format!("limit_min {} is above limit_max {}", min.value, max.value);
            walk.report(rules::OUT_OF_RANGE, min.at, message, None);
            return None;
        }
        Some((min.value, max.value))
    })
}
