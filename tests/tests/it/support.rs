//! Loading scenarios, shortened, and telling outcomes apart.

use scenarios::{Loader, Registry, Scenario, library};
use sim_core::config::Config;
use sim_core::metrics::Metrics;
use sim_core::violation::Law;
use sim_core::world::{Options, Outcome, run};
use std::path::{Path, PathBuf};

/// Compares each recording of a folder: that which the variable `given` names, or else `default` of this
/// package. Panics with the first difference of each that differs.
pub fn recordings(given: &str, default: &str, compare: fn(&Path) -> Result<(), String>) {
    let given = std::env::var_os(given).map(PathBuf::from);
    let folder = given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(default));
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no recordings in {}", folder.display());
    let differing: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let name = file.file_name().expect("a file").to_string_lossy();
            compare(file).err().map(|why| format!("{name}: {why}"))
        })
        .collect();
    assert!(
        differing.is_empty(),
        "{} of {} recordings differ\n{}",
        differing.len(),
        files.len(),
        differing.join("\n")
    );
}

/// How much is equal, and the first difference.
pub type Difference = (usize, String);

/// Compares for each phase of the clock. By how much the clock lagged when a recording began was not
/// recorded, and all its timers depend on it: one phase has to fit from the first event to the last.
/// The difference that is told is that of the phase that gets farthest.
pub fn any_phase(differs_at: impl Fn(u32) -> Result<(), Difference>) -> Result<(), String> {
    let mut best = (0, String::new());
    for phase in PHASES {
        match differs_at(phase) {
            Ok(()) => return Ok(()),
            Err((event, why)) if event >= best.0 => best = (event, why),
            Err(_) => {}
        }
    }
    Err(best.1)
}

/// Phases to try, in nanoseconds, of a clock that reads in steps of 256 ns.
const PHASES: [u32; 16] = [
    0, 128, 64, 192, 32, 96, 160, 224, 16, 48, 80, 112, 144, 176, 208, 240,
];

/// A library scenario with some values changed.
pub fn load(registry: &Registry, name: &str, sets: &[(&str, &str)]) -> Scenario {
    let loader = Loader::new(registry);
    let loader = sets.iter().fold(loader, |loader, (path, ron)| {
        loader.set(path, ron).expect("RON")
    });
    loader
        .load_library(name)
        .unwrap_or_else(|rejected| panic!("{rejected}"))
}

/// Its configuration, without the sweep.
pub fn config(name: &str, sets: &[(&str, &str)]) -> Config {
    load(&Registry::new(), name, sets).config().clone()
}

/// Every point of every library scenario, measured ones cut to a fifth of a millisecond.
pub fn library_points() -> Vec<(String, Config)> {
    let registry = Registry::new();
    let short = [
        ("measure.warmup", "\"40us\""),
        ("measure.window", "\"160us\""),
    ];
    let mut all = Vec::new();
    for name in library::names() {
        let measured = load(&registry, name, &[]).measure().is_some();
        let scenario = load(&registry, name, if measured { &short } else { &[] });
        all.extend(scenario.points().into_iter().map(|point| {
            let label = point.label.replace(' ', ",");
            (
                if label.is_empty() {
                    name.to_owned()
                } else {
                    format!("{name}/{label}")
                },
                point.config,
            )
        }));
    }
    all
}

/// One run with nothing special about it.
pub fn seeded(config: &Config, seed: u64) -> Outcome {
    run(
        config,
        &Options {
            seed,
            names: false,
            ..Options::default()
        },
    )
}

/// Laws that a run broke, each once.
pub fn broken(outcome: &Outcome) -> Vec<Law> {
    let mut laws: Vec<Law> = outcome.violations.iter().map(|v| v.law).collect();
    laws.sort();
    laws.dedup();
    laws
}

/// Asserts that two runs counted the same.
pub fn assert_same_metrics(a: &Metrics, b: &Metrics, story: &str) {
    assert_eq!(a.window, b.window, "{story}");
    assert_eq!(a.flows.len(), b.flows.len(), "{story}");
    for (f, g) in a.flows.iter().zip(&b.flows) {
        let numbers = |f: &sim_core::metrics::Flow| {
            (f.name.clone(), f.cpu, f.offered, f.sent, f.errors, f.bytes)
        };
        assert_eq!(numbers(f), numbers(g), "{story}");
        assert!(f.latency == g.latency, "latency of {}: {story}", f.name);
    }
    assert_eq!(a.devices, b.devices, "{story}");
    assert_eq!(a.qdiscs, b.qdiscs, "{story}");
    assert_eq!(a.cpus, b.cpus, "{story}");
    assert_eq!(a.locks, b.locks, "{story}");
}
