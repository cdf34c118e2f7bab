//! Simulated time in words. Exact: nothing is rounded that a reader could compare.

/// A duration with three significant decimals at most, e.g. `45 ns`, `1.284 us`.
pub fn duration(ps: u64) -> String {
    let (unit, name) = match ps {
        0..1_000_000 => (1_000, "ns"),
        1_000_000..1_000_000_000 => (1_000_000, "us"),
        1_000_000_000..1_000_000_000_000 => (1_000_000_000, "ms"),
        _ => (1_000_000_000_000, "s"),
    };
    format!("{} {name}", fraction(ps, unit, 3))
}

/// Picoseconds as nanoseconds with as many decimals as needed, e.g. `2780.5`.
pub fn ns(ps: u64) -> String {
    fraction(ps, 1_000, 3)
}

/// Picoseconds as microseconds, always with all their decimals down to 0.1 ns, e.g. `12.9000`.
pub fn us(ps: u64) -> String {
    format!("{}.{:04}", ps / 1_000_000, ps % 1_000_000 / 100)
}

/// `value / unit` with up to `decimals` decimals, trailing zeros dropped.
pub fn fraction(value: u64, unit: u64, decimals: u32) -> String {
    let scale = 10u64.pow(decimals);
    let rest = u128::from(value % unit) * u128::from(scale) / u128::from(unit);
    if rest == 0 {
        return (value / unit).to_string();
    }
    let text = format!("{}.{rest:0width$}", value / unit, width = decimals as usize);
    text.trim_end_matches('0').to_owned()
}

/// A signed difference of two times, e.g. `+45 ns`, `-1.2 us`.
pub fn difference(from: u64, to: u64) -> String {
    match to >= from {
        true => format!("+{}", duration(to - from)),
        false => format!("-{}", duration(from - to)),
    }
}

/// A signed difference of two times in nanoseconds, exact, e.g. `+1284.5 ns`.
pub fn difference_ns(from: u64, to: u64) -> String {
    let sign = if to >= from { '+' } else { '-' };
    format!("{sign}{} ns", ns(from.abs_diff(to)))
}

/// The next rung above `value` on the ladder 1, 2, 5, 10, 20, ...
pub fn rung_above(value: u64) -> u64 {
    rungs().find(|&rung| rung > value).unwrap_or(value)
}

/// The next rung below `value`.
pub fn rung_below(value: u64) -> u64 {
    rungs()
        .take_while(|&rung| rung < value)
        .last()
        .unwrap_or(value)
}

fn rungs() -> impl Iterator<Item = u64> {
    (0..19).flat_map(|e| [1, 2, 5].map(|m| m * 10u64.pow(e)))
}

/// A count with thousands separated, e.g. `184,202`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_choose_their_unit() {
        let texts = [0, 500, 45_000, 1_284_500, 3_412_000_000, 2_000_000_000_000].map(duration);
        assert_eq!(
            texts,
            ["0 ns", "0.5 ns", "45 ns", "1.284 us", "3.412 ms", "2 s"]
        );
        assert_eq!(ns(2_780_500), "2780.5");
        assert_eq!(us(12_900_050), "12.9000");
        assert_eq!(grouped(184_202), "184,202");
    }

    #[test]
    fn the_ladder_goes_both_ways() {
        assert_eq!((rung_above(20), rung_below(20)), (50, 10));
        assert_eq!((rung_above(31), rung_below(31)), (50, 20));
    }
}
