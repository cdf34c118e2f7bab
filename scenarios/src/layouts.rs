//! Struct layouts by name: those of the simulator, and those that pahole printed of real kernels.

use crate::pahole::{self, Struct};
use sim_core::kernel::layouts;
use sim_core::machine::layout::{Field, LINE_BYTES, Layout};

/// A layout that ships as pahole's text.
struct Shipped {
    /// The struct.
    of: &'static str,
    /// How a scenario calls it.
    name: &'static str,
    text: &'static str,
}

macro_rules! shipped {
    ($($of:literal $name:literal $file:literal),* $(,)?) => {
        const SHIPPED: &[Shipped] = &[$(Shipped {
            of: $of,
            name: $name,
            text: include_str!(concat!("../layouts/", $file)),
        }),*];
    };
}

shipped! {
    "Qdisc" "6.1" "6.1/Qdisc.txt",
    "Qdisc" "6.18" "6.18/Qdisc.txt",
    "netdev_queue" "6.1" "6.1/netdev_queue.txt",
    "netdev_queue" "6.18" "6.18/netdev_queue.txt",
    "net_device" "6.1" "6.1/net_device.txt",
    "net_device" "6.18" "6.18/net_device.txt",
    "net_device" "before" "thread-S1/before.txt",
    "net_device" "patched" "thread-S1/patched.txt",
    "net_device" "watchdog_moved" "thread-S1/watchdog_moved.txt",
}

/// Names of the built-in layouts of struct `of`.
pub fn names(of: &str) -> Vec<&'static str> {
    let own = layouts::VERSIONS
        .iter()
        .copied()
        .filter(|v| layouts::builtin(of, v).is_some());
    let shipped = SHIPPED.iter().filter(|s| s.of == of).map(|s| s.name);
    own.chain(shipped).collect()
}

/// The built-in layout `name` of struct `of`.
pub fn builtin(of: &str, name: &str) -> Option<Layout> {
    if let Some(layout) = layouts::builtin(of, name) {
        return Some(layout);
    }
    let structs = pahole::parse(text(of, name)?).ok()?;
    let fields = fields(structs.first()?, of);
    Some(Layout {
        name: of.to_owned(),
        fields: fields.into_iter().map(|(f, _)| f).collect(),
    })
}

/// What pahole printed of struct `of` for the built-in layout `name`, if it comes from there.
pub fn text(of: &str, name: &str) -> Option<&'static str> {
    SHIPPED
        .iter()
        .find(|s| s.of == of && s.name == name)
        .map(|s| s.text)
}

/// The struct called `of` in what pahole printed: by its name, or the one fragment of a struct.
pub fn find<'s>(structs: &'s [Struct], of: &str) -> Option<&'s Struct> {
    structs.iter().find(|s| s.name == of).or(match structs {
        [only] if only.is_fragment() => Some(only),
        _ => None,
    })
}

/// The fields that the simulator touches of struct `of`, in order of offset, and where in the text each
/// stands.
pub(crate) fn fields(s: &Struct, of: &str) -> Vec<(Field, (usize, usize))> {
    let mut fields: Vec<(Field, (usize, usize))> = layouts::used(of)
        .iter()
        .filter_map(|used| {
            let found = used.at.iter().find_map(|&(name, skip, size)| {
                let member = s.member(name)?;
                let left = member.size.checked_sub(skip)?;
                let size = if size == 0 { left } else { size.min(left) };
                (size > 0).then_some((member, skip, size))
            });
            let (member, skip, size) = found?;
            let field = Field {
                name: used.name.to_owned(),
                offset: member.offset + skip,
                size,
            };
            Some((field, member.place))
        })
        .collect();
    fields.sort_by_key(|(f, _)| f.offset);
    fields
}

/// Whether a field that fits into a word lies on one line, as every word of a processor must that is
/// read and written whole.
pub(crate) fn on_one_line(field: &Field) -> bool {
    let last = field.offset + field.size.max(1) - 1;
    field.size > 8 || field.offset / LINE_BYTES == last / LINE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every layout that ships places what the simulator needs, without overlap and on one line.
    #[test]
    fn shipped_layouts_can_be_placed() {
        for s in SHIPPED {
            let layout = builtin(s.of, s.name).expect("readable");
            for field in layouts::required(s.of) {
                assert!(layout.field(field).is_some(), "{} {} {field}", s.of, s.name);
            }
            for pair in layout.fields.windows(2) {
                assert!(pair[0].offset + pair[0].size <= pair[1].offset, "{pair:?}");
            }
            assert!(layout.fields.iter().all(on_one_line), "{} {}", s.of, s.name);
        }
    }

    /// What the notes on the thread say of the three layouts.
    #[test]
    fn the_threads_question() {
        let line = |name: &str, field: &str| {
            let layout = builtin("net_device", name).expect("built in");
            layout.field(field).map(|f| f.offset / LINE_BYTES)
        };
        assert_eq!(line("before", "xdp_bulkq"), None);
        assert_eq!(line("before", "miniq_egress"), Some(16));
        assert_eq!(line("patched", "xdp_bulkq"), Some(16));
        assert_eq!(line("patched", "miniq_egress"), Some(17));
        assert_eq!(line("watchdog_moved", "miniq_egress"), Some(16));
        assert_eq!(line("5.15", "miniq_egress"), line("5.15", "_tx"));
    }

    /// The parts that are found inside of members, or under another name.
    #[test]
    fn members_of_members() {
        let qdisc = builtin("Qdisc", "6.1").expect("built in");
        let at = |name: &str| qdisc.field(name).map(|f| (f.offset, f.size));
        assert_eq!((at("qlen"), at("lock")), (Some((168, 4)), Some((172, 4))));
        assert_eq!(at("running"), Some((224, 8)));
        let dev = builtin("net_device", "6.18").expect("built in");
        let at = |name: &str| dev.field(name).map(|f| (f.offset, f.size));
        assert_eq!(at("xps_rxqs_map"), Some((136, 8)));
        assert_eq!(
            (at("miniq_egress"), at("priv_flags")),
            (Some((152, 8)), Some((0, 8)))
        );
    }
}
