//! What a caller says about an event: a region, a mark or a value.

use std::sync::atomic::{AtomicU32, Ordering};

use hrx_trace_format::Record;
use hrx_trace_format::name::LANE_NAMED_FIRST;
use hrx_trace_format::record::{FLAG_CANCELLED, FLAG_FAILED, FLAG_SATURATED};

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

    /// As a number, for interfaces that keep it in an atomic or hand it to another language; 0: [`Label::NONE`].
    #[inline]
    #[must_use]
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// The label that [`Label::to_bits`] gave this number of. Any other number is a label that readers do not know.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

/// An interned name of arguments, such as "shape" or "bytes": see [`crate::Region::argument`]. It means something only to the recorder that returned it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key(pub(crate) u32);

impl Key {
    /// No name: the argument has a value alone.
    pub const NONE: Self = Self(0);

    /// As [`Label::to_bits`].
    #[inline]
    #[must_use]
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// As [`Label::from_bits`].
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

/// What a caller says about a region or a mark. Every value but the lane is 0, none or false by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    lane: usize,
    label: Label,
    correlation_id: u64,
    copied_bytes: u64,
    status: u32,
    /// [`FLAG_FAILED`], [`FLAG_CANCELLED`].
    flags: u8,
}

impl Event {
    /// A region on `lane`: one of those in [`lane`], one that [`Recorder::lane`](crate::Recorder::lane) gave out, or any other number below 2^31.
    ///
    /// The numbers from 2^31 up belong to lanes with names. One that the recorder has not given out is recorded as 2^31 - 1, and the event is marked as saturated.
    #[inline]
    #[must_use]
    pub const fn new(lane: usize) -> Self {
        Self {
            lane,
            label: Label::NONE,
            correlation_id: 0,
            copied_bytes: 0,
            status: 0,
            flags: 0,
        }
    }

    /// Its name.
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

    /// How many bytes it copies. A mark has none.
    #[inline]
    #[must_use]
    pub const fn copied_bytes(self, copied_bytes: u64) -> Self {
        Self {
            copied_bytes,
            ..self
        }
    }

    /// The caller's error code; 0: none. A mark has none.
    #[inline]
    #[must_use]
    pub const fn status(self, status: u32) -> Self {
        Self { status, ..self }
    }

    /// Whether it failed. A mark does not.
    #[inline]
    #[must_use]
    pub const fn failed(self, failed: bool) -> Self {
        self.flag(FLAG_FAILED, failed)
    }

    /// Whether it was cancelled, which is no failure. A mark is not.
    #[inline]
    #[must_use]
    pub const fn cancelled(self, cancelled: bool) -> Self {
        self.flag(FLAG_CANCELLED, cancelled)
    }

    #[inline]
    const fn flag(self, flag: u8, set: bool) -> Self {
        let flags = if set {
            self.flags | flag
        } else {
            self.flags & !flag
        };
        Self { flags, ..self }
    }

    /// A record with what the caller said, for a recorder that has given out this many lanes by name. Times, thread, ticket and checksum are still zero.
    #[inline(always)]
    pub(crate) fn to_record(self, lanes_named: &AtomicU32) -> Record {
        let (lane, lane_flag) = if self.lane < LANE_NAMED_FIRST as usize {
            (self.lane as u32, 0)
        } else {
            named_lane(self.lane, lanes_named)
        };
        Record {
            lane,
            label_id: self.label.0,
            correlation_id: self.correlation_id,
            copied_bytes: self.copied_bytes,
            status: self.status,
            flags: self.flags | lane_flag,
            ..bytemuck::Zeroable::zeroed()
        }
    }
}

/// `lane`, which is [`LANE_NAMED_FIRST`] or above, and the flag to set. Relaxed: a thread that has the number saw it counted.
#[inline(never)]
fn named_lane(lane: usize, lanes_named: &AtomicU32) -> (u32, u8) {
    let number = lane - LANE_NAMED_FIRST as usize;
    if number < lanes_named.load(Ordering::Relaxed) as usize {
        (lane as u32, 0)
    } else {
        (LANE_NAMED_FIRST - 1, FLAG_SATURATED)
    }
}
