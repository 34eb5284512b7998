//! What a process takes from its start to its end.
//!
//! A process inherits the peak memory of the one that starts it, so everything that needs much memory runs in a process of its own, making captures included.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use wait4::Wait4;

/// What a process took.
pub struct Usage {
    pub time: Duration,
    pub peak_bytes: u64,
}

/// Runs a command to its end.
pub fn measure(command: &mut Command) -> Result<Usage> {
    let program = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let ended = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| program.clone())?
        .wait4()?;
    let time = start.elapsed();
    ensure!(ended.status.success(), "{program}: {}", ended.status);
    Ok(Usage {
        time,
        peak_bytes: ended.rusage.maxrss,
    })
}
