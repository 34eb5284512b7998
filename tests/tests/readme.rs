//! The READMEs: the project's is read in five minutes, and every link in any of them leads somewhere.

use std::fs;
use std::path::{Path, PathBuf};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The project's README and those that its map links.
const READMES: [&str; 9] = [
    "README.md",
    "crates/hrx-trace/README.md",
    "crates/hrx-trace-format/README.md",
    "crates/hrx-trace-reader/README.md",
    "crates/hrx-trace-tracing/README.md",
    "spec/vectors/README.md",
    "tests/README.md",
    "tools/hrx-bench/README.md",
    "tools/hrx-convert/README.md",
];

fn read(readme: &str) -> String {
    let path = project().join(readme);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What the Markdown links, pictures included, outside code blocks.
fn links(markdown: &str) -> Vec<&str> {
    let outside_code = markdown.split("\n```").step_by(2);
    outside_code
        .flat_map(|text| text.split("](").skip(1))
        .map(|behind| behind.split_once(')').expect("an ended link").0)
        .collect()
}

/// It had grown to 30 KB. What does not fit belongs next to what it describes.
#[test]
fn the_project_s_readme_is_short() {
    let bytes = read("README.md").len();
    assert!(bytes <= 10_240, "README.md has {bytes} bytes");
}

#[test]
fn every_link_leads_somewhere() {
    for readme in READMES {
        let folder = project()
            .join(readme)
            .parent()
            .expect("a folder")
            .to_owned();
        for link in links(&read(readme)) {
            if link.starts_with("https://") {
                continue;
            }
            assert!(folder.join(link).exists(), "{readme}: {link}");
        }
    }
}

/// A README that the map does not link is found by no one.
#[test]
fn the_project_s_readme_links_all_others() {
    let readme = read("README.md");
    let links = links(&readme);
    for other in &READMES[1..] {
        assert!(links.contains(other), "{other}");
    }
}
