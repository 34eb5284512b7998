//! The names of regions, read from the file's label table.

use std::borrow::Cow;

use hrx_trace_format::name::{BLOCK_BYTES, NAME_LABEL};
use hrx_trace_format::{Area, Checksum, Identity, UNLABELLED, name};

use crate::source::Source;

/// The name of a region. There is no fourth case: it has none, or one, or one that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// It was recorded without a name.
    None,
    /// Its name.
    Text(String),
    /// Its name does not verify: damaged, or cut off.
    Unreadable,
}

impl Label {
    /// What to call a region of this label.
    pub(crate) fn into_name(self, label_id: u32) -> Cow<'static, str> {
        match self {
            Self::None => UNLABELLED.into(),
            Self::Text(text) => text.into(),
            Self::Unreadable => format!("label {label_id} (unreadable)").into(),
        }
    }
}

/// Where the label table lies. Its names are read one by one: the tables of many captures would take more memory than everything else.
#[derive(Clone, Debug)]
pub(crate) struct LabelTable {
    offset: u64,
    /// Bytes of it that lie inside the file.
    bytes: u64,
    salt: u32,
    checksum: Checksum,
}

impl LabelTable {
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

    /// Blocks that lie inside the file. No label has a larger id.
    pub(crate) fn blocks(&self) -> usize {
        (self.bytes as usize).div_euclid(BLOCK_BYTES)
    }

    /// Where the entry of a label begins.
    pub(crate) fn offset_of(&self, label_id: u32) -> u64 {
        let blocks = u64::from(label_id.saturating_sub(1));
        self.offset
            .saturating_add(blocks.saturating_mul(BLOCK_BYTES as u64))
    }

    pub(crate) fn read(&self, source: &Source, label_id: u32) -> Label {
        match label_id {
            0 => Label::None,
            _ => self
                .text(source, label_id)
                .map_or(Label::Unreadable, Label::Text),
        }
    }

    fn text(&self, source: &Source, label_id: u32) -> Option<String> {
        let offset = self.offset_of(label_id);
        let before = offset.checked_sub(self.offset)?;
        let there = self.bytes.checked_sub(before)?;
        let mut entry = vec![0; BLOCK_BYTES];
        source.read(offset, &mut entry);
        // Most names take one block.
        let bytes = name::entry_bytes(&entry, label_id)?;
        if bytes as u64 > there {
            return None;
        }
        if bytes > entry.len() {
            entry.resize(bytes, 0);
            source.read(offset, &mut entry);
        }
        let name = name::decode(&entry, label_id, &self.checksum, self.salt)?;
        (name.kind == NAME_LABEL).then(|| name.text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Image;

    #[test]
    fn names() {
        let long = "a name that takes two blocks of the table, because it is long";
        let mut image = Image::new(4, 2);
        image.label(1, "gemm");
        image.label(2, long);
        let trace = image.trace();
        assert_eq!(trace.label(0), Label::None);
        assert_eq!(trace.label(1), Label::Text("gemm".into()));
        assert_eq!(trace.label(3), Label::Unreadable);
        assert_eq!(trace.label(u32::MAX), Label::Unreadable);
        assert_eq!(trace.name(0), "native region");
        assert_eq!(trace.name(2), long);
        image.bytes[image.identity.name_offset as usize + 28] ^= 1;
        assert_eq!(image.trace().name(1), "label 1 (unreadable)");
    }
}
