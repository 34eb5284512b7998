//! `-o report.html`: a single page that opens from disk in any browser, without a network or other files.
//!
//! The page is our own HTML, style and script, and two islands of data: the document of the summary and the layout of the timeline, as JSON; and the
//! timeline's events as packed columns (see [`mod@pack`]), gzipped, in base64.
//!
//! Text from a capture is never markup. The script puts it on the page only as text. The JSON island contains no `<`, so nothing ends it
//! early. And the page's own policy lets the browser run only the script whose hash it names, and fetch nothing.
//!
//! Memory is bounded. Captures are read one after another, and the tables of each are written at its end. The timeline has the newest [`REGIONS_MAX`]
//! regions, [`MARKS_MAX`] marks and [`VALUES_MAX`] samples of values, or fewer if they have too many labels or would exceed [`PACKED_BYTES_MAX`]; the page
//! says so. The tables cover all of them.

mod arguments;
mod columns;
mod difference;
mod event;
mod island;
mod newest;
mod pack;
mod rows;
mod template;
mod thread_names;

use std::io::{self, BufReader, BufWriter, Seek, Write};

use base64::prelude::BASE64_STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use hrx_trace_reader::{Event, Kind, OpenRegion};
use serde::Serialize;

use crate::figures::arguments::Keys;
use crate::figures::digest::around_captures;
use crate::figures::digest_builder::DigestBuilder;
use crate::figures::exact::Exact;
use crate::formats::page::arguments::ArgumentTexts;
pub use crate::formats::page::difference::write_difference;
use crate::formats::page::event::TimelineEvent;
use crate::formats::page::island::IslandJson;
use crate::formats::page::newest::Newest;
use crate::formats::page::pack::{Kept, TimelineLayout, pack};
use crate::formats::page::template::Template;
use crate::formats::page::thread_names::ThreadNames;
use crate::input::captures::{Capture, Captures};
use crate::input::format::Format;
use crate::input::outcome::Outcome;
use crate::output::scratch::ScratchFile;

/// Regions on the timeline, at most.
const REGIONS_MAX: usize = 1_500_000;
/// Marks on the timeline, at most.
const MARKS_MAX: usize = 200_000;
/// Samples of values on the timeline, at most.
const VALUES_MAX: usize = 500_000;
/// The size of the timeline's events, gzipped: 28 MB in base64.
const PACKED_BYTES_MAX: u64 = 21_000_000;

const PAGE: Template = Template {
    html: include_str!("page.html"),
    scripts: &[
        include_str!("words.js"),
        include_str!("data.js"),
        include_str!("labels.js"),
        include_str!("moments.js"),
        include_str!("search.js"),
        include_str!("view.js"),
        include_str!("drawing.js"),
        include_str!("timeline.js"),
        include_str!("rates.js"),
        include_str!("values.js"),
        include_str!("charts.js"),
        include_str!("tables.js"),
        include_str!("running.js"),
        include_str!("range.js"),
        include_str!("link.js"),
        include_str!("paper.js"),
        include_str!("page.js"),
    ],
};

/// The timeline, except its events.
#[derive(Serialize)]
struct Timeline<'page> {
    /// Regions that are too old to be on it.
    left_out: Exact,
    #[serde(skip_serializing_if = "Exact::is_zero")]
    marks_left_out: Exact,
    #[serde(skip_serializing_if = "Exact::is_zero")]
    values_left_out: Exact,
    #[serde(flatten)]
    layout: TimelineLayout<'page>,
}

/// Writes captures as a page.
pub struct HtmlPage<Sink> {
    sink: Sink,
    digests: DigestBuilder,
    regions: Counted,
    marks: Counted,
    values: Counted,
    /// The regions that were still running.
    open: Vec<TimelineEvent>,
    arguments: ArgumentTexts,
    /// Of the current capture.
    keys: Keys,
    thread_names: ThreadNames,
}

/// The newest events of a kind, and how many there were.
struct Counted {
    newest: Newest,
    count: u64,
}

impl Counted {
    fn new(wanted: usize) -> Self {
        Self {
            newest: Newest::new(wanted),
            count: 0,
        }
    }

    /// How many are not on a timeline that has `shown`.
    fn left_out(&self, shown: usize) -> Exact {
        Exact(self.count - shown as u64)
    }
}

impl<Sink: Write> HtmlPage<Sink> {
    pub fn new(sink: Sink) -> Self {
        Self {
            sink,
            digests: DigestBuilder::default(),
            regions: Counted::new(REGIONS_MAX),
            marks: Counted::new(MARKS_MAX),
            values: Counted::new(VALUES_MAX),
            open: Vec::new(),
            arguments: ArgumentTexts::default(),
            keys: Keys::default(),
            thread_names: ThreadNames::default(),
        }
    }

