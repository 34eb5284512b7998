//! The functions that `hrx_trace.h` declares.
//!
//! Those that record are `extern "C"` and nothing else: nothing in them panics, and if it did, the process would abort and not unwind. The others are `guarded`.

use std::ffi::{OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use hrx_trace::{Event, Key, Label, Moment, Recorder, Value};

use crate::error::{self, Errno, INVALID, guarded, status};
use crate::event::{
    self, Arguments, hrxt_argument, hrxt_event, hrxt_key_t, hrxt_label_t, hrxt_lane_t,
};
use crate::options::{self, hrxt_options};
use crate::recorders::{self, Entered, Number};
use crate::regions::{self, Handle, Taken};
use crate::text;

/// A recorder: a number in the form of a pointer, which is never followed. So one that is null, or was closed, is refused with -EBADF.
pub struct hrxt_recorder(());

/// A region that runs: a handle by value, 64 bits, which may be kept anywhere, sent to any thread and turned into a pointer and back. 0: none.
/// Handles are never used again: one that has ended is refused with -EBADF.
pub type hrxt_region_t = u64;

fn number(recorder: *const hrxt_recorder) -> Number {
    Number(recorder.addr() as u64)
}

#[inline(always)]
fn enter(recorder: *const hrxt_recorder) -> Result<Entered, Errno> {
    recorders::enter(number(recorder))
}

/// What an error means: a text that is never freed. `error` is what a call returned, negative, or an errno.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_strerror(error: c_int) -> *const c_char {
    error::text_of(error).as_ptr()
}

/// The defaults of hrxt_options.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_default_options() -> hrxt_options {
    hrxt_options::DEFAULT
}

/// Begins a capture in a new file at `path`, mode 0600. `options` may be null. The recorder is at `*recorder` if this returns 0, else null.
///
/// Errors: -EEXIST, -ENOENT (no such folder), -EACCES, -ENOSPC, -ENOMEM, -EMFILE, -EOPNOTSUPP, -EIO, and -EINVAL for a null pointer or what is out of range.
/// -E2BIG: the struct says what only a later version knows. No file is left behind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hrxt_create(
    path: *const c_char,
    options: *const hrxt_options,
    recorder: *mut *mut hrxt_recorder,
) -> c_int {
    // SAFETY: the C caller's promise: `recorder` is null or a place for a pointer.
    let created = |create| unsafe { created(recorder, create) };
    created(&|| {
        // SAFETY: null or a string, as the header asks.
        let path = unsafe { text::c_string(path) }?;
        // SAFETY: null or options, as the header asks.
        let options = unsafe { options::read(options) }?;
        Ok(options.create(OsStr::from_bytes(path.to_bytes()))?)
    })
}

/// As hrxt_create, where the environment says: in $HRX_TRACE_FILE, or in the first of $HRX_TRACE_DIR, $XDG_RUNTIME_DIR, $TMPDIR and /tmp that has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hrxt_create_from_environment(
    options: *const hrxt_options,
    recorder: *mut *mut hrxt_recorder,
) -> c_int {
    // SAFETY: the C caller's promise: `recorder` is null or a place for a pointer.
    let created = |create| unsafe { created(recorder, create) };
    created(&|| {
        // SAFETY: null or options, as the header asks.
        let options = unsafe { options::read(options) }?;
        Ok(options.create_from_environment()?)
    })
}

/// # Safety
/// `place` is null or a place for a pointer.
unsafe fn created(
    place: *mut *mut hrxt_recorder,
    create: &dyn Fn() -> Result<Recorder, Errno>,
) -> c_int {
    if place.is_null() {
        return INVALID.0;
    }
    let added = guarded(|| recorders::add(create()?));
    let pointer = match added {
        Ok(Number(number)) => ptr::without_provenance_mut(number as usize),
        Err(_) => ptr::null_mut(),
    };
    // SAFETY: the caller's promise.
    unsafe { place.write(pointer) };
    status(added.map(|_| ()))
}

/// Ends the capture cleanly. From now on the recorder is refused. Regions that run are not recorded any more; their handles may still be ended.
/// May be called while other threads record.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_close(recorder: *mut hrxt_recorder) -> c_int {
    status(guarded(|| recorders::close(number(recorder))))
}

/// Ends the capture cleanly, and keeps the recorder: what is recorded later does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_finish(recorder: *mut hrxt_recorder) -> c_int {
    status(guarded(|| {
        enter(recorder)?.finish();
        Ok(())
    }))
}

