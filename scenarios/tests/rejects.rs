//! One bad file for every rule, and the exact message that it gets.

use scenarios::rules::RULES;
use scenarios::{Loader, ProfileFile, Registry, Rejected};
use std::path::{Path, PathBuf};

const SCENARIOS: &str = "tests/rejects";
const PROFILES: &str = "tests/rejects/profiles";

fn files(dir: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .filter(|p| p.extension().is_some_and(|e| e == "ron"))
        .collect();
    files.sort();
    files
}

fn stem(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().unwrap()
}

/// The file breaks the rule in its name and no other, and says so in the words of the snapshot.
fn judge(path: &Path, rejected: &Rejected) {
    let code = &stem(path)[..5];
    for problem in rejected {
        assert_eq!(problem.code, code, "{}: {problem}", path.display());
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("rejects/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(stem(path), rejected));
}

#[test]
fn scenarios_are_rejected() {
    let registry = Registry::new();
    for path in files(SCENARIOS) {
        match Loader::new(&registry).load_file(&path) {
            Ok(_) => panic!("{} is accepted", path.display()),
            Err(rejected) => judge(&path, &rejected),
        }
    }
}

#[test]
fn profiles_are_rejected() {
    for path in files(PROFILES) {
        let text = std::fs::read_to_string(&path).unwrap();
        match ProfileFile::parse(&path.display().to_string(), &text) {
            Ok(_) => panic!("{} is accepted", path.display()),
            Err(rejected) => judge(&path, &rejected),
        }
    }
}

/// The one rule whose file would be too large for a repository.
#[test]
fn too_large() {
    let text = format!("(version: 1{})", " ".repeat(4 << 20));
    let rejected = Loader::new(&Registry::new())
        .load_str("large.ron", &text)
        .unwrap_err();
    assert_eq!(rejected.problems[0].code, "E0102");
    let path = std::env::temp_dir().join(format!("skbsim-large-{}.ron", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let rejected = Loader::new(&Registry::new()).load_file(&path).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(rejected.problems[0].code, "E0102");
}

/// No rule without a file that breaks it.
#[test]
fn every_rule_has_a_file() {
    let all: Vec<PathBuf> = files(SCENARIOS)
        .into_iter()
        .chain(files(PROFILES))
        .collect();
    for rule in RULES.iter().filter(|r| r.code != "E0102") {
        assert!(
            all.iter().any(|path| stem(path).starts_with(rule.code)),
            "no file breaks {}",
            rule.code
        );
    }
}
