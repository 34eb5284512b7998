//! Imports run one way: in this workspace, and in small crates made here that break each rule once.
//!
//! `cargo run -p hrx-trace-tests --bin imports` prints the graph that is judged here.

use std::fs;
use std::path::Path;

use hrx_trace_tests::imports::{Target, Workspace};
use tempfile::TempDir;

#[test]
fn the_workspace_keeps_its_rules() {
    let workspace = Workspace::read(Path::new(env!("CARGO_MANIFEST_DIR")));
    let convert = workspace
        .targets
        .iter()
        .find(|target| target.name == "hrx-convert");
    assert!(convert.is_some_and(|target| target.edge_count() > target.file_count()));
    let violations = workspace.violations();
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

/// Writes each file below a new folder.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

fn read(files: &[(&str, &str)], order: &[&str]) -> Target {
    let folder = folder(files);
    Target::read("it", &folder.path().join("lib.rs"), folder.path(), order)
}

/// What breaks a rule in a crate of these files, lib.rs its root.
fn violations(files: &[(&str, &str)]) -> Vec<String> {
    read(files, &[]).violations()
}

const A_AND_B: (&str, &str) = ("lib.rs", "mod a; mod b;");
/// a.rs uses b.rs; whatever b.rs takes from a.rs closes the circle.
const A_USES_B: (&str, &str) = ("a.rs", "use crate::b::B;\npub struct A;\npub fn run() {}");

fn circle_of_a_and_b(b: &str, line: usize) {
    let found = violations(&[A_AND_B, A_USES_B, ("b.rs", b)]);
    let expected = format!(
        "it: files that import each other\n    a.rs:1 imports b.rs\n    b.rs:{line} imports a.rs"
    );
    assert_eq!(found, [expected], "b.rs is {b:?}");
}

fn no_circle_of_a_and_b(b: &str) {
    let found = violations(&[A_AND_B, A_USES_B, ("b.rs", b)]);
    assert_eq!(found, [""; 0], "b.rs is {b:?}");
}

#[test]
fn two_files_that_import_each_other_are_reported() {
    circle_of_a_and_b("pub struct B;\nuse crate::a::A;", 2);
    circle_of_a_and_b("pub struct B;\nuse super::a::A;", 2);
    circle_of_a_and_b("pub struct B;\nuse super::a::A as Other;", 2);
    circle_of_a_and_b("pub struct B;\nuse crate::a;", 2);
    circle_of_a_and_b("pub struct B;\nuse crate::a::*;", 2);
    circle_of_a_and_b("pub struct B;\npub use crate::a::A;", 2);
    circle_of_a_and_b("pub struct B;\nuse self::super::a::A;", 2);
}

#[test]
fn nested_braces_are_followed() {
    circle_of_a_and_b("pub struct B;\nuse crate::{\n  a::{self, A},\n};", 3);
    circle_of_a_and_b("pub struct B;\nuse {std::io, super::{\na::{A as C}}};", 3);
    circle_of_a_and_b("pub struct B;\nuse crate::{b::B as C,\na};", 3);
}

#[test]
fn paths_in_code_are_imports() {
    circle_of_a_and_b("pub struct B;\nfn f() { crate::a::run() }", 2);
    circle_of_a_and_b("pub struct B;\nfn f(_: super::a::A) {}", 2);
    circle_of_a_and_b("pub struct B;\nimpl Drop for super::a::A { }", 2);
    circle_of_a_and_b(
        "pub struct B;\nfn f() -> Vec<Option<crate::a::A>> { g() }",
        2,
    );
    circle_of_a_and_b("pub struct B;\nfn f() { <B as crate::a::Trait>::g() }", 2);
    circle_of_a_and_b("pub struct B;\nfn f() { {\nuse crate::a::run; run() } }", 3);
    circle_of_a_and_b("pub struct B;\nfn f() { let a = crate::a::A; }", 2);
    circle_of_a_and_b(
        "pub struct B;\nfn f() { match x { crate::a::A::Variant => {} } }",
        2,
    );
    circle_of_a_and_b("use super::a as other;\npub struct B;", 1);
}

#[test]
fn an_import_counts_once_however_often_its_name_is_used() {
    circle_of_a_and_b("pub struct B;\nuse crate::a::A;\nfn f() { A::new(); A }", 2);
}

#[test]
fn an_exported_macro_is_of_the_file_that_defines_it() {
    let a = "use crate::b::B;\n#[macro_export] macro_rules! m { () => {} }";
    let b = "pub struct B;\nfn f() { crate::m!() }";
    let found = violations(&[A_AND_B, ("a.rs", a), ("b.rs", b)]);
    let expected = "it: files that import each other
    a.rs:1 imports b.rs
    b.rs:2 imports a.rs";
    assert_eq!(found, [expected]);
}

#[test]
fn a_function_is_not_taken_for_the_module_of_its_name() {
    let lib = "mod a; mod b;\npub fn a() {}";
    let found = violations(&[
        ("lib.rs", lib),
        A_USES_B,
        ("b.rs", "pub struct B;\nfn f() { crate::a() }"),
    ]);
    assert_eq!(
        found,
        ["b.rs:2 imports lib.rs: upward, to the module that holds it"]
    );
}

#[test]
fn paths_in_macros_are_imports() {
    circle_of_a_and_b(
        "pub struct B;\nfn f() { println!(\"{}\",\ncrate::a::run()) }",
        3,
    );
    circle_of_a_and_b("pub struct B;\nfn f() { vec![(1, [super::a::A; 2])] }", 2);
    circle_of_a_and_b(
        "macro_rules! m { () => {\n$crate::a::run() } }\npub struct B;",
        2,
    );
    circle_of_a_and_b(
        "thread_local! {\nstatic X: crate::a::A = y; }\npub struct B;",
        2,
    );
    circle_of_a_and_b(
        "macro_rules! m { ($x:expr) => {\nuse crate::{b::B, a::{A}}; } }\npub struct B;",
        2,
    );
    circle_of_a_and_b("make! { use crate::a::*; }\npub struct B;", 1);
}

#[test]
fn paths_in_attributes_are_imports() {
    circle_of_a_and_b(
        "#[derive(S)]\npub struct B {\n#[serde(with = \"crate::a\")]\nx: u8 }",
        3,
    );
    circle_of_a_and_b(
        "pub struct B {\n#[arg(value_parser = crate::a::run)]\nx: u8 }",
        2,
    );
    circle_of_a_and_b("#[derive(crate::a::Derive)]\npub struct B;", 1);
}

#[test]
fn what_is_no_path_into_the_crate_is_no_import() {
    no_circle_of_a_and_b("/// Of [`crate::a::A`].\npub struct B;");
    no_circle_of_a_and_b("pub struct B { pub(in crate::a) x: u8 }");
    no_circle_of_a_and_b("pub struct B; // crate::a::A\nconst TEXT: &str = \"crate::a::A\";");
    no_circle_of_a_and_b("pub struct B;\nuse a::A;\nfn f() { ::a::run(); x.a(); a() }");
    no_circle_of_a_and_b("pub struct B;\nfn f() { println!(\"{}\", self.a); x!(y.a, 'a, $a) }");
    no_circle_of_a_and_b("pub struct B;\nmod a { pub struct A; }\nuse a::A;\nuse self::a::A as C;");
}

#[test]
fn what_only_tests_compile_is_left_out() {
    no_circle_of_a_and_b("pub struct B;\n#[cfg(test)]\nuse crate::a::A;");
    no_circle_of_a_and_b(
        "pub struct B;\n#[cfg(test)]\nmod tests { use super::*; use crate::a::A; }",
    );
    no_circle_of_a_and_b("pub struct B;\n#[cfg(all(test, unix))]\nfn f() { crate::a::run() }");
    no_circle_of_a_and_b("pub struct B;\nimpl B { #[cfg(test)] fn f() { crate::a::run() } }");
    no_circle_of_a_and_b("pub struct B;\n#[cfg(any(test, doctest))]\nuse crate::a::A;");
    no_circle_of_a_and_b("pub struct B { #[cfg(test)] x: crate::a::A }");
    no_circle_of_a_and_b("pub struct B;\nfn f() { #[cfg(test)] crate::a::run(); }");
    no_circle_of_a_and_b("#![cfg(test)]\npub struct B;\nuse crate::a::A;");
}

#[test]
fn what_tests_and_others_compile_is_not() {
    circle_of_a_and_b("pub struct B;\n#[cfg(not(test))]\nuse crate::a::A;", 3);
    circle_of_a_and_b(
        "pub struct B;\n#[cfg(any(test, unix))]\nuse crate::a::A;",
        3,
    );
    circle_of_a_and_b(
        "pub struct B;\n#[cfg(all(unix, not(test)))]\nuse crate::a::A;",
        3,
    );
    circle_of_a_and_b(
        "pub struct B;\n#[cfg_attr(test, derive(Debug))]\nfn f() { crate::a::run() }",
        3,
    );
}

#[test]
fn super_in_an_inline_module_is_the_file_itself() {
    no_circle_of_a_and_b("pub struct B;\nmod inner { use super::B; fn f(_: super::B) {} }");
    circle_of_a_and_b("pub struct B;\nmod inner { use super::super::a::A; }", 2);
    circle_of_a_and_b(
        "pub struct B;\nmod inner { fn f() {\nsuper::super::a::run() } }",
        3,
    );
}

#[test]
fn a_circle_of_three_is_reported_whole() {
    let found = violations(&[
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::B;"),
        (
            "b.rs",
            "pub struct B;\n\nfn f() { crate::c::f() }\nfn g() { crate::c::f() }",
        ),
        ("c.rs", "pub fn f() {}\nuse super::{a, d};"),
        ("d.rs", ""),
    ]);
    let expected = "it: files that import each other
    a.rs:1 imports b.rs
    b.rs:3 imports c.rs (again on line 4)
    c.rs:2 imports a.rs";
    assert_eq!(found, [expected]);
}

#[test]
fn a_name_that_a_module_above_re_exports_comes_from_where_it_is_defined() {
    // By lib.rs, by name and by glob, and by a folder's mod.rs.
    for [lib, path] in [
        ["pub use a::A;", "crate::A"],
        ["pub(crate) use self::a::A as Renamed;", "crate::Renamed"],
        ["pub use a::*;", "crate::A"],
        ["pub mod deep { pub use super::a::A; }", "crate::deep::A"],
    ] {
        let b = format!("pub struct B;\nuse {path};");
        let lib = format!("mod a; mod b; {lib}");
        let found = violations(&[("lib.rs", &lib), A_USES_B, ("b.rs", &b)]);
        let expected = "it: files that import each other
    a.rs:1 imports b.rs
    b.rs:2 imports a.rs";
        assert_eq!(found, [expected], "{lib}");
    }
}

#[test]
fn a_module_does_not_import_what_it_only_re_exports() {
    let inner = ("f/x.rs", "use crate::f::y::Y;\npub struct X;");
    let other = ("f/y.rs", "pub struct Y;");
    let edges = |text: &str| {
        let files = [("lib.rs", "mod f;"), ("f/mod.rs", text), inner, other];
        read(&files, &[]).edge_count()
    };
    assert_eq!(edges("mod x; mod y;"), 1);
    assert_eq!(edges("mod x; mod y; pub use self::x::X;"), 1);
    assert_eq!(edges("mod x; mod y; pub use x::*;"), 1);
    let no_paths = "f!(s.X, $X, 'X, <u8>::X, std::X)";
    assert_eq!(
        edges(&format!("mod x; mod y; pub use self::x::X; {no_paths};")),
        1
    );
    // Here it uses what it re-exports.
    assert_eq!(edges("mod x; mod y; pub use self::x::X; fn f() -> X {}"), 2);
    assert_eq!(
        edges("mod x; mod y; pub use self::x::*; fn f() { X::new() }"),
        2
    );
    assert_eq!(edges("mod x; mod y; use self::x::X;"), 2);
    assert_eq!(edges("mod x; mod y; fn f() { x::X::new() }"), 2);
}

#[test]
fn an_import_of_the_root_runs_upward() {
    let upward = "b.rs:1 imports lib.rs: upward, to the module that holds it";
    for [lib, b] in [
        ["pub fn print() {}", "fn f() { crate::print() }"],
        ["pub const C: u8 = 0;", "use super::C;"],
        ["macro_rules! m { () => {} }", "fn f() { m!() }"],
        [
            "#[macro_export] macro_rules! m { () => {} }",
            "fn f() { crate::m!() }",
        ],
        // Of another crate: to be taken from there.
        ["pub use std::io;", "use crate::io;"],
        ["use std::io;", "fn f() { super::io::stdout() }"],
        ["bitflags! { pub struct Flags: u8 {} }", "use crate::Flags;"],
        ["pub enum E { V }", "use crate::E::*;"],
    ] {
        let found = violations(&[("lib.rs", &format!("mod b; {lib}")), ("b.rs", b)]);
        assert_eq!(found, [upward], "{lib} {b}");
    }
}

#[test]
fn an_import_of_the_folder_s_own_module_runs_upward() {
    for (file, b) in [
        ("f/mod.rs", "use super::Shared;"),
        ("f.rs", "use super::Shared;"),
        ("f.rs", "use crate::f::Shared;"),
        ("f/mod.rs", "mod inner { use super::super::Shared; }"),
    ] {
        let found = violations(&[
            ("lib.rs", "mod f;"),
            (file, "mod b; pub struct Shared;"),
            ("f/b.rs", b),
        ]);
        let expected = format!("f/b.rs:1 imports {file}: upward, to the module that holds it");
        assert_eq!(found, [expected]);
    }
}

#[test]
fn a_name_borrowed_from_a_private_import_needs_the_file_that_imports_it() {
    let found = violations(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::c::C;\nuse crate::b::B;"),
        ("b.rs", "pub struct B;\nuse crate::a::C;"),
        ("c.rs", "pub struct C;"),
    ]);
    let expected = "it: files that import each other
    a.rs:2 imports b.rs
    b.rs:2 imports a.rs";
    assert_eq!(found, [expected]);
}

