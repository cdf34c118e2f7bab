//! The digest of every library scenario, point by point, in a file that debug and release compare with.

use crate::support::{library_points, seeded};
use std::fmt::Write;
use std::path::Path;

const HEADER: &str = "\
# scenario/point seed digest, of the library scenarios with measurements cut to 40 us + 160 us.
# Written by UPDATE_DIGESTS=1 cargo test -p tests golden
";
const SEEDS: [u64; 2] = [0, 1];

/// No run of a library scenario changes unless a commit says that it does, and why.
#[test]
fn golden_digests() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("digests.txt");
    let mut now = HEADER.to_owned();
    for (name, config) in library_points() {
        for seed in SEEDS {
            let outcome = seeded(&config, seed);
            writeln!(now, "{name} {seed} {}", outcome.digest).expect("a string takes all");
        }
    }
    if std::env::var_os("UPDATE_DIGESTS").is_some() {
        std::fs::write(&path, &now).expect("writable");
        return;
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let moved: Vec<&str> = now
        .lines()
        .filter(|line| !known.lines().any(|k| k == *line))
        .collect();
    let gone = known
        .lines()
        .filter(|k| !now.lines().any(|line| line == *k))
        .count();
    assert!(
        moved.is_empty() && gone == 0,
        "{} digests moved or are new, {gone} lines of tests/digests.txt no longer hold:\n{}\n\
         If that is meant: UPDATE_DIGESTS=1 cargo test -p tests golden, and say in the commit what moved them \
         and why the new runs are right.",
        moved.len(),
        moved.join("\n")
    );
}
