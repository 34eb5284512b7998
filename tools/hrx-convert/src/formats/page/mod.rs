//! `-o report.html`: one page that opens from disk in any browser, without a network and without anything beside it.
//!
//! The page is our own HTML, style and script, and two islands of data: the document of the summary
//! with what the timeline needs to be read, as JSON, and the timeline's events, as packed columns (see [`mod@pack`]), gzipped, in base64.
//!
//! What a capture says is never markup. The script puts it on the page as text and nothing else; the JSON island holds no `<`, so nothing
//! ends it early; and the page's own policy lets the browser run the one script whose hash it names, and fetch nothing at all.
//!
//! Memory is bounded: one capture after the other is read and its tables are written; the timeline has the newest [`REGIONS_MAX`] regions, and fewer
//! if the file would exceed [`PACKED_BYTES_MAX`] or they are of too many labels; the page says so. The tables are of all.

mod newest;
mod pack;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use hrx_trace_reader::{Event, OpenRegion};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::figures::digest::around_captures;
use crate::figures::digest_builder::DigestBuilder;
use crate::figures::exact::Exact;
use crate::formats::page::newest::{Newest, Region};
use crate::formats::page::pack::{Layout, pack};
use crate::input::captures::{Capture, Captures};
use crate::input::format::Format;
use crate::input::outcome::Outcome;

/// Regions on the timeline.
const REGIONS_MAX: usize = 1_500_000;
/// Of the timeline's regions, gzipped: 28 MB in base64.
const PACKED_BYTES_MAX: u64 = 21_000_000;

const HTML: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 6] = [
    include_str!("words.js"),
    include_str!("data.js"),
    include_str!("timeline.js"),
    include_str!("charts.js"),
    include_str!("tables.js"),
    include_str!("page.js"),
];

const DIFFERENCE_HTML: &str = include_str!("diff.html");
const DIFFERENCE_SCRIPTS: [&str; 3] = [
    include_str!("words.js"),
    include_str!("tables.js"),
    include_str!("diff.js"),
];

/// What the timeline shows, and how to unpack it.
#[derive(Serialize)]
struct Timeline<'captures> {
    /// Regions that are not on it, being older than those that are.
    left_out: Exact,
    #[serde(flatten)]
    layout: Layout<'captures>,
}

/// Writes the page.
pub struct Page<Sink> {
    sink: Sink,
    digests: DigestBuilder,
    newest: Newest,
    /// What was running.
    open: Vec<Region>,
    seen: u64,
}

impl<Sink: Write> Page<Sink> {
    pub fn new(sink: Sink) -> Self {
        Self {
            sink,
            digests: DigestBuilder::default(),
            newest: Newest::new(REGIONS_MAX),
            open: Vec::new(),
            seen: 0,
        }
    }
}

impl<Sink: Write> Format for Page<Sink> {
    const ONE_BY_ONE: bool = true;

    #[inline]
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        self.seen += 1;
        self.newest.push(Region {
            capture: capture.index as u32,
            event: *event,
            unfinished: false,
        })?;
        self.digests.event(event)
    }

    fn ended(&mut self, capture: &Capture, outcome: &Outcome) -> io::Result<()> {
        let report = &outcome.report;
        // They reach to the last moment known.
        self.open
            .extend(report.open_regions.iter().map(|open| Region {
                capture: capture.index as u32,
                event: as_event(open, report.last_ns),
                unfinished: true,
            }));
        let digest = self.digests.digest(capture, outcome, true)?;
        if capture.index == 0 {
            let (before, _) = around_captures(false)?;
            begin(&mut self.sink, HTML, &SCRIPTS)?;
            write!(self.sink, "{{\"document\":{before}")?;
        } else {
            self.sink.write_all(b",")?;
        }
        serde_json::to_writer(Escaped(&mut self.sink), &digest)?;
        Ok(())
    }

    fn finish(mut self, captures: &Captures, _: &[Outcome]) -> io::Result<()> {
        let (layout, mut packed) = packed(self.newest, &self.open, captures)?;
        let completed = layout.count - self.open.len();
        let timeline = Timeline {
            left_out: Exact(self.seen - completed as u64),
            layout,
        };
        let sink = &mut self.sink;
        let (_, behind) = around_captures(false)?;
        write!(sink, "{behind},\"timeline\":")?;
        serde_json::to_writer(Escaped(sink), &timeline)?;
        sink.write_all(b"}")?;
        end(sink, HTML, &SCRIPTS, |sink| {
            let mut encoder = EncoderWriter::new(sink, &BASE64_STANDARD);
            io::copy(&mut packed, &mut encoder)?;
            encoder.finish().map(drop)
        })?;
        sink.flush()
    }
}

