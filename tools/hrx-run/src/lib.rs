//! `hrx-run`: runs any program with a recorder in it, sees how it ends, and says what was running.
//!
//! A library for the command's own `main`: it promises nothing else.
//!
//! The files, each using only those before it: `say`; `inherited` and `status`, which have all unsafe code; `signals`, `sentinel` and `relay`, which tell
//! what was sent to hrx-run alone; `listener`, `launch`, `ending`, `terminal`; `oom`; `witness`; `captures`, `collect` and `folder`; `stuck`, `supervise`, `hooks`;
//! `summary`, `report`; `cli`.

mod captures;
mod cli;
mod collect;
mod ending;
mod folder;
mod hooks;
mod inherited;
mod launch;
mod listener;
mod oom;
mod relay;
mod report;
mod say;
mod sentinel;
mod signals;
mod status;
mod stuck;
mod summary;
mod supervise;
mod terminal;
mod witness;

use std::env;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser};
use hrx_convert::generated_text;
use rustix::process::Pid;

use crate::cli::{Arguments, When};
use crate::collect::{Limits, Run};
use crate::ending::{How, reap, see};
use crate::folder::Folder;
use crate::inherited::Inherited;
use crate::launch::{FOLDER_VARIABLE, Program, Variables, launch};
use crate::oom::OomWatch;
use crate::relay::Relay;
use crate::report::Ended;
use crate::say::say;
use crate::sentinel::Sentinel;
use crate::signals::Signals;
use crate::stuck::StuckWatch;
use crate::supervise::until_end;

/// An expectation is not met, as hrx-convert has it.
const UNMET: i32 = 6;
/// hrx-run itself failed, as env(1) and timeout(1) have it.
const FAILED: u8 = 125;

