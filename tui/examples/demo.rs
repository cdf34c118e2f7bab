//! Opens the sample run: two CPUs, one lockless qdisc, and a packet that nobody sends.
//!
//! `cargo run -p tui --example demo -- [PICOSECONDS]`

use std::io::IsTerminal;

fn main() -> std::io::Result<()> {
    let run = tui::testing::sample();
    let at = std::env::args().nth(1).and_then(|at| at.parse().ok());
    let color = std::env::var_os("NO_COLOR").is_none();
    let options = tui::ViewOptions {
        at,
        color,
        ascii: false,
    };
    if !std::io::stdout().is_terminal() {
        print!("{}", tui::screen_text(&run, &options, 120, 40));
        return Ok(());
    }
    tui::view(&run, options)
}
