//! Prints who imports whom, crate by crate, and what breaks a rule. Fails if anything does.

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