/// As many of the newest regions as there is room for, and whatever was running.
fn packed<'captures>(
    mut newest: Newest,
    open: &[Region],
    captures: &'captures Captures,
) -> io::Result<(Layout<'captures>, BufReader<File>)> {
    let mut wanted = REGIONS_MAX;
    loop {
        let count = newest.keep(wanted)?;
        let file = BufWriter::new(tempfile::tempfile()?);
        let mut gzip = GzEncoder::new(file, Compression::default());
        let layout = pack(&newest, open, captures, &mut gzip)?;
        let mut file = gzip.finish()?.into_inner()?;
        let bytes = file.stream_position()?;
        match layout {
            Some(layout) if bytes <= PACKED_BYTES_MAX || count == 0 => {
                file.rewind()?;
                return Ok((layout, BufReader::new(file)));
            }
            Some(_) => {
                wanted = (count as f64 * PACKED_BYTES_MAX as f64 / bytes as f64 * 0.95) as usize
            }
            None => wanted = count / 2,
        }
    }
}

fn as_event(open: &OpenRegion, last_ns: u64) -> Event {
    Event {
        ring: 0,
        sequence: 0,
        start_ns: open.start_ns,
        duration_ns: last_ns.saturating_sub(open.start_ns),
        copied_bytes: open.copied_bytes,
        correlation_id: open.correlation_id,
        lane: open.lane,
        label_id: open.label_id,
        thread_id: open.thread_id,
        status: 0,
        failed: false,
        saturated: open.saturated,
    }
}

/// The page of `--diff`. `json` is a [`crate::answers::diff`] document.
pub fn write_difference(sink: &mut impl Write, json: &str) -> io::Result<()> {
    begin(sink, DIFFERENCE_HTML, &DIFFERENCE_SCRIPTS)?;
    Escaped(&mut *sink).write_all(json.as_bytes())?;
    end(sink, DIFFERENCE_HTML, &DIFFERENCE_SCRIPTS, |_| Ok(()))
}

/// Writes a page up to its JSON. Its places are filled each once, in their order: what is put into one is not looked at again.
fn begin(sink: &mut impl Write, mut page: &str, scripts: &[&str]) -> io::Result<()> {
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(&script(scripts)),
        hash(STYLE)
    );
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

/// Writes the page behind its JSON.
fn end<Sink: Write>(
    sink: &mut Sink,
    page: &str,
    scripts: &[&str],
    packed: impl FnOnce(&mut Sink) -> io::Result<()>,
) -> io::Result<()> {
    let mut page = page.split_once(JSON).map_or("", |(_, behind)| behind);
    if page.contains(PACKED) {
        page = fill(sink, page, PACKED)?;
        packed(sink)?;
    }
    page = fill(sink, page, "{{script}}")?;
    sink.write_all(script(scripts).as_bytes())?;
    sink.write_all(page.as_bytes())
}

const JSON: &str = "{{json}}";
const PACKED: &str = "{{packed}}";

/// Writes what stands before a place; gives what stands behind it.
fn fill<'page>(sink: &mut impl Write, page: &'page str, place: &str) -> io::Result<&'page str> {
    let (before, behind) = page.split_once(place).unwrap_or((page, ""));
    sink.write_all(before.as_bytes())?;
    Ok(behind)
}

fn script(scripts: &[&str]) -> String {
    format!("'use strict';\n(() => {{\n{}}})();\n", scripts.join("\n"))
}

/// JSON that is no markup: it has `<` only inside strings.
struct Escaped<'sink, Sink>(&'sink mut Sink);

impl<Sink: Write> Write for Escaped<'_, Sink> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'<') {
            match part.strip_suffix(b"<") {
                Some(before) => {
                    self.0.write_all(before)?;
                    self.0.write_all(b"\\u003c")?;
                }
                None => self.0.write_all(part)?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// As a policy names a script or a style.
fn hash(content: &str) -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(content.as_bytes()));
    format!("sha256-{hash}")
}
