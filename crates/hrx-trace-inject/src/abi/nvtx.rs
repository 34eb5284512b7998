//! NVTX 3: what `nvToolsExt.h` and `nvtxDetail/nvtxTypes.h` declare (NVIDIA/NVTX, `c/include/nvtx3`).

use std::ffi::{c_int, c_uint, c_void};
use std::mem::offset_of;

/// `NVTX_ETID_CALLBACKS`.
pub const TABLE_CALLBACKS: u32 = 1;
/// `NVTX_CB_MODULE_CORE`.
pub const MODULE_CORE: c_uint = 1;
/// `NVTX_CB_MODULE_CORE2`.
pub const MODULE_CORE2: c_uint = 5;
/// `NVTX_NO_PUSH_POP_TRACKING`: the level of a range that no tool tracks.
pub const NOT_TRACKED: c_int = -2;

/// A function of a table, of whatever type its slot has.
pub type Function = *const c_void;
/// A module's table: pointers to the client's function pointers. Slot 0 is null.
pub type Table = *mut *mut Function;
/// `NvtxGetExportTableFunc_t`.
pub type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;

/// `NvtxExportTableCallbacks`.
#[repr(C)]
pub struct Callbacks {
    /// Bytes of the struct.
    pub struct_size: usize,
    /// Gives a module's table, and how many slots it has. 0: there is no such module.
    pub get_module_function_table:
        Option<unsafe extern "C" fn(c_uint, *mut Table, *mut c_uint) -> c_int>,
}

const _: () = assert!(size_of::<Callbacks>() == 16);

/// `nvtxEventAttributes_t`, version 2 and later.
#[repr(C)]
pub struct EventAttributes {
    /// 2 or 3.
    pub version: u16,
    /// Bytes of the struct.
    pub size: u16,
    /// 0: none.
    pub category: u32,
    /// 0: none.
    pub color_type: i32,
    /// ARGB.
    pub color: u32,
    /// `PAYLOAD_…`; 0: none.
    pub payload_type: i32,
    /// Unused.
    pub reserved: i32,
    /// A number of the type that `payload_type` says.
    pub payload: u64,
    /// `MESSAGE_…`; 0: none.
    pub message_type: i32,
    /// What `message_type` says.
    pub message: *const c_void,
}

const _: () = {
    assert!(size_of::<EventAttributes>() == 48);
    assert!(offset_of!(EventAttributes, payload) == 24);
    assert!(offset_of!(EventAttributes, message) == 40);
};

/// `NVTX_PAYLOAD_TYPE_UNSIGNED_INT64`.
pub const PAYLOAD_U64: i32 = 1;
/// `NVTX_PAYLOAD_TYPE_INT64`.
pub const PAYLOAD_I64: i32 = 2;
/// `NVTX_PAYLOAD_TYPE_DOUBLE`.
pub const PAYLOAD_F64: i32 = 3;
/// `NVTX_PAYLOAD_TYPE_UNSIGNED_INT32`.
pub const PAYLOAD_U32: i32 = 4;
/// `NVTX_PAYLOAD_TYPE_INT32`.
pub const PAYLOAD_I32: i32 = 5;
/// `NVTX_PAYLOAD_TYPE_FLOAT`.
pub const PAYLOAD_F32: i32 = 6;

/// `NVTX_MESSAGE_TYPE_ASCII`: `const char *`.
pub const MESSAGE_ASCII: i32 = 1;
/// `NVTX_MESSAGE_TYPE_UNICODE`: `const wchar_t *`.
pub const MESSAGE_WIDE: i32 = 2;
/// `NVTX_MESSAGE_TYPE_REGISTERED`: `nvtxStringHandle_t`.
pub const MESSAGE_REGISTERED: i32 = 3;

/// `nvtxResourceAttributes_t`.
#[repr(C)]
pub struct ResourceAttributes {
    /// 2 or 3.
    pub version: u16,
    /// Bytes of the struct.
    pub size: u16,
    /// What the identifier is; 0: unknown.
    pub identifier_type: i32,
    /// A pointer or a number.
    pub identifier: u64,
    /// `MESSAGE_…`.
    pub message_type: i32,
    /// What `message_type` says.
    pub message: *const c_void,
}

const _: () = {
    assert!(size_of::<ResourceAttributes>() == 32);
    assert!(offset_of!(ResourceAttributes, message) == 24);
};

/// Wide characters as C has them here.
pub type Wide = libc::wchar_t;
