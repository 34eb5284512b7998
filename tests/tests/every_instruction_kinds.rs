//! Proves: at whichever instruction a program dies, its file tells the truth about marks, values, arguments and amendments too.
//!
//! How: as in `every_instruction`, with the calls of `crash::kinds`. A running region is shown at every instant from its `begin` to its completed record, with the
//! old value or the new one and with all arguments that returned, but for those that are neither in the window nor in a line. At most one ticket is torn, and every
//! ticket is in the account: a record of a mark that is not there yet counts as orphaned.

use std::collections::HashMap;
use std::process::Command;

use hrx_trace_reader::{Argument, ArgumentValue, Event, Kind, OpenRegion, Trace};
use hrx_trace_tests::crash::kinds::{CAPACITY, Call, NAMES, RINGS, SCRIPT, TEXT};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::stepping::{follow, word};
use hrx_trace_tests::crash::tracee::Tracee;

/// Bytes of a text in one record.
const PART: usize = 26;

/// Argument records that have a line of their own in an open slot; the latest of the others has the last line.
const OWN_LINES: usize = 5;

/// What the file says of a ring, its times left out.
#[derive(Clone, Debug, Default, PartialEq)]
struct RingState {
    claimed: u64,
    torn: u64,
    arguments: u64,
    orphaned: u64,
    amendments: u64,
    events: Vec<Event>,
}

#[derive(Clone, Debug, PartialEq)]
struct State {
    rings: [RingState; RINGS],
    open: Vec<OpenRegion>,
}

/// A record of an argument.
#[derive(Clone, Debug)]
struct Part {
    ticket: u64,
    /// Number of its argument among those of its event.
    ordinal: usize,
    /// What it holds of the value: all, or a part of the text.
    value: ArgumentValue,
}

#[derive(Clone, Debug)]
enum Item {
    Torn,
    Event(Event, Vec<Part>),
    Argument,
    Amendment,
}

#[derive(Clone, Debug)]
struct Running {
    shown: OpenRegion,
    parts: Vec<Part>,
    /// The number of the record in the last line.
    last_line: Option<usize>,
}

#[derive(Clone, Debug, Default)]
struct Model {
    ring: usize,
    rings: [Vec<Item>; RINGS],
    running: Option<Running>,
    /// The region whose place `running` takes.
    over: Option<Running>,
    /// Records of an event without a slot that is not there yet.
    pending: Vec<Part>,
    /// Ring and ticket of each record of a region that was withdrawn.
    withdrawn: Vec<(usize, u64)>,
}

/// The arguments that `parts` make, and how many are known to be lost.
fn arguments<'a>(parts: impl Iterator<Item = &'a Part>) -> (Vec<Argument>, u64) {
    let mut by_ordinal: Vec<(usize, Vec<&Part>)> = Vec::new();
    for part in parts {
        match by_ordinal.last_mut() {
            Some((ordinal, parts)) if *ordinal == part.ordinal => parts.push(part),
            _ => by_ordinal.push((part.ordinal, vec![part])),
        }
    }
    let highest = by_ordinal.last().map_or(0, |(ordinal, _)| ordinal + 1);
    let lost = (highest - by_ordinal.len()) as u64;
    let arguments = by_ordinal.iter().map(|(_, parts)| {
        let mut argument = Argument::default();
        argument.value = parts[0].value.clone();
        if let ArgumentValue::Text(_) = argument.value {
            // The parts are there up to some, or from some.
            let mut whole = String::new();
            for part in parts {
                let ArgumentValue::Text(text) = &part.value else {
                    panic!("{part:?}")
                };
                if TEXT
                    .strip_prefix(&whole)
                    .is_some_and(|rest| rest.starts_with(text))
                {
                    whole.push_str(text);
                }
            }
            argument.incomplete = whole != TEXT;
            argument.value = ArgumentValue::Text(whole);
        }
        argument
    });
    (arguments.collect(), lost)
}

