//! The imports as text: each wing with the wings that it uses, each file with the files that it imports, users above what they use.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::graph::Graph;
use super::source::FileId;
use super::target::Target;

const WIDTH: usize = 100;

impl Target {
    /// The graph in at most 100 columns.
    #[must_use]
    pub fn picture(&self) -> String {
        let mut text = format!("{} ({} files)\n", self.name, self.file_count());
        if !self.order.is_empty() {
            let order = [vec!["order:".to_owned()], self.order.clone()].concat();
            wrapped(&mut text, "  ", &order, 4);
        }
        let files = self.files_from_the_top();
        let column = 4
            + files
                .iter()
                .map(|&file| self.short(file).len())
                .max()
                .unwrap_or(0)
            + 2;
        for wing in self.wings_from_the_top() {
            let inside: Vec<FileId> = files
                .iter()
                .copied()
                .filter(|&file| self.wing(file) == wing)
                .collect();
            let folder = inside.iter().any(|&file| self.module_path(file).len() > 1);
            if !folder {
                for file in inside {
                    self.row(
                        &mut text,
                        &format!("  {}", self.short(file)),
                        self.imported_by(file),
                        column,
                    );
                }
                continue;
            }
            let uses: BTreeSet<String> = inside
                .iter()
                .flat_map(|&file| self.imported_by(file))
                .map(|file| self.wing(file))
                .filter(|used| *used != wing)
                .collect();
            let uses: Vec<String> = uses.into_iter().collect();
            wrapped(
                &mut text,
                &padded(&format!("  {wing}/"), column),
                &uses,
                column,
            );
            for file in inside {
                self.row(
                    &mut text,
                    &format!("    {}", self.short(file)),
                    self.imported_by(file),
                    column,
                );
            }
        }
        text
    }

    fn imported_by(&self, file: FileId) -> Vec<FileId> {
        let edges = self.edges().range((file, 0)..=(file, FileId::MAX));
        edges.map(|(&(_, to), _)| to).collect()
    }

    /// A file and what it imports, wing by wing: `text/{columns, words}`.
    fn row(&self, text: &mut String, head: &str, imported: Vec<FileId>, column: usize) {
        let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut words = Vec::new();
        for file in imported {
            match self.short(file).split_once('/') {
                Some((folder, rest)) => folders
                    .entry(folder.to_owned())
                    .or_default()
                    .push(rest.to_owned()),
                None => words.push(self.short(file)),
            }
        }
        words.sort();
        for (folder, mut files) in folders {
            files.sort();
            match files.as_slice() {
                [file] => words.push(format!("{folder}/{file}")),
                _ => {
                    let last = files.len() - 1;
                    files[0] = format!("{folder}/{{{}", files[0]);
                    files[last] += "}";
                    words.extend(files.iter().enumerate().map(|(at, file)| match at == last {
                        true => file.clone(),
                        false => format!("{file},"),
                    }));
                }
            }
        }
        wrapped(text, &padded(head, column), &words, column);
    }

    fn files_from_the_top(&self) -> Vec<FileId> {
        let graph = Graph::new(self.file_count(), self.edges().keys().copied());
        let mut files: Vec<FileId> = (0..self.file_count()).collect();
        files.sort_by_key(|&file| (usize::MAX - graph.height(file), self.short(file)));
        files
    }

    fn wings_from_the_top(&self) -> Vec<String> {
        let wings: Vec<String> = self.wings().into_iter().collect();
        let place = |file: FileId| {
            let wing = self.wing(file);
            wings
                .iter()
                .position(|name| *name == wing)
                .expect("a wing of this crate")
        };
        let edges = self
            .edges()
            .keys()
            .map(|&(from, to)| (place(from), place(to)));
        let graph = Graph::new(wings.len(), edges);
        let mut sorted: Vec<usize> = (0..wings.len()).collect();
        sorted.sort_by_key(|&wing| {
            let stated = self.order.iter().position(|name| *name == wings[wing]);
            (stated, usize::MAX - graph.height(wing), wing)
        });
        sorted.into_iter().map(|wing| wings[wing].clone()).collect()
    }
}

fn padded(head: &str, column: usize) -> String {
    format!("{head:<column$}")
}

/// `head` and the words, on as many lines as they take; further lines begin at `column`.
fn wrapped(text: &mut String, head: &str, words: &[String], column: usize) {
    let mut line = head.to_owned();
    for word in words {
        if line.len() + word.len() > WIDTH && line.len() > column {
            writeln!(text, "{}", line.trim_end()).expect("a string grows");
            line = " ".repeat(column);
        }
        line += word;
        line.push(' ');
    }
    writeln!(text, "{}", line.trim_end()).expect("a string grows");
}
