//! Quantities with units, in exact integer arithmetic.
//!
//! Times are picoseconds, sizes bytes, rates bits a second, packet rates packets a second. A unit is
//! always written: a bare number is an error, and so are units that mean different things to
//! different tools (`m`, `M`, `bps`).

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// Whether only the unit is missing.
    pub missing: bool,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

/// A family of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// `"10us"`: picoseconds.
    Time,
    /// `"1448B"`: bytes.
    Size,
    /// `"10Gbit"`: bits a second.
    Rate,
    /// `"1.2Mpps"`: packets a second.
    PacketRate,
}

impl Quantity {
    /// What it is, in words.
    pub fn noun(self) -> &'static str {
        match self {
            Quantity::Time => "a time",
            Quantity::Size => "a size",
            Quantity::Rate => "a rate",
            Quantity::PacketRate => "a packet rate",
        }
    }

    /// The units, smallest first, each with its factor to the base unit.
    pub fn units(self) -> &'static [(&'static str, u64)] {
        match self {
            Quantity::Time => &[
                ("ps", 1),
                ("ns", 1_000),
                ("us", 1_000_000),
                ("ms", 1_000_000_000),
                ("s", 1_000_000_000_000),
            ],
            Quantity::Size => &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20)],
            Quantity::Rate => &[
                ("bit", 1),
                ("kbit", 1_000),
                ("Mbit", 1_000_000),
                ("Gbit", 1_000_000_000),
            ],
            Quantity::PacketRate => &[("pps", 1), ("kpps", 1_000), ("Mpps", 1_000_000)],
        }
    }

    /// The unit to suggest for a bare number.
    fn usual(self) -> &'static str {
        match self {
            Quantity::Time => "ns",
            Quantity::Size => "B",
            Quantity::Rate => "Gbit",
            Quantity::PacketRate => "pps",
        }
    }

    fn list(self) -> String {
        self.units()
            .iter()
            .map(|(unit, _)| *unit)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The error for a number without a unit.
    pub fn missing_unit(self, number: &str) -> UnitError {
        UnitError {
            missing: true,
            message: format!("missing unit: write \"{number}{}\"", self.usual()),
            help: format!("units: {}", self.list()),
        }
    }

    /// Reads `text`, for instance `"1.5ms"`, into the base unit.
    ///
    /// # Errors
    /// If the unit is missing or unknown, if the number is malformed or too large, or if it is not
    /// a whole number of base units (`"0.5B"`).
    pub fn parse(self, text: &str) -> Result<u64, UnitError> {
        let text = text.trim();
        let digits = text
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_')))
            .unwrap_or(text.len());
        let (number, unit) = (&text[..digits], text[digits..].trim_start());
        if number.is_empty() {
            return Err(self.bad(format!(
                "\"{}\" does not begin with a number",
                crate::tree::shorten(text)
            )));
        }
        if unit.is_empty() {
            return Err(self.missing_unit(number));
        }
        let Some(&(_, factor)) = self.units().iter().find(|(name, _)| *name == unit) else {
            return Err(self.bad_unit(unit));
        };
        self.exact(number, factor)
    }

    fn exact(self, number: &str, factor: u64) -> Result<u64, UnitError> {
        let number = number.replace('_', "");
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, "0"));
        let malformed = || {
            self.bad(format!(
                "\"{}\" is not a number",
                crate::tree::shorten(&number)
            ))
        };
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            return Err(malformed());
        }
        let large = || {
            self.bad(format!(
                "\"{}\" is too large",
                crate::tree::shorten(&number)
            ))
        };
        let whole: u64 = whole.parse().map_err(|_| large())?;
        let whole = whole.checked_mul(factor).ok_or_else(large)?;
        let fraction = fraction.trim_end_matches('0');
        let fine = || {
            self.bad(format!(
                "\"{number}\" has more digits than the smallest unit, {}",
                self.units()[0].0
            ))
        };
        // 18 digits always fit; no unit has a finer base.
        if fraction.len() > 18 {
            return Err(fine());
        }
        let scale = 10u128.pow(fraction.len() as u32);
        let scaled = u128::from(fraction.parse::<u64>().unwrap_or(0)) * u128::from(factor);
        if scaled % scale != 0 {
            return Err(fine());
        }
        u64::try_from(scaled / scale)
            .ok()
            .and_then(|part| whole.checked_add(part))
            .ok_or_else(large)
    }

    fn bad(self, message: String) -> UnitError {
        let usual = self.usual();
        UnitError {
            missing: false,
            message,
            help: format!("write {} such as \"50{usual}\"", self.noun()),
        }
    }

    fn bad_unit(self, unit: &str) -> UnitError {
        let lower = unit.to_ascii_lowercase();
        let twin = self
            .units()
            .iter()
            .find(|(name, _)| name.to_ascii_lowercase() == lower);
        let help = match (self, unit) {
            (Quantity::Time, "m" | "M" | "min") => {
                "`m` is minutes to some tools: write \"ms\" for milliseconds".into()
            }
            (Quantity::Rate, _) if lower.ends_with("bps") => {
                "`bps` is bytes a second to tc and bits to others: write \"10Gbit\"".into()
            }
            _ => match twin {
                Some((name, _)) => format!("did you mean `{name}`? Units: {}", self.list()),
                None => format!("units: {}", self.list()),
            },
        };
        UnitError {
            missing: false,
            message: format!("unknown unit `{}`", crate::tree::shorten(unit)),
            help,
        }
    }

    /// Writes a value of the base unit so that [`Quantity::parse`] gives it back, in the largest
    /// unit that needs no fraction.
    pub fn print(self, value: u64) -> String {
        let fits = |&&(_, factor): &&(&str, u64)| value >= factor && value.is_multiple_of(factor);
        let usual = self
            .units()
            .iter()
            .find(|(name, _)| *name == self.usual() && value == 0);
        let (unit, factor) = usual
            .or(self.units().iter().rev().find(fits))
            .unwrap_or(&self.units()[0]);
        format!("{}{unit}", value / factor)
    }
}

