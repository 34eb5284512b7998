//! NVTX 3: the callbacks of its modules CORE and CORE2, all of them.
//!
//! Each shared object of the program has a table of its own, and asks by itself. A slot that is left alone becomes null, and a push that no one heard would make its
//! pop take another's: so every slot is filled.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use hrx_trace::Value;

use crate::abi::nvtx::{
    self as abi, Callbacks, EventAttributes, Function, GetExportTable, ResourceAttributes, Wide,
};
use crate::capture;
use crate::event::{self, Message, Said};
use crate::ranges;
use crate::registry::{self, DEFAULT, Domain, Registered};
use crate::stacks;
use crate::text::{Text, plain};
use crate::thread;

/// What a client calls as it makes its first call. 1: this library listens; 0: it must not.
///
/// # Safety
/// `get_export_table` is that of the NVTX headers, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(
    get_export_table: Option<GetExportTable>,
) -> c_int {
    let Some(get_export_table) = get_export_table else {
        return 0;
    };
    if !capture::prepare() {
        return 0;
    }
    // SAFETY: the function takes any number, and returns a table of that number or null.
    let callbacks = unsafe { get_export_table(abi::TABLE_CALLBACKS) }.cast::<Callbacks>();
    // SAFETY: the table begins with its size, and is there as long as the client.
    let Some(callbacks) = (unsafe { callbacks.as_ref() }) else {
        return 0;
    };
    let Some(get_table) = callbacks.get_module_function_table else {
        return 0;
    };
    for (module, functions) in [(abi::MODULE_CORE, &core()), (abi::MODULE_CORE2, &core2())] {
        let (mut table, mut size) = (ptr::null_mut(), 0);
        // SAFETY: the places for the results are ours.
        let found = unsafe { get_table(module, &raw mut table, &raw mut size) };
        if found == 0 || table.is_null() {
            continue;
        }
        for index in 1..functions.len().min(size as usize) {
            // SAFETY: the client says that its table has `size` slots.
            let slot = unsafe { table.add(index).read() };
            if !slot.is_null() {
                // SAFETY: a slot of a table points to the client's function pointer; other threads wait until this call has returned.
                unsafe { slot.write(functions[index]) };
            }
        }
    }
    1
}

/// The functions of CORE, by `NvtxCallbackIdCore`.
fn core() -> [Function; 16] {
    [
        ptr::null(),
        mark_ex as Function,
        mark_a as Function,
        mark_w as Function,
        range_start_ex as Function,
        range_start_a as Function,
        range_start_w as Function,
        range_end as Function,
        range_push_ex as Function,
        range_push_a as Function,
        range_push_w as Function,
        range_pop as Function,
        name_category_a as Function,
        name_category_w as Function,
        name_os_thread_a as Function,
        name_os_thread_w as Function,
    ]
}

/// The functions of CORE2, by `NvtxCallbackIdCore2`.
fn core2() -> [Function; 16] {
    [
        ptr::null(),
        domain_mark_ex as Function,
        domain_range_start_ex as Function,
        domain_range_end as Function,
        domain_range_push_ex as Function,
        domain_range_pop as Function,
        domain_resource_create as Function,
        domain_resource_destroy as Function,
        domain_name_category_a as Function,
        domain_name_category_w as Function,
        domain_register_string_a as Function,
        domain_register_string_w as Function,
        domain_create_a as Function,
        domain_create_w as Function,
        domain_destroy as Function,
        initialize as Function,
    ]
}

type DomainHandle = *const Domain;
type StringHandle = *const Registered;

/// The domain of a handle.
///
/// # Safety
/// `handle` is null or came from this library.
#[inline(always)]
unsafe fn domain_of(handle: DomainHandle) -> &'static Domain {
    // SAFETY: domains are never freed.
    unsafe { handle.as_ref() }.unwrap_or(&DEFAULT)
}

