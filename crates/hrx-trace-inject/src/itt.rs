//! ITT: what `__itt_api_init` puts into a client's table, by name. What is not served stays as it is for programs that no one listens to.
//!
//! Each static copy of ITT in the program has a table of its own, and asks by itself, with its lock held. Clients create domains and strings before they ask, and
//! keep them; so a handle is ours or theirs, and either has a place for what the listener knows of it.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::fmt::Write as _;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicPtr, Ordering};
use std::time::{Duration, Instant};

use hrx_trace::Value;

use crate::abi::itt::{self as abi, ApiInfo, Counter, Global, Id, Reserved, StringHandle};
use crate::capture;
use crate::chain::{self, Functions, Next, next};
use crate::event::{self, Message, Said};
use crate::guest::as_guest;
use crate::ranges;
use crate::registry::{self, Domain, Registered};
use crate::stacks;
use crate::table::{self, Member, Table};
use crate::text::{Text, plain};
use crate::thread;

/// The owner of what this library puts into a handle.
const OURS: c_int = 0x4852_5849;
/// How many handles of a kind are made.
const HANDLES_MAX: usize = 65_536;

/// What a client calls as it makes its first call, with its lock held.
///
/// # Safety
/// `global` is that of the ITT library that is linked to the client, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __itt_api_init(global: *mut Global, groups: c_uint) {
    // SAFETY: the caller's promise.
    let Some(global) = (unsafe { global.as_ref() }) else {
        return;
    };
    if global.magic != abi::MAGIC || !capture::prepare() {
        return;
    }
    // SAFETY: the list goes on up to a row without a name.
    let rows = || unsafe { Rows::of(global.api_list_ptr) };
    let mut before = Vec::new();
    if let Some(initialise) = NEXT.initialiser(__itt_api_init as *const c_void) {
        // SAFETY: each row points to the client's function pointer.
        before = rows().map(|row| unsafe { row.func_ptr.read() }).collect();
        // SAFETY: the symbol is that of a function of this type.
        let initialise: unsafe extern "C" fn(*const Global, c_uint) =
            unsafe { std::mem::transmute(initialise) };
        // SAFETY: as if the client had called it.
        unsafe { initialise(global, groups) };
    }
    for (number, row) in rows().enumerate() {
        // SAFETY: a name ends with a zero.
        let name = unsafe { CStr::from_ptr(row.name) };
        let served = if row.group & groups == 0 {
            None
        } else {
            function(name.to_bytes())
        };
        // SAFETY: the row points to the client's function pointer.
        let now = unsafe { row.func_ptr.read() };
        // What is as it was, or null, is not of the next listener.
        let is_next = before
            .get(number)
            .is_some_and(|before| ![*before, row.null_func, row.init_func].contains(&now));
        let function = match served {
            Some((place, function)) => {
                if is_next {
                    CHAIN.set(place as usize, now);
                }
                function
            }
            None if is_next => continue,
            None => row.null_func,
        };
        // SAFETY: it is the client's function pointer; other threads wait for the lock.
        unsafe { row.func_ptr.write(function) };
    }
}

/// The rows of a list that have a name and a function pointer.
struct Rows(*const ApiInfo);

impl Rows {
    /// # Safety
    /// `first` is null, or the first row of a list that ends with a row without a name, and stays.
    unsafe fn of(first: *const ApiInfo) -> Self {
        Self(first)
    }
}

impl Iterator for Rows {
    type Item = &'static ApiInfo;

    fn next(&mut self) -> Option<&'static ApiInfo> {
        loop {
            // SAFETY: the promise of `of`: the last row has no name, and this is not beyond it.
            let row = unsafe { self.0.as_ref() }.filter(|row| !row.name.is_null())?;
            self.0 = self.0.wrapping_add(1);
            if !row.func_ptr.is_null() {
                return Some(row);
            }
        }
    }
}

/// Where the next listener's function of that name is in [`CHAIN`].
#[derive(Clone, Copy)]
enum Place {
    ApiVersion,
    DomainCreate,
    StringHandleCreate,
    ThreadSetName,
    ThrNameSet,
    TaskBegin,
    TaskBeginFn,
    TaskEnd,
    TaskBeginEx,
    TaskBeginFnEx,
    TaskEndEx,
    TaskBeginOverlapped,
    TaskEndOverlapped,
    TaskBeginOverlappedEx,
    TaskEndOverlappedEx,
    TaskGroup,
    RegionBegin,
    RegionEnd,
    FrameBegin,
    FrameEnd,
    FrameSubmit,
    GetTimestamp,
    EventCreate,
    EventStart,
    EventEnd,
    MarkCreate,
    Mark,
    Marker,
    MarkerEx,
    MetadataAdd,
    MetadataStrAdd,
    CounterCreate,
    CounterCreateTyped,
    CounterCreateV3,
    CounterInc,
    CounterIncDelta,
    CounterDec,
    CounterDecDelta,
    CounterSetValue,
    CounterSetValueEx,
    CounterIncV3,
    CounterIncDeltaV3,
    CounterDecV3,
    CounterDecDeltaV3,
    Count,
}

static NEXT: Next = Next::new("HRX_TRACE_NEXT_ITT", c"__itt_api_init");
static CHAIN: Functions<{ Place::Count as usize }> = Functions::none();
/// Kinds of the next listener's handles.
const EVENT: u64 = 3;
const COUNTER: u64 = 4;

