//! `skbsim check`: all errors of each file.

use crate::args::{Check, Format};
use crate::exit::{Exit, Stop};
use crate::library::{self, Problem};
use crate::session::Session;
use crate::text;
use serde::Serialize;
use std::io::Write;

/// Runs the command. Problems are its result, so they go to stdout.
pub fn run(session: &mut Session<'_>, args: &Check) -> Result<Exit, Stop> {
    let mut bad = 0;
    for file in &args.files {
        let result = library::load(session.registry, file, &args.set);
        bad += usize::from(result.is_err());
        let told = match (result, args.message_format) {
            (Ok(scenario), Format::Text) => format!(
                "{file}: ok ({})\n",
                text::count(scenario.points().len(), "point")
            ),
            (Ok(_), Format::Json) => String::new(),
            (Err(Problem::Missing(what)), Format::Text) => format!("{what}\n"),
            (Err(Problem::Rejected(rejected)), Format::Text) => rejected.render(session.look.color),
            (Err(problem), Format::Json) => lines(file, &problem),
        };
        write!(session.out, "{told}")?;
    }
    if args.message_format == Format::Text && bad > 0 && args.files.len() > 1 {
        writeln!(
            session.out,
            "{} of {} invalid",
            bad,
            text::count(args.files.len(), "file")
        )?;
    }
    Ok(if bad > 0 { Exit::Invalid } else { Exit::Ok })
}

/// One problem for an editor. Lines and columns count from 1; columns in characters.
#[derive(Serialize)]
struct Message<'a> {
    file: &'a str,
    line: Option<u32>,
    column: Option<u32>,
    code: Option<&'a str>,
    path: Option<&'a str>,
    message: &'a str,
    help: Option<&'a str>,
}

fn lines(file: &str, problem: &Problem) -> String {
    let line = |m: Message<'_>| serde_json::to_string(&m).expect("plain data becomes JSON") + "\n";
    match problem {
        Problem::Missing(message) => line(Message {
            file,
            line: None,
            column: None,
            code: None,
            path: None,
            message,
            help: None,
        }),
        Problem::Rejected(rejected) => {
            let one = |p: &scenarios::Problem| {
                line(Message {
                    file: &p.file,
                    line: Some(p.line),
                    column: Some(p.col),
                    code: Some(p.code),
                    path: Some(&p.path),
                    message: &p.message,
                    help: p.help.as_deref(),
                })
            };
            rejected.problems.iter().map(one).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{directory, skbsim};

    /// All problems of all files, and the good files are named too.
    #[test]
    fn every_problem_of_every_file() {
        let path = directory("check").join("bad.ron");
        std::fs::write(&path, "(version: 1, nam: \"x\", hosts: [])").expect("writable");
        let ran = skbsim(&format!(
            "check lockless-table {} nowhere.ron",
            path.display()
        ));
        assert_eq!(ran.exit, Exit::Invalid);
        assert!(
            ran.out.starts_with("lockless-table: ok (30 points)\n"),
            "{}",
            ran.out
        );
        assert!(
            ran.out.contains("nam") && ran.out.ends_with("2 of 3 files invalid\n"),
            "{}",
            ran.out
        );
    }

    #[test]
    fn editors_get_a_line_a_problem() {
        let path = directory("editors").join("bad.ron");
        std::fs::write(&path, "(version: 1,\n nam: \"x\", hosts: [])").expect("writable");
        let ran = skbsim(&format!("check --message-format json {}", path.display()));
        let problems: Vec<serde_json::Value> = ran
            .out
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert!(
            problems.iter().any(|p| p["line"] == 2 && p["column"] == 2),
            "{}",
            ran.out
        );
    }
}
