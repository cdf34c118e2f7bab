//! Simulated numbers by setup, and how a published row's number comes from them.

use super::metric::{Metric, Reading};
use crate::text::Sample;
use std::collections::BTreeMap;

/// One configuration to simulate: a built-in scenario and overrides of its parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setup {
    /// Name in the library.
    pub scenario: &'static str,
    /// Paths and values, as `--set` takes them.
    pub set: Vec<(&'static str, String)>,
}

impl Setup {
    /// The scenario as it stands.
    pub fn new(scenario: &'static str) -> Setup {
        Setup {
            scenario,
            set: Vec::new(),
        }
    }

    /// The same with one more override.
    #[must_use]
    pub fn with(mut self, path: &'static str, value: impl ToString) -> Setup {
        self.set.push((path, value.to_string()));
        self
    }

    /// A metric of this setup.
    pub fn metric(self, metric: Metric) -> Quantity {
        Quantity {
            setup: self,
            metric,
        }
    }

    /// The value of an override.
    #[cfg(test)]
    pub fn get(&self, path: &str) -> Option<&str> {
        let found = self.set.iter().find(|(p, _)| *p == path);
        found.map(|(_, value)| value.as_str())
    }
}

/// A metric of a setup: its mean over seeds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    /// What is simulated.
    pub setup: Setup,
    /// What is read from it.
    pub metric: Metric,
}

/// How a row's number comes from simulations.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A quantity times this.
    Mean(Quantity, f64),
    /// This over a quantity.
    Inverse(Quantity, f64),
    /// The first over the second, times this.
    Ratio(Quantity, Quantity, f64),
    /// By how many percent the first is more than the second.
    Gain(Quantity, Quantity),
    /// The first less the second.
    Minus(Box<Source>, Box<Source>),
    /// A count whose base has no mechanism: `base` is carried over from a published row, and what the quantity
    /// has beyond that of `of`, times `scale`, comes on top.
    Carried {
        /// What is counted.
        quantity: Quantity,
        /// The setup that `base` was published for.
        of: Quantity,
        /// The published count, in the unit of the row.
        base: f64,
        /// From the quantity's unit to the row's.
        scale: f64,
    },
    /// Not simulated.
    Nothing,
}

impl Source {
    /// The difference of two sources.
    pub fn minus(self, other: Source) -> Source {
        Source::Minus(Box::new(self), Box::new(other))
    }

    /// Everything it needs.
    pub fn quantities(&self) -> Vec<&Quantity> {
        match self {
            Source::Mean(q, _) | Source::Inverse(q, _) => vec![q],
            Source::Ratio(a, b, _) | Source::Gain(a, b) => vec![a, b],
            Source::Minus(a, b) => [a.quantities(), b.quantities()].concat(),
            Source::Carried { quantity, of, .. } => vec![quantity, of],
            Source::Nothing => vec![],
        }
    }

    /// The quantity that the row states directly, if it is not a comparison of several.
    pub fn level(&self) -> Option<&Quantity> {
        match self {
            Source::Mean(q, _) | Source::Inverse(q, _) => Some(q),
            _ => None,
        }
    }

    /// Whether nothing but the carried base is in it.
    pub fn is_carried(&self) -> bool {
        matches!(self, Source::Carried { quantity, of, .. } if quantity == of)
    }
}

/// What was simulated, by setup.
#[derive(Default)]
pub struct Numbers(BTreeMap<Setup, Vec<Reading>>);

impl Numbers {
    /// A setup counts once all its seeds are there, so that an interrupted run shows no half means.
    pub fn new(places: &[(Setup, usize)], results: &[Option<Reading>]) -> Numbers {
        let mut left = results;
        let mut numbers = BTreeMap::new();
        for (setup, n) in places {
            let (own, rest) = left.split_at(*n);
            left = rest;
            let own: Option<Vec<Reading>> = own.iter().copied().collect();
            numbers.extend(own.map(|own| (setup.clone(), own)));
        }
        Numbers(numbers)
    }

