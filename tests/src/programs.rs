//! The project's programs, built with the cargo that runs the test.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

/// Paths of the built programs.
#[derive(Debug)]
pub struct Programs {
    /// The example that records.
    pub pipeline: PathBuf,
    /// The server whose spans a layer of `tracing` records.
    pub server: PathBuf,
    /// The command that converts.
    pub convert: PathBuf,
    /// A program that records and does what its arguments say.
    pub recorder: PathBuf,
}

/// The library with this name in cargo, such as `hrx_trace_inject`, that a program in C can load or link: "so" or "a". Built, for cargo builds none for a test that
/// cannot link it.
///
/// # Panics
/// If it does not build.
#[must_use]
pub fn built_library(name: &str, kind: &str) -> PathBuf {
    static FILES: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
        // As the test that asks for it.
        let profile: &[&str] = if cfg!(debug_assertions) {
            &[]
        } else {
            &["--release"]
        };
        let messages = build(&[&["--lib"], profile].concat());
        let files = messages
            .into_iter()
            .flat_map(|message| match &message["filenames"] {
                Value::Array(files) => files.clone(),
                _ => Vec::new(),
            });
        files
            .filter_map(|file| file.as_str().map(PathBuf::from))
            .collect()
    });
    let wanted = format!("lib{name}.{kind}");
    let is_wanted = |file: &&PathBuf| file.file_name().is_some_and(|name| *name == *wanted);
    FILES
        .iter()
        .rev()
        .find(is_wanted)
        .unwrap_or_else(|| panic!("no {wanted}"))
        .clone()
}

/// Built on first use.
pub static PROGRAMS: LazyLock<Programs> = LazyLock::new(|| {
    let executables: BTreeMap<String, PathBuf> = build(&[
        "--example=pipeline",
        "--example=server",
        "--bin=hrx-convert",
        "--bin=recorder",
    ])
    .iter()
    .filter_map(|message| {
        let name = message["target"]["name"].as_str()?.to_owned();
        Some((name, message["executable"].as_str()?.into()))
    })
    .collect();
    Programs {
        pipeline: executables["pipeline"].clone(),
        server: executables["server"].clone(),
        convert: executables["hrx-convert"].clone(),
        recorder: executables["recorder"].clone(),
    }
});

/// Builds what `arguments` name. Returns what cargo says of it.
fn build(arguments: &[&str]) -> Vec<Value> {
    let built = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // The whole workspace, as `tests/run` builds it: other features would mean building everything again.
        .args(["build", "--quiet", "--message-format=json", "--workspace"])
        .args(arguments)
        .output()
        .expect("cargo runs");
    let complaint = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{complaint}");
    let lines = String::from_utf8(built.stdout).expect("UTF-8");
    let message = |line| serde_json::from_str(line).expect("JSON");
    lines.lines().map(message).collect()
}