/// The command.
#[must_use]
pub fn main() -> ExitCode {
    if sentinel::is_meant() {
        return sentinel::run();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() {
                FAILED.into()
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let result = match arguments.generate {
        Some(what) => generated_text(what, Arguments::command())
            .and_then(|text| io::stdout().write_all(text.as_bytes()))
            .map_err(Into::into),
        None => run(&arguments).map(|how| how.end()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            FAILED.into()
        }
    }
}

/// Runs the program, and gives how hrx-run has to end.
fn run(arguments: &Arguments) -> Result<How> {
    let inherited = Inherited::take().context("cannot block signals")?;
    let signals = Signals::open().context("cannot read signals")?;
    let folder = open_folder(arguments)?;
    let oom = OomWatch::begin(Path::new("/"));
    // Before the program, so that it gets every signal that the program gets.
    let sentinel = Sentinel::start(&arguments.command).ok();
    let name = &arguments.command[0];
    let listener = listener::find().map(|path| listener::variables(&path, arguments.capacity));
    let variables = Variables {
        listener: listener.as_deref().unwrap_or_default(),
        folder: folder.as_ref().map(Folder::path),
        heartbeat: arguments.heartbeat,
    };
    let mut program = match launch(&arguments.command, variables, &inherited) {
        Ok(program) => program,
        Err(refusal) => {
            say(&format!("cannot run {}: {}", name.display(), refusal.error));
            close(folder, false);
            return Ok(How::Exited(refusal.code.into()));
        }
    };
    let watch = arguments
        .stuck
        .zip(folder.as_ref())
        .map(|(after, folder)| StuckWatch::new(after, folder.place.clone(), Instant::now()));
    let hung = Hung {
        arguments,
        pid: program.pid,
        folder: folder.as_ref(),
        inherited: &inherited,
    };
    let relay = Relay::new(program.pid, sentinel);
    let cannot = || format!("cannot tell how {} ended", name.display());
    let ending = until_end(&program, &signals, relay, watch, || hung.report())
        .or_else(|error| {
            // The program runs on, and its end still is ours.
            say(&format!("error: {error}; signals are no longer passed on"));
            see(&program)
        })
        .with_context(cannot)?;
    let oom = oom.end();
    let captures = folder
        .as_ref()
        .map(|folder| folder.place.captures())
        .unwrap_or_default();
    let killed_for_memory = oom.killed(ending.how);
    let unwitnessed = witness::write(&captures, &program, &ending, killed_for_memory);
    reap(&mut program).with_context(cannot)?;
    let died = !ending.how.is_success();
    let run = Ended {
        name,
        program: &program,
        ending,
        oom,
        captures: &captures,
        unwitnessed,
        folder: folder.as_ref().map(Folder::path),
    };
    match arguments.summary {
        When::Always => report::ended(&run),
        When::OnDeath if died => report::ended(&run),
        When::OnDeath | When::Never => {}
    }
    if let (true, Some(command), Some(folder)) = (died, &arguments.on_death, &folder) {
        signals.discard(relay::SETTLE);
        if let Err(error) = wait_for(command, folder.path(), program.pid, &inherited, &signals) {
            say(&format!("cannot run {}: {error}", command.display()));
        }
    }
    let mut how = ending.how;
    if !died && !expectations_met(&captures, arguments) {
        how = How::Exited(UNMET);
    }
    prune(arguments);
    let useful = !captures.is_empty() && !how.is_success();
    close(folder, useful);
    Ok(how)
}

/// The folder for the captures. None: the private one cannot be made, which does not keep the program from running.
fn open_folder(arguments: &Arguments) -> Result<Option<Folder>> {
    if let Some(collection) = &arguments.collect {
        let folder = Folder::collected(Run::begin(collection)?);
        prune(arguments);
        return Ok(Some(folder));
    }
    let given = env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty());
    if let Some(given) = arguments.output.clone().or(given.map(PathBuf::from)) {
        return Folder::named(&given).map(Some);
    }
    let private = Folder::private();
    Ok(private
        .inspect_err(|error| say(&format!("{error:#}; the program runs without it")))
        .ok())
}

fn close(folder: Option<Folder>, useful: bool) {
    if let Some(folder) = folder {
        folder.close(useful);
    }
}

/// Removes old runs of the collection, if there is one.
fn prune(arguments: &Arguments) {
    let Some(collection) = &arguments.collect else {
        return;
    };
    let limits = Limits {
        runs_max: arguments.keep_last,
        bytes_max: arguments.max_bytes.unwrap_or(u64::MAX),
    };
    if let Err(error) = collect::prune(collection, limits) {
        say(&format!("error: {error:#}"));
    }
}

/// Says which expectations are not met.
fn expectations_met(captures: &[PathBuf], arguments: &Arguments) -> bool {
    if arguments.expect.is_empty() {
        return true;
    }
    let unmet = summary::unmet(captures, &arguments.expect)
        .unwrap_or_else(|error| vec![format!("error: {error:#}")]);
    for line in &unmet {
        say(line);
    }
    unmet.is_empty()
}

/// What to do about a hang.
struct Hung<'run> {
    arguments: &'run Arguments,
    pid: Pid,
    folder: Option<&'run Folder>,
    inherited: &'run Inherited,
}

impl Hung<'_> {
    fn report(&self) {
        let Some(folder) = self.folder else {
            return;
        };
        let after = self.arguments.stuck.unwrap_or_default();
        let name = &self.arguments.command[0];
        report::stuck(name, self.pid, after, &folder.place.live());
        let Some(command) = &self.arguments.on_stuck else {
            return;
        };
        // It is not waited for: it may look at the program for as long as it likes.
        if let Err(error) = hooks::start(command, folder.path(), self.pid, self.inherited) {
            say(&format!("cannot run {}: {error}", command.display()));
        }
    }
}

/// Runs a command of the user's to its end, with the signals passed on to it.
fn wait_for(
    command: &OsStr,
    folder: &Path,
    program: Pid,
    inherited: &Inherited,
    signals: &Signals,
) -> io::Result<()> {
    let mut hook = Program::of(hooks::start(command, folder, program, inherited)?);
    let relay = Relay::new(hook.pid, None);
    until_end(&hook, signals, relay, None, || {})?;
    reap(&mut hook)
}