#[test]
fn folders_that_import_each_other_are_reported() {
    // No two files do.
    let found = violations(&[
        ("lib.rs", "mod f; mod g;"),
        ("f/mod.rs", "mod x; mod y;"),
        ("f/x.rs", "use crate::g::x::X;"),
        ("f/y.rs", "pub struct Y;"),
        ("g.rs", "mod x; mod y;"),
        ("g/x.rs", "pub struct X;"),
        ("g/y.rs", "\nuse crate::f::y::Y;"),
    ]);
    let expected = "it: folders that import each other
    f/x.rs:1 imports g/x.rs
    g/y.rs:2 imports f/y.rs";
    assert_eq!(found, [expected]);
}

#[test]
fn folders_inside_a_folder_are_held_to_the_same() {
    let found = violations(&[
        ("lib.rs", "mod h;"),
        ("h/mod.rs", "mod f; mod g;"),
        ("h/f/mod.rs", "mod x;"),
        ("h/f/x.rs", "use crate::h::g;"),
        ("h/g.rs", "use super::f;"),
    ]);
    let expected = "it: folders that import each other
    h/f/x.rs:1 imports h/g.rs
    h/g.rs:1 imports h/f/mod.rs";
    assert_eq!(found, [expected]);
}

const WINGS: [(&str, &str); 5] = [
    (
        "lib.rs",
        "mod answers; mod text; mod cli;\nuse cli::Arguments;",
    ),
    (
        "cli.rs",
        "use crate::text::words::wrap;\npub struct Arguments;",
    ),
    ("answers/mod.rs", "pub mod summary;"),
    (
        "answers/summary.rs",
        "use crate::cli::Arguments;\nuse crate::text::words;\npub fn cut() {}",
    ),
    ("text/mod.rs", "pub mod words;"),
];
const ORDER: [&str; 4] = ["lib", "answers", "cli", "text"];

