//! The hrx-convert of this source tree.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::processes::build::build;
use crate::processes::usage::{Usage, measure};

/// hrx-convert, built with the profile of this program.
pub struct Converter(PathBuf);

impl Converter {
    pub fn build() -> Result<Self> {
        build("hrx-convert", "hrx-convert").map(Self)
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
