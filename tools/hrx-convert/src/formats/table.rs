//! Tables for scripts and query engines: JSON lines and CSV, with the same columns. spec/OUTPUT.md describes them.
//!
//! Invariants:
//! - The columns are stable: new ones are added at the end, and none is renamed, moved or given another meaning.
//! - A region, a mark or a value is a row. Rows are in the order of completion; after them come the regions that were still running, with the state
//!   "open".
//! - No cell of a number is ever empty, so that engines keep the column an integer. Integers are written with all their digits.
//! - The last of the JSON lines is of another kind: the account of losses. CSV has no place for it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use hrx_trace_format::MEASUREMENT;
use hrx_trace_reader::{Argument, Event, Kind, OpenRegion};
use serde::Serialize;

use crate::figures::arguments::{ArgumentsObject, Integers, Keys};
use crate::figures::metadata::Metadata;
use crate::input::captures::{Capture, Captures};
use crate::input::format::{FollowedFormat, Format};
use crate::input::outcome::{Outcome, running_until};
use crate::output::printable::printable_json;
use crate::text::names::{Names, label_group, lane_text, thread_name};

const BUFFER_BYTES: usize = 256 << 10;
/// The measurement, in one word for each row.
const HOST_OBSERVED: &str = "host-observed";

/// A region, a mark or a value. The names of the fields are those of the columns.
#[derive(Serialize)]
struct TableRow<'row> {
    /// JSON begins with it; in CSV it is between the others.
    kind: RowKind,
    #[serde(flatten)]
    first: FirstColumns<'row>,
    #[serde(flatten)]
    further: FurtherColumns<'row, ArgumentsObject<'row>>,
}

#[derive(Serialize)]
struct FirstColumns<'row> {
    /// The capture's place among those given, from 0.
    capture: usize,
    pid: u32,
    state: RowState,
    start_ns: u64,
    /// Of an open region, until its process was seen to end, or up to the last sign of life.
    duration_ns: u64,
    lane: u32,
    /// Empty: a value has no lane.
    lane_name: Cow<'row, str>,
    label: Cow<'row, str>,
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
    file: Cow<'row, str>,
}

/// The columns after the kind.
#[derive(Serialize)]
struct FurtherColumns<'row, Arguments> {
    value: f64,
    cancelled: bool,
    waiting: bool,
    hidden: bool,
    /// The thread's name; empty: none.
    thread: Cow<'row, str>,
    /// The group of the label; empty: none.
    group: Cow<'row, str>,
    arguments: Arguments,
    arguments_lost: u64,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum RowKind {
    Region,
    Mark,
    Value,
}

