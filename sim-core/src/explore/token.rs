//! Tokens: a schedule to be pasted.
//!
//! `v1:lockless-qdisc/v0/2x1/tso:23.1,34.1#a1b2c3.9f0e` is: version, scenario, variant, CPUs x packets, memory
//! model, the steps at which somebody else than usual goes, six digits that name the scenario and
//! the meaning of its steps, and four of where it ends. The six are the digest of the usual schedule's steps,
//! so a changed scenario or a changed kernel path is noticed.

use super::usual::Deviation;
use std::fmt;
use std::str::FromStr;

/// A schedule of one configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Name of the scenario, variant and size: for the reader, and to find what it belongs to.
    pub label: String,
    /// `sc`, `tso` or `weak`.
    pub memory: String,
    /// Words that are points beside those that are found at the start.
    pub points: Vec<u32>,
    /// How it differs from the usual schedule.
    pub deviations: Vec<Deviation>,
    /// Digest of the usual schedule's steps, 6 hex digits.
    pub scenario: String,
    /// Digest of where it ends, 4 hex digits.
    pub end: String,
}

/// What is wrong with a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// It does not start with `v1:`.
    Version,
    /// This part is missing or malformed.
    Part(&'static str),
}

impl std::error::Error for TokenError {}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenError::Version => {
                f.write_str("a schedule starts with `v1:` (another version of skbsim wrote it?)")
            }
            TokenError::Part(part) => write!(
                f,
                "its {part} cannot be read; a schedule looks like `v1:lockless-qdisc/v0/2x1/tso:23.1#a1b2c3.9f0e`"
            ),
        }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1:{}/{}", self.label, self.memory)?;
        for p in &self.points {
            write!(f, "+{p}")?;
        }
        f.write_str(":")?;
        for (i, d) in self.deviations.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{}.{}", d.step, d.agent)?;
        }
        write!(f, "#{}.{}", self.scenario, self.end)
    }
}

/// Deviations that a token may have; more is no schedule that anybody made.
const MOST: usize = 100_000;

impl FromStr for Token {
    type Err = TokenError;
    fn from_str(text: &str) -> Result<Token, TokenError> {
        let rest = text.trim().strip_prefix("v1:").ok_or(TokenError::Version)?;
        let (rest, digests) = rest.split_once('#').ok_or(TokenError::Part("digest"))?;
        let (scenario, end) = digests.split_once('.').ok_or(TokenError::Part("digest"))?;
        let hex = |s: &str, n| s.len() == n && s.bytes().all(|b| b.is_ascii_hexdigit());
        if !hex(scenario, 6) || !hex(end, 4) {
            return Err(TokenError::Part("digest"));
        }
        let (label, steps) = rest
            .rsplit_once(':')
            .ok_or(TokenError::Part("list of steps"))?;
        let (label, memory) = label
            .rsplit_once('/')
            .ok_or(TokenError::Part("memory model"))?;
        let mut memory = memory.split('+');
        let model = memory.next().unwrap_or_default();
        let points: Result<Vec<u32>, _> = memory.map(str::parse).collect();
        let one = |d: &str| -> Option<Deviation> {
            let (step, agent) = d.split_once('.')?;
            Some(Deviation {
                step: step.parse().ok()?,
                agent: agent.parse().ok()?,
            })
        };
        let steps = steps.split(',').filter(|s| !s.is_empty());
        let deviations: Option<Vec<Deviation>> = steps.take(MOST + 1).map(one).collect();
        let deviations = deviations.ok_or(TokenError::Part("list of steps"))?;
        let ordered = deviations.windows(2).all(|w| w[0].step < w[1].step);
        if !ordered || deviations.len() > MOST {
            return Err(TokenError::Part("list of steps"));
        }
        if !["sc", "tso", "weak"].contains(&model) {
            return Err(TokenError::Part("memory model"));
        }
        Ok(Token {
            label: label.to_owned(),
            memory: model.to_owned(),
            points: points.map_err(|_| TokenError::Part("memory model"))?,
            deviations,
            scenario: scenario.to_owned(),
            end: end.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::schedule::Agent;

    #[test]
    fn a_token_reads_as_it_prints() {
        let text = "v1:lockless-qdisc/v4/2x1/tso:23.1,34.1d,40.v3#a1b2c3.9f0e";
        let token: Token = text.parse().expect("a token");
        assert_eq!(token.to_string(), text);
        assert_eq!(token.deviations.len(), 3);
        assert_eq!(token.deviations[1].agent, Agent::Drain(1, 0));
        assert_eq!(token.label, "lockless-qdisc/v4/2x1");
        let none: Token = "v1:x/-/1x1/sc+7+9:#000000.0000"
            .parse()
            .expect("no deviations");
        assert_eq!(
            (none.points.as_slice(), none.deviations.len()),
            (&[7, 9][..], 0)
        );
    }

    #[test]
    fn damage_is_named() {
        for (text, error) in [
            ("v2:x/y/tso:#000000.0000", TokenError::Version),
            ("v1:x/y/tso:1.1", TokenError::Part("digest")),
            ("v1:x/y/tso:1.1#00000.0000", TokenError::Part("digest")),
            (
                "v1:x/y/tso:1-1#000000.0000",
                TokenError::Part("list of steps"),
            ),
            (
                "v1:x/y/tso:5.1,4.1#000000.0000",
                TokenError::Part("list of steps"),
            ),
            (
                "v1:x/y/pso:5.1#000000.0000",
                TokenError::Part("memory model"),
            ),
            ("v1:tso:5.1#000000.0000", TokenError::Part("memory model")),
        ] {
            assert_eq!(text.parse::<Token>(), Err(error), "{text}");
        }
    }
}
