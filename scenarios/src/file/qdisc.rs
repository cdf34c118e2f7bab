//! Queueing disciplines.

use crate::rules;
use crate::schema;
use crate::schema::StructSpec;
use crate::units::Quantity;
use crate::walk::{Obj, Placed, Value, Walk};
use sim_core::config::{Qdisc, Tbf};

/// Most bytes of a queue or a bucket.
const MAX_BYTES: u64 = 1 << 30;
const LEAVES: [&StructSpec; 6] = [
    &schema::PFIFO_FAST,
    &schema::PFIFO,
    &schema::BFIFO,
    &schema::PRIO,
    &schema::CODEL,
    &schema::FQ_CODEL,
];

/// The root of a device.
pub(super) fn read(walk: &mut Walk, value: &Value<'_>) -> Option<Placed<Qdisc>> {
    choice(walk, value, &[&schema::TBF, &schema::MQ, &schema::NOQUEUE])
}

fn choice(
    walk: &mut Walk,
    value: &Value<'_>,
    more: &[&'static StructSpec],
) -> Option<Placed<Qdisc>> {
    let specs: Vec<&StructSpec> = LEAVES.iter().copied().chain(more.iter().copied()).collect();
    let obj = walk.choice(&value.node, &value.path, "a qdisc", &specs)?;
    let qdisc = match obj.spec.name {
        "Noqueue" => Qdisc::Noqueue,
        "Tbf" => tbf(walk, &obj)?,
        "Mq" => Qdisc::Mq(Box::new(child(walk, &obj, &[&schema::TBF])?)),
        "Bfifo" => {
            let limit = bytes(walk, &obj, "limit", 0)?;
            return Some(Placed {
                value: Qdisc::Bfifo { limit: limit.value },
                at: limit.at,
            });
        }
        _ => return leaf(walk, &obj),
    };
    Some(value.place(qdisc))
}

fn child(walk: &mut Walk, obj: &Obj<'_>, more: &[&'static StructSpec]) -> Option<Qdisc> {
    choice(walk, &obj.get("child")?, more).map(|q| q.value)
}

fn leaf(walk: &mut Walk, obj: &Obj<'_>) -> Option<Placed<Qdisc>> {
    let placed = obj
        .get("limit")
        .and_then(|v| walk.count32(&v, 0, 1_000_000))?;
    let limit = placed.value;
    let qdisc = match obj.spec.name {
        "Pfifo" => Qdisc::Pfifo { limit },
        "Prio" => prio(walk, obj, limit)?,
        "Codel" => Qdisc::Codel {
            limit,
            target: time(walk, obj, "target")?,
            interval: time(walk, obj, "interval")?,
        },
        "FqCodel" => fq_codel(walk, obj, limit)?,
        _ => Qdisc::PfifoFast { limit },
    };
    Some(Placed {
        value: qdisc,
        at: placed.at,
    })
}

fn time(walk: &mut Walk, obj: &Obj<'_>, name: &str) -> Option<u64> {
    let value = obj.get(name)?;
    walk.quantity(&value, Quantity::Time).map(|t| t.value)
}

/// A number of bytes that fits in 32 bits.
fn bytes(walk: &mut Walk, obj: &Obj<'_>, name: &str, low: u64) -> Option<Placed<u32>> {
    let size = walk.quantity(&obj.get(name)?, Quantity::Size)?;
    if !(low..=MAX_BYTES).contains(&size.value) {
        let message = format!("{} bytes; {low} to {MAX_BYTES} are possible", size.value);
        walk.report(rules::OUT_OF_RANGE, size.at, message, None);
        return None;
    }
    Some(Placed {
        value: size.value as u32,
        at: size.at,
    })
}

/// A rate that sends: at least a byte a second.
fn rate(walk: &mut Walk, obj: &Obj<'_>) -> Option<u64> {
    let rate = walk.quantity(&obj.get("rate")?, Quantity::Rate)?;
    if rate.value < 8 {
        let message = "less than a byte a second never sends";
        walk.report(rules::OUT_OF_RANGE, rate.at, message, None);
        return None;
    }
    Some(rate.value)
}

fn prio(walk: &mut Walk, obj: &Obj<'_>, limit: u32) -> Option<Qdisc> {
    let bands = obj
        .get("bands")
        .and_then(|v| walk.count32(&v, 2, 16))?
        .value;
    let value = obj.get("priomap")?;
    let list = walk.list(&value);
    if list.len() != 16 {
        let message = format!(
            "a priomap of {} bands; one for each of 16 priorities",
            list.len()
        );
        walk.report(rules::OUT_OF_RANGE, value.at(), message, None);
        return None;
    }
    let mut priomap = [0; 16];
    for (slot, v) in priomap.iter_mut().zip(&list) {
        *slot = walk.count32(v, 0, bands - 1)?.value as u8;
    }
    Some(Qdisc::Prio {
        limit,
        bands: bands as u8,
        priomap,
    })
}

fn tbf(walk: &mut Walk, obj: &Obj<'_>) -> Option<Qdisc> {
    let bits = rate(walk, obj);
    let burst = bytes(walk, obj, "burst", 1);
    let (overhead, mpu) = (bytes(walk, obj, "overhead", 0), bytes(walk, obj, "mpu", 0));
    let peak = obj.get("peak").and_then(|v| peak(walk, v));
    let child = child(walk, obj, &[]);
    Some(Qdisc::Tbf(Box::new(Tbf {
        rate: bits?,
        burst: burst?.value,
        overhead: overhead?.value,
        mpu: mpu?.value,
        peak: peak?,
        child: child?,
    })))
}

fn peak(walk: &mut Walk, value: Value<'_>) -> Option<Option<(u64, u32)>> {
    walk.optional(value, |walk, v| {
        let obj = walk.obj(&v.node, &v.path, &schema::PEAK, &[])?;
        let (bits, mtu) = (rate(walk, &obj), bytes(walk, &obj, "mtu", 1));
        Some((bits?, mtu?.value))
    })
}

fn fq_codel(walk: &mut Walk, obj: &Obj<'_>, limit: u32) -> Option<Qdisc> {
    let flows = obj.get("flows").and_then(|v| walk.count32(&v, 1, 65_536));
    let quantum = obj
        .get("quantum")
        .and_then(|v| walk.quantity(&v, Quantity::Size));
    let (target, interval) = (time(walk, obj, "target"), time(walk, obj, "interval"));
    Some(Qdisc::FqCodel {
        limit,
        flows: flows?.value,
        // A flow without credit would never have its turn.
        quantum: u32::try_from(quantum?.value)
            .unwrap_or(u32::MAX)
            .clamp(1, 1 << 20),
        target: target?,
        interval: interval?,
    })
}
