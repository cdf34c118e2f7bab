use sim_core::config::*;
use sim_core::kernel::variant::{Builtin, Lockless};
use sim_core::machine::cost::*;
use sim_core::machine::layout::LayoutSet;
use sim_core::world::{Options, run};
use std::sync::Arc;
pub fn kunpeng() -> Profile {
    let mut p = Profile { name: "k".into(), arch: Arch::Arm64, memory: MemoryModel::Weak, store_buffer: true,
        topology: TopologySpec { sockets: 1, dies: 4, clusters: 1, cores: 4, smt: 1 }, values: vec![0; Param::ALL.len()] };
    use Param::*;
    for (k, v) in [(InsnsPerUs, 7900), (Hide, 28_000), (TransferCluster, 29_000), (TransferDie, 29_000), (TransferSocket, 75_000),
        (TransferRemote, 150_000), (Memory, 90_000), (Rmw, 5500), (ThisCpu, 5500), (Mb, 10_000), (Wmb, 1000), (SpinWake, 170_000),
        (SpinLoop, 5000), (SpinInsns, 7), (ClockRead, 30_000), (Mmio, 100_000), (IndirectCall, 0), (IrqEntry, 300_000),
        (ContextSwitch, 500_000), (DmaLine, 60_000), (Hold, 500), (Jitter, 200), (StartSpread, 2_000_000), (SmtGain, 0)] { p.set(k, v); }
    p
}
fn main() {
    let mut p = kunpeng();
    let mut threads = vec![1, 2, 4, 8, 16];
    let mut vars = vec!["v0", "locked", "v1", "set2", "set3", "rfc_bypass"].into_iter().map(String::from).collect::<Vec<_>>();
    let (mut seeds, mut win, mut limit) = (2, 3, 1000);
    for a in std::env::args().skip(1) {
        let (k, v) = a.split_once('=').unwrap();
        match k {
            "t" => threads = v.split(',').map(|x| x.parse().unwrap()).collect(),
            "v" => vars = v.split(',').map(String::from).collect(),
            "seeds" => seeds = v.parse().unwrap(),
            "limit" => limit = v.parse().unwrap(),
            "win" => win = v.parse().unwrap(),
            _ => { let q = Param::ALL.iter().find(|q| q.name() == k).expect(k); p.set(*q, v.parse().unwrap()) }
        }
    }
    let p = Arc::new(p);
    let publ = |v: &str, t: u16| -> f64 { let i = [1, 2, 4, 8, 16].iter().position(|x| *x == t).unwrap();
        match v { "v0" => [2.6, 3.9, 5.6, 2.7, 2.2][i], "locked" => [2.9, 4.8, 3.0, 1.6, 1.3][i], "v1" => [2.5, 3.6, 4.7, 2.8, 2.3][i],
          "set2" => [3.0, 4.1, 4.6, 2.6, 2.2][i], "set3" => [3.0, 5.3, 5.1, 2.7, 2.2][i], "rfc_bypass" => [3.11, 4.31, 5.53, 2.72, 2.22][i], _ => 1.0 } };
    let (mut sum, mut n) = (0.0, 0);
    for v in &vars { for &t in &threads {
        let c = Config { name: "s3".into(), warmup: 2_000_000_000, stop: Stop::At(2_000_000_000 + win * 1_000_000_000), step_limit: u64::MAX,
            hosts: vec![Host { name: "h0".into(), machine: p.clone(), layouts: LayoutSet::default(),
                kernel: Kernel { lockless: Lockless::Builtin(Builtin::from_name(v).unwrap()), set3_retry: Set3Retry::ReadFirst, dev_weight: 64, tas_bit_early_return: true, costs: vec![] },
                devices: vec![Device { name: "d0".into(), kind: DeviceKind::Dummy, txqs: 1, qdisc: Qdisc::PfifoFast { limit } }],
                workloads: vec![Workload::Pktgen(Pktgen { dev: 0, mode: XmitMode::QueueXmit, cpus: (0..t).collect(), packets: None, clone_skb: 0, burst: 1, size: 60, priority: 0 })] }] };
        if std::env::var("PROF").is_ok() { p::prof(&c); continue; }
        let w = std::time::Instant::now();
        let (mut tot, mut steps) = (0.0, 0);
        let mut o = None;
        for s in 0..seeds { let r = run(&c, &Options { seed: s, names: false, ..Options::default() }); tot += r.metrics.pps() / 1e6; steps += r.steps; o = Some(r); }
        let mean = tot / seeds as f64; let pb = publ(v, t);
        let el = w.elapsed().as_secs_f64();
        let m = o.unwrap().metrics;
        let q = &m.qdiscs[0];
        let err = (mean / pb - 1.0) * 100.0; sum += err.abs(); n += 1;
        println!("{v:10} {t:2} {mean:5.2} / {pb:4.2} {err:+5.1}%  tx {:.2} qlen {} drops {:.2}M/s byp {:.2} runs/pkt {:.2} | {:.1} Mstep/s {} steps/pkt  ipc {}", m.tx_pps() / 1e6, q.qlen, q.dropped as f64 / m.window as f64 * 1e6, q.bypassed as f64 / q.packets as f64, q.runs as f64 / q.packets as f64,
            steps as f64 / el / 1e6, steps / seeds / ((mean * 1e6 * 0.001 * (2 + win) as f64) as u64), m.cpus.iter().map(|c| c.instructions).sum::<u64>() / q.packets.max(1));
        if std::env::var("LOCKS").is_ok() { for l in &m.locks { if l.acquired + l.failed > 0 { println!("   {} acq {} cont {} failed {} avg wait {} ns", l.name, l.acquired, l.contended, l.failed, l.wait / l.contended.max(1) / 1000); } }
            for c in m.cpus.iter().take(2) { println!("   {} spin {:.1}% stall {:.1}% soft {:.1}% bm {} netx {} sq {}", c.name, c.spin as f64 * 100.0 / m.window as f64, c.stall as f64 * 100.0 / m.window as f64, c.softirq as f64 * 100.0 / m.window as f64, c.branch_misses, c.net_tx, c.squeezed); } }
    } }
    println!("mean abs {:.1}%", sum / n as f64);
}
mod p { use super::*; use sim_core::trace::*; use std::collections::BTreeMap;
pub fn prof(c: &Config) {
    let o = run(c, &Options { seed: 1, trace: Mode::Ring { bytes: 200 << 20 }, ..Options::default() });
    let r = o.recording.unwrap(); let n = &r.names;
    let mut stack: BTreeMap<u16, Vec<(u32, u64)>> = BTreeMap::new();
    let mut selft: BTreeMap<(bool, String), (u64, u64)> = BTreeMap::new();
    let mut last: BTreeMap<u16, u64> = BTreeMap::new();
    let mut miss: BTreeMap<(bool, String), (u64, u64)> = BTreeMap::new();
    let (mut deq, mut from) = (0u64, u64::MAX);
    for x in &r.records { if x.time < c.warmup { continue }
        from = from.min(x.time);
        let st = stack.entry(x.cpu).or_default();
        let inrun = st.iter().any(|f| n.functions[f.0 as usize] == "__qdisc_run");
        match x.kind() {
            Kind::FnEnter | Kind::FnLeave => {
                let l = last.insert(x.cpu, x.time).unwrap_or(x.time);
                if let Some(f) = st.last() { let e = selft.entry((inrun, n.functions[f.0 as usize].clone())).or_default(); e.0 += x.time - l; }
                if x.kind() == Kind::FnEnter { st.push((x.a, x.time)); let e = selft.entry((inrun, n.functions[x.a as usize].clone())).or_default(); e.1 += 1; } else { st.pop(); }
            }
            Kind::LineMiss => { let name = n.lines[x.a as usize].name.split(" line ").next().unwrap().to_string(); let name: String = name.trim_end_matches(|c: char| c.is_ascii_digit()).into();
                let name = if name.contains("skbuff_head_cache") || name.starts_with("kmalloc") { name } else { n.lines[x.a as usize].name.clone() };
                let name: String = name.replace(char::is_numeric, "#");
                let e = miss.entry((inrun, name)).or_default(); e.0 += x.b as u64; e.1 += 1; }
            Kind::QdiscDequeue => deq += 1, _ => {} } }
    let d = deq.max(1) as f64;
    println!("packets {deq} ns/pkt {:.1}", (o.end - from) as f64 / 1000.0 / d);
    for ((i, f), (t, k)) in selft { if t as f64 / d / 1000.0 > 1.0 { println!("{} {f:28} self {:7.1} ns/pkt  calls/pkt {:.3}", if i { "RUN" } else { "   " }, t as f64 / 1000.0 / d, k as f64 / d); } }
    for ((i, f), (t, k)) in miss { if k as f64 / d > 0.05 { println!("{} miss {f:40} stall {:6.1} ns/pkt n/pkt {:.2}", if i { "RUN" } else { "   " }, t as f64 / 1000.0 / d, k as f64 / d); } }
} }
