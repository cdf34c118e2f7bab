//! Loading: all problems at once, `--set`, sweeps, hosts that override, profiles beside the scenario.

use scenarios::{Loader, Registry, Scenario};
use sim_core::config::{Stop, Workload};
use sim_core::kernel::Cpu;
use sim_core::kernel::sched::qdisc::Qdisc;
use sim_core::kernel::sched::user::LocklessVariant;
use sim_core::machine::cost::{MemoryModel, Param};
use std::sync::Arc;

fn load(text: &str) -> Result<Scenario, scenarios::Rejected> {
    Loader::new(&Registry::new()).load_str("test.ron", text)
}

/// A scenario around the fields of one host.
fn with_host(extra: &str, host: &str) -> String {
    format!(
        "(version: 1, name: \"t\", machine: \"kunpeng-920\", stop: At(\"1ms\"), {extra}\n hosts: [(name: \"h0\", {host})])"
    )
}

const FIVE: &str = r#"(
    version: 1,
    name: "five",
    machine: "kunpeng-920",
    kernel: (base: "v5.11", locklss: v0),
    hosts: [(
        name: "h0",
        devices: [(name: "d0", kind: Dummy, txqs: "one")],
        workloads: [
            Paced(dev: "d0", cpus: [0, 16], every: 50),
            Pktgen(dev: "d1", mode: QueueXmit, cpus: [1]),
        ],
    )],
    stop: At("1ms"),
)"#;

/// A file with five mistakes of five kinds reports all five, each with line and column.
#[test]
fn five_mistakes_at_once() {
    let rejected = load(FIVE).unwrap_err();
    let found: Vec<_> = rejected
        .into_iter()
        .map(|p| (p.code, p.line, p.col, p.path.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("E0203", 5, 29, "kernel.locklss"),
            ("E0204", 8, 51, "hosts[0].devices[0].txqs"),
            ("E0301", 10, 40, "hosts[0].workloads[0].cpus[1]"),
            ("E0206", 10, 52, "hosts[0].workloads[0].every"),
            ("E0302", 11, 25, "hosts[0].workloads[1].dev"),
        ]
    );
    insta::assert_snapshot!("five_plain", rejected);
    insta::assert_snapshot!("five_terminal", rejected.render(false));
    assert!(rejected.render(true).contains('\u{1b}'));
}

/// `--set` changes the tree before the checks, and its mistakes stand in its own text.
#[test]
fn set_goes_through_the_checks() {
    let registry = Registry::new();
    let set = |path, ron| {
        Loader::new(&registry)
            .set(path, ron)
            .and_then(|l| l.load_library("lockless-stuck"))
    };
    let good = set("kernel.lockless", "v3").unwrap();
    assert_eq!(good.config().hosts[0].kernel.lockless.name(), "v3");
    assert_ne!(
        good.digest(),
        set("kernel.lockless", "v4").unwrap().digest()
    );
    let bad = set("kernel.lockless", "v9").unwrap_err();
    assert!(
        bad.to_string()
            .starts_with("--set kernel.lockless=v9:1:1: error[E0304]"),
        "{bad}"
    );
    assert_eq!(
        set("hosts[0].workloads[3].cpus", "[1]")
            .unwrap_err()
            .problems[0]
            .code,
        "E0210"
    );
    assert_eq!(
        set("kernel.lockless", "(").unwrap_err().problems[0].code,
        "E0101"
    );
    assert_eq!(
        set("stop.limit", "5").unwrap_err().problems[0].code,
        "E0206"
    );
}

/// A path may lead into variants, maps, and fields that the file leaves out.
#[test]
fn set_reaches_everywhere() {
    let registry = Registry::new();
    let sets = [
        ("machine.store_buffer", "off"),
        ("kernel.costs.skb_alloc", "490"),
        ("hosts[0].devices[0].qdisc.limit", "50"),
        ("hosts[0].devices[0].kind", "Nic"),
        ("hosts[0].devices[0].kind.tx_ring", "64"),
        ("hosts[0].workloads[0].packets", "7"),
        ("threads", "3"),
    ];
    let loader = sets.iter().fold(Loader::new(&registry), |l, (path, ron)| {
        l.set(path, ron).unwrap()
    });
    let scenario = loader
        .load_library("lockless-stuck")
        .unwrap_or_else(|r| panic!("{r}"));
    let host = &scenario.config().hosts[0];
    assert!(!host.machine.store_buffer);
    assert_eq!(host.kernel.costs[0].1, 490);
    let text = format!("{host:?}");
    assert!(
        text.contains("tx_ring: 64") && text.contains("limit: 50"),
        "{text}"
    );
    let Workload::Pktgen(pktgen) = &host.workloads[0] else {
        panic!("not pktgen")
    };
    assert_eq!(
        (pktgen.packets, pktgen.cpus.as_slice()),
        (Some(7), [0, 1, 2].as_slice())
    );
}