/// The function that serves `name`, and its place.
fn function(name: &[u8]) -> Option<(Place, *const c_void)> {
    let name = name.strip_prefix(b"__itt_")?;
    Some(match name {
        b"api_version" => (Place::ApiVersion, api_version as _),
        b"domain_create" | b"domain_createA" => (Place::DomainCreate, domain_create as _),
        b"string_handle_create" | b"string_handle_createA" => {
            (Place::StringHandleCreate, string_handle_create as _)
        }
        b"thread_set_name" | b"thread_set_nameA" => (Place::ThreadSetName, thread_set_name as _),
        b"thr_name_set" | b"thr_name_setA" => (Place::ThrNameSet, thr_name_set as _),
        b"task_begin" => (Place::TaskBegin, task_begin as _),
        b"task_begin_fn" => (Place::TaskBeginFn, task_begin_fn as _),
        b"task_end" => (Place::TaskEnd, task_end as _),
        b"task_begin_ex" => (Place::TaskBeginEx, task_begin_ex as _),
        b"task_begin_fn_ex" => (Place::TaskBeginFnEx, task_begin_fn_ex as _),
        b"task_end_ex" => (Place::TaskEndEx, task_end_ex as _),
        b"task_begin_overlapped" => (Place::TaskBeginOverlapped, task_begin_overlapped as _),
        b"task_end_overlapped" => (Place::TaskEndOverlapped, task_end_overlapped as _),
        b"task_begin_overlapped_ex" => {
            (Place::TaskBeginOverlappedEx, task_begin_overlapped_ex as _)
        }
        b"task_end_overlapped_ex" => (Place::TaskEndOverlappedEx, task_end_overlapped_ex as _),
        b"task_group" => (Place::TaskGroup, task_group as _),
        b"region_begin" => (Place::RegionBegin, region_begin as _),
        b"region_end" => (Place::RegionEnd, region_end as _),
        b"frame_begin_v3" => (Place::FrameBegin, frame_begin as _),
        b"frame_end_v3" => (Place::FrameEnd, frame_end as _),
        b"frame_submit_v3" => (Place::FrameSubmit, frame_submit as _),
        b"get_timestamp" => (Place::GetTimestamp, get_timestamp as _),
        b"event_create" | b"event_createA" => (Place::EventCreate, event_create as _),
        b"event_start" => (Place::EventStart, event_start as _),
        b"event_end" => (Place::EventEnd, event_end as _),
        b"mark_create" | b"mark_createA" => (Place::MarkCreate, mark_create as _),
        b"mark" | b"markA" | b"mark_global" | b"mark_globalA" => (Place::Mark, mark as _),
        b"marker" => (Place::Marker, marker as _),
        b"marker_ex" => (Place::MarkerEx, marker_ex as _),
        b"metadata_add" => (Place::MetadataAdd, metadata_add as _),
        b"metadata_str_add" | b"metadata_str_addA" => {
            (Place::MetadataStrAdd, metadata_str_add as _)
        }
        b"counter_create" | b"counter_createA" => (Place::CounterCreate, counter_create as _),
        b"counter_create_typed" | b"counter_create_typedA" => {
            (Place::CounterCreateTyped, counter_create_typed as _)
        }
        b"counter_create_v3" | b"counter_createA_v3" => {
            (Place::CounterCreateV3, counter_create_v3 as _)
        }
        b"counter_inc" => (Place::CounterInc, counter_inc as _),
        b"counter_inc_delta" => (Place::CounterIncDelta, counter_inc_delta as _),
        b"counter_dec" => (Place::CounterDec, counter_dec as _),
        b"counter_dec_delta" => (Place::CounterDecDelta, counter_dec_delta as _),
        b"counter_set_value" | b"counter_set_value_v3" => {
            (Place::CounterSetValue, counter_set_value as _)
        }
        b"counter_set_value_ex" => (Place::CounterSetValueEx, counter_set_value_ex as _),
        b"counter_inc_v3" => (Place::CounterIncV3, counter_inc_v3 as _),
        b"counter_inc_delta_v3" => (Place::CounterIncDeltaV3, counter_inc_delta_v3 as _),
        b"counter_dec_v3" => (Place::CounterDecV3, counter_dec_v3 as _),
        b"counter_dec_delta_v3" => (Place::CounterDecDeltaV3, counter_dec_delta_v3 as _),
        _ => return None,
    })
}

// Handles.

/// A handle that was made here, found by its text.
struct Made<H> {
    hash: u64,
    text: CString,
    handle: H,
}

// SAFETY: a handle is written by whoever first sees it, through an atomic, and its texts stay.
unsafe impl<H> Sync for Made<H> {}

impl<H> Member for Made<H> {
    fn hash(&self) -> u64 {
        self.hash
    }
}

static DOMAINS: Table<Made<abi::Domain>> = Table::new(4_096);
static STRINGS: Table<Made<StringHandle>> = Table::new(HANDLES_MAX);

/// What is known of a string: its text, and as what it was registered last, of the domain that it was used in.
struct Known {
    text: Box<[u8]>,
    registered: AtomicPtr<Registered>,
}

/// The handle of `table` for `text`, made by `make` at its first time.
fn made<H>(
    table: &'static Table<Made<H>>,
    text: *const c_char,
    make: impl FnOnce(*const c_char, &[u8]) -> H,
) -> *mut H {
    if text.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the client's texts end with a zero.
    let text = unsafe { CStr::from_ptr(text) };
    let bytes = text.to_bytes();
    let hash = table::hash(0, bytes);
    let is_it = |made: &Made<H>| *made.text == *text;
    let found = table.find(hash, is_it).or_else(|| {
        as_guest(|| {
            let text = text.to_owned();
            let handle = make(text.as_ptr(), bytes);
            table.insert(Made { hash, text, handle }, is_it)
        })
        .flatten()
    });
    found.map_or(ptr::null_mut(), |made| (&raw const made.handle).cast_mut())
}

