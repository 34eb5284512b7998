//! Which row of its lane a region is drawn in, so that no two regions of a row overlap.

/// Rows of a lane. In the last one, regions may overlap.
const ROWS_MAX: usize = 64;

/// The rows of a lane.
#[derive(Default)]
pub struct Rows {
    /// Where the regions of each row end.
    ends_ns: Vec<u64>,
}

impl Rows {
    pub fn count(&self) -> usize {
        self.ends_ns.len()
    }

    /// The first row that is free when the region begins. Regions come in the order of their beginnings.
    pub fn place(&mut self, start_ns: u64, end_ns: u64) -> usize {
        let mut ends_ns = self.ends_ns.iter();
        let index = match ends_ns.position(|row_end_ns| *row_end_ns <= start_ns) {
            Some(free) => free,
            None if self.ends_ns.len() < ROWS_MAX => {
                self.ends_ns.push(0);
                self.ends_ns.len() - 1
            }
            None => ROWS_MAX - 1,
        };
        self.ends_ns[index] = self.ends_ns[index].max(end_ns);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_regions_of_a_row_overlap_except_in_the_last() {
        let mut rows = Rows::default();
        assert_eq!(rows.place(0, 100), 0);
        assert_eq!(rows.place(10, 20), 1);
        assert_eq!(rows.place(20, 30), 1);
        assert_eq!(rows.place(100, 100), 0);
        for i in 0..100 {
            assert_eq!(rows.place(200, 300), i.min(ROWS_MAX - 1));
        }
    }
}
