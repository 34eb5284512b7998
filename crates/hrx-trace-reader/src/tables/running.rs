//! Which regions of the open table were still running.
//!
//! A writer records a region's end before it clears the region's slot. If it dies between the two, the file holds both; the ring's record then
//! wins, and the region is not running.

use hrx_trace_format::{OpenRecord, Record};

use crate::event::OpenRegion;

/// The latest completions that the rings' records prove.
#[derive(Debug)]
pub(crate) struct Completions {
    /// By slot of the open table, and within it by ring: the latest ticket of a region that ran there and completed; 0: none.
    latest: Vec<u64>,
    ring_count: usize,
}

impl Completions {
    pub(crate) fn new(open_slots: usize, ring_count: usize) -> Self {
        Self {
            latest: vec![0; open_slots.saturating_mul(ring_count)],
            ring_count,
        }
    }

    #[inline]
    fn index(&self, slot: usize, ring: u32) -> usize {
        slot.wrapping_mul(self.ring_count)
            .wrapping_add(ring as usize)
    }

    /// Takes note of a record of `ring`.
    #[inline]
    pub(crate) fn note(&mut self, ring: u32, record: &Record) {
        if let Some(slot) = record.open_slot.checked_sub(1) {
            let index = self.index(usize::from(slot), ring);
            if let Some(latest) = self.latest.get_mut(index) {
                *latest = record.sequence.max(*latest);
            }
        }
    }

    /// The regions of the open table that have not completed, oldest first.
    pub(crate) fn running(&self, slots: &[Option<OpenRecord>]) -> Vec<OpenRegion> {
        let mut regions: Vec<OpenRegion> = (0..)
            .zip(slots)
            .filter_map(|(slot, open)| Some((slot, open.as_ref()?)))
            .filter(|(slot, open)| {
                let latest = self.latest.get(self.index(*slot as usize, open.ring));
                // A slot holds one region at a time, so a later ticket from the same slot is this region, completed.
                latest.is_none_or(|ticket| *ticket <= open.claimed_at_begin)
            })
            .map(|(slot, open)| OpenRegion::new(slot, open))
            .collect();
        regions.sort_by_key(|region| region.start_ns);
        regions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ending::Ending;
    use crate::testing::{Image, from_slot, open_since, region};
    use bytemuck::Zeroable;
    use hrx_trace_format::record::FLAG_SATURATED;

    #[test]
    fn what_was_running() {
        let mut image = Image::new(4, 1);
        image.record_some(0, 2);
        image.open(
            1,
            OpenRecord {
                start_ns: 700,
                claimed_at_begin: 2,
                copied_bytes: 11,
                correlation_id: 12,
                lane: 3,
                label_id: 0,
                thread_id: 13,
                flags: FLAG_SATURATED,
                ..OpenRecord::zeroed()
            },
        );
        image.open(0, open_since(800, 2));
        let (_, report) = image.read();
        assert_eq!(report.ending, Ending::WriterDied);
        assert_eq!(report.open_torn, 0);
        assert_eq!(
            report.open_regions[0],
            OpenRegion {
                slot: 1,
                start_ns: 700,
                copied_bytes: 11,
                correlation_id: 12,
                lane: 3,
                label_id: 0,
                thread_id: 13,
                saturated: true
            }
        );
        assert_eq!(report.open_regions[1].slot, 0);
        assert_eq!(report.open_regions.len(), 2);
        // A region that never ended is shown after a finish too.
        image.finish(9000);
        assert_eq!(image.read().1.open_regions.len(), 2);
    }

    #[test]
    fn an_open_region_with_a_completed_record_is_not_running() {
        let mut image = Image::new(4, 2);
        image.record_some(0, 3);
        image.open(0, open_since(3100, 3));
        image.record(0, from_slot(0, 3100, 3500));
        let (events, report) = image.read();
        assert_eq!(events.len(), 4);
        assert_eq!(report.open_regions, []);
        assert_eq!(report.open_torn, 0);
    }

    #[test]
    fn an_earlier_occupant_of_the_slot_proves_nothing() {
        let mut image = Image::new(8, 2);
        image.record(0, from_slot(0, 100, 200));
        image.record(0, from_slot(0, 300, 400));
        // Began at the same clock tick as the one before: tickets are compared, not times.
        image.open(0, open_since(300, 2));
        // Other slots, other rings and regions recorded whole prove nothing either.
        image.record(0, from_slot(1, 300, 500));
        image.record_some(1, 2);
        image.record(1, from_slot(0, 300, 500));
        image.record(0, region(700));
        let (_, report) = image.read();
        assert_eq!(report.open_regions.len(), 1);
        assert_eq!(report.open_regions[0].start_ns, 300);
        // Nor does a torn record.
        let completed = image.record(0, from_slot(0, 300, 800));
        image.tear(0, completed);
        assert_eq!(image.read().1.open_regions.len(), 1);
        image.record(0, from_slot(0, 300, 800));
        assert_eq!(image.read().1.open_regions, []);
    }
}
