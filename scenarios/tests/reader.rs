//! The reader against `ron`: what ron accepts, it accepts; and nothing makes it panic.

use proptest::prelude::*;
use ron::value::Value;
use scenarios::parse::{MAX_BYTES, SyntaxRule, parse};
use scenarios::tree::{Kind, Node};
use scenarios::{Loader, Registry, library};

/// Texts that use every corner of the syntax.
const CORNERS: &[&str] = &[
    "#![enable(implicit_some)] #![enable(unwrap_newtypes,)] (a: 1)",
    "/* a /* nested */ comment */ [1, 2, // end\n 3,]",
    "(r#a: 1, b: r#\"raw \"quoted\" text\"#)",
    "Name(1, 2)",
    "Name ( a : 1 , )",
    "[1_000, 0xFF, 0o17, 0b1010, -5, +3, 1e3, 1., .5, -0.5e-3, 1u8, 1.5f32, inf, NaN, -inf]",
    "{\"a\": 1, 2: 'c', (1, 2): [], Some(1): None}",
    "'\\u{1F600}'",
    "\"\\x41\\u{e9}\\n\\\"\\\\ a \\\n   b\"",
    "b\"bytes\\xff\"",
    "b'a'",
    "br#\"x\"#",
    "Some(Some(()))",
    "()",
    "Unit()",
    "0..4",
    "0..=4",
    "(a: true, b: false, c: on)",
    "Äpfel(größe: 1)",
];

#[test]
fn corners_of_the_syntax() {
    for text in CORNERS {
        assert!(ron::from_str::<Value>(text).is_ok(), "ron refuses {text}");
        assert!(parse(text, 0).is_ok(), "{text}: {:?}", parse(text, 0));
    }
}

/// Limits come before memory and before the stack.
#[test]
fn limits() {
    for open in ["(", "[", "Some(", "{1:", "(a:", "A(("] {
        let error = parse(&open.repeat(500_000), 0).unwrap_err();
        assert_eq!(error.what, SyntaxRule::Depth, "{open}");
    }
    assert_eq!(
        parse(&" ".repeat(MAX_BYTES + 1), 0).unwrap_err().what,
        SyntaxRule::Size
    );
    let deep = format!("{}1{}", "[".repeat(127), "]".repeat(127));
    assert!(parse(&deep, 0).is_ok());
}

fn agrees(node: &Node, value: &Value) -> bool {
    match (&node.kind, value) {
        (Kind::Unit, Value::Unit)
        | (Kind::None, Value::Option(None))
        | (Kind::Bytes, Value::Bytes(_)) => true,
        (Kind::Bool(a), Value::Bool(b)) => a == b,
        (Kind::Char(a), Value::Char(b)) => a == b,
        (Kind::Str(a), Value::String(b)) => a == b,
        (Kind::Int(a), Value::Number(b)) => *a as f64 == b.into_f64(),
        (Kind::Float(a), Value::Number(b)) => (a - b.into_f64()).abs() <= a.abs() * 1e-6,
        (Kind::Some(a), Value::Option(Some(b))) => agrees(a, b),
        (Kind::List(a) | Kind::Tuple(None, a), Value::Seq(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agrees(a, b))
        }
        (Kind::Map(a), Value::Map(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b.iter())
                    .all(|((ka, va), (kb, vb))| agrees(ka, kb) && agrees(va, vb))
        }
        _ => false,
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Unit),
        Just(Value::Option(None)),
        any::<bool>().prop_map(Value::Bool),
        any::<char>().prop_map(Value::Char),
        any::<String>().prop_map(Value::String),
        any::<i64>().prop_map(|n| Value::Number(n.into())),
        (-1e9f64..1e9).prop_map(|x| Value::Number(x.into())),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Seq),
            inner.clone().prop_map(|v| Value::Option(Some(Box::new(v)))),
            prop::collection::btree_map("[a-z\" \\\\é]{0,6}", inner, 0..5).prop_map(
                |m| Value::Map(m.into_iter().map(|(k, v)| (Value::String(k), v)).collect())
            ),
        ]
    })
}

