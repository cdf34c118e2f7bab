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
    let (mut seeds, mut win) = (2, 3);
    for a in std::env::args().skip(1) {
        let (k, v) = a.split_once('=').unwrap();
        match k {
            "t" => threads = v.split(',').map(|x| x.parse().unwrap()).collect(),
            "v" => vars = v.split(',').map(String::from).collect(),
            "seeds" => seeds = v.parse().unwrap(),
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
                devices: vec![Device { name: "d0".into(), kind: DeviceKind::Dummy, txqs: 1, qdisc: Qdisc::PfifoFast { limit: 1000 } }],
                workloads: vec![Workload::Pktgen(Pktgen { dev: 0, mode: XmitMode::QueueXmit, cpus: (0..t).collect(), packets: None, clone_skb: 0, burst: 1, size: 60, priority: 0 })] }] };
        let w = std::time::Instant::now();
        let (mut tot, mut steps) = (0.0, 0);
        let mut o = None;
        for s in 0..seeds { let r = run(&c, &Options { seed: s, names: false, ..Options::default() }); tot += r.metrics.pps() / 1e6; steps += r.steps; o = Some(r); }
        let mean = tot / seeds as f64; let pb = publ(v, t);
        let el = w.elapsed().as_secs_f64();
        let m = o.unwrap().metrics;
        let q = &m.qdiscs[0];
        let err = (mean / pb - 1.0) * 100.0; sum += err.abs(); n += 1;
        println!("{v:10} {t:2} {mean:5.2} / {pb:4.2} {err:+5.1}%  drops {:.2}M/s byp {:.2} runs/pkt {:.2} | {:.1} Mstep/s {} steps/pkt  ipc {}", q.dropped as f64 / m.window as f64 * 1e6, q.bypassed as f64 / q.packets as f64, q.runs as f64 / q.packets as f64,
            steps as f64 / el / 1e6, steps / seeds / ((mean * 1e6 * 0.001 * (2 + win) as f64) as u64), m.cpus.iter().map(|c| c.instructions).sum::<u64>() / q.packets.max(1));
    } }
    println!("mean abs {:.1}%", sum / n as f64);
}