/// What this library knows of a handle.
///
/// # Safety
/// What it puts into handles of this kind are `T`s.
#[inline(always)]
unsafe fn ours<T>(reserved: &Reserved) -> Option<&'static T> {
    let known = reserved.known.load(Ordering::Acquire);
    if reserved.owner.load(Ordering::Relaxed) != OURS {
        return None;
    }
    // SAFETY: what this library puts there is never freed.
    unsafe { known.cast::<T>().as_ref() }
}

/// A handle's fields that say that `known` is ours.
fn reserved<T>(known: &'static T) -> Reserved {
    Reserved {
        owner: AtomicI32::new(OURS),
        known: AtomicPtr::new(ptr::from_ref(known).cast_mut().cast()),
    }
}

/// Puts what is known into a handle of the client's, unless something is there.
fn put<T>(reserved: &Reserved, known: &'static T) {
    // The next listener's handles are its own.
    if [Place::ApiVersion, Place::TaskBegin]
        .into_iter()
        .any(is_chained)
    {
        return;
    }
    let known = ptr::from_ref(known).cast_mut().cast();
    let set = reserved.known.compare_exchange(
        ptr::null_mut(),
        known,
        Ordering::AcqRel,
        Ordering::Relaxed,
    );
    if set.is_ok() {
        reserved.owner.store(OURS, Ordering::Release);
    }
}

/// Whether the next listener has a function there.
fn is_chained(place: Place) -> bool {
    CHAIN.get(place as usize).is_some()
}

/// The domain of a handle.
///
/// # Safety
/// `handle` is null or a domain of ITT.
#[inline(always)]
unsafe fn domain_of(handle: *const abi::Domain) -> &'static Domain {
    // SAFETY: the caller's promise.
    let Some(handle) = (unsafe { handle.as_ref() }) else {
        return &registry::DEFAULT;
    };
    // SAFETY: what is put into domains are `Domain`s.
    let known = unsafe { ours(&handle.reserved) };
    known.unwrap_or_else(|| learn_domain(handle))
}

#[cold]
fn learn_domain(handle: &abi::Domain) -> &'static Domain {
    if handle.name_a.is_null() {
        return &registry::DEFAULT;
    }
    // SAFETY: a name ends with a zero.
    let domain = registry::shared_domain(unsafe { plain(handle.name_a) });
    put(&handle.reserved, domain);
    domain
}

/// What a string says, in `domain`.
///
/// # Safety
/// `handle` is null or a string handle of ITT.
#[inline(always)]
unsafe fn message_of(domain: &'static Domain, handle: *const StringHandle) -> Message<'static> {
    // SAFETY: the caller's promise.
    let Some(known) = (unsafe { known_of(handle) }) else {
        return Message::None;
    };
    // SAFETY: what was registered is never freed.
    if let Some(registered) = unsafe { known.registered.load(Ordering::Acquire).as_ref() }
        && ptr::eq(registered.kept.group, domain.group)
    {
        return Message::Registered(&registered.kept);
    }
    match registry::register(domain.group, &known.text) {
        Some(registered) => {
            known
                .registered
                .store(ptr::from_ref(registered).cast_mut(), Ordering::Release);
            Message::Registered(&registered.kept)
        }
        None => Message::Text(&known.text),
    }
}

/// # Safety
/// As [`message_of`].
#[inline(always)]
unsafe fn known_of(handle: *const StringHandle) -> Option<&'static Known> {
    // SAFETY: the caller's promise.
    let handle = unsafe { handle.as_ref() }?;
    // SAFETY: what is put into strings are `Known`s.
    let known = unsafe { ours(&handle.reserved) };
    known.or_else(|| learn_string(handle))
}

#[cold]
fn learn_string(handle: &StringHandle) -> Option<&'static Known> {
    if handle.str_a.is_null() {
        return None;
    }
    // The same text has one `Known`, so that handles which another listener has filled cost no memory each time.
    // SAFETY: it was made here, or is null.
    let own = unsafe { own_string(handle.str_a).as_ref() }?;
    // SAFETY: what is put into strings are `Known`s.
    let known = unsafe { ours(&own.reserved) }?;
    put(&handle.reserved, known);
    Some(known)
}

extern "C" fn api_version() -> *const c_char {
    if let Some(next) = next!(CHAIN, Place::ApiVersion, fn() -> *const c_char,) {
        return next;
    }
    c"hrx-trace-inject".as_ptr()
}

extern "C" fn domain_create(name: *const c_char) -> *mut abi::Domain {
    if let Some(next) = next!(
        CHAIN,
        Place::DomainCreate,
        fn(*const c_char) -> *mut abi::Domain,
        name
    ) {
        return next;
    }
    own_domain(name)
}

fn own_domain(name: *const c_char) -> *mut abi::Domain {
    if name.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the client's texts end with a zero.
    let domain = registry::shared_domain(unsafe { plain(name) });
    made(&DOMAINS, name, |name_a, _| abi::Domain {
        flags: 1,
        name_a,
        name_w: ptr::null_mut(),
        reserved: reserved(domain),
        next: ptr::null_mut(),
    })
}

extern "C" fn string_handle_create(text: *const c_char) -> *mut StringHandle {
    if let Some(next) = next!(
        CHAIN,
        Place::StringHandleCreate,
        fn(*const c_char) -> *mut StringHandle,
        text
    ) {
        return next;
    }
    own_string(text)
}

fn own_string(text: *const c_char) -> *mut StringHandle {
    made(&STRINGS, text, |str_a, bytes| {
        let known: &'static Known = Box::leak(Box::new(Known {
            text: bytes.into(),
            registered: AtomicPtr::default(),
        }));
        StringHandle {
            str_a,
            str_w: ptr::null_mut(),
            reserved: reserved(known),
            next: ptr::null_mut(),
        }
    })
}

