//! The command. See the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    hrx_run::main()
}