impl Model {
    fn oldest(&self, ring: usize) -> u64 {
        (self.rings[ring].len() as u64).saturating_sub(CAPACITY)
    }

    fn state(&self) -> State {
        let rings = std::array::from_fn(|ring| {
            let items = &self.rings[ring];
            let oldest = self.oldest(ring);
            let mut state = RingState {
                claimed: items.len() as u64,
                ..RingState::default()
            };
            for item in &items[oldest as usize..] {
                match item {
                    Item::Torn => state.torn += 1,
                    Item::Argument => state.arguments += 1,
                    Item::Amendment => state.amendments += 1,
                    Item::Event(event, parts) => {
                        let mut event = event.clone();
                        let found = parts.iter().filter(|part| part.ticket > oldest);
                        let (found, lost) = arguments(found);
                        let all_lost = found.is_empty() && !parts.is_empty();
                        event.arguments_lost = if all_lost { 1 } else { lost };
                        event.arguments = found;
                        state.events.push(event);
                    }
                }
            }
            let pending = self.pending.iter().map(|part| (self.ring, part.ticket));
            let orphans = pending.chain(self.withdrawn.iter().copied());
            state.orphaned = orphans
                .filter(|(of, ticket)| *of == ring && *ticket > oldest)
                .count() as u64;
            state
        });
        let open = self.over.iter().chain(&self.running).map(|running| {
            let oldest = self.oldest(self.ring);
            let parts = running.parts.iter().enumerate();
            let found = parts.filter(|(index, part)| {
                part.ticket > oldest || *index < OWN_LINES || running.last_line == Some(*index)
            });
            let mut open = running.shown.clone();
            (open.arguments, open.arguments_lost) = arguments(found.map(|(_, part)| part));
            open
        });
        State {
            rings,
            open: in_order(open.collect()),
        }
    }

    /// The state once a ticket is taken, and before its record is there.
    fn torn(&mut self) -> State {
        let ring = self.ring;
        self.rings[ring].push(Item::Torn);
        let state = self.state();
        self.rings[ring].pop();
        state
    }

    fn push(&mut self, item: Item) {
        let ring = self.ring;
        self.rings[ring].push(item);
    }

    /// Writes the records of an argument, of the running region or of the event that follows.
    fn argument(&mut self, value: &ArgumentValue, of_running: bool) -> Vec<State> {
        let values: Vec<ArgumentValue> = match value {
            ArgumentValue::Text(text) => text
                .as_bytes()
                .chunks(PART)
                .map(|part| ArgumentValue::Text(str::from_utf8(part).unwrap().to_owned()))
                .collect(),
            value => vec![value.clone()],
        };
        let of = |model: &Self| match &model.running {
            Some(running) if of_running => running.parts.clone(),
            _ => model.pending.clone(),
        };
        let ordinal = of(self).last().map_or(0, |last| last.ordinal + 1);
        let mut states = Vec::new();
        for value in values {
            let part = Part {
                ticket: self.rings[self.ring].len() as u64 + 1,
                ordinal,
                value,
            };
            states.push(self.torn());
            self.push(Item::Argument);
            match &mut self.running {
                Some(running) if of_running => running.parts.push(part),
                _ => self.pending.push(part),
            }
            states.push(self.state());
            // From here on the last line holds nothing, then this one.
            if let Some(running) = self.running.as_mut().filter(|_| of_running)
                && running.parts.len() > OWN_LINES
            {
                running.last_line = None;
                states.push(self.state());
                let running = self.running.as_mut().unwrap();
                running.last_line = Some(running.parts.len() - 1);
                states.push(self.state());
            }
        }
        states
    }

    fn amend(&mut self, change: impl FnOnce(&mut OpenRegion)) -> Vec<State> {
        let torn = self.torn();
        self.push(Item::Amendment);
        let shown = &mut self.running.as_mut().unwrap().shown;
        shown.amended = true;
        change(shown);
        vec![torn, self.state()]
    }

