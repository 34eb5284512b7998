//! The modules of one crate as written: what each defines, imports and mentions. Nothing is resolved yet.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};

/// The place of a file in [`Source::files`].
pub type FileId = usize;
/// The place of a module in [`Source::modules`].
pub type ModuleId = usize;

/// The files and modules of one crate. The first of each is its root.
#[derive(Debug, Default)]
pub struct Source {
    pub files: Vec<File>,
    pub modules: Vec<Module>,
    /// Names of the macros that `#[macro_export]` puts into the root, and the file that defines each.
    pub exported_macros: HashMap<String, FileId>,
    /// Files that only tests compile. Their imports do not count.
    pub test_files: Vec<PathBuf>,
}

/// One file. A file that two modules include by `#[path]` is listed once.
#[derive(Debug)]
pub struct File {
    pub path: PathBuf,
    /// The module that the file holds, as its path from the root: empty for the root itself.
    pub module_path: Vec<String>,
}

/// A module, inline or in its own file.
#[derive(Debug, Default)]
pub struct Module {
    pub file: FileId,
    /// Path from the root: empty for the root itself.
    pub path: Vec<String>,
    pub parent: Option<ModuleId>,
    /// More than one of a name where `#[cfg]` chooses.
    pub children: HashMap<String, Vec<ModuleId>>,
    pub items: HashSet<String>,
    pub macros: HashSet<String>,
    /// By the name that each import binds.
    pub imports: BTreeMap<String, Vec<Import>>,
    /// `use path::*`
    pub globs: Vec<Import>,
    /// Paths in code, macros and attributes.
    pub mentions: Vec<Mention>,
}

/// One leaf of a `use` line.
#[derive(Clone, Debug)]
pub struct Import {
    pub path: Vec<String>,
    pub line: usize,
    /// Visible outside its module: `pub use` and `pub(crate) use`.
    pub public: bool,
}

/// A path in code, of one segment or more.
#[derive(Debug)]
pub struct Mention {
    pub path: Vec<String>,
    pub line: usize,
    /// `path!(…)`
    pub calls_macro: bool,
}

impl Source {
    /// Parses the crate whose root is the file `root`, and every file that its modules name.
    ///
    /// # Panics
    /// If a file is missing or is not Rust.
    pub fn read(root: &Path) -> Self {
        let mut source = Self::default();
        let folder = root.parent().expect("a file in a folder");
        let module = source.add_module(None, None, root.to_owned());
        source.read_file(module, folder);
        source
    }

    /// A module with the file `path` in it, not yet read.
    fn add_module(
        &mut self,
        parent: Option<ModuleId>,
        name: Option<&str>,
        path: PathBuf,
    ) -> ModuleId {
        let mut module_path =
            parent.map_or_else(Vec::new, |parent| self.modules[parent].path.clone());
        module_path.extend(name.map(str::to_owned));
        let known = self.files.iter().position(|file| file.path == path);
        let file = known.unwrap_or_else(|| {
            self.files.push(File {
                path,
                module_path: module_path.clone(),
            });
            self.files.len() - 1
        });
        self.modules.push(Module {
            file,
            path: module_path,
            parent,
            ..Module::default()
        });
        let module = self.modules.len() - 1;
        if let (Some(parent), Some(name)) = (parent, name) {
            let children = &mut self.modules[parent].children;
            children.entry(name.to_owned()).or_default().push(module);
        }
        module
    }

    /// Reads the file of `module`, whose children lie in `folder`.
    fn read_file(&mut self, module: ModuleId, folder: &Path) {
        let path = self.files[self.modules[module].file].path.clone();
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
        let file = syn::parse_file(&text).unwrap_or_else(|error| {
            let start = error.span().start();
            panic!("{}:{}: {error}", path.display(), start.line)
        });
        if file.attrs.iter().any(is_for_tests) {
            return;
        }
        let mut reader = Reader {
            source: self,
            module,
            folder: folder.to_owned(),
            path_folder: path.parent().expect("a file in a folder").to_owned(),
        };
        reader.visit_file(&file);
    }
}

/// Walks the syntax of one module.
struct Reader<'a> {
    source: &'a mut Source,
    module: ModuleId,
    /// Where `mod x;` finds x.rs.
    folder: PathBuf,
    /// Where `#[path = "x.rs"]` finds x.rs.
    path_folder: PathBuf,
}

