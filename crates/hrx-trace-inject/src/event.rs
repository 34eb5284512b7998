//! What a program said about an event, and the region or mark that it becomes.

use std::time::{Duration, Instant};

use hrx_trace::{Event, Key, Value};

use crate::capture::{Capture, current, running};
use crate::names::{self, Kept, Named, name};
use crate::ranges;
use crate::registry::{Domain, category};
use crate::stacks::Running;
use crate::text::Text;
use crate::thread;

/// An event's name, as the program gave it.
#[derive(Clone, Copy)]
pub enum Message<'a> {
    None,
    Text(&'a [u8]),
    Registered(&'static Kept),
}

/// What was said about an event.
#[derive(Clone, Copy)]
pub struct Said<'a> {
    pub message: Message<'a>,
    pub payload: Option<Value<'static>>,
    /// 0: none.
    pub category: u32,
}

impl<'a> Said<'a> {
    /// A name, and no more.
    #[inline]
    pub const fn only(message: Message<'a>) -> Self {
        Self {
            message,
            payload: None,
            category: 0,
        }
    }
}

/// What is said besides the label.
struct Details<'a> {
    name: Option<Text>,
    payload: Option<Value<'a>>,
    category: Option<Value<'a>>,
}

/// Begins a region of `domain`, in the lane of the calling thread.
#[inline(always)]
pub fn begin(domain: &'static Domain, said: Said<'_>) -> Option<Running> {
    let capture = current()?;
    let lane = thread::lane_in(capture);
    begin_in(capture, lane, domain, said)
}

/// Begins a region of `domain` that may end on another thread, in a lane of the domain's own: such regions do not nest.
fn begin_range(domain: &'static Domain, said: Said<'_>) -> Option<Running> {
    let capture = current()?;
    thread::lane_in(capture);
    let lane = domain.ranges_in(capture);
    begin_in(capture, lane, domain, said)
}

/// [`begin_range`], kept under `key` until its end.
pub fn keep_range(key: u64, domain: &'static Domain, said: Said<'_>) {
    if let Some(region) = begin_range(domain, said)
        && let Err(region) = ranges::keep(key, region)
    {
        // Its end will not be noticed: there it is a region that was cut short at once, which shows that it was.
        region.cancel();
    }
}

#[inline(always)]
fn begin_in(
    capture: &'static Capture,
    lane: usize,
    domain: &'static Domain,
    said: Said<'_>,
) -> Option<Running> {
    let named = named(capture, domain, said.message);
    let mut region = capture.recorder.begin(Event::new(lane).label(named.label));
    if !named.is_spelled || said.payload.is_some() || said.category != 0 {
        describe(capture, domain, said, named, &mut region);
    }
    Some(region)
}

/// A region of `domain` that the program measured.
pub fn measured(domain: &'static Domain, message: Message<'_>, start: Instant, elapsed: Duration) {
    if let Some(capture) = current() {
        thread::lane_in(capture);
        let lane = domain.ranges_in(capture);
        let label = named(capture, domain, message).label;
        capture
            .recorder
            .record(start, elapsed, Event::new(lane).label(label));
    }
}

/// A sample of a number of `domain`.
pub fn value(domain: &'static Domain, message: Message<'_>, number: f64) {
    if let Some(capture) = current() {
        thread::lane_in(capture);
        capture
            .recorder
            .value(named(capture, domain, message).label, number);
    }
}

/// Gives `region` an argument, if it is of the capture that runs.
pub fn argue(region: &mut Running, key: &[u8], value: Value<'_>) {
    if let Some(capture) = running() {
        region.argument(names::key(&capture.interner(), key), value);
    }
}

/// A mark of `domain`, in the lane of the calling thread.
pub fn mark(domain: &'static Domain, said: Said<'_>) {
    let Some(capture) = current() else {
        return;
    };
    let lane = thread::lane_in(capture);
    let named = named(capture, domain, said.message);
    let details = Details::of(domain, said, named);
    let mut arguments = [(Key::NONE, Value::from(0_u64)); 3];
    let mut count = 0;
    details.each(capture, |key, value| {
        arguments[count] = (key, value);
        count += 1;
    });
    capture
        .recorder
        .mark_with(Event::new(lane).label(named.label), &arguments[..count]);
}

#[inline(always)]
fn named(capture: &Capture, domain: &'static Domain, message: Message<'_>) -> Named {
    match message {
        Message::Registered(kept) => kept.named(&capture.interner()),
        Message::Text(text) => name(&capture.interner(), domain.group, text),
        Message::None => Named::NONE,
    }
}

#[inline(never)]
fn describe(
    capture: &Capture,
    domain: &Domain,
    said: Said<'_>,
    named: Named,
    region: &mut Running,
) {
    Details::of(domain, said, named).each(capture, |key, value| region.argument(key, value));
}

impl Details<'_> {
    fn of(domain: &Domain, said: Said<'_>, named: Named) -> Self {
        let text = match said.message {
            Message::Text(text) => text,
            Message::Registered(kept) => &kept.text,
            Message::None => b"",
        };
        Self {
            name: (!named.is_spelled).then(|| Text::new(text)),
            payload: said.payload,
            category: match said.category {
                0 => None,
                number => Some(category(domain, number).map_or(Value::from(number), Value::from)),
            },
        }
    }

    fn each<'a>(&'a self, capture: &Capture, mut with: impl FnMut(Key, Value<'a>)) {
        if let Some(name) = &self.name {
            with(capture.keys.name, Value::from(name.as_str()));
        }
        if let Some(payload) = self.payload {
            with(capture.keys.payload, payload);
        }
        if let Some(category) = self.category {
            with(capture.keys.category, category);
        }
    }
}
