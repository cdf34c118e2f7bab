//! Exit codes: what a script may rely on.

use std::process::ExitCode;

/// How a command ended. The number is the process's exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, all expectations met, no finding.
    Ok = 0,
    /// An expectation failed, or a reproduced number is out of its band.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
    /// A scenario or another input is invalid.
    Invalid = 3,
    /// Nothing to do: an empty range of seeds, a filter that matches nothing.
    Nothing = 4,
    /// The simulated kernel broke a law. A finding, not a failure of the simulator.
    Violation = 5,
    /// A limit was hit before the declared work was complete.
    Limit = 6,
    /// The same input gave different digests.
    Nondeterminism = 7,
    /// A recording is unreadable or of another version.
    Recording = 8,
    /// A bug in the simulator.
    Internal = 70,
    /// Interrupted; what was finished is kept.
    Interrupted = 130,
    /// Nobody reads the output any more.
    BrokenPipe = 141,
}

impl Exit {
    /// Which of two ends a command reports when both happened in it. The order of the list is the
    /// precedence: a bug or nondeterminism makes findings doubtful, a finding makes bounds moot.
    #[must_use]
    pub fn worst(self, other: Exit) -> Exit {
        const PRECEDENCE: [Exit; 12] = [
            Exit::BrokenPipe,
            Exit::Internal,
            Exit::Nondeterminism,
            Exit::Recording,
            Exit::Invalid,
            Exit::Usage,
            Exit::Interrupted,
            Exit::Violation,
            Exit::Failed,
            Exit::Limit,
            Exit::Nothing,
            Exit::Ok,
        ];
        if PRECEDENCE.into_iter().find(|&e| e == self || e == other) == Some(self) {
            self
        } else {
            other
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command ends early.
#[derive(Debug)]
pub enum Stop {
    /// Something is said on stderr and the process ends with this code.
    Said(Exit, String),
    /// Everything was said already.
    Quiet(Exit),
}

impl Stop {
    /// An early end with a message: what, where, and what to write instead.
    pub fn new(exit: Exit, message: impl Into<String>) -> Stop {
        Stop::Said(exit, message.into())
    }
}

/// Writing to stdout or stderr failed. A closed pipe is an ordinary end (`skbsim ... | head`).
impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Stop {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Stop::Quiet(Exit::BrokenPipe),
            _ => Stop::new(Exit::Internal, format!("cannot write the output: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    /// 70 > 7 > 5 > 1 > 6 > 0, whichever is met first.
    #[test]
    fn precedence() {
        let order = [
            Exit::Internal,
            Exit::Nondeterminism,
            Exit::Violation,
            Exit::Failed,
            Exit::Limit,
            Exit::Ok,
        ];
        for (i, &worse) in order.iter().enumerate() {
            for &better in &order[i..] {
                assert_eq!(worse.worst(better), worse, "{worse:?} against {better:?}");
                assert_eq!(better.worst(worse), worse, "{better:?} against {worse:?}");
            }
        }
    }

    #[test]
    fn numbers_are_the_documented_ones() {
        assert_eq!([Exit::Nothing, Exit::Recording].map(|e| e as u8), [4, 8]);
        assert_eq!(
            [Exit::Internal, Exit::Interrupted, Exit::BrokenPipe].map(|e| e as u8),
            [70, 130, 141]
        );
    }
}