impl RowKind {
    fn of(kind: Kind) -> io::Result<Self> {
        match kind {
            Kind::Region => Ok(Self::Region),
            Kind::Mark => Ok(Self::Mark),
            Kind::Value => Ok(Self::Value),
            _ => Err(io::Error::other(format!("no row for a {kind:?}"))),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum RowState {
    Completed,
    Open,
}

/// What rows are made with.
struct Rows {
    labels: Names,
    /// Of each capture.
    keys: BTreeMap<usize, Keys>,
    label: Vec<u8>,
}

/// Between a label and its group: a byte that no text has.
const BETWEEN: u8 = 0xFF;

impl Rows {
    fn new() -> Self {
        Self {
            labels: Names::new(push_label_and_group),
            keys: BTreeMap::new(),
            label: Vec::new(),
        }
    }

    fn completed<'row>(
        &'row mut self,
        capture: &'row Capture,
        event: &'row Event,
    ) -> io::Result<TableRow<'row>> {
        let arguments = self.arguments(capture, &event.arguments);
        let thread = thread_name(capture, event.thread_id, event.end_ns());
        let (label, group) = self.label_and_group(capture, event.label_id);
        Ok(TableRow {
            kind: RowKind::of(event.kind)?,
            first: FirstColumns {
                capture: capture.index,
                pid: capture.pid,
                state: RowState::Completed,
                start_ns: event.start_ns,
                duration_ns: event.duration_ns,
                lane: event.lane,
                lane_name: match event.kind {
                    Kind::Value => Cow::default(),
                    _ => lane_text(capture, event.lane).into(),
                },
                label,
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
            },
            further: FurtherColumns {
                value: event.value,
                cancelled: event.cancelled,
                waiting: false,
                hidden: event.hidden,
                thread: thread.unwrap_or_default().into(),
                group,
                arguments,
                arguments_lost: event.arguments_lost,
            },
        })
    }

    fn open<'row>(
        &'row mut self,
        capture: &'row Capture,
        region: &'row OpenRegion,
        until_ns: u64,
    ) -> TableRow<'row> {
        let arguments = self.arguments(capture, &region.arguments);
        let thread = thread_name(capture, region.thread_id, region.start_ns);
        let (label, group) = self.label_and_group(capture, region.label_id);
        TableRow {
            kind: RowKind::Region,
            first: FirstColumns {
                capture: capture.index,
                pid: capture.pid,
                state: RowState::Open,
                start_ns: region.start_ns,
                duration_ns: until_ns.saturating_sub(region.start_ns),
                lane: region.lane,
                lane_name: lane_text(capture, region.lane).into(),
                label,
                copied_bytes: region.copied_bytes,
                correlation_id: region.correlation_id,
                thread_id: region.thread_id,
                status: region.status,
                failed: false,
                saturated: region.saturated,
                ring: 0,
                sequence: 0,
                measurement: HOST_OBSERVED,
                process_id: capture.trace.identity().process_id,
                file: capture.path.to_string_lossy(),
            },
            further: FurtherColumns {
                value: 0.0,
                cancelled: false,
                waiting: region.waiting,
                hidden: false,
                thread: thread.unwrap_or_default().into(),
                group,
                arguments,
                arguments_lost: region.arguments_lost,
            },
        }
    }

    fn arguments<'event>(
        &mut self,
        capture: &Capture,
        arguments: &'event [Argument],
    ) -> ArgumentsObject<'event> {
        let keys = self.keys.entry(capture.index).or_default();
        keys.object(&capture.trace, arguments, Integers::AsNumbers)
    }

    fn label_and_group(
        &mut self,
        capture: &Capture,
        label_id: u32,
    ) -> (Cow<'_, str>, Cow<'_, str>) {
        self.label.clear();
        self.labels.push(&mut self.label, capture, label_id);
        let mut parts = self.label.split(|byte| *byte == BETWEEN);
        let mut part = || String::from_utf8_lossy(parts.next().unwrap_or_default());
        (part(), part())
    }
}

fn push_label_and_group(capture: &Capture, label_id: u32, cell: &mut Vec<u8>) {
    // An empty label is no missing one.
    cell.extend_from_slice(capture.trace.name(label_id).as_bytes());
    cell.push(BETWEEN);
    let group = label_group(&capture.trace, label_id);
    cell.extend_from_slice(group.unwrap_or_default().as_bytes());
}

/// The regions that were still running, capture by capture.
fn all_open<'outcome>(
    captures: &'outcome Captures,
    outcomes: &'outcome [Outcome],
) -> impl Iterator<Item = (&'outcome Capture, &'outcome OpenRegion, u64)> {
    let reports = outcomes.iter().map(|outcome| &outcome.report);
    captures.iter().zip(reports).flat_map(|(capture, report)| {
        let open = report.open_regions.iter();
        let (until_ns, _) = running_until(&capture.trace, report, capture.shift_ns);
        open.map(move |region| (capture, region, until_ns))
    })
}

/// Writes one object a line: {"kind":"region", …} for each region, {"kind":"mark", …} and {"kind":"value", …}, then {"kind":"account", …}.
pub struct JsonLines<Sink: Write> {
    sink: BufWriter<Sink>,
    /// The line that is being written.
    line: Vec<u8>,
    rows: Rows,
}

#[derive(Serialize)]
struct AccountLine<'line> {
    kind: &'static str,
    measurement: &'static str,
    #[serde(flatten)]
    facts: Metadata<'line>,
}

impl<Sink: Write> JsonLines<Sink> {
    pub fn new(sink: Sink) -> Self {
        Self {
            sink: BufWriter::with_capacity(BUFFER_BYTES, sink),
            line: Vec::new(),
            rows: Rows::new(),
        }
    }

