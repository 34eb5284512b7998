//! ITT: what `ittnotify.h` and `ittnotify_config.h` declare (intel/ittapi), of versions from 2018 on.

use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::mem::offset_of;
use std::sync::atomic::{AtomicI32, AtomicPtr};

/// `ITT_MAGIC`.
pub const MAGIC: [u8; 8] = [0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30];

/// `__itt_global`, as far as it is used.
#[repr(C)]
pub struct Global {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// 3.
    pub version_major: c_ulong,
    /// Unused here.
    pub version_minor: c_ulong,
    /// Unused here.
    pub version_build: c_ulong,
    /// Unused here.
    pub api_initialized: c_long,
    /// Unused here.
    pub mutex_initialized: c_long,
    /// Unused here.
    pub atomic_counter: c_long,
    /// Held by the caller. Its size is the C library's.
    pub mutex: libc::pthread_mutex_t,
    /// Unused here.
    pub lib: *mut c_void,
    /// Unused here.
    pub error_handler: *mut c_void,
    /// Unused here.
    pub dll_path_ptr: *const *const c_char,
    /// The functions, up to one without a name.
    pub api_list_ptr: *const ApiInfo,
}

const _: () = {
    assert!(offset_of!(Global, mutex) == 56);
    assert!(offset_of!(Global, lib) == 56 + size_of::<libc::pthread_mutex_t>());
    assert!(offset_of!(Global, api_list_ptr) == offset_of!(Global, lib) + 24);
};

/// `__itt_api_info`.
#[repr(C)]
pub struct ApiInfo {
    /// As `__itt_task_begin`. Null: the end of the list.
    pub name: *const c_char,
    /// The client's function pointer.
    pub func_ptr: *mut *const c_void,
    /// What it holds before the first call.
    pub init_func: *const c_void,
    /// What it holds if no one listens.
    pub null_func: *const c_void,
    /// `__itt_group_id`.
    pub group: c_uint,
}

const _: () = assert!(size_of::<ApiInfo>() == 40);

/// What each handle reserves for the listener.
#[repr(C)]
pub struct Reserved {
    /// `extra1`: whose `extra2` is. 0: no one's.
    pub owner: AtomicI32,
    /// `extra2`.
    pub known: AtomicPtr<c_void>,
}

/// `__itt_domain`.
#[repr(C)]
pub struct Domain {
    /// 0: disabled.
    pub flags: c_int,
    /// Ends with a zero.
    pub name_a: *const c_char,
    /// Null here.
    pub name_w: *mut c_void,
    /// `extra1` and `extra2`.
    pub reserved: Reserved,
    /// The next one of the client's list.
    pub next: *mut Domain,
}

const _: () = assert!(size_of::<Domain>() == 48 && offset_of!(Domain, reserved.known) == 32);

/// `__itt_string_handle`.
#[repr(C)]
pub struct StringHandle {
    /// Ends with a zero.
    pub str_a: *const c_char,
    /// Null here.
    pub str_w: *mut c_void,
    /// `extra1` and `extra2`.
    pub reserved: Reserved,
    /// The next one of the client's list.
    pub next: *mut StringHandle,
}

const _: () =
    assert!(size_of::<StringHandle>() == 40 && offset_of!(StringHandle, reserved.known) == 24);

/// `__itt_counter_info_t`, which `__itt_counter` points to.
#[repr(C)]
pub struct Counter {
    /// Ends with a zero.
    pub name_a: *const c_char,
    /// Null here.
    pub name_w: *mut c_void,
    /// Ends with a zero, or null.
    pub domain_a: *const c_char,
    /// Null here.
    pub domain_w: *mut c_void,
    /// `METADATA_…`.
    pub metadata_type: c_int,
    /// Unused here.
    pub index: c_long,
    /// `extra1` and `extra2`.
    pub reserved: Reserved,
    /// The next one of the client's list.
    pub next: *mut Counter,
}

const _: () = assert!(size_of::<Counter>() == 72 && offset_of!(Counter, reserved.known) == 56);

/// `__itt_id`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Id {
    /// All zero: no id.
    pub d1: u64,
    /// Often a pointer.
    pub d2: u64,
    /// Unused by most.
    pub d3: u64,
}

/// `__itt_metadata_u64`.
pub const METADATA_U64: c_int = 1;
/// `__itt_metadata_s64`.
pub const METADATA_I64: c_int = 2;
/// `__itt_metadata_u32`.
pub const METADATA_U32: c_int = 3;
/// `__itt_metadata_s32`.
pub const METADATA_I32: c_int = 4;
/// `__itt_metadata_u16`.
pub const METADATA_U16: c_int = 5;
/// `__itt_metadata_s16`.
pub const METADATA_I16: c_int = 6;
/// `__itt_metadata_float`.
pub const METADATA_F32: c_int = 7;
/// `__itt_metadata_double`.
pub const METADATA_F64: c_int = 8;
