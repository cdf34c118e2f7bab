//! The architecture, as scans of the source. Each scan says which file breaks which rule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("in a workspace")
        .to_owned()
}

/// Every committed kind of text below `dir` of the workspace: path from the root, contents.
fn texts(dir: &str, endings: &[&str]) -> Vec<(String, String)> {
    let (root, mut found) = (root(), Vec::new());
    let mut open = vec![root.join(dir)];
    while let Some(directory) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        for path in entries.map(|e| e.expect("readable").path()) {
            let name = path
                .file_name()
                .expect("has a name")
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                if name != "target" && name != ".git" && name != "peers" {
                    open.push(path);
                }
            } else if endings.iter().any(|e| name.ends_with(e)) {
                let text = std::fs::read_to_string(&path).expect("UTF-8 text");
                let short = path
                    .strip_prefix(&root)
                    .expect("below the root")
                    .display()
                    .to_string();
                found.push((short.replace('\\', "/"), text));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "nothing below {dir}");
    found
}

fn rust(dir: &str) -> Vec<(String, String)> {
    texts(dir, &[".rs"])
}

/// A line without its comment. Strings stay: a scan may look for words in them.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or("")
}

/// The lines of `files` that contain one of `words` in code, as `file:line: text`.
fn offenders(files: &[(String, String)], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        for (number, line) in text.lines().enumerate() {
            if words.iter().any(|w| code(line).contains(w)) {
                found.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    found
}

fn none(offenders: Vec<String>, rule: &str) {
    assert!(offenders.is_empty(), "{rule}:\n{}", offenders.join("\n"));
}

/// Text before the tests of a file.
fn without_tests(files: Vec<(String, String)>) -> Vec<(String, String)> {
    let cut = |text: String| {
        text.split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or("")
            .to_owned()
    };
    files
        .into_iter()
        .map(|(path, text)| (path, cut(text)))
        .collect()
}

/// The engine does not know that CPUs, packets or Linux exist.
#[test]
fn the_engine_knows_only_time_and_contexts() {
    let files = rust("sim-core/src/engine");
    let mut files = without_tests(files);
    // Where a reader is told what a choice is about, `cpu` is a name of an argument.
    files.retain(|(path, _)| !path.ends_with("schedule.rs"));
    none(
        offenders(
            &files,
            &[
                "skb",
                "Skb",
                "qdisc",
                "Qdisc",
                "Cpu",
                "packet",
                "crate::machine",
                "crate::kernel",
                "crate::workload",
            ],
        ),
        "engine knows no CPUs, packets or Linux",
    );
    none(
        offenders(
            &without_tests(rust("sim-core/src/engine")),
            &[
                "crate::machine",
                "crate::kernel",
                "crate::workload",
                "crate::world",
            ],
        ),
        "engine uses nothing above it",
    );
}

/// The machine does not know that Linux exists.
#[test]
fn the_machine_knows_no_linux() {
    none(
        offenders(
            &without_tests(rust("sim-core/src/machine")),
            &[
                "crate::kernel",
                "crate::workload",
                "crate::world",
                "crate::config",
                "Qdisc",
                "skb",
                "Skb",
            ],
        ),
        "machine names no kernel module",
    );
}

/// Kernel and loads read no clock, no chance, no environment, and iterate nothing in hash order.
#[test]
fn the_kernel_is_handed_everything() {
    let mut files = rust("sim-core/src/kernel");
    files.extend(rust("sim-core/src/workload"));
    none(
        offenders(
            &files,
            &[
                "std::time",
                "rand",
                "Stream",
                "std::env",
                "std::fs",
                "std::net",
                "std::thread",
                "crate::world",
            ],
        ),
        "kernel and workload are handed a Cpu and nothing else",
    );
    none(
        offenders(
            &rust("sim-core/src"),
            &[
                "HashMap",
                "HashSet",
                "std::time",
                "SystemTime",
                "thread::current",
            ],
        ),
        "no hash order or wall clock in a run",
    );
}

/// No float decides anything in a run: floats are for reports.
#[test]
fn no_float_decides_anything() {
    for part in ["engine", "machine", "kernel", "workload", "world"] {
        none(
            offenders(
                &without_tests(rust(&format!("sim-core/src/{part}"))),
                &["f64", "f32"],
            ),
            "no float in a run",
        );
    }
}

/// Only scenarios and cli touch files; only the viewer touches the terminal.
#[test]
fn files_and_terminal_have_one_place_each() {
    for dir in ["sim-core/src", "tui/src"] {
        none(
            offenders(&rust(dir), &["std::fs", "File::open"]),
            "only scenarios and cli use files",
        );
    }
    none(
        offenders(&rust("sim-core/src"), &["println!", "print!("]),
        "the simulator prints nothing",
    );
    for dir in ["sim-core", "scenarios", "cli"] {
        none(
            offenders(&rust(dir), &["crossterm", "ratatui"]),
            "only tui touches the terminal",
        );
    }
    let mut viewer = rust("tui/src");
    viewer.retain(|(path, _)| !path.ends_with("/terminal.rs"));
    none(
        offenders(&viewer, &["crossterm::terminal", "std::time", "stdout("]),
        "within tui, only terminal.rs does",
    );
}

/// The viewer sees finished runs: traces and violations, no kernel type.
#[test]
fn the_viewer_reads_traces_only() {
    let allowed = ["sim_core::trace", "sim_core::violation"];
    let mut wrong = offenders(&rust("tui"), &["sim_core::"]);
    wrong.retain(|line| {
        line.match_indices("sim_core::")
            .any(|(at, _)| !allowed.iter().any(|a| line[at..].starts_with(a)))
    });
    none(wrong, "tui uses sim_core::{trace, violation} only");
}

/// Things that are never committed.
#[test]
fn nothing_unfinished_or_unsafe() {
    let mut files = rust(".");
    // This file names what it looks for.
    files.retain(|(path, _)| path != "tests/tests/it/tidy.rs");
    none(
        offenders(&files, &["todo!", "unimplemented!", "dbg!("]),
        "nothing unfinished",
    );
    let mut unsafe_code = offenders(&files, &["unsafe "]);
    unsafe_code.retain(|line| !line.contains('"'));
    none(unsafe_code, "no unsafe anywhere");
    none(offenders(&files, &["#[ignore"]), "no test is left out");
}

/// A file that nears a thousand lines wants a child module.
#[test]
fn files_stay_short() {
    for (path, text) in rust(".") {
        assert!(
            text.lines().count() <= 1000,
            "{path} has {} lines",
            text.lines().count()
        );
    }
}

/// Every crate root opens with its tour, and every module says what it is.
#[test]
fn every_file_says_what_it_is() {
    for crate_dir in ["sim-core", "scenarios", "cli", "tui", "tests"] {
        for (path, text) in rust(&format!("{crate_dir}/src")) {
            assert!(text.starts_with("//! "), "{path} does not say what it is");
        }
    }
}

/// Every library scenario opens with a question, what is expected, and where that comes from.
#[test]
fn scenarios_are_questions() {
    let files = texts("scenarios/library", &[".ron"]);
    assert_eq!(
        files.len(),
        scenarios::library::names().count(),
        "the library names each of its files"
    );
    for (path, text) in files {
        let first = text.lines().next().unwrap_or("");
        assert!(
            first.starts_with("// ") && first.ends_with('?'),
            "{path} opens with no question: {first}"
        );
        let says = |word: &str| {
            text.lines()
                .take_while(|l| l.starts_with("//"))
                .any(|l| l.starts_with(word))
        };
        assert!(says("// Expect: ") && says("// Source: "), "{path}");
    }
}

/// Nothing committed depends on the machine it was written on.
#[test]
fn no_path_of_somebodys_machine() {
    let files = texts(
        ".",
        &[
            ".rs", ".ron", ".toml", ".md", ".snap", ".json", ".txt", ".yml", ".yaml", ".sh",
            ".html", ".css",
        ],
    );
    let words: Vec<String> = ["work", "tmp", "root", "home"]
        .iter()
        .map(|d| format!("/{d}/"))
        .collect();
    let mut found = Vec::new();
    for (path, text) in files {
        for (number, line) in text.lines().enumerate() {
            let starts = |w: &String| {
                line.match_indices(w.as_str()).any(|(at, _)| {
                    at == 0
                        || line[..at]
                            .ends_with(|c: char| c.is_whitespace() || "\"'`(=:".contains(c))
                })
            };
            if words.iter().any(starts) {
                found.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    none(found, "no absolute path of a machine");
}

/// An arrow between crates is a line in a Cargo.toml, and there are no others than these.
#[test]
fn crates_depend_as_drawn() {
    let drawn: BTreeMap<&str, BTreeSet<&str>> = [
        ("sim-core", vec![]),
        ("scenarios", vec!["sim-core"]),
        ("tui", vec!["sim-core"]),
        ("cli", vec!["scenarios", "sim-core", "tui"]),
        ("tests", vec!["cli", "scenarios", "sim-core", "tui"]),
    ]
    .into_iter()
    .map(|(name, on)| (name, on.into_iter().collect()))
    .collect();
    for (name, on) in &drawn {
        let text = std::fs::read_to_string(root().join(name).join("Cargo.toml"))
            .expect("a manifest a crate");
        let mut section = "";
        let mut found = BTreeSet::new();
        for line in text.lines() {
            if line.starts_with('[') {
                section = line;
            }
            let dependency = line.split(['.', ' ', '=']).next().unwrap_or("");
            if section.contains("dependencies")
                && let Some((known, _)) = drawn.get_key_value(dependency)
            {
                found.insert(*known);
            }
        }
        assert_eq!(found, *on, "{name}/Cargo.toml");
    }
}