    /// Writes an event that holds no slot.
    fn event(&mut self, event: Event, values: &[ArgumentValue]) -> Vec<State> {
        let mut states = Vec::new();
        for value in values {
            states.extend(self.argument(value, false));
        }
        // Until it is there, its arguments are orphaned; then they are its own.
        states.push(self.torn());
        let parts = std::mem::take(&mut self.pending);
        self.push(Item::Event(event, parts));
        states.push(self.state());
        states
    }

    /// `event` begins, in place of a region if one runs.
    fn begin(&mut self, event: &Event, waiting: bool) -> Vec<State> {
        self.over = self.running.take();
        let mut shown = OpenRegion::default();
        shown.ring = event.ring;
        shown.lane = event.lane;
        shown.label_id = event.label_id;
        shown.correlation_id = event.correlation_id;
        shown.waiting = waiting;
        self.running = Some(Running {
            shown,
            parts: Vec::new(),
            last_line: None,
        });
        vec![self.state()]
    }

    /// The region that is over, or the one that runs.
    fn leaving(&mut self) -> &mut Option<Running> {
        match self.over {
            Some(_) => &mut self.over,
            None => &mut self.running,
        }
    }

    fn withdraw(&mut self) -> Vec<State> {
        let left = self.leaving().take().expect("a region is there");
        let parts = left.parts.iter().map(|part| (self.ring, part.ticket));
        self.withdrawn.extend(parts);
        vec![self.state()]
    }

    fn complete(&mut self, change: impl FnOnce(&mut Event)) -> Vec<State> {
        let running = self.leaving().clone().expect("a region runs");
        let mut event = Event::default();
        event.ring = self.ring as u32;
        event.lane = running.shown.lane;
        event.label_id = running.shown.label_id;
        event.correlation_id = running.shown.correlation_id;
        event.copied_bytes = running.shown.copied_bytes;
        event.status = running.shown.status;
        change(&mut event);
        let torn = self.torn();
        *self.leaving() = None;
        self.push(Item::Event(event, running.parts));
        vec![torn, self.state()]
    }

    /// Makes call `index`. Returns the states that the file goes through, from the one before the call to the one after it.
    fn call(&mut self, index: usize) -> Vec<State> {
        let number = ArgumentValue::U64(index as u64);
        let text = ArgumentValue::Text(TEXT.to_owned());
        let mut event = Event::default();
        event.ring = self.ring as u32;
        event.lane = index as u32 % 6;
        event.label_id = 1;
        event.correlation_id = index as u64 + 1;
        let mut mark = event.clone();
        mark.kind = Kind::Mark;
        let mut value = event.clone();
        (value.kind, value.lane, value.value) = (Kind::Value, 0, index as f64);
        let mut states = vec![self.state()];
        states.extend(match SCRIPT[index] {
            Call::Mark => self.event(mark, &[]),
            Call::MarkWith => self.event(mark, &[number, text]),
            Call::Value => {
                value.correlation_id = 0;
                self.event(value, &[])
            }
            Call::ValueWith => {
                value.label_id = 1;
                self.event(value, &[number])
            }
            Call::BetweenWith => self.event(event, &[number, text]),
            Call::Begin => self.begin(&event, false),
            Call::Suspend => {
                let mut states = self.begin(&event, true);
                states.extend(self.argument(&number, true));
                states.extend(self.complete(|event| event.status = index as u32));
                states
            }
            Call::Resume => {
                let mut states = self.begin(&event, false);
                states.extend(self.argument(&number, true));
                states.extend(self.withdraw());
                states
            }
            Call::Withdraw => self.withdraw(),
            Call::Number => self.argument(&number, true),
            Call::Text => self.argument(&text, true),
            Call::Label => self.amend(|region| region.label_id = 2),
            Call::Status => self.amend(|region| region.status = index as u32),
            Call::CopiedBytes => self.amend(|region| region.copied_bytes = index as u64),
            Call::CorrelationId => self.amend(|region| region.correlation_id = 1000 + index as u64),
            Call::Wait => self.amend(|region| region.waiting = true),
            Call::Run => self.amend(|region| region.waiting = false),
            Call::Finish => self.complete(|_| ()),
            Call::Fail => {
                self.complete(|event| (event.failed, event.status) = (true, index as u32))
            }
            Call::Cancel => self.complete(|event| event.cancelled = true),
            Call::Drop => self.complete(|event| event.failed = true),
            Call::Take => {
                self.ring = 1;
                Vec::new()
            }
        });
        states
    }
}

