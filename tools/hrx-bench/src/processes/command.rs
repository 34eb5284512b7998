//! A command that is to succeed.

use std::process::Command;

use anyhow::{Context, Result, ensure};

/// What a command prints; if it fails, an error with what it wrote to standard error.
pub fn succeed(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("{program} is not installed"))?;
    ensure!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