extern "C" fn thread_set_name(name: *const c_char) {
    next!(CHAIN, Place::ThreadSetName, fn(*const c_char), name);
    if !name.is_null() {
        // SAFETY: the client's texts end with a zero.
        let name = Text::new(unsafe { plain(name) });
        thread::name(thread::thread_id(), name.as_str());
    }
}

extern "C" fn thr_name_set(name: *const c_char, number: c_int) -> c_int {
    next!(
        CHAIN,
        Place::ThrNameSet,
        fn(*const c_char, c_int) -> c_int,
        name,
        number
    );
    thread_set_name(name);
    0
}

// Tasks: by domain and thread.

fn begin_task(domain: *const abi::Domain, name: *const StringHandle) {
    // SAFETY: the client's handles.
    let domain = unsafe { domain_of(domain) };
    stacks::push(domain.address(), || {
        // SAFETY: the client's handles.
        event::begin(domain, Said::only(unsafe { message_of(domain, name) }))
    });
}

fn begin_function(domain: *const abi::Domain, function: *const c_void) {
    // SAFETY: the client's handles.
    let domain = unsafe { domain_of(domain) };
    let mut name = Text::empty();
    let _ = write!(name, "function {function:p}");
    let message = Message::Text(name.as_str().as_bytes());
    stacks::push(domain.address(), || {
        event::begin(domain, Said::only(message))
    });
}

extern "C" fn task_begin(domain: *const abi::Domain, id: Id, id_2: Id, name: *const StringHandle) {
    next!(
        CHAIN,
        Place::TaskBegin,
        fn(*const abi::Domain, Id, Id, *const StringHandle),
        domain,
        id,
        id_2,
        name
    );
    begin_task(domain, name);
}

extern "C" fn task_begin_ex(
    domain: *const abi::Domain,
    clock: *mut c_void,
    timestamp: u64,
    id: Id,
    id_2: Id,
    name: *const StringHandle,
) {
    next!(
        CHAIN,
        Place::TaskBeginEx,
        fn(*const abi::Domain, *mut c_void, u64, Id, Id, *const StringHandle),
        domain,
        clock,
        timestamp,
        id,
        id_2,
        name
    );
    begin_task(domain, name);
}

extern "C" fn task_begin_fn(domain: *const abi::Domain, id: Id, id_2: Id, function: *const c_void) {
    next!(
        CHAIN,
        Place::TaskBeginFn,
        fn(*const abi::Domain, Id, Id, *const c_void),
        domain,
        id,
        id_2,
        function
    );
    begin_function(domain, function);
}

extern "C" fn task_begin_fn_ex(
    domain: *const abi::Domain,
    clock: *mut c_void,
    timestamp: u64,
    id: Id,
    id_2: Id,
    function: *const c_void,
) {
    next!(
        CHAIN,
        Place::TaskBeginFnEx,
        fn(*const abi::Domain, *mut c_void, u64, Id, Id, *const c_void),
        domain,
        clock,
        timestamp,
        id,
        id_2,
        function
    );
    begin_function(domain, function);
}

extern "C" fn task_end(domain: *const abi::Domain) {
    next!(CHAIN, Place::TaskEnd, fn(*const abi::Domain), domain);
    // SAFETY: the client's handles.
    if let Some((Some(region), _)) = stacks::pop(unsafe { domain_of(domain) }.address()) {
        region.finish();
    }
}

extern "C" fn task_end_ex(domain: *const abi::Domain, clock: *mut c_void, timestamp: u64) {
    next!(
        CHAIN,
        Place::TaskEndEx,
        fn(*const abi::Domain, *mut c_void, u64),
        domain,
        clock,
        timestamp
    );
    task_end(domain);
}

// Overlapped tasks, regions and frames: by their ids, on any thread.

const TASKS: u64 = 2;
const REGIONS: u64 = 3;
const FRAMES: u64 = 4;

fn key(space: u64, domain: &Domain, id: Id) -> u64 {
    let key = ranges::key(space, domain.address() as u64);
    [id.d1, id.d2, id.d3].into_iter().fold(key, ranges::key)
}

fn begin_range(space: u64, domain: *const abi::Domain, id: Id, name: *const StringHandle) {
    // SAFETY: the client's handles.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's handles.
    let message = unsafe { message_of(domain, name) };
    event::keep_range(key(space, domain, id), domain, Said::only(message));
}

fn end_range(space: u64, domain: *const abi::Domain, id: Id) {
    // SAFETY: the client's handles.
    let domain = unsafe { domain_of(domain) };
    if let Some(region) = ranges::take(key(space, domain, id)) {
        region.finish();
    }
}

extern "C" fn task_begin_overlapped(
    domain: *const abi::Domain,
    id: Id,
    id_2: Id,
    name: *const StringHandle,
) {
    next!(
        CHAIN,
        Place::TaskBeginOverlapped,
        fn(*const abi::Domain, Id, Id, *const StringHandle),
        domain,
        id,
        id_2,
        name
    );
    begin_range(TASKS, domain, id, name);
}

extern "C" fn task_end_overlapped(domain: *const abi::Domain, id: Id) {
    next!(
        CHAIN,
        Place::TaskEndOverlapped,
        fn(*const abi::Domain, Id),
        domain,
        id
    );
    end_range(TASKS, domain, id);
}

extern "C" fn task_begin_overlapped_ex(
    domain: *const abi::Domain,
    clock: *mut c_void,
    timestamp: u64,
    id: Id,
    id_2: Id,
    name: *const StringHandle,
) {
    next!(
        CHAIN,
        Place::TaskBeginOverlappedEx,
        fn(*const abi::Domain, *mut c_void, u64, Id, Id, *const StringHandle),
        domain,
        clock,
        timestamp,
        id,
        id_2,
        name
    );
    begin_range(TASKS, domain, id, name);
}

