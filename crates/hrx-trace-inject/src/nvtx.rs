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
use crate::chain::{self, Functions, Next, next};
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
    let modules = [(abi::MODULE_CORE, core()), (abi::MODULE_CORE2, core2())];
    let tables = modules.map(|(module, _)| {
        let (mut table, mut size) = (ptr::null_mut(), 0);
        // SAFETY: the places for the results are ours.
        let found = unsafe { get_table(module, &raw mut table, &raw mut size) };
        if found == 0 || table.is_null() {
            (ptr::null_mut(), 0)
        } else {
            (table, (size as usize).min(PLACES))
        }
    });
    // SAFETY: the tables are the client's.
    let before = tables.map(|table| unsafe { read(table) });
    if let Some(initialise) = NEXT.initialiser(InitializeInjectionNvtx2 as *const c_void) {
        // SAFETY: the symbol is that of a function of this type.
        let initialise: unsafe extern "C" fn(Option<GetExportTable>) -> c_int =
            unsafe { std::mem::transmute(initialise) };
        // SAFETY: as if the client had called it.
        unsafe { initialise(Some(get_export_table)) };
    }
    // SAFETY: the tables are the client's.
    let after = tables.map(|table| unsafe { read(table) });
    for (number, (_, functions)) in modules.iter().enumerate() {
        for place in 1..tables[number].1 {
            // What is as it was is the client's own, which would wait for this call to end.
            if after[number][place] != before[number][place] {
                CHAIN.set(number * PLACES + place, after[number][place]);
            }
            // SAFETY: the client says that its table has so many slots.
            let slot = unsafe { tables[number].0.wrapping_add(place).read() };
            if !slot.is_null() {
                // SAFETY: a slot of a table points to the client's function pointer; other threads wait until this call has returned.
                unsafe { slot.write(functions[place]) };
            }
        }
    }
    1
}

/// Slots of a module.
const PLACES: usize = 16;
/// Where CORE2's begin in [`CHAIN`].
const CORE2: usize = PLACES;

static NEXT: Next = Next::new("HRX_TRACE_NEXT_NVTX", c"InitializeInjectionNvtx2");
/// The next listener's functions: CORE's, then CORE2's.
static CHAIN: Functions<{ 2 * PLACES }> = Functions::none();
/// Kinds of its handles.
const DOMAIN: u64 = 1;
const STRING: u64 = 2;

/// What the slots of a table hold; null where there is none.
///
/// # Safety
/// The table has that many slots.
unsafe fn read((table, size): (abi::Table, usize)) -> [Function; PLACES] {
    std::array::from_fn(|place| {
        if place == 0 || place >= size {
            return ptr::null();
        }
        // SAFETY: the caller's promise.
        let slot = unsafe { table.wrapping_add(place).read() };
        if slot.is_null() {
            return ptr::null();
        }
        // SAFETY: a slot points to a function pointer.
        unsafe { slot.read() }
    })
}

