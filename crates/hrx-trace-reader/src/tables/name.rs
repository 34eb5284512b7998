//! The names that are found by their ids, of labels, keys and groups, read from the file's name table.

use std::borrow::Cow;

use hrx_trace_format::name::{self, BLOCK_BYTES};
use hrx_trace_format::{Area, Checksum, Identity, UNLABELLED};

use crate::source::Source;

/// The name of a label, a key or a group. There is no fourth case: there is none, or one, or one that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// It has no name: its id is 0.
    None,
    /// Its name.
    Known {
        /// The text; it may be empty, and may contain any characters.
        text: String,
        /// The id of the group that the name belongs to, see [`Trace::group`](crate::Trace::group); 0: none. Always 0 of a group.
        group: u32,
    },
    /// Its name does not verify: damaged, cut off, or of another kind.
    Unreadable,
}

impl Name {
    /// What to call an event whose label this is: "native region" without a label, and "label 7 (unreadable)" if it cannot be read.
    #[must_use]
    pub fn into_text(self, id: u32) -> Cow<'static, str> {
        match self {
            Self::None => UNLABELLED.into(),
            Self::Known { text, .. } => text.into(),
            Self::Unreadable => format!("label {id} (unreadable)").into(),
        }
    }
}

/// Where the name table lies. Its names are read one by one: the tables of many captures would take more memory than everything else.
#[derive(Clone, Debug)]
pub(crate) struct NameTable {
    offset: u64,
    /// Bytes of it that lie inside the file: at most [`NAME_BYTES_MAX`](name::NAME_BYTES_MAX).
    bytes: u64,
    pub(super) salt: u32,
    pub(super) checksum: Checksum,
}

impl NameTable {
    pub(crate) fn new(identity: &Identity, file_bytes: u64, checksum: &Checksum) -> Self {
        Self {
            offset: identity.name_offset,
            bytes: file_bytes
                .saturating_sub(identity.name_offset)
                .min(identity.name_bytes),
            salt: Area::NameTable.salt(identity.salt),
            checksum: checksum.clone(),
        }
    }

    /// Blocks that lie inside the file. No name has a larger id.
    pub(crate) fn blocks(&self) -> usize {
        (self.bytes as usize).div_euclid(BLOCK_BYTES)
    }

    /// Where the entry of a name begins.
    pub(crate) fn offset_of(&self, id: u32) -> u64 {
        let blocks = u64::from(id.saturating_sub(1));
        self.offset
            .saturating_add(blocks.saturating_mul(BLOCK_BYTES as u64))
    }

    /// The name with that id, if it is of that kind.
    pub(crate) fn read(&self, source: &Source, kind: u8, id: u32) -> Name {
        match id {
            0 => Name::None,
            _ => self.known(source, kind, id).unwrap_or(Name::Unreadable),
        }
    }

    fn known(&self, source: &Source, kind: u8, id: u32) -> Option<Name> {
        let offset = self.offset_of(id);
        let before = offset.checked_sub(self.offset)?;
        let there = self.bytes.checked_sub(before)?;
        let mut entry = vec![0; BLOCK_BYTES];
        source.read(offset, &mut entry);
        // Most names take one block.
        let bytes = name::entry_bytes(&entry, id)?;
        if bytes as u64 > there {
            return None;
        }
        if bytes > entry.len() {
            entry.resize(bytes, 0);
            source.read(offset, &mut entry);
        }
        let name = name::decode(&entry, id, &self.checksum, self.salt)?;
        (name.kind == kind).then(|| Name::Known {
            text: name.text.to_owned(),
            group: match kind {
                name::NAME_GROUP => 0,
                _ => name.group,
            },
        })
    }

    /// The whole table, as far as it lies inside the file.
    pub(super) fn all(&self, source: &Source) -> Vec<u8> {
        let mut bytes = vec![0; self.blocks().saturating_mul(BLOCK_BYTES)];
        source.read(self.offset, &mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;
    use hrx_trace_format::name::{NAME_GROUP, NAME_KEY};

    fn known(text: &str, group: u32) -> Name {
        Name::Known {
            text: text.into(),
            group,
        }
    }

    #[test]
    fn names() {
        let long = "a name that takes two blocks of the table, because it is long";
        let mut image = Image::new(4, 2);
        image.label(1, "gemm");
        image.label(2, long);
        let trace = image.trace();
        assert_eq!(trace.label(0), Name::None);
        assert_eq!(trace.label(1), known("gemm", 0));
        assert_eq!(trace.label(3), Name::Unreadable);
        assert_eq!(trace.label(u32::MAX), Name::Unreadable);
        assert_eq!(trace.name(0), "native region");
        assert_eq!(trace.name(2), long);
        image.bytes[image.identity.name_offset as usize + 28] ^= 1;
        assert_eq!(image.trace().name(1), "label 1 (unreadable)");
    }

    /// A name of another kind is not the name that was looked for, and an empty name is a name.
    #[test]
    fn each_kind_has_its_own_names() {
        let mut image = Image::new(4, 1);
        image.name(
            1,
            &hrx_trace_format::Name::of(NAME_GROUP, "cuBLAS").in_group(7),
        );
        image.name(
            2,
            &hrx_trace_format::Name::of(NAME_KEY, "shape").in_group(1),
        );
        image.label(3, "");
        let trace = image.trace();
        assert_eq!(trace.group(1), known("cuBLAS", 0));
        assert_eq!(trace.key(2), known("shape", 1));
        assert_eq!(trace.label(3), known("", 0));
        assert_eq!(trace.name(3), "");
        assert_eq!((trace.group(0), trace.key(0)), (Name::None, Name::None));
        for wrong in [trace.label(1), trace.key(1), trace.group(2), trace.key(3)] {
            assert_eq!(wrong, Name::Unreadable);
        }
    }
}
