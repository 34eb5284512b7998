//! What a C program says about an event: `hrxt_event` and `hrxt_argument`.

use std::ffi::c_char;

use hrx_trace::{Event, Key, Label, Value, lane};

use crate::error::{Errno, INVALID};
use crate::sized::{self, Versioned};
use crate::text;

/// Host to device copies.
pub const HRXT_LANE_UPLOAD: u32 = 0;
/// Kernels.
pub const HRXT_LANE_COMPUTE: u32 = 1;
/// Device to host copies.
pub const HRXT_LANE_DOWNLOAD: u32 = 2;
/// NPU jobs.
pub const HRXT_LANE_NPU: u32 = 3;
/// Host work.
pub const HRXT_LANE_HOST: u32 = 4;

const _: () = assert!(
    HRXT_LANE_UPLOAD as usize == lane::UPLOAD
        && HRXT_LANE_COMPUTE as usize == lane::COMPUTE
        && HRXT_LANE_DOWNLOAD as usize == lane::DOWNLOAD
        && HRXT_LANE_NPU as usize == lane::NPU
        && HRXT_LANE_HOST as usize == lane::HOST
);

/// `hrxt_event.flags`: it failed.
pub const HRXT_FAILED: u32 = 1;
/// `hrxt_event.flags`: it was cancelled, which is no failure.
pub const HRXT_CANCELLED: u32 = 4;

/// `hrxt_argument.kind`: `number.u64`.
pub const HRXT_U64: u32 = 0;
/// `hrxt_argument.kind`: `number.i64`.
pub const HRXT_I64: u32 = 1;
/// `hrxt_argument.kind`: `number.f64`.
pub const HRXT_F64: u32 = 2;
/// `hrxt_argument.kind`: `number.u64`, 0 or not.
pub const HRXT_BOOL: u32 = 3;
/// `hrxt_argument.kind`: `number.text`. It is cut at 256 bytes, and ends where it is not UTF-8.
pub const HRXT_TEXT: u32 = 4;

/// A name of events, of one recorder: see hrxt_label. 0: no name.
pub type hrxt_label_t = u32;
/// A name of arguments, of one recorder: see hrxt_key. 0: no name.
pub type hrxt_key_t = u32;
/// Where viewers show an event: HRXT_LANE_UPLOAD to HRXT_LANE_HOST, any other number below 2^31, or one that hrxt_lane gave out.
pub type hrxt_lane_t = u32;

/// What is said about a region or a mark: hrxt_event_of fills in a lane and a label, and all else is 0, which means none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hrxt_event {
    /// sizeof(hrxt_event).
    pub struct_size: usize,
    /// The submission or graph that it belongs to.
    pub correlation_id: u64,
    /// How many bytes it copies. A mark has none.
    pub copied_bytes: u64,
    /// Its lane.
    pub lane: hrxt_lane_t,
    /// Its name.
    pub label: hrxt_label_t,
    /// The caller's error code. A mark has none.
    pub status: u32,
    /// HRXT_FAILED, HRXT_CANCELLED. A mark has none.
    pub flags: u32,
}

/// The value of an argument.
#[repr(C)]
#[derive(Clone, Copy)]
pub union hrxt_number {
    /// Of HRXT_U64 and HRXT_BOOL.
    pub u64: u64,
    /// Of HRXT_I64.
    pub i64: i64,
    /// Of HRXT_F64.
    pub f64: f64,
    /// Of HRXT_TEXT; not null.
    pub text: *const c_char,
}

/// An argument of a mark, or of a region that is recorded at once.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hrxt_argument {
    /// Its name.
    pub key: hrxt_key_t,
    /// HRXT_U64 … HRXT_TEXT.
    pub kind: u32,
    /// Its value.
    pub number: hrxt_number,
}

// SAFETY: integers, the size first, without padding on targets with 64 bits, and none of which is read before it is zeroed on others.
unsafe impl Versioned for hrxt_event {
    const BYTES_MIN: usize = size_of::<Self>();
}

/// The event that is said at `event`.
///
/// # Safety
/// `event` is null, or to a struct as large as it says.
#[inline(always)]
pub unsafe fn read(event: *const hrxt_event) -> Result<Event, Errno> {
    // SAFETY: the caller's promise.
    let said = unsafe { sized::read(event) }?;
    if said.flags & !(HRXT_FAILED | HRXT_CANCELLED) != 0 {
        return Err(INVALID);
    }
    Ok(of(said.lane, said.label)
        .correlation_id(said.correlation_id)
        .copied_bytes(said.copied_bytes)
        .status(said.status)
        .failed(said.flags & HRXT_FAILED != 0)
        .cancelled(said.flags & HRXT_CANCELLED != 0))
}

/// An event of which no more is known.
#[inline(always)]
pub fn of(lane: hrxt_lane_t, label: hrxt_label_t) -> Event {
    Event::new(lane as usize).label(Label::from_bits(label))
}

/// At most so many arguments are given at once.
pub const HRXT_ARGUMENTS_MAX: usize = 16;

/// Arguments as the recorder takes them.
pub struct Arguments<'a> {
    all: [(Key, Value<'a>); HRXT_ARGUMENTS_MAX],
    count: usize,
}

impl<'a> Arguments<'a> {
    /// The `count` arguments from `first` on.
    ///
    /// # Safety
    /// They are there, and their texts stay as they are as long as the result is used; `first` may be null if there are none.
    pub unsafe fn read(first: *const hrxt_argument, count: usize) -> Result<Self, Errno> {
        if count > HRXT_ARGUMENTS_MAX || first.is_null() && count > 0 {
            return Err(INVALID);
        }
        let mut all = [(Key::NONE, Value::from(false)); HRXT_ARGUMENTS_MAX];
        for (index, argument) in all[..count].iter_mut().enumerate() {
            // SAFETY: there are `count` of them.
            let said = unsafe { first.wrapping_add(index).read() };
            // SAFETY: the caller's promise.
            *argument = (Key::from_bits(said.key), unsafe { value(said) }?);
        }
        Ok(Self { all, count })
    }

    pub fn as_slice(&self) -> &[(Key, Value<'a>)] {
        &self.all[..self.count]
    }
}

/// # Safety
/// If its kind is HRXT_TEXT, its text is null or a string.
unsafe fn value<'a>(said: hrxt_argument) -> Result<Value<'a>, Errno> {
    let number = said.number;
    Ok(match said.kind {
        // SAFETY: any bits are an integer.
        HRXT_U64 => Value::from(unsafe { number.u64 }),
        // SAFETY: as above.
        HRXT_I64 => Value::from(unsafe { number.i64 }),
        // SAFETY: any bits are a number.
        HRXT_F64 => Value::from(unsafe { number.f64 }),
        // SAFETY: any bits are an integer.
        HRXT_BOOL => Value::from(unsafe { number.u64 } != 0),
        HRXT_TEXT => {
            // SAFETY: the caller says that it is the text.
            let text = unsafe { number.text };
            // SAFETY: the caller's promise.
            Value::from(unsafe { text::read_argument(text) }?)
        }
        _ => return Err(INVALID),
    })
}
