//! What `--summary` says: from crash to answer, as text of at most 100 columns or as JSON. Its figures are those of [`crate::digest`].
//!
//! Colour only repeats what the words say. The text is written with it, and whoever prints it strips it where it is not wanted.

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use hrx_trace_reader::{Ending, Event, MEASUREMENT};
use indicatif::{HumanBytes, HumanCount};
use unicode_width::UnicodeWidthStr;

use crate::captures::{Capture, Captures};
use crate::digest::{Digest, Document, Gather, LaneDigest, RegionDigest, Row};
use crate::facts::Open;
use crate::format::{Outcome, Writer};
use crate::info::{cut, printable, wrap};
use crate::words::{
    account_text, count_text, counted, ending_words, losses_text, percent_text, short_text,
};

/// No line is wider.
const COLUMNS: usize = 100;
/// Labels of a lane that are listed; the JSON has more.
const LABELS_MAX: usize = 12;
/// Running regions that are listed.
const RUNNING_MAX: usize = 16;
/// Lanes whose labels, last regions and gaps are listed, and pairs of lanes whose overlap is.
const LANES_MAX: usize = 12;
/// What most tables begin with: a lane's name, a label.
const LANE_COLUMNS: usize = 11;
const LABEL_COLUMNS: usize = 32;

const HEADING: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default();
const GOOD: Style = AnsiColor::Green.on_default();

/// Writes the summary of each capture.
pub struct Summary<Sink> {
    sink: Sink,
    json: bool,
    gather: Gather,
}

impl<Sink: Write> Summary<Sink> {
    pub fn new(captures: &Captures, json: bool, sink: Sink) -> Self {
        Self {
            sink,
            json,
            gather: Gather::new(captures),
        }
    }
}

impl<Sink: Write> Writer for Summary<Sink> {
    #[inline]
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        self.gather.event(capture, event)
    }

    fn finish(mut self, captures: &Captures, outcomes: &[Outcome]) -> io::Result<()> {
        let document = self.gather.finish(captures, outcomes, false)?;
        if self.json {
            serde_json::to_writer_pretty(&mut self.sink, &document)?;
            self.sink.write_all(b"\n")?;
        } else {
            self.sink.write_all(text(&document, outcomes).as_bytes())?;
        }
        self.sink.flush()
    }
}

