//! Which events are shown: a window of time, lanes, labels, failures, durations, correlation ids. All that are asked for must hold.
//!
//! What is left out is counted. Losses are those of the whole capture: nobody knows which lane a lost event was on. An open region obeys the same
//! rules, with what it has run so far as its duration; it has not failed.

use std::collections::BTreeSet;
use std::str::FromStr;

use anyhow::{Context, bail};
use globset::{Glob, GlobSet, GlobSetBuilder};
use hrx_trace_format::LANE_NAMES;
use hrx_trace_reader::{Event, Label, OpenRegion};

use crate::input::captures::{Capture, Captures};
use crate::input::conversion::Outcome;
use crate::input::labels::{OfLabels, name_of};

/// The part of the command line that selects.
#[derive(Debug, Default, clap::Args)]
#[command(
    next_help_heading = "Select (times as 250ns, 10us, 1.5ms, 2s, 3m, 1h after the beginning; end-2s before the end)"
)]
pub struct Selection {
    /// Leave out what ended before TIME
    #[arg(long, value_name = "TIME")]
    from: Option<Moment>,

    /// Leave out what began at TIME or later
    #[arg(long, value_name = "TIME")]
    to: Option<Moment>,

    /// The last DURATION alone: short for --from end-DURATION. A large capture is not read before it
    #[arg(long, value_name = "DURATION", conflicts_with = "from")]
    last: Option<Span>,

    /// These lanes alone, by number or name: upload, compute, download, NPU, host
    #[arg(long, value_name = "LANE", value_delimiter = ',', value_parser = lane_number)]
    lane: Vec<u32>,

    /// Failed regions alone
    #[arg(long)]
    failed: bool,

    /// Regions whose label matches GLOB alone, as 'gemm_*'; may be given several times
    #[arg(long, value_name = "GLOB")]
    label: Vec<Glob>,

    /// Regions of at least DURATION alone
    #[arg(long, value_name = "DURATION")]
    min_duration: Option<Span>,

    /// Regions with these correlation ids alone
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    correlation: Vec<u64>,
}

impl Selection {
    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        let named = !self.lane.is_empty() || !self.label.is_empty() || !self.correlation.is_empty();
        let timed = self.from.is_some() || self.to.is_some() || self.last.is_some();
        !named && !timed && !self.failed && self.min_duration.is_none()
    }

    /// Whether the beginning of a capture may be left out: then it is not read.
    pub fn begins_late(&self) -> bool {
        self.from.is_some() || self.last.is_some()
    }
}

/// A length of time such as 1.5ms, in nanoseconds.
pub fn duration_ns(text: &str) -> anyhow::Result<u64> {
    text.parse().map(|Span(ns)| ns)
}

/// A length of time, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span(u64);

impl FromStr for Span {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let number = text.trim_end_matches(|char: char| char.is_alphabetic());
        let unit_ns: u64 = match &text[number.len()..] {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "" if number == "0" => 1,
            _ => bail!("expected a number and a unit: ns, us, ms, s, m or h"),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 18 {
            bail!("expected a number such as 2 or 1.5 before the unit");
        }
        let too_long = || "more than 584 years".to_owned();
        let whole: u128 = whole.parse().with_context(too_long)?;
        let scale = 10u128.pow(fraction.len() as u32);
        let fraction: u128 = format!("0{fraction}").parse()?;
        let unit_ns = u128::from(unit_ns);
        // A fraction of a nanosecond is left out.
        let ns = whole
            .checked_mul(unit_ns)
            .and_then(|ns| ns.checked_add(fraction * unit_ns / scale))
            .with_context(too_long)?;
        Ok(Self(u64::try_from(ns).with_context(too_long)?))
    }
}

/// A moment of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    AfterStart(Span),
    BeforeEnd(Span),
}

impl FromStr for Moment {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text.strip_prefix("end") {
            Some("") => Ok(Self::BeforeEnd(Span(0))),
            Some(behind) => {
                let span = behind
                    .strip_prefix('-')
                    .context("expected a time as end-2s")?;
                Ok(Self::BeforeEnd(span.parse()?))
            }
            None => Ok(Self::AfterStart(text.parse()?)),
        }
    }
}

/// The number of a lane that is given by its number or its name.
pub fn lane_number(text: &str) -> anyhow::Result<u32> {
    let named = LANE_NAMES
        .iter()
        .position(|name| name.eq_ignore_ascii_case(text));
    match (named, text.parse()) {
        (Some(lane), _) => Ok(u32::try_from(lane)?),
        (None, Ok(lane)) => Ok(lane),
        (None, Err(_)) => bail!("expected a number or one of {}", LANE_NAMES.join(", ")),
    }
}

/// The selection, its moments found on the timeline of the captures.
#[derive(Debug)]
pub struct Filter {
    from_ns: u64,
    to_ns: u64,
    lanes: BTreeSet<u32>,
    failed: bool,
    labels: Option<GlobSet>,
    min_duration_ns: u64,
    correlations: BTreeSet<u64>,
    /// Whether the label matches.
    matches: OfLabels<bool>,
    is_everything: bool,
}

