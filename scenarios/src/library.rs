//! The scenarios that ship with the simulator. Each opens with its question, what is expected, and why.

macro_rules! library {
    ($($name:literal),* $(,)?) => {
        const LIBRARY: &[(&str, &str)] = &[$(($name, include_str!(concat!("../library/", $name, ".ron")))),*];
    };
}

library! {
    "bql-direct-burst",
    "doorbell-batch",
    "doorbell-direct",
    "doorbell-stall",
    "false-sharing",
    "layout-bulkq",
    "layout-hot-write",
    "lltx-direct",
    "lltx-siblings",
    "lockless-forward",
    "lockless-qdisc",
    "lockless-stuck",
    "lockless-table",
    "lockless-txaction",
    "netif-schedule-x86",
    "noqueue",
    "pfifo",
    "pktgen-start-xmit",
    "two-senders-paced",
    "udp-rps",
    "udp-veth",
    "vlan-offload",
    "vlan-on-vlan",
    "xdp-no-flush",
    "xdp-redirect",
}

/// Names of the library scenarios, in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> {
    LIBRARY.iter().map(|(name, _)| *name)
}

/// Text of the library scenario called `name`.
pub fn text(name: &str) -> Option<&'static str> {
    LIBRARY
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// The question a scenario opens with: its first comment line, without the slashes.
pub fn question(text: &str) -> &str {
    text.lines()
        .next()
        .and_then(|line| line.strip_prefix("//"))
        .unwrap_or("")
        .trim()
}
