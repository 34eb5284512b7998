//! The files to read: those that are named, and the captures in directories that are named.

use std::collections::HashSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

/// The extension of captures.
pub const EXTENSION: &str = "hrxt";

/// The files, each once, in the order in which they are named; those of a directory by name, numbers in
/// it by value. The second list has an error for each
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

/// The captures in a directory, by name, numbers in it by value: rank 2 comes before rank 10.
pub fn captures_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let cannot = || format!("cannot read {}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path.extension().is_some_and(|end| end == EXTENSION) && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort_by_cached_key(|path| (natural_order(path), path.clone()));
    Ok(files)
}

/// A part of a name: digits or others.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum NamePart {
    /// How many digits, and the digits, both without leading zeros.
    Number(usize, Vec<u8>),
    Text(Vec<u8>),
}

/// What a path is sorted by.
fn natural_order(path: &Path) -> Vec<NamePart> {
    let name = path.as_os_str().as_bytes();
    let parts = name.chunk_by(|one, next| one.is_ascii_digit() == next.is_ascii_digit());
    let part = |part: &[u8]| match part.first() {
        Some(first) if first.is_ascii_digit() => {
            let zeros = part.iter().take_while(|digit| **digit == b'0').count();
            NamePart::Number(part.len() - zeros, part[zeros..].to_vec())
        }
        _ => NamePart::Text(part.to_vec()),
    };
    parts.map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bug: the ranks of a folder came as 0, 1, 10, 11, 2, and so they stood in viewers.
    #[test]
    fn numbers_in_names_are_sorted_by_value() {
        let folder = tempfile::tempdir().expect("a folder");
        let long = format!("rank-{}.hrxt", "9".repeat(30));
        let expected = [
            "7.hrxt",
            "node-00-rank-9.hrxt",
            "node-0-rank-10.hrxt",
            "node-1-rank-0.hrxt",
            "rank-0.hrxt",
            "rank-1.hrxt",
            "rank-02.hrxt",
            "rank-2.hrxt",
            "rank-10.hrxt",
            "rank-11.hrxt",
            long.as_str(),
            "rank-a.hrxt",
        ];
        for name in expected.iter().rev() {
            fs::write(folder.path().join(name), name).expect("a file");
        }
        let found = captures_in(folder.path()).expect("a folder");
        let names = found.iter().filter_map(|path| path.file_name()?.to_str());
        assert_eq!(names.collect::<Vec<_>>(), expected);
    }

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