/// Forces what was recorded to the disk, so that it survives the death of the kernel too.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_sync(recorder: *mut hrxt_recorder) -> c_int {
    status(guarded(|| Ok(enter(recorder)?.sync()?)))
}

/// Says in the file that the process lives. Usable in a signal handler.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_alive(recorder: *mut hrxt_recorder) -> c_int {
    status(enter(recorder).map(|recorder| recorder.alive()))
}

/// Whether what is recorded now goes into the file: 1 or 0. It does not after hrxt_finish and in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_is_recording(recorder: *mut hrxt_recorder) -> c_int {
    enter(recorder).map_or(0, |recorder| recorder.is_recording().into())
}

/// Writes the file's path and a zero to `buffer`, cut to `size` bytes. Returns the path's length, or an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hrxt_path(
    recorder: *mut hrxt_recorder,
    buffer: *mut c_char,
    size: usize,
) -> c_int {
    let length = guarded(|| {
        if buffer.is_null() && size > 0 {
            return Err(INVALID);
        }
        let recorder = enter(recorder)?;
        let path = recorder.path().as_os_str().as_bytes();
        if let Some(room) = size.checked_sub(1) {
            let shown = path.len().min(room);
            // SAFETY: there is room for `size` bytes, as the header asks.
            unsafe { ptr::copy_nonoverlapping(path.as_ptr(), buffer.cast(), shown) };
            // SAFETY: as above, and `shown` is less than `size`.
            unsafe { buffer.wrapping_add(shown).write(0) };
        }
        c_int::try_from(path.len()).map_err(|_| INVALID)
    });
    length.unwrap_or_else(|Errno(errno)| errno)
}

/// The name `text` for events: the same text gives the same number. 0: null, closed, or no room for it, which is counted in the file. Takes a lock: name once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hrxt_label(
    recorder: *mut hrxt_recorder,
    text: *const c_char,
) -> hrxt_label_t {
    // SAFETY: null or a string, as the header asks.
    unsafe {
        named(recorder, text, |recorder, text| {
            recorder.label(text).to_bits()
        })
    }
}

/// The name `text` of the group `group`, such as a domain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hrxt_label_in(
    recorder: *mut hrxt_recorder,
    group: *const c_char,
    text: *const c_char,
) -> hrxt_label_t {
    let name =
        |recorder: &Recorder, group: &str, text: &str| recorder.label_in(group, text).to_bits();
    // SAFETY: null or strings, as the header asks.
    unsafe { named_in(recorder, group, text, name) }
}

/// The name `text` for arguments: as hrxt_label.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hrxt_key(recorder: *mut hrxt_recorder, text: *const c_char) -> hrxt_key_t {
    // SAFETY: null or a string, as the header asks.
    unsafe {
        named(recorder, text, |recorder, text| {
            recorder.key(text).to_bits()
        })
    }
}

/// A lane with the name `text`: the same text gives the same lane. 0, which is HRXT_LANE_UPLOAD: null or closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hrxt_lane(
    recorder: *mut hrxt_recorder,
    text: *const c_char,
) -> hrxt_lane_t {
    // SAFETY: null or a string, as the header asks.
    unsafe { named(recorder, text, |recorder, text| recorder.lane(text) as u32) }
}

/// A lane with the name `text` in the group `group`, such as a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hrxt_lane_in(
    recorder: *mut hrxt_recorder,
    group: *const c_char,
    text: *const c_char,
) -> hrxt_lane_t {
    let name = |recorder: &Recorder, group: &str, text: &str| recorder.lane_in(group, text) as u32;
    // SAFETY: null or strings, as the header asks.
    unsafe { named_in(recorder, group, text, name) }
}

/// Names the calling thread from now on. Until then it has the name that the operating system knew at its first event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hrxt_name_thread(
    recorder: *mut hrxt_recorder,
    text: *const c_char,
) -> c_int {
    status(guarded(|| {
        // SAFETY: null or a string, as the header asks.
        let text = unsafe { text::read(text) }?;
        enter(recorder)?.name_thread(&text);
        Ok(())
    }))
}

/// # Safety
/// `text` is null or a string.
unsafe fn named(
    recorder: *const hrxt_recorder,
    text: *const c_char,
    name: impl Fn(&Recorder, &str) -> u32,
) -> u32 {
    let named = guarded(|| {
        // SAFETY: the caller's promise.
        let text = unsafe { text::read(text) }?;
        Ok(name(&*enter(recorder)?, &text))
    });
    named.unwrap_or(0)
}

