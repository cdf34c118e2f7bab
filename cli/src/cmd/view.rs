//! `skbsim view`: a scenario or a recording in the viewer.

use crate::args::View;
use crate::batch::{self, Job};
use crate::exit::{Exit, Stop};
use crate::recording;
use crate::session::{Again, Session};
use sim_core::engine::StopReason;
use sim_core::trace::{Mode, Recording};
use sim_core::world::Options;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Size of the screen that is printed where there is no terminal.
const SCREEN: (u16, u16) = (120, 40);

/// Runs the command.
pub fn run(session: &mut Session<'_>, args: &View) -> Result<Exit, Stop> {
    let path = Path::new(&args.input.file);
    let recording = if begins_like_a_recording(path) {
        open(path, args)?
    } else {
        simulate(session, args)?
    };
    if recording.records.is_empty() {
        return Err(Stop::new(
            Exit::Nothing,
            "nothing to see: the recording has no records",
        ));
    }
    if let Some(at) = args.at.filter(|&at| at > recording.end) {
        session.note(&format!(
            "note: {} is after the end of the run ({})",
            crate::text::ns(at),
            crate::text::ns(recording.end)
        ))?;
    }
    let options = tui::ViewOptions {
        at: args.at,
        color: session.look.color,
        ascii: args.ascii,
    };
    if session.look.terminal {
        session.out.flush()?;
        tui::view(&recording, options)?;
    } else {
        write!(
            session.out,
            "{}",
            tui::screen_text(&recording, &options, SCREEN.0, SCREEN.1)
        )?;
    }
    Ok(Exit::Ok)
}

fn begins_like_a_recording(path: &Path) -> bool {
    let mut magic = [0; 8];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && recording::is_recording(&magic)
}

fn open(path: &Path, args: &View) -> Result<Recording, Stop> {
    let shown = path.display();
    if args.seed.is_some() || !args.input.set.is_empty() {
        let text = format!(
            "error: {shown} is a recording: it has its seed; --seed and --set need a scenario"
        );
        return Err(Stop::new(Exit::Usage, text));
    }
    let bytes = std::fs::read(path)
        .map_err(|e| Stop::new(Exit::Recording, format!("error: cannot read {shown}: {e}")))?;
    recording::read(&bytes)
        .map_err(|what| Stop::new(Exit::Recording, format!("error: {shown}: {what}")))
}

fn simulate(session: &mut Session<'_>, args: &View) -> Result<Recording, Stop> {
    let scenario = session.load(&args.input.file, &args.input.set)?;
    let mut points = scenario.points();
    if points.len() != 1 {
        return Err(super::run::one_point(&points, "the viewer shows one run"));
    }
    if let Some(token) = &args.schedule {
        let again = Again::new(&args.input.file, &args.input.set);
        let config = points.remove(0).config;
        let mode = Mode::All { bytes: args.memory };
        let replay = crate::schedule::replay(&scenario, config, token, mode)?;
        let recording = replay.recording;
        let recording = recording
            .ok_or_else(|| Stop::new(Exit::Internal, "internal error: the run kept no trace"))?;
        let command = again.run_schedule(&token.to_string());
        return Ok(Recording {
            command,
            ..recording
        });
    }
    let seed = args.seed.unwrap_or(0);
    let again = Again::new(&args.input.file, &args.input.set);
    let command = again.run(seed);
    let job = Job {
        config: Arc::new(points.remove(0).config),
        seed,
        again: Arc::new(again),
    };
    let options = Options {
        seed,
        trace: Mode::All { bytes: args.memory },
        ..Options::default()
    };
    let outcome = batch::single(session, &job, &options)?;
    if outcome.stop == StopReason::TraceFull {
        session.note(&format!(
            "note: the recording is full at {}, so the run ends there; write --memory SIZE to give it more",
            crate::text::ns(outcome.end)
        ))?;
    }
    let recording = outcome
        .recording
        .ok_or_else(|| Stop::new(Exit::Internal, "internal error: the run kept no trace"))?;
    Ok(Recording {
        command,
        ..recording
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::skbsim;

    /// Without a terminal one screen is printed, so that the output can be kept or compared.
    #[test]
    fn without_a_terminal_one_screen() {
        let ran = skbsim("view lockless-stuck --seed 7 --at 12.5ns --ascii");
        assert_eq!((ran.exit, ran.out.lines().count()), (Exit::Ok, 40));
        assert!(ran.out.lines().all(|line| line.chars().count() <= 120));
    }

    #[test]
    fn what_cannot_be_viewed_says_why() {
        let ran = skbsim("view lockless-table");
        assert_eq!(ran.exit, Exit::Usage);
        assert!(ran.err.contains("sweep=[]"), "{}", ran.err);
        assert!(
            skbsim("view lockless-stuck --at 20ms")
                .err
                .contains("after the end")
        );
    }
}
