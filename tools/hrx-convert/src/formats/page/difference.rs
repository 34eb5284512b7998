//! The page of `--diff`.

use std::io::{self, Write};

use crate::formats::page::island::IslandJson;
use crate::formats::page::template::Template;

const PAGE: Template = Template {
    html: include_str!("diff.html"),
    scripts: &[
        include_str!("words.js"),
        include_str!("tables.js"),
        include_str!("diff.js"),
    ],
};

/// Writes the page. `json`: the document of `--diff --json`.
pub fn write_difference(mut sink: &mut dyn Write, json: &str) -> io::Result<()> {
    PAGE.begin(&mut sink)?;
    IslandJson(&mut sink).write_all(json.as_bytes())?;
    PAGE.end(&mut sink, |_| Ok(()))
}