/// # Safety
/// `group` and `text` are null or strings.
unsafe fn named_in(
    recorder: *const hrxt_recorder,
    group: *const c_char,
    text: *const c_char,
    name: impl Fn(&Recorder, &str, &str) -> u32,
) -> u32 {
    let named = guarded(|| {
        // SAFETY: the caller's promise.
        let group = unsafe { text::read(group) }?;
        // SAFETY: as above.
        let text = unsafe { text::read(text) }?;
        Ok(name(&*enter(recorder)?, &group, &text))
    });
    named.unwrap_or(0)
}

/// Begins a region: from now on until it ends, the file shows that it is running. Any thread may end it.
///
/// 0, which every call on a region takes and ignores: the recorder is refused, or 65,536 regions of the process run, which is counted in the file as rejected.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_begin(
    recorder: *mut hrxt_recorder,
    lane: hrxt_lane_t,
    label: hrxt_label_t,
) -> hrxt_region_t {
    begin(recorder, event::of(lane, label))
}

/// As hrxt_begin, with all that can be said. 0 as well for an event that is null or says what this version does not know.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hrxt_begin_event(
    recorder: *mut hrxt_recorder,
    event: *const hrxt_event,
) -> hrxt_region_t {
    // SAFETY: null or an event, as the header asks.
    match unsafe { event::read(event) } {
        Ok(event) => begin(recorder, event),
        Err(_) => 0,
    }
}

#[inline(always)]
fn begin(recorder: *const hrxt_recorder, event: Event) -> hrxt_region_t {
    match enter(recorder) {
        Ok(recorder) => regions::begin(recorder, event).map_or(0, |handle| handle.0),
        Err(_) => 0,
    }
}

/// Records the region as completed now. -EBADF: it has ended. -EBUSY: another thread is in a call with it.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_end(region: hrxt_region_t) -> c_int {
    end(region, |event| event)
}

/// As hrxt_end, of a region that copied that many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_end_copied(region: hrxt_region_t, copied_bytes: u64) -> c_int {
    end(region, |event| event.copied_bytes(copied_bytes))
}

/// Records the region as failed now, with the caller's error code; 0: none.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_fail(region: hrxt_region_t, status: u32) -> c_int {
    end(region, |event| event.failed(true).status(status))
}

/// Records the region as cancelled now, which is no failure.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_cancel(region: hrxt_region_t) -> c_int {
    end(region, |event| event.failed(false).cancelled(true))
}

/// hrxt_end as a callback: cudaLaunchHostFunc(stream, hrxt_end_callback, hrxt_to_pointer(region)).
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_end_callback(region: *mut c_void) {
    hrxt_end(region.addr() as u64);
}

#[inline(always)]
fn end(region: hrxt_region_t, said: impl FnOnce(Event) -> Event) -> c_int {
    if region == 0 {
        return 0;
    }
    status(regions::end(Handle(region), said))
}

/// Names a region that runs: as all that changes it, the file shows it at once.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_set_label(region: hrxt_region_t, label: hrxt_label_t) -> c_int {
    change(region, |region| region.set_label(Label::from_bits(label)))
}

/// Sets the submission or graph that a region belongs to.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_set_correlation_id(region: hrxt_region_t, correlation_id: u64) -> c_int {
    change(region, |region| region.set_correlation_id(correlation_id))
}

/// Sets how many bytes a region has copied. If that is known only at the end, hrxt_end_copied says it at no cost.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_set_copied_bytes(region: hrxt_region_t, copied_bytes: u64) -> c_int {
    change(region, |region| region.set_copied_bytes(copied_bytes))
}

/// Sets the caller's error code of a region that goes on.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_set_status(region: hrxt_region_t, status: u32) -> c_int {
    change(region, |region| region.set_status(status))
}

/// Says whether a region waits, as a task does that is not being run: 0 or not.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_set_waiting(region: hrxt_region_t, waiting: c_int) -> c_int {
    change(region, |region| match waiting {
        0 => region.running(),
        _ => region.waiting(),
    })
}

/// Gives a region that runs an argument, which the file shows at once.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_argument_u64(region: hrxt_region_t, key: hrxt_key_t, number: u64) -> c_int {
    argument(region, key, Value::from(number))
}

/// As hrxt_argument_u64.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_argument_i64(region: hrxt_region_t, key: hrxt_key_t, number: i64) -> c_int {
    argument(region, key, Value::from(number))
}

