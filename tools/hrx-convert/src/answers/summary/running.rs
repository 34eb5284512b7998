//! What was running: one by one if that is readable, and otherwise by lane and label, with those one by one that do not wait, and with the newest. The newest is
//! most often the culprit, unless it waits.

use std::collections::BTreeMap;

use anstyle::Style;
use indicatif::HumanCount;
use serde_json::Value;

use crate::answers::summary::lines::{Lines, bytes_text, correlation_text};
use crate::figures::digest::Digest;
use crate::figures::facts::RunningRegion;
use crate::text::columns::Align::{Left, Right};
use crate::text::columns::Table;
use crate::text::names::thread_text;
use crate::text::quantities::{counted, short_text};
use crate::text::styles::BAD;

/// Running regions that are listed one by one, and groups of them.
const LISTED_MAX: usize = 16;
/// The newest that are listed after the groups: of those that do not wait, and of all.
const NEWEST_LISTED: usize = 8;

pub fn running(lines: &mut Lines, digest: &Digest) {
    let open: Vec<&RunningRegion> = digest.facts.open_regions.iter().collect();
    let hidden = digest.facts.account.hidden_now.0;
    let seen = digest.facts.end_is_seen();
    lines.heading("RUNNING AT THE END");
    match open.as_slice() {
        [] if hidden == 0 => return lines.line("nothing"),
        [] => {}
        few if few.len() <= LISTED_MAX => one_by_one(lines, few, seen),
        many => {
            grouped(lines, many, seen);
            let mut all = many.to_vec();
            all.sort_by_key(|region| region.start_ns.0);
            let busy: Vec<_> = all
                .iter()
                .filter(|region| !region.waiting)
                .copied()
                .collect();
            if (1..all.len()).contains(&busy.len()) {
                lines.heading("THOSE THAT DO NOT WAIT");
                one_by_one(
                    lines,
                    &busy[busy.len().saturating_sub(NEWEST_LISTED)..],
                    seen,
                );
                lines.more(busy.len(), NEWEST_LISTED, "older one");
            }
            lines.heading("THE NEWEST OF THEM");
            one_by_one(lines, &all[all.len() - NEWEST_LISTED..], seen);
        }
    }
    if hidden > 0 {
        let more = if open.is_empty() { "" } else { "more " };
        lines.wrapped(
            BAD,
            &format!("and {} {more}that the full open table does not show: more slots show them (Options::open_regions)", HumanCount(hidden)),
        );
    }
}

/// `seen`: how long each ran is known, and not only at least.
fn one_by_one(lines: &mut Lines, open: &[&RunningRegion], seen: bool) {
    let mut table = Table::new(
        [
            ("lane", Left),
            ("label", Left),
            (if seen { "for" } else { "for at least" }, Right),
            ("since", Right),
            ("bytes", Right),
            ("correlation", Right),
            ("thread", Right),
            ("", Left),
        ],
        1,
    )
    .sparing(&[4, 3]);
    for region in open {
        let cells = [
            region.lane_name.clone(),
            label_text(region),
            short_text(region.running_ns.0),
            short_text(region.start_ns.0),
            bytes_text(region.copied_bytes.0),
            correlation_text(region.correlation_id.0),
            thread_text(region.thread.as_deref(), region.thread_id),
            if region.waiting { "waiting" } else { "" }.to_owned(),
        ];
        table.row(if region.waiting { Style::new() } else { BAD }, cells);
    }
    lines.table(&table);
}

/// The regions of one lane and label.
struct Group<'open> {
    count: u64,
    waiting: u64,
    longest: &'open RunningRegion,
    newest: &'open RunningRegion,
}

fn grouped(lines: &mut Lines, open: &[&RunningRegion], seen: bool) {
    let mut groups: BTreeMap<(u32, &str, Option<&str>), Group> = BTreeMap::new();
    for &region in open {
        let key = (region.lane, region.label.as_str(), region.group.as_deref());
        let group = groups.entry(key).or_insert(Group {
            count: 0,
            waiting: 0,
            longest: region,
            newest: region,
        });
        group.count += 1;
        group.waiting += u64::from(region.waiting);
        if region.start_ns.0 < group.longest.start_ns.0 {
            group.longest = region;
        }
        if region.start_ns.0 >= group.newest.start_ns.0 {
            group.newest = region;
        }
    }
    // That of the newest region comes first, so it is listed whatever the number of groups.
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.newest.start_ns.0));
    let count = counted(open.len() as u64, "region");
    lines.wrapped(
        BAD,
        &format!(
            "{count}, by lane and label, the newest first; each ran {}:",
            if seen { "so long" } else { "at least so long" }
        ),
    );
    let mut table = Table::new(
        [
            ("lane", Left),
            ("label", Left),
            ("count", Right),
            ("waiting", Right),
            ("longest", Right),
            ("newest", Right),
        ],
        1,
    );
    for group in groups.iter().take(LISTED_MAX) {
        let cells = [
            group.newest.lane_name.clone(),
            group_label(group.newest),
            HumanCount(group.count).to_string(),
            match group.waiting {
                0 => String::new(),
                waiting => HumanCount(waiting).to_string(),
            },
            short_text(group.longest.running_ns.0),
            short_text(group.newest.running_ns.0),
        ];
        table.row(BAD, cells);
    }
    lines.table(&table);
    lines.more(groups.len(), LISTED_MAX, "group");
}

