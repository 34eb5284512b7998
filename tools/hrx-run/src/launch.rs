//! Starts the program as the caller would have: the same process group, terminal, streams, signals and environment but for the variables that say where to record.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use hrx_trace_reader::process::start_ticks;
use rustix::process::Pid;

use crate::inherited::Inherited;

/// Where programs with a recorder put their captures.
pub const FOLDER_VARIABLE: &str = "HRX_TRACE_DIR";
/// How often such a program says that it lives, in milliseconds.
const HEARTBEAT_VARIABLE: &str = "HRX_TRACE_HEARTBEAT";

/// As env(1) and timeout(1) have it.
const NOT_FOUND: u8 = 127;
const CANNOT_EXECUTE: u8 = 126;

/// The program that runs.
pub struct Program {
    pub child: Child,
    pub pid: Pid,
    /// With the process id, one process of a boot. None: /proc does not tell.
    pub start_ticks: Option<u64>,
    pub started: Instant,
}

/// What the program's environment says besides. None: as it is.
#[derive(Clone, Copy)]
pub struct Variables<'run> {
    pub folder: Option<&'run Path>,
    pub heartbeat: Option<Duration>,
    /// What makes it load the listener.
    pub listener: &'run [(&'static str, OsString)],
}

/// A program that could not be started: the system's error, and the exit code for it.
pub struct Refusal {
    pub error: io::Error,
    pub code: u8,
}

/// Starts it.
pub fn launch(
    command: &[OsString],
    variables: Variables,
    inherited: &Inherited,
) -> Result<Program, Refusal> {
    let refused = |error: io::Error| Refusal {
        code: match error.kind() {
            io::ErrorKind::NotFound => NOT_FOUND,
            _ => CANNOT_EXECUTE,
        },
        error,
    };
    let Some((name, arguments)) = command.split_first() else {
        return Err(refused(io::ErrorKind::NotFound.into()));
    };
    let mut command = Command::new(name);
    command.args(arguments);
    if let Some(folder) = variables.folder {
        command.env(FOLDER_VARIABLE, folder);
    }
    if let Some(period) = variables.heartbeat {
        let milliseconds = period.as_nanos().div_ceil(1_000_000);
        command.env(HEARTBEAT_VARIABLE, milliseconds.to_string());
    }
    for (variable, value) in variables.listener {
        command.env(variable, value);
    }
    inherited.restore_in_program(&mut command);
    command.spawn().map(Program::of).map_err(refused)
}

impl Program {
    /// A child that was started just now.
    pub fn of(child: Child) -> Self {
        Self {
            start_ticks: start_ticks(child.id()),
            pid: Pid::from_child(&child),
            started: Instant::now(),
            child,
        }
    }
}
