//! Which names are used, so that each is verified once, and those that cannot be read are reported.

use hrx_trace_format::name::{NAME_GROUP, NAME_KEY, NAME_LABEL};

use crate::damage::Damage;
use crate::source::Source;
use crate::tables::name::{Name, NameTable};
use crate::tables::names::Names;

/// The ids of one kind that were used so far.
#[derive(Debug)]
struct Used {
    kind: u8,
    what: &'static str,
    /// One bit for each id that an entry of the table may have. All others are unreadable.
    seen: Vec<u64>,
    unreadable: u64,
    lowest_unreadable: Option<u32>,
}

impl Used {
    fn new(kind: u8, what: &'static str, table: &NameTable) -> Self {
        Self {
            kind,
            what,
            seen: vec![0; table.blocks().div_euclid(64).saturating_add(1)],
            unreadable: 0,
            lowest_unreadable: None,
        }
    }

    #[inline]
    fn is_seen(&self, id: u32) -> bool {
        let word = self.seen.get((id / 64) as usize);
        word.is_some_and(|word| word >> (id % 64) & 1 != 0)
    }

    /// Takes note of an id that is not seen yet, and gives the group of its name; 0: none.
    fn note(&mut self, source: &Source, table: &NameTable, id: u32) -> u32 {
        let beyond = self.seen.get((id / 64) as usize).is_none();
        if let Some(word) = self.seen.get_mut((id / 64) as usize) {
            *word |= 1u64.rotate_left(id % 64);
        }
        // The lowest one is all that is kept of those beyond the table, of which there may be any number.
        if beyond && self.lowest_unreadable.is_some_and(|lowest| lowest <= id) {
            return 0;
        }
        match table.read(source, self.kind, id) {
            Name::None => 0,
            Name::Known { group, .. } => group,
            Name::Unreadable => {
                self.unreadable = self.unreadable.saturating_add(1);
                let lowest = self.lowest_unreadable.unwrap_or(id).min(id);
                self.lowest_unreadable = Some(lowest);
                0
            }
        }
    }
}

/// The names used so far. Labels and keys are those of events and open regions; groups are those of names.
#[derive(Debug)]
pub(crate) struct NameCheck {
    labels: Used,
    keys: Used,
    groups: Used,
}

impl NameCheck {
    pub(crate) fn new(table: &NameTable) -> Self {
        Self {
            labels: Used::new(NAME_LABEL, "label", table),
            keys: Used::new(NAME_KEY, "key", table),
            groups: Used::new(NAME_GROUP, "group", table),
        }
    }

    #[inline]
    pub(crate) fn label(&mut self, source: &Source, table: &NameTable, id: u32) {
        if !self.labels.is_seen(id) {
            self.new_label(source, table, id);
        }
    }

    #[inline]
    pub(crate) fn key(&mut self, source: &Source, table: &NameTable, id: u32) {
        if !self.keys.is_seen(id) {
            self.new_key(source, table, id);
        }
    }

    #[cold]
    fn new_label(&mut self, source: &Source, table: &NameTable, id: u32) {
        let group = self.labels.note(source, table, id);
        self.group(source, table, group);
    }

    #[cold]
    fn new_key(&mut self, source: &Source, table: &NameTable, id: u32) {
        let group = self.keys.note(source, table, id);
        self.group(source, table, group);
    }

    fn group(&mut self, source: &Source, table: &NameTable, id: u32) {
        if !self.groups.is_seen(id) {
            self.groups.note(source, table, id);
        }
    }

    /// One damage for all that cannot be read, where the first of them should be. The groups of lanes and threads are used too.
    pub(crate) fn damage(
        &mut self,
        source: &Source,
        table: &NameTable,
        names: &Names,
    ) -> Option<Damage> {
        let lanes = names.lanes().map(|name| name.group);
        for group in lanes.chain(names.threads().map(|name| name.group)) {
            self.group(source, table, group);
        }
        let all = [&self.labels, &self.keys, &self.groups];
        let unreadable = |used: &&Used| Some((used.lowest_unreadable?, used.what));
        let (id, what) = all
            .iter()
            .filter_map(unreadable)
            .min_by_key(|(id, _)| *id)?;
        let count = all.iter().map(|used| used.unreadable);
        Some(Damage {
            offset: table.offset_of(id),
            what: format!(
                "{what} {id}, which is used, is unreadable (unreadable names in all: {})",
                count.fold(0, u64::saturating_add)
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, region};
    use hrx_trace_format::Record;

    fn with_labels(image: &mut Image, label_ids: &[u32]) {
        for &label_id in label_ids {
            image.record(
                0,
                Record {
                    label_id,
                    ..region(1000)
                },
            );
        }
    }

    #[test]
    fn unreadable_names_are_reported_once() {
        let mut image = Image::new(8, 1);
        image.label(1, "gemm");
        image.label(2, "copy");
        with_labels(&mut image, &[1, 900, 3, 2, 3, 900, 1]);
        let offset = image.identity.name_offset;
        image.bytes[offset as usize + 64 + 13] ^= 1;
        assert_eq!(
            image.read().1.damages,
            [Damage {
                offset: offset + 64,
                what: "label 2, which is used, is unreadable (unreadable names in all: 3)".into()
            }]
        );
    }

    /// The bug: the first unreadable label that came by was reported, not the one with the lowest id; and one beyond the table hid all others there.
    #[test]
    fn the_lowest_id_is_reported_even_outside_the_table() {
        let mut image = Image::new(8, 1);
        with_labels(&mut image, &[5_000_000, 70_000, u32::MAX, 70_000]);
        let damages = image.read().1.damages;
        assert_eq!(damages.len(), 1);
        assert_eq!(
            damages[0].offset,
            image.identity.name_offset + 64 * (70_000 - 1)
        );
    }

    #[test]
    fn groups_are_names_too() {
        use hrx_trace_format::Name;
        use hrx_trace_format::name::{NAME_GROUP, NAME_LABEL};
        let mut image = Image::new(8, 1);
        image.name(1, &Name::of(NAME_GROUP, "cuBLAS"));
        image.name(2, &Name::of(NAME_LABEL, "gemm").in_group(1));
        with_labels(&mut image, &[2]);
        assert_eq!(image.read().1.damages, []);
        // A name whose group is unreadable keeps its own text.
        image.name(2, &Name::of(NAME_LABEL, "gemm").in_group(3));
        assert_eq!(image.trace().name(2), "gemm");
        let offset = image.identity.name_offset;
        let said = |id: u64, what: &str| {
            [Damage {
                offset: offset + 64 * (id - 1),
                what: format!(
                    "{what} {id}, which is used, is unreadable (unreadable names in all: 1)"
                ),
            }]
        };
        assert_eq!(image.read().1.damages, said(3, "group"));
        // Of a label that no event uses, nothing is used. Of a lane and a thread, all is.
        image.name(3, &Name::of(NAME_LABEL, "unused").in_group(900));
        assert_eq!(image.read().1.damages, said(3, "group"));
        image.name(2, &Name::of(NAME_LABEL, "gemm"));
        assert_eq!(image.read().1.damages, []);
        image.name(3, &Name::lane(7, "stream").in_group(40));
        assert_eq!(image.read().1.damages, said(40, "group"));
        image.name(3, &Name::thread(7, 0, "worker").in_group(41));
        assert_eq!(image.read().1.damages, said(41, "group"));
    }
}
