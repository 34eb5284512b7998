//! Names of events, each interned once for a capture: found by the text again without a lock or an allocation.
//!
//! Programs that put a number into each name (`iteration 17`) would fill any table. Once [`SPELLED_MAX`] names differ only in their digits, further ones share the
//! label in which each number is a `#`; the name itself is then an argument of the event, as it is once the table is full.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hrx_trace::Label;

use crate::capture::Capture;
use crate::guest::as_guest;
use crate::table::{self, Member, Table};
use crate::text::Text;

/// How many names of one shape are spelled out.
const SPELLED_MAX: u32 = 64;
/// How many names a capture has, shapes included.
const NAMES_MAX: usize = 16_384;
/// Names that are not known by themselves.
const OTHER: &str = "other names";

/// What is known of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    pub label: Label,
    /// Whether the label is the whole name.
    pub is_spelled: bool,
}

impl Named {
    /// The program gave no name.
    pub const NONE: Self = Self {
        label: Label::NONE,
        is_spelled: true,
    };
    /// A name that could not be looked up.
    const UNKNOWN: Self = Self {
        label: Label::NONE,
        is_spelled: false,
    };
}

/// The names of a capture.
pub struct Names(Table<Name>);

struct Name {
    hash: u64,
    text: Box<[u8]>,
    group: &'static str,
    is_shape: bool,
    label: AtomicU32,
    /// Of a shape: how many names have it.
    count: AtomicU32,
}

impl Member for Name {
    fn hash(&self) -> u64 {
        self.hash
    }
}

impl Names {
    /// None yet.
    pub const fn new() -> Self {
        Self(Table::new(NAMES_MAX))
    }
}

/// The name `text` in `group`, whose texts are one if their addresses are.
#[inline]
pub fn name(capture: &Capture, group: &'static str, text: &[u8]) -> Named {
    let hash = table::hash(group.as_ptr() as usize, text);
    let is_it = |name: &Name| !name.is_shape && is_same_group(name.group, group) && *name.text == *text;
    match capture.names.0.find(hash, is_it) {
        Some(name) => Named {
            label: Label::from_bits(name.label.load(Ordering::Relaxed)),
            is_spelled: true,
        },
        None => as_guest(|| intern(capture, group, text, hash)).unwrap_or(Named::UNKNOWN),
    }
}

fn is_same_group(one: &'static str, other: &'static str) -> bool {
    std::ptr::eq(one, other)
}

/// Its first time, or one of too many.
fn intern(capture: &Capture, group: &'static str, text: &[u8], hash: u64) -> Named {
    let spelled = Text::new(text);
    if let Some(shape) = Text::shape_of(text)
        && let Some(label) = shape_if_many(capture, group, &shape)
    {
        return Named { label, is_spelled: false };
    }
    if capture.names.0.is_full() {
        return Named { label: capture.label(group, OTHER), is_spelled: false };
    }
    let label = capture.label(group, spelled.as_str());
    add(capture, group, text, hash, false, label);
    Named { label, is_spelled: true }
}

/// Counts one more name of `shape`. The label of the shape, once there are many.
fn shape_if_many(capture: &Capture, group: &'static str, shape: &Text) -> Option<Label> {
    let text = shape.as_str().as_bytes();
    let hash = table::hash(group.as_ptr() as usize, text) ^ 1;
    let is_it = |name: &Name| name.is_shape && is_same_group(name.group, group) && *name.text == *text;
    let found = capture.names.0.find(hash, is_it);
    let shape_known = found.or_else(|| add(capture, group, text, hash, true, Label::NONE))?;
    let label = shape_known.label.load(Ordering::Relaxed);
    if label != Label::NONE.to_bits() {
        return Some(Label::from_bits(label));
    }
    if shape_known.count.fetch_add(1, Ordering::Relaxed) < SPELLED_MAX {
        return None;
    }
    let label = capture.label(group, shape.as_str());
    shape_known.label.store(label.to_bits(), Ordering::Relaxed);
    Some(label)
}

fn add(capture: &Capture, group: &'static str, text: &[u8], hash: u64, is_shape: bool, label: Label) -> Option<&'static Name> {
    let name = Name {
        hash,
        text: text.into(),
        group,
        is_shape,
        label: AtomicU32::new(label.to_bits()),
        count: AtomicU32::new(0),
    };
    let is_it = |name: &Name| name.is_shape == is_shape && is_same_group(name.group, group) && *name.text == *text;
    capture.names.0.insert(name, is_it)
}

/// A name that a handle keeps, with what the capture knows of it: the cheapest to look up.
pub struct Kept {
    pub group: &'static str,
    pub text: Box<[u8]>,
    /// The capture's serial in the upper half; the label in the lower. 0: none yet.
    known: AtomicU64,
}

impl Kept {
    /// Not looked up yet.
    pub fn new(group: &'static str, text: Box<[u8]>) -> Self {
        Self {
            group,
            text,
            known: AtomicU64::new(0),
        }
    }

    /// Its name in `capture`.
    #[inline]
    pub fn named(&self, capture: &Capture) -> Named {
        let known = self.known.load(Ordering::Relaxed);
        if known >> 32 == u64::from(capture.serial) {
            return Named { label: Label::from_bits(known as u32), is_spelled: true };
        }
        let named = name(capture, self.group, &self.text);
        if named.is_spelled {
            let known = u64::from(capture.serial) << 32 | u64::from(named.label.to_bits());
            self.known.store(known, Ordering::Relaxed);
        }
        named
    }
}
