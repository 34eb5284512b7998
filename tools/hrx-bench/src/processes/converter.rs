//! The hrx-convert of this source tree.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::processes::usage::{Usage, measure};

/// hrx-convert, built with the profile of this program.
pub struct Converter(PathBuf);

impl Converter {
    pub fn build() -> Result<Self> {
        let program = std::env::current_exe()?.with_file_name("hrx-convert");
        let target = program.ancestors().nth(2).context("no target folder")?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build
            .args(["build", "--quiet", "--locked", "-p", "hrx-convert"])
            .arg("--target-dir")
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        let status = build.status().context("cargo")?;
        ensure!(status.success(), "hrx-convert does not build: {status}");
        Ok(Self(program))
    }

    pub fn measure(&self, options: &[&str], capture: &Path, out: Stdio) -> Result<Usage> {
        measure(self.command(options, capture).stdout(out))
    }

    pub fn command(&self, options: &[&str], capture: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command.args(options).arg(capture);
        command
    }
}