fn with_words(words: &str, order: &[&str]) -> Vec<String> {
    let files = [WINGS.as_slice(), &[("text/words.rs", words)]].concat();
    read(&files, order).violations()
}

#[test]
fn a_wing_imports_only_those_after_it_in_the_order() {
    assert_eq!(with_words("pub fn wrap() {}", &ORDER), [""; 0]);
    let upward = "text/words.rs:2 imports answers/summary.rs: `text` stands below `answers`";
    assert_eq!(
        with_words(
            "pub fn wrap() {}\nuse crate::answers::summary::cut;",
            &ORDER
        ),
        [upward]
    );
    assert_eq!(
        with_words("\nfn f() { super::super::answers::summary::cut() }", &ORDER),
        [upward]
    );
    let mut files = WINGS.to_vec();
    files[1].1 = "pub struct Arguments;\nuse crate::answers::summary::cut;";
    files.push(("text/words.rs", ""));
    let next = "cli.rs:2 imports answers/summary.rs: `cli` stands below `answers`";
    assert_eq!(read(&files, &ORDER).violations(), [next]);
    // It is upward though nothing leads back.
    let reversed = ["text", "lib", "answers", "cli"];
    let found = with_words("pub fn wrap() {}", &reversed);
    let expected = [
        "answers/summary.rs:2 imports text/words.rs: `answers` stands below `text`",
        "cli.rs:1 imports text/words.rs: `cli` stands below `text`",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_re_export_is_no_way_around_the_order() {
    // Passed on by a wing that both may use, the name still comes from answers/.
    let mut files = WINGS.to_vec();
    files[4].1 = "pub mod words;\npub use crate::answers::summary::cut;";
    files.push(("text/words.rs", "pub fn wrap() {}\nuse crate::text::cut;"));
    let found = read(&files, &ORDER).violations();
    let expected = [
        "text/mod.rs:2 imports answers/summary.rs: `text` stands below `answers`",
        "text/words.rs:2 imports answers/summary.rs: `text` stands below `answers`",
    ];
    assert_eq!(found, expected);
    // So it does when lib.rs passes it on.
    let mut files = WINGS.to_vec();
    files[0].1 = "mod answers; mod text; mod cli;\npub use answers::summary::cut;";
    files.push(("text/words.rs", "pub fn wrap() {}\nuse crate::cut;"));
    assert_eq!(read(&files, &ORDER).violations(), [expected[1]]);
}

#[test]
fn the_order_names_every_wing_and_no_other() {
    let found = with_words("pub fn wrap() {}", &["lib", "answers", "text", "output"]);
    let expected = [
        "it: `cli` has no place in the stated order of wings",
        "it: the stated order names `output`, and there is no such wing",
    ];
    assert_eq!(found, expected);
}

#[test]
fn modules_are_found_where_the_path_attribute_and_inline_modules_put_them() {
    let found = violations(&[
        (
            "lib.rs",
            "#[path = \"odd/place.rs\"] mod a; mod inline { pub mod b; #[path = \"c.rs\"] mod d; }",
        ),
        ("odd/place.rs", "use crate::inline::b::B;\nmod beside;"),
        ("odd/beside.rs", ""),
        ("inline/b.rs", "\nuse crate::a::A;"),
        ("inline/c.rs", ""),
    ]);
    let expected = "it: files that import each other
    odd/place.rs:1 imports inline/b.rs
    inline/b.rs:2 imports odd/place.rs";
    assert_eq!(found, [expected]);
}

#[test]
fn a_file_borrowed_from_another_crate_is_judged_there() {
    let folder = folder(&[
        ("src/slot.rs", "use crate::primitive::fence;"),
        (
            "tests/models.rs",
            "#[path = \"../src/slot.rs\"] mod slot;\nmod primitive { pub fn fence() {} }",
        ),
    ]);
    let root = folder.path().join("tests/models.rs");
    let target = Target::read("it", &root, folder.path(), &[]);
    assert_eq!((target.file_count(), target.edge_count()), (2, 1));
    assert_eq!(target.violations(), [""; 0]);
}

#[test]
fn crates_depend_on_lower_floors_only() {
    let manifest = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n{rest}")
    };
    let workspace = |floors: &str| {
        folder(&[
            (
                "Cargo.toml",
                &format!(
                    "[workspace]\nresolver = \"3\"\nmembers = [\"a\", \"b\", \"c\"]\n[workspace.metadata.imports]\nfloors = {floors}"
                ),
            ),
            (
                "a/Cargo.toml",
                &manifest(
                    "a",
                    "[dependencies]\nb.path = \"../b\"\n[dev-dependencies]\nc.path = \"../c\"",
                ),
            ),
            ("a/src/lib.rs", "#[cfg(test)] mod tests;"),
            ("a/src/tests.rs", ""),
            (
                "b/Cargo.toml",
                &manifest(
                    "b",
                    "[target.'cfg(unix)'.dependencies]\nc = { path = \"../c\", optional = true }",
                ),
            ),
            ("b/src/lib.rs", "mod x; mod y;"),
            ("b/src/x.rs", "use crate::y;"),
            ("b/src/y.rs", "use crate::x;"),
            (
                "c/Cargo.toml",
                &manifest("c", "[package.metadata.imports]\nwings = [\"lib\", \"x\"]"),
            ),
            ("c/src/lib.rs", "mod x;"),
            ("c/src/x.rs", ""),
            ("c/src/forgotten.rs", ""),
        ])
    };
    let inside = [
        "c/src/forgotten.rs is part of no crate",
        "b: files that import each other\n    b/src/x.rs:1 imports y.rs\n    b/src/y.rs:1 imports x.rs",
    ];
    for (floors, between) in [
        ("[[\"a\"], [\"b\"], [\"c\"]]", vec![]),
        (
            "[[\"a\", \"b\"], [\"c\"]]",
            vec!["a depends on b, which is not on a floor below it"],
        ),
        (
            "[[\"c\"], [\"b\"], [\"a\"]]",
            vec![
                "a depends on b, which is not on a floor below it",
                "b depends on c, which is not on a floor below it",
            ],
        ),
        (
            "[[\"a\"], [\"b\", \"d\"]]",
            vec![
                "b depends on c, which has no place in the floors of Cargo.toml",
                "c has no place in the floors of Cargo.toml",
                "the floors of Cargo.toml name d, and there is no such crate",
            ],
        ),
    ] {
        let folder = workspace(floors);
        let found = Workspace::read(folder.path()).violations();
        assert_eq!(found, [between.as_slice(), &inside].concat(), "{floors}");
    }
}

#[test]
fn the_picture_shows_each_wing_with_what_it_uses() {
    let files = [
        WINGS.as_slice(),
        &[
            ("text/words.rs", "pub fn wrap() {}"),
            ("text/columns.rs", "use super::words;"),
        ],
    ]
    .concat();
    let mut files = files;
    files[3].1 = "use crate::text::{words, columns};";
    files[4].1 = "pub mod words; pub mod columns;";
    let expected = "\
it (7 files)
  order: lib answers cli text
  lib                cli
  answers/           text
    answers/summary  text/{columns, words}
    answers/mod
  cli                text/words
  text/
    text/columns     text/words
    text/mod
    text/words
";
    assert_eq!(read(&files, &ORDER).picture(), expected);
}

#[test]
fn the_picture_has_100_columns_at_most() {
    let names: Vec<String> = (0..40).map(|number| format!("module_{number}")).collect();
    let mut lib = String::new();
    for name in &names {
        lib += &format!("mod {name}; use {name}::run;");
    }
    let paths: Vec<String> = names.iter().map(|name| format!("{name}.rs")).collect();
    let mut files: Vec<(&str, &str)> = paths
        .iter()
        .map(|path| (path.as_str(), "pub fn run() {}"))
        .collect();
    files.push(("lib.rs", &lib));
    let picture = read(&files, &[]).picture();
    let widest = picture.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100) && widest > Some(85), "{picture}");
    for name in &names {
        assert_eq!(
            picture.matches(&format!(" {name}\n")).count()
                + picture.matches(&format!(" {name} ")).count(),
            2
        );
    }
}
