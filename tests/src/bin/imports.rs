//! Prints the import graph, crate by crate, and every violation of a rule. Fails if there is one.

use std::path::Path;
use std::process::ExitCode;

use hrx_trace_tests::imports::Workspace;

fn main() -> ExitCode {
    let workspace = Workspace::read(Path::new(env!("CARGO_MANIFEST_DIR")));
    print!("{}", workspace.picture());
    match workspace.violations().is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
