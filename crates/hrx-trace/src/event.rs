//! What a caller says about a region.

use hrx_trace_format::Record;
use hrx_trace_format::record::{FLAG_FAILED, FLAG_SATURATED};

/// The lanes that viewers name. Any other number is a lane of its own.
pub mod lane {
    /// Host to device copies.
    pub const UPLOAD: usize = 0;
    /// Kernels.
    pub const COMPUTE: usize = 1;
    /// Device to host copies.
    pub const DOWNLOAD: usize = 2;
    /// NPU jobs.
    pub const NPU: usize = 3;
    /// Host work.
    pub const HOST: usize = 4;
}

/// An interned name: see [`crate::Recorder::label`]. It means something only to the recorder that returned it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Label(pub(crate) u32);

impl Label {
    /// No name: viewers show "native region".
    pub const NONE: Self = Self(0);
}

/// What a caller says about a region. Every value but the lane is 0, none or false by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    lane: usize,
    label: Label,
    correlation_id: u64,
    copied_bytes: u64,
    status: u32,
    failed: bool,
}

impl Event {
    /// A region on `lane`: see [`lane`]. A lane above `u32::MAX` saturates, and the event is marked as saturated.
    #[inline]
    #[must_use]
    pub const fn new(lane: usize) -> Self {
        Self {
            lane,
            label: Label::NONE,
            correlation_id: 0,
            copied_bytes: 0,
            status: 0,
            failed: false,
        }
    }

    /// The region's name.
    #[inline]
    #[must_use]
    pub const fn label(self, label: Label) -> Self {
        Self { label, ..self }
    }

    /// The submission or graph it belongs to; 0: none.
    #[inline]
    #[must_use]
    pub const fn correlation_id(self, correlation_id: u64) -> Self {
        Self {
            correlation_id,
            ..self
        }
    }

    /// How many bytes it copies.
    #[inline]
    #[must_use]
    pub const fn copied_bytes(self, copied_bytes: u64) -> Self {
        Self {
            copied_bytes,
            ..self
        }
    }

    /// The caller's error code; 0: none.
    #[inline]
    #[must_use]
    pub const fn status(self, status: u32) -> Self {
        Self { status, ..self }
    }

    /// Whether it failed.
    #[inline]
    #[must_use]
    pub const fn failed(self, failed: bool) -> Self {
        Self { failed, ..self }
    }

    /// A record with what the caller said. Times, thread, ticket and checksum are still zero.
    #[inline(always)]
    pub(crate) fn to_record(self) -> Record {
        let (lane, lane_flag) = match u32::try_from(self.lane) {
            Ok(lane) => (lane, 0),
            Err(_) => (u32::MAX, FLAG_SATURATED),
        };
        Record {
            lane,
            label_id: self.label.0,
            correlation_id: self.correlation_id,
            copied_bytes: self.copied_bytes,
            status: self.status,
            flags: lane_flag | if self.failed { FLAG_FAILED } else { 0 },
            ..bytemuck::Zeroable::zeroed()
        }
    }
}
