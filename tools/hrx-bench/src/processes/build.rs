//! What this source tree builds besides this program, in the same target folder.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Builds a package with the profile of this program. Returns where its file of that name is.
pub fn build(package: &str, file: &str) -> Result<PathBuf> {
    build_with(
        if cfg!(debug_assertions) {
            "dev"
        } else {
            "release"
        },
        package,
        file,
    )
}

/// Builds a package as it is installed for programs that load it.
pub fn build_library(package: &str, file: &str) -> Result<PathBuf> {
    build_with("library", package, file)
}

fn build_with(profile: &str, package: &str, file: &str) -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(2).context("no target folder")?;
    let folder = if profile == "dev" { "debug" } else { profile };
    let built = target.join(folder).join(file);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args([
            "build",
            "--quiet",
            "--locked",
            "--profile",
            profile,
            "-p",
            package,
        ])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let status = build.status().context("cargo")?;
    ensure!(status.success(), "{package} does not build: {status}");
    Ok(built)
}
