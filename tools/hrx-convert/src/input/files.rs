//! The files to read: those that are named, and the captures in directories that are named.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

/// The extension of captures.
pub const EXTENSION: &str = "hrxt";

/// The files, each once, in the order in which they are named; those of a directory sorted by name. The second list has an error for each
/// directory in which no capture could be found.
pub fn find(named: &[PathBuf]) -> (Vec<PathBuf>, Vec<anyhow::Error>) {
    let mut files = Vec::new();
    let mut failures = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        match captures_in(path) {
            Ok(found) if found.is_empty() => failures.push(anyhow!(
                "cannot read {}: found a directory without any *.{EXTENSION}",
                path.display()
            )),
            Ok(found) => files.extend(found),
            Err(error) => failures.push(error),
        }
    }
    let mut seen = HashSet::new();
    files.retain(|path| match fs::metadata(path) {
        Ok(file) => seen.insert((file.dev(), file.ino())),
        // The attempt to open it reports it.
        Err(_) => true,
    });
    (files, failures)
}

/// The captures in a directory, sorted by name.
pub fn captures_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let cannot = || format!("cannot read {}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path.extension().is_some_and(|end| end == EXTENSION) && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_once_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("runs/deeper.hrxt")).expect("a folder");
        fs::create_dir(at("none")).expect("a folder");
        for name in [
            "runs/b.hrxt",
            "runs/a.hrxt",
            "runs/notes.txt",
            "runs/deeper.hrxt/c.hrxt",
            "z",
        ] {
            fs::write(at(name), name).expect("a file");
        }
        std::os::unix::fs::symlink(at("z"), at("link")).expect("a link");
        let named = [
            "z",
            "missing",
            "runs/b.hrxt",
            "runs",
            "link",
            "none",
            "missing",
        ]
        .map(at);
        let (files, failures) = find(&named);
        let expected = ["z", "missing", "runs/b.hrxt", "runs/a.hrxt", "missing"].map(at);
        assert_eq!(files, expected);
        assert_eq!(failures.len(), 1);
        assert!(
            failures[0]
                .to_string()
                .ends_with("none: found a directory without any *.hrxt")
        );
    }
}