    fn line(
        sink: &mut BufWriter<Sink>,
        buffer: &mut Vec<u8>,
        line: &impl Serialize,
    ) -> io::Result<()> {
        buffer.clear();
        serde_json::to_writer(&mut *buffer, line)?;
        buffer.push(b'\n');
        let text = str::from_utf8(buffer).map_err(io::Error::other)?;
        sink.write_all(printable_json(text).as_bytes())
    }
}

impl<Sink: Write> Format for JsonLines<Sink> {
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        let row = self.rows.completed(capture, event)?;
        Self::line(&mut self.sink, &mut self.line, &row)
    }

    fn moment(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        self.event(capture, event)
    }

    fn finish(mut self, captures: &Captures, outcomes: &mut [Outcome]) -> io::Result<()> {
        for (capture, region, until_ns) in all_open(captures, outcomes) {
            let row = self.rows.open(capture, region, until_ns);
            Self::line(&mut self.sink, &mut self.line, &row)?;
        }
        let account = AccountLine {
            kind: "account",
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

/// Writes a head with the names of the columns, then one region, mark or value a line. Cells are quoted as in RFC 4180 where needed; lines end with LF.
pub struct Csv<Sink: Write> {
    lines: csv::Writer<Sink>,
    rows: Rows,
    /// What each text passes.
    defuse: Defuse,
}

type Defuse = fn(Cow<'_, str>) -> Cow<'_, str>;

impl<Sink: Write> Csv<Sink> {
    /// Writes the head, which is there even if there are no regions. `for_spreadsheets`: no text is taken for a formula.
    pub fn new(sink: Sink, for_spreadsheets: bool) -> io::Result<Self> {
        let mut lines = csv::WriterBuilder::new()
            .has_headers(false)
            .buffer_capacity(BUFFER_BYTES)
            .from_writer(sink);
        lines.write_record(COLUMN_NAMES).map_err(io_error)?;
        Ok(Self {
            lines,
            rows: Rows::new(),
            defuse: if for_spreadsheets {
                defused
            } else {
                |text| text
            },
        })
    }

    fn line(lines: &mut csv::Writer<Sink>, defuse: Defuse, row: TableRow<'_>) -> io::Result<()> {
        let TableRow {
            kind,
            mut first,
            further,
        } = row;
        first.lane_name = defuse(first.lane_name);
        first.label = defuse(first.label);
        first.file = defuse(first.file);
        let further = FurtherColumns {
            thread: defuse(further.thread),
            group: defuse(further.group),
            arguments: serde_json::to_string(&further.arguments)?,
            value: further.value,
            cancelled: further.cancelled,
            waiting: further.waiting,
            hidden: further.hidden,
            arguments_lost: further.arguments_lost,
        };
        lines.serialize((first, kind, further)).map_err(io_error)
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
const COLUMN_NAMES: [&str; 28] = [
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
    "kind",
    "value",
    "cancelled",
    "waiting",
    "hidden",
    "thread",
    "group",
    "arguments",
    "arguments_lost",
];

impl<Sink: Write> Format for Csv<Sink> {
    fn event(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        let row = self.rows.completed(capture, event)?;
        Self::line(&mut self.lines, self.defuse, row)
    }

    fn moment(&mut self, capture: &Capture, event: &Event) -> io::Result<()> {
        self.event(capture, event)
    }

    fn finish(mut self, captures: &Captures, outcomes: &mut [Outcome]) -> io::Result<()> {
        for (capture, region, until_ns) in all_open(captures, outcomes) {
            let row = self.rows.open(capture, region, until_ns);
            Self::line(&mut self.lines, self.defuse, row)?;
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
        self.lines.flush()
    }
}

#[cfg(test)]
mod tests {
    use hrx_trace_format::name::{LANE_NAMED_FIRST, NAME_LABEL};
    use hrx_trace_format::record::{FLAG_CANCELLED, FLAG_WAITING, OPEN_SLOT_NONE};
    use hrx_trace_format::{ArgumentValue, Mark, Name as Written, OpenRecord, Record};
    use serde_json::Value;

    use super::*;
    use crate::input::conversion::write_everything;
    use hrx_trace_tests::capture::{Capture as Made, mark, region, running, value};

    fn captures() -> Captures {
        let mut made = Made::new(64);
        let label = made.label("a \"quoted\", comma\nline 🚀");
        let gpu = made.group("GPU 0");
        made.name(&Written::lane(LANE_NAMED_FIRST, "stream 3").in_group(gpu));
        made.name(&Written::thread(6105, 1_200, "worker-3"));
        let depth = made.name(&Written::of(NAME_LABEL, "depth").in_group(gpu));
        let [batch, path] = ["batch", "path"].map(|key| made.key(key));
        made.record(Record {
            label_id: label,
            copied_bytes: u64::MAX,
            correlation_id: 7,
            flags: 1,
            status: 5,
            ..region(1, 1_000, 2_345)
        });
        let mark = mark(LANE_NAMED_FIRST, 1_500);
        made.mark_with(
            Mark {
                thread_id: 6105,
                label_id: depth,
                correlation_id: 8,
                ..mark
            },
            &[
                (batch, ArgumentValue::U64(u64::MAX)),
                (path, ArgumentValue::Text(b"a, \"b\"")),
                (batch, ArgumentValue::F64(0.5)),
            ],
        );
        made.value(value(depth, 1_600, -2.5e-7));
        made.value(value(depth, 1_700, f64::INFINITY));
        made.record(Record {
            flags: FLAG_CANCELLED,
            open_slot: OPEN_SLOT_NONE,
            ..region(0, 1_800, 0)
        });
        made.tear();
        let open = OpenRecord {
            thread_id: 6105,
            ..running(9, 2_000)
        };
        made.open_with(0, open, &[(batch, ArgumentValue::Bool(true))]);
        made.amend(0, |amendment| {
            amendment.flags |= FLAG_WAITING;
            amendment.label_id = depth;
            amendment.status = 3;
        });
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
            lines[..6],
            [
                r#"{"kind":"region","capture":0,"pid":4242,"state":"completed","start_ns":1000,"duration_ns":2345,"lane":1,"lane_name":"compute","label":"a \"quoted\", comma\nline 🚀","copied_bytes":18446744073709551615,"correlation_id":7,"thread_id":99,"status":5,"failed":true,"saturated":false,"ring":0,"sequence":1,"measurement":"host-observed","process_id":4242,"file":"0.hrxt","value":0.0,"cancelled":false,"waiting":false,"hidden":false,"thread":"","group":"","arguments":{},"arguments_lost":0}"#,
                r#"{"kind":"mark","capture":0,"pid":4242,"state":"completed","start_ns":1500,"duration_ns":0,"lane":2147483648,"lane_name":"GPU 0: stream 3","label":"depth","copied_bytes":0,"correlation_id":8,"thread_id":6105,"status":0,"failed":false,"saturated":false,"ring":0,"sequence":5,"measurement":"host-observed","process_id":4242,"file":"0.hrxt","value":0.0,"cancelled":false,"waiting":false,"hidden":false,"thread":"worker-3","group":"GPU 0","arguments":{"batch":[18446744073709551615,0.5],"path":"a, \"b\""},"arguments_lost":0}"#,
                r#"{"kind":"value","capture":0,"pid":4242,"state":"completed","start_ns":1600,"duration_ns":0,"lane":0,"lane_name":"","label":"depth","copied_bytes":0,"correlation_id":0,"thread_id":99,"status":0,"failed":false,"saturated":false,"ring":0,"sequence":6,"measurement":"host-observed","process_id":4242,"file":"0.hrxt","value":-2.5e-7,"cancelled":false,"waiting":false,"hidden":false,"thread":"","group":"GPU 0","arguments":{},"arguments_lost":0}"#,
                r#"{"kind":"value","capture":0,"pid":4242,"state":"completed","start_ns":1700,"duration_ns":0,"lane":0,"lane_name":"","label":"depth","copied_bytes":0,"correlation_id":0,"thread_id":99,"status":0,"failed":false,"saturated":false,"ring":0,"sequence":7,"measurement":"host-observed","process_id":4242,"file":"0.hrxt","value":null,"cancelled":false,"waiting":false,"hidden":false,"thread":"","group":"GPU 0","arguments":{},"arguments_lost":0}"#,
                r#"{"kind":"region","capture":0,"pid":4242,"state":"completed","start_ns":1800,"duration_ns":0,"lane":0,"lane_name":"upload","label":"native region","copied_bytes":0,"correlation_id":0,"thread_id":99,"status":0,"failed":false,"saturated":false,"ring":0,"sequence":8,"measurement":"host-observed","process_id":4242,"file":"0.hrxt","value":0.0,"cancelled":true,"waiting":false,"hidden":true,"thread":"","group":"","arguments":{},"arguments_lost":0}"#,
                r#"{"kind":"region","capture":0,"pid":4242,"state":"open","start_ns":2000,"duration_ns":1345,"lane":9,"lane_name":"lane 9","label":"depth","copied_bytes":0,"correlation_id":0,"thread_id":6105,"status":3,"failed":false,"saturated":false,"ring":0,"sequence":0,"measurement":"host-observed","process_id":4242,"file":"0.hrxt","value":0.0,"cancelled":false,"waiting":true,"hidden":false,"thread":"worker-3","group":"GPU 0","arguments":{"batch":true},"arguments_lost":0}"#,
            ]
        );
        let account: Value = serde_json::from_str(lines[6]).expect("JSON");
        assert_eq!(account["kind"], "account");
        assert_eq!(account["account"]["torn"], 1);
        assert_eq!(account["measurement"], MEASUREMENT);
        assert_eq!(lines.len(), 7);
    }

    #[test]
    fn csv() {
        let captures = captures();
        let mut table = Vec::new();
        write_everything(&captures, Csv::new(&mut table, false).expect("memory"));
        assert_eq!(
            String::from_utf8(table).expect("UTF-8"),
            "capture,pid,state,start_ns,duration_ns,lane,lane_name,label,copied_bytes,correlation_id,thread_id,status,failed,saturated,ring,sequence,measurement,process_id,file,kind,value,cancelled,waiting,hidden,thread,group,arguments,arguments_lost
0,4242,completed,1000,2345,1,compute,\"a \"\"quoted\"\", comma\nline 🚀\",18446744073709551615,7,99,5,true,false,0,1,host-observed,4242,0.hrxt,region,0.0,false,false,false,,,{},0
0,4242,completed,1500,0,2147483648,GPU 0: stream 3,depth,0,8,6105,0,false,false,0,5,host-observed,4242,0.hrxt,mark,0.0,false,false,false,worker-3,GPU 0,\"{\"\"batch\"\":[18446744073709551615,0.5],\"\"path\"\":\"\"a, \\\"\"b\\\"\"\"\"}\",0
0,4242,completed,1600,0,0,,depth,0,0,99,0,false,false,0,6,host-observed,4242,0.hrxt,value,-2.5e-7,false,false,false,,GPU 0,{},0
0,4242,completed,1700,0,0,,depth,0,0,99,0,false,false,0,7,host-observed,4242,0.hrxt,value,inf,false,false,false,,GPU 0,{},0
0,4242,completed,1800,0,0,upload,native region,0,0,99,0,false,false,0,8,host-observed,4242,0.hrxt,region,0.0,true,false,true,,,{},0
0,4242,open,2000,1345,9,lane 9,depth,0,0,6105,3,false,false,0,0,host-observed,4242,0.hrxt,region,0.0,false,true,false,worker-3,GPU 0,\"{\"\"batch\"\":true}\",0
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
                OpenRecord {
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
        let mut lines = Vec::new();
        write_everything(&captures, JsonLines::new(&mut lines));
        let line = String::from_utf8(lines).expect("UTF-8");
        let line = line.lines().next().expect("a line");
        let mut from = 0;
        // JSON lines begin with the kind.
        for column in COLUMN_NAMES.iter().filter(|column| **column != "kind") {
            let key = format!(",\"{column}\":");
            from += line[from..].find(&key).expect("the column, in its place") + key.len();
        }
        let fields: Value = serde_json::from_str(line).expect("JSON");
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
