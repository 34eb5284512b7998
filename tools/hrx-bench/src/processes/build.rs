//! What this source tree builds besides this program: with the profile of this program, beside it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Builds a package. Returns where its file of that name is.
pub fn build(package: &str, file: &str) -> Result<PathBuf> {
    let built = std::env::current_exe()?.with_file_name(file);
    let target = built.ancestors().nth(2).context("no target folder")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "--locked", "-p", package])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    let status = build.status().context("cargo")?;
    ensure!(status.success(), "{package} does not build: {status}");
    Ok(built)
}
