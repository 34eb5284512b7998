//! What is known about each callsite: its names, interned once.
//!
//! A table that only grows: a look-up takes no lock. Each level has twice the room of the one before it; a callsite is in the first of its places that was free.

use std::ptr;
use std::sync::OnceLock;

use hrx_trace::{Key, Label, Recorder};
use tracing_core::Metadata;
use tracing_core::field::Field;

/// Places of the first level.
const FIRST: usize = 256;
/// Levels: together far more places than a program can have callsites.
const LEVELS: usize = 20;
/// Places of a level in which a callsite may be.
const WINDOW: usize = 8;

/// A callsite.
#[derive(Debug)]
pub struct Site {
    pub metadata: &'static Metadata<'static>,
    pub label: Label,
    /// The lane of its target; none where regions are on their threads' lanes.
    pub lane: Option<usize>,
    /// What each of its fields is.
    fields: Box<[(Meaning, Key)]>,
}

/// What a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Argument,
    Lane,
    CorrelationId,
    CopiedBytes,
    Status,
    Error,
}

impl Meaning {
    fn of(field: &Field, is_span: bool) -> Self {
        match field.name() {
            "lane" => Self::Lane,
            "correlation_id" => Self::CorrelationId,
            // A mark has neither bytes nor a status.
            "copied_bytes" if is_span => Self::CopiedBytes,
            "status" if is_span => Self::Status,
            "err" | "error" => Self::Error,
            _ => Self::Argument,
        }
    }
}

impl Site {
    fn new(
        metadata: &'static Metadata<'static>,
        recorder: &Recorder,
        on_target_lanes: bool,
    ) -> Self {
        let target = metadata.target();
        let label = recorder.label_in(target, name(metadata));
        let field = |field: Field| {
            let meaning = Meaning::of(&field, metadata.is_span());
            (meaning, recorder.key(field.name()))
        };
        Self {
            metadata,
            label,
            lane: on_target_lanes.then(|| recorder.lane(target)),
            fields: metadata.fields().iter().map(field).collect(),
        }
    }

    /// What `field` is, and its key.
    pub fn field(&self, field: &Field) -> (Meaning, Key) {
        let known = self.fields.get(field.index());
        known.copied().unwrap_or((Meaning::Argument, Key::NONE))
    }
}

/// An event without a name of its own is called by its place.
fn name(metadata: &Metadata<'static>) -> &'static str {
    let name = metadata.name();
    if metadata.is_event() {
        name.strip_prefix("event ").unwrap_or(name)
    } else {
        name
    }
}

/// All callsites.
#[derive(Debug)]
pub struct Sites {
    levels: [OnceLock<Box<[OnceLock<Site>]>>; LEVELS],
}

impl Sites {
    pub const fn new() -> Self {
        Self {
            levels: [const { OnceLock::new() }; LEVELS],
        }
    }

    /// The callsite with `metadata`, which is introduced if it is new.
    #[inline]
    pub fn get(
        &self,
        metadata: &'static Metadata<'static>,
        recorder: &Recorder,
        on_target_lanes: bool,
    ) -> Option<&Site> {
        self.find(metadata)
            .or_else(|| self.introduce(metadata, recorder, on_target_lanes))
    }

    #[inline]
    fn find(&self, metadata: &'static Metadata<'static>) -> Option<&Site> {
        for level in &self.levels {
            for place in places(level.get()?, metadata) {
                let site = place.get()?;
                if ptr::eq(site.metadata, metadata) {
                    return Some(site);
                }
            }
        }
        None
    }

    #[cold]
    fn introduce(
        &self,
        metadata: &'static Metadata<'static>,
        recorder: &Recorder,
        on_target_lanes: bool,
    ) -> Option<&Site> {
        let mut new = Some(Site::new(metadata, recorder, on_target_lanes));
        for (number, level) in self.levels.iter().enumerate() {
            let level = level.get_or_init(|| {
                let places = FIRST << number;
                (0..places).map(|_| OnceLock::new()).collect()
            });
            for place in places(level, metadata) {
                // Another thread may have introduced it, or another one here.
                if place.get().is_none()
                    && let Some(site) = new.take()
                    && let Err(site) = place.set(site)
                {
                    new = Some(site);
                }
                if let Some(site) = place.get()
                    && ptr::eq(site.metadata, metadata)
                {
                    return Some(site);
                }
            }
        }
        None
    }
}

/// The places of `level` in which the callsite with `metadata` may be.
#[inline]
fn places<'a>(
    level: &'a [OnceLock<Site>],
    metadata: &'static Metadata<'static>,
) -> impl Iterator<Item = &'a OnceLock<Site>> {
    let address = ptr::from_ref(metadata).addr() as u64;
    let first = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
    (0..WINDOW).filter_map(move |next| level.get((first + next) & (level.len() - 1)))
}