extern "C" fn task_end_overlapped_ex(
    domain: *const abi::Domain,
    clock: *mut c_void,
    timestamp: u64,
    id: Id,
) {
    next!(
        CHAIN,
        Place::TaskEndOverlappedEx,
        fn(*const abi::Domain, *mut c_void, u64, Id),
        domain,
        clock,
        timestamp,
        id
    );
    end_range(TASKS, domain, id);
}

extern "C" fn task_group(domain: *const abi::Domain, id: Id, id_2: Id, name: *const StringHandle) {
    next!(
        CHAIN,
        Place::TaskGroup,
        fn(*const abi::Domain, Id, Id, *const StringHandle),
        domain,
        id,
        id_2,
        name
    );
    mark_of(domain, name);
}

extern "C" fn region_begin(
    domain: *const abi::Domain,
    id: Id,
    id_2: Id,
    name: *const StringHandle,
) {
    next!(
        CHAIN,
        Place::RegionBegin,
        fn(*const abi::Domain, Id, Id, *const StringHandle),
        domain,
        id,
        id_2,
        name
    );
    begin_range(REGIONS, domain, id, name);
}

extern "C" fn region_end(domain: *const abi::Domain, id: Id) {
    next!(
        CHAIN,
        Place::RegionEnd,
        fn(*const abi::Domain, Id),
        domain,
        id
    );
    end_range(REGIONS, domain, id);
}

/// The id that `id` points to; null is an id too.
fn frame_id(id: *const Id) -> Id {
    // SAFETY: the client's pointer, null or to an id.
    unsafe { id.as_ref() }.copied().unwrap_or(Id {
        d1: 0,
        d2: 0,
        d3: 0,
    })
}

const FRAME: Said<'static> = Said::only(Message::Text(b"frame"));

extern "C" fn frame_begin(domain: *const abi::Domain, id: *const Id) {
    next!(
        CHAIN,
        Place::FrameBegin,
        fn(*const abi::Domain, *const Id),
        domain,
        id
    );
    // SAFETY: the client's handles.
    let domain = unsafe { domain_of(domain) };
    event::keep_range(key(FRAMES, domain, frame_id(id)), domain, FRAME);
}

extern "C" fn frame_end(domain: *const abi::Domain, id: *const Id) {
    next!(
        CHAIN,
        Place::FrameEnd,
        fn(*const abi::Domain, *const Id),
        domain,
        id
    );
    end_range(FRAMES, domain, frame_id(id));
}

/// A frame that the client measured, by [`get_timestamp`].
extern "C" fn frame_submit(domain: *const abi::Domain, id: *const Id, begin: u64, end: u64) {
    if next!(
        CHAIN,
        Place::FrameSubmit,
        fn(*const abi::Domain, *const Id, u64, u64),
        domain,
        id,
        begin,
        end
    )
    .is_some()
    {
        // By a clock that is not known here.
        return;
    }
    // SAFETY: the client's handles.
    let domain = unsafe { domain_of(domain) };
    let (now, now_ns) = (Instant::now(), get_timestamp());
    let since_begin = Duration::from_nanos(now_ns.saturating_sub(begin));
    // Other values mean moments that no one measured.
    if let Some(elapsed_ns) = end.checked_sub(begin)
        && end <= now_ns
        && let Some(start) = now.checked_sub(since_begin)
    {
        event::measured(
            domain,
            FRAME.message,
            start,
            Duration::from_nanos(elapsed_ns),
        );
    }
}

/// Nanoseconds of CLOCK_MONOTONIC.
extern "C" fn get_timestamp() -> u64 {
    if let Some(next) = next!(CHAIN, Place::GetTimestamp, fn() -> u64,) {
        return next;
    }
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists, and the place is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

// Events and marks: numbers from 1 that stand for names.

/// How many names of events there are.
const EVENTS_MAX: usize = 4_096;
static EVENTS: [AtomicPtr<Registered>; EVENTS_MAX] =
    [const { AtomicPtr::new(ptr::null_mut()) }; EVENTS_MAX];

extern "C" fn event_create(name: *const c_char, number: c_int) -> c_int {
    event_beside(
        name,
        next!(
            CHAIN,
            Place::EventCreate,
            fn(*const c_char, c_int) -> c_int,
            name,
            number
        ),
    )
}

fn own_event(name: *const c_char) -> c_int {
    if name.is_null() {
        return 0;
    }
    // SAFETY: the client's texts end with a zero.
    let Some(registered) = registry::register("", unsafe { plain(name) }) else {
        return 0;
    };
    let pointer = ptr::from_ref(registered).cast_mut();
    let number = EVENTS.iter().position(|place| {
        let set = place.compare_exchange(
            ptr::null_mut(),
            pointer,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        set.map_or_else(|there| there == pointer, |_| true)
    });
    number.map_or(0, |index| index as c_int + 1)
}

fn event_of(number: c_int) -> Option<&'static Registered> {
    if [Place::EventCreate, Place::MarkCreate]
        .into_iter()
        .any(is_chained)
    {
        // SAFETY: strings stand beside the handles of this kind.
        let named = unsafe { chain::beside(EVENT, u64::from(number.cast_unsigned())) };
        if named.is_some() {
            return named;
        }
    }
    own_event_of(number)
}

fn own_event_of(number: c_int) -> Option<&'static Registered> {
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    // SAFETY: what was registered is never freed.
    unsafe { EVENTS.get(index)?.load(Ordering::Acquire).as_ref() }
}