/// As hrxt_argument_u64.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_argument_f64(region: hrxt_region_t, key: hrxt_key_t, number: f64) -> c_int {
    argument(region, key, Value::from(number))
}

/// As hrxt_argument_u64, of a truth value: 0 or not.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_argument_bool(
    region: hrxt_region_t,
    key: hrxt_key_t,
    truth: c_int,
) -> c_int {
    argument(region, key, Value::from(truth != 0))
}

/// As hrxt_argument_u64. The text is cut at 256 bytes, and ends where it is not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hrxt_argument_text(
    region: hrxt_region_t,
    key: hrxt_key_t,
    text: *const c_char,
) -> c_int {
    // SAFETY: null or a string, as the header asks.
    match unsafe { text::read_argument(text) } {
        Ok(text) => argument(region, key, Value::from(text)),
        Err(Errno(errno)) => errno,
    }
}

#[inline(always)]
fn argument(region: hrxt_region_t, key: hrxt_key_t, value: Value<'_>) -> c_int {
    if region == 0 {
        return 0;
    }
    // Not by `change`, whose closure the compiler does not inline.
    match regions::take_live(Handle(region)) {
        Ok(mut region) => {
            region.argument(Key::from_bits(key), value);
            0
        }
        Err(Errno(errno)) => errno,
    }
}

#[inline(always)]
fn change(region: hrxt_region_t, change: impl FnOnce(&mut Taken)) -> c_int {
    if region == 0 {
        return 0;
    }
    status(regions::take_live(Handle(region)).map(|mut taken| change(&mut taken)))
}

/// Records that something happens now.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_mark(
    recorder: *mut hrxt_recorder,
    lane: hrxt_lane_t,
    label: hrxt_label_t,
) -> c_int {
    status(enter(recorder).map(|recorder| recorder.mark(event::of(lane, label))))
}

/// As hrxt_mark, with all that can be said, and up to HRXT_ARGUMENTS_MAX arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hrxt_mark_event(
    recorder: *mut hrxt_recorder,
    event: *const hrxt_event,
    arguments: *const hrxt_argument,
    argument_count: usize,
) -> c_int {
    let mark = || {
        // SAFETY: null or an event, as the header asks.
        let event = unsafe { event::read(event) }?;
        let recorder = enter(recorder)?;
        // SAFETY: as many as there are, as the header asks.
        let arguments = unsafe { Arguments::read(arguments, argument_count) }?;
        recorder.mark_with(event, arguments.as_slice());
        Ok(())
    };
    status(mark())
}

/// Records what a number is now: a queue's depth, the bytes in use. The samples of one number have the same label.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_value(
    recorder: *mut hrxt_recorder,
    label: hrxt_label_t,
    number: f64,
) -> c_int {
    status(enter(recorder).map(|recorder| recorder.value(Label::from_bits(label), number)))
}

/// This moment, in nanoseconds of CLOCK_MONOTONIC.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_now() -> u64 {
    Moment::now().monotonic_ns()
}

/// Records a region that began and ended at these moments, in nanoseconds of CLOCK_MONOTONIC, such as hrxt_now gives. One that began before the capture is not
/// recorded, and counted as rejected. One that ends before it begins took no time.
#[unsafe(no_mangle)]
pub extern "C" fn hrxt_record(
    recorder: *mut hrxt_recorder,
    lane: hrxt_lane_t,
    label: hrxt_label_t,
    start_ns: u64,
    end_ns: u64,
) -> c_int {
    let [start, end] = [start_ns, end_ns].map(Moment::from_monotonic_ns);
    let event = event::of(lane, label);
    status(enter(recorder).map(|recorder| recorder.record_between(start, end, event)))
}

/// As hrxt_record, with all that can be said, and up to HRXT_ARGUMENTS_MAX arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hrxt_record_event(
    recorder: *mut hrxt_recorder,
    event: *const hrxt_event,
    start_ns: u64,
    end_ns: u64,
    arguments: *const hrxt_argument,
    argument_count: usize,
) -> c_int {
    let record = || {
        // SAFETY: null or an event, as the header asks.
        let event = unsafe { event::read(event) }?;
        // SAFETY: as many as there are, as the header asks.
        let arguments = unsafe { Arguments::read(arguments, argument_count) }?;
        let [start, end] = [start_ns, end_ns].map(Moment::from_monotonic_ns);
        enter(recorder)?.record_between_with(start, end, event, arguments.as_slice());
        Ok(())
    };
    status(record())
}
