//! Kernel version and toggles.

use super::KernelDraft;
use crate::loader::Loading;
use crate::rules;
use crate::schema;
use crate::tree::Kind;
use crate::units::Quantity;
use crate::walk::{Placed, Value, Walk};
use sim_core::config::{ClockSource, Redirect, Set3Retry};
use sim_core::kernel::cost::Cost;
use sim_core::kernel::drivers::ixgbe::TxKick;
use sim_core::kernel::features::VlanFeatures;
use sim_core::kernel::packet::Direct;
use sim_core::kernel::variant::{Builtin, Lockless};
use sim_core::machine::cost::Arch;

pub(super) fn read(
    loading: &mut Loading<'_>,
    value: &Value<'_>,
    arch: Option<Arch>,
) -> Option<KernelDraft> {
    let obj = loading
        .walk
        .obj(&value.node, &value.path, &schema::KERNEL, &[])?;
    let base = obj.get("base").and_then(|v| loading.walk.text(&v));
    let version = base.as_ref().and_then(|base| version(loading, base));
    let lockless_given = obj.given("lockless").is_some();
    let lockless = match obj.given("lockless") {
        Some(value) => lockless(loading, &value),
        None => version.map(|v| Lockless::Builtin(shipped(v))),
    };
    let direct_given = obj.given("direct").is_some();
    let direct = match obj.given("direct") {
        Some(value) => {
            let all: Vec<(&str, Direct)> = Direct::ALL.iter().map(|&d| (d.name(), d)).collect();
            loading.walk.word(&value, false, &all).map(|d| d.value)
        }
        None => version.map(Direct::shipped),
    };
    let ticks = obj.get("ticks").and_then(|v| loading.walk.switch(&v));
    let retries = [("3a", Set3Retry::ReadFirst), ("3b", Set3Retry::NoRetry)];
    let set3_retry = obj
        .get("set3_retry")
        .and_then(|v| loading.walk.word(&v, true, &retries));
    let dev_weight = obj
        .get("dev_weight")
        .and_then(|v| loading.walk.count32(&v, 1, 65_535));
    let tas = match obj.given("tas_bit_early_return") {
        Some(value) => loading.walk.switch(&value),
        None => {
            let v5 = matches!(lockless, Some(Lockless::Builtin(Builtin::V5)));
            let on = arch == Some(Arch::Arm64) && version.is_some_and(|v| v <= (5, 19)) && !v5;
            Some(Placed {
                value: on,
                at: obj.at.clone(),
            })
        }
    };
    let rates = [100, 250, 300, 1000];
    let hz = obj
        .get("hz")
        .and_then(|v| loading.walk.count32(&v, 100, 1000))
        .filter(|hz| {
            let known = rates.contains(&hz.value);
            if !known {
                let message = format!("no kernel is built with HZ = {}", hz.value);
                loading.walk.report(
                    rules::OUT_OF_RANGE,
                    hz.at.clone(),
                    message,
                    Some("100, 250, 300 or 1000".into()),
                );
            }
            known
        });
    let bql_mb = obj.get("bql_mb").and_then(|v| loading.walk.switch(&v));
    let stop_recheck = obj
        .get("stop_recheck")
        .and_then(|v| loading.walk.switch(&v));
    let tx_kick_given = obj.given("tx_kick").is_some();
    let tx_kick = match obj.given("tx_kick") {
        Some(value) => {
            let all: Vec<(&str, TxKick)> = TxKick::ALL.iter().map(|&k| (k.name(), k)).collect();
            loading.walk.word(&value, false, &all).map(|k| k.value)
        }
        None => version.map(TxKick::shipped),
    };
    let watchdog = obj.get("watchdog").and_then(|v| {
        loading
            .walk
            .optional(v, |walk, v| Some(walk.quantity(v, Quantity::Time)?.value))
    });
    let rules = VlanFeatures::ALL.iter().map(|&v| (v.name(), v));
    let vlan_features = match obj.given("vlan_features") {
        Some(value) => loading
            .walk
            .word(&value, false, &rules.collect::<Vec<_>>())
            .map(|v| v.value),
        None => version.map(|v| {
            if v < (3, 16) {
                VlanFeatures::V3_7
            } else {
                VlanFeatures::Modern
            }
        }),
    };
    let validate_in_lock = match obj.given("validate_in_lock") {
        Some(value) => loading.walk.switch(&value).map(|on| on.value),
        None => version
            .zip(vlan_features)
            .map(|(v, rule)| v < (3, 18) && rule != VlanFeatures::Modern),
    };
    let versions = Redirect::ALL.map(|r| (r.name(), r));
    let redirect = match obj.given("redirect") {
        Some(value) => loading.walk.word(&value, false, &versions).map(|r| r.value),
        None => version.map(redirect),
    };
    let xdp_bulk = obj
        .get("xdp_bulk")
        .and_then(|v| loading.walk.count32(&v, 1, 1024));
    let xdp_flush = obj.get("xdp_flush").and_then(|v| loading.walk.switch(&v));
    let retpoline = obj.get("retpoline").and_then(|v| loading.walk.switch(&v));
    let clock = obj
        .get("clock")
        .and_then(|v| loading.walk.optional(v, clock));
    let max_backlog = obj
        .get("max_backlog")
        .and_then(|v| loading.walk.count32(&v, 1, 1_000_000))
        .map(|n| n.value);
    let veth_mb = obj
        .get("veth_mb")
        .and_then(|v| loading.walk.switch(&v))
        .map(|on| on.value);
    let costs = obj
        .get("costs")
        .map(|v| costs(loading, &v))
        .unwrap_or_default();
    Some(KernelDraft {
        base,
        lockless,
        version,
        lockless_given,
        direct,
        direct_given,
        ticks: ticks.map(|on| on.value),
        set3_retry: set3_retry.map(|r| r.value),
        dev_weight: dev_weight.map(|w| w.value),
        tas_bit_early_return: tas,
        tas_given: obj.given("tas_bit_early_return").is_some(),
        hz: hz.map(|hz| hz.value),
        bql_mb: bql_mb.map(|on| on.value),
        stop_recheck: stop_recheck.map(|on| on.value),
        tx_kick,
        tx_kick_given,
        watchdog,
        vlan_features,
        vlan_features_given: obj.given("vlan_features").is_some(),
        validate_in_lock,
        validate_given: obj.given("validate_in_lock").is_some(),
        redirect,
        redirect_given: obj.given("redirect").is_some(),
        xdp_bulk: xdp_bulk.map(|n| n.value),
        xdp_flush: xdp_flush.map(|on| on.value),
        retpoline: retpoline.map(|on| on.value),
        clock,
        max_backlog,
        veth_mb,
        costs,
    })
}