/// A text and some damage to it: characters of the syntax put in, taken out, or pieces doubled.
fn damaged(texts: Vec<String>) -> impl Strategy<Value = String> {
    let edit = (
        any::<prop::sample::Index>(),
        0..4u8,
        prop::sample::select(
            "()[]{}:,.\"'\\/*#!rbeiNS_+-0x9 \n\u{85}é"
                .chars()
                .collect::<Vec<_>>(),
        ),
    );
    (
        prop::sample::select(texts),
        prop::collection::vec(edit, 1..6),
    )
        .prop_map(|(text, edits)| {
            let mut chars: Vec<char> = text.chars().collect();
            for (at, what, c) in edits {
                let at = at.index(chars.len() + 1);
                match what {
                    0 => chars.insert(at, c),
                    1 if at < chars.len() => drop(chars.remove(at)),
                    2 if at < chars.len() => chars[at] = c,
                    _ => {
                        let piece: Vec<char> = chars[at.saturating_sub(5)..at].to_vec();
                        chars.splice(at..at, piece);
                    }
                }
            }
            chars.into_iter().collect()
        })
}

fn library_texts() -> Vec<String> {
    let scenarios = library::names().map(|n| library::text(n).unwrap().to_owned());
    let registry = Registry::new();
    let profiles: Vec<String> = registry
        .profile_names()
        .map(|n| registry.profile_text(n).unwrap().to_owned())
        .collect();
    scenarios
        .chain(profiles)
        .chain(CORNERS.iter().map(|t| (*t).to_owned()))
        .collect()
}

/// Every span lies in the text, on characters, and within its parent's.
fn spans_nest(node: &Node, text: &str) {
    let range = |n: &Node| n.span.start as usize..n.span.end as usize;
    assert!(text.get(range(node)).is_some());
    let inside = |child: &Node| {
        assert!(range(node).start <= range(child).start && range(child).end <= range(node).end);
        spans_nest(child, text);
    };
    match &node.kind {
        Kind::Some(inner) => inside(inner),
        Kind::List(items) | Kind::Tuple(_, items) => items.iter().for_each(inside),
        Kind::Map(pairs) => pairs.iter().for_each(|(k, v)| {
            inside(k);
            inside(v);
        }),
        Kind::Struct(_, fields) => fields.iter().for_each(|f| inside(&f.value)),
        _ => {}
    }
}

/// `PROPTEST_CASES` raises the number of cases for a long search.
fn cases(few: u32) -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(few)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(2000), failure_persistence: None, ..ProptestConfig::default() })]

    /// What ron prints, plain or pretty, is read as the same value.
    #[test]
    fn reads_what_ron_prints(value in values()) {
        for text in [ron::to_string(&value).unwrap(), ron::ser::to_string_pretty(&value, ron::ser::PrettyConfig::default()).unwrap()] {
            let node = parse(&text, 0);
            prop_assert!(node.as_ref().is_ok_and(|n| agrees(n, &value)), "{text}: {node:?}");
        }
    }

    /// Damaged text never panics, and is accepted where ron accepts it.
    #[test]
    fn accepts_what_ron_accepts(text in damaged(library_texts())) {
        let ours = parse(&text, 0);
        if let Ok(node) = &ours {
            spans_nest(node, &text);
        }
        if ron::from_str::<Value>(&text).is_ok() {
            prop_assert!(ours.is_ok(), "{text}: {ours:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(300), failure_persistence: None, ..ProptestConfig::default() })]

    /// The whole loader never panics, and a rejection always says where and why.
    #[test]
    fn loading_damaged_scenarios(text in damaged(library_texts()), path in "[a-z\\[\\]0-9.]{0,20}", ron in "[a-z0-9\"(,):\\[\\]]{0,10}") {
        let registry = Registry::new();
        for loader in [Ok(Loader::new(&registry)), Loader::new(&registry).set(&path, &ron)].into_iter().flatten() {
            match loader.load_str("damaged.ron", &text) {
                Ok(scenario) => {
                    let again = Loader::new(&registry).load_str("again.ron", scenario.effective());
                    prop_assert!(again.is_ok(), "{}", again.unwrap_err());
                    let again = again.unwrap();
                    prop_assert_eq!(format!("{:?}", scenario.config()), format!("{:?}", again.config()));
                    prop_assert_eq!(format!("{:?}", scenario.points()), format!("{:?}", again.points()));
                }
                Err(rejected) => {
                    prop_assert!(!rejected.problems.is_empty());
                    prop_assert!(rejected.problems.iter().all(|p| p.line > 0 && p.col > 0 && !p.message.is_empty()));
                    prop_assert!(!rejected.to_string().is_empty() && !rejected.render(false).is_empty());
                }
            }
        }
    }
}
