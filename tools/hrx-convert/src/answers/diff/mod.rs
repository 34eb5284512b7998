//! `--diff A B`: what became slower, faster, more or fewer between two captures, by lane and label.
//!
//! Within the answer, from the bottom up: `percentile`, `difference`, `text`.

mod difference;
mod percentile;
mod text;

use std::io::{self, Write};
use std::mem;

use anstream::adapter::strip_str;
use anyhow::{Context as _, ensure};
use hrx_trace_reader::Event;

use crate::answers::diff::difference::{Difference, FiguresByName, by_name};
use crate::answers::diff::percentile::Percentile;
use crate::cli::Arguments;
use crate::figures::groups::label_key_name;
use crate::figures::statistics::{Query, Statistics};
use crate::formats::DifferencePage;
use crate::input::captures::{Capture, Captures};
use crate::input::conversion::write_all;
use crate::input::filter::Filter;
use crate::input::format::Format;
use crate::input::outcome::Outcome;
use crate::output::console::wants_colour;
use crate::output::file::Output;
use crate::text::quantities::counted;

/// Writes the difference between two captures that the command line asks for.
///
/// # Errors
/// There are not two captures, or the output or a temporary file cannot be written.
pub fn answer(
    captures: &Captures,
    filter: &mut Filter,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let count = captures.len();
    ensure!(
        count == 2,
        "found {} to compare, expected two",
        counted(count as u64, "capture")
    );
    let path = arguments.output.as_deref();
    let colour = wants_colour(path);
    let rendering = match (arguments.json, arguments.format().difference_page()) {
        (true, _) => Rendering::Json,
        (false, Some(page)) => Rendering::Page(page),
        (false, None) => Rendering::Text { colour },
    };
    let mut output = Output::create(path, arguments.output_options())?;
    let diff = Diff::new(rendering, &mut output);
    write_all(captures, filter, diff, colour)
        .with_context(|| format!("cannot write {}", output.name()))?;
    output.commit()
}

/// How a difference is written.
#[derive(Clone, Copy, Debug)]
enum Rendering {
    Text { colour: bool },
    Json,
    Page(DifferencePage),
}

/// Compares two captures.
struct Diff<Sink> {
    sink: Sink,
    rendering: Rendering,
    statistics: Statistics,
    /// Those of the captures whose last event has been read.
    figures: Vec<FiguresByName>,
}

impl<Sink: Write> Diff<Sink> {
    /// For exactly two captures.
    fn new(rendering: Rendering, sink: Sink) -> Self {
        Self {
            sink,
            rendering,
            statistics: Statistics::default(),
            figures: Vec::new(),
        }
    }
}

impl<Sink: Write> Format for Diff<Sink> {
    const ONE_BY_ONE: bool = true;

    #[inline]
    fn event(&mut self, _: &Capture, event: &Event) -> io::Result<()> {
        self.statistics.event(event)
    }

    fn ended(&mut self, capture: &Capture, outcome: &Outcome) -> io::Result<()> {
        let name = |label| label_key_name(&capture.trace, label);
        let query = Query {
            describe: |durations| [0.5, 0.99].map(|quantile| Percentile::new(durations, quantile)),
            name: Some(&name),
        };
        let figures = mem::take(&mut self.statistics).finish(
            &outcome.report.open_regions,
            outcome.report.last_ns,
            outcome.last_shown_ns(),
            &query,
        )?;
        self.figures.push(by_name(figures, name));
        Ok(())
    }

    fn finish(mut self, captures: &Captures, _: &[Outcome]) -> io::Result<()> {
        let files = [0, 1].map(|at| captures[at].path.display().to_string());
        let difference = Difference::new(files, [0, 1].map(|at| &self.figures[at]));
        match self.rendering {
            Rendering::Json => {
                serde_json::to_writer_pretty(&mut self.sink, &difference)?;
                self.sink.write_all(b"\n")?;
            }
            Rendering::Page(write) => {
                write(&mut self.sink, &serde_json::to_string(&difference)?)?;
            }
            Rendering::Text { colour } => {
                let mut text = text::text(&difference);
                if !colour {
                    text = strip_str(&text).to_string();
                }
                self.sink.write_all(text.as_bytes())?;
            }
        }
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::conversion::write_everything;
    use hrx_trace_tests::capture::{Capture as Made, region};

    fn difference(durations: [&dyn Fn(u64) -> u64; 2], counts: [u64; 2]) -> serde_json::Value {
        let files = [0, 1].map(|at| {
            let mut made = Made::new(10_000);
            let label_id = made.label(if at == 0 { "gemm" } else { "other" });
            let gemm = if at == 0 {
                label_id
            } else {
                made.label("gemm")
            };
            for i in 0..counts[at] {
                made.record(hrx_trace_format::Record {
                    label_id: gemm,
                    ..region(1, i * 1_000, durations[at](i))
                });
            }
            made.bytes()
        });
        let captures = Captures::of_bytes(files);
        let mut sink = Vec::new();
        write_everything(&captures, Diff::new(Rendering::Json, &mut sink));
        serde_json::from_slice(&sink).unwrap()
    }

    #[test]
    fn labels_are_matched_by_name_and_claims_need_regions() {
        let even = |i: u64| 10_000 + i % 100;
        let slow = |i: u64| 20_000 + i % 100;
        let row = |difference: &serde_json::Value| difference["rows"][1].clone();
        let slower = row(&difference([&even, &slow], [1_000, 2_000]));
        assert_eq!(slower["label"], "gemm");
        assert_eq!(
            slower["count"],
            serde_json::json!({"a": 1000, "b": 2000, "ratio": 2.0})
        );
        assert_eq!(
            (&slower["p50"], &slower["p99"]),
            (&"slower".into(), &"slower".into())
        );
        assert_eq!(
            row(&difference([&slow, &even], [1_000, 2_000]))["p50"],
            "faster"
        );
        assert_eq!(
            row(&difference([&even, &even], [1_000, 2_000]))["p50"],
            "unclear"
        );
        // The median of 100 can be told, their 99th percentile cannot.
        let few = row(&difference([&even, &slow], [100, 100]));
        assert_eq!(
            (&few["p50"], &few["p99"]),
            (&"slower".into(), &"too-few".into())
        );
        assert_eq!(row(&difference([&even, &slow], [3, 100]))["p50"], "too-few");
        let none = row(&difference([&even, &slow], [0, 100]));
        assert_eq!(
            (&none["p50"], &none["count"]["ratio"]),
            (&"too-few".into(), &serde_json::Value::Null)
        );
    }
}