/// What a kernel version did with redirected XDP frames.
fn redirect(version: (u32, u32)) -> Redirect {
    match version {
        v if v < (5, 5) => Redirect::V5_4,
        v if v < (5, 6) => Redirect::V5_5,
        v if v < (5, 13) => Redirect::V5_6,
        _ => Redirect::V5_13,
    }
}

fn clock(walk: &mut Walk, value: &Value<'_>) -> Option<ClockSource> {
    let obj = walk.obj(&value.node, &value.path, &schema::CLOCK_SOURCE, &[])?;
    let mut time = |name| {
        obj.get(name)
            .and_then(|v| walk.quantity(&v, Quantity::Time))
            .map(|t| t.value)
    };
    let (grain, min_delta, phase) = (time("grain"), time("min_delta"), time("phase"));
    Some(ClockSource {
        grain: grain?,
        min_delta: min_delta?,
        phase: phase?,
    })
}

/// `"v5.11"` or `"v5.11.4"`.
fn version(loading: &mut Loading<'_>, base: &Placed<String>) -> Option<(u32, u32)> {
    let parse = |text: &str| {
        let mut parts = text
            .strip_prefix('v')?
            .split('.')
            .map(|part| part.parse::<u32>().ok());
        let version = (parts.next()??, parts.next()??);
        let rest_is_patch = parts.next().is_none_or(|p| p.is_some()) && parts.next().is_none();
        rest_is_patch.then_some(version)
    };
    let known = |v: &(u32, u32)| {
        let last_minor = match v.0 {
            3 => 19,
            4 => 20,
            5 => 19,
            6 => 18,
            _ => return false,
        };
        v.1 <= last_minor
    };
    let version = parse(&base.value).filter(known);
    if version.is_none() {
        let message = format!(
            "unknown kernel version \"{}\"",
            crate::tree::shorten(&base.value)
        );
        loading.walk.report(
            rules::KERNEL_VERSION,
            base.at.clone(),
            message,
            Some("\"v3.0\" to \"v6.18\", such as \"v5.11\"".into()),
        );
    }
    version
}

/// What a kernel version did with lockless qdiscs. Before v4.16 there were none.
pub(crate) fn shipped(version: (u32, u32)) -> Builtin {
    match version {
        v if v < (4, 16) => Builtin::Locked,
        v if v < (5, 2) => Builtin::V0,
        v if v < (5, 6) => Builtin::V0b,
        v if v < (5, 13) => Builtin::V0,
        v if v < (5, 14) => Builtin::V3,
        v if v < (5, 19) => Builtin::V4,
        _ => Builtin::V5,
    }
}

fn lockless(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<Lockless> {
    let (Kind::Ident(name) | Kind::Str(name)) = &value.node.kind else {
        loading
            .walk
            .mistyped(value, "the name of a lockless variant", None);
        return None;
    };
    let found = loading.registry.variant(name);
    if found.is_none() {
        let message = format!("unknown lockless variant `{}`", crate::tree::shorten(name));
        let registry = loading.registry;
        loading.walk.unknown(
            rules::UNKNOWN_VARIANT,
            value.at(),
            message,
            registry.variant_names(),
            name,
        );
    }
    found
}

fn costs(loading: &mut Loading<'_>, value: &Value<'_>) -> Vec<(Cost, u32)> {
    let mut costs = Vec::new();
    for (key, insns) in loading.walk.entries(value) {
        let Some(cost) = Cost::ALL.iter().copied().find(|c| c.name() == key.value) else {
            let message = format!("unknown cost key `{}`", crate::tree::shorten(&key.value));
            loading.walk.unknown(
                rules::COST_KEY,
                key.at,
                message,
                Cost::ALL.iter().map(|c| c.name()),
                &key.value,
            );
            continue;
        };
        // Far outside of what was counted is allowed: a what-if is a fair question. Absurd is not.
        if let Some(insns) = loading.walk.count32(&insns, 0, 1_000_000) {
            costs.push((cost, insns.value));
        }
    }
    costs
}
