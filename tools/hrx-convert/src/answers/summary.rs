//! What `--summary` says: from crash to answer, as text of at most 100 columns or as JSON. Its figures are those of [`crate::figures::digest`].
//!
//! Colour only repeats what the words say. The text is written with it, and whoever prints it strips it where it is not wanted.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{self, Write};

use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Style};
use hrx_trace_reader::{Ending, Event, MEASUREMENT};
use indicatif::{HumanBytes, HumanCount};

use crate::figures::digest::{Digest, Gather, RegionDigest, Row, around_captures};
use crate::figures::facts::Exact;
use crate::input::captures::{Capture, Captures};
use crate::input::conversion::{Outcome, Writer};
use crate::text::columns::Align::{self, Left, Right};
use crate::text::columns::{COLUMNS, Table};
use crate::text::printable::printable;
use crate::text::words::{
    account_text, bandwidth_text, count_text, counted, ending_words, is_complete, losses_text,
    percent_text, short_text,
};
use crate::text::wrap::wrap;

/// Labels of a lane that are listed; the JSON has more.
const LABELS_MAX: usize = 12;
/// Running regions that are listed.
const RUNNING_MAX: usize = 16;
/// Lanes whose labels, last regions and gaps are listed, and pairs of lanes whose overlap is.
const LANES_MAX: usize = 12;

const HEADING: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default();
const GOOD: Style = AnsiColor::Green.on_default();

/// Writes the summary of each capture.
pub struct Summary<Sink> {
    sink: Sink,
    json: bool,
    colour: bool,
    gather: Gather,
}

impl<Sink: Write> Summary<Sink> {
    pub fn new(json: bool, colour: bool, sink: Sink) -> Self {
        Self {
            sink,
            json,
            colour,
            gather: Gather::new(),
        }
    }
}

impl<Sink: Write> Writer for Summary<Sink> {
    const ONE_BY_ONE: bool = true;

    #[inline]
    fn event(&mut self, _: &Capture, event: &Event) -> io::Result<()> {
        self.gather.event(event)
    }

    fn ended(&mut self, capture: &Capture, outcome: &Outcome) -> io::Result<()> {
        let digest = self.gather.digest(capture, outcome, false)?;
        if self.json {
            let (before, _) = around_captures(true)?;
            let before = if capture.index == 0 { &before } else { "," };
            self.sink.write_all(before.as_bytes())?;
            let mut indented = Indented(&mut self.sink);
            indented.write_all(b"\n")?;
            serde_json::to_writer_pretty(indented, &digest)?;
        } else {
            let mut page = Page::default();
            if capture.index > 0 {
                page.line("");
            }
            page.capture(&digest, outcome);
            if !self.colour {
                page.text = strip_str(&page.text).to_string();
            }
            self.sink.write_all(page.text.as_bytes())?;
        }
        Ok(())
    }

    fn finish(mut self, _: &Captures, _: &[Outcome]) -> io::Result<()> {
        if self.json {
            let (_, behind) = around_captures(true)?;
            writeln!(self.sink, "\n  {behind}")?;
        }
        self.sink.flush()
    }
}

/// JSON within two brackets. Its only line ends are those between its lines.
struct Indented<'sink, Sink>(&'sink mut Sink);