extern "C" fn event_start(number: c_int) -> c_int {
    next!(CHAIN, Place::EventStart, fn(c_int) -> c_int, number);
    if let Some(named) = event_of(number) {
        let said = Said::only(Message::Registered(&named.kept));
        stacks::push(ptr::from_ref(named).addr(), || {
            event::begin(&registry::DEFAULT, said)
        });
    }
    0
}

extern "C" fn event_end(number: c_int) -> c_int {
    next!(CHAIN, Place::EventEnd, fn(c_int) -> c_int, number);
    if let Some(named) = event_of(number)
        && let Some((Some(region), _)) = stacks::pop(ptr::from_ref(named).addr())
    {
        region.finish();
    }
    0
}

extern "C" fn mark_create(name: *const c_char) -> c_int {
    event_beside(
        name,
        next!(CHAIN, Place::MarkCreate, fn(*const c_char) -> c_int, name),
    )
}

fn event_beside(name: *const c_char, next: Option<c_int>) -> c_int {
    let own = own_event(name);
    if let Some(next) = next {
        if let Some(registered) = own_event_of(own) {
            chain::put_beside(EVENT, u64::from(next.cast_unsigned()), registered);
        }
        return next;
    }
    own
}

extern "C" fn mark(number: c_int, text: *const c_char) -> c_int {
    next!(
        CHAIN,
        Place::Mark,
        fn(c_int, *const c_char) -> c_int,
        number,
        text
    );
    if let Some(named) = event_of(number) {
        event::mark(
            &registry::DEFAULT,
            Said::only(Message::Registered(&named.kept)),
        );
    }
    0
}

fn mark_of(domain: *const abi::Domain, name: *const StringHandle) {
    // SAFETY: the client's handles.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's handles.
    event::mark(domain, Said::only(unsafe { message_of(domain, name) }));
}

extern "C" fn marker(domain: *const abi::Domain, id: Id, name: *const StringHandle, number: c_int) {
    next!(
        CHAIN,
        Place::Marker,
        fn(*const abi::Domain, Id, *const StringHandle, c_int),
        domain,
        id,
        name,
        number
    );
    mark_of(domain, name);
}

extern "C" fn marker_ex(
    domain: *const abi::Domain,
    clock: *mut c_void,
    timestamp: u64,
    id: Id,
    name: *const StringHandle,
    number: c_int,
) {
    next!(
        CHAIN,
        Place::MarkerEx,
        fn(*const abi::Domain, *mut c_void, u64, Id, *const StringHandle, c_int),
        domain,
        clock,
        timestamp,
        id,
        name,
        number
    );
    mark_of(domain, name);
}

// Metadata: arguments of the region with that id, or of the task that runs.

fn argue(domain: *const abi::Domain, id: Id, key_handle: *const StringHandle, value: Value<'_>) {
    // SAFETY: the client's handles.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's handles.
    let Some(name) = (unsafe { known_of(key_handle) }) else {
        return;
    };
    let is_kept = |space| {
        ranges::with_kept(key(space, domain, id), |region| {
            event::argue(region, &name.text, value)
        })
    };
    let has_id = (id.d1, id.d2, id.d3) != (0, 0, 0);
    if !(has_id && (is_kept(TASKS) || is_kept(REGIONS))) {
        stacks::with_topmost(domain.address(), |region| {
            event::argue(region, &name.text, value)
        });
    }
}

/// The number at `data`, of that type, and how many bytes it has.
///
/// # Safety
/// `data` points to one of that type.
unsafe fn number(metadata_type: c_int, data: *const c_void) -> Option<(Value<'static>, usize)> {
    // SAFETY: each is the caller's promise.
    Some(match metadata_type {
        // SAFETY: the caller's promise.
        abi::METADATA_U64 => (
            Value::from(unsafe { data.cast::<u64>().read_unaligned() }),
            8,
        ),
        // SAFETY: the caller's promise.
        abi::METADATA_I64 => (
            Value::from(unsafe { data.cast::<i64>().read_unaligned() }),
            8,
        ),
        // SAFETY: the caller's promise.
        abi::METADATA_U32 => (
            Value::from(unsafe { data.cast::<u32>().read_unaligned() }),
            4,
        ),
        // SAFETY: the caller's promise.
        abi::METADATA_I32 => (
            Value::from(unsafe { data.cast::<i32>().read_unaligned() }),
            4,
        ),
        // SAFETY: the caller's promise.
        abi::METADATA_U16 => (
            Value::from(u32::from(unsafe { data.cast::<u16>().read_unaligned() })),
            2,
        ),
        // SAFETY: the caller's promise.
        abi::METADATA_I16 => (
            Value::from(i32::from(unsafe { data.cast::<i16>().read_unaligned() })),
            2,
        ),
        // SAFETY: the caller's promise.
        abi::METADATA_F32 => (
            Value::from(f64::from(unsafe { data.cast::<f32>().read_unaligned() })),
            4,
        ),
        // SAFETY: the caller's promise.
        abi::METADATA_F64 => (
            Value::from(unsafe { data.cast::<f64>().read_unaligned() }),
            8,
        ),
        _ => return None,
    })
}

/// Of several numbers, each is an argument with the same key.
extern "C" fn metadata_add(
    domain: *const abi::Domain,
    id: Id,
    key: *const StringHandle,
    metadata_type: c_int,
    count: usize,
    data: *const c_void,
) {
    next!(
        CHAIN,
        Place::MetadataAdd,
        fn(*const abi::Domain, Id, *const StringHandle, c_int, usize, *const c_void),
        domain,
        id,
        key,
        metadata_type,
        count,
        data
    );
    let mut data = data;
    for _ in 0..count.min(16) {
        if data.is_null() {
            return;
        }
        // SAFETY: the client says that there are `count` of them.
        let Some((value, bytes)) = (unsafe { number(metadata_type, data) }) else {
            return;
        };
        argue(domain, id, key, value);
        data = data.wrapping_byte_add(bytes);
    }
}