/// The functions of CORE, by `NvtxCallbackIdCore`.
fn core() -> [Function; PLACES] {
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
fn core2() -> [Function; PLACES] {
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
    if CHAIN.get(CORE2 + 12).is_some() && !handle.is_null() {
        // SAFETY: domains stand beside the handles of this kind.
        return unsafe { chain::beside(DOMAIN, handle.addr() as u64) }.unwrap_or(&DEFAULT);
    }
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
            if CHAIN.get(CORE2 + 10).is_some() {
                // SAFETY: strings stand beside the handles of this kind.
                let string = unsafe { chain::beside::<Registered>(STRING, message.addr() as u64) };
                return with(
                    string.map_or(Message::None, |string| Message::Registered(&string.kept)),
                );
            }
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

/// `next` is the number that the next listener gave it.
fn start(next: Option<u64>, domain: &'static Domain, said: Said<'_>) -> u64 {
    let id = next
        .filter(|id| *id != 0)
        .unwrap_or_else(|| RANGES.fetch_add(1, Ordering::Relaxed));
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
    next!(CHAIN, 1, fn(*const EventAttributes), attributes);
    // SAFETY: the client's promise.
    unsafe { said(attributes, |said| event::mark(&DEFAULT, said)) }
}

unsafe extern "C" fn mark_a(message: *const c_char) {
    next!(CHAIN, 2, fn(*const c_char), message);
    // SAFETY: the client's promise.
    unsafe { said_plain(message, |said| event::mark(&DEFAULT, said)) }
}

unsafe extern "C" fn mark_w(message: *const Wide) {
    next!(CHAIN, 3, fn(*const Wide), message);
    // SAFETY: the client's promise.
    unsafe { said_wide(message, |said| event::mark(&DEFAULT, said)) }
}

unsafe extern "C" fn range_start_ex(attributes: *const EventAttributes) -> u64 {
    let next = next!(CHAIN, 4, fn(*const EventAttributes) -> u64, attributes);
    // SAFETY: the client's promise.
    unsafe { said(attributes, |said| start(next, &DEFAULT, said)) }
}

unsafe extern "C" fn range_start_a(message: *const c_char) -> u64 {
    let next = next!(CHAIN, 5, fn(*const c_char) -> u64, message);
    // SAFETY: the client's promise.
    unsafe { said_plain(message, |said| start(next, &DEFAULT, said)) }
}

unsafe extern "C" fn range_start_w(message: *const Wide) -> u64 {
    let next = next!(CHAIN, 6, fn(*const Wide) -> u64, message);
    // SAFETY: the client's promise.
    unsafe { said_wide(message, |said| start(next, &DEFAULT, said)) }
}

unsafe extern "C" fn range_end(id: u64) {
    next!(CHAIN, 7, fn(u64), id);
    end(id);
}

unsafe extern "C" fn range_push_ex(attributes: *const EventAttributes) -> c_int {
    let next = next!(CHAIN, 8, fn(*const EventAttributes) -> c_int, attributes);
    // SAFETY: the client's promise.
    unsafe { said(attributes, |said| next.unwrap_or(push(&DEFAULT, said))) }
}

unsafe extern "C" fn range_push_a(message: *const c_char) -> c_int {
    let next = next!(CHAIN, 9, fn(*const c_char) -> c_int, message);
    // SAFETY: the client's promise.
    unsafe { said_plain(message, |said| next.unwrap_or(push(&DEFAULT, said))) }
}

unsafe extern "C" fn range_push_w(message: *const Wide) -> c_int {
    let next = next!(CHAIN, 10, fn(*const Wide) -> c_int, message);
    // SAFETY: the client's promise.
    unsafe { said_wide(message, |said| next.unwrap_or(push(&DEFAULT, said))) }
}

unsafe extern "C" fn range_pop() -> c_int {
    let next = next!(CHAIN, 11, fn() -> c_int,);
    let level = pop(&DEFAULT);
    next.unwrap_or(level)
}

unsafe extern "C" fn name_category_a(category: u32, name: *const c_char) {
    next!(CHAIN, 12, fn(u32, *const c_char), category, name);
    // SAFETY: the client's promise.
    registry::name_category(&DEFAULT, category, unsafe { bytes(name) });
}

unsafe extern "C" fn name_category_w(category: u32, name: *const Wide) {
    next!(CHAIN, 13, fn(u32, *const Wide), category, name);
    // SAFETY: the client's promise.
    unsafe {
        with_wide(name, |name| {
            registry::name_category(&DEFAULT, category, name)
        })
    }
}

unsafe extern "C" fn name_os_thread_a(thread_id: c_uint, name: *const c_char) {
    next!(CHAIN, 14, fn(c_uint, *const c_char), thread_id, name);
    // SAFETY: the client's promise.
    thread::name(thread_id, Text::new(unsafe { bytes(name) }).as_str());
}

unsafe extern "C" fn name_os_thread_w(thread_id: c_uint, name: *const Wide) {
    next!(CHAIN, 15, fn(c_uint, *const Wide), thread_id, name);
    // SAFETY: the client's promise.
    unsafe {
        with_wide(name, |name| {
            thread::name(thread_id, Text::new(name).as_str())
        })
    }
}

unsafe extern "C" fn domain_mark_ex(domain: DomainHandle, attributes: *const EventAttributes) {
    next!(
        CHAIN,
        CORE2 + 1,
        fn(DomainHandle, *const EventAttributes),
        domain,
        attributes
    );
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    unsafe { said(attributes, |said| event::mark(domain, said)) }
}

unsafe extern "C" fn domain_range_start_ex(
    domain: DomainHandle,
    attributes: *const EventAttributes,
) -> u64 {
    let next = next!(
        CHAIN,
        CORE2 + 2,
        fn(DomainHandle, *const EventAttributes) -> u64,
        domain,
        attributes
    );
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    unsafe { said(attributes, |said| start(next, domain, said)) }
}

unsafe extern "C" fn domain_range_end(domain: DomainHandle, id: u64) {
    next!(CHAIN, CORE2 + 3, fn(DomainHandle, u64), domain, id);
    end(id);
}

unsafe extern "C" fn domain_range_push_ex(
    domain: DomainHandle,
    attributes: *const EventAttributes,
) -> c_int {
    let next = next!(
        CHAIN,
        CORE2 + 4,
        fn(DomainHandle, *const EventAttributes) -> c_int,
        domain,
        attributes
    );
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    unsafe { said(attributes, |said| next.unwrap_or(push(domain, said))) }
}

unsafe extern "C" fn domain_range_pop(domain: DomainHandle) -> c_int {
    let next = next!(CHAIN, CORE2 + 5, fn(DomainHandle) -> c_int, domain);
    // SAFETY: the client's promise.
    let level = pop(unsafe { domain_of(domain) });
    next.unwrap_or(level)
}

/// A resource's name is a mark, in its domain. Its handle is only ever given back.
unsafe extern "C" fn domain_resource_create(
    domain: DomainHandle,
    attributes: *const ResourceAttributes,
) -> *const c_void {
    let next = next!(
        CHAIN,
        CORE2 + 6,
        fn(DomainHandle, *const ResourceAttributes) -> *const c_void,
        domain,
        attributes
    );
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
    next.unwrap_or((&raw const RESOURCE).cast())
}

unsafe extern "C" fn domain_resource_destroy(resource: *const c_void) {
    next!(CHAIN, CORE2 + 7, fn(*const c_void), resource);
}

unsafe extern "C" fn domain_name_category_a(
    domain: DomainHandle,
    category: u32,
    name: *const c_char,
) {
    next!(
        CHAIN,
        CORE2 + 8,
        fn(DomainHandle, u32, *const c_char),
        domain,
        category,
        name
    );
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
    next!(
        CHAIN,
        CORE2 + 9,
        fn(DomainHandle, u32, *const Wide),
        domain,
        category,
        name
    );
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    unsafe { with_wide(name, |name| registry::name_category(domain, category, name)) }
}

unsafe extern "C" fn domain_register_string_a(
    domain: DomainHandle,
    string: *const c_char,
) -> StringHandle {
    let next = next!(
        CHAIN,
        CORE2 + 10,
        fn(DomainHandle, *const c_char) -> StringHandle,
        domain,
        string
    );
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    register(next, domain, unsafe { bytes(string) })
}

unsafe extern "C" fn domain_register_string_w(
    domain: DomainHandle,
    string: *const Wide,
) -> StringHandle {
    let next = next!(
        CHAIN,
        CORE2 + 11,
        fn(DomainHandle, *const Wide) -> StringHandle,
        domain,
        string
    );
    // SAFETY: the client's promise.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's promise.
    unsafe { with_wide(string, |string| register(next, domain, string)) }
}

fn register(next: Option<StringHandle>, domain: &'static Domain, string: &[u8]) -> StringHandle {
    let registered = registry::register(domain.group, string);
    if let Some(next) = next {
        if let Some(registered) = registered {
            chain::put_beside(STRING, next.addr() as u64, registered);
        }
        return next;
    }
    registered.map_or(ptr::null(), ptr::from_ref)
}

fn open(next: Option<DomainHandle>, name: &[u8]) -> DomainHandle {
    let domain = registry::open_domain(name);
    if let Some(next) = next {
        chain::put_beside(DOMAIN, next.addr() as u64, domain);
        return next;
    }
    domain
}

unsafe extern "C" fn domain_create_a(name: *const c_char) -> DomainHandle {
    let next = next!(CHAIN, CORE2 + 12, fn(*const c_char) -> DomainHandle, name);
    // SAFETY: the client's promise.
    open(next, unsafe { bytes(name) })
}

unsafe extern "C" fn domain_create_w(name: *const Wide) -> DomainHandle {
    let next = next!(CHAIN, CORE2 + 13, fn(*const Wide) -> DomainHandle, name);
    // SAFETY: the client's promise.
    unsafe { with_wide(name, |name| open(next, name)) }
}

unsafe extern "C" fn domain_destroy(domain: DomainHandle) {
    next!(CHAIN, CORE2 + 14, fn(DomainHandle), domain);
    // SAFETY: the client's promise.
    registry::close_domain(unsafe { domain_of(domain) });
}

unsafe extern "C" fn initialize(reserved: *const c_void) {
    next!(CHAIN, CORE2 + 15, fn(*const c_void), reserved);
}
