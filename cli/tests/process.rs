//! What only a process shows: exit codes, streams, a pipe that nobody reads, the environment.

use std::process::{Command, Output, Stdio};

fn skbsim(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skbsim"));
    command
        .args(arguments)
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    skbsim(arguments).output().expect("starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Help is data, on stdout, and a success; a mistake is talk, on stderr, with the nearest word.
#[test]
fn help_and_mistakes() {
    let help = run(&["run", "-h"]);
    assert_eq!((help.status.code(), help.stderr.len()), (Some(0), 0));
    assert!(text(&help.stdout).contains("--seeds <A..B>"));
    let mistake = run(&["rum"]);
    assert_eq!((mistake.status.code(), mistake.stdout.len()), (Some(2), 0));
    assert!(text(&mistake.stderr).contains("'run'"));
}

#[test]
fn codes_reach_the_shell() {
    assert_eq!(run(&["list"]).status.code(), Some(0));
    assert_eq!(run(&["check", "nowhere.ron"]).status.code(), Some(3));
    assert_eq!(
        run(&["run", "lockless-stuck", "--seeds", "3..3"])
            .status
            .code(),
        Some(4)
    );
    assert_eq!(run(&["repro", "nonsense"]).status.code(), Some(2));
}

/// `skbsim list | head -0` is no error worth a message.
#[test]
fn a_closed_pipe_ends_quietly() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = skbsim(&["list"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .expect("starts");
    assert_eq!(
        (output.status.code(), text(&output.stderr).as_str()),
        (Some(141), "")
    );
}

/// Colours only where somebody asked for them, since no stream is a terminal here.
#[test]
fn colours_on_request() {
    let escape =
        |command: &mut Command| text(&command.output().expect("starts").stderr).contains('\x1b');
    let wrong = ["run", "lockless-stuck", "--set", "kernel.lockless=v9"];
    assert!(!escape(&mut skbsim(&wrong)));
    assert!(escape(skbsim(&wrong).env("CLICOLOR_FORCE", "1")));
    assert!(!escape(
        skbsim(&wrong)
            .env("CLICOLOR_FORCE", "1")
            .env("NO_COLOR", "1")
    ));
    assert!(escape(
        skbsim(&wrong)
            .args(["--color", "always"])
            .env("NO_COLOR", "1")
    ));
}

/// Ctrl-C in a long search keeps what was found and says how far it came.
#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_is_finished() {
    let child = skbsim(&["run", "lockless-stuck", "--seeds", "0..500000", "-j", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    // Long enough to be under way, and minutes short of the end.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(killed.success());
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(130));
    assert!(
        text(&output.stdout).contains("\nseeds run "),
        "{}",
        text(&output.stdout)
    );
    assert!(
        text(&output.stderr).ends_with(" of 500000 runs finished\n"),
        "{}",
        text(&output.stderr)
    );
}