impl Filter {
    pub fn new(selection: &Selection, captures: &Captures) -> anyhow::Result<Self> {
        let moment_ns = |moment: Moment| match moment {
            Moment::AfterStart(Span(ns)) => ns,
            Moment::BeforeEnd(Span(ns)) => captures.latest_ns().saturating_sub(ns),
        };
        let from = selection.last.map(Moment::BeforeEnd).or(selection.from);
        let labels = match selection.label.as_slice() {
            [] => None,
            globs => {
                let mut set = GlobSetBuilder::new();
                for glob in globs {
                    set.add(glob.clone());
                }
                Some(set.build()?)
            }
        };
        let mut filter = Self {
            from_ns: from.map_or(0, moment_ns),
            to_ns: selection.to.map_or(u64::MAX, moment_ns),
            lanes: selection.lane.iter().copied().collect(),
            failed: selection.failed,
            labels,
            min_duration_ns: selection.min_duration.map_or(0, |span| span.0),
            correlations: selection.correlation.iter().copied().collect(),
            matches: OfLabels::new(),
            is_everything: false,
        };
        filter.is_everything = filter.from_ns == 0 && filter.admits_what_is_read();
        Ok(filter)
    }

    /// Whether nothing is left out but at the beginning, where it need not be read.
    pub fn admits_what_is_read(&self) -> bool {
        (self.to_ns, self.min_duration_ns) == (u64::MAX, 0)
            && self.lanes.is_empty()
            && !self.failed
            && self.labels.is_none()
            && self.correlations.is_empty()
    }

    /// Nothing that ended before this is shown.
    pub fn since_ns(&self) -> u64 {
        self.from_ns
    }

    /// Whether the event is shown.
    #[inline]
    pub fn admits(&mut self, capture: &Capture, event: &Event) -> bool {
        self.is_everything
            || (event.end_ns() >= self.from_ns
                && event.start_ns < self.to_ns
                && event.duration_ns >= self.min_duration_ns
                && (event.failed || !self.failed)
                && self.admits_names(capture, event.lane, event.correlation_id, event.label_id))
    }

    fn admits_open(&mut self, capture: &Capture, region: &OpenRegion, last_ns: u64) -> bool {
        self.is_everything
            || (last_ns >= self.from_ns
                && region.start_ns < self.to_ns
                && last_ns.saturating_sub(region.start_ns) >= self.min_duration_ns
                && !self.failed
                && self.admits_names(capture, region.lane, region.correlation_id, region.label_id))
    }

    fn admits_names(
        &mut self,
        capture: &Capture,
        lane: u32,
        correlation_id: u64,
        label_id: u32,
    ) -> bool {
        (self.lanes.is_empty() || self.lanes.contains(&lane))
            && (self.correlations.is_empty() || self.correlations.contains(&correlation_id))
            && self.admits_label(capture, label_id)
    }

    fn admits_label(&mut self, capture: &Capture, label_id: u32) -> bool {
        let Some(globs) = &self.labels else {
            return true;
        };
        if let Some(matches) = self.matches.get(capture, label_id) {
            return *matches;
        }
        let matches = globs.is_match(&*name_of(&capture.trace, label_id));
        // What cannot be read now may be later.
        if capture.trace.label(label_id) != Label::Unreadable {
            self.matches.put(capture, label_id, matches);
        }
        matches
    }

