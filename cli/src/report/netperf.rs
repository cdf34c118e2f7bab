//! TCP streams in the layout of netperf's `TCP STREAM TEST` with CPU measurement on both sides.

use sim_core::metrics::{Metrics, Stream};

/// The heads of the columns.
pub const HEAD: &str = "\
Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB
";

/// A line: socket and message sizes with the elapsed time; throughput, utilisation and service demand (`None`
/// is a dash); and whose it is.
pub fn line(sizes: [&str; 4], numbers: [Option<f64>; 5], whose: &str) -> String {
    let mut digits = [2, 2, 2, 3, 3].iter();
    let numbers = numbers.map(|number| {
        let &digits = digits.next().expect("five columns");
        number.map_or("-".to_owned(), |n| format!("{n:.digits$}"))
    });
    cells(sizes, &numbers, whose)
}

/// A line of any cells below the heads.
pub fn cells(sizes: [&str; 4], n: &[String; 5], whose: &str) -> String {
    let [recv, send, message, time] = sizes;
    let text = format!(
        "{recv:>6} {send:>6} {message:>6}    {time:<8} {:>9}   {:<8} {:<8} {:<7} {:<7} {whose}",
        n[0], n[1], n[2], n[3], n[4]
    );
    text.trim_end().to_owned() + "\n"
}

/// All streams of a run; nothing if there is none. Sizes of sockets and messages are the scenario's to say.
pub fn streams(metrics: &Metrics) -> String {
    let time = format!("{:.6}", metrics.window as f64 / 1e12);
    let one = |s: &Stream| {
        let demand = |busy: f64| (s.bytes > 0).then_some(busy);
        let numbers = [
            Some(s.throughput(metrics.window) / 1e6),
            Some(s.send.utilisation_pct(metrics.window)),
            Some(s.recv.utilisation_pct(metrics.window)),
            demand(s.send.service_demand(s.bytes)),
            demand(s.recv.service_demand(s.bytes)),
        ];
        line(["-", "-", "-", &time], numbers, &s.name)
    };
    let lines: String = metrics.streams.iter().map(one).collect();
    if lines.is_empty() {
        lines
    } else {
        HEAD.to_owned() + &lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::metrics::Busy;

    /// A stream beside one that moved nothing: its demand is no number.
    #[test]
    fn two_streams() {
        let mut metrics = crate::testing::outcome(0).metrics;
        assert_eq!(streams(&metrics), "");
        metrics.streams = vec![
            Stream {
                name: "h0:netperf".into(),
                bytes: 7_075_825,
                send: Busy {
                    cpus: 4,
                    busy: 10_216_000_000,
                },
                recv: Busy {
                    cpus: 2,
                    busy: 10_282_000_000,
                },
            },
            Stream::default(),
        ];
        insta::assert_snapshot!(streams(&metrics));
    }
}