#[cfg(test)]
mod tests {
    use super::Quantity::*;

    /// Every unit is exact, also with a fraction.
    #[test]
    fn exact_values() {
        assert_eq!(Time.parse("10us"), Ok(10_000_000));
        assert_eq!(Time.parse("1.5ms"), Ok(1_500_000_000));
        assert_eq!(Time.parse("2ns"), Ok(2_000));
        assert_eq!(Time.parse("300ps"), Ok(300));
        assert_eq!(Time.parse("1s"), Ok(1_000_000_000_000));
        assert_eq!(Time.parse("5.5ns"), Ok(5_500));
        assert_eq!(Size.parse("64B"), Ok(64));
        assert_eq!(Size.parse("4KiB"), Ok(4096));
        assert_eq!(Rate.parse("10Gbit"), Ok(10_000_000_000));
        assert_eq!(Rate.parse("1kbit"), Ok(1_000));
        assert_eq!(PacketRate.parse("1.2Mpps"), Ok(1_200_000));
    }

    /// What cannot be meant exactly is refused, and says what to write.
    #[test]
    fn refused() {
        assert_eq!(
            Time.parse("50").unwrap_err().message,
            "missing unit: write \"50ns\""
        );
        assert!(Time.parse("5m").unwrap_err().help.contains("minutes"));
        assert!(Time.parse("5M").is_err());
        assert!(
            Rate.parse("10Gbps")
                .unwrap_err()
                .help
                .contains("bytes a second")
        );
        for bad in [
            "",
            "ns",
            "1.ns",
            ".5ns",
            "1.2.3ns",
            "-1ns",
            "0.0001ps",
            "99999999999999999999s",
            "18446745s",
            "1 000ns",
        ] {
            assert!(Time.parse(bad).is_err(), "{bad}");
        }
    }

    /// Printing and reading are inverse.
    #[test]
    fn printed_values_parse() {
        for value in [
            0,
            1,
            999,
            1_000,
            5_500,
            28_000,
            2_000_000_000,
            3_000_000_000_001,
            u64::MAX,
        ] {
            assert_eq!(Time.parse(&Time.print(value)), Ok(value));
            assert_eq!(Size.parse(&Size.print(value)), Ok(value));
        }
        assert_eq!(Time.print(0), "0ns");
    }
}
