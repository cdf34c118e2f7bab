//! Hosts: machine, layouts, devices.

use super::{
    DeviceDraft, HostDraft, KindDraft, LinkDraft, MAX_PARTS, MachineDraft, VethDraft, kernel,
    limited, load, qdisc,
};
use crate::loader::Loading;
use crate::machine::{self, MEMORY, override_param, param_names};
use crate::rules;
use crate::schema;
use crate::tree::{FieldNode, Kind, Name, Node};
use crate::units::Quantity;
use crate::walk::Value;
use sim_core::machine::cost::MemoryModel;
use sim_core::machine::layout::LayoutSet;
use std::borrow::Cow;

/// What the scenario says for all its hosts.
pub(super) struct Defaults<'d> {
    pub machine: Option<&'d Value<'d>>,
    pub kernel: Option<&'d Value<'d>>,
    pub layouts: &'d LayoutSet,
}

pub(super) fn read(
    loading: &mut Loading<'_>,
    value: &Value<'_>,
    defaults: &Defaults<'_>,
) -> Option<HostDraft> {
    let obj = loading
        .walk
        .obj(&value.node, &value.path, &schema::HOST, &[])?;
    let name = obj.get("name").and_then(|v| loading.walk.text(&v));
    let machine = match (obj.given("machine"), defaults.machine) {
        (Some(own), top) => machine(loading, &merged(&own, top)),
        (None, Some(top)) => machine(loading, top),
        (None, None) => {
            let help = Some("give `machine` here, or once for the whole scenario".into());
            let mut at = obj.at.clone();
            at.span.end = at.span.start + 1;
            loading
                .walk
                .report(rules::MISSING_FIELD, at, "missing field `machine`", help);
            None
        }
    };
    let arch = machine.as_ref().map(|m: &MachineDraft| m.profile.arch);
    let kernel = match (obj.given("kernel"), defaults.kernel) {
        (Some(own), top) => kernel::read(loading, &merged(&own, top), arch),
        (None, Some(top)) => kernel::read(loading, top, arch),
        (None, None) => None,
    };
    let mut all_layouts = defaults.layouts.clone();
    if let Some(own) = obj.given("layouts") {
        super::layout::read(loading, &own, &mut all_layouts);
    }
    let devices = parts(loading, obj.get("devices"), "devices", device);
    let workloads = parts(loading, obj.get("workloads"), "workloads", load::read);
    let named = |d: &Option<DeviceDraft>| d.as_ref().is_some_and(|d| d.name.is_some());
    let devices_known = devices.as_ref().is_some_and(|list| list.iter().all(named));
    let kernel = kernel.unwrap_or_default();
    Some(HostDraft {
        name,
        machine,
        kernel,
        layouts: all_layouts,
        devices: devices.into_iter().flatten().flatten().collect(),
        devices_known,
        workloads: workloads.into_iter().flatten().flatten().collect(),
    })
}

/// The elements of a list, `None` for each that is wrong; `None` if the list itself is.
fn parts<T>(
    loading: &mut Loading<'_>,
    value: Option<Value<'_>>,
    what: &str,
    read: fn(&mut Loading<'_>, &Value<'_>) -> Option<T>,
) -> Option<Vec<Option<T>>> {
    let value = value?;
    let list = loading.walk.list(&value);
    let is_list = matches!(value.node.kind, Kind::List(_));
    let fits = limited(loading, &value, list.len(), MAX_PARTS, what);
    (is_list && fits).then(|| list.iter().map(|v| read(loading, v)).collect())
}

/// A host's fields over the scenario's. A host that names a profile starts afresh.
fn merged<'v>(own: &Value<'v>, top: Option<&Value<'_>>) -> Value<'v> {
    let mut node = as_struct(&own.node);
    let top = top.map(|t| as_struct(&t.node));
    if let (Kind::Struct(_, fields), Some(Kind::Struct(_, inherited))) =
        (&mut node.kind, top.map(|t| t.kind))
        && !fields.iter().any(|f| f.name.text == "profile")
    {
        let missing: Vec<_> = inherited
            .into_iter()
            .filter(|f| !fields.iter().any(|g| g.name.text == f.name.text))
            .collect();
        fields.extend(missing);
    }
    Value {
        node: Cow::Owned(node),
        path: own.path.clone(),
        given: true,
    }
}

/// `"kunpeng-920"` means `(profile: "kunpeng-920")`, and `()` is a struct without fields.
pub(crate) fn as_struct(node: &Node) -> Node {
    let kind = match &node.kind {
        Kind::Str(_) => {
            let name = Name {
                text: "profile".into(),
                span: node.span,
            };
            Kind::Struct(
                None,
                vec![FieldNode {
                    name,
                    value: node.clone(),
                }],
            )
        }
        Kind::Unit => Kind::Struct(None, Vec::new()),
        other => other.clone(),
    };
    Node {
        kind,
        span: node.span,
    }
}