/// Reads `image` and asserts what must hold of every image. `begun_ns` has the beginnings seen so far, which must never change.
fn read(image: &[u8], begun_ns: &mut HashMap<(u32, u64), u64>) -> State {
    let trace = Trace::from_bytes(image).expect("the header is intact");
    let name = |label_id: u32| match &*trace.name(label_id) {
        "native region" => 0,
        name => 1 + NAMES.iter().position(|known| *known == name).expect(name) as u32,
    };
    let mut rings: [RingState; RINGS] = Default::default();
    let mut events = trace.events();
    for mut event in events.by_ref() {
        let place = (event.ring, event.sequence);
        let known_ns = *begun_ns.entry(place).or_insert(event.start_ns);
        assert_eq!(event.start_ns, known_ns, "{event:?} has two beginnings");
        assert!(!event.saturated && !event.hidden);
        (event.start_ns, event.duration_ns, event.sequence) = (0, 0, 0);
        event.thread_id = 0;
        event.label_id = name(event.label_id);
        rings[event.ring as usize].events.push(event);
    }
    let report = events.finish();
    for (ring, account) in rings.iter_mut().zip(&report.rings) {
        assert!(account.balances(), "{account:?}");
        assert!(account.torn <= 1, "{account:?}");
        assert_eq!((account.skipped, account.evicted), (0, 0));
        assert_eq!(account.events(), ring.events.len() as u64);
        ring.claimed = account.claimed;
        ring.torn = account.torn;
        ring.arguments = account.arguments;
        ring.orphaned = account.orphaned;
        ring.amendments = account.amendments;
    }
    assert_eq!((report.open_torn, &report.damages), (0, &Vec::new()));
    assert_eq!((report.rejected, report.arguments_refused), (0, 0));
    assert_eq!((report.open_refused, report.hidden_now), (0, 0));
    let open = report.open_regions.into_iter().map(|mut region| {
        assert!(!region.saturated);
        (region.start_ns, region.slot, region.thread_id) = (0, 0, 0);
        region.label_id = name(region.label_id);
        region
    });
    State {
        rings,
        open: in_order(open.collect()),
    }
}

/// Which slot a region takes is not the model's: they are in the order of their correlation ids.
fn in_order(mut open: Vec<OpenRegion>) -> Vec<OpenRegion> {
    open.sort_by_key(|region| region.correlation_id);
    open
}

#[test]
fn a_death_at_any_instruction_leaves_the_truth_about_every_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.hrxt");
    let words_path = folder.path().join("words");
    let words = SharedWords::map(&words_path, word::COUNT).unwrap();
    let child =
        Tracee::start(Command::new(env!("CARGO_BIN_EXE_stepped_kinds")).args([&path, &words_path]));
    let mut model = Model::default();
    let mut begun_ns = HashMap::new();
    let followed = follow(
        &child,
        &path,
        &words,
        SCRIPT.len(),
        |index| model.call(index),
        |image| read(image, &mut begun_ns),
    );
    println!(
        "crash points checked: {} in {} calls; {} distinct images",
        followed.points,
        SCRIPT.len(),
        followed.images
    );
    assert!(
        followed.points > 10_000,
        "the child was stepped for {} instructions only",
        followed.points
    );
}