fn group_label(region: &RunningRegion) -> String {
    match &region.group {
        Some(group) => format!("{group}: {}", region.label),
        None => region.label.clone(),
    }
}

/// The label, then the arguments: `all_reduce (batch=64, path="x")`.
fn label_text(region: &RunningRegion) -> String {
    let mut about = arguments_text(&region.arguments);
    if region.arguments_lost.0 > 0 {
        about.push(format!(
            "{} lost",
            counted(region.arguments_lost.0, "argument")
        ));
    }
    match about.as_slice() {
        [] => group_label(region),
        about => format!("{} ({})", group_label(region), about.join(", ")),
    }
}

/// Arguments as `key=value` each.
pub fn arguments_text(arguments: &Value) -> Vec<String> {
    let object = arguments.as_object().into_iter().flatten();
    object
        .map(|(key, value)| format!("{key}={value}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use hrx_trace_format::header::COUNTERS_OFFSET;
    use hrx_trace_format::record::FLAG_WAITING;
    use hrx_trace_format::{ArgumentValue, Geometry, OpenRecord};
    use hrx_trace_tests::capture::{Capture as Made, running};

    use crate::answers::summary::{Extent, Summary};
    use crate::input::captures::Captures;
    use crate::input::conversion::write_selected;
    use crate::input::selection::Selection;

    /// The summary in 80 columns of a capture in which this many regions more were hidden.
    fn summary(made: &Made, hidden_now: u8) -> String {
        let mut bytes = made.bytes();
        bytes[COUNTERS_OFFSET as usize + 56] = hidden_now;
        let captures = Captures::of_bytes([bytes]);
        let mut text = Vec::new();
        let summary = Summary::new(Extent::Text, false, 80, 1, &mut text);
        write_selected(&captures, &Selection::default(), summary).unwrap();
        String::from_utf8(text).unwrap()
    }

    /// The bug: 2,000 requests in flight were listed oldest first, up to the sixteenth, and the newest, the one that hung, was cut off.
    #[test]
    fn thousands_in_flight_are_grouped_and_the_newest_is_shown() {
        let mut geometry = Geometry::new(16);
        geometry.open_slots = 2_000;
        let mut made = Made::with(geometry);
        let [request, blocked, method] = [
            made.label("request"),
            made.label("blocked"),
            made.key("method"),
        ];
        for slot in 0..1_999 {
            let waiting = OpenRecord {
                label_id: request,
                flags: FLAG_WAITING,
                ..running(4, 1_000 + u64::from(slot))
            };
            made.open(slot, waiting);
        }
        let culprit = OpenRecord {
            label_id: blocked,
            ..running(1, 1_000_000)
        };
        made.open_with(1_999, culprit, &[(method, ArgumentValue::Text(b"GET"))]);
        let text = summary(&made, 3);
        println!("{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() < 60 && lines.iter().all(|line| line.chars().count() <= 80));
        let at = |words: &str| {
            lines
                .iter()
                .position(|line| line.contains(words))
                .expect(words)
        };
        assert!(at("2,000 regions, by lane and label") < at("blocked"));
        // Counts, how many wait, the longest and the newest.
        assert!(
            lines[at("request")].contains("1,999    1,999"),
            "{}",
            lines[at("request")]
        );
        assert!(at("blocked") < at("request"));
        let newest = lines[at("THE NEWEST OF THEM")..]
            .iter()
            .find(|line| line.contains("blocked"));
        assert!(newest.unwrap().contains("method=\"GET\""));
        assert!(at("and 3 more that the full open table does not show") < at("WHAT IS MISSING"));
    }

    /// The bug: of 5,001 requests in flight one did not wait, and was not listed, because thousands had begun after it. Found in a tokio service.
    #[test]
    fn the_one_that_does_not_wait_is_shown() {
        let mut geometry = Geometry::new(16);
        geometry.open_slots = 100;
        let mut made = Made::with(geometry);
        for slot in 0..100 {
            let request = OpenRecord {
                flags: if slot == 3 { 0 } else { FLAG_WAITING },
                correlation_id: 7_000 + u64::from(slot),
                ..running(4, 1_000 + u64::from(slot))
            };
            made.open(slot, request);
        }
        let text = summary(&made, 0);
        let (_, busy) = text.split_once("THOSE THAT DO NOT WAIT\n").unwrap();
        let (busy, newest) = busy.split_once("THE NEWEST OF THEM\n").unwrap();
        assert!(busy.contains("7003") && !busy.contains("waiting"), "{text}");
        assert!(
            newest.contains("7099") && !newest.contains("7003"),
            "{text}"
        );
    }

    #[test]
    fn what_only_the_count_knows_is_said() {
        let text = summary(&Made::new(4), 2);
        assert!(
            text.contains("RUNNING AT THE END\nand 2 that the full open table"),
            "{text}"
        );
        assert!(summary(&Made::new(4), 0).contains("RUNNING AT THE END\nnothing"));
    }
}
