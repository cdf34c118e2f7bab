//! What the documentation points at is there, and the finding it opens with is still one.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ]
    .iter()
    .map(|name| root().join(name))
    .collect();
    let chapters = std::fs::read_dir(root().join("book/src")).expect("the book is there");
    pages.extend(chapters.map(|entry| entry.expect("readable").path()));
    pages.sort();
    pages
}

/// The heading's anchor as mdBook and GitHub make it.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    words
        .chars()
        .filter(|c| c.is_alphanumeric() || "-_ ".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// Every relative link leads to a file, and its fragment to a heading there.
#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("readable");
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if target.contains("://") || target.contains(' ') {
                continue;
            }
            let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
            let file = match file {
                "" => page.clone(),
                file => page.parent().expect("a page lies in a folder").join(file),
            };
            let found = std::fs::read_to_string(&file).is_ok_and(|there| {
                fragment.is_empty()
                    || there
                        .lines()
                        .any(|l| l.starts_with('#') && anchor(l) == fragment)
            });
            if !found {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every chapter is in the summary.
#[test]
fn chapters_are_listed() {
    let summary = std::fs::read_to_string(root().join("book/src/SUMMARY.md")).expect("readable");
    for page in pages()
        .iter()
        .filter(|p| p.parent().is_some_and(|d| d.ends_with("src")))
    {
        let name = page.file_name().expect("a file").to_string_lossy();
        assert!(
            name == "SUMMARY.md" || summary.contains(&format!("({name})")),
            "{name}"
        );
    }
}

/// The seed that README and book open the timeline with leaves a packet behind.
#[test]
fn the_seed_of_the_readme_is_stuck() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("readable");
    let line = readme
        .lines()
        .find_map(|l| l.split_once("-- view "))
        .expect("README opens a timeline")
        .1;
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[1], "--seed", "{line}");
    let out = Command::new(env!("CARGO_BIN_EXE_skbsim"))
        .current_dir(root())
        .args(["run", words[0], "--seed", words[2]])
        .output()
        .expect("starts");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(
        out.status.code() == Some(5) && text.contains("PacketStuck"),
        "seed {} is not stuck any more: look for another one with `skbsim run {} --seeds 0..2000`, \
         and replace it in README.md and book/src\n{text}",
        words[2],
        words[0]
    );
    let at = text
        .split(" at ")
        .nth(1)
        .and_then(|t| t.split("ns ").next())
        .expect("says when");
    let whole = at.split('.').next().expect("a number");
    assert!(
        line.contains(&format!("--at {whole}ns")),
        "the finding is at {at}ns: {line}"
    );
    for chapter in ["quick-start.md", "lockless.md", "micro-step.md"] {
        let chapter =
            std::fs::read_to_string(root().join("book/src").join(chapter)).expect("readable");
        assert!(
            chapter.contains(&format!("--seed {} --at {at}ns", words[2])),
            "{at}"
        );
    }
}
