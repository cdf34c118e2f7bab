//! Values of options: ranges of seeds, times, sizes, overrides. Each refusal says what to write instead.

use sim_core::violation::Law;
use std::ops::Range;

/// Seeds `a..b`, half-open as in Rust: `0..64` is 64 seeds.
pub fn seeds(text: &str) -> Result<Range<u64>, String> {
    let text = text.trim();
    if let Some((a, b)) = text.split_once("..=") {
        return Err(match (number(a), number(b)) {
            (Some(a), Some(b)) => {
                format!("ranges are half-open, write {a}..{}", b.saturating_add(1))
            }
            _ => "ranges are half-open, write A..B (B itself is not run)".to_owned(),
        });
    }
    let Some((a, b)) = text.split_once("..") else {
        return Err(not_a_range(text));
    };
    match (number(a), number(b)) {
        (Some(a), Some(b)) if a <= b => Ok(a..b),
        (Some(a), Some(b)) => Err(format!("the range ends before it begins, write {b}..{a}")),
        (None, Some(b)) if a.is_empty() => Err(format!("the first seed is missing, write 0..{b}")),
        (Some(a), None) if b.is_empty() => Err(format!(
            "the end is missing, write for example {a}..{}",
            a + 64
        )),
        _ => Err("seeds are whole numbers, write for example 0..64".to_owned()),
    }
}

fn not_a_range(text: &str) -> String {
    for separator in ['-', ':', ','] {
        if let Some((a, b)) = text.split_once(separator)
            && let (Some(a), Some(b)) = (number(a), number(b))
        {
            return format!(
                "write {a}..{} (half-open: the last seed is {b})",
                b.saturating_add(1)
            );
        }
    }
    match number(text) {
        Some(n) => format!("write --seed {n} for one seed, or 0..{n} for {n} seeds"),
        None => "write a half-open range, for example 0..64 (64 seeds)".to_owned(),
    }
}

fn number(text: &str) -> Option<u64> {
    let digits: String = text.trim().chars().filter(|&c| c != '_').collect();
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok(),
        None => None,
    }
}

/// One seed, decimal or `0x` hexadecimal.
pub fn seed(text: &str) -> Result<u64, String> {
    if text.contains("..") {
        return Err(format!("this is a range, write --seeds {text}"));
    }
    number(text)
        .ok_or_else(|| "a seed is a whole number below 2^64, decimal or 0x hexadecimal".to_owned())
}

/// A law by its name.
pub fn law(text: &str) -> Result<Law, String> {
    let known = Law::ALL.into_iter().find(|l| l.name() == text);
    known.ok_or_else(|| {
        let names: Vec<&str> = Law::ALL.iter().map(|l| l.name()).collect();
        format!("the laws are {}", names.join(", "))
    })
}

/// A number of threads, at least 1.
pub fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("write -j 1 for one thread; without -j all cores are used".to_owned()),
        Ok(n) => Ok(n),
        Err(_) => Err("write a number of threads, for example -j 4".to_owned()),
    }
}

/// `path=RON`, split at the first `=`.
pub fn set(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((path, value)) if !path.trim().is_empty() && !value.trim().is_empty() => {
            Ok((path.trim().to_owned(), value.trim().to_owned()))
        }
        Some((path, _)) if !path.trim().is_empty() => {
            Err(format!("the value is missing, write {path}=VALUE"))
        }
        _ => Err("write PATH=VALUE, for example kernel.lockless=v5".to_owned()),
    }
}

/// A time such as `1234.5ns` or `12.3us`, in picoseconds.
pub fn time(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 5] = [("ps", 0), ("ns", 3), ("us", 6), ("ms", 9), ("s", 12)];
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
        .unwrap_or(text.len());
    let (digits, unit) = (text[..split].replace('_', ""), &text[split..]);
    if unit.is_empty() && !digits.is_empty() {
        return Err(format!(
            "the unit is missing, write {text}ns, {text}us, {text}ms or {text}s"
        ));
    }
    let Some(&(_, exponent)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(
            "write a time with its unit (ps, ns, us, ms, s), for example 1234.5ns or 12.3us"
                .to_owned(),
        );
    };
    decimal(&digits, exponent).ok_or_else(|| {
        format!("`{text}` is not a time that can be told in picoseconds, write for example 1234.5ns or 12.3us")
    })
}

/// `digits` (with at most one point) times ten to the power of `exponent`, if that is whole.
fn decimal(digits: &str, exponent: u32) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let missing = exponent.checked_sub(u32::try_from(fraction.len()).ok()?)?;
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    format!("{whole}{fraction}")
        .parse::<u64>()
        .ok()?
        .checked_mul(10u64.checked_pow(missing)?)
}

/// A size such as `512MiB`, in bytes.
pub fn size(text: &str) -> Result<usize, String> {
    const UNITS: [(&str, u32); 4] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("B", 0)];
    UNITS
        .iter()
        .find_map(|(unit, shift)| Some((text.trim().strip_suffix(unit)?, *shift)))
        .and_then(|(digits, shift)| digits.trim().parse::<usize>().ok()?.checked_mul(1 << shift))
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| {
            "write a size with its unit (B, KiB, MiB, GiB), for example 512MiB".to_owned()
        })
}

/// `text` as one word of a POSIX shell.
pub fn shell(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_half_open() {
        assert_eq!(seeds("0..64"), Ok(0..64));
        assert_eq!(seeds("0x10..2_000"), Ok(16..2000));
        assert_eq!(seeds("5..5"), Ok(5..5));
    }

    /// Every other spelling is refused with the one to write.
    #[test]
    fn other_spellings_of_ranges_get_the_remedy() {
        for (given, remedy) in [
            ("0..=63", "0..64"),
            ("0-63", "0..64"),
            ("0:63", "0..64"),
            ("64", "--seed 64"),
            ("..64", "0..64"),
            ("3..", "3..67"),
            ("9..3", "3..9"),
            ("a..b", "0..64"),
            ("many", "0..64"),
        ] {
            let error = seeds(given).expect_err(given);
            assert!(error.contains(remedy), "{given}: {error}");
        }
        assert!(seed("0..4").expect_err("range").contains("--seeds 0..4"));
    }

    #[test]
    fn times_are_exact() {
        assert_eq!(time("1234.567ns"), Ok(1_234_567));
        assert_eq!(time("12.3us"), Ok(12_300_000));
        assert_eq!(time("2ms"), Ok(2_000_000_000));
        assert_eq!(time(".5ns"), Ok(500));
        for wrong in [
            "12",
            "1.2345ns",
            "ns",
            "12 parsecs",
            "99999999999s",
            "1.2.3ns",
            "-1ns",
        ] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
        assert!(time("12").expect_err("no unit").contains("12us"));
    }

    #[test]
    fn sizes() {
        assert_eq!(size("512MiB"), Ok(512 << 20));
        assert_eq!(size("4096B"), Ok(4096));
        assert!(size("512").is_err() && size("0MiB").is_err() && size("5MB").is_err());
    }

    #[test]
    fn overrides() {
        assert_eq!(
            set("a.b = (c: 1, d: [2])"),
            Ok(("a.b".to_owned(), "(c: 1, d: [2])".to_owned()))
        );
        assert!(set("a.b").is_err() && set("=1").is_err() && set("a=").is_err());
    }

    #[test]
    fn shell_words_survive_pasting() {
        assert_eq!(shell("kernel.lockless=v5"), "kernel.lockless=v5");
        assert_eq!(shell("hosts[0].x=(a: 1)"), "'hosts[0].x=(a: 1)'");
        assert_eq!(shell("it's"), r"'it'\''s'");
    }
}
