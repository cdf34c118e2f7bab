//! What a test judges.

use crate::expect::{Bound, Expect, METRICS, Violations};
use crate::loader::Loading;
use crate::rules;
use crate::schema;
use crate::tree::Kind;
use crate::units::Quantity;
use crate::walk::Value;
use sim_core::violation::Law;
use std::borrow::Cow;

pub(super) fn read(loading: &mut Loading<'_>, value: &Value<'_>) -> Expect {
    let Some(obj) = loading
        .walk
        .obj(&value.node, &value.path, &schema::EXPECT, &[])
    else {
        return Expect::default();
    };
    let violations = obj
        .get("violations")
        .and_then(|v| violations(loading, &v))
        .unwrap_or_default();
    let metrics = obj
        .get("metrics")
        .map(|v| metrics(loading, &v))
        .unwrap_or_default();
    Expect {
        violations,
        metrics,
    }
}

fn violations(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<Violations> {
    match &value.node.kind {
        Kind::Tuple(Some(name), items) if name.text == "Require" && items.len() == 1 => {
            let laws = Value {
                node: Cow::Borrowed(&items[0]),
                path: value.path.clone(),
                given: true,
            };
            let known: Vec<(&str, Law)> = Law::ALL.iter().map(|&law| (law.name(), law)).collect();
            let list = loading.walk.list(&laws);
            if list.is_empty() && matches!(laws.node.kind, Kind::List(_)) {
                let message = "`Require([])` requires nothing: write `Allow`";
                loading
                    .walk
                    .report(rules::EMPTY_LIST, laws.at(), message, None);
            }
            let laws: Option<Vec<Law>> = list
                .iter()
                .map(|v| loading.walk.word(v, false, &known).map(|l| l.value))
                .collect();
            laws.map(Violations::Require)
        }
        Kind::Ident(name) if name == "Forbid" => Some(Violations::Forbid),
        Kind::Ident(name) if name == "Allow" => Some(Violations::Allow),
        _ => {
            loading
                .walk
                .mistyped(value, "`Forbid`, `Allow` or `Require([PacketStuck])`", None);
            None
        }
    }
}

fn metrics(loading: &mut Loading<'_>, value: &Value<'_>) -> Vec<Bound> {
    let list = loading.walk.list(value);
    list.iter().filter_map(|v| bound(loading, v)).collect()
}

fn bound(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<Bound> {
    let obj = loading
        .walk
        .obj(&value.node, &value.path, &schema::BOUND, &[])?;
    let metric = obj.get("metric").and_then(|v| loading.walk.text(&v));
    if let Some(name) = metric
        .as_ref()
        .filter(|m| METRICS.iter().all(|k| k.name != m.value))
    {
        let message = format!("unknown metric \"{}\"", crate::tree::shorten(&name.value));
        loading.walk.unknown(
            rules::UNKNOWN_METRIC,
            name.at.clone(),
            message,
            METRICS.iter().map(|m| m.name),
            &name.value,
        );
        return None;
    }
    let (low, high) = (obj.given("min"), obj.given("max"));
    let given = low.is_some() || high.is_some();
    let min = low.map(|v| number(loading, &v));
    let max = high.map(|v| number(loading, &v));
    let (min, max) = (flip(min)?, flip(max)?);
    if !given || min.zip(max).is_some_and(|(min, max)| min > max) {
        let message = if given {
            "`min` is above `max`"
        } else {
            "neither `min` nor `max` is given"
        };
        loading
            .walk
            .report(rules::EMPTY_BOUND, obj.at.clone(), message, None);
        return None;
    }
    Some(Bound {
        metric: metric?.value,
        min,
        max,
    })
}

/// A field that is absent is fine; one that is wrong is not.
fn flip(value: Option<Option<f64>>) -> Option<Option<f64>> {
    value.map_or(Some(None), |v| v.map(Some))
}

/// A number, or a quantity in the unit that metrics count in: packets a second, nanoseconds, bytes.
fn number(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<f64> {
    match &value.node.kind {
        Kind::Int(n) => Some(*n as f64),
        Kind::Float(x) if x.is_finite() => Some(*x),
        Kind::Str(text) if text.ends_with("pps") => loading
            .walk
            .quantity(value, Quantity::PacketRate)
            .map(|n| n.value as f64),
        Kind::Str(text) if text.ends_with('s') => loading
            .walk
            .quantity(value, Quantity::Time)
            .map(|n| n.value as f64 / 1e3),
        _ => {
            loading.walk.mistyped(
                value,
                "a number, a packet rate such as \"5Mpps\" or a time such as \"2us\"",
                None,
            );
            None
        }
    }
}
