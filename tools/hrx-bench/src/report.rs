//! What a subcommand found out, as tables for people and as JSON for scripts.

use std::fmt::Write;

use serde::Serialize;

use crate::environment::Environment;
use crate::measuring::statistics::{median, minimum, ratio};

#[derive(Debug, Serialize)]
pub struct Report {
    pub environment: Environment,
    pub tables: Vec<Table>,
    /// What was not measured, and why.
    pub left_out: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Table {
    pub title: String,
    /// How it was measured, as far as the title does not say.
    pub note: &'static str,
    pub columns: &'static [Column],
    pub rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
pub struct Row {
    pub name: String,
    /// One per column; none: not applicable.
    pub cells: Vec<Option<f64>>,
    /// What the cells were computed from, one per round.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Column {
    pub name: &'static str,
    pub unit: Unit,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Nanoseconds,
    Seconds,
    Bytes,
    Count,
    Ratio,
}

pub const fn column(name: &'static str, unit: Unit) -> Column {
    Column { name, unit }
}

/// The columns of [`Row::cost`].
pub const COST_COLUMNS: &[Column] = &[
    column("median", Unit::Nanoseconds),
    column("minimum", Unit::Nanoseconds),
    column("ratio", Unit::Ratio),
];

impl Row {
    /// What an event costs a contender, and how that compares with the baseline.
    pub fn cost(name: &str, samples: &[f64], baseline: &[f64]) -> Self {
        Self {
            name: name.to_owned(),
            cells: vec![
                Some(median(samples)),
                Some(minimum(samples)),
                Some(ratio(samples, baseline)),
            ],
            samples: samples.to_vec(),
        }
    }
}

const NAME_WIDTH: usize = 44;
const CELL_WIDTH: usize = 11;

impl Report {
    /// As text of at most 100 columns.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let environment = &self.environment;
        let _ = writeln!(
            text,
            "{}, {} cores, {}; {}\n{}, commit {}; {}",
            environment.processor,
            environment.cores,
            Unit::Bytes.show(environment.memory_bytes as f64),
            environment.kernel,
            environment.date,
            environment.commit,
            environment
                .versions
                .iter()
                .map(|(name, version)| format!("{name} {version}"))
                .collect::<Vec<_>>()
                .join(", "),
        );
        for table in &self.tables {
            table.write(&mut text);
        }
        if !self.left_out.is_empty() {
            text.push_str("\nleft out:\n");
        }
        for reason in &self.left_out {
            let _ = writeln!(text, "  {}", reason.lines().next().unwrap_or_default());
        }
        text
    }
}

impl Table {
    fn write(&self, text: &mut String) {
        let _ = writeln!(text, "\n{}", self.title);
        if !self.note.is_empty() {
            let _ = writeln!(text, "({})", self.note);
        }
        let _ = write!(text, "{:NAME_WIDTH$}", "");
        for column in self.columns {
            let _ = write!(text, "{:>CELL_WIDTH$}", column.name);
        }
        text.push('\n');
        for row in &self.rows {
            let _ = write!(text, "  {:width$}", row.name, width = NAME_WIDTH - 2);
            for (column, cell) in self.columns.iter().zip(&row.cells) {
                let shown = cell.map_or_else(String::new, |value| column.unit.show(value));
                let _ = write!(text, "{shown:>CELL_WIDTH$}");
            }
            text.push('\n');
        }
    }
}

impl Unit {
    /// For people.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Nanoseconds if value < 1e3 => format!("{value:.1} ns"),
            Self::Nanoseconds if value < 1e6 => format!("{:.1} µs", value / 1e3),
            Self::Nanoseconds => format!("{:.1} ms", value / 1e6),
            Self::Seconds => format!("{value:.3} s"),
            Self::Bytes if value < f64::from(1 << 20) => {
                format!("{:.0} KiB", value / f64::from(1 << 10))
            }
            Self::Bytes if value < f64::from(1 << 30) => {
                format!("{:.0} MiB", value / f64::from(1 << 20))
            }
            Self::Bytes => format!("{:.1} GiB", value / f64::from(1 << 30)),
            Self::Count if value < 1e3 => format!("{value:.0}"),
            Self::Count if value < 1e6 => format!("{:.0} k", value / 1e3),
            Self::Count => format!("{:.2} M", value / 1e6),
            Self::Ratio => format!("{value:.2} x"),
        }
    }
}
