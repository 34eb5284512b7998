//! Tables no wider than a line: each column is as wide as its widest cell, and one of them is shortened if there is no room.

use std::fmt::Write as _;

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::text::printable::printable;
use crate::text::wrap::{LINE_COLUMNS_MAX, cut};

/// Between two columns.
const SPACE: &str = "  ";
/// The column that is shortened keeps at least this width.
const CUT_COLUMNS_MIN: usize = 10;

/// The side on which a cell's text is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A table being built.
#[derive(Debug)]
pub struct Table {
    aligns: Vec<Align>,
    /// The index of the column that is shortened.
    cut: usize,
    rows: Vec<(Style, Vec<String>)>,
}

impl Table {
    /// `cut` is the index of the column to shorten if there is no room. Empty headings make no row.
    pub fn new<const N: usize>(headings: [(&str, Align); N], cut: usize) -> Self {
        let mut table = Self {
            aligns: headings.iter().map(|(_, align)| *align).collect(),
            cut,
            rows: Vec::new(),
        };
        if headings.iter().any(|(heading, _)| !heading.is_empty()) {
            table.row(
                Style::new().dimmed(),
                headings.map(|(heading, _)| heading.to_owned()),
            );
        }
        table
    }

    /// Adds a row. Its cells are made printable.
    pub fn row<const N: usize>(&mut self, style: Style, cells: [String; N]) {
        self.rows
            .push((style, cells.map(|cell| printable(&cell)).into()));
    }

    /// The table as lines.
    pub fn text(&self) -> String {
        let mut widths: Vec<usize> = (0..self.aligns.len())
            .map(|column| {
                let cells = self.rows.iter().map(|(_, cells)| cells[column].width());
                cells.max().unwrap_or_default()
            })
            .collect();
        let spaces = SPACE.len() * widths.iter().filter(|width| **width > 0).count();
        let total = widths.iter().sum::<usize>() + spaces.saturating_sub(SPACE.len());
        let over = total.saturating_sub(LINE_COLUMNS_MAX);
        let cut_width = &mut widths[self.cut];
        *cut_width = cut_width
            .saturating_sub(over)
            .max(CUT_COLUMNS_MIN.min(*cut_width));

        let mut text = String::new();
        for (style, cells) in &self.rows {
            let mut line = String::new();
            for ((cell, width), align) in cells.iter().zip(&widths).zip(&self.aligns) {
                if *width == 0 {
                    continue;
                }
                if !line.is_empty() {
                    line.push_str(SPACE);
                }
                let cell = cut(cell, *width);
                // The formatter's padding counts characters, not columns.
                let padding = " ".repeat(width.saturating_sub(cell.width()));
                match align {
                    Align::Left => line.extend([cell.as_str(), &padding]),
                    Align::Right => line.extend([&padding, cell.as_str()]),
                }
            }
            let line = cut(line.trim_end(), LINE_COLUMNS_MAX);
            let _ = writeln!(text, "{style}{line}{style:#}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Align::{Left, Right};

    fn table(rows: &[[&str; 3]]) -> String {
        let mut table = Table::new([("name", Left), ("", Right), ("count", Right)], 0);
        for row in rows {
            table.row(Style::new(), row.map(str::to_owned));
        }
        anstream::adapter::strip_str(&table.text()).to_string()
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        assert_eq!(
            table(&[["gemm", "", "7"], ["大", "", "1,234,567"]]),
            "name      count\ngemm          7\n大    1,234,567\n"
        );
        assert_eq!(
            table(&[["a", "x", "1"]]),
            "name     count\na     x      1\n"
        );
    }

    #[test]
    fn one_column_is_cut() {
        let long = "g".repeat(200);
        let text = table(&[[&long, "x", "7"], ["b", "y", "8"]]);
        assert!(
            text.lines().all(|line| line.width() <= LINE_COLUMNS_MAX),
            "{text}"
        );
        assert!(
            text.lines().nth(1).unwrap().ends_with("ggg…  x      7"),
            "{text}"
        );
        let text = table(&[[&long, &long, "7"]]);
        assert!(
            text.lines().all(|line| line.width() <= LINE_COLUMNS_MAX),
            "{text}"
        );
    }
}