impl<Sink: Write> Write for Indented<'_, Sink> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.0.write_all(part)?;
            if part.ends_with(b"\n") {
                self.0.write_all(b"    ")?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The text so far.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn capture(&mut self, digest: &Digest, outcome: &Outcome) {
        self.head(digest);
        self.running(digest);
        self.last(digest);
        self.failures(digest);
        self.regions(digest);
        self.copies(digest);
        self.overlaps(digest);
        self.gaps(digest);
        self.slowest(digest);
        self.missing(digest, outcome);
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn styled(&mut self, style: Style, line: &str) {
        let _ = writeln!(self.text, "{style}{}{style:#}", line.trim_end());
    }

    fn heading(&mut self, heading: &str) {
        self.line("");
        self.styled(HEADING, heading);
    }

    /// Text of any length, its continuations indented.
    fn wrapped(&mut self, style: Style, text: &str) {
        for (number, line) in wrap(&printable(text), COLUMNS - 2).iter().enumerate() {
            let indent = if number == 0 { "" } else { "  " };
            self.styled(style, &format!("{indent}{line}"));
        }
    }

    fn head(&mut self, digest: &Digest) {
        let facts = &digest.facts;
        let ended_ns = facts.last_ns.0.saturating_sub(digest.shift_ns.0);
        let ended = digest.ended.as_deref().map(calendar_text);
        let ended = ended.map_or(String::new(), |ended| format!(" at {ended}"));
        let style = match facts.ending {
            Ending::WriterDied => BAD,
            Ending::Finished | Ending::Live => GOOD,
        };
        self.wrapped(
            style.bold(),
            &format!(
                "{}: {}{ended}, {} after it began",
                digest.file,
                ending_words(facts.ending),
                short_text(ended_ns)
            ),
        );
        let or = |text: &str, unnamed: &str| match text {
            "" => unnamed.to_owned(),
            text => text.to_owned(),
        };
        let attributes: String = facts
            .attributes
            .iter()
            .map(|(key, value)| format!(", {key}={value}"))
            .collect();
        self.wrapped(
            Style::new(),
            &format!(
                "{}, process {} on {}{attributes}",
                or(facts.program, "unnamed program"),
                facts.pid,
                or(facts.host, "an unnamed host")
            ),
        );
        let regions = &digest.regions;
        let busy = match regions.busy_share {
            Some(share) => format!(", at least one running {} of it", percent_text(share)),
            None => String::new(),
        };
        self.wrapped(
            Style::new(),
            &format!(
                "{}, {} failed, {} unfinished, over {}{busy}",
                counted(regions.count.0, "region"),
                HumanCount(regions.failed.0),
                HumanCount(regions.unfinished.0),
                short_text(digest.span_ns.0),
            ),
        );
        if let Some([events, open]) = digest.filtered_out {
            let open = counted(open.0, "open region");
            let text = format!(
                "The filter left out {} and {open}.",
                counted(events.0, "event")
            );
            self.wrapped(Style::new(), &text);
        }
        let mut times = "Times count from the beginning of the capture".to_owned();
        if digest.shift_ns.0 > 0 {
            times = format!(
                "Times count from the beginning of the first capture, {} before this one",
                short_text(digest.shift_ns.0)
            );
        }
        self.wrapped(QUIET, &format!("{MEASUREMENT}. {times}."));
    }

    fn running(&mut self, digest: &Digest) {
        let open = &digest.facts.open_regions;
        self.heading("RUNNING AT THE END");
        if open.is_empty() {
            return self.line("nothing");
        }
        let mut table = Table::new(
            [
                ("lane", Left),
                ("label", Left),
                ("for", Right),
                ("since", Right),
                ("bytes", Right),
                ("correlation", Right),
                ("thread", Right),
            ],
            1,
        );
        for region in open.iter().take(RUNNING_MAX) {
            let cells = [
                region.lane_name.clone(),
                region.label.clone(),
                short_text(region.running_ns.0),
                short_text(region.start_ns.0),
                bytes_text(region.copied_bytes.0),
                correlation_text(region.correlation_id.0),
                region.thread_id.to_string(),
            ];
            table.row(BAD, cells);
        }
        self.text += &table.text();
        self.more(open.len(), RUNNING_MAX, "running region");
    }

    fn last(&mut self, digest: &Digest) {
        if digest.lanes.iter().all(|lane| lane.last.is_empty()) {
            return;
        }
        self.heading("LAST BEFORE THE END, ON EACH LANE");
        let lanes = digest.lanes.iter().take(LANES_MAX);
        let regions = lanes.flat_map(|lane| lane.last.iter().rev());
        self.region_table("ended", regions, |region| {
            match region.before_the_end_ns.0 {
                0 => "at the end".to_owned(),
                ns => format!("{} before", short_text(ns)),
            }
        });
        self.more(digest.lanes.len(), LANES_MAX, "lane");
    }

    fn failures(&mut self, digest: &Digest) {
        let Some(more) = digest
            .regions
            .failed
            .0
            .checked_sub(digest.failures.len() as u64)
        else {
            return;
        };
        if digest.failures.is_empty() {
            return;
        }
        self.heading("FAILED, THE LAST FIRST");
        let began = |region: &RegionDigest| short_text(region.start_ns.0);
        self.region_table("began", digest.failures.iter().rev(), began);
        if more > 0 {
            self.styled(
                QUIET,
                &format!("  … and {} before them", counted(more, "failure")),
            );
        }
    }

    fn regions(&mut self, digest: &Digest) {
        if digest.lanes.is_empty() {
            return;
        }
        self.heading("REGIONS, BY LANE AND LABEL");
        let names = [
            "count", "failed", "busy", "total", "mean", "p50", "p90", "p99", "max",
        ];
        let headings: [(&str, Align); 10] = std::array::from_fn(|at| {
            at.checked_sub(1)
                .map_or(("", Left), |at| (names[at], Right))
        });
        let mut table = Table::new(headings, 0);
        for (index, lane) in digest.lanes.iter().enumerate() {
            table.row(HEADING, figures(lane.name.clone(), &lane.row));
            if index >= LANES_MAX {
                continue;
            }
            for label in lane.labels.iter().take(LABELS_MAX) {
                let style = if label.row.failed.0 > 0 {
                    BAD
                } else {
                    Style::new()
                };
                table.row(style, figures(format!("  {}", label.label), &label.row));
            }
            if let Some(more @ 1..) = lane.labels.len().checked_sub(LABELS_MAX) {
                let mut cells: [String; 10] = Default::default();
                cells[0] = format!("  … and {} more labels", HumanCount(more as u64));
                table.row(QUIET, cells);
            }
        }
        self.text += &table.text();
        let note = "busy: share of the span with at least one running; percentiles at most 0.1 % above the exact ones";
        self.styled(QUIET, note);
    }

    fn copies(&mut self, digest: &Digest) {
        if digest.regions.copied_bytes.0 == 0 {
            return;
        }
        self.heading("COPIES");
        let mut table = Table::new([("", Left), ("bytes", Right), ("GB/s", Right)], 0);
        let cells = |name: String, row: &Row| {
            [
                name,
                bytes_text(row.copied_bytes.0),
                row.gigabytes_per_second
                    .map_or("-".to_owned(), bandwidth_text),
            ]
        };
        let copying = |row: &Row| row.copied_bytes.0 > 0;
        for lane in digest.lanes.iter().take(LANES_MAX) {
            if copying(&lane.row) {
                table.row(HEADING, cells(lane.name.clone(), &lane.row));
            }
            let labels = lane.labels.iter().filter(|label| copying(&label.row));
            for label in labels.take(LABELS_MAX) {
                let name = format!("  {}", label.label);
                table.row(Style::new(), cells(name, &label.row));
            }
        }
        self.text += &table.text();
        let note = "GB/s: bytes by the time of the regions that copied any; 1 GB = 10^9 bytes";
        self.styled(QUIET, note);
    }

    fn overlaps(&mut self, digest: &Digest) {
        if digest.overlaps.is_empty() {
            return;
        }
        self.heading("OVERLAP OF LANES");
        let mut overlaps: Vec<_> = digest
            .overlaps
            .iter()
            .filter(|overlap| overlap.overlap_ns.0 > 0)
            .collect();
        if overlaps.is_empty() {
            return self.line("no two lanes were busy at once");
        }
        overlaps.sort_by_key(|overlap| Reverse(overlap.overlap_ns.0));
        let mut table = Table::new(
            [("", Left), ("", Right), ("", Right), ("", Left), ("", Left)],
            0,
        );
        let percent = |share: Option<f64>| share.map_or("-".to_owned(), percent_text);
        for overlap in overlaps.iter().take(LANES_MAX) {
            let [one, other] = &overlap.lanes;
            let [of_one, of_other] = overlap.share_of_each.map(percent);
            let cells = [
                format!("{one} and {other}"),
                short_text(overlap.overlap_ns.0),
                format!("{} of the span", percent(overlap.share_of_span)),
                format!("{of_one} of {one}"),
                format!("{of_other} of {other}"),
            ];
            table.row(Style::new(), cells);
        }
        self.text += &table.text();
        self.more(overlaps.len(), LANES_MAX, "pair");
    }

    fn gaps(&mut self, digest: &Digest) {
        let lanes: Vec<_> = digest
            .lanes
            .iter()
            .filter(|lane| !lane.gaps.is_empty())
            .collect();
        if lanes.is_empty() {
            return;
        }
        self.heading("LONGEST GAPS, WITH NOTHING RUNNING ON THE LANE");
        let mut table = Table::new([("", Left), ("", Left)], 1);
        for lane in lanes.iter().take(LANES_MAX) {
            let gaps: Vec<String> = lane
                .gaps
                .iter()
                .map(|gap| {
                    let to_the_end = if gap.to_the_end { " to the end" } else { "" };
                    let duration = short_text(gap.duration_ns.0);
                    format!("{duration} from {}{to_the_end}", short_text(gap.start_ns.0))
                })
                .collect();
            table.row(Style::new(), [lane.name.clone(), gaps.join("; ")]);
        }
        self.text += &table.text();
        self.more(lanes.len(), LANES_MAX, "lane");
    }

    fn slowest(&mut self, digest: &Digest) {
        if digest.slowest.is_empty() {
            return;
        }
        self.heading("SLOWEST");
        let began = |region: &RegionDigest| short_text(region.start_ns.0);
        self.region_table("began", digest.slowest.iter(), began);
    }

    fn region_table<'regions>(
        &mut self,
        when: &str,
        regions: impl Iterator<Item = &'regions RegionDigest>,
        when_text: impl Fn(&RegionDigest) -> String,
    ) {
        let mut table = Table::new(
            [
                ("lane", Left),
                ("label", Left),
                ("took", Right),
                (when, Right),
                ("bytes", Right),
                ("correlation", Right),
                ("", Left),
            ],
            1,
        );
        for region in regions {
            let failed = match region.failed {
                true => format!("failed: {}", region.status),
                false => String::new(),
            };
            let cells = [
                region.lane_name.clone(),
                region.label.clone(),
                short_text(region.duration_ns.0),
                when_text(region),
                bytes_text(region.copied_bytes.0),
                correlation_text(region.correlation_id.0),
                failed,
            ];
            table.row(if region.failed { BAD } else { Style::new() }, cells);
        }
        self.text += &table.text();
    }

    fn missing(&mut self, digest: &Digest, outcome: &Outcome) {
        let report = &outcome.report;
        self.heading("WHAT IS MISSING");
        self.wrapped(Style::new(), &account_text(&report.account));
        self.wrapped(
            Style::new(),
            &match (is_complete(report), report.complete_since_ns) {
                (true, _) => "complete from the start: nothing was overwritten".to_owned(),
                (false, since_ns) => format!(
                    "complete for all that ended after {}: the last {} of {}",
                    short_text(since_ns),
                    short_text(report.last_ns.saturating_sub(since_ns)),
                    short_text(digest.span_ns.0)
                ),
            },
        );
        match losses_text(report) {
            None => self.line("no other losses"),
            Some(losses) => self.wrapped(BAD, &format!("losses: {losses}")),
        }
        for damage in report.damages.iter().take(RUNNING_MAX) {
            self.wrapped(
                BAD,
                &format!("at offset {}: {}", damage.offset, damage.what),
            );
        }
        self.more(report.damages.len(), RUNNING_MAX, "damaged place");
    }

    /// That a list was cut.
    fn more(&mut self, count: usize, listed: usize, what: &str) {
        if let Some(more @ 1..) = count.checked_sub(listed) {
            let more = counted(more as u64, what);
            self.styled(QUIET, &format!("  … and {more} more, see --json"));
        }
    }
}

/// A row of the table of regions.
fn figures(name: String, row: &Row) -> [String; 10] {
    let time = |ns: Option<Exact>| ns.map_or("-".to_owned(), |ns| short_text(ns.0));
    [
        name,
        count_text(row.count.0, 11),
        count_text(row.failed.0, 7),
        row.busy_share.map_or("-".to_owned(), percent_text),
        short_text(row.total_ns.0),
        time(row.mean_ns),
        time(row.p50_ns),
        time(row.p90_ns),
        time(row.p99_ns),
        time(row.max_ns),
    ]
}

fn bytes_text(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        bytes => HumanBytes(bytes).to_string(),
    }
}

fn correlation_text(correlation_id: u64) -> String {
    match correlation_id {
        0 => String::new(),
        id => id.to_string(),
    }
}

/// "2026-11-30T02:01:03.123456789Z" as people write it, to the millisecond.
fn calendar_text(rfc3339: &str) -> String {
    let text = rfc3339.trim_end_matches('Z').replacen('T', " ", 1);
    match text.split_once('.') {
        Some((seconds, fraction)) => format!("{seconds}.{:.3} UTC", fraction),
        None => format!("{text} UTC"),
    }
}
