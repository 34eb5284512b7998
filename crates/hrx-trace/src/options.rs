//! What can be chosen about a capture. `creation` does what is chosen.

use hrx_trace_format::{Geometry, Identity};

use crate::error::{Error, Result};

/// What can be chosen about a capture.
#[derive(Clone, Debug)]
pub struct Options {
    geometry: Geometry,
    pub(crate) shared_rings: u32,
    pub(crate) writers: u32,
    pub(crate) populate: bool,
    attributes: Vec<(String, String)>,
}

impl Options {
    /// A capture that keeps the last `capacity` events, 64 bytes each, in one ring.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self {
            geometry: Geometry::new(capacity),
            shared_rings: 1,
            writers: 0,
            populate: true,
            attributes: Vec::new(),
        }
    }

    /// How many rings the threads share (thread ordinal mod rings); each holds `capacity` events. 1 by default.
    ///
    /// One ring keeps all events in one order, but threads that share it pay for it: 50 ns and more per event instead of a few. With a ring each,
    /// a busy thread cannot overwrite a quiet one's events.
    #[must_use]
    pub fn rings(mut self, rings: u32) -> Self {
        self.shared_rings = rings;
        self
    }

    /// How many threads can have a ring of their own at a time, each through a [`crate::Writer`]. These rings come on top of the shared ones, and each holds
    /// `capacity` events too. 0 by default.
    #[must_use]
    pub fn writers(mut self, writers: u32) -> Self {
        self.writers = writers;
        self
    }

    /// Room for labels, in bytes: a name of up to 36 bytes takes 64, longer ones take more. 1 MiB by default.
    #[must_use]
    pub fn label_bytes(mut self, label_bytes: u64) -> Self {
        self.geometry = self.geometry.name_bytes(label_bytes);
        self
    }

    /// Whether all pages are made present at creation, so that no `record` takes a page fault. True by default.
    ///
    /// Costs 0.2 to 0.4 s per GiB, and the memory. Without it creation is faster, and the first lap takes a fault of 2 to 3 µs every 64 events.
    /// `hrx-bench tail` in the project's sources measures both.
    #[must_use]
    pub fn populate(mut self, populate: bool) -> Self {
        self.populate = populate;
        self
    }

    /// Something the program says about itself: rank, attempt, version … All attributes together take up to 656 bytes.
    #[must_use]
    pub fn attribute(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.push((key.into(), value.into()));
        self
    }

    /// The header of such a capture: sizes, offsets and attributes, everything else zero.
    pub(crate) fn layout(&self) -> Result<Identity> {
        if self.geometry.capacity == 0 {
            return Err(Error::ZeroCapacity);
        }
        let ring_count = match self.shared_rings {
            // Out of range, however many writers there are.
            0 => 0,
            shared => shared.saturating_add(self.writers),
        };
        let geometry = self.geometry.ring_count(ring_count);
        let mut identity = geometry.layout().ok_or(Error::TooLarge {
            capacity: geometry.capacity,
            rings: geometry.ring_count,
            label_bytes: geometry.name_bytes,
        })?;
        let attributes = self.encode_attributes(identity.attributes.len())?;
        identity.attributes_bytes = attributes.len() as u32;
        identity.attributes[..attributes.len()].copy_from_slice(attributes.as_bytes());
        Ok(identity)
    }

    fn encode_attributes(&self, bytes_max: usize) -> Result<String> {
        let mut text = String::new();
        for (key, value) in &self.attributes {
            let wrong = |reason| Error::Attribute {
                key: key.clone(),
                reason,
            };
            if key.is_empty() || key.contains('=') || key.contains(char::is_control) {
                return Err(wrong(
                    "a key must not be empty, and must not contain '=' or a control character",
                ));
            }
            if value.contains(char::is_control) {
                return Err(wrong("a value must not contain a control character"));
            }
            text.push_str(&format!("{key}={value}\n"));
            if text.len() > bytes_max {
                return Err(wrong(
                    "no room: all attributes together take up to 656 bytes",
                ));
            }
        }
        Ok(text)
    }
}
