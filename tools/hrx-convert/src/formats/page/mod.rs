//! `-o report.html`: a single page that opens from disk in any browser, without a network or other files.
//!
//! The page is our own HTML, style and script, and two islands of data: the document of the summary and the layout of the timeline, as JSON; and the
//! timeline's regions as packed columns (see [`mod@pack`]), gzipped, in base64.
//!
//! Text from a capture is never markup. The script puts it on the page only as text. The JSON island contains no `<`, so nothing ends it
//! early. And the page's own policy lets the browser run only the script whose hash it names, and fetch nothing.
//!
//! Memory is bounded. Captures are read one after another, and the tables of each are written at its end. The timeline has the newest [`REGIONS_MAX`]
//! regions, or fewer if they have too many labels or would exceed [`PACKED_BYTES_MAX`]; the page says so. The tables cover all regions.

mod columns;
mod difference;
mod island;
mod newest;
mod pack;
mod region;
mod rows;
mod template;

use std::io::{self, BufReader, BufWriter, Seek, Write};

use base64::prelude::BASE64_STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use hrx_trace_reader::{Event, OpenRegion};
use serde::Serialize;

use crate::figures::digest::around_captures;
use crate::figures::digest_builder::DigestBuilder;
use crate::figures::exact::Exact;
pub use crate::formats::page::difference::write_difference;
use crate::formats::page::island::IslandJson;
use crate::formats::page::newest::Newest;
use crate::formats::page::pack::{TimelineLayout, pack};
use crate::formats::page::region::TimelineRegion;
use crate::formats::page::template::Template;
use crate::input::captures::{Capture, Captures};
use crate::input::format::Format;
use crate::input::outcome::Outcome;
use crate::output::scratch::ScratchFile;

/// Regions on the timeline, at most.
const REGIONS_MAX: usize = 1_500_000;
/// The size of the timeline's regions, gzipped: 28 MB in base64.
const PACKED_BYTES_MAX: u64 = 21_000_000;

const PAGE: Template = Template {
    html: include_str!("page.html"),
    scripts: &[
        include_str!("words.js"),
        include_str!("data.js"),
        include_str!("labels.js"),
        include_str!("search.js"),
        include_str!("view.js"),
        include_str!("drawing.js"),
        include_str!("timeline.js"),
        include_str!("rates.js"),
        include_str!("charts.js"),
        include_str!("tables.js"),
        include_str!("range.js"),
        include_str!("link.js"),
        include_str!("paper.js"),
        include_str!("page.js"),
    ],
};

/// The timeline, except its regions.
#[derive(Serialize)]
struct Timeline<'captures> {
    /// Regions that are too old to be on it.
    left_out: Exact,
    #[serde(flatten)]
    layout: TimelineLayout<'captures>,
}

/// Writes captures as a page.
pub struct HtmlPage<Sink> {
    sink: Sink,
    digests: DigestBuilder,
    newest: Newest,
    /// The regions that were still running.
    open: Vec<TimelineRegion>,
    /// The number of completed regions.
    completed: u64,
}

impl<Sink: Write> HtmlPage<Sink> {
    pub fn new(sink: Sink) -> Self {
        Self {
            sink,
            digests: DigestBuilder::default(),
            newest: Newest::new(REGIONS_MAX),
            open: Vec::new(),
            completed: 0,
        }
    }
}

impl<Sink: Write> Format for HtmlPage<Sink> {
    const ONE_BY_ONE: bool = true;

    #[inline]
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        self.completed += 1;
        self.newest.push(TimelineRegion {
            capture: capture.index as u32,
            event: *event,
            unfinished: false,
        })?;
        self.digests.event(event)
    }

    fn ended(&mut self, capture: &Capture, outcome: &Outcome) -> io::Result<()> {
        let report = &outcome.report;
        // They extend to the last known moment.
        self.open
            .extend(report.open_regions.iter().map(|open| TimelineRegion {
                capture: capture.index as u32,
                event: as_event(open, report.last_ns),
                unfinished: true,
            }));
        let digest = self.digests.digest(capture, outcome, true)?;
        if capture.index == 0 {
            let (before, _) = around_captures(false)?;
            PAGE.begin(&mut self.sink)?;
            write!(self.sink, "{{\"document\":{before}")?;
        } else {
            self.sink.write_all(b",")?;
        }
        serde_json::to_writer(IslandJson(&mut self.sink), &digest)?;
        Ok(())
    }

    fn finish(mut self, captures: &Captures, outcomes: &mut [Outcome]) -> io::Result<()> {
        let (layout, mut packed) = packed(self.newest, &self.open, captures)?;
        for (outcome, lanes) in outcomes.iter_mut().zip(&layout.other_lanes) {
            outcome.other_lanes = *lanes;
        }
        let shown = layout.count - self.open.len();
        let timeline = Timeline {
            left_out: Exact(self.completed - shown as u64),
            layout,
        };
        let sink = &mut self.sink;
        let (_, after) = around_captures(false)?;
        write!(sink, "{after},\"timeline\":")?;
        serde_json::to_writer(IslandJson(sink), &timeline)?;
        sink.write_all(b"}")?;
        PAGE.end(sink, |sink| {
            let mut encoder = EncoderWriter::new(sink, &BASE64_STANDARD);
            io::copy(&mut packed, &mut encoder)?;
            encoder.finish().map(drop)
        })?;
        sink.flush()
    }
}

/// Packs the open regions, and as many of the newest as there is room for.
fn packed<'captures>(
    mut newest: Newest,
    open: &[TimelineRegion],
    captures: &'captures Captures,
) -> io::Result<(TimelineLayout<'captures>, BufReader<ScratchFile>)> {
    let mut wanted = REGIONS_MAX;
    loop {
        let count = newest.keep(wanted)?;
        let file = BufWriter::new(ScratchFile::new()?);
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
    let mut event = Event::default();
    event.start_ns = open.start_ns;
    event.duration_ns = last_ns.saturating_sub(open.start_ns);
    event.copied_bytes = open.copied_bytes;
    event.correlation_id = open.correlation_id;
    event.lane = open.lane;
    event.label_id = open.label_id;
    event.thread_id = open.thread_id;
    event.saturated = open.saturated;
    event
}
