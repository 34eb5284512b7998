//! Tables for scripts and query engines: JSON lines and CSV, with the same columns. spec/OUTPUT.md describes them.
//!
//! Invariants:
//! - The columns are stable: new ones are added at the end, and none is renamed, moved or given another meaning.
//! - A region is a row. Rows are in the order of completion; after them come the regions that were still running, with the state "open".
//! - No cell of a number is ever empty, so that engines keep the column an integer. Integers are written with all their digits.
//! - The last of the JSON lines is of another kind: the account of losses. CSV has no place for it.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

use hrx_trace_format::MEASUREMENT;
use hrx_trace_reader::{Event, OpenRegion};
use serde::Serialize;

use crate::figures::metadata::Metadata;
use crate::input::captures::{Capture, Captures};
use crate::input::format::{FollowedFormat, Format};
use crate::input::labels::name_of;
use crate::input::outcome::Outcome;
use crate::output::printable::printable_json;
use crate::text::names::{Names, lane_name};

const BUFFER_BYTES: usize = 256 << 10;
/// The measurement, in one word for each row.
const HOST_OBSERVED: &str = "host-observed";

/// A region. The names of the fields are those of the columns.
#[derive(Serialize)]
struct TableRow<'capture> {
    /// The capture's place among those given, from 0.
    capture: usize,
    pid: u32,
    state: RegionState,
    start_ns: u64,
    /// Of an open region, up to the last known moment.
    duration_ns: u64,
    lane: u32,
    lane_name: String,
    label: Cow<'capture, str>,
    copied_bytes: u64,
    correlation_id: u64,
    thread_id: u32,
    status: u32,
    failed: bool,
    saturated: bool,
    ring: u32,
    /// 0: the region is open and has no ticket yet.
    sequence: u64,
    measurement: &'static str,
    /// The process's own id. `pid` is unique in this output.
    process_id: u32,
    file: Cow<'capture, str>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum RegionState {
    Completed,
    Open,
}

impl<'capture> TableRow<'capture> {
    fn completed(capture: &'capture Capture, event: &Event, label: &'capture str) -> Self {
        Self {
            capture: capture.index,
            pid: capture.pid,
            state: RegionState::Completed,
            start_ns: event.start_ns,
            duration_ns: event.duration_ns,
            lane: event.lane,
            lane_name: lane_name(event.lane),
            label: label.into(),
            copied_bytes: event.copied_bytes,
            correlation_id: event.correlation_id,
            thread_id: event.thread_id,
            status: event.status,
            failed: event.failed,
            saturated: event.saturated,
            ring: event.ring,
            sequence: event.sequence,
            measurement: HOST_OBSERVED,
            process_id: capture.trace.identity().process_id,
            file: capture.path.to_string_lossy(),
        }
    }

    fn open(capture: &'capture Capture, region: &OpenRegion, last_ns: u64) -> Self {
        Self {
            capture: capture.index,
            pid: capture.pid,
            state: RegionState::Open,
            start_ns: region.start_ns,
            duration_ns: last_ns.saturating_sub(region.start_ns),
            lane: region.lane,
            lane_name: lane_name(region.lane),
            label: name_of(&capture.trace, region.label_id),
            copied_bytes: region.copied_bytes,
            correlation_id: region.correlation_id,
            thread_id: region.thread_id,
            status: 0,
            failed: false,
            saturated: region.saturated,
            ring: 0,
            sequence: 0,
            measurement: HOST_OBSERVED,
            process_id: capture.trace.identity().process_id,
            file: capture.path.to_string_lossy(),
        }
    }

    /// The regions that were still running, capture by capture.
    fn all_open(
        captures: &'capture Captures,
        outcomes: &'capture [Outcome],
    ) -> impl Iterator<Item = Self> {
        captures
            .iter()
            .zip(outcomes)
            .flat_map(|(capture, outcome)| {
                let report = &outcome.report;
                let open = report.open_regions.iter();
                open.map(|region| Self::open(capture, region, report.last_ns))
            })
    }
}

/// The names of labels, as cells hold them.
struct LabelCells {
    names: Names,
    name: Vec<u8>,
}

impl LabelCells {
    fn new() -> Self {
        Self {
            names: Names::new(push_name),
            name: Vec::new(),
        }
    }

    fn of(&mut self, capture: &Capture, label_id: u32) -> Cow<'_, str> {
        self.name.clear();
        self.names.push(&mut self.name, capture, label_id);
        String::from_utf8_lossy(&self.name)
    }
}

fn push_name(capture: &Capture, label_id: u32, cell: &mut Vec<u8>) {
    cell.extend_from_slice(name_of(&capture.trace, label_id).as_bytes());
}

