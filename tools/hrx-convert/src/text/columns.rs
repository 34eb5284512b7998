//! Tables no wider than a line: each column is as wide as its widest cell. If there is no room, one of them is shortened, and others are left out.

use std::fmt::Write as _;

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::output::printable::printable;
use crate::text::wrap::cut;

/// Between two columns.
const SPACE: &str = "  ";
/// The column that is shortened keeps this width as long as others can be left out.
const CUT_COLUMNS_WANTED: usize = 24;
/// It keeps at least this width.
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
    /// The indices of columns that can be left out, in that order.
    spare: &'static [usize],
    rows: Vec<(Style, Vec<String>)>,
}

impl Table {
    /// `cut` is the index of the column to shorten if there is no room. Empty headings make no row.
    pub fn new<const N: usize>(headings: [(&str, Align); N], cut: usize) -> Self {
        let mut table = Self {
            aligns: headings.iter().map(|(_, align)| *align).collect(),
            cut,
            spare: &[],
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

    /// The same table, which may leave out these columns if there is no room, in that order.
    pub fn sparing(mut self, columns: &'static [usize]) -> Self {
        self.spare = columns;
        self
    }

    /// Adds a row. Its cells are made printable.
    pub fn row<const N: usize>(&mut self, style: Style, cells: [String; N]) {
        self.rows
            .push((style, cells.map(|cell| printable(&cell)).into()));
    }

    /// The table as lines of at most that many columns.
    pub fn text(&self, columns: usize) -> String {
        let widths = self.widths(columns);
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
            let line = cut(line.trim_end(), columns);
            let _ = writeln!(text, "{style}{line}{style:#}");
        }
        text
    }

    /// The width of each column; 0 for those that are not shown.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..self.aligns.len())
            .map(|column| {
                let cells = self.rows.iter().map(|(_, cells)| cells[column].width());
                cells.max().unwrap_or_default()
            })
            .collect();
        let whole = widths[self.cut];
        let mut spare = self.spare.iter();
        loop {
            let spaces = SPACE.len() * widths.iter().filter(|width| **width > 0).count();
            let total = widths.iter().sum::<usize>() + spaces.saturating_sub(SPACE.len());
            let room = whole.saturating_sub(total.saturating_sub(columns));
            match spare.next() {
                Some(column) if room < CUT_COLUMNS_WANTED.min(whole) => widths[*column] = 0,
                _ => {
                    widths[self.cut] = room.max(CUT_COLUMNS_MIN.min(whole));
                    return widths;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::console::COLUMNS;
    use Align::{Left, Right};

    fn table(rows: &[[&str; 3]]) -> String {
        let mut table = Table::new([("name", Left), ("", Right), ("count", Right)], 0);
        for row in rows {
            table.row(Style::new(), row.map(str::to_owned));
        }
        anstream::adapter::strip_str(&table.text(COLUMNS)).to_string()
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
        assert!(text.lines().all(|line| line.width() <= COLUMNS), "{text}");
        assert!(
            text.lines().nth(1).unwrap().ends_with("gggg  x      7"),
            "{text}"
        );
        let text = table(&[[&long, &long, "7"]]);
        assert!(text.lines().all(|line| line.width() <= COLUMNS), "{text}");
    }

    /// The bug: tables were 97 columns wide in a terminal of 80, and labels were cut after 31 columns in one of 200.
    #[test]
    fn the_room_is_used_and_not_exceeded() {
        let label = "gemm_kernel<float, 128, 64, 8, row_major, column_major>";
        let mut table = Table::new(
            [
                ("label", Left),
                ("count", Right),
                ("p50", Right),
                ("p90", Right),
            ],
            0,
        )
        .sparing(&[3]);
        let cells = [label, "1,234,567", "123 µs", "456 µs"];
        table.row(Style::new(), cells.map(str::to_owned));
        let line = |columns| {
            let text = anstream::adapter::strip_str(&table.text(columns)).to_string();
            text.lines().nth(1).map(str::to_owned).expect("a row")
        };
        assert_eq!(line(250), format!("{label}  1,234,567  123 µs  456 µs"));
        assert_eq!(
            line(60),
            "gemm_kernel<floa…r, column_major>  1,234,567  123 µs  456 µs"
        );
        assert_eq!(line(45), "gemm_kernel<f…olumn_major>  1,234,567  123 µs");
        assert_eq!(line(30), "gemm_…ajor>  1,234,567  123 µs");
    }
}
