//! Output: files that appear only when they are whole, compression, the terminal, progress, and signals that end the command.
//!
//! May use no other wing. Within it, from the bottom up: `console`, `progress`, `signals` and `options`; `temporary` and `gzip`; `encoder`;
//! `background`; `file`.

pub mod background;
pub mod console;
pub mod encoder;
pub mod file;
pub mod gzip;
pub mod options;
pub mod progress;
pub mod signals;
pub mod temporary;
