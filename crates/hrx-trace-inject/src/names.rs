//! Names of events, each interned once for a capture: found by the text again without a lock or an allocation.
//!
//! Programs that put a number into each name (`iteration 17`) would fill any table. Once [`SPELLED_MAX`] names differ only in their digits, further ones share the
//! label in which each number is a `#`; the name itself is then an argument of the event, as it is once the table is full.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hrx_trace::{Key, Label, Recorder};

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

/// What is named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Event,
    /// Events of one shape.
    Shape,
    /// An argument.
    Key,
}

/// What names are interned with: a capture, as far as it matters here.
pub struct Interner<'capture> {
    pub recorder: &'capture Recorder,
    pub names: &'capture Names,
    /// As the capture's.
    pub serial: u32,
}

impl Interner<'_> {
    /// The label `text` of the group `group`; of none if that is empty.
    fn label(&self, group: &str, text: &str) -> Label {
        if group.is_empty() {
            self.recorder.label(text)
        } else {
            self.recorder.label_in(group, text)
        }
    }
}

/// The names of a capture.
pub struct Names(Table<Name>);

struct Name {
    hash: u64,
    text: Box<[u8]>,
    group: &'static str,
    kind: Kind,
    /// Of the label or the key.
    bits: AtomicU32,
    /// Of a shape: how many names have it.
    count: AtomicU32,
}

impl Member for Name {
    fn hash(&self) -> u64 {
        self.hash
    }
}

impl Name {
    fn is(&self, kind: Kind, group: &'static str, text: &[u8]) -> bool {
        // Equal groups have one address: see `registry`.
        self.kind == kind && std::ptr::eq(self.group, group) && *self.text == *text
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
pub fn name(capture: &Interner<'_>, group: &'static str, text: &[u8]) -> Named {
    let hash = hash(Kind::Event, group, text);
    match capture
        .names
        .0
        .find(hash, |name| name.is(Kind::Event, group, text))
    {
        Some(name) => Named {
            label: Label::from_bits(name.bits.load(Ordering::Relaxed)),
            is_spelled: true,
        },
        None => as_guest(|| intern(capture, group, text)).unwrap_or(Named::UNKNOWN),
    }
}

/// The key `text` of arguments.
pub fn key(capture: &Interner<'_>, text: &[u8]) -> Key {
    let hash = hash(Kind::Key, "", text);
    if let Some(name) = capture
        .names
        .0
        .find(hash, |name| name.is(Kind::Key, "", text))
    {
        return Key::from_bits(name.bits.load(Ordering::Relaxed));
    }
    as_guest(|| {
        if capture.names.0.is_full() {
            return Key::NONE;
        }
        let key = capture.recorder.key(Text::new(text).as_str());
        add(capture, Kind::Key, "", text, key.to_bits());
        key
    })
    .unwrap_or(Key::NONE)
}

fn hash(kind: Kind, group: &'static str, text: &[u8]) -> u64 {
    table::hash(group.as_ptr().addr() ^ kind as usize, text)
}

/// Its first time, or one of too many.
fn intern(capture: &Interner<'_>, group: &'static str, text: &[u8]) -> Named {
    let unspelled = |label| Named {
        label,
        is_spelled: false,
    };
    if let Some(shape) = Text::shape_of(text)
        && let Some(label) = shape_if_many(capture, group, &shape)
    {
        return unspelled(label);
    }
    if capture.names.0.is_full() {
        return unspelled(capture.label(group, OTHER));
    }
    let label = capture.label(group, Text::new(text).as_str());
    add(capture, Kind::Event, group, text, label.to_bits());
    Named {
        label,
        is_spelled: true,
    }
}

/// Counts one more name of `shape`. The label of the shape, once there are many.
fn shape_if_many(capture: &Interner<'_>, group: &'static str, shape: &Text) -> Option<Label> {
    let text = shape.as_str().as_bytes();
    let found = capture
        .names
        .0
        .find(hash(Kind::Shape, group, text), |name| {
            name.is(Kind::Shape, group, text)
        });
    let known = found.or_else(|| add(capture, Kind::Shape, group, text, Label::NONE.to_bits()))?;
    let label = Label::from_bits(known.bits.load(Ordering::Relaxed));
    if label != Label::NONE {
        return Some(label);
    }
    if known.count.fetch_add(1, Ordering::Relaxed) < SPELLED_MAX {
        return None;
    }
    let label = capture.label(group, shape.as_str());
    known.bits.store(label.to_bits(), Ordering::Relaxed);
    Some(label)
}

fn add(
    capture: &Interner<'_>,
    kind: Kind,
    group: &'static str,
    text: &[u8],
    bits: u32,
) -> Option<&'static Name> {
    let name = Name {
        hash: hash(kind, group, text),
        text: text.into(),
        group,
        kind,
        bits: AtomicU32::new(bits),
        count: AtomicU32::new(0),
    };
    capture
        .names
        .0
        .insert(name, |other| other.is(kind, group, text))
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
    pub fn named(&self, capture: &Interner<'_>) -> Named {
        let known = self.known.load(Ordering::Relaxed);
        if known >> 32 == u64::from(capture.serial) {
            return Named {
                label: Label::from_bits(known as u32),
                is_spelled: true,
            };
        }
        let named = name(capture, self.group, &self.text);
        if named.is_spelled {
            let known = u64::from(capture.serial) << 32 | u64::from(named.label.to_bits());
            self.known.store(known, Ordering::Relaxed);
        }
        named
    }
}
