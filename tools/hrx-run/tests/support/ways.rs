//! Every scenario runs twice, once without hrx-run and once with it.

use std::ffi::OsStr;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The command.
pub const HRX_RUN: &str = env!("CARGO_BIN_EXE_hrx-run");

/// hrx-run says nothing, and has a folder that may stay if it is killed.
pub const SILENT: [&str; 5] = ["--summary", "never", "-o", FOLDER, "--"];
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/hrx-run");

/// No step of a working scenario takes this long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Without hrx-run, and with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Plain,
    Run,
}

impl Way {
    /// The program, started this way. hrx-run itself says nothing.
    pub fn command(self, program: impl AsRef<OsStr>) -> Command {
        match self {
            Self::Plain => with_default_signals(program),
            Self::Run => {
                let mut command = hrx_run();
                command.args(SILENT).arg(program);
                command
            }
        }
    }
}

/// hrx-run, with an environment in which no folder for captures is set.
pub fn hrx_run() -> Command {
    let mut command = with_default_signals(HRX_RUN);
    command.env_remove("HRX_TRACE_DIR");
    command
}

/// The program, with no signal ignored.
///
/// The bug: under nohup, which ignores SIGHUP, the tests that die of it failed, with hrx-run and without. Found by a run of all tests in the background.
fn with_default_signals(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(program);
    command
}

/// What the scenario gives, which has to be the same both ways.
pub fn both_ways<T: PartialEq + std::fmt::Debug>(scenario: impl Fn(Way) -> T) -> T {
    let plain = scenario(Way::Plain);
    let run = scenario(Way::Run);
    assert_eq!(plain, run, "left: without hrx-run");
    plain
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// Waits until it holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        sleep(Duration::from_millis(5));
    }
}