    /// Over seeds; `None` if the setup was not finished or a run has no such number.
    pub fn sample(&self, quantity: &Quantity) -> Option<Sample> {
        let readings = self.0.get(&quantity.setup)?;
        let values: Option<Vec<f64>> = readings.iter().map(|r| r.get(quantity.metric)).collect();
        Sample::of(&values?)
    }

    /// Mean over seeds.
    pub fn mean(&self, quantity: &Quantity) -> Option<f64> {
        self.sample(quantity).map(|s| s.mean)
    }

    /// Mean and spread of the number that `source` says.
    pub fn number(&self, source: &Source) -> Option<(f64, Option<f64>)> {
        match source {
            Source::Mean(q, scale) => self.sample(q).map(|s| (s.mean * scale, Some(s.sd * scale))),
            Source::Inverse(q, scale) => self
                .sample(q)
                .filter(|s| s.mean > 0.0)
                .map(|s| (scale / s.mean, Some(scale / s.mean * s.sd / s.mean))),
            Source::Ratio(a, b, scale) => {
                let whole = self.mean(b).filter(|&b| b > 0.0)?;
                Some((self.mean(a)? / whole * scale, None))
            }
            Source::Gain(with, without) => {
                let whole = self.mean(without).filter(|&b| b > 0.0)?;
                Some((100.0 * (self.mean(with)? / whole - 1.0), None))
            }
            Source::Minus(a, b) => Some((self.number(a)?.0 - self.number(b)?.0, None)),
            Source::Carried {
                quantity,
                of,
                base,
                scale,
            } => {
                let s = self.sample(quantity)?;
                let added = (s.mean - self.mean(of)?) * scale;
                let spread = (quantity != of).then_some(s.sd * scale);
                Some((base + added, spread))
            }
            Source::Nothing => None,
        }
    }

    /// Most seeds that any setup was run with.
    pub fn seeds(&self) -> usize {
        self.0.values().map(Vec::len).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(name: &'static str) -> Quantity {
        Setup::new(name).metric(Metric::Rate)
    }

    fn read(value: f64) -> Option<Reading> {
        Some(Reading::default().with(Metric::Rate, value))
    }

    /// Half of a setup's seeds give no mean.
    #[test]
    fn an_interrupted_setup_does_not_count() {
        let places = [(Setup::new("a"), 2), (Setup::new("b"), 1)];
        let numbers = Numbers::new(&places, &[read(1.0), None, read(3.0)]);
        assert_eq!(numbers.mean(&rate("a")), None);
        assert_eq!(numbers.mean(&rate("b")), Some(3.0));
        assert_eq!(numbers.mean(&Setup::new("b").metric(Metric::Cycles)), None);
    }

    #[test]
    fn rows_are_arithmetic_on_quantities() {
        let places = [(Setup::new("a"), 2), (Setup::new("b"), 1)];
        let numbers = Numbers::new(&places, &[read(3.0), read(5.0), read(2.0)]);
        let number = |source: Source| numbers.number(&source).map(|n| n.0);
        let (a, b) = (rate("a"), rate("b"));
        assert_eq!(number(Source::Mean(a.clone(), 10.0)), Some(40.0));
        assert_eq!(number(Source::Inverse(a.clone(), 8.0)), Some(2.0));
        assert_eq!(number(Source::Ratio(a.clone(), b.clone(), 1.0)), Some(2.0));
        assert_eq!(number(Source::Gain(a.clone(), b.clone())), Some(100.0));
        let minus = Source::Mean(a.clone(), 1.0).minus(Source::Inverse(b.clone(), 2.0));
        assert_eq!(number(minus), Some(3.0));
        let carried = |quantity| Source::Carried {
            quantity,
            of: b.clone(),
            base: 7.0,
            scale: 10.0,
        };
        assert_eq!(number(carried(a.clone())), Some(27.0));
        assert_eq!(number(carried(b.clone())), Some(7.0));
        assert!(carried(b.clone()).is_carried() && !carried(a.clone()).is_carried());
        assert_eq!(number(Source::Inverse(rate("c"), 1.0)), None);
    }
}
