//! The recorder of the whole program, which is found from everywhere, and what is recorded by it.

use std::panic;
use std::sync::{LazyLock, Once};

use crate::event::{Event, lane};
use crate::exit;
use crate::fork::{self, OnFork, Reopens};
use crate::memory::Published;
use crate::recorder::Recorder;
use crate::region::Region;
use crate::static_label::StaticLabel;
use crate::value::Value;

static GLOBAL: Published<Recorder> = Published::nothing();

/// Makes `recorder` that of the whole program, for good: [`global`] and [`region!`](crate::region) find it. Its file says so when the process exits without having
/// finished it, as with [`Options::finish_at_exit`](crate::Options::finish_at_exit).
///
/// ```
/// use hrx_trace::{Recorder, lane, region};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.hrxt");
/// let _ = hrx_trace::set_global(Recorder::create(&path, 100_000)?);
///
/// let region = region!("gemm", lane::COMPUTE, id = 7);
/// // ... submit, and wait ...
/// region.finish();
/// # assert_eq!(hrx_trace::global().claimed(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Gives `recorder` back if the program has one already, which goes on untouched.
// The error is the recorder itself, which its caller had on its own stack.
#[allow(clippy::result_large_err)]
pub fn set_global(mut recorder: Recorder) -> Result<&'static Recorder, Recorder> {
    if recorder.is_recording() && GLOBAL.get().is_none() {
        recorder.finish_at_exit();
    }
    GLOBAL.publish(recorder)
}

/// The recorder of the whole program; before [`set_global`], a [disabled](Recorder::disabled) one. Costs a load.
#[inline]
#[must_use]
pub fn global() -> &'static Recorder {
    GLOBAL.get().unwrap_or_else(disabled)
}

#[cold]
fn disabled() -> &'static Recorder {
    static DISABLED: LazyLock<Recorder> = LazyLock::new(Recorder::disabled);
    &DISABLED
}

/// What becomes of the global recorder's capture in a child that the process forks. By default, the child is mute.
pub fn on_fork(on_fork: OnFork) {
    fork::set(&Global, on_fork);
}

struct Global;

impl Reopens for Global {
    fn reopen(&self) {
        let parents = GLOBAL.get().filter(|recorder| recorder.is_parents());
        if let Some(Ok(mut recorder)) = parents.and_then(Recorder::create_beside) {
            recorder.finish_at_exit();
            GLOBAL.replace(recorder);
        }
    }
}

impl Recorder {
    fn finish_at_exit(&mut self) {
        if self.left_by_exit.is_none() {
            self.left_by_exit = Some(exit::notice(self.life.clone()));
        }
    }
}

/// From now on, a panic is a mark of the global recorder, `panic` on the host's lane, with its `message` and its `place` as arguments. It is in the file before the
/// program's own panic hook runs, which this one calls: call it after the program has set its own.
pub fn note_panics() {
    static NOTED: Once = Once::new();
    NOTED.call_once(|| {
        let next = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            note(info);
            next(info);
        }));
    });
}

fn note(info: &panic::PanicHookInfo<'_>) {
    let recorder = global();
    if !recorder.is_recording() {
        return;
    }
    let event = Event::new(lane::HOST).label(recorder.label("panic"));
    let message = info.payload_as_str().unwrap_or("not a text");
    let place = info.location().map(ToString::to_string);
    let [message_key, place_key] = ["message", "place"].map(|key| recorder.key(key));
    recorder.mark_with(
        event,
        &[
            (message_key, Value::from(message)),
            (
                place_key,
                Value::from(place.as_deref().unwrap_or("unknown")),
            ),
        ],
    );
}

/// What [`region!`](crate::region) calls.
#[cfg(not(hrx_trace_off))]
#[doc(hidden)]
#[inline(always)]
pub fn __begin(label: &StaticLabel, event: Event) -> Region<&'static Recorder> {
    let recorder = global();
    recorder.begin(event.label(label.of(recorder)))
}

#[cfg(hrx_trace_off)]
#[doc(hidden)]
#[inline(always)]
pub fn __begin(_: &StaticLabel, event: Event) -> Region<&'static Recorder> {
    Region::off(event)
}

/// Begins a region of the [`global`] recorder: its label, its lane, and what else is known. The label is interned at the place's first call.
///
/// With a closure, the region is that of the closure: it is finished when the closure has returned, whose value is the result, and failed if the closure panics.
///
/// ```
/// use hrx_trace::{lane, region};
///
/// let region = region!("upload weights", lane::UPLOAD, id = 7, bytes = 4096);
/// region.finish();
///
/// let sum = region!("sum", lane::HOST, || 1 + 2);
/// let product = region!("multiply", lane::COMPUTE, id = 7, |region| {
///     region.argument(hrx_trace::global().key("factors"), 2);
///     3 * 4
/// });
/// assert_eq!((sum, product), (3, 12));
/// ```
///
/// `id` is the correlation id, `bytes` the bytes copied. Compiled with `--cfg hrx_trace_off`, nothing but the closure is left.
#[macro_export]
macro_rules! region {
    ($label:expr, $lane:expr $(, $field:ident = $value:expr)*, || $work:expr) => {
        $crate::region!($label, $lane $(, $field = $value)*, |_region| $work)
    };
    ($label:expr, $lane:expr $(, $field:ident = $value:expr)*, |$region:ident| $work:expr) => {{
        let mut region = $crate::region!($label, $lane $(, $field = $value)*);
        let work = |$region: &mut $crate::Region<&'static $crate::Recorder>| $work;
        let result = work(&mut region);
        region.finish();
        result
    }};
    ($label:expr, $lane:expr $(, $field:ident = $value:expr)* $(,)?) => {{
        static LABEL: $crate::StaticLabel = $crate::StaticLabel::new($label);
        #[allow(unused_mut)]
        let mut event = $crate::Event::new($lane);
        $(event = $crate::__field!(event, $field, $value);)*
        $crate::__begin(&LABEL, event)
    }};
}

/// What a field of [`region!`](crate::region) says.
#[doc(hidden)]
#[macro_export]
macro_rules! __field {
    ($event:ident, id, $value:expr) => {
        $event.correlation_id($value)
    };
    ($event:ident, bytes, $value:expr) => {
        $event.copied_bytes($value)
    };
}