extern "C" fn metadata_str_add(
    domain: *const abi::Domain,
    id: Id,
    key: *const StringHandle,
    data: *const c_char,
    length: usize,
) {
    next!(
        CHAIN,
        Place::MetadataStrAdd,
        fn(*const abi::Domain, Id, *const StringHandle, *const c_char, usize),
        domain,
        id,
        key,
        data,
        length
    );
    if data.is_null() {
        return;
    }
    // SAFETY: the client says that there are so many bytes; 0: up to a zero.
    let bytes = match length {
        // SAFETY: as above.
        0 => unsafe { plain(data) },
        // SAFETY: as above.
        length => unsafe { std::slice::from_raw_parts(data.cast(), length) },
    };
    argue(domain, id, key, Value::from(Text::new(bytes).as_str()));
}

// Counters.

/// A number of the program's.
struct Count {
    registered: &'static Registered,
    domain: &'static Domain,
    metadata_type: c_int,
    /// The number, of a counter that is counted up and down.
    number: AtomicI64,
}

static COUNTERS: Table<MadeCounter> = Table::new(4_096);

struct MadeCounter {
    hash: u64,
    /// Of a client, whose texts stay as long as the counter.
    info: Counter,
    count: &'static Count,
}

// SAFETY: a counter is written by whoever first sees it, through an atomic, and its texts stay.
unsafe impl Sync for MadeCounter {}

impl Member for MadeCounter {
    fn hash(&self) -> u64 {
        self.hash
    }
}

/// The counter `name` of `domain`, made at its first time.
fn count_in(
    domain: &'static Domain,
    name: &[u8],
    metadata_type: c_int,
) -> Option<&'static MadeCounter> {
    let registered = registry::register(domain.group, name)?;
    let hash = table::hash(domain.address(), name);
    let is_it = |made: &MadeCounter| {
        ptr::eq(made.count.registered, registered) && ptr::eq(made.count.domain, domain)
    };
    COUNTERS.find(hash, is_it).or_else(|| {
        as_guest(|| {
            let count = Count {
                registered,
                domain,
                metadata_type,
                number: AtomicI64::new(0),
            };
            let count: &'static Count = Box::leak(Box::new(count));
            let name = Box::leak(CString::new(name).unwrap_or_default().into_boxed_c_str());
            let info = Counter {
                name_a: name.as_ptr(),
                name_w: ptr::null_mut(),
                domain_a: ptr::null(),
                domain_w: ptr::null_mut(),
                metadata_type,
                index: 0,
                reserved: reserved(count),
                next: ptr::null_mut(),
            };
            COUNTERS.insert(MadeCounter { hash, info, count }, is_it)
        })
        .flatten()
    })
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

extern "C" fn counter_create(name: *const c_char, domain: *const c_char) -> *mut Counter {
    let next = next!(
        CHAIN,
        Place::CounterCreate,
        fn(*const c_char, *const c_char) -> *mut Counter,
        name,
        domain
    );
    counter_beside(next, own_counter(name, domain, abi::METADATA_U64))
}

/// The counter that the program gets: the next listener's, if there is one, with ours beside it.
fn counter_beside(next: Option<*mut Counter>, own: Option<&'static MadeCounter>) -> *mut Counter {
    if let Some(next) = next {
        if let Some(own) = own {
            chain::put_beside(COUNTER, next.addr() as u64, own.count);
        }
        return next;
    }
    own.map_or(ptr::null_mut(), |made| (&raw const made.info).cast_mut())
}

fn own_counter(
    name: *const c_char,
    domain: *const c_char,
    metadata_type: c_int,
) -> Option<&'static MadeCounter> {
    // SAFETY: the client's texts.
    let domain = registry::shared_domain(unsafe { bytes(domain) });
    // SAFETY: the client's texts.
    count_in(domain, unsafe { bytes(name) }, metadata_type)
}

extern "C" fn counter_create_typed(
    name: *const c_char,
    domain: *const c_char,
    metadata_type: c_int,
) -> *mut Counter {
    let next = next!(
        CHAIN,
        Place::CounterCreateTyped,
        fn(*const c_char, *const c_char, c_int) -> *mut Counter,
        name,
        domain,
        metadata_type
    );
    counter_beside(next, own_counter(name, domain, metadata_type))
}

extern "C" fn counter_create_v3(
    domain: *const abi::Domain,
    name: *const c_char,
    metadata_type: c_int,
) -> *mut Counter {
    let next = next!(
        CHAIN,
        Place::CounterCreateV3,
        fn(*const abi::Domain, *const c_char, c_int) -> *mut Counter,
        domain,
        name,
        metadata_type
    );
    // SAFETY: the client's handles.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's texts.
    counter_beside(
        next,
        count_in(domain, unsafe { bytes(name) }, metadata_type),
    )
}

/// What is known of a counter, which may be one that the client made itself.
fn count_of(counter: *const Counter) -> Option<&'static Count> {
    if [
        Place::CounterCreate,
        Place::CounterCreateTyped,
        Place::CounterCreateV3,
    ]
    .into_iter()
    .any(is_chained)
    {
        // SAFETY: counts stand beside the handles of this kind.
        return unsafe { chain::beside(COUNTER, counter.addr() as u64) };
    }
    // SAFETY: a counter of ITT, or null.
    let counter = unsafe { counter.as_ref() }?;
    // SAFETY: what is put into counters are `Count`s.
    let known = unsafe { ours(&counter.reserved) };
    known.or_else(|| {
        let known = own_counter(counter.name_a, counter.domain_a, counter.metadata_type)?.count;
        put(&counter.reserved, known);
        Some(known)
    })
}

