//! One crate: its files, the wing that each belongs to, and the imports between them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::names::Edges;
use super::source::{FileId, Source};

/// A library, program, test, example or benchmark of a package.
#[derive(Debug)]
pub struct Target {
    /// What the picture calls it.
    pub name: String,
    /// The order of its wings, the uppermost first; empty where none is stated.
    pub order: Vec<String>,
    /// What messages leave out of the paths of files.
    base: PathBuf,
    source: Source,
    edges: Edges,
}

impl Target {
    /// Reads the crate whose root is the file `root`. Messages name its files relative to `base`.
    ///
    /// # Panics
    /// If a file is missing or is not Rust.
    #[must_use]
    pub fn read(name: &str, root: &Path, base: &Path, order: &[&str]) -> Self {
        let source = Source::read(root);
        let edges = source.edges();
        Self {
            name: name.to_owned(),
            order: order.iter().map(|&wing| wing.to_owned()).collect(),
            base: base.to_owned(),
            source,
            edges,
        }
    }

    /// Number of files.
    #[must_use]
    pub fn file_count(&self) -> usize {
        self.source.files.len()
    }

    /// Number of pairs of files in which one imports the other.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// The paths of its files, those that only its tests include among them.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let files = self.source.files.iter().map(|file| &file.path);
        files.chain(&self.source.test_files).map(PathBuf::as_path)
    }

    pub(super) fn edges(&self) -> &Edges {
        &self.edges
    }

    pub(super) fn module_path(&self, file: FileId) -> &[String] {
        &self.source.files[file].module_path
    }

    /// The uppermost folder that a file lies in, or the file itself if it lies in none.
    pub(super) fn wing(&self, file: FileId) -> String {
        let stem = || {
            self.source.files[file]
                .path
                .file_stem()
                .expect("a file's name")
        };
        let path = self.module_path(file);
        path.first()
            .map_or_else(|| stem().to_string_lossy().into_owned(), Clone::clone)
    }

    pub(super) fn wings(&self) -> BTreeSet<String> {
        (0..self.file_count()).map(|file| self.wing(file)).collect()
    }

    /// Whether the file lies outside the crate's folder: `#[path]` borrows it from another crate, and that crate's rules apply.
    pub(super) fn is_borrowed(&self, file: FileId) -> bool {
        !self.source.files[file].path.starts_with(self.folder())
    }

    /// Where the root lies.
    fn folder(&self) -> &Path {
        let root = &self.source.files[0].path;
        root.parent().expect("a file in a folder")
    }

    /// The path of a file from the folder of the root, without its ending.
    pub(super) fn short(&self, file: FileId) -> String {
        let path = self.source.files[file].path.with_extension("");
        let inside = path.strip_prefix(self.folder());
        let short = inside.or_else(|_| path.strip_prefix(&self.base));
        short.unwrap_or(&path).display().to_string()
    }

    /// "src/a.rs:3 imports b.rs", and on which further lines.
    pub(super) fn site(&self, from: FileId, to: FileId) -> String {
        let mut lines = self.edges[&(from, to)].iter();
        let first = lines.next().expect("an edge has a line");
        let further: Vec<String> = lines.map(usize::to_string).collect();
        let path = &self.source.files[from].path;
        let path = path.strip_prefix(&self.base).unwrap_or(path).display();
        let to = self.short(to);
        match further.len() {
            0 => format!("{path}:{first} imports {to}.rs"),
            1 => format!(
                "{path}:{first} imports {to}.rs (again on line {})",
                further[0]
            ),
            _ => format!(
                "{path}:{first} imports {to}.rs (again on lines {})",
                further.join(", ")
            ),
        }
    }
}
