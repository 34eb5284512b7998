//! A C program that announces its regions through NVTX or ITT, with the listener of this source tree.
//!
//! It is built here against the headers of PyPI's nvidia-nvtx-cu12, and started for each sample. They are sought in `$HRX_TEST_TOOLS/listened`, where
//! `tests/run` installs them, and among Python's packages. Needs gcc.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::measuring::harness::Sample;
use crate::place::Place;
use crate::processes::build::build_library;
use crate::processes::callgrind::difference;
use crate::processes::command::succeed;
use crate::setup::CACHED;

/// What its loop announces, and what tables call that.
pub const KINDS: [(&str, &str); 3] = [
    ("push", "NVTX push and pop, a message each time"),
    ("registered", "NVTX push and pop, a registered string"),
    ("itt", "ITT task, begin and end"),
];

/// The program and the listener.
pub struct Listened {
    program: PathBuf,
    listener: PathBuf,
    captures: PathBuf,
}

impl Listened {
    /// Builds both. The captures lie in `place`.
    pub fn build(place: &Place) -> Result<Self> {
        let folder = place.fresh();
        fs::create_dir(&folder)?;
        let (source, program) = (folder.join("loop.c"), folder.join("loop"));
        fs::write(&source, include_str!("listened/loop.c"))?;
        let mut compiler = Command::new("gcc");
        compiler.args(["-O2", "-std=gnu11", "-o"]);
        compiler.arg(&program).arg(&source).arg("-I");
        succeed(compiler.arg(headers()?).args(["-ldl", "-lpthread"]))?;
        let captures = folder.join("captures");
        fs::create_dir(&captures)?;
        Ok(Self {
            program,
            listener: build_library("hrx-trace-inject", "libhrx_trace_inject.so")?,
            captures,
        })
    }

    /// As [`crate::measuring::loops::run`], the bare load.
    pub fn run(&self, kind: &str, events: u64) -> Result<Sample> {
        let printed = succeed(
            self.heard(Command::new(&self.program))
                .args([kind, &events.to_string()]),
        )?;
        // Each sample leaves a capture.
        fs::remove_dir_all(&self.captures)?;
        fs::create_dir(&self.captures)?;
        let event_ns = printed.trim().parse()?;
        Ok(Sample {
            event_ns,
            took: Duration::from_secs_f64(event_ns * events as f64 / 1e9),
        })
    }

    /// Counts instructions per region.
    pub fn instructions(&self, kind: &str, place: &Place) -> Result<f64> {
        difference(place, |events, valgrind| {
            let mut command = self.heard(valgrind);
            command.arg(&self.program).args([kind, &events.to_string()]);
            command
        })
    }

    fn heard(&self, mut command: Command) -> Command {
        command
            .env("NVTX_INJECTION64_PATH", &self.listener)
            .env("INTEL_LIBITTNOTIFY64", &self.listener)
            .env("HRX_TRACE_DIR", &self.captures)
            .env("HRX_TRACE_CAPACITY", CACHED.to_string());
        command
    }
}

/// The folder with `nvtx3/nvToolsExt.h`.
fn headers() -> Result<PathBuf> {
    let installed =
        std::env::var_os("HRX_TEST_TOOLS").map(|tools| PathBuf::from(tools).join("listened"));
    let asked = "import nvidia.nvtx as package; print(list(package.__path__)[0])";
    let mut python = Command::new("python3");
    if let Some(installed) = installed {
        python.env("PYTHONPATH", installed);
    }
    let package = succeed(python.args(["-c", asked])).context("needs PyPI's nvidia-nvtx-cu12")?;
    let headers = PathBuf::from(package.trim()).join("include");
    ensure!(
        headers.join("nvtx3/nvToolsExt.h").is_file(),
        "no NVTX headers in {}",
        headers.display()
    );
    Ok(headers)
}
