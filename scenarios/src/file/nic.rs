//! NICs.

use super::{NicDraft, VlanDraft};
use crate::loader::Loading;
use crate::rules;
use crate::schema::{self, StructSpec};
use crate::units::Quantity;
use crate::walk::{Obj, Placed, Value};
use sim_core::config::{Moderation, NicDriver};
use sim_core::frame::Tpid;
use sim_core::kernel::drivers::ixgbe;
use sim_core::kernel::features::Features;

/// Least MTU: what every IPv4 host takes (RFC 791).
const MIN_MTU: u64 = 576;
/// Most descriptors of a ring.
const MAX_RING: u32 = 32_768;

pub(super) fn read(loading: &mut Loading<'_>, obj: &Obj<'_>) -> NicDraft {
    let mut count = |name, low, high| {
        obj.get(name)
            .and_then(|v| loading.walk.count32(&v, low, high))
    };
    let driver = match obj.spec.name {
        "Myri10ge" => NicDriver::Myri10ge,
        "Ixgbe" => NicDriver::Ixgbe,
        "Mlx5" => NicDriver::Mlx5,
        _ => NicDriver::Plain,
    };
    // A ring of size 0 has a rule of its own.
    let (least, most) = match driver {
        NicDriver::Ixgbe => (ixgbe::MIN_RING, ixgbe::MAX_RING),
        _ => (0, MAX_RING),
    };
    let (tx_ring, rx_ring) = (count("tx_ring", least, most), count("rx_ring", least, most));
    // The others have rules of their own for stopping and waking.
    let mut thresh = |name, own| match driver {
        NicDriver::Plain => count(name, 1, MAX_RING),
        NicDriver::Ixgbe => fixed(obj, own),
        NicDriver::Myri10ge | NicDriver::Mlx5 => fixed(obj, 1),
    };
    let stop_thresh = thresh("stop_thresh", ixgbe::DESC_NEEDED);
    let wake_thresh = thresh("wake_thresh", ixgbe::TX_WAKE_THRESHOLD);
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
    let irq_cpus = match driver {
        NicDriver::Mlx5 | NicDriver::Ixgbe => obj
            .get("irq_cpus")
            .and_then(|v| super::load::cpu_list(loading, v, "a NIC")),
        _ => obj
            .get("irq_cpu")
            .and_then(|v| loading.walk.count(&v, 0, 65_535))
            .map(|cpu| vec![cpu]),
    };
    let wire_overhead = obj
        .get("wire_overhead")
        .and_then(|v| loading.walk.quantity(&v, Quantity::Size));
    let offloads = obj.get("offloads");
    let features = offloads.and_then(|v| features(loading, &v));
    let vlan_features = match obj.given("vlan_offloads") {
        Some(value) => self::features(loading, &value),
        None => features.map(|f| f - Features::TAG_TX),
    };
    let max_tags = obj.get("max_tags_offload");
    let max_tags = max_tags.and_then(|v| loading.walk.count32(&v, 0, 4));
    NicDraft {
        driver,
        tx_ring,
        rx_ring,
        rate: rate.map(|r| r.value),
        irq_cpus,
        moderation: obj
            .get("moderation")
            .and_then(|v| moderation(loading, &v, driver)),
        bql: match driver {
            NicDriver::Myri10ge => Some(None),
            _ => obj.get("bql").and_then(|v| bql(loading, v)),
        },
        stop_thresh,
        wake_thresh,
        napi_weight,
        wire_overhead,
        features,
        vlan_features,
        tx_memory: if driver == NicDriver::Myri10ge {
            obj.get("tx_memory")
                .and_then(|v| loading.walk.quantity(&v, Quantity::Size))
                .map(|size| u32::try_from(size.value).unwrap_or(u32::MAX))
        } else {
            Some(0)
        },
        max_tags_offload: max_tags.and_then(|n| u8::try_from(n.value).ok()),
    }
}

/// A threshold of the driver's own.
fn fixed(obj: &Obj<'_>, value: u32) -> Option<Placed<u32>> {
    Some(Placed {
        value,
        at: obj.at.clone(),
    })
}

/// Offloads that a NIC can be given, and their words in a scenario.
pub(crate) const OFFLOADS: [(&str, Features); 5] = [
    ("sg", Features::SG),
    ("ip_csum", Features::IP_CSUM),
    ("hw_csum", Features::HW_CSUM),
    ("tso", Features::TSO),
    ("vlan_tx", Features::HW_VLAN_CTAG_TX),
];

fn features(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<Features> {
    let list = loading.walk.list(value);
    let mut all = Features::NONE;
    for word in &list {
        all |= loading.walk.word(word, false, &OFFLOADS)?.value;
    }
    Some(all)
}

/// A VLAN device.
pub(super) fn vlan(loading: &mut Loading<'_>, obj: &Obj<'_>) -> VlanDraft {
    let protos = [("q", Tpid::Q), ("ad", Tpid::Ad)];
    let mtu = obj.get("mtu");
    VlanDraft {
        on: obj.get("on").and_then(|v| loading.walk.text(&v)),
        id: obj
            .get("id")
            .and_then(|v| loading.walk.count32(&v, 1, 4094)),
        proto: obj
            .get("proto")
            .and_then(|v| loading.walk.word(&v, false, &protos))
            .map(|p| p.value),
        reorder_hdr: obj
            .get("reorder_hdr")
            .and_then(|v| loading.walk.switch(&v))
            .map(|on| on.value),
        mtu_at: mtu.as_ref().map(Value::at),
        mtu: mtu.and_then(|v| {
            loading.walk.optional(v, |walk, v| {
                let mtu = walk.quantity(v, Quantity::Size)?;
                if mtu.value < MIN_MTU {
                    let help = Some(format!("at least {MIN_MTU}B"));
                    let message = format!("an MTU of {} bytes", mtu.value);
                    walk.report(rules::OUT_OF_RANGE, mtu.at, message, help);
                    return None;
                }
                Some(mtu.value)
            })
        }),
    }
}

fn moderation(
    loading: &mut Loading<'_>,
    value: &Value<'_>,
    driver: NicDriver,
) -> Option<Moderation> {
    let specs: [&StructSpec; 2] = match driver {
        NicDriver::Ixgbe => [&schema::ADAPTIVE, &schema::THROTTLE],
        NicDriver::Plain | NicDriver::Myri10ge | NicDriver::Mlx5 => {
            [&schema::THROTTLE, &schema::DELAY]
        }
    };
    let obj = loading
        .walk
        .choice(&value.node, &value.path, "a moderation", &specs)?;
    if obj.spec.name == "Adaptive" {
        return Some(Moderation::Adaptive);
    }
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
