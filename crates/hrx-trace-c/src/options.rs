//! What can be chosen about a capture: `hrxt_options`.

use std::ffi::c_char;
use std::ptr;
use std::time::Duration;

use hrx_trace::Options;

use crate::error::{Errno, INVALID};
use crate::sized::{self, Versioned};
use crate::text;

/// `hrxt_options.flags`: the pages are not made present at creation. That is faster, and the first lap takes a page fault every 64 events.
pub const HRXT_SPARSE: u32 = 1;
/// `hrxt_options.flags`: an exit without hrxt_close is not said in the file, and reads as a death.
pub const HRXT_SILENT_EXIT: u32 = 2;
/// `hrxt_options.flags`: no region is shown while it runs, and open_regions must be 0.
pub const HRXT_NO_OPEN_REGIONS: u32 = 4;

/// How many events are kept by default.
const CAPACITY: u64 = 65_536;

/// Something that the program says about itself: rank, attempt, version.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hrxt_attribute {
    /// Not empty, without '=' and control characters.
    pub key: *const c_char,
    /// Without control characters.
    pub value: *const c_char,
}

/// What can be chosen about a capture: hrxt_default_options fills it in, and 0 is the default of all but the size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hrxt_options {
    /// sizeof(hrxt_options).
    pub struct_size: usize,
    /// How many events are kept, 64 bytes each; in each ring. By default 65,536.
    pub capacity: u64,
    /// Room for names, in bytes, up to 16 MiB. By default 1 MiB.
    pub name_bytes: u64,
    /// The period of a thread that says that the process lives, in milliseconds. By default there is none.
    pub heartbeat_ms: u64,
    /// What the program says about itself; together up to 656 bytes.
    pub attributes: *const hrxt_attribute,
    /// How many attributes there are.
    pub attribute_count: usize,
    /// How many rings the threads share, 1 to 1,024. By default 1.
    pub rings: u32,
    /// How many regions the file can show while they run, 512 bytes each, up to 65,534. By default 1,024.
    pub open_regions: u32,
    /// How many finished captures of this program stay in the folder. By default all.
    pub keep: u32,
    /// HRXT_SPARSE, HRXT_SILENT_EXIT, HRXT_NO_OPEN_REGIONS.
    pub flags: u32,
}

// SAFETY: integers and pointers, the size first, without padding; any bytes are a value.
unsafe impl Versioned for hrxt_options {
    const BYTES_MIN: usize = size_of::<Self>();
}

impl hrxt_options {
    /// The defaults.
    pub const DEFAULT: Self = Self {
        struct_size: size_of::<Self>(),
        capacity: 0,
        name_bytes: 0,
        heartbeat_ms: 0,
        attributes: ptr::null(),
        attribute_count: 0,
        rings: 0,
        open_regions: 0,
        keep: 0,
        flags: 0,
    };
}

/// The options at `options`; null: the defaults.
///
/// # Safety
/// `options` is null, or to a struct as large as it says, whose attributes are there.
pub unsafe fn read(options: *const hrxt_options) -> Result<Options, Errno> {
    if options.is_null() {
        return Ok(base(CAPACITY));
    }
    // SAFETY: the caller's promise.
    let said = unsafe { sized::read(options) }?;
    let hides = said.flags & HRXT_NO_OPEN_REGIONS != 0;
    let known = HRXT_SPARSE | HRXT_SILENT_EXIT | HRXT_NO_OPEN_REGIONS;
    if said.flags & !known != 0
        || hides && said.open_regions != 0
        || said.attributes.is_null() && said.attribute_count > 0
    {
        return Err(INVALID);
    }
    let mut options = base(if said.capacity == 0 {
        CAPACITY
    } else {
        said.capacity
    })
    .populate(said.flags & HRXT_SPARSE == 0)
    .finish_at_exit(said.flags & HRXT_SILENT_EXIT == 0)
    .heartbeat(Duration::from_millis(said.heartbeat_ms));
    if said.rings != 0 {
        options = options.rings(said.rings);
    }
    if hides || said.open_regions != 0 {
        options = options.open_regions(said.open_regions);
    }
    if said.name_bytes != 0 {
        options = options.name_bytes(said.name_bytes);
    }
    if said.keep != 0 {
        options = options.keep(said.keep as usize);
    }
    for index in 0..said.attribute_count {
        // SAFETY: there are that many.
        let attribute = unsafe { said.attributes.wrapping_add(index).read() };
        // SAFETY: they are strings or null.
        let key = unsafe { text::read(attribute.key) }?;
        // SAFETY: as above.
        let value = unsafe { text::read(attribute.value) }?;
        options = options.attribute(key, value);
    }
    Ok(options)
}

fn base(capacity: u64) -> Options {
    Options::new(capacity).finish_at_exit(true)
}
