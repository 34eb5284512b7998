//! Paths to files: which file defines the name that a path leads to.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::source::{FileId, Import, Mention, Module, ModuleId, Source};

/// What a path leads to. Paths that leave the crate lead to nothing.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Found {
    Module(ModuleId),
    /// An item, or a name that a macro may define, in this file.
    Item(FileId),
}

/// The lookups in progress: imports that lead to each other end here.
type Seen = HashSet<(ModuleId, String)>;

/// For each file that imports another: on which lines.
pub type Edges = BTreeMap<(FileId, FileId), BTreeSet<usize>>;

impl Source {
    /// Which file imports which, and where.
    pub fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        let mut add = |from: FileId, files: BTreeSet<FileId>, line: usize| {
            for to in files.into_iter().filter(|&to| to != from) {
                edges.entry((from, to)).or_default().insert(line);
            }
        };
        for (id, module) in self.modules.iter().enumerate() {
            for import in module.imports.values().flatten().chain(&module.globs) {
                if !self.only_reexports(id, import) {
                    add(module.file, self.files_of_import(id, import), import.line);
                }
            }
            for mention in &module.mentions {
                add(
                    module.file,
                    self.files_of_mention(id, mention),
                    mention.line,
                );
            }
        }
        edges
    }

    /// The files that an import names, in whatever namespace.
    fn files_of_import(&self, module: ModuleId, import: &Import) -> BTreeSet<FileId> {
        let found = self.walk(module, &import.path, &mut Seen::new());
        found.into_iter().map(|found| self.file_of(found)).collect()
    }

    /// The files that a path in code names. A name that a `use` line of this module binds is counted at that line, unless the line only re-exports it.
    fn files_of_mention(&self, module: ModuleId, mention: &Mention) -> BTreeSet<FileId> {
        let here = &self.modules[module];
        let mut found = Vec::new();
        if let [name] = mention.path.as_slice() {
            if mention.calls_macro {
                found.extend(self.macro_in_scope(module, name));
            }
            if !here.defines(name) && !self.is_imported(module, name) {
                found.extend(self.lookup(module, name, here.file, &mut Seen::new()));
            }
        } else if !self.begins_with_imported_item(module, &mention.path[0]) {
            found = self.walk(module, &mention.path, &mut Seen::new());
        }
        // In code, a path ends at a value, a type or a macro, never at a module of the same name.
        let items = found.iter().any(|found| matches!(found, Found::Item(_)));
        found
            .into_iter()
            .filter(|found| !items || matches!(found, Found::Item(_)))
            .map(|found| self.file_of(found))
            .collect()
    }

    /// Whether an import only passes on what the modules below its own define.
    fn only_reexports(&self, module: ModuleId, import: &Import) -> bool {
        let here = &self.modules[module];
        import.public
            && self.files_of_import(module, import).iter().all(|&file| {
                let path = &self.files[file].module_path;
                path.len() > here.path.len() && path.starts_with(&here.path)
            })
    }

    /// Whether a `use` line of the module that does more than re-export binds `name`.
    fn is_imported(&self, module: ModuleId, name: &str) -> bool {
        let imports = self.modules[module].imports.get(name);
        imports.is_some_and(|imports| {
            imports
                .iter()
                .any(|import| !self.only_reexports(module, import))
        })
    }

    /// Whether `first` is an item bound by a `use` line, which then counts for `first::member` too. A module bound by one may lead to further files.
    fn begins_with_imported_item(&self, module: ModuleId, first: &str) -> bool {
        let asking = self.modules[module].file;
        self.is_imported(module, first)
            && self
                .lookup(module, first, asking, &mut Seen::new())
                .iter()
                .all(|found| matches!(found, Found::Item(_)))
    }

    fn file_of(&self, found: Found) -> FileId {
        match found {
            Found::Module(module) => self.modules[module].file,
            Found::Item(file) => file,
        }
    }

    /// Where `path` leads from `module`.
    fn walk(&self, module: ModuleId, path: &[String], seen: &mut Seen) -> Vec<Found> {
        let asking = self.modules[module].file;
        let mut found = Vec::new();
        for (at, name) in path.iter().enumerate() {
            found = match name.as_str() {
                "crate" => vec![Found::Module(0)],
                "self" if at == 0 => vec![Found::Module(module)],
                "super" if at == 0 => self.parent(module),
                "super" => found
                    .iter()
                    .flat_map(|&found| self.parent_of(found))
                    .collect(),
                _ if at == 0 => self.lookup(module, name, asking, seen),
                _ => self.step(&found, name, asking, seen),
            };
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn parent(&self, module: ModuleId) -> Vec<Found> {
        let parent = self.modules[module].parent;
        parent.map(Found::Module).into_iter().collect()
    }

    fn parent_of(&self, found: Found) -> Vec<Found> {
        match found {
            Found::Module(module) => self.parent(module),
            Found::Item(_) => Vec::new(),
        }
    }

    /// The next segment of a path: a member of the modules found so far. A member of an item is in the item's file.
    fn step(&self, found: &[Found], name: &str, asking: FileId, seen: &mut Seen) -> Vec<Found> {
        let modules: Vec<ModuleId> = found
            .iter()
            .filter_map(|found| match found {
                Found::Module(module) => Some(*module),
                Found::Item(_) => None,
            })
            .collect();
        if modules.is_empty() {
            return found.to_vec();
        }
        let mut members = Vec::new();
        for module in modules {
            let inside = self.lookup(module, name, asking, seen);
            if inside.is_empty() {
                // A re-export from another crate, or an item made by a macro: it comes from this module.
                members.push(Found::Item(self.modules[module].file));
            }
            members.extend(inside);
        }
        members
    }

    /// What `name` means in `module`, for code in the file `asking`.
    fn lookup(&self, module: ModuleId, name: &str, asking: FileId, seen: &mut Seen) -> Vec<Found> {
        if !seen.insert((module, name.to_owned())) {
            return Vec::new();
        }
        let here = &self.modules[module];
        let mut found = Vec::new();
        let children = here.children.get(name).into_iter().flatten();
        found.extend(children.copied().map(Found::Module));
        if here.defines(name) {
            found.push(Found::Item(here.file));
        }
        if module == 0 {
            found.extend(self.exported_macros.get(name).copied().map(Found::Item));
        }
        for import in here.imports.get(name).into_iter().flatten() {
            let origin = self.walk(module, &import.path, seen);
            // Another file's private import is borrowed, so that file is needed as well.
            if !origin.is_empty() && !import.public && here.file != asking {
                found.push(Found::Item(here.file));
            }
            found.extend(origin);
        }
        if found.is_empty() {
            for glob in &here.globs {
                for origin in self.walk(module, &glob.path, seen) {
                    if let Found::Module(module) = origin {
                        found.extend(self.lookup(module, name, asking, seen));
                    }
                }
            }
        }
        seen.remove(&(module, name.to_owned()));
        found
    }

    /// A macro of this module or of one that holds it, called by its bare name.
    fn macro_in_scope(&self, module: ModuleId, name: &str) -> Option<Found> {
        let mut at = Some(module);
        while let Some(module) = at {
            let here = &self.modules[module];
            if here.macros.contains(name) {
                return Some(Found::Item(here.file));
            }
            at = here.parent;
        }
        None
    }
}

impl Module {
    fn defines(&self, name: &str) -> bool {
        self.items.contains(name) || self.macros.contains(name)
    }
}
