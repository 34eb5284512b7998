//! Proves: the runtime whose in-memory tracer this project replaces takes our `Tracer` in its place, and its own tests pass as before.
//!
//! How: its published package is copied, the module `execution::trace` replaced by one line that names our types, and the one call whose error has
//! another type mapped. Its library tests run in a debug build, most of whose time goes into its dependencies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "hrx-rs";
const VERSION: &str = "0.12.0";

/// What stands in place of its module.
const TRACE: &str = "pub use hrx_trace::{ExecutionTrace, TraceEvent, Tracer};\n";

/// The one call that has another error.
const CALL: &str = "self.inner.core.tracer.start(event_capacity)";
const MAPPED: &str = "self.inner.core.tracer.start(event_capacity).map_err(|error| crate::Error::Message(error.to_string()))";

fn cargo(folder: &Path, words: &[&str]) -> String {
    let run = Command::new(env!("CARGO"))
        .current_dir(folder)
        .args(words)
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("upstream"),
        )
        // Where the captures of its tests go.
        .env("HRX_TRACE_DIR", folder)
        .output()
        .expect("cargo runs");
    let complaint = String::from_utf8_lossy(&run.stderr);
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{complaint}{said}");
    said.into_owned()
}

/// Where cargo has unpacked the package.
fn package(folder: &Path) -> PathBuf {
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("src/lib.rs"), "").unwrap();
    let manifest = format!(
        "[package]\nname = \"fetched\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{PACKAGE} = \"={VERSION}\"\n\n[workspace]\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let metadata = cargo(folder, &["metadata", "--format-version=1"]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == PACKAGE);
    let manifest = package.unwrap()["manifest_path"].as_str().unwrap();
    Path::new(manifest).parent().unwrap().to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::write(to, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// How many of its library tests pass.
fn passed(folder: &Path) -> u64 {
    let said = cargo(folder, &["test", "--quiet", "--lib"]);
    let line = said
        .lines()
        .find(|line| line.starts_with("test result: ok."))
        .expect("a result");
    let number = line
        .trim_start_matches("test result: ok. ")
        .split(' ')
        .next();
    number.unwrap().parse().unwrap()
}

#[test]
fn the_runtime_takes_our_tracer_for_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = package(&folder.path().join("fetched"));
    let before = folder.path().join("before");
    copy(&theirs, &before);
    let after = folder.path().join("after");
    copy(&theirs, &after);

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifest = fs::read_to_string(after.join("Cargo.toml")).unwrap();
    let dependency = format!(
        "\n[dependencies.hrx-trace]\npath = {:?}\n",
        root.join("crates/hrx-trace")
    );
    fs::write(after.join("Cargo.toml"), manifest + &dependency).unwrap();
    fs::write(after.join("src/execution/trace.rs"), TRACE).unwrap();
    let module = after.join("src/execution/mod.rs");
    let source = fs::read_to_string(&module).unwrap();
    assert_eq!(source.matches(CALL).count(), 1);
    fs::write(&module, source.replace(CALL, MAPPED)).unwrap();

    let (before, after) = (passed(&before), passed(&after));
    println!(
        "{PACKAGE} {VERSION}: {before} of its library tests pass as it is, {after} with our tracer"
    );
    assert!(before > 0 && after == before);
}
