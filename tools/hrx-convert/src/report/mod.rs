//! `-o report.html`: one page that opens from disk in any browser, without a network and without anything beside it.
//!
//! The page is our own HTML, style and script, and two islands of data: the [`Document`] of the summary
//! with what the timeline needs to be read, as JSON, and the timeline's events, as packed columns (see [`mod@pack`]), gzipped, in base64.
//!
//! What a capture says is never markup. The script puts it on the page as text and nothing else; the JSON island holds no `<`, so nothing
//! ends it early; and the page's own policy lets the browser run the one script whose hash it names, and fetch nothing at all.
//!
//! Memory is bounded: the timeline has the newest [`REGIONS_MAX`] regions, and fewer if the file would exceed [`PACKED_BYTES_MAX`];
//! the page says so. The tables are of all.

mod pack;

use std::collections::VecDeque;
use std::io::{self, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use hrx_trace_reader::{Event, OpenRegion};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::captures::{Capture, Captures};
use crate::digest::{Document, Gather};
use crate::facts::Exact;
use crate::format::{Outcome, Writer};
use crate::report::pack::{Layout, pack};

/// Regions on the timeline.
const REGIONS_MAX: usize = 1_500_000;
/// Of the timeline's regions, gzipped: 28 MB in base64.
const PACKED_BYTES_MAX: usize = 21_000_000;

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

/// A region on the timeline.
#[derive(Clone, Copy, Debug)]
struct Region {
    capture: u32,
    event: Event,
    unfinished: bool,
}

/// What the page's script is given.
#[derive(Serialize)]
struct Island<'page> {
    document: &'page Document<'page>,
    timeline: Timeline,
}

/// What the timeline shows, and how to unpack it.
#[derive(Serialize)]
struct Timeline {
    /// Regions that are not on it, being older than those that are.
    left_out: Exact,
    #[serde(flatten)]
    layout: Layout,
}

/// Writes the page.
pub struct Page<Sink> {
    sink: Sink,
    gather: Gather,
    newest: VecDeque<Region>,
    seen: u64,
}

impl<Sink: Write> Page<Sink> {
    pub fn new(captures: &Captures, sink: Sink) -> Self {
        Self {
            sink,
            gather: Gather::new(captures),
            newest: VecDeque::new(),
            seen: 0,
        }
    }
}

impl<Sink: Write> Writer for Page<Sink> {
    #[inline]
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        self.seen += 1;
        if self.newest.len() == REGIONS_MAX {
            self.newest.pop_front();
        }
        self.newest.push_back(Region {
            capture: capture.index as u32,
            event: *event,
            unfinished: false,
        });
        self.gather.event(capture, event)
    }

    fn finish(mut self, captures: &Captures, outcomes: &[Outcome]) -> io::Result<()> {
        let document = self.gather.finish(captures, outcomes, true)?;
        let (layout, packed) = packed(self.newest, captures, outcomes)?;
        let completed = layout.count - open_regions(outcomes).count();
        let island = Island {
            document: &document,
            timeline: Timeline {
                left_out: Exact(self.seen - completed as u64),
                layout,
            },
        };
        let json = serde_json::to_string(&island)?;
        let packed = BASE64_STANDARD.encode(packed);
        fill(&mut self.sink, HTML, &SCRIPTS, &json, &packed)?;
        self.sink.flush()
    }
}

/// As many of the newest regions as there is room for, and whatever was running.
fn packed(
    mut newest: VecDeque<Region>,
    captures: &Captures,
    outcomes: &[Outcome],
) -> io::Result<(Layout, Vec<u8>)> {
    loop {
        let open = open_regions(outcomes);
        let (layout, columns) = pack(newest.iter().copied().chain(open).collect(), captures);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&columns)?;
        let packed = gzip.finish()?;
        if packed.len() <= PACKED_BYTES_MAX {
            return Ok((layout, packed));
        }
        let fit = newest.len() as f64 * PACKED_BYTES_MAX as f64 / packed.len() as f64 * 0.95;
        newest.drain(..newest.len() - fit as usize);
    }
}

/// What was running, as regions that reach to the last moment known.
fn open_regions(outcomes: &[Outcome]) -> impl Iterator<Item = Region> {
    (0..).zip(outcomes).flat_map(|(capture, outcome)| {
        let report = &outcome.report;
        report.open_regions.iter().map(move |open| Region {
            capture,
            event: as_event(open, report.last_ns),
            unfinished: true,
        })
    })
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

/// The page of `--diff`. `json` is a [`crate::diff`] document.
pub fn write_difference(sink: &mut impl Write, json: &str) -> io::Result<()> {
    fill(sink, DIFFERENCE_HTML, &DIFFERENCE_SCRIPTS, json, "")
}

/// Fills the page's places, each once, in their order: what is put into one is not looked at again.
fn fill(
    sink: &mut impl Write,
    mut page: &str,
    scripts: &[&str],
    json: &str,
    packed: &str,
) -> io::Result<()> {
    let script = format!("'use strict';\n(() => {{\n{}}})();\n", scripts.join("\n"));
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(STYLE)
    );
    // JSON has `<` only inside strings.
    let json = json.replace('<', "\\u003c");
    for (place, content) in [
        ("{{policy}}", policy.as_str()),
        ("{{style}}", STYLE),
        ("{{json}}", &json),
        ("{{packed}}", packed),
        ("{{script}}", &script),
    ] {
        if let Some((before, behind)) = page.split_once(place) {
            sink.write_all(before.as_bytes())?;
            sink.write_all(content.as_bytes())?;
            page = behind;
        }
    }
    sink.write_all(page.as_bytes())
}

/// As a policy names a script or a style.
fn hash(content: &str) -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(content.as_bytes()));
    format!("sha256-{hash}")
}
