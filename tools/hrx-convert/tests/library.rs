//! The library: it returns what the command writes, and typed errors for files that are no captures.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use hrx_convert::{Captures, Selection, summary_json, summary_text, write_page};
use hrx_trace_tests::capture::{Capture, region};

/// Two captures of one boot, with events on two lanes.
fn captures(folder: &Path) -> [PathBuf; 2] {
    ["a.hrxt", "b.hrxt"].map(|name| {
        let mut capture = Capture::new(64);
        let gemm = capture.label("gemm");
        for i in 0..100 {
            capture.record(hrx_trace_format::Record {
                label_id: gemm,
                ..region(i as u32 % 2, 1_000 * i, 900)
            });
        }
        capture.write(folder, name);
        folder.join(name)
    })
}

/// What the command writes for these captures.
fn command(options: &[&str], files: &[PathBuf]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_hrx-convert"))
        .args(options)
        .args(files)
        .env_remove("CLICOLOR_FORCE")
        .output()
        .expect("the command");
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn it_returns_what_the_command_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = captures(folder.path());
    for options in [
        &[][..],
        &["--lane", "compute", "--last", "20us"],
        &["--label", "other*"],
    ] {
        let selection = Selection::from_options(options).expect("options");
        let captures = Captures::open(files.clone(), &selection).expect("captures");
        let with = |more: &[&str]| command(&[options, more].concat(), &files);
        assert_eq!(
            summary_text(&captures, &selection)
                .expect("a summary")
                .as_bytes(),
            with(&["--summary"]),
            "{options:?}"
        );
        assert_eq!(
            summary_json(&captures, &selection)
                .expect("a summary")
                .as_bytes(),
            with(&["--summary", "--json"]),
            "{options:?}"
        );
        let mut page = Vec::new();
        write_page(&captures, &selection, &mut page).expect("a page");
        assert_eq!(page, with(&["--format", "html"]), "{options:?}");
    }
}

#[test]
fn what_is_no_capture_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let everything = Selection::default();
    assert!(everything.is_everything());
    let none = Captures::open([], &everything).expect_err("no path");
    assert_eq!(none.kind(), ErrorKind::InvalidInput);

    let path = folder.path().join("notes.hrxt");
    fs::write(&path, "not a capture").expect("a file");
    let [capture, _] = captures(folder.path());
    for wrong in [path, folder.path().join("missing.hrxt")] {
        let error = Captures::open([capture.clone(), wrong.clone()], &everything);
        let error = error.expect_err("no capture");
        let inner = error.get_ref().expect("an inner error");
        assert!(inner.is::<hrx_trace_reader::Error>(), "{error}");
        assert!(error.to_string().contains(&wrong.display().to_string()));
    }
}