impl Count {
    fn say(&self, number: f64) {
        event::value(
            self.domain,
            Message::Registered(&self.registered.kept),
            number,
        );
    }

    fn add(&self, difference: i64) {
        let before = self.number.fetch_add(difference, Ordering::Relaxed);
        self.say(before.wrapping_add(difference) as f64);
    }
}

fn add(counter: *const Counter, difference: i64) {
    if let Some(count) = count_of(counter) {
        count.add(difference);
    }
}

extern "C" fn counter_inc(counter: *const Counter) {
    next!(CHAIN, Place::CounterInc, fn(*const Counter), counter);
    add(counter, 1);
}

extern "C" fn counter_inc_delta(counter: *const Counter, difference: u64) {
    next!(
        CHAIN,
        Place::CounterIncDelta,
        fn(*const Counter, u64),
        counter,
        difference
    );
    add(counter, difference.cast_signed());
}

extern "C" fn counter_dec(counter: *const Counter) {
    next!(CHAIN, Place::CounterDec, fn(*const Counter), counter);
    add(counter, -1);
}

extern "C" fn counter_dec_delta(counter: *const Counter, difference: u64) {
    next!(
        CHAIN,
        Place::CounterDecDelta,
        fn(*const Counter, u64),
        counter,
        difference
    );
    add(counter, difference.cast_signed().wrapping_neg());
}

extern "C" fn counter_set_value(counter: *const Counter, data: *const c_void) {
    next!(
        CHAIN,
        Place::CounterSetValue,
        fn(*const Counter, *const c_void),
        counter,
        data
    );
    if let Some(count) = count_of(counter)
        && !data.is_null()
        // SAFETY: the client points to a number of the counter's type.
        && let Some(number) = unsafe { float(count.metadata_type, data) }
    {
        // What is counted later goes on from here.
        count.number.store(number as i64, Ordering::Relaxed);
        count.say(number);
    }
}

extern "C" fn counter_set_value_ex(
    counter: *const Counter,
    clock: *mut c_void,
    timestamp: u64,
    data: *const c_void,
) {
    next!(
        CHAIN,
        Place::CounterSetValueEx,
        fn(*const Counter, *mut c_void, u64, *const c_void),
        counter,
        clock,
        timestamp,
        data
    );
    counter_set_value(counter, data);
}

/// The number at `data`, of that type, as near as a double is.
///
/// # Safety
/// As [`number`].
unsafe fn float(metadata_type: c_int, data: *const c_void) -> Option<f64> {
    Some(match metadata_type {
        // SAFETY: the caller's promise.
        abi::METADATA_U64 => unsafe { data.cast::<u64>().read_unaligned() as f64 },
        // SAFETY: the caller's promise.
        abi::METADATA_I64 => unsafe { data.cast::<i64>().read_unaligned() as f64 },
        // SAFETY: the caller's promise.
        abi::METADATA_U32 => f64::from(unsafe { data.cast::<u32>().read_unaligned() }),
        // SAFETY: the caller's promise.
        abi::METADATA_I32 => f64::from(unsafe { data.cast::<i32>().read_unaligned() }),
        // SAFETY: the caller's promise.
        abi::METADATA_U16 => f64::from(unsafe { data.cast::<u16>().read_unaligned() }),
        // SAFETY: the caller's promise.
        abi::METADATA_I16 => f64::from(unsafe { data.cast::<i16>().read_unaligned() }),
        // SAFETY: the caller's promise.
        abi::METADATA_F32 => f64::from(unsafe { data.cast::<f32>().read_unaligned() }),
        // SAFETY: the caller's promise.
        abi::METADATA_F64 => unsafe { data.cast::<f64>().read_unaligned() },
        _ => return None,
    })
}

fn add_v3(domain: *const abi::Domain, name: *const StringHandle, difference: i64) {
    // SAFETY: the client's handles.
    let domain = unsafe { domain_of(domain) };
    // SAFETY: the client's handles.
    let name = unsafe { known_of(name) };
    if let Some(made) = name.and_then(|name| count_in(domain, &name.text, abi::METADATA_U64)) {
        made.count.add(difference);
    }
}

extern "C" fn counter_inc_v3(domain: *const abi::Domain, name: *const StringHandle) {
    next!(
        CHAIN,
        Place::CounterIncV3,
        fn(*const abi::Domain, *const StringHandle),
        domain,
        name
    );
    add_v3(domain, name, 1);
}

extern "C" fn counter_inc_delta_v3(
    domain: *const abi::Domain,
    name: *const StringHandle,
    difference: u64,
) {
    next!(
        CHAIN,
        Place::CounterIncDeltaV3,
        fn(*const abi::Domain, *const StringHandle, u64),
        domain,
        name,
        difference
    );
    add_v3(domain, name, difference.cast_signed());
}

extern "C" fn counter_dec_v3(domain: *const abi::Domain, name: *const StringHandle) {
    next!(
        CHAIN,
        Place::CounterDecV3,
        fn(*const abi::Domain, *const StringHandle),
        domain,
        name
    );
    add_v3(domain, name, -1);
}

extern "C" fn counter_dec_delta_v3(
    domain: *const abi::Domain,
    name: *const StringHandle,
    difference: u64,
) {
    next!(
        CHAIN,
        Place::CounterDecDeltaV3,
        fn(*const abi::Domain, *const StringHandle, u64),
        domain,
        name,
        difference
    );
    add_v3(domain, name, difference.cast_signed().wrapping_neg());
}
