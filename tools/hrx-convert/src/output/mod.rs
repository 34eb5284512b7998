//! Output: files that appear only when they are whole, compression, the terminal, progress, and signals that end the command.
//!
//! May use no other wing. Within it, from the bottom up: `printable`; `console`, `progress`, `scratch`, `signals` and `options`; `temporary`, `gzip` and `tailed`; `encoder`;
//! `background`; `file`.

pub mod background;
pub mod console;
pub mod encoder;
pub mod file;
pub mod gzip;
pub mod options;
pub mod printable;
pub mod progress;
pub mod scratch;
pub mod signals;
pub mod tailed;
pub mod temporary;