/// `measure` implies the stop; the version picks the variant; v5 switches the early return off.
#[test]
fn defaults_that_depend_on_other_fields() {
    let text = with_host("kernel: (base: \"v5.15\"),", "").replace(
        "stop: At(\"1ms\")",
        "measure: (warmup: \"1ms\", window: \"2ms\")",
    );
    let scenario = load(&text).unwrap_or_else(|r| panic!("{r}"));
    assert_eq!(
        (scenario.config().stop, scenario.config().warmup),
        (Stop::At(3_000_000_000), 1_000_000_000)
    );
    let kernel = &scenario.config().hosts[0].kernel;
    assert_eq!(
        (kernel.lockless.name(), kernel.tas_bit_early_return),
        ("v4", true)
    );
    let early = |kernel: &str| {
        load(&with_host(kernel, "")).unwrap().config().hosts[0]
            .kernel
            .tas_bit_early_return
    };
    assert!(!early("kernel: (lockless: v5),"));
    assert!(early("kernel: (lockless: v5, tas_bit_early_return: on),"));
}

/// A host overrides single fields of machine and kernel; a profile starts afresh.
#[test]
fn hosts_override() {
    let text = r#"(version: 1, name: "t", stop: At("1ms"),
        machine: (profile: "kunpeng-920", wfe_wake: "0ns", hide: "1ns"), kernel: (lockless: v1, dev_weight: 7),
        hosts: [(name: "a"), (name: "b", machine: (memory: sc, hide: "2ns"), kernel: (lockless: v2)), (name: "c", machine: "x86-skylake")])"#;
    let scenario = load(text).unwrap_or_else(|r| panic!("{r}"));
    let hosts = &scenario.config().hosts;
    let hide: Vec<u64> = hosts.iter().map(|h| h.machine.get(Param::Hide)).collect();
    assert_eq!(hide, [1_000, 2_000, 37_000]);
    assert_eq!(hosts[1].machine.get(Param::SpinWake), 0);
    assert_eq!(
        (hosts[1].machine.memory, hosts[1].machine.store_buffer),
        (MemoryModel::Sc, false)
    );
    assert_eq!(
        (hosts[1].kernel.lockless.name(), hosts[1].kernel.dev_weight),
        ("v2", 7)
    );
    let again = load(scenario.effective()).unwrap_or_else(|r| panic!("{r}"));
    assert_eq!(
        format!("{:?}", again.config()),
        format!("{:?}", scenario.config())
    );
}

/// A profile may lie beside the scenario; mistakes in it are placed in it.
#[test]
fn profile_beside_the_scenario() {
    let dir = std::env::temp_dir().join(format!("skbsim-profiles-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let profile = Registry::new().profile_text("oracle").unwrap();
    let scenario = with_host("", "").replace("kunpeng-920", "mine.ron");
    std::fs::write(dir.join("s.ron"), &scenario).unwrap();
    let load = |text: &str| {
        std::fs::write(dir.join("mine.ron"), text).unwrap();
        Loader::new(&Registry::new()).load_file(&dir.join("s.ron"))
    };
    assert_eq!(
        load(&profile.replace("\"oracle\"", "\"mine\""))
            .unwrap()
            .config()
            .hosts[0]
            .machine
            .name,
        "mine"
    );
    let rejected = load(&profile.replace("memory: tso", "memory: sc")).unwrap_err();
    assert!(
        rejected.problems[0].file.ends_with("mine.ron"),
        "{rejected}"
    );
    assert_eq!(
        (rejected.problems[0].code, rejected.problems[0].line),
        ("E0209", 8)
    );
    std::fs::remove_dir_all(&dir).unwrap();
}

/// A registered variant is known to scenarios; a name that would confuse is not registered.
#[test]
fn user_variants() {
    struct Mine;
    impl LocklessVariant for Mine {
        fn name(&self) -> &str {
            "mine"
        }
        async fn run_begin(&self, cpu: Cpu<'_>, q: &Qdisc) -> bool {
            q.seqlock.try_lock(cpu).await
        }
        async fn run_end(&self, cpu: Cpu<'_>, q: &Qdisc) {
            q.seqlock.unlock(cpu).await;
        }
    }
    let mut registry = Registry::new();
    registry.register("mine", Arc::new(Mine)).unwrap();
    assert!(registry.register("mine", Arc::new(Mine)).is_err());
    assert!(registry.register("other", Arc::new(Mine)).is_err());
    let loader = Loader::new(&registry).set("variant", "mine").unwrap();
    let scenario = loader.load_library("lockless-stuck").unwrap();
    assert_eq!(scenario.config().hosts[0].kernel.lockless.name(), "mine");
}

/// A value that several points or hosts share is reported once.
#[test]
fn one_mistake_is_one_problem() {
    let text = r#"(version: 1, name: "t", machine: (profile: "kunpeng-920", hide: "5m"), stop: At("1ms"),
        hosts: [(name: "a"), (name: "b")], sweep: [(path: "kernel.dev_weight", values: [1, 2, 3])])"#;
    assert_eq!(load(text).unwrap_err().problems.len(), 1);
    // Alone each value is right, together they are not.
    let text = with_host(
        "sweep: [(path: \"hosts[0].workloads[0].burst\", values: [1, 2]), (path: \"hosts[0].workloads[0].mode\", values: [StartXmit, QueueXmit])],",
        "devices: [(name: \"d0\")], workloads: [Pktgen(dev: \"d0\", mode: StartXmit, cpus: 1)]",
    );
    let rejected = load(&text).unwrap_err();
    assert_eq!(
        rejected.problems.iter().map(|p| p.code).collect::<Vec<_>>(),
        ["E0311"]
    );
}