pub(super) fn machine(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<MachineDraft> {
    let node = as_struct(&value.node);
    let obj = loading
        .walk
        .obj(&node, &value.path, &schema::MACHINE, &param_names())?;
    let reference = obj.get("profile").and_then(|v| loading.walk.text(&v));
    let store_buffer = obj
        .given("store_buffer")
        .and_then(|v| loading.walk.switch(&v));
    let memory = obj
        .given("memory")
        .and_then(|v| loading.walk.word(&v, false, &MEMORY));
    let mut overrides = Vec::new();
    if let Kind::Struct(_, fields) = &node.kind {
        for field in fields {
            if let Some(param) = override_param(&field.name.text) {
                let path = crate::walk::join(&value.path, &field.name.text);
                let given = Value {
                    node: Cow::Borrowed(&field.value),
                    path,
                    given: true,
                };
                overrides.push((param, machine::read_value(&mut loading.walk, &given, param)));
            }
        }
    }
    let reference = reference?;
    let file = loading.profile(&reference)?;
    let mut profile = file.profile.clone();
    for (param, value) in overrides {
        profile.set(param, value?.value);
    }
    if let Some(memory) = memory {
        profile.memory = memory.value;
        profile.store_buffer &= memory.value != MemoryModel::Sc;
    }
    if let Some(on) = &store_buffer {
        profile.store_buffer = on.value;
    }
    Some(MachineDraft {
        reference: reference.value,
        file,
        profile,
        store_buffer,
    })
}

fn device(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<DeviceDraft> {
    let obj = loading
        .walk
        .obj(&value.node, &value.path, &schema::DEVICE, &[])?;
    let name = obj
        .get("name")
        .and_then(|v| loading.walk.text(&v))
        .filter(|name| {
            let fits = (1..=15).contains(&name.value.len())
                && !name
                    .value
                    .contains(|c: char| c == '/' || c.is_whitespace() || c == ':');
            if !fits {
                let message = format!(
                    "{:?} is no interface name",
                    crate::tree::shorten(&name.value)
                );
                loading.walk.report(
                    rules::NAME,
                    name.at.clone(),
                    message,
                    Some("1 to 15 characters, no blank, `/` or `:`".into()),
                );
            }
            fits
        });
    let kind = obj.get("kind").and_then(|v| kind(loading, &v));
    let txqs = obj
        .get("txqs")
        .and_then(|v| loading.walk.count32(&v, 1, 256));
    let qdisc = obj
        .get("qdisc")
        .and_then(|v| qdisc::read(&mut loading.walk, &v));
    let mut numbers = |name, high| {
        let value = obj.get(name)?;
        let list = loading.walk.list(&value);
        let numbers = list.iter().map(|v| loading.walk.count(v, 0, high));
        numbers.collect::<Option<Vec<_>>>()
    };
    let (rps_cpus, xps) = (numbers("rps_cpus", 65_535), numbers("xps", 255));
    Some(DeviceDraft {
        name,
        kind,
        txqs,
        qdisc,
        rps_cpus,
        xps,
    })
}

fn kind(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<KindDraft> {
    let obj = loading.walk.choice(
        &value.node,
        &value.path,
        "a device kind",
        &[
            &schema::DUMMY,
            &schema::NIC,
            &schema::MYRI10GE,
            &schema::MLX5,
            &schema::IXGBE,
            &schema::VLAN,
            &schema::LOOPBACK,
            &schema::VETH,
        ],
    )?;
    match obj.spec.name {
        "Dummy" => return Some(KindDraft::Dummy),
        "Vlan" => return Some(KindDraft::Vlan(super::nic::vlan(loading, &obj))),
        "Loopback" => return Some(KindDraft::Loopback),
        "Veth" => {
            return Some(KindDraft::Veth(VethDraft {
                peer: obj.get("peer").and_then(|v| loading.walk.text(&v)),
                napi: obj
                    .get("napi")
                    .and_then(|v| loading.walk.switch(&v))
                    .map(|on| on.value),
            }));
        }
        _ => {}
    }
    let nic = super::nic::read(loading, &obj);
    Some(KindDraft::Nic(Box::new(nic)))
}

/// Cables.
pub(super) fn links(loading: &mut Loading<'_>, value: Option<Value<'_>>) -> Vec<LinkDraft> {
    parts(loading, value, "links", link)
        .into_iter()
        .flatten()
        .flatten()
        .collect()
}

fn link(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<LinkDraft> {
    let obj = loading
        .walk
        .obj(&value.node, &value.path, &schema::LINK, &[])?;
    Some(LinkDraft {
        a: obj.get("a").and_then(|v| loading.walk.text(&v)),
        b: obj.get("b").and_then(|v| loading.walk.text(&v)),
        delay: obj
            .get("delay")
            .and_then(|v| loading.walk.quantity(&v, Quantity::Time))
            .map(|d| d.value),
    })
}
