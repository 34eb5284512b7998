//! How a capture is created: exclusively, with its space reserved and its pages present before the first event, or not at all.
//!
//! `environment` finds the place for a capture that was given none, and uses `name`, which names it, and `capture`, which puts a recorder together. That uses
//! `retention`, which removes old captures; `file`, which makes the file; `process`, which says who records; and `random`. `disabled` puts together a recorder on no file.

mod capture;
mod disabled;
mod environment;
mod file;
mod name;
mod process;
mod random;
mod retention;

pub use self::name::expand_path;
pub use self::process::program_name;
pub use self::retention::remove_oldest;
