//! Pages as HTML with places to fill: the policy, the style, the script and the islands of data.
//!
//! The places are filled in the order in which they stand, each once. What is put into one is never searched for another.

use std::io::{self, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

const STYLE: &str = include_str!("page.css");
const JSON: &str = "{{json}}";
const PACKED: &str = "{{packed}}";

/// A page of our own.
pub struct Template {
    pub html: &'static str,
    pub scripts: &'static [&'static str],
}

impl Template {
    /// Writes the page up to its JSON.
    pub fn begin(&self, sink: &mut impl Write) -> io::Result<()> {
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
            hash(&self.script()),
            hash(STYLE)
        );
        let mut page = self.html;
        for (place, content) in [
            ("{{policy}}", policy.as_str()),
            ("{{style}}", STYLE),
            (JSON, ""),
        ] {
            page = fill(sink, page, place)?;
            sink.write_all(content.as_bytes())?;
        }
        Ok(())
    }

    /// Writes the page after its JSON. `packed` writes the packed island, if the page has one.
    pub fn end<Sink: Write>(
        &self,
        sink: &mut Sink,
        packed: impl FnOnce(&mut Sink) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut page = self.html.split_once(JSON).map_or("", |(_, after)| after);
        if page.contains(PACKED) {
            page = fill(sink, page, PACKED)?;
            packed(sink)?;
        }
        page = fill(sink, page, "{{script}}")?;
        sink.write_all(self.script().as_bytes())?;
        sink.write_all(page.as_bytes())
    }

    fn script(&self) -> String {
        let scripts = self.scripts.join("\n");
        format!("'use strict';\n(() => {{\n{scripts}}})();\n")
    }
}

/// Writes the part before a place and returns the part after it.
fn fill<'page>(sink: &mut impl Write, page: &'page str, place: &str) -> io::Result<&'page str> {
    let (before, after) = page.split_once(place).unwrap_or((page, ""));
    sink.write_all(before.as_bytes())?;
    Ok(after)
}

/// The hash by which a policy names a script or a style.
fn hash(content: &str) -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(content.as_bytes()));
    format!("sha256-{hash}")
}
