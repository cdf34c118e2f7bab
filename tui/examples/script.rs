//! Presses keys in the sample run and prints what is seen.
//!
//! `cargo run -p tui --example script -- 80x24 '!f'`

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let size = arguments
        .get(1)
        .and_then(|size| size.split_once('x'))
        .unwrap_or(("120", "40"));
    let (width, height) = (size.0.parse().unwrap_or(120), size.1.parse().unwrap_or(40));
    let run = tui::testing::sample();
    let mut ui = tui::testing::Harness::open(&run);
    ui.resize(width, height);
    ui.press(arguments.get(2).map_or("", String::as_str));
    print!("{}", ui.screen(width, height));
}
