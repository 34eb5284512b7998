//! C and C++ programs against the header and the library, and what they do.

#![allow(dead_code, reason = "each test uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;

use hrx_trace_tests::programs::built_library;

/// The library, shared ("so") or static ("a").
pub fn library(kind: &str) -> PathBuf {
    built_library("hrx_trace_c", kind)
}

/// This crate's folder.
pub fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// What every compiler is asked for.
pub const WARNINGS: &[&str] = &[
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wshadow",
    "-Wundef",
    "-Wcast-align",
    "-Wcast-qual",
    "-Wmissing-declarations",
    "-Wredundant-decls",
    "-Wformat=2",
    "-Werror",
];

/// How a program is linked.
#[derive(Clone, Copy, Debug)]
pub enum Linked {
    Shared,
    Static,
    /// Not at all.
    Without,
}

/// The program at `source`, a path below this crate, compiled into `folder`: C11 or C++17 by its name, all warnings being errors.
pub fn compiled(folder: &Path, source: &str, linked: Linked, options: &[&str]) -> PathBuf {
    let source = own(source);
    let is_c = source.extension().is_some_and(|kind| kind == "c");
    let output = folder.join(source.file_stem().expect("a name"));
    let mut compiler = Command::new(if is_c { "cc" } else { "c++" });
    compiler
        .arg(if is_c { "-std=c11" } else { "-std=c++17" })
        .args(["-g", "-O1", "-pthread", "-D_POSIX_C_SOURCE=200809L", "-I"])
        .arg(own("include"))
        .args(WARNINGS)
        .args(is_c.then_some("-Wstrict-prototypes"))
        .args(options)
        .arg(&source)
        .arg("-o")
        .arg(&output);
    match linked {
        Linked::Shared => {
            // The name that it has where it is installed, and the one that programs ask for.
            for name in ["libhrx_trace.so", "libhrx_trace.so.0"] {
                let link = folder.join(name);
                if !link.exists() {
                    std::os::unix::fs::symlink(library("so"), link).expect("a link");
                }
            }
            let path = format!("-Wl,-rpath,{}", folder.display());
            compiler.arg("-L").arg(folder).args(["-lhrx_trace", &path]);
        }
        Linked::Static => {
            compiler.arg(library("a")).args(["-lm", "-ldl"]);
        }
        Linked::Without => {}
    }
    succeed(&mut compiler);
    output
}

/// Runs it to its end, which must be a success and say nothing on stderr. Returns what it printed.
#[track_caller]
pub fn succeed(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, complaint) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success() && complaint.is_empty(),
        "{command:?}: {}: {printed}{complaint}",
        output.status
    );
    printed
}
