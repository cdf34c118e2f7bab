//! What pahole prints, read: recordings in full, every kind of declaration, and what is wrong.

use super::*;
use std::path::{Path, PathBuf};

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).expect("a folder");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "txt"));
    files.sort();
    files
}

fn read(path: &Path) -> Vec<Struct> {
    let text = std::fs::read_to_string(path).expect("text");
    parse(&text).unwrap_or_else(|e| panic!("{}: {e:?}", path.display()))
}

/// Bytes that no member covers, and bytes between members, of a struct's outermost level.
fn holes(s: &Struct) -> (u32, u32) {
    let mut covered = vec![false; s.bytes() as usize];
    let mut last = 0;
    for m in &s.members {
        covered[m.offset as usize..(m.offset + m.size) as usize].fill(true);
        last = last.max(m.offset + m.size);
    }
    let open = covered[..last as usize].iter().filter(|c| !**c).count();
    (open as u32, s.bytes() - last)
}

/// Every recorded layout reads; its size is the one that was recorded beside it, and what the members
/// leave open is what pahole counted as holes and padding.
#[test]
fn recorded_layouts_read_in_full() {
    for version in ["6.1", "6.18"] {
        let dir = Path::new("layouts").join(version);
        let sizes = std::fs::read_to_string(dir.join("sizes.tsv")).expect("sizes.tsv");
        let all = files(&dir);
        assert!(all.len() > 50, "{version}: {}", all.len());
        let mut sized = 0;
        for path in all {
            let text = std::fs::read_to_string(&path).expect("text");
            let structs = read(&path);
            let [s] = structs.as_slice() else {
                panic!("{}: {} structs", path.display(), structs.len())
            };
            assert_eq!(
                Some(s.name.as_str()),
                path.file_stem().and_then(|n| n.to_str())
            );
            let recorded = sizes.lines().find_map(|l| {
                let mut columns = l.split('\t');
                (columns.next() == Some(&s.name)).then(|| columns.next())?
            });
            if let Some(recorded) = recorded {
                sized += 1;
                assert_eq!(s.size, recorded.parse().ok(), "{}", path.display());
            }
            let (open, padding) = holes(s);
            let said = |key: &str| {
                let rest = text.split(key).nth(1)?;
                rest.split(|c: char| !c.is_ascii_digit())
                    .find(|w| !w.is_empty())?
                    .parse()
                    .ok()
            };
            assert_eq!(open, said("sum holes:").unwrap_or(0), "{}: holes", s.name);
            assert_eq!(
                padding,
                said("/* padding:").unwrap_or(0),
                "{}: padding",
                s.name
            );
            // "members: 159" counts the outermost level, where an anonymous union is one.
            let lines = text
                .lines()
                .filter(|l| l.contains("/*") && l.contains(';'))
                .count();
            assert!(
                s.members.len() >= lines / 2,
                "{}: members are missing",
                s.name
            );
        }
        assert!(
            sized > 30,
            "{version}: sizes of only {sized} structs are recorded"
        );
    }
}

#[test]
fn the_threads_fragments_read() {
    for (name, members) in [("before", 11), ("patched", 12), ("watchdog_moved", 11)] {
        let structs = read(&Path::new("layouts/thread-S1").join(format!("{name}.txt")));
        let [s] = structs.as_slice() else {
            panic!("{name}")
        };
        assert!(s.is_fragment());
        assert_eq!(s.members.len(), members, "{name}");
        assert_eq!(s.member("_tx").map(|m| (m.offset, m.size)), Some((896, 8)));
    }
}

