//! Bugs of the simulator: caught where a run begins, told with the command that repeats them.

use crate::exit::{Exit, Stop};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the message and place of a panic instead of printing it at once: [`report`] prints it, once,
/// with the replay line. Without this hook only the place is lost.
pub fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        LAST.with(|last| *last.borrow_mut() = Some(info.to_string()))
    }));
}

/// Calls `f`; a panic in it becomes its message.
///
/// What `f` had borrowed may be half changed afterwards; callers drop it and end.
pub fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let told = LAST.with(|last| last.borrow_mut().take());
        told.or_else(|| payload.downcast_ref::<String>().cloned())
            .or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()))
            .unwrap_or_else(|| "panic without a message".to_owned())
    })
}

/// The end of a command whose run panicked.
pub fn report(panic: &str, replay: &str) -> Stop {
    Stop::new(
        Exit::Internal,
        format!(
            "internal error: {panic}\n  this is a bug in skbsim; the same command fails again the same way\n  replay: {replay}"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_report_with_a_replay_line() {
        let panic = guarded(|| -> u32 { panic!("time runs backwards") }).expect_err("panics");
        let Stop::Said(exit, text) = report(&panic, "skbsim run a.ron --seed 7") else {
            panic!("said")
        };
        assert_eq!(exit, Exit::Internal);
        assert!(
            text.contains("time runs backwards")
                && text.contains("replay: skbsim run a.ron --seed 7"),
            "{text}"
        );
    }
}
