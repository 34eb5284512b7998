//! One truth in all viewers: what a capture says is what each of them shows, whichever output it reads.
//!
//! Captures are made from a seed: touching, nested, equal and overlapping regions, some without a duration, some of a nanosecond, long chains, ids,
//! and regions that never ended. Of each region every viewer has to show the lane, the beginning and the duration, inside of what else it is
//! drawn, and of each arrow which regions it joins.
//!
//! What this came from: reports from the field, tried here. Viewers add `ts` and `dur` as doubles of microseconds, and the sum of two exact
//! decimals can exceed the third: in a chain of touching regions speedscope took each for a child of the one before, and showed a depth of
//! 115. Catapult looks arrows up in closed intervals, and bound 808 of 1,000 to the region that ended where the right one began. And it
//! took followed JSON, which did not say its unit, for milliseconds.

mod recorded;
mod seen;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hrx_trace_tests::programs::PROGRAMS;
use hrx_trace_tests::seeds::rng;
use hrx_trace_tests::viewers::Tools;
use tempfile::TempDir;

use recorded::{Recorded, Region};
use seen::{Seen, Slice};

/// How the command is asked for an output, and what its name ends in.
type Output = (&'static str, &'static [&'static str], &'static str);

const JSON: Output = ("JSON", &[], "json");
const FOLLOWED: Output = ("followed JSON", &["--follow"], "followed.json");
const NATIVE: Output = ("Perfetto's own", &[], "pftrace");

/// Captures, and what each became.
struct Converted {
    _folder: TempDir,
    all: Vec<Recorded>,
    /// The output, which capture it is of, and the file.
    files: Vec<(Output, usize, PathBuf)>,
}

fn convert(test: &str, outputs: &[Output]) -> Converted {
    let folder = tempfile::tempdir().expect("a folder");
    let all = recorded::all(&mut rng(test));
    let captures: Vec<PathBuf> = (all.iter().enumerate())
        .map(|(index, recorded)| {
            let name = format!("{index}.hrxt");
            recorded.capture().write(folder.path(), &name)
        })
        .collect();
    let mut files = Vec::new();
    for output in outputs {
        for (index, capture) in captures.iter().enumerate() {
            // Its events are those of the other JSON, and the long ones take their time.
            if *output != FOLLOWED || all[index].regions.len() <= 1_000 {
                files.push((*output, index, convert_one(capture, output)));
            }
        }
    }
    Converted {
        _folder: folder,
        all,
        files,
    }
}

fn convert_one(capture: &Path, (_, options, extension): &Output) -> PathBuf {
    let to = capture.with_extension(extension);
    let output = Command::new(&PROGRAMS.convert)
        .args(*options)
        .arg(capture)
        .arg("-o")
        .arg(&to)
        .output()
        .expect("hrx-convert starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    assert!(fs::metadata(&to).is_ok_and(|file| file.len() > 0));
    to
}

impl Converted {
    /// Each file that was made, with what is in it.
    fn each(&self) -> impl Iterator<Item = (&Output, &Recorded, &PathBuf)> {
        let files = self.files.iter();
        files.map(|(output, index, file)| (output, &self.all[*index], file))
    }

    /// All that is wrong, capture by capture, so that one run tells of every kind.
    fn assert(&self, viewer: &Viewer, seen: Vec<Seen>) {
        let mut wrong = String::new();
        for ((output, recorded, _), seen) in self.each().zip(seen) {
            let found = viewer.faults(recorded, &seen);
            for fault in found.iter().take(3) {
                wrong += &format!("{}, {}: {fault}\n", recorded.name, output.0);
            }
            if found.len() > 3 {
                wrong += &format!("  and {} more\n", found.len() - 3);
            }
        }
        assert!(wrong.is_empty(), "{}:\n{wrong}", viewer.name);
    }

    fn paths(&self) -> Vec<&PathBuf> {
        self.each().map(|(_, _, file)| file).collect()
    }
}

/// What a viewer is able to show.
struct Viewer {
    name: &'static str,
    /// How far off it may be at a moment.
    tolerance_ns: fn(u64) -> u64,
    shows_arrows: bool,
    /// Whether it shows that a region never ended; otherwise it ends at the last moment.
    shows_unfinished: bool,
}

const TRACE_PROCESSOR: Viewer = Viewer {
    name: "Perfetto's trace processor",
    tolerance_ns: |_| 0,
    shows_arrows: true,
    shows_unfinished: true,
};

/// It computes in milliseconds, as doubles, which hold every nanosecond up to 2^51, 26 days.
const CATAPULT: Viewer = Viewer {
    name: "catapult",
    tolerance_ns: |at_ns| at_ns >> 51,
    ..TRACE_PROCESSOR
};

const SPEEDSCOPE: Viewer = Viewer {
    name: "speedscope",
    tolerance_ns: |at_ns| at_ns >> 51,
    shows_arrows: false,
    shows_unfinished: false,
};

impl Viewer {
    fn faults(&self, recorded: &Recorded, seen: &Seen) -> Vec<String> {
        let mut faults = seen.faults.clone();
        let mut tracks: BTreeMap<i64, Vec<&Slice>> = BTreeMap::new();
        let mut left: BTreeMap<u64, &Region> = (1..).zip(&recorded.regions).collect();
        for slice in &seen.slices {
            match left.remove(&slice.number) {
                None => faults.push(format!("shown twice, or never recorded: {slice:?}")),
                Some(region) if !self.shows(recorded, region, slice) => {
                    faults.push(format!("{region:?} is shown as {slice:?}"));
                }
                Some(_) => tracks.entry(slice.track).or_default().push(slice),
            }
        }
        faults.extend(left.iter().map(|missing| format!("not shown: {missing:?}")));
        for slices in tracks.into_values() {
            faults.extend(nesting_faults(recorded, slices));
        }
        if self.shows_arrows {
            let some = |(from, to)| (Some(from), Some(to));
            let expected: BTreeSet<_> = recorded.arrows().into_iter().map(some).collect();
            let shown: BTreeSet<_> = seen.arrows.iter().copied().collect();
            if seen.arrows.len() != expected.len() || shown != expected {
                faults.push(format!(
                    "{} arrows of {}; without {:?}, instead {:?}",
                    seen.arrows.len(),
                    expected.len(),
                    Vec::from_iter(expected.difference(&shown).take(5)),
                    Vec::from_iter(shown.difference(&expected).take(5)),
                ));
            }
        }
        faults
    }

    fn shows(&self, recorded: &Recorded, region: &Region, slice: &Slice) -> bool {
        let near = |expected: u64, shown: i64| {
            let tolerance_ns = (self.tolerance_ns)(region.start_ns);
            (expected as i64).abs_diff(shown) <= tolerance_ns
        };
        let duration_ns = match self.shows_unfinished {
            true => region.duration_ns,
            false => region
                .duration_ns
                .or(Some(recorded.last_ns() - region.start_ns)),
        };
        slice.lane == region.lane_name()
            && near(region.start_ns, slice.start_ns)
            && match (duration_ns, slice.duration_ns) {
                (Some(expected), Some(shown)) => {
                    // The mark at the last moment, up to which it shows what never ended, is later by what it can tell.
                    let later_ns = 1 + (self.tolerance_ns)(region.start_ns);
                    let is_open = region.duration_ns.is_none();
                    near(expected, shown) || is_open && near(expected + later_ns, shown)
                }
                (expected, shown) => expected.is_none() && shown.is_none(),
            }
    }
}

/// On its track a region lies directly inside the innermost one that contains it, and apart from all that do not.
fn nesting_faults(recorded: &Recorded, slices: Vec<&Slice>) -> Vec<String> {
    let region = |number: u64| &recorded.regions[number as usize - 1];
    let mut slices: Vec<(&Region, &Slice)> = (slices.into_iter())
        .map(|slice| (region(slice.number), slice))
        .collect();
    slices.sort_by_key(|(region, _)| region.start_ns);
    let mut around: Vec<(u64, &Region)> = Vec::new();
    let mut faults = Vec::new();
    for (region, slice) in slices {
        around.retain(|(_, outer)| outer.end_ns() > region.start_ns);
        if let Some((_, outer)) = around.iter().find(|(_, outer)| !outer.contains(region)) {
            faults.push(format!("one track has {outer:?} and {region:?}"));
        }
        let expected = around.last().map(|(number, _)| *number);
        if slice.parent != expected {
            let shown = slice.parent.and_then(|number| recorded.of_number(number));
            faults.push(format!("{region:?} is inside {shown:?}, not {expected:?}"));
        }
        around.push((slice.number, region));
    }
    faults
}

#[test]
fn perfettos_trace_processor_shows_what_was_recorded() {
    let Some(tools) = Tools::trace_processor() else {
        return;
    };
    let converted = convert("trace processor", &[JSON, FOLLOWED, NATIVE]);
    let zero_ns = |output: &Output, recorded: &Recorded| match *output == NATIVE {
        // Perfetto counts from the boot of the machine.
        true => recorded.capture().identity.epoch_boottime_ns,
        false => 0,
    };
    let traces = tools.trace_processors(&converted.paths());
    let seen = converted.each().zip(&traces);
    let seen = seen.map(|((output, recorded, _), trace)| {
        seen::of_trace_processor(trace, zero_ns(output, recorded))
    });
    converted.assert(&TRACE_PROCESSOR, seen.collect());
}

#[test]
fn catapult_shows_what_was_recorded() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let converted = convert("catapult", &[JSON, FOLLOWED]);
    let traces = tools.catapult(&converted.paths());
    let seen = traces.iter().map(seen::of_catapult);
    converted.assert(&CATAPULT, seen.collect());
}

#[test]
fn speedscope_shows_what_was_recorded() {
    let Some(tools) = Tools::browser() else {
        return;
    };
    let converted = convert("speedscope", &[JSON, FOLLOWED]);
    let traces = tools.speedscope(&converted.paths());
    let seen = converted.each().zip(&traces);
    let seen = seen.map(|((_, recorded, _), trace)| seen::of_speedscope(trace, recorded));
    converted.assert(&SPEEDSCOPE, seen.collect());
}