/// Writes one object a line: {"kind":"region", …} for each region, then {"kind":"account", …}.
pub struct JsonLines<Sink: Write> {
    sink: BufWriter<Sink>,
    /// The line that is being written.
    line: Vec<u8>,
    labels: LabelCells,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Line<'line> {
    Region(&'line TableRow<'line>),
    Account {
        measurement: &'static str,
        #[serde(flatten)]
        facts: Metadata<'line>,
    },
}

impl<Sink: Write> JsonLines<Sink> {
    pub fn new(sink: Sink) -> Self {
        Self {
            sink: BufWriter::with_capacity(BUFFER_BYTES, sink),
            line: Vec::new(),
            labels: LabelCells::new(),
        }
    }

    fn line(sink: &mut BufWriter<Sink>, buffer: &mut Vec<u8>, line: &Line<'_>) -> io::Result<()> {
        buffer.clear();
        serde_json::to_writer(&mut *buffer, line)?;
        buffer.push(b'\n');
        let text = str::from_utf8(buffer).map_err(io::Error::other)?;
        sink.write_all(printable_json(text).as_bytes())
    }
}

impl<Sink: Write> Format for JsonLines<Sink> {
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        let label = self.labels.of(capture, event.label_id);
        let row = TableRow::completed(capture, event, &label);
        Self::line(&mut self.sink, &mut self.line, &Line::Region(&row))
    }

    fn finish(mut self, captures: &Captures, outcomes: &mut [Outcome]) -> io::Result<()> {
        for row in TableRow::all_open(captures, outcomes) {
            Self::line(&mut self.sink, &mut self.line, &Line::Region(&row))?;
        }
        let account = Line::Account {
            measurement: MEASUREMENT,
            facts: Metadata::new(captures, outcomes),
        };
        Self::line(&mut self.sink, &mut self.line, &account)?;
        self.flush()
    }
}

impl<Sink: Write> FollowedFormat for JsonLines<Sink> {
    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// Writes a head with the names of the columns, then one region a line. Cells are quoted as in RFC 4180 where needed; lines end with LF.
pub struct Csv<Sink: Write> {
    rows: csv::Writer<Sink>,
    labels: LabelCells,
    /// What each text passes.
    defuse: Defuse,
}

type Defuse = fn(Cow<'_, str>) -> Cow<'_, str>;

impl<Sink: Write> Csv<Sink> {
    /// Writes the head, which is there even if there are no regions. `for_spreadsheets`: no text is taken for a formula.
    pub fn new(sink: Sink, for_spreadsheets: bool) -> io::Result<Self> {
        let mut rows = csv::WriterBuilder::new()
            .has_headers(false)
            .buffer_capacity(BUFFER_BYTES)
            .from_writer(sink);
        rows.write_record(COLUMN_NAMES).map_err(io_error)?;
        Ok(Self {
            rows,
            labels: LabelCells::new(),
            defuse: if for_spreadsheets {
                defused
            } else {
                |text| text
            },
        })
    }

    fn row(rows: &mut csv::Writer<Sink>, defuse: Defuse, mut row: TableRow<'_>) -> io::Result<()> {
        row.label = defuse(row.label);
        row.file = defuse(row.file);
        rows.serialize(row).map_err(io_error)
    }
}

/// The text, after an apostrophe if spreadsheets would take it for a formula.
fn defused(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        true => format!("'{text}").into(),
        false => text,
    }
}

/// The names of a row's fields, in their order.
const COLUMN_NAMES: [&str; 19] = [
    "capture",
    "pid",
    "state",
    "start_ns",
    "duration_ns",
    "lane",
    "lane_name",
    "label",
    "copied_bytes",
    "correlation_id",
    "thread_id",
    "status",
    "failed",
    "saturated",
    "ring",
    "sequence",
    "measurement",
    "process_id",
    "file",
];

impl<Sink: Write> Format for Csv<Sink> {
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        let label = self.labels.of(capture, event.label_id);
        let row = TableRow::completed(capture, event, &label);
        Self::row(&mut self.rows, self.defuse, row)
    }

    fn finish(mut self, captures: &Captures, outcomes: &mut [Outcome]) -> io::Result<()> {
        for row in TableRow::all_open(captures, outcomes) {
            Self::row(&mut self.rows, self.defuse, row)?;
        }
        self.flush()
    }
}

/// The sink's own error. The conversion of the library wraps it, and then a closed pipe is not known as one.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

impl<Sink: Write> FollowedFormat for Csv<Sink> {
    fn flush(&mut self) -> io::Result<()> {
        self.rows.flush()
    }
}

#[cfg(test)]
mod tests {
    use hrx_trace_format::Record;
    use serde_json::Value;

    use super::*;
    use crate::input::conversion::write_everything;
    use crate::input::merge::MergedEvents;
    use hrx_trace_tests::capture::{Capture as Made, region, running};

