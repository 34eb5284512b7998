//! Commands of the user's that hrx-run runs: what `--on-death` and `--on-stuck` name.
//!
//! The shell runs them, so that they may have arguments of their own; the folder of the run comes behind those. They write to the standard
//! error, for the standard output is the program's, and read nothing.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fd::AsFd;
use rustix::process::Pid;

use crate::inherited::Inherited;

/// The process id of the program, for commands that look at it.
const PID_VARIABLE: &str = "HRX_RUN_PID";

/// Starts one.
pub fn start(
    command: &OsStr,
    folder: &Path,
    program: Pid,
    inherited: &Inherited,
) -> io::Result<Child> {
    let mut script = command.to_owned();
    script.push(" \"$@\"");
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(script)
        .arg(command)
        .arg(folder)
        .env(PID_VARIABLE, program.to_string())
        .stdin(Stdio::null())
        .stdout(io::stderr().as_fd().try_clone_to_owned()?);
    inherited.restore_in(&mut shell);
    shell.spawn()
}