/// The summaries, one below the other.
fn text(document: &Document, outcomes: &[Outcome]) -> String {
    let mut page = Page::default();
    for (digest, outcome) in document.captures.iter().zip(outcomes) {
        if !page.text.is_empty() {
            page.line("");
        }
        page.capture(digest, outcome);
    }
    page.text
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
        let unnamed = |name: &'static str| move |text| if text == "" { name } else { text };
        let program = Some(facts.program).map(unnamed("unnamed program"));
        let host = Some(facts.host).map(unnamed("unnamed host"));
        let attributes: String = facts
            .attributes
            .iter()
            .map(|(key, value)| format!(", {key}={value}"))
            .collect();
        self.wrapped(
            Style::new(),
            &format!(
                "{}, process {} on {}{attributes}",
                program.unwrap_or_default(),
                facts.pid,
                host.unwrap_or_default()
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
        self.line(&table_line(&[
            ("lane", LANE_COLUMNS),
            ("label", LABEL_COLUMNS),
            ("for", 9),
            ("since", 9),
            ("bytes", 12),
            ("correlation", 13),
            ("thread", 12),
        ]));
        for region in open.iter().take(RUNNING_MAX) {
            self.styled(BAD, &running_line(region));
        }
        self.more(open.len(), RUNNING_MAX, "running region");
    }

    fn last(&mut self, digest: &Digest) {
        if digest.lanes.iter().all(|lane| lane.last.is_empty()) {
            return;
        }
        self.heading("LAST BEFORE THE END, ON EACH LANE");
        self.line(&region_heading("ended"));
        for lane in digest.lanes.iter().take(LANES_MAX) {
            for region in lane.last.iter().rev() {
                let ended = format!("-{}", short_text(region.before_the_end_ns.0));
                self.region(region, &ended);
            }
        }
        self.more(digest.lanes.len(), LANES_MAX, "lane");
    }

    fn regions(&mut self, digest: &Digest) {
        if digest.lanes.is_empty() {
            return;
        }
        self.heading("REGIONS, BY LANE AND LABEL");
        self.line(&format!(
            "{:25}{:>11}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}",
            "", "count", "failed", "busy", "total", "mean", "p50", "p90", "p99", "max"
        ));
        for (index, lane) in digest.lanes.iter().enumerate() {
            self.row(&lane.name, &lane.row, HEADING);
            if index >= LANES_MAX {
                continue;
            }
            for label in lane.labels.iter().take(LABELS_MAX) {
                self.row(&format!("  {}", label.label), &label.row, Style::new());
            }
            self.more(lane.labels.len(), LABELS_MAX, "label");
        }
        let note = "busy: share of the span with at least one running; percentiles at most 0.1 % above the exact ones";
        self.styled(QUIET, note);
    }

    fn row(&mut self, name: &str, row: &Row, style: Style) {
        let name = cell(name, 25);
        let time = |ns: Option<crate::facts::Exact>| ns.map_or("-".to_owned(), |ns| short_text(ns.0));
        let failed_style = if row.failed.0 > 0 { BAD } else { Style::new() };
        let failed = count_text(row.failed.0, 7);
        let figures: String = [
            row.busy_share.map_or("-".to_owned(), percent_text),
            short_text(row.total_ns.0),
            time(row.mean_ns),
            time(row.p50_ns),
            time(row.p90_ns),
            time(row.p99_ns),
            time(row.max_ns),
        ]
        .iter()
        .map(|figure| format!("{figure:>8}"))
        .collect();
        let _ = writeln!(
            self.text,
            "{style}{name}{style:#}{:>11}{failed_style}{failed:>8}{failed_style:#}{figures}",
            count_text(row.count.0, 10)
        );
    }

    fn copies(&mut self, digest: &Digest) {
        let copying = |row: &&Row| row.copied_bytes.0 > 0;
        if Some(&digest.regions).filter(copying).is_none() {
            return;
        }
        self.heading("COPIES");
        self.line(&format!("{:25}{:>14}{:>10}", "", "bytes", "GB/s"));
        for lane in digest.lanes.iter().take(LANES_MAX) {
            let Some(row) = Some(&lane.row).filter(copying) else {
                continue;
            };
            self.copy(&lane.name, row, HEADING);
            let labels: Vec<_> = lane
                .labels
                .iter()
                .filter(|label| copying(&&label.row))
                .collect();
            for label in labels.iter().take(LABELS_MAX) {
                self.copy(&format!("  {}", label.label), &label.row, Style::new());
            }
            self.more(labels.len(), LABELS_MAX, "label");
        }
        self.styled(
            QUIET,
            "GB/s: bytes by the time of the regions that copied any, 1 GB = 10^9 bytes",
        );
    }

    fn copy(&mut self, name: &str, row: &Row, style: Style) {
        let bandwidth = row
            .gigabytes_per_second
            .map_or("-".to_owned(), |figure| format!("{figure:.3}"));
        let _ = writeln!(
            self.text,
            "{style}{}{style:#}{:>14}{bandwidth:>10}",
            cell(name, 25),
            HumanBytes(row.copied_bytes.0).to_string(),
        );
    }

    fn overlaps(&mut self, digest: &Digest) {
        if digest.overlaps.is_empty() {
            return;
        }
        self.heading("OVERLAP OF LANES");
        let mut overlaps: Vec<_> = digest.overlaps.iter().collect();
        overlaps.sort_by_key(|overlap| std::cmp::Reverse(overlap.overlap_ns.0));
        for overlap in overlaps.iter().take(LANES_MAX) {
            let [one, other] = &overlap.lanes;
            let percent = |share: Option<f64>| share.map_or("-".to_owned(), percent_text);
            let [of_one, of_other] = overlap.share_of_each.map(percent);
            self.line(&format!(
                "{}{:>9}{:>8} of the span,{of_one:>8} of {one},{of_other:>8} of {other}",
                cell(&format!("{one} and {other}"), 25),
                short_text(overlap.overlap_ns.0),
                percent(overlap.share_of_span),
            ));
        }
        self.more(overlaps.len(), LANES_MAX, "pair");
    }

    fn gaps(&mut self, digest: &Digest) {
        let with_gaps = |lane: &&LaneDigest| !lane.gaps.is_empty();
        if !digest.lanes.iter().any(|lane| with_gaps(&lane)) {
            return;
        }
        self.heading("LONGEST GAPS, IN WHICH NOTHING RAN ON THE LANE");
        for lane in digest.lanes.iter().filter(with_gaps).take(LANES_MAX) {
            let gaps: Vec<String> = lane
                .gaps
                .iter()
                .map(|gap| {
                    let to_the_end = if gap.to_the_end { " to the end" } else { "" };
                    format!(
                        "{} from {}{to_the_end}",
                        short_text(gap.duration_ns.0),
                        short_text(gap.start_ns.0)
                    )
                })
                .collect();
            self.line(&format!("{}{}", cell(&lane.name, LANE_COLUMNS), gaps.join("; ")));
        }
        let lanes = digest.lanes.iter().filter(with_gaps).count();
        self.more(lanes, LANES_MAX, "lane");
    }

    fn slowest(&mut self, digest: &Digest) {
        if digest.slowest.is_empty() {
            return;
        }
        self.heading("SLOWEST");
        self.line(&region_heading("began"));
        for region in &digest.slowest {
            self.region(region, &short_text(region.start_ns.0));
        }
    }

    fn region(&mut self, region: &RegionDigest, when: &str) {
        let mut state = String::new();
        if region.failed {
            state = format!("failed, status {}", region.status);
        }
        let line = table_line(&[
            (&region.lane_name, LANE_COLUMNS),
            (&region.label, LABEL_COLUMNS),
            (&short_text(region.duration_ns.0), 9),
            (when, 9),
            (&bytes_text(region.copied_bytes.0), 12),
            (&correlation_text(region.correlation_id.0), 13),
            (&state, 24),
        ]);
        let line = cut(&line, COLUMNS);
        self.styled(if region.failed { BAD } else { Style::new() }, &line);
    }

    fn missing(&mut self, digest: &Digest, outcome: &Outcome) {
        let report = &outcome.report;
        self.heading("WHAT IS MISSING");
        self.wrapped(Style::new(), &account_text(&report.account));
        self.wrapped(
            Style::new(),
            &match report.complete_since_ns {
                0 => "complete from the start: nothing was overwritten".to_owned(),
                since_ns => format!(
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
            self.wrapped(BAD, &format!("at offset {}: {}", damage.offset, damage.what));
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

fn running_line(region: &Open) -> String {
    let line = table_line(&[
        (&region.lane_name, LANE_COLUMNS),
        (&region.label, LABEL_COLUMNS),
        (&short_text(region.running_ns.0), 9),
        (&short_text(region.start_ns.0), 9),
        (&bytes_text(region.copied_bytes.0), 12),
        (&correlation_text(region.correlation_id.0), 13),
        (&region.thread_id.to_string(), 12),
    ]);
    cut(&line, COLUMNS)
}

fn region_heading(when: &str) -> String {
    table_line(&[
        ("lane", LANE_COLUMNS),
        ("label", LABEL_COLUMNS),
        ("took", 9),
        (when, 9),
        ("bytes", 12),
        ("correlation", 13),
    ])
}

/// Two names flush left, then figures flush right, then what is left flush left.
fn table_line(cells: &[(&str, usize)]) -> String {
    let mut line = String::new();
    for (index, (text, columns)) in cells.iter().enumerate() {
        match index {
            0 | 1 => line.push_str(&cell(text, *columns)),
            2..=5 => {
                let _ = write!(line, "{text:>columns$}");
            }
            _ => {
                let _ = write!(line, "  {text}");
            }
        }
    }
    line
}

/// A name in its column, at least a space behind it.
fn cell(text: &str, columns: usize) -> String {
    let mut text = cut(&printable(text), columns - 1);
    let width = text.width();
    text.extend(std::iter::repeat_n(' ', columns.saturating_sub(width)));
    text
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
