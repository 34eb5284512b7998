//! What a viewer shows, in words that are the same for all of them.

use std::collections::BTreeMap;

use hrx_trace_tests::viewers::{CatapultTrace, SpeedscopeTrace, TpTrace, lane_of};
use serde_json::Value;

use crate::recorded::Recorded;

const REGION: &str = "hrx.host-observed";

/// A region as a viewer shows it.
#[derive(Clone, Debug)]
pub struct Slice {
    pub number: u64,
    /// Unique in the viewer.
    pub track: i64,
    pub lane: String,
    pub start_ns: i64,
    /// None: it has no end.
    pub duration_ns: Option<i64>,
    /// The number of the region that it is drawn inside of.
    pub parent: Option<u64>,
}

/// Everything that it shows.
#[derive(Debug, Default)]
pub struct Seen {
    pub faults: Vec<String>,
    pub slices: Vec<Slice>,
    /// By the regions' numbers; None: it does not begin or end at a region.
    pub arrows: Vec<(Option<u64>, Option<u64>)>,
}

/// `zero_ns`: what the viewer's clock says when the capture begins.
pub fn of_trace_processor(trace: &TpTrace, zero_ns: u64) -> Seen {
    let regions = || {
        let slices = trace.slices.iter();
        slices.filter(|slice| slice.category.as_deref() == Some(REGION))
    };
    let numbers: BTreeMap<i64, u64> = regions()
        .map(|slice| (slice.id, number(&slice.args["copied_bytes"])))
        .collect();
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    let slices = regions().map(|slice| {
        let track_name = match slice.tid {
            Some(_) => name(&slice.thread_name),
            None => name(&slice.track_name),
        };
        Slice {
            number: numbers[&slice.id],
            track: slice.track_id,
            lane: lane_of(&track_name).to_owned(),
            start_ns: slice.ts_ns - zero_ns as i64,
            duration_ns: (slice.dur_ns != -1).then_some(slice.dur_ns),
            parent: slice.parent_id.map(|id| numbers[&id]),
        }
    });
    let of = |id: i64| numbers.get(&id).copied();
    let arrows = trace.flows.iter();
    Seen {
        faults: trace.faults(),
        slices: slices.collect(),
        arrows: arrows
            .map(|flow| (of(flow.slice_out), of(flow.slice_in)))
            .collect(),
    }
}

pub fn of_catapult(trace: &CatapultTrace) -> Seen {
    let numbers: Vec<Option<u64>> = (trace.slices.iter())
        .map(|slice| (slice.category == REGION).then(|| number(&slice.args["copied_bytes"])))
        .collect();
    let slices = trace.slices.iter().zip(&numbers);
    let slices = slices.filter_map(|(slice, number)| {
        Some(Slice {
            number: (*number)?,
            track: slice.tid,
            lane: lane_of(slice.thread.as_deref().unwrap_or_default()).to_owned(),
            start_ns: slice.start_ns,
            duration_ns: (!slice.unfinished).then_some(slice.duration_ns),
            parent: slice.parent.and_then(|parent| numbers[parent]),
        })
    });
    let of = |index: Option<usize>| index.and_then(|index| numbers[index]);
    let mut faults = trace.faults();
    if trace.time_unit != "ns" {
        faults.push(format!("it counts in {}", trace.time_unit));
    }
    Seen {
        faults,
        slices: slices.collect(),
        arrows: (trace.flows.iter())
            .map(|flow| (of(flow.from), of(flow.to)))
            .collect(),
    }
}

/// It shows times relative to the first of a track, which is taken to be right; what never ended until the last moment; and no arrows.
pub fn of_speedscope(trace: &SpeedscopeTrace, recorded: &Recorded) -> Seen {
    let mut seen = Seen {
        faults: trace.error.iter().cloned().collect(),
        ..Seen::default()
    };
    for (track, profile) in (0..).zip(&trace.profiles) {
        let (_, track_name) = profile.name.split_once("), ").expect("a process");
        let (track_name, _) = track_name.rsplit_once(" (tid ").expect("a tid");
        let before = seen.slices.len();
        let mut open: Vec<(Option<u64>, i64)> = Vec::new();
        for event in &profile.events {
            let (_, args) = event.name.rsplit_once(" {").expect("arguments");
            let args: Value = serde_json::from_str(&format!("{{{args}")).expect("JSON");
            let number = args.get("copied_bytes").map(number);
            let at_ns = (event.at * 1e3).round() as i64;
            if event.kind == "O" {
                open.push((number, at_ns));
                continue;
            }
            let Some((opened, start_ns)) = open.pop() else {
                seen.faults.push(format!("closes {} twice", event.name));
                continue;
            };
            if opened != number {
                let fault = format!("closes {number:?} before {opened:?}, inside of it");
                seen.faults.push(fault);
            }
            let Some(number) = opened else {
                continue;
            };
            let parent = open.iter().rev().find_map(|(number, _)| *number);
            seen.slices.push(Slice {
                number,
                track,
                lane: lane_of(track_name).to_owned(),
                start_ns,
                duration_ns: Some(at_ns - start_ns),
                parent,
            });
        }
        if !open.is_empty() {
            seen.faults.push(format!("never closes {open:?}"));
        }
        let of_track = &mut seen.slices[before..];
        let first = of_track.iter().min_by_key(|slice| slice.start_ns);
        let region = first.and_then(|first| recorded.of_number(first.number));
        if let (Some(first), Some(region)) = (first, region) {
            let zero_ns = region.start_ns as i64 - first.start_ns;
            of_track
                .iter_mut()
                .for_each(|slice| slice.start_ns += zero_ns);
        }
    }
    seen
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("the bytes are a number")
}
