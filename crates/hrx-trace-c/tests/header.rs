//! Proves: `include/hrx_trace.h` is what the code says, the shared library exports what `symbols.txt` lists and no more, and no function can unwind into C.
//!
//! How: cbindgen makes the header again; `nm` lists what the library exports. With HRX_BLESS set, the files are written instead.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{library, succeed};

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The checked-in file is this text.
#[track_caller]
fn assert_checked_in(path: &str, text: &str) {
    let path = own(path);
    if std::env::var_os("HRX_BLESS").is_some() {
        fs::write(&path, text).expect("a file");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let name = path.display();
    assert!(
        found == text,
        "{name} is not what the code says: HRX_BLESS=1 cargo test -p hrx-trace-c --test header"
    );
}

fn header() -> String {
    let config = cbindgen::Config::from_file(own("cbindgen.toml")).expect("a configuration");
    let mut text = Vec::new();
    let builder = cbindgen::Builder::new().with_config(config);
    ["calls", "event", "options"]
        .iter()
        .fold(builder, |builder, file| {
            builder.with_src(own(&format!("src/{file}.rs")))
        })
        .generate()
        .expect("a header")
        .write(&mut text);
    String::from_utf8(text).expect("UTF-8")
}

#[test]
fn the_header_is_what_the_code_says() {
    assert_checked_in("include/hrx_trace.h", &header());
}

/// The functions that a header declares.
fn declared(header: &str) -> BTreeSet<&str> {
    let words = header
        .lines()
        .filter(|line| !line.trim_start().starts_with("//") && !line.starts_with("static"))
        .flat_map(|line| {
            line.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '(')
        })
        .filter_map(|word| word.split_once('(').map(|(name, _)| name));
    words.filter(|name| name.starts_with("hrxt_")).collect()
}

#[test]
fn the_library_exports_what_is_declared_and_no_more() {
    let listed = succeed(
        Command::new("nm")
            .args(["--dynamic", "--defined-only", "--format=just-symbols"])
            .arg(library("so")),
    );
    assert_checked_in("symbols.txt", &listed);
    let listed: BTreeSet<&str> = listed.lines().collect();
    let header = fs::read_to_string(own("include/hrx_trace.h")).expect("the header");
    let declared: BTreeSet<&str> =
        declared(header.split("// The same calls").next().expect("a part"))
            .into_iter()
            .filter(|name| {
                !["hrxt_event_of", "hrxt_to_pointer", "hrxt_from_pointer"].contains(name)
            })
            .collect();
    assert_eq!(declared, listed);
}

/// A panic leaves no function that is `extern "C"`: the compiler puts an abort there. One that is "C-unwind" would let it out.
#[test]
fn no_function_can_unwind() {
    let source = fs::read_to_string(own("src/calls.rs")).expect("the source");
    let exported = source.matches("#[unsafe(no_mangle)]").count();
    let header = fs::read_to_string(own("symbols.txt")).expect("the list");
    assert_eq!(exported, header.lines().count());
    assert_eq!(source.matches("extern \"C\" fn hrxt_").count(), exported);
}
