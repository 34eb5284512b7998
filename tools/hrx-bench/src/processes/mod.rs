//! Work that runs in processes of its own, started here: hrx-convert, the documents it is compared with, the captures for both, callgrind.

pub mod background;
pub mod build;
pub mod callgrind;
pub mod capture;
pub mod command;
pub mod converter;
pub mod documents;
pub mod usage;
