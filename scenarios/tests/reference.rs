//! The generated chapter of the book is what the tables of the checks say today.

use std::path::Path;

/// `UPDATE_REFERENCE=1 cargo test -p scenarios --test reference` rewrites the chapter.
#[test]
fn the_chapter_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/reference.md");
    let now = scenarios::reference_markdown();
    if std::env::var_os("UPDATE_REFERENCE").is_some_and(|v| v == "1") {
        std::fs::write(&path, &now).expect("book/src/reference.md can be written");
    }
    let then = std::fs::read_to_string(&path).unwrap_or_default();
    let line = then
        .lines()
        .zip(now.lines())
        .position(|(old, new)| old != new)
        .unwrap_or_else(|| then.lines().count().min(now.lines().count()));
    assert!(
        then == now,
        "book/src/reference.md is stale from line {} on; UPDATE_REFERENCE=1 rewrites it",
        line + 1
    );
}