/// Calls `with` on what `attributes` says.
///
/// # Safety
/// `attributes` is null or as the interface has it, with a message of the type that it says.
#[inline(always)]
unsafe fn said<T>(attributes: *const EventAttributes, with: impl FnOnce(Said<'_>) -> T) -> T {
    // SAFETY: the caller's promise. An older, shorter struct is refused below, by its first bytes.
    let Some(attributes) = (unsafe { attributes.as_ref() }) else {
        return with(Said::only(Message::None));
    };
    if usize::from(attributes.size) < size_of::<EventAttributes>() {
        return with(Said::only(Message::None));
    }
    let said = Said {
        payload: payload(attributes),
        category: attributes.category,
        message: Message::None,
    };
    // SAFETY: the caller's promise.
    unsafe {
        with_message(attributes.message_type, attributes.message, |message| {
            with(Said { message, ..said })
        })
    }
}

/// # Safety
/// `message` is null or what `message_type` says.
#[inline(always)]
unsafe fn with_message<T>(
    message_type: i32,
    message: *const c_void,
    with: impl FnOnce(Message<'_>) -> T,
) -> T {
    if message.is_null() {
        return with(Message::None);
    }
    match message_type {
        // SAFETY: the caller's promise.
        abi::MESSAGE_ASCII => with(Message::Text(unsafe { plain(message.cast()) })),
        abi::MESSAGE_WIDE => {
            // SAFETY: the caller's promise.
            let text = unsafe { Text::wide(message.cast()) };
            with(Message::Text(text.as_str().as_bytes()))
        }
        abi::MESSAGE_REGISTERED => {
            // SAFETY: handles came from this library, and strings are never freed.
            let string: &'static Registered = unsafe { &*message.cast() };
            with(Message::Registered(&string.kept))
        }
        _ => with(Message::None),
    }
}

#[inline(always)]
fn payload(attributes: &EventAttributes) -> Option<Value<'static>> {
    let bits = attributes.payload;
    // The types of 4 bytes lie in the first ones of the union.
    let low = (bits.to_ne_bytes().first_chunk::<4>()).map_or(0, |bytes| u32::from_ne_bytes(*bytes));
    Some(match attributes.payload_type {
        abi::PAYLOAD_U64 => Value::from(bits),
        abi::PAYLOAD_I64 => Value::from(bits.cast_signed()),
        abi::PAYLOAD_F64 => Value::from(f64::from_bits(bits)),
        abi::PAYLOAD_U32 => Value::from(low),
        abi::PAYLOAD_I32 => Value::from(low.cast_signed()),
        abi::PAYLOAD_F32 => Value::from(f64::from(f32::from_bits(low))),
        _ => return None,
    })
}

/// # Safety
/// `message` is null or ends with a zero.
#[inline(always)]
unsafe fn said_plain<T>(message: *const c_char, with: impl FnOnce(Said<'_>) -> T) -> T {
    // SAFETY: the caller's promise.
    unsafe {
        with_message(abi::MESSAGE_ASCII, message.cast(), |message| {
            with(Said::only(message))
        })
    }
}

/// # Safety
/// `message` is null or ends with a zero.
unsafe fn said_wide<T>(message: *const Wide, with: impl FnOnce(Said<'_>) -> T) -> T {
    // SAFETY: the caller's promise.
    unsafe {
        with_message(abi::MESSAGE_WIDE, message.cast(), |message| {
            with(Said::only(message))
        })
    }
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe fn with_wide<T>(text: *const Wide, with: impl FnOnce(&[u8]) -> T) -> T {
    if text.is_null() {
        return with(b"");
    }
    // SAFETY: the caller's promise.
    with(unsafe { Text::wide(text) }.as_str().as_bytes())
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        return b"";
    }
    // SAFETY: the caller's promise.
    unsafe { plain(text) }
}

// What each range does.

#[inline(always)]
fn push(domain: &'static Domain, said: Said<'_>) -> c_int {
    stacks::push(domain.address(), || event::begin(domain, said)) as c_int
}

#[inline(always)]
fn pop(domain: &'static Domain) -> c_int {
    match stacks::pop(domain.address()) {
        Some((region, level)) => {
            if let Some(region) = region {
                region.finish();
            }
            level as c_int
        }
        None => abi::NOT_TRACKED,
    }
}

/// Ranges of a process have numbers from 1.
static RANGES: AtomicU64 = AtomicU64::new(1);
/// Tells the numbers of NVTX from other keys.
const SPACE: u64 = 1;

fn start(domain: &'static Domain, said: Said<'_>) -> u64 {
    let id = RANGES.fetch_add(1, Ordering::Relaxed);
    event::keep_range(ranges::key(SPACE, id), domain, said);
    id
}

fn end(id: u64) {
    if let Some(region) = ranges::take(ranges::key(SPACE, id)) {
        region.finish();
    }
}

// The callbacks. Each is called with what the headers' function of its name was.

unsafe extern "C" fn mark_ex(attributes: *const EventAttributes) {
    // SAFETY: the client's promise.
    unsafe { said(attributes, |said| event::mark(&DEFAULT, said)) }
}

unsafe extern "C" fn mark_a(message: *const c_char) {
    // SAFETY: the client's promise.
    unsafe { said_plain(message, |said| event::mark(&DEFAULT, said)) }
}

unsafe extern "C" fn mark_w(message: *const Wide) {
    // SAFETY: the client's promise.
    unsafe { said_wide(message, |said| event::mark(&DEFAULT, said)) }
}

unsafe extern "C" fn range_start_ex(attributes: *const EventAttributes) -> u64 {
    // SAFETY: the client's promise.
    unsafe { said(attributes, |said| start(&DEFAULT, said)) }
}

unsafe extern "C" fn range_start_a(message: *const c_char) -> u64 {
    // SAFETY: the client's promise.
    unsafe { said_plain(message, |said| start(&DEFAULT, said)) }
}

unsafe extern "C" fn range_start_w(message: *const Wide) -> u64 {
    // SAFETY: the client's promise.
    unsafe { said_wide(message, |said| start(&DEFAULT, said)) }
}

unsafe extern "C" fn range_end(id: u64) {
    end(id);
}

unsafe extern "C" fn range_push_ex(attributes: *const EventAttributes) -> c_int {
    // SAFETY: the client's promise.
    unsafe { said(attributes, |said| push(&DEFAULT, said)) }
}

unsafe extern "C" fn range_push_a(message: *const c_char) -> c_int {
    // SAFETY: the client's promise.
    unsafe { said_plain(message, |said| push(&DEFAULT, said)) }
}

unsafe extern "C" fn range_push_w(message: *const Wide) -> c_int {
    // SAFETY: the client's promise.
    unsafe { said_wide(message, |said| push(&DEFAULT, said)) }
}

unsafe extern "C" fn range_pop() -> c_int {
    pop(&DEFAULT)
}

unsafe extern "C" fn name_category_a(category: u32, name: *const c_char) {
    // SAFETY: the client's promise.
    registry::name_category(&DEFAULT, category, unsafe { bytes(name) });
}

unsafe extern "C" fn name_category_w(category: u32, name: *const Wide) {
    // SAFETY: the client's promise.
    unsafe {
        with_wide(name, |name| {
            registry::name_category(&DEFAULT, category, name)
        })
    }
}

unsafe extern "C" fn name_os_thread_a(thread_id: c_uint, name: *const c_char) {
    // SAFETY: the client's promise.
    thread::name(thread_id, Text::new(unsafe { bytes(name) }).as_str());
}

unsafe extern "C" fn name_os_thread_w(thread_id: c_uint, name: *const Wide) {
    // SAFETY: the client's promise.
    unsafe {
        with_wide(name, |name| {
            thread::name(thread_id, Text::new(name).as_str())
        })
    }
}

unsafe extern "C" fn domain_mark_ex(domain: DomainHandle, attributes: *const EventAttributes) {
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    unsafe { said(attributes, |said| event::mark(domain, said)) }
}

unsafe extern "C" fn domain_range_start_ex(
    domain: DomainHandle,
    attributes: *const EventAttributes,
) -> u64 {
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    unsafe { said(attributes, |said| start(domain, said)) }
}

unsafe extern "C" fn domain_range_end(_: DomainHandle, id: u64) {
    end(id);
}

unsafe extern "C" fn domain_range_push_ex(
    domain: DomainHandle,
    attributes: *const EventAttributes,
) -> c_int {
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    unsafe { said(attributes, |said| push(domain, said)) }
}

unsafe extern "C" fn domain_range_pop(domain: DomainHandle) -> c_int {
    // SAFETY: the client's promise.
    pop(unsafe { domain_of(domain) })
}

/// A resource's name is a mark, in its domain. Its handle is only ever given back.
unsafe extern "C" fn domain_resource_create(
    domain: DomainHandle,
    attributes: *const ResourceAttributes,
) -> *const c_void {
    static RESOURCE: u8 = 0;
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    if let Some(attributes) = unsafe { attributes.as_ref() }
        && usize::from(attributes.size) >= size_of::<ResourceAttributes>()
    {
        let payload = Some(Value::from(attributes.identifier));
        // SAFETY: the client's promise.
        unsafe {
            with_message(attributes.message_type, attributes.message, |message| {
                event::mark(
                    domain,
                    Said {
                        message,
                        payload,
                        category: 0,
                    },
                );
            });
        }
    }
    (&raw const RESOURCE).cast()
}

unsafe extern "C" fn domain_resource_destroy(_: *const c_void) {}

unsafe extern "C" fn domain_name_category_a(
    domain: DomainHandle,
    category: u32,
    name: *const c_char,
) {
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    registry::name_category(domain, category, unsafe { bytes(name) });
}

unsafe extern "C" fn domain_name_category_w(
    domain: DomainHandle,
    category: u32,
    name: *const Wide,
) {
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    unsafe { with_wide(name, |name| registry::name_category(domain, category, name)) }
}

unsafe extern "C" fn domain_register_string_a(
    domain: DomainHandle,
    string: *const c_char,
) -> StringHandle {
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    register(domain, unsafe { bytes(string) })
}

unsafe extern "C" fn domain_register_string_w(
    domain: DomainHandle,
    string: *const Wide,
) -> StringHandle {
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    unsafe { with_wide(string, |string| register(domain, string)) }
}

fn register(domain: &'static Domain, string: &[u8]) -> StringHandle {
    registry::register(domain.group, string).map_or(ptr::null(), ptr::from_ref)
}

unsafe extern "C" fn domain_create_a(name: *const c_char) -> DomainHandle {
    // SAFETY: the client's promise.
    registry::open_domain(unsafe { bytes(name) })
}

unsafe extern "C" fn domain_create_w(name: *const Wide) -> DomainHandle {
    // SAFETY: the client's promise.
    unsafe { with_wide(name, |name| ptr::from_ref(registry::open_domain(name))) }
}

unsafe extern "C" fn domain_destroy(domain: DomainHandle) {
    // SAFETY: the client's promise.
    registry::close_domain(unsafe { domain_of(domain) });
}

unsafe extern "C" fn initialize(_: *const c_void) {}
