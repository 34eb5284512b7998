//! The listener, which programs with annotations load: where it is, and the variables by which they find it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The listener's file.
const FILE: &str = "libhrx_trace_inject.so";
/// The folder beside it in which it bears the name of ROCTX.
const ROCTX: &str = "hrx-trace";
/// Where it is, if it is in neither of the usual places.
const VARIABLE: &str = "HRX_TRACE_INJECT";
/// How many events it keeps.
const CAPACITY_VARIABLE: &str = "HRX_TRACE_CAPACITY";

/// The variables by which each interface finds its listener, and by which ours finds the one that was to be it.
const INTERFACES: [(&str, &str); 2] = [
    ("NVTX_INJECTION64_PATH", "HRX_TRACE_NEXT_NVTX"),
    ("INTEL_LIBITTNOTIFY64", "HRX_TRACE_NEXT_ITT"),
];

/// The listener: beside hrx-run, in `../lib`, or where `$HRX_TRACE_INJECT` says. None: it is nowhere.
pub fn find() -> Option<PathBuf> {
    let program = env::current_exe().ok();
    let folder = program.as_deref().and_then(Path::parent);
    let installed = folder.into_iter().flat_map(|folder| {
        let library = folder.parent().map(|parent| parent.join("lib").join(FILE));
        [Some(folder.join(FILE)), library].into_iter().flatten()
    });
    let asked = env::var_os(VARIABLE).filter(|path| !path.is_empty());
    let asked = asked.and_then(|path| std::path::absolute(path).ok());
    installed.chain(asked).find(|path| path.is_file())
}

/// The variables that a program gets, so that it loads the listener at `path`.
pub fn variables(path: &Path, capacity: Option<u64>) -> Vec<(&'static str, OsString)> {
    let mut variables = Vec::new();
    for (variable, next) in INTERFACES {
        // A run inside a run is heard once.
        if let Some(before) =
            env::var_os(variable).filter(|before| !before.is_empty() && before != path)
        {
            variables.push((next, before));
        }
        variables.push((variable, path.into()));
    }
    let roctx = path.with_file_name(ROCTX);
    if roctx.is_dir() {
        variables.push((
            "LD_LIBRARY_PATH",
            with_first(&roctx, env::var_os("LD_LIBRARY_PATH")),
        ));
    }
    if let Some(capacity) = capacity {
        variables.push((CAPACITY_VARIABLE, capacity.to_string().into()));
    }
    variables
}

/// The list of folders `before`, with `first` as its first.
fn with_first(first: &Path, before: Option<OsString>) -> OsString {
    let mut list = OsString::from(first);
    // An empty entry would be the current folder.
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        list.push(OsStr::new(":"));
        list.push(before);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_folders_gets_no_empty_entry() {
        let first = Path::new("/a");
        assert_eq!(with_first(first, None), "/a");
        assert_eq!(with_first(first, Some("".into())), "/a");
        assert_eq!(with_first(first, Some("/b:/c".into())), "/a:/b:/c");
    }
}
