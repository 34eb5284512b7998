//! Converts arbitrary traces to every output: the output is valid or there is an error, but no panic, no hang, and no unbounded memory.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::{Parser, ValueEnum};
use hrx_convert::{Arguments, FormatName};
use hrx_trace_fuzz::sealed;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

/// Questions that are answered in the terminal.
const ANSWERS: [&[&str]; 5] = [
    &["--info"],
    &["--info", "--json"],
    &["--check"],
    &["--summary"],
    &["--summary", "--json"],
];

fuzz_target!(|bytes: &[u8]| {
    // One output a run, to keep runs short. The input's last byte chooses it: no item lies there.
    let choice = usize::from(bytes.last().copied().unwrap_or_default());
    let formats = FormatName::value_variants();
    let input = FOLDER.path().join("t.hrxt");
    fs::write(&input, sealed(bytes)).expect("the disk has space");
    match formats.get(choice % (formats.len() + ANSWERS.len())) {
        Some(format) => converted(*format, &input, choice % 2 == 0),
        None => {
            let options = ANSWERS[choice % ANSWERS.len()];
            let words = options.iter().copied().map(PathBuf::from);
            let _ = run(words.chain([input]));
        }
    }
});

/// In memory, if there is such a file system.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    folder.expect("a folder")
});

/// The exit code. None for a file that cannot be read at all, which is an error and leaves no output.
fn run(words: impl Iterator<Item = PathBuf>) -> Option<u8> {
    let words = [PathBuf::from("hrx-convert")].into_iter().chain(words);
    let arguments = Arguments::try_parse_from(words).expect("the command line is valid");
    hrx_convert::run(&arguments).ok()
}

fn converted(format: FormatName, input: &Path, twice: bool) {
    let output = FOLDER.path().join("out");
    let _ = fs::remove_file(&output);
    let name = format.to_possible_value().expect("a name");
    let words = ["--format", name.get_name(), "-o"].map(PathBuf::from);
    let words = words.into_iter().chain([output.clone(), input.to_owned()]);
    // The in-memory tracer's document has no place for two captures.
    let again = (twice && format != FormatName::Seed).then(|| input.to_owned());
    let code = run(words.chain(again));
    assert_eq!(code.is_some(), output.exists());
    let Ok(written) = fs::read(&output) else {
        return;
    };

    let json =
        |bytes: &[u8]| drop(serde_json::from_slice::<serde_json::Value>(bytes).expect("JSON"));
    match format {
        FormatName::Chrome | FormatName::Seed => json(&written),
        FormatName::Jsonl => written
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .for_each(json),
        FormatName::Csv => {
            // Rows of different widths are errors.
            let mut rows = csv::ReaderBuilder::new()
                .has_headers(false)
                .comment(Some(b'#'))
                .from_reader(&written[..]);
            assert!(rows.byte_records().all(|row| row.is_ok()));
        }
        _ => assert!(!written.is_empty()),
    }
}
