//! netperf and netserver, and the parameters of a scenario.

use super::{LoadDraft, Packets};
use crate::loader::Loading;
use crate::units::Quantity;
use crate::walk::{Obj, Placed, Value};

pub(crate) struct NetperfDraft {
    pub dev: Option<Placed<String>>,
    pub cpu: Option<Vec<Placed<u64>>>,
    pub to: Option<Placed<String>>,
    pub port: Option<Placed<u32>>,
    pub message: Option<Placed<u64>>,
    pub sndbuf: Option<Placed<u64>>,
    pub limit_output: Option<Placed<u64>>,
    pub bytes: Packets,
}

pub(crate) struct NetserverDraft {
    pub dev: Option<Placed<String>>,
    pub cpu: Option<Vec<Placed<u64>>>,
    pub port: Option<Placed<u32>>,
    pub window: Option<Placed<u64>>,
    pub size: Option<Placed<u64>>,
}

/// Most bytes of a buffer.
const MAX_BUFFER: u64 = 64 << 20;

fn text(loading: &mut Loading<'_>, obj: &Obj<'_>, name: &str) -> Option<Placed<String>> {
    obj.get(name).and_then(|v| loading.walk.text(&v))
}

pub(super) fn cpu(loading: &mut Loading<'_>, obj: &Obj<'_>) -> Option<Vec<Placed<u64>>> {
    let value = obj.get("cpu")?;
    Some(vec![loading.walk.count(&value, 0, 65_535)?])
}

pub(super) fn port(loading: &mut Loading<'_>, obj: &Obj<'_>) -> Option<Placed<u32>> {
    obj.get("port")
        .and_then(|v| loading.walk.count32(&v, 1, 65_535))
}

/// A buffer's size, which has to hold something.
pub(super) fn buffer(
    loading: &mut Loading<'_>,
    obj: &Obj<'_>,
    name: &str,
    low: u64,
) -> Option<Placed<u64>> {
    let size = obj
        .get(name)
        .and_then(|v| loading.walk.quantity(&v, Quantity::Size))?;
    if (low..=MAX_BUFFER).contains(&size.value) {
        return Some(size);
    }
    let message = format!("{} bytes", size.value);
    let help = format!("between {low}B and {}MiB", MAX_BUFFER >> 20);
    loading
        .walk
        .report(crate::rules::OUT_OF_RANGE, size.at, message, Some(help));
    None
}

pub(super) fn netperf(loading: &mut Loading<'_>, obj: &Obj<'_>) -> LoadDraft {
    let bytes = obj.get("bytes").and_then(|value| {
        let at = value.at();
        let read = loading
            .walk
            .optional(value, |walk, v| walk.quantity(v, Quantity::Size))?;
        Some(Placed {
            value: read.map(|n| n.value),
            at,
        })
    });
    LoadDraft::Netperf(Box::new(NetperfDraft {
        dev: text(loading, obj, "dev"),
        cpu: cpu(loading, obj),
        to: text(loading, obj, "to"),
        port: port(loading, obj),
        message: buffer(loading, obj, "message", 1),
        sndbuf: buffer(loading, obj, "sndbuf", 4608),
        limit_output: buffer(loading, obj, "limit_output", 4608),
        bytes,
    }))
}

pub(super) fn netserver(loading: &mut Loading<'_>, obj: &Obj<'_>) -> LoadDraft {
    LoadDraft::Netserver(Box::new(NetserverDraft {
        dev: text(loading, obj, "dev"),
        cpu: cpu(loading, obj),
        port: port(loading, obj),
        window: buffer(loading, obj, "window", 4096),
        size: buffer(loading, obj, "size", 1),
    }))
}

/// `{"reorder_hdr": ["hosts[0].devices[1].kind.reorder_hdr"]}`. Whether the paths lead anywhere is known
/// when a parameter is set.
pub(super) fn parameters(
    loading: &mut Loading<'_>,
    value: Option<Value<'_>>,
) -> Vec<(String, Vec<String>)> {
    let Some(value) = value else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (name, paths) in loading.walk.entries(&value) {
        let paths = loading.walk.list(&paths);
        let texts = paths
            .iter()
            .filter_map(|v| loading.walk.text(v))
            .map(|t| t.value);
        all.push((name.value, texts.collect()));
    }
    all
}
