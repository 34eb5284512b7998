//! What only Linux has lies in `src/os/linux`, and is compiled only there. Checked by text, because other systems are not at hand to compile for.

use std::fs;
use std::path::{Path, PathBuf};

const LINUX: &str = "src/os/linux/";
/// What gives away a call, or a file, that only Linux has.
const LINUX_ONLY: [&str; 6] = [
    "rustix",
    "libc::",
    "use nix",
    "os::linux",
    "/proc/",
    "target_os",
];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All source files below `folder`, relative to the package.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in fs::read_dir(package.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Lines that a program compiles: no comments, and nothing after the tests begin, which every file keeps at its end.
fn compiled(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .take_while(|line| *line != "mod tests {")
        .map(|line| line.split("//").next().unwrap_or_default())
}

fn linux_only(text: &str) -> Vec<&str> {
    compiled(text)
        .filter(|line| LINUX_ONLY.iter().any(|word| line.contains(word)))
        .collect()
}

#[test]
fn what_only_linux_has_is_in_one_folder() {
    let mut files = Vec::new();
    sources(Path::new("src"), &mut files);
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        let name = file.to_str().unwrap();
        if !name.starts_with(LINUX) && name != "src/os/mod.rs" {
            assert_eq!(linux_only(&read(name)), [""; 0], "{name}");
        }
    }
    // The search finds what is there.
    let text = read(&format!("{LINUX}mod.rs"));
    for word in ["rustix", "os::linux", "/proc/"] {
        assert!(linux_only(&text).iter().any(|line| line.contains(word)));
    }
}

#[test]
fn that_folder_is_compiled_on_linux_only() {
    let text = read("src/os/mod.rs");
    let lines: Vec<&str> = compiled(&text).collect();
    let mut uses = 0;
    for pair in lines.windows(2) {
        if pair[1].split([' ', ';']).any(|word| word == "linux") {
            assert_eq!(pair[0], r#"#[cfg(target_os = "linux")]"#, "{}", pair[1]);
            uses += 1;
        }
    }
    assert_eq!(uses, 2, "`mod linux` and `use linux`");
}

#[test]
fn its_dependency_is_linux_only_too() {
    let manifest = read("Cargo.toml");
    // In a package, Cargo has written the manifest anew, with a table for each dependency.
    let tables: Vec<&str> = manifest
        .split("\n[")
        .filter(|table| {
            table
                .lines()
                .any(|line| !line.starts_with('#') && line.contains("rustix"))
        })
        .collect();
    assert_eq!(tables.len(), 1, "{tables:?}");
    let linux = r#"target.'cfg(target_os = "linux")'.dependencies"#;
    assert!(tables[0].starts_with(linux), "{}", tables[0]);
}
