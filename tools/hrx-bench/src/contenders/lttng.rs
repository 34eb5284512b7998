//! LTTng-UST with a session that survives the process: a flight recorder whose buffers are files (`--shm-path`). It reads the clock itself, once per event.
//!
//! It traces a small C program, which is built here and started for each sample. Needs Debian's lttng-tools, liblttng-ust-dev and gcc.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::measuring::harness::Sample;
use crate::place::Place;
use crate::processes::command::succeed;

/// A session that is recording.
pub struct Lttng {
    /// Unique, because one daemon serves the whole machine.
    session: String,
    program: PathBuf,
    daemon: Child,
}

impl Lttng {
    /// Builds the program and starts a session whose buffers lie in `place`.
    pub fn start(place: &Place) -> Result<Self> {
        succeed(&mut control(&["--version"]))?;
        let folder = place.fresh();
        fs::create_dir(&folder)?;
        let source = folder.join("loop.c");
        fs::write(&source, include_str!("lttng/loop.c"))?;
        fs::write(folder.join("provider.h"), include_str!("lttng/provider.h"))?;
        let program = folder.join("loop");
        succeed(
            Command::new("gcc")
                .args(["-O2", "-std=gnu11", "-I"])
                .args([&folder, &source])
                .arg("-o")
                .arg(&program)
                .args(["-llttng-ust", "-ldl", "-lpthread"]),
        )
        .context("its program does not build (needs liblttng-ust-dev)")?;
        // If a daemon already runs, this one exits at once, and the other serves.
        let daemon = Command::new("lttng-sessiond")
            .arg("--no-kernel")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("lttng-sessiond")?;
        // From here on Drop cleans up.
        let lttng = Self {
            session: format!("hrx-bench-{}", std::process::id()),
            program,
            daemon,
        };
        let session = lttng.session.as_str();
        let deadline = Instant::now() + Duration::from_secs(10);
        while let Err(error) = succeed(&mut control(&["list"])) {
            ensure!(Instant::now() < deadline, error);
            std::thread::sleep(Duration::from_millis(50));
        }
        succeed(
            control(&["create", session, "--snapshot"])
                .arg("--output")
                .arg(folder.join("snapshots"))
                .arg("--shm-path")
                .arg(folder.join("buffers")),
        )?;
        let channel = ["enable-channel", "--userspace", "--overwrite", "--session"];
        succeed(control(&channel).args([session, "ring"]))?;
        let event = ["enable-event", "--userspace", "hrx_bench:region"];
        succeed(control(&event).args(["--session", session, "--channel", "ring"]))?;
        succeed(&mut control(&["start", session]))?;
        Ok(lttng)
    }

    /// As [`crate::measuring::loops::run`], the bare load.
    pub fn run(&self, threads: usize, events: u64) -> Result<Sample> {
        let printed = succeed(
            Command::new(&self.program)
                .args([threads.to_string(), events.to_string()])
                // -1: wait until the session listens.
                .env("LTTNG_UST_REGISTER_TIMEOUT", "-1"),
        )?;
        let event_ns = printed.trim().parse()?;
        Ok(Sample {
            event_ns,
            took: Duration::from_secs_f64(event_ns * events as f64 / 1e9),
        })
    }
}

impl Drop for Lttng {
    fn drop(&mut self) {
        // If the clean-up fails, our session stays in the daemon, and the next start with its name reports that.
        let _ = succeed(&mut control(&["destroy", &self.session]));
        if let Ok(None) = self.daemon.try_wait() {
            let _ = kill_process(Pid::from_child(&self.daemon), Signal::TERM);
            let _ = self.daemon.wait();
        }
    }
}

fn control(arguments: &[&str]) -> Command {
    let mut command = Command::new("lttng");
    command.arg("--no-sessiond").args(arguments);
    command
}
