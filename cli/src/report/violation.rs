//! A broken law, with what to paste to see it again.

use crate::session::{Again, Look, Tone};
use crate::text;
use sim_core::violation::Violation;

/// What was broken, when, where, whether it heals, and the two commands that show it again.
pub fn full(v: &Violation, again: &Again, seed: u64, look: &Look) -> String {
    let cpu = v.cpu.map_or(String::new(), |cpu| format!(" on CPU{cpu}"));
    let head = look.paint(Tone::Bad, &format!("VIOLATION {}", v.law));
    let mut text = format!(
        "{head}  at {}{cpu} in {}\n  {}\n",
        text::ns(v.time),
        v.function,
        v.what
    );
    match v.freed_by_next {
        Some(true) => text += "  one later packet frees it\n",
        Some(false) => text += "  a later packet does not free it\n",
        None => {}
    }
    text + &format!(
        "  replay: {}\n  view:   {}\n",
        again.run(seed),
        again.view(seed, v.time)
    )
}
