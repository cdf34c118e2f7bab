//! The receive path: UDP sockets, and each CPU's line of `/proc/net/softnet_stat`.

use crate::text::{self, Align, Table};
use sim_core::metrics::{Metrics, rate};

/// Sockets with their readers, or nothing.
pub fn sockets(metrics: &Metrics) -> String {
    let mut table = Table::new(&[
        ("udp socket", Align::Left),
        ("received", Align::Right),
        ("rcvbuf errors", Align::Right),
        ("read", Align::Right),
        ("read pps", Align::Right),
        ("bytes", Align::Right),
    ]);
    for s in &metrics.udp {
        table.row(vec![
            s.name.clone(),
            text::group(s.received),
            text::group(s.rcvbuf_errors),
            text::group(s.read),
            format!("{:.0}", rate(s.read, metrics.window)),
            text::group(s.bytes),
        ]);
    }
    if metrics.udp.is_empty() {
        String::new()
    } else {
        table.render("")
    }
}

/// `/proc/net/softnet_stat` in words, or nothing.
pub fn softnet(metrics: &Metrics) -> String {
    let mut table = Table::new(&[
        ("softnet", Align::Left),
        ("processed", Align::Right),
        ("dropped", Align::Right),
        ("time_squeeze", Align::Right),
        ("received_rps", Align::Right),
    ]);
    for s in &metrics.softnet {
        let counts = [s.processed, s.dropped, s.time_squeeze, s.received_rps];
        let mut cells = vec![s.name.clone()];
        cells.extend(counts.map(text::group));
        table.row(cells);
    }
    if metrics.softnet.is_empty() {
        String::new()
    } else {
        table.render("")
    }
}
