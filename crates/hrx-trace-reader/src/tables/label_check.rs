//! Which labels the events name, so that each is verified once, and the unreadable ones are reported.

use crate::damage::Damage;
use crate::source::Source;
use crate::tables::label::{Label, LabelTable};

/// The labels named so far.
#[derive(Debug)]
pub(crate) struct LabelCheck {
    /// One bit for each block of the table, and one for all labels past its end.
    seen: Vec<u64>,
    unreadable: u64,
    first_unreadable: Option<u32>,
}

impl LabelCheck {
    pub(crate) fn new(table: &LabelTable) -> Self {
        Self {
            seen: vec![0; table.blocks().div_euclid(64).saturating_add(1)],
            unreadable: 0,
            first_unreadable: None,
        }
    }

    #[inline]
    pub(crate) fn note(&mut self, source: &Source, table: &LabelTable, label_id: u32) {
        let word = self.seen.get((label_id / 64) as usize);
        if word.is_none_or(|word| word >> (label_id % 64) & 1 == 0) {
            self.note_new(source, table, label_id);
        }
    }

    #[cold]
    fn note_new(&mut self, source: &Source, table: &LabelTable, label_id: u32) {
        let bits = self.seen.len().saturating_mul(64);
        let index = (label_id as usize).min(bits.saturating_sub(1));
        let Some(word) = self.seen.get_mut(index.div_euclid(64)) else {
            return;
        };
        let bit = 1u64.rotate_left(index.rem_euclid(64) as u32);
        if *word & bit == 0 && table.read(source, label_id) == Label::Unreadable {
            self.unreadable = self.unreadable.saturating_add(1);
            self.first_unreadable.get_or_insert(label_id);
        }
        *word |= bit;
    }

    /// The first unreadable label, and how many there are.
    pub(crate) fn damage(&self, table: &LabelTable) -> Option<Damage> {
        let label_id = self.first_unreadable?;
        Some(Damage {
            offset: table.offset_of(label_id),
            what: format!(
                "label {label_id}, named by an event, is unreadable (unreadable labels in all: {})",
                self.unreadable
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, region};
    use hrx_trace_format::Record;

    #[test]
    fn unreadable_labels_are_reported_once() {
        let mut image = Image::new(8, 1);
        image.label(1, "gemm");
        image.label(2, "copy");
        for label_id in [1, 2, 3, 2, 3, 900, 1] {
            image.record(
                0,
                Record {
                    label_id,
                    ..region(1000)
                },
            );
        }
        let offset = image.identity.name_offset;
        image.bytes[offset as usize + 64 + 13] ^= 1;
        assert_eq!(
            image.read().1.damages,
            [Damage {
                offset: offset + 64,
                what: "label 2, named by an event, is unreadable (unreadable labels in all: 3)"
                    .into()
            }]
        );
    }
}
