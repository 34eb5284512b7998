//! The crates of the workspace as cargo lists them, and which of them may use which.
//!
//! The order of the crates, in floors, is stated in the workspace's Cargo.toml, the order of a crate's wings in its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::target::Target;

/// Every crate of the workspace, read.
#[derive(Debug)]
pub struct Workspace {
    /// Libraries, programs, tests, examples and benchmarks.
    pub targets: Vec<Target>,
    /// The dependencies between members, without those for tests.
    dependencies: BTreeMap<String, BTreeSet<String>>,
    /// The floors of the crates, the uppermost first.
    floors: Vec<Vec<String>>,
    /// Files below the packages' `src` that no target includes.
    strays: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
    metadata: Option<Stated>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<PackageTarget>,
    metadata: Option<Stated>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct PackageTarget {
    name: String,
    kind: Vec<String>,
    src_path: PathBuf,
}

/// `[workspace.metadata]` and `[package.metadata]`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Stated {
    imports: Orders,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Orders {
    floors: Vec<Vec<String>>,
    wings: Vec<String>,
}

impl Workspace {
    /// Reads the workspace whose Cargo.toml lies in `folder`.
    ///
    /// # Panics
    /// If cargo does not know it, or a file is missing or is not Rust.
    #[must_use]
    pub fn read(folder: &Path) -> Self {
        let told = Command::new(env!("CARGO"))
            .current_dir(folder)
            .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
            .output()
            .expect("cargo runs");
        assert!(
            told.status.success(),
            "{}",
            String::from_utf8_lossy(&told.stderr)
        );
        let metadata: Metadata = serde_json::from_slice(&told.stdout).expect("cargo's JSON");
        let base = &metadata.workspace_root;
        let mut targets = Vec::new();
        let mut strays = Vec::new();
        let mut dependencies = BTreeMap::new();
        for package in metadata.packages {
            let wings = package.metadata.unwrap_or_default().imports.wings;
            let wings: Vec<&str> = wings.iter().map(String::as_str).collect();
            let first = targets.len();
            for target in &package.targets {
                let library = target.kind.iter().any(|kind| kind.ends_with("lib"));
                let (name, order) = match library {
                    true => (package.name.clone(), wings.as_slice()),
                    false => (
                        format!(
                            "{}, {} {}",
                            package.name,
                            target.kind.join(" "),
                            target.name
                        ),
                        &[][..],
                    ),
                };
                targets.push(Target::read(&name, &target.src_path, base, order));
            }
            let source = package.manifest_path.with_file_name("src");
            let included: BTreeSet<&Path> =
                targets[first..].iter().flat_map(Target::paths).collect();
            let stray = rust_files(&source)
                .into_iter()
                .filter(|path| !included.contains(path.as_path()));
            strays.extend(stray.map(|path| {
                path.strip_prefix(base)
                    .unwrap_or(&path)
                    .display()
                    .to_string()
            }));
            let members = package.dependencies.into_iter().filter(|dependency| {
                dependency.path.is_some() && dependency.kind.as_deref() != Some("dev")
            });
            dependencies.insert(
                package.name,
                members.map(|dependency| dependency.name).collect(),
            );
        }
        Self {
            targets,
            dependencies,
            floors: metadata.metadata.unwrap_or_default().imports.floors,
            strays,
        }
    }

    /// What breaks a rule in any crate or between them, a message each.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        let strays = self
            .strays
            .iter()
            .map(|path| format!("{path} is part of no crate"));
        let files = self.targets.iter().flat_map(Target::violations);
        self.between_crates()
            .into_iter()
            .chain(strays)
            .chain(files)
            .collect()
    }

    fn between_crates(&self) -> Vec<String> {
        let floor = |name: &str| {
            self.floors
                .iter()
                .position(|floor| floor.iter().any(|member| member == name))
        };
        let mut found = Vec::new();
        for (package, uses) in &self.dependencies {
            let Some(upper) = floor(package) else {
                found.push(format!(
                    "{package} has no place in the floors of Cargo.toml"
                ));
                continue;
            };
            for used in uses {
                match floor(used) {
                    None => found.push(format!(
                        "{package} depends on {used}, which has no place in the floors of Cargo.toml"
                    )),
                    Some(lower) if lower <= upper => found.push(format!(
                        "{package} depends on {used}, which is not on a floor below it"
                    )),
                    Some(_) => {}
                }
            }
        }
        let stated = self.floors.iter().flatten();
        let absent = stated.filter(|name| !self.dependencies.contains_key(*name));
        found.extend(absent.map(|name| {
            format!("the floors of Cargo.toml name {name}, and there is no such crate")
        }));
        found
    }

    /// The graph of the crates, then that of each crate's files, and a verdict.
    #[must_use]
    pub fn picture(&self) -> String {
        let mut text = String::from("Crates, from the top\n");
        for name in self.floors.iter().flatten() {
            let uses: Vec<&str> = self
                .dependencies
                .get(name)
                .into_iter()
                .flatten()
                .map(String::as_str)
                .collect();
            text += format!("  {name:<20}{}", uses.join(" ")).trim_end();
            text.push('\n');
        }
        let (several, single): (Vec<&Target>, Vec<&Target>) = self
            .targets
            .iter()
            .partition(|target| target.file_count() > 1);
        for target in &several {
            text.push('\n');
            text += &target.picture();
        }
        let violations = self.violations();
        let imports: usize = self.targets.iter().map(Target::edge_count).sum();
        let files: usize = several.iter().map(|target| target.file_count()).sum();
        text += &format!(
            "\n{} crates of several files: {files} files, {imports} imports between them; {} of one file\n",
            several.len(),
            single.len()
        );
        for violation in &violations {
            text += &format!("{violation}\n");
        }
        text += &match violations.len() {
            0 => "no circle, no upward import\n".to_owned(),
            1 => "1 violation\n".to_owned(),
            count => format!("{count} violations\n"),
        };
        text
    }
}

/// Every Rust file below `folder`.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("a folder that can be listed").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