impl Reader<'_> {
    fn here(&mut self) -> &mut Module {
        &mut self.source.modules[self.module]
    }

    fn define(&mut self, ident: &syn::Ident) {
        let name = name_of(ident);
        self.here().items.insert(name);
    }

    fn mention(&mut self, path: Vec<String>, line: usize, calls_macro: bool) {
        self.here().mentions.push(Mention {
            path,
            line,
            calls_macro,
        });
    }

    /// The file that `mod x;` names, and the folder of the module's children.
    fn file_and_folder(&self, item: &syn::ItemMod) -> (PathBuf, PathBuf) {
        if let Some(path) = item.attrs.iter().find_map(path_attribute) {
            let file = normal(&self.path_folder.join(path));
            let folder = file.parent().expect("a file in a folder").to_owned();
            return (file, folder);
        }
        let name = name_of(&item.ident);
        let folder = self.folder.join(&name);
        let plain = self.folder.join(format!("{name}.rs"));
        let inside = folder.join("mod.rs");
        (if plain.exists() { plain } else { inside }, folder)
    }

    fn module_file(&mut self, item: &syn::ItemMod) {
        let (file, folder) = self.file_and_folder(item);
        let name = name_of(&item.ident);
        let module = self.source.add_module(Some(self.module), Some(&name), file);
        self.source.read_file(module, &folder);
    }

    /// A module of tests, read only to learn its files.
    fn test_module_file(&mut self, item: &syn::ItemMod) {
        let (file, folder) = self.file_and_folder(item);
        let mut aside = Source::default();
        let module = aside.add_module(None, None, file);
        aside.read_file(module, &folder);
        let files = aside.files.into_iter().map(|file| file.path);
        self.source.test_files.extend(files.chain(aside.test_files));
    }

    /// `mod x { … }`
    fn inline_module(&mut self, item: &syn::ItemMod, items: &[syn::Item]) {
        let name = name_of(&item.ident);
        let file = self.here().file;
        let path = self.source.files[file].path.clone();
        let module = self.source.add_module(Some(self.module), Some(&name), path);
        let folder = self.folder.join(&name);
        let mut reader = Reader {
            source: self.source,
            module,
            path_folder: folder.clone(),
            folder,
        };
        for item in items {
            reader.visit_item(item);
        }
    }

    fn import(&mut self, tree: &syn::UseTree, path: &mut Vec<String>, public: bool) {
        let add = |path: Vec<String>, ident: &syn::Ident| Import {
            path,
            line: ident.span().start().line,
            public,
        };
        let (ident, bound) = match tree {
            syn::UseTree::Path(tree) => {
                path.push(name_of(&tree.ident));
                self.import(&tree.tree, path, public);
                path.pop();
                return;
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, path, public);
                }
                return;
            }
            syn::UseTree::Glob(glob) => {
                let line = glob.star_token.spans[0].start().line;
                let path = path.clone();
                self.here().globs.push(Import { path, line, public });
                return;
            }
            syn::UseTree::Name(name) => (&name.ident, None),
            syn::UseTree::Rename(name) => (&name.ident, Some(name_of(&name.rename))),
        };
        let mut whole = path.clone();
        if ident != "self" || whole.is_empty() {
            whole.push(name_of(ident));
        }
        let bound = bound.or_else(|| whole.last().cloned()).unwrap_or_default();
        let import = add(whole, ident);
        self.here().imports.entry(bound).or_default().push(import);
    }

    /// Paths among tokens that have no syntax yet: `$crate::a::B`, `super::{c, d::E}`.
    fn tokens(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            match &trees[at] {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident) if begins_a_path(&trees[..at], ident) => {
                    at = self.path_among(&trees, at, &[]);
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// The path that begins at `trees[at]`, with `prefix` before it; returns the place of what follows.
    fn path_among(&mut self, trees: &[TokenTree], mut at: usize, prefix: &[String]) -> usize {
        let mut path = prefix.to_vec();
        let line = trees[at].span().start().line;
        while let Some(TokenTree::Ident(ident)) = trees.get(at) {
            path.push(name_of(ident));
            at += 1;
            if !is_separator(trees, at) {
                break;
            }
            match trees.get(at + 2) {
                Some(TokenTree::Ident(_)) => at += 2,
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    self.group_among(group.stream(), &path);
                    return at + 3;
                }
                _ => {
                    at += 2;
                    break;
                }
            }
        }
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        let calls_macro = is_punct(trees.get(at), '!') && !is_punct(trees.get(at + 1), '=');
        self.mention(path, line, calls_macro);
        at
    }

    /// The braces of a `use` line among tokens.
    fn group_among(&mut self, tokens: TokenStream, prefix: &[String]) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            match &trees[at] {
                TokenTree::Ident(ident) if ident == "as" => at += 2,
                TokenTree::Ident(_) => at = self.path_among(&trees, at, prefix),
                TokenTree::Punct(star) if star.as_char() == '*' => {
                    self.mention(prefix.to_vec(), star.span().start().line, false);
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_test_only(item) {
            match item {
                syn::Item::Mod(item) if item.content.is_none() => self.test_module_file(item),
                _ => {}
            }
            return;
        }
        match item {
            syn::Item::Const(item) => self.define(&item.ident),
            syn::Item::Enum(item) => self.define(&item.ident),
            syn::Item::Fn(item) => self.define(&item.sig.ident),
            syn::Item::Static(item) => self.define(&item.ident),
            syn::Item::Struct(item) => self.define(&item.ident),
            syn::Item::Trait(item) => self.define(&item.ident),
            syn::Item::TraitAlias(item) => self.define(&item.ident),
            syn::Item::Type(item) => self.define(&item.ident),
            syn::Item::Union(item) => self.define(&item.ident),
            syn::Item::Macro(item) => {
                if let Some(ident) = &item.ident {
                    let (name, file) = (name_of(ident), self.here().file);
                    if item.attrs.iter().any(|a| a.path().is_ident("macro_export")) {
                        self.source.exported_macros.insert(name.clone(), file);
                    }
                    self.here().macros.insert(name);
                }
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        item.attrs.iter().for_each(|a| self.visit_attribute(a));
        match &item.content {
            Some((_, items)) => self.inline_module(item, items),
            None => self.module_file(item),
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            let public = !matches!(item.vis, syn::Visibility::Inherited);
            self.import(&item.tree, &mut Vec::new(), public);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|segment| name_of(&segment.ident));
            let line = path.segments[0].ident.span().start().line;
            self.mention(segments.collect(), line, false);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.visit_path(&called.path);
        if let Some(last) = self.here().mentions.last_mut() {
            last.calls_macro = true;
        }
        self.tokens(called.tokens.clone());
    }

    /// `#[arg(value_parser = crate::a::b)]` and `#[serde(with = "crate::a")]` are imports too; links in documentation are not.
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let written = match &attribute.meta {
            syn::Meta::List(list) => list.tokens.clone(),
            syn::Meta::NameValue(pair)
                if !["doc", "path"].iter().any(|n| pair.path.is_ident(n)) =>
            {
                pair.value.to_token_stream()
            }
            _ => return,
        };
        for path in quoted_paths(written.clone()) {
            self.visit_path(&path);
        }
        self.tokens(written);
    }

    /// `pub(super)` and `pub(in crate::a)` import nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        if !is_test_only(item) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast syn::TraitItem) {
        if !is_test_only(item) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast syn::Stmt) {
        if !is_test_only(statement) {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !is_test_only(field) {
            visit::visit_field(self, field);
        }
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if !is_test_only(field) {
            visit::visit_field_value(self, field);
        }
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        if !is_test_only(variant) {
            visit::visit_variant(self, variant);
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !is_test_only(arm) {
            visit::visit_arm(self, arm);
        }
    }
}

/// `r#type` is called `type`.
fn name_of(ident: &syn::Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}

/// `a/b/../c` as `a/c`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

/// Whether a node begins with a `#[cfg(…)]` that only tests meet.
fn is_test_only(node: &impl ToTokens) -> bool {
    let mut tokens = node.to_token_stream().into_iter();
    while let Some(TokenTree::Punct(punct)) = tokens.next()
        && punct.as_char() == '#'
        && let Some(TokenTree::Group(group)) = tokens.next()
    {
        if let Ok(meta) = syn::parse2::<syn::Meta>(group.stream())
            && wants_tests(&meta)
        {
            return true;
        }
    }
    false
}

fn is_for_tests(attribute: &syn::Attribute) -> bool {
    wants_tests(&attribute.meta)
}

/// Whether a `cfg` needs `test` or `doctest`.
fn wants_tests(meta: &syn::Meta) -> bool {
    fn predicate(meta: &syn::Meta) -> bool {
        let syn::Meta::List(list) = meta else {
            return meta.path().is_ident("test") || meta.path().is_ident("doctest");
        };
        let comma = syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
        let parts = list.parse_args_with(comma).unwrap_or_default();
        match list.path.is_ident("any") {
            true => parts.iter().all(predicate),
            false => list.path.is_ident("all") && parts.iter().any(predicate),
        }
    }
    match meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            list.parse_args().is_ok_and(|meta| predicate(&meta))
        }
        _ => false,
    }
}

/// The file that `#[path = "…"]` names.
fn path_attribute(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    let syn::Expr::Lit(literal) = &pair.value else {
        return None;
    };
    match &literal.lit {
        syn::Lit::Str(path) if pair.path.is_ident("path") => Some(path.value()),
        _ => None,
    }
}

/// The strings in an attribute that are paths.
fn quoted_paths(tokens: TokenStream) -> Vec<syn::Path> {
    tokens
        .into_iter()
        .flat_map(|tree| match tree {
            TokenTree::Literal(literal) => syn::parse2::<syn::LitStr>(literal.into_token_stream())
                .and_then(|string| string.parse::<syn::Path>())
                .into_iter()
                .collect(),
            TokenTree::Group(group) => quoted_paths(group.stream()),
            _ => Vec::new(),
        })
        .collect()
}

/// Whether `ident` after `before` can begin a path: not a field, a lifetime, a variable of a macro, or the rest of a path.
fn begins_a_path(before: &[TokenTree], ident: &syn::Ident) -> bool {
    let back = |count: usize| before.len().checked_sub(count).map(|at| &before[at]);
    let is = |count: usize, sign: char| is_punct(back(count), sign);
    let field = is(1, '.') && !is(2, '.');
    let variable = is(1, '$') && ident != "crate";
    let rest = is(1, ':') && is(2, ':');
    !field && !variable && !rest && !is(1, '\'')
}

fn is_punct(tree: Option<&TokenTree>, sign: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

fn is_separator(trees: &[TokenTree], at: usize) -> bool {
    is_punct(trees.get(at), ':') && is_punct(trees.get(at + 1), ':')
}