    /// Leaves out the open regions that are not shown, and sets the moments between which something is. `first_ns` is the beginning of the first event shown.
    pub fn apply(&mut self, capture: &Capture, outcome: &mut Outcome, first_ns: Option<u64>) {
        if self.is_everything {
            return;
        }
        let report = &mut outcome.report;
        let last_ns = report.last_ns;
        let before = report.open_regions.len();
        report
            .open_regions
            .retain(|region| self.admits_open(capture, region, last_ns));
        outcome.open_filtered_out = (before - report.open_regions.len()) as u64;
        let open_starts = report.open_regions.iter().map(|region| region.start_ns);
        report.first_ns = open_starts.chain(first_ns).min();
        outcome.is_filtered = true;
        outcome.until_ns = Some(self.to_ns).filter(|to_ns| *to_ns < last_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use hrx_trace_format::Record;
    use hrx_trace_format::record::FLAG_FAILED;
    use hrx_trace_tests::capture::{Capture as Made, region, running};

    #[test]
    fn spans() {
        let ns = |text: &str| text.parse::<Span>().map(|span| span.0).ok();
        for (text, expected) in [
            ("0", 0),
            ("7ns", 7),
            ("7us", 7_000),
            ("7µs", 7_000),
            ("1.5ms", 1_500_000),
            ("2s", 2_000_000_000),
            ("0.1s", 100_000_000),
            ("1.0000000019s", 1_000_000_001),
            ("3m", 180_000_000_000),
            ("1h", 3_600_000_000_000),
            ("18446744073709551615ns", u64::MAX),
        ] {
            assert_eq!(ns(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "s",
            "7",
            "-7s",
            "1.2.3s",
            ".5s",
            "7 s",
            "7days",
            "1e3s",
            "18446744073709551616ns",
            "9999999h",
            "+1s",
            "٣s",
        ] {
            assert_eq!(ns(text), None, "{text}");
        }
    }

    #[test]
    fn moments_and_lanes() {
        let moment = |text: &str| text.parse::<Moment>().ok();
        assert_eq!(moment("2s"), Some(Moment::AfterStart(Span(2_000_000_000))));
        assert_eq!(moment("end"), Some(Moment::BeforeEnd(Span(0))));
        assert_eq!(moment("end-1us"), Some(Moment::BeforeEnd(Span(1_000))));
        assert_eq!([moment("end1s"), moment("end-"), moment("-1s")], [None; 3]);
        let lane = |text: &str| lane_number(text).ok();
        assert_eq!(lane("npu"), Some(3));
        assert_eq!(lane("4294967295"), Some(u32::MAX));
        assert_eq!([lane("gpu"), lane("-1"), lane("")], [None; 3]);
    }

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        selection: Selection,
    }

    /// The ends of the events that are shown, and the starts of the open regions.
    fn shown(options: &[&str]) -> (Vec<u64>, Vec<u64>) {
        let mut made = Made::new(16);
        let [gemm, copy] = ["gemm/4", "copy"].map(|label| made.label(label));
        let record = |lane, start_ns, duration_ns, label_id| Record {
            label_id,
            correlation_id: start_ns,
            ..region(lane, start_ns, duration_ns)
        };
        made.record(record(1, 1_000, 500, gemm))
            .record(Record {
                flags: FLAG_FAILED,
                ..record(0, 2_000, 1_000, copy)
            })
            .record(record(1, 3_000, 0, 0))
            .record(record(7, 100, 4_900, gemm));
        made.open(
            0,
            hrx_trace_format::OpenRecord {
                label_id: gemm,
                ..running(1, 2_500)
            },
        );
        made.open(
            1,
            hrx_trace_format::OpenRecord {
                correlation_id: 9,
                ..running(0, 6_000)
            },
        );
        let captures = Captures::of_bytes([made.bytes()]);
        let command = Command::try_parse_from([&["command"], options].concat()).expect("options");
        let mut filter = Filter::new(&command.selection, &captures).expect("a filter");
        let mut events = captures.events(0);
        let admitted: Vec<Event> = events
            .by_ref()
            .map(|(_, event)| event)
            .filter(|event| filter.admits(&captures[0], event))
            .collect();
        let mut outcome = Outcome::new(events.finish().remove(0));
        let first_ns = admitted.iter().map(|event| event.start_ns).min();
        filter.apply(&captures[0], &mut outcome, first_ns);
        let open = outcome.report.open_regions.iter();
        let starts: Vec<u64> = open.map(|region| region.start_ns).collect();
        assert_eq!(
            outcome.report.first_ns,
            starts.iter().copied().chain(first_ns).min()
        );
        (admitted.iter().map(Event::end_ns).collect(), starts)
    }

    #[test]
    fn what_each_option_shows() {
        for (options, ends, open) in [
            (
                &[][..],
                &[1_500, 3_000, 3_000, 5_000][..],
                &[2_500, 6_000][..],
            ),
            (&["--from", "3us"], &[3_000, 3_000, 5_000], &[2_500, 6_000]),
            (&["--from", "3001ns"], &[5_000], &[2_500, 6_000]),
            (&["--to", "2us"], &[1_500, 5_000], &[]),
            (&["--to", "2001ns"], &[1_500, 3_000, 5_000], &[]),
            // The end is the beginning of the newest open region.
            (&["--last", "1us"], &[5_000], &[2_500, 6_000]),
            (
                &["--from", "end-3us", "--to", "end"],
                &[3_000, 3_000, 5_000],
                &[2_500],
            ),
            (&["--lane", "upload,7"], &[3_000, 5_000], &[6_000]),
            (
                &["--lane", "0", "--lane", "1"],
                &[1_500, 3_000, 3_000],
                &[2_500, 6_000],
            ),
            (&["--failed"], &[3_000], &[]),
            (&["--label", "gemm*"], &[1_500, 5_000], &[2_500]),
            (
                &["--label", "native*", "--label", "{copy,x}"],
                &[3_000, 3_000],
                &[6_000],
            ),
            (&["--min-duration", "1us"], &[3_000, 5_000], &[2_500]),
            (&["--correlation", "2000,9"], &[3_000], &[6_000]),
            (
                &["--lane", "compute", "--label", "gemm*", "--to", "1s"],
                &[1_500],
                &[2_500],
            ),
        ] {
            assert_eq!(
                shown(options),
                (ends.to_vec(), open.to_vec()),
                "{options:?}"
            );
        }
    }
}