    /// Keeps an event for the timeline.
    fn keep(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        let kept = match event.kind {
            Kind::Region => &mut self.regions,
            Kind::Mark => &mut self.marks,
            _ => &mut self.values,
        };
        kept.count += 1;
        if !kept.newest.admits(event.end_ns()) {
            return Ok(());
        }
        let trace = &capture.trace;
        let (arguments, lost) = (event.arguments.as_slice(), event.arguments_lost);
        let arguments = self.arguments.put(trace, &mut self.keys, arguments, lost)?;
        kept.newest.push(TimelineEvent {
            capture: capture.index as u32,
            event: without_arguments(event),
            unfinished: false,
            waiting: false,
            thread_name: self
                .thread_names
                .place(capture, event.thread_id, event.end_ns()),
            arguments,
        })
    }
}

impl<Sink: Write> Format for HtmlPage<Sink> {
    const ONE_BY_ONE: bool = true;

    #[inline]
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        self.keep(capture, event)?;
        self.digests.event(event)
    }

    fn moment(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        self.keep(capture, event)?;
        self.digests.moment(event);
        Ok(())
    }

    fn ended(&mut self, capture: &Capture, outcome: &Outcome) -> io::Result<()> {
        let report = &outcome.report;
        for open in &report.open_regions {
            let (arguments, lost) = (open.arguments.as_slice(), open.arguments_lost);
            let arguments = self
                .arguments
                .put(&capture.trace, &mut self.keys, arguments, lost)?;
            self.open.push(TimelineEvent {
                capture: capture.index as u32,
                // They extend to the last sign of life.
                event: as_event(open, report.last_ns),
                unfinished: true,
                waiting: open.waiting,
                thread_name: self
                    .thread_names
                    .place(capture, open.thread_id, open.start_ns),
                arguments,
            });
        }
        self.keys = Keys::default();
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
        let (layout, mut packed) = packed(
            [&mut self.regions, &mut self.marks, &mut self.values].map(|of| &mut of.newest),
            &self.open,
            &mut self.arguments,
            self.thread_names.all(),
            captures,
        )?;
        for (outcome, lanes) in outcomes.iter_mut().zip(&layout.other_lanes) {
            outcome.other_lanes = *lanes;
        }
        let shown = layout.regions.count - self.open.len();
        let timeline = Timeline {
            left_out: self.regions.left_out(shown),
            marks_left_out: self.marks.left_out(layout.marks.count),
            values_left_out: self.values.left_out(layout.values.count),
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

/// Packs the open regions, and as many of the newest events of each kind as there is room for.
fn packed<'page>(
    newest: [&mut Newest; 3],
    open: &[TimelineEvent],
    arguments: &mut ArgumentTexts,
    thread_names: &'page [String],
    captures: &'page Captures,
) -> io::Result<(TimelineLayout<'page>, BufReader<ScratchFile>)> {
    let [regions, marks, values] = newest;
    let mut wanted = [REGIONS_MAX, MARKS_MAX, VALUES_MAX];
    loop {
        let counts = [
            regions.keep(wanted[0])?,
            marks.keep(wanted[1])?,
            values.keep(wanted[2])?,
        ];
        let file = BufWriter::new(ScratchFile::new()?);
        let mut gzip = GzEncoder::new(file, Compression::default());
        let kept = Kept {
            captures,
            regions,
            open,
            marks,
            values,
            arguments: &mut *arguments,
            thread_names,
        };
        let layout = pack(kept, &mut gzip)?;
        let mut file = gzip.finish()?.into_inner()?;
        let bytes = file.stream_position()?;
        let share = match layout {
            Some(layout) if bytes <= PACKED_BYTES_MAX || counts == [0; 3] => {
                file.rewind()?;
                return Ok((layout, BufReader::new(file)));
            }
            Some(_) => PACKED_BYTES_MAX as f64 / bytes as f64 * 0.95,
            None => 0.5,
        };
        wanted = counts.map(|count| (count as f64 * share) as usize);
    }
}

fn without_arguments(event: &Event) -> Event {
    let mut bare = Event::default();
    bare.kind = event.kind;
    bare.ring = event.ring;
    bare.sequence = event.sequence;
    bare.start_ns = event.start_ns;
    bare.duration_ns = event.duration_ns;
    bare.value = event.value;
    bare.copied_bytes = event.copied_bytes;
    bare.correlation_id = event.correlation_id;
    bare.lane = event.lane;
    bare.label_id = event.label_id;
    bare.thread_id = event.thread_id;
    bare.status = event.status;
    bare.failed = event.failed;
    bare.cancelled = event.cancelled;
    bare.hidden = event.hidden;
    bare.saturated = event.saturated;
    bare
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
    event.status = open.status;
    event.saturated = open.saturated;
    event
}