    fn captures() -> Captures {
        let mut made = Made::new(8);
        let label = made.label("a \"quoted\", comma\nline 🚀");
        made.record(Record {
            label_id: label,
            copied_bytes: u64::MAX,
            correlation_id: 7,
            flags: 1,
            status: 5,
            ..region(1, 1_000, 2_345)
        });
        made.tear().open(0, running(9, 2_000));
        Captures::of_bytes([made.bytes()])
    }

    #[test]
    fn json_lines() {
        let captures = captures();
        let mut lines = Vec::new();
        write_everything(&captures, JsonLines::new(&mut lines));
        let text = String::from_utf8(lines).expect("UTF-8");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..2],
            [
                r#"{"kind":"region","capture":0,"pid":4242,"state":"completed","start_ns":1000,"duration_ns":2345,"lane":1,"lane_name":"compute","label":"a \"quoted\", comma\nline 🚀","copied_bytes":18446744073709551615,"correlation_id":7,"thread_id":99,"status":5,"failed":true,"saturated":false,"ring":0,"sequence":1,"measurement":"host-observed","process_id":4242,"file":"0.hrxt"}"#,
                r#"{"kind":"region","capture":0,"pid":4242,"state":"open","start_ns":2000,"duration_ns":1345,"lane":9,"lane_name":"lane 9","label":"native region","copied_bytes":0,"correlation_id":0,"thread_id":99,"status":0,"failed":false,"saturated":false,"ring":0,"sequence":0,"measurement":"host-observed","process_id":4242,"file":"0.hrxt"}"#,
            ]
        );
        let account: Value = serde_json::from_str(lines[2]).expect("JSON");
        assert_eq!(account["kind"], "account");
        assert_eq!(account["account"]["torn"], 1);
        assert_eq!(account["measurement"], MEASUREMENT);
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn csv() {
        let captures = captures();
        let mut table = Vec::new();
        write_everything(&captures, Csv::new(&mut table, false).expect("memory"));
        assert_eq!(
            String::from_utf8(table).expect("UTF-8"),
            "capture,pid,state,start_ns,duration_ns,lane,lane_name,label,copied_bytes,correlation_id,thread_id,status,failed,saturated,ring,sequence,measurement,process_id,file
0,4242,completed,1000,2345,1,compute,\"a \"\"quoted\"\", comma\nline 🚀\",18446744073709551615,7,99,5,true,false,0,1,host-observed,4242,0.hrxt
0,4242,open,2000,1345,9,lane 9,native region,0,0,99,0,false,false,0,0,host-observed,4242,0.hrxt
"
        );
    }

    /// The bug: a label such as "=HYPERLINK(…)" became a formula in a spreadsheet. Found by reading what such programs do with cells.
    #[test]
    fn no_cell_is_a_formula() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@sum", "'@sum"),
            ("\t=1", "'\t=1"),
            ("gemm=1", "gemm=1"),
        ] {
            let mut made = Made::new(1);
            let label_id = made.label(text);
            made.record(Record {
                label_id,
                ..region(1, 1_000, 1)
            });
            made.open(
                0,
                hrx_trace_format::OpenRecord {
                    label_id,
                    ..running(1, 2_000)
                },
            );
            let captures = Captures::of_bytes([made.bytes()]);
            let labels = |for_spreadsheets| {
                let mut table = Vec::new();
                let csv = Csv::new(&mut table, for_spreadsheets).expect("memory");
                write_everything(&captures, csv);
                let mut rows = csv::Reader::from_reader(table.as_slice());
                let rows = rows.records().map(|row| row.expect("a row")[7].to_owned());
                rows.collect::<Vec<_>>()
            };
            assert_eq!(labels(true), [cell, cell]);
            assert_eq!(labels(false), [text, text]);
        }
    }

    /// The head is written separately from the rows.
    #[test]
    fn the_columns_are_the_fields() {
        let captures = captures();
        let event = MergedEvents::new(captures.iter().as_slice(), 0)
            .next()
            .expect("an event")
            .1;
        let region = TableRow::completed(&captures[0], &event, "gemm");
        let value = serde_json::to_string(&region).expect("JSON");
        let mut from = 0;
        for column in COLUMN_NAMES {
            let key = format!("\"{column}\":");
            from += value[from..].find(&key).expect("the column, in its place") + key.len();
        }
        let fields = serde_json::to_value(&region).expect("JSON");
        assert_eq!(
            fields.as_object().map(|fields| fields.len()),
            Some(COLUMN_NAMES.len())
        );
    }

    #[test]
    fn the_document_describes_these_columns() {
        let document = include_str!("../../../../spec/OUTPUT.md");
        let described = document.lines().filter_map(|line| {
            let (column, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
            let _ = rest.split_once(" | ")?;
            Some(column)
        });
        assert!(described.eq(COLUMN_NAMES));
    }
}