/// Names and types of what C can declare.
#[test]
fn declarations() {
    let text = "struct s {\n\
        \tint (*enqueue)(struct sk_buff *, struct Qdisc *); /* 0 8 */\n\
        \tint * const p[4][2];  /* 8 64 */\n\
        \tunsigned int a:3; /* 72: 0 4 */\n\
        \tunsigned int b:5; /* 72: 3 4 */\n\
        \t/* XXX 24 bits hole, try to pack */\n\
        \t/* Force alignment to the next boundary: */\n\
        \tu8 :0;\n\
        \tspinlock_t lock __attribute__((__aligned__(64))); /* 128 4 */\n\
        \tunion {\n\t\tlong x; /* 0x88 8 */\n\t\tstruct {\n\t\t\tint y; /* 136 4 */\n\t\t\tint z; /* 140 4 */\n\
        \t\t} in; /* 136 8 */\n\t}; /* 136 8 */\n\
        \tenum {\n\t\tA = 0,\n\t\tB = 1,\n\t} mode:16; /* 144: 0 4 */\n\
        \tlong int data[]; /* 148 0 */\n\
        \n\t/* size: 192, cachelines: 3 */\n};\n\
        struct t {\n\tchar c; /* 0 1 */\n};\n";
    let structs = parse(text).unwrap_or_else(|e| panic!("{e:?}"));
    let [s, t] = structs.as_slice() else {
        panic!("{structs:?}")
    };
    let got: Vec<String> = s
        .members
        .iter()
        .map(|m| format!("{}@{}+{} {:?} {}", m.name, m.offset, m.size, m.bits, m.ty))
        .collect();
    let want = [
        "enqueue@0+8 None int (*enqueue)(struct sk_buff *, struct Qdisc *)",
        "p@8+64 None int * const",
        "a@72+4 Some((0, 3)) unsigned int",
        "b@72+4 Some((3, 5)) unsigned int",
        "lock@128+4 None spinlock_t",
        "x@136+8 None long",
        "in@136+8 None struct",
        "in.y@136+4 None int",
        "in.z@140+4 None int",
        "mode@144+4 Some((0, 16)) enum",
        "data@148+0 None long int",
    ];
    assert_eq!(got, want);
    assert_eq!((s.size, t.name.as_str(), t.bytes()), (Some(192), "t", 1));
}

/// What is wrong is said with the line that it is about.
#[test]
fn mistakes_have_a_place() {
    let cases = [
        (
            "struct s {\n\tint a; /* 0 4 */\n\tint b; /* 2 4 */\n};\n",
            "`b` starts at byte 2",
        ),
        ("struct s {\n\tint a; /* 0 4 */\n", "this is never closed"),
        ("struct s {\n\tint a;\n};\n", "without offset and size"),
        (
            "struct s {\n\tint a:3; /* 0 4 */\n};\n",
            "without its first bit",
        ),
        ("struct s {\n\tint a:9; /* 0:30 4 */\n};\n", "does not hold"),
        ("}\n", "closes nothing"),
        ("hello {\n}\n", "opens no struct"),
        ("struct {\n\tint a; /* 0 4 */\n};\n", "without a name"),
        (
            "struct s {\n\tint; /* 0 4 */ int c; /* 4 4 */ x\n};\n",
            "without offset",
        ),
        (
            "struct s {\n\tunion {\n\t\tlong a; /* 0 8 */\n\t}; /* 0 4 */\n};\n",
            "members of bytes 0..8",
        ),
        (
            "struct s {\n\tlong a; /* 0 8 */\n\t/* size: 4 */\n};\n",
            "ends at byte 8",
        ),
        (
            "struct s {\n\tint a; /* 4294967295 8 */\n};\n",
            "ends behind byte",
        ),
        ("/* nothing */\n", "no struct"),
    ];
    for (text, message) in cases {
        let error = parse(text).expect_err(message);
        assert!(error.message.contains(message), "{message}: {error:?}");
        assert!(
            error.place.1 <= text.len() && error.place.0 <= error.place.1,
            "{error:?}"
        );
    }
    let error = parse("struct s {\n\tint a; /* 0 4 */\n\tint b; /* 2 4 */\n};\n").expect_err("");
    assert_eq!(error.place, (30, 46));
}

/// Limits are reached before memory is.
#[test]
fn limits() {
    let many = "int a; /* 0 0 */\n".repeat(MAX_MEMBERS + 1);
    let deep = format!("struct s {{\n{}", "union {\n".repeat(MAX_DEPTH + 1));
    for text in [many, deep] {
        assert!(parse(&text).expect_err("too much").limit);
    }
}

proptest::proptest! {
    /// Nothing that can be written makes the reader panic, and every place lies in the text.
    #[test]
    fn no_text_panics(text in "(struct|union|enum|[a-z]{1,3}|[{}();:*/0-9\\[\\] \n\t]|/\\*|\\*/|é){0,40}") {
        if let Err(error) = parse(&text) {
            proptest::prop_assert!(text.get(error.place.0..error.place.1).is_some());
        }
    }
}
