//! Proves: compiled with `--cfg hrx_trace_off`, a program keeps its calls, has no instruction of ours where they are, and leaves no file.
//!
//! How: a small program is compiled twice, and the compiler's own assembly says what is left of its functions. Without the flag there has to be much, or
//! the test would not notice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARY: &str = r#"
use std::time::Instant;
use hrx_trace::{Event, Key, Label, Recorder, lane, region};

#[unsafe(no_mangle)]
pub fn by_recorder(recorder: &Recorder, label: Label, key: Key, start: Instant) {
    let event = Event::new(lane::COMPUTE).label(label);
    recorder.record_between(recorder.now(), recorder.now(), event);
    recorder.mark_with(event, &[(key, 7.into())]);
    recorder.value(label, 1.5);
    let mut region = recorder.begin(event);
    region.argument(key, "text");
    region.set_label(label);
    region.waiting();
    region.finish_with(|event| event.copied_bytes(9));
    recorder.begin_at(start, event).fail(3);
    drop(recorder.begin(event));
    recorder.alive();
    recorder.name_thread("main");
}

#[unsafe(no_mangle)]
pub fn by_macro() -> u32 {
    let mut region = region!("gemm", lane::COMPUTE, id = 7);
    region.set_status(3);
    region.finish();
    region!("sum", lane::HOST, bytes = 9, || 7)
}
"#;

const PROGRAM: &str = r#"
use hrx_trace::{Options, Recorder, region};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: caller FOLDER")?;
    let folder = std::path::Path::new(&folder);
    let recorder = Recorder::create(folder.join("run.hrxt"), 100)?;
    caller::by_recorder(&recorder, recorder.label("gemm"), recorder.key("batch"), std::time::Instant::now());
    let _ = hrx_trace::set_global(Options::new(100).create_in(folder)?);
    assert_eq!(caller::by_macro(), 7);
    assert_eq!(region!("sum", hrx_trace::lane::HOST, || 8), 8);
    println!("{}", recorder.is_recording());
    Ok(())
}
"#;

/// The versions of what it depends on are the project's, which are there.
const BUILD: [&str; 3] = ["--quiet", "--release", "--offline"];

/// A program that records, and where cargo puts it.
struct Caller {
    folder: PathBuf,
    target: PathBuf,
    flags: &'static str,
}

impl Caller {
    fn new(folder: &Path, flags: &'static str, name: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let manifest = format!(
            "[package]\nname = \"caller\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies.hrx-trace]\npath = {:?}\ndefault-features = false\n\n[workspace]\n",
            root.join("crates/hrx-trace")
        );
        let source = folder.join("src");
        fs::create_dir_all(&source).unwrap();
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        fs::write(source.join("lib.rs"), LIBRARY).unwrap();
        fs::write(source.join("main.rs"), PROGRAM).unwrap();
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        Self {
            folder: folder.to_owned(),
            target,
            flags,
        }
    }

    fn cargo(&self, words: &[&str]) {
        let built = Command::new(env!("CARGO"))
            .current_dir(&self.folder)
            .args(words)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("RUSTFLAGS", self.flags)
            .output()
            .expect("cargo runs");
        let complaint = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{complaint}");
    }

    /// The instructions of a function of the library.
    fn instructions(&self, function: &str) -> Vec<String> {
        let assembly = self.target.join("caller.s");
        let emit = format!("--emit=asm={}", assembly.display());
        self.cargo(&[
            "rustc",
            "--lib",
            BUILD[0],
            BUILD[1],
            BUILD[2],
            "--",
            "-Ccodegen-units=1",
            &emit,
        ]);
        let text = fs::read_to_string(&assembly).unwrap();
        let body = text
            .split_once(&format!("\n{function}:\n"))
            .expect("the function")
            .1;
        let lines = body.lines().map(str::trim);
        let end = |line: &&str| !line.starts_with(".Lfunc_end");
        let instructions = lines.take_while(end).filter(|line| {
            !line.starts_with('.') && !line.ends_with(':') && !line.starts_with('#')
        });
        instructions.map(str::to_owned).collect()
    }

    /// What the program says, and how many files it leaves.
    fn run(&self) -> (String, usize) {
        self.cargo(&["build", "--bin=caller", BUILD[0], BUILD[1], BUILD[2]]);
        let folder = tempfile::tempdir().unwrap();
        let run = Command::new(self.target.join("release/caller"))
            .arg(folder.path())
            .output()
            .unwrap();
        assert!(
            run.status.success(),
            "{}",
            String::from_utf8_lossy(&run.stderr)
        );
        let files = fs::read_dir(folder.path()).unwrap().count();
        (String::from_utf8(run.stdout).unwrap(), files)
    }
}

#[test]
fn nothing_is_left_of_a_program_that_is_compiled_without_traces() {
    let folder = tempfile::tempdir().unwrap();
    let off = Caller::new(folder.path(), "--cfg hrx_trace_off", "compiled-out");
    let by_recorder = off.instructions("by_recorder");
    assert!(
        matches!(&by_recorder[..], [one] if one.starts_with("ret")),
        "{by_recorder:#?}"
    );
    let by_macro = off.instructions("by_macro");
    assert!(
        matches!(&by_macro[..], [constant, end] if constant.contains('7') && end.starts_with("ret")),
        "{by_macro:#?}"
    );
    assert_eq!(off.run(), ("false\n".to_owned(), 0));

    let on = Caller::new(folder.path(), "", "compiled-in");
    assert!(on.instructions("by_recorder").len() > 500);
    assert!(on.instructions("by_macro").len() > 100);
    assert_eq!(on.run(), ("true\n".to_owned(), 2));
}
