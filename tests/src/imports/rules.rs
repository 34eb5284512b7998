//! The rules for the imports of a crate. Each violation is reported with file and line.
//!
//! - No file imports from a module that holds it: not from `lib.rs`, not from the `mod.rs` of its folder.
//! - Where the crate states the order of its wings, no wing imports one before it.
//! - No two files import each other, directly or by way of others.
//! - No two folders inside the same folder do.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::Graph;
use super::source::FileId;
use super::target::Target;

type Edge = (FileId, FileId);

impl Target {
    /// What breaks a rule, a message each.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        let mut found = self.misplaced();
        let mut edges: BTreeSet<Edge> = self.edges().keys().copied().collect();
        edges.retain(|&(from, _)| !self.is_borrowed(from));
        // Each upward import is reported alone, and left out of the circles, which it would only enlarge.
        edges.retain(|&(from, to)| match self.upward(from, to) {
            Some(why) => {
                found.push(format!("{}: {why}", self.site(from, to)));
                false
            }
            None => true,
        });
        for circle in Graph::new(self.file_count(), edges.iter().copied()).circles() {
            let inside = |&(from, to): &Edge| circle.contains(&from) && circle.contains(&to);
            found.push(self.circle("files", edges.iter().filter(|edge| inside(edge))));
            edges.retain(|edge| !inside(edge));
        }
        let folders: BTreeSet<&[String]> = (0..self.file_count())
            .map(|file| self.module_path(file))
            .collect();
        for folder in folders {
            self.circles_of_folders(folder, &edges, &mut found);
        }
        found
    }

    /// Wings that the stated order lacks, and names in it that are no wing.
    fn misplaced(&self) -> Vec<String> {
        if self.order.is_empty() {
            return Vec::new();
        }
        let stated: BTreeSet<String> = self.order.iter().cloned().collect();
        let wings = self.wings();
        let unplaced = wings.difference(&stated).map(|wing| {
            format!(
                "{}: `{wing}` has no place in the stated order of wings",
                self.name
            )
        });
        let absent = stated.difference(&wings).map(|wing| {
            format!(
                "{}: the stated order names `{wing}`, and there is no such wing",
                self.name
            )
        });
        unplaced.chain(absent).collect()
    }

    /// Why an import runs upward, if it does.
    fn upward(&self, from: FileId, to: FileId) -> Option<String> {
        let (inner, outer) = (self.module_path(from), self.module_path(to));
        if outer.len() < inner.len() && inner.starts_with(outer) {
            return Some("upward, to the module that holds it".to_owned());
        }
        let (lower, upper) = (self.wing(from), self.wing(to));
        let place = |wing: &String| self.order.iter().position(|name| name == wing);
        (place(&upper)? < place(&lower)?).then(|| format!("`{lower}` stands below `{upper}`"))
    }

    /// Circles among what lies in the folder of the module at `path`: its files, and its folders with all they hold.
    fn circles_of_folders(&self, path: &[String], edges: &BTreeSet<Edge>, found: &mut Vec<String>) {
        let mut nodes: BTreeMap<Option<&String>, usize> = BTreeMap::new();
        let mut node_of: BTreeMap<FileId, usize> = BTreeMap::new();
        for file in 0..self.file_count() {
            if let Some(inside) = self.module_path(file).strip_prefix(path) {
                let next = nodes.len();
                node_of.insert(file, *nodes.entry(inside.first()).or_insert(next));
            }
        }
        let node = |&(from, to): &Edge| Some((*node_of.get(&from)?, *node_of.get(&to)?));
        for circle in Graph::new(nodes.len(), edges.iter().filter_map(node)).circles() {
            let between = edges.iter().filter(|edge| {
                node(edge).is_some_and(|(from, to)| {
                    from != to && circle.contains(&from) && circle.contains(&to)
                })
            });
            found.push(self.circle("folders", between));
        }
    }

    fn circle<'a>(&self, what: &str, edges: impl Iterator<Item = &'a Edge>) -> String {
        let mut text = format!("{}: {what} that import each other", self.name);
        for &(from, to) in edges {
            text += &format!("\n    {}", self.site(from, to));
        }
        text
    }
}
