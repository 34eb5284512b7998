//! The cases: everything that a program may record, and every way its writer may end.

use hrx_trace_format::record::{FLAG_FAILED, FLAG_SATURATED};
use hrx_trace_format::{Geometry, OpenRecord, Record};
use hrx_trace_tests::capture::{region, running};

use crate::case::Case;
use crate::output::{JSON_EXACT_NS_MAX, JSON_LATE_NS};

const DAY_NS: u64 = 86_400_000_000_000;

/// All cases, in the order of this file.
pub fn cases() -> Vec<Case> {
    vec![
        process_one_on_five_lanes(),
        lanes_of_any_number(),
        Case::of(
            "two-deep",
            [(1, 0, 1_000), (1, 500, 1_000), (1, 1_500, 1_000)],
        ),
        Case::of(
            "three-deep",
            [
                (1, 0, 1_000),
                (1, 300, 1_000),
                (1, 600, 1_000),
                (1, 900, 1_000),
            ],
        ),
        Case::of(
            "hundred-deep",
            (0..1_000).map(|i| (1, 10 * i, 1_000 - i % 7)),
        ),
        Case::of(
            "hundred-deep-nested",
            (0..100).map(|i| (1, 1_000 - 10 * i, 1 + 20 * i)),
        ),
        Case::of(
            "partly-nested",
            // Nested regions, then one that reaches beyond two of them.
            [
                (1, 400, 100),
                (1, 300, 300),
                (1, 100, 700),
                (1, 550, 300),
                (1, 200, 900),
                (1, 1_100, 1),
            ],
        ),
        Case::of(
            "touching",
            (0..50).map(|i| (i as u32 % 2, 1_000 + 7 * (i / 2), 7)),
        ),
        Case::of("one-nanosecond", (0..50).map(|i| (2, 5_000 + i, 1))),
        zero_durations(),
        Case::of(
            "equal-starts",
            [
                (1, 100, 10),
                (1, 100, 20),
                (1, 100, 30),
                (1, 100, 30),
                (1, 100, 0),
                (1, 130, 5),
                (1, 130, 5),
            ],
        ),
        Case::of(
            "completion-against-start",
            // The last one to begin completes first; then one whose completion was recorded late.
            [
                (1, 900, 50),
                (1, 800, 200),
                (1, 500, 600),
                (1, 0, 2_000),
                (1, 10, 20),
                (0, 3_000, 1),
                (0, 2_000, 10),
            ],
        ),
        two_hundred_days(),
        sizes_beyond_doubles(),
        labels(),
        long_labels(),
        failed_regions(),
        open_at_death(),
        open_table_full(),
        only_an_open_region(),
        finished_with_an_open_region(),
        Case::new("empty", 8),
        Case::new("empty-and-finished", 8).finished(1_000_000),
        Case::of("one-event", [(3, 12_345, 678)]).finished(20_000),
        overwritten(),
        overwritten_by_one(),
        torn(),
        losses_of_every_kind(),
        several_rings(),
        saturated(),
    ]
}

/// Perfetto takes tid 0 of process 1 for tid 1: two lanes would become one, and overlapping regions be lost.
fn process_one_on_five_lanes() -> Case {
    let regions = (0..40).map(|i| (i % 5, 100 * u64::from(i), 450));
    let mut case = Case::of("process-one-on-five-lanes", regions).finished(10_000);
    case.capture.identity.process_id = 1;
    case
}

/// Around every border between two ranges of track numbers.
fn lanes_of_any_number() -> Case {
    let borders = [
        2,
        5,
        3_000,
        999_999_998,
        1_000_000_000,
        4_000_000_000,
        u32::MAX - 2,
    ];
    let lanes = borders.iter().flat_map(|border| border - 2..=border + 2);
    // Three regions a lane, two of them at once.
    let regions = lanes.flat_map(|lane| [(lane, 0, 100), (lane, 50, 100), (lane, 200, 1)]);
    Case::of("lanes-of-any-number", regions)
}

fn zero_durations() -> Case {
    Case::of(
        "zero-durations",
        [
            (0, 0, 0),
            // At the ends of a region, inside it, twice at one moment.
            (1, 100, 0),
            (1, 150, 0),
            (1, 150, 0),
            (1, 100, 100),
            (1, 200, 0),
            // Between two regions that touch.
            (2, 10, 10),
            (2, 20, 0),
            (2, 20, 10),
        ],
    )
}

/// Around every moment after which viewers of JSON round times more coarsely.
fn two_hundred_days() -> Case {
    let mut case = Case::new("two-hundred-days", 500);
    let ends = [
        DAY_NS,
        JSON_LATE_NS.start,
        JSON_LATE_NS.start + 60,
        51 * DAY_NS,
        JSON_LATE_NS.end,
        JSON_LATE_NS.end + 60,
        100 * DAY_NS,
        JSON_EXACT_NS_MAX,
        JSON_EXACT_NS_MAX + 60,
        150 * DAY_NS,
        200 * DAY_NS,
    ];
    for end_ns in ends {
        // Touching regions of an odd number of nanoseconds, then overlapping ones.
        for i in (1..=30).rev() {
            case.record(region(1, end_ns - 7 * i, 7));
        }
        for i in (1..=10).rev() {
            case.record(region(2, end_ns - 100 - 3 * i, 13 + i));
        }
    }
    case.record(region(4, 0, 200 * DAY_NS));
    case.open(running(0, 200 * DAY_NS - 1));
    case
}

fn sizes_beyond_doubles() -> Case {
    let sizes = [
        0,
        1,
        (1 << 53) - 1,
        1 << 53,
        (1 << 53) + 1,
        (1 << 63) - 1,
        1 << 63,
        (1 << 63) + 1,
        u64::MAX,
    ];
    let mut case = Case::new("sizes-beyond-doubles", sizes.len() as u64);
    for (i, size) in (0..).zip(sizes) {
        case.record(Record {
            copied_bytes: size,
            correlation_id: size,
            thread_id: u32::MAX,
            ..region(0, 100 * i, 50)
        });
    }
    case.open(OpenRecord {
        copied_bytes: u64::MAX,
        correlation_id: (1 << 63) + 1,
        ..running(2, 5_000)
    });
    case
}

fn labels() -> Case {
    let texts = [
        r#"say "gemm" \ back / slash"#,
        "line\nfeed, tab\t, return\r, escape \u{1b}, delete \u{7f}, unit \u{1f}",
        "C1 \u{80}\u{9f}, separators \u{2028}\u{2029}, mark \u{feff}, last \u{10ffff}\u{fffd}",
        "emoji 😀👩‍🚀🇩🇪, accents e\u{301}",
        "مرحبا بالعالم שלום \u{202e}reversed\u{202c}",
        "矩阵乘法 行列積",
        "</script><!--",
        "{{template}} %s ${x} '; drop table slice; --",
        " spaces ",
        r"C:\dir\",
        "\\\"",
        "both \" \\ and \u{1}",
        "nothing \0 there",
        "\" nothing \0 there",
        "",
        "[failed]",
    ];
    let mut case = Case::new("labels", 2 * texts.len() as u64);
    for (i, text) in (0..).zip(texts) {
        let label_id = case.label(text);
        for (lane, flags) in [(0, 0), (1, FLAG_FAILED)] {
            case.record(Record {
                label_id,
                flags,
                ..region(lane, 100 * i, 90)
            });
        }
    }
    let label_id = case.label("still \"running\" 😀\u{1}");
    case.open(OpenRecord {
        label_id,
        ..running(2, 50)
    });
    case
}

fn long_labels() -> Case {
    let mut case = Case::new("long-labels", 8);
    for (i, text) in (0..).zip(["0123456789".repeat(1_024), "\u{1}\"é😀".repeat(1_000)]) {
        let label_id = case.label(&text);
        case.record(Record {
            label_id,
            ..region(1, 100 * i, 90)
        });
    }
    case
}

fn failed_regions() -> Case {
    let mut case = Case::new("failed-regions", 8);
    for (i, (flags, status)) in
        (0..).zip([(0, 0), (FLAG_FAILED, 0), (FLAG_FAILED, u32::MAX), (0, 12)])
    {
        case.record(Record {
            flags,
            status,
            ..region(1, 100 * i, 150)
        });
    }
    case
}

/// Open regions around completed ones, inside them, around each other, with the same start, and at the very end.
fn open_at_death() -> Case {
    let mut case = Case::new("open-at-death", 16);
    let gemm = case.label("gemm");
    for (start_ns, duration_ns) in [(0, 100), (300, 100), (350, 200), (600, 0)] {
        case.record(region(1, start_ns, duration_ns));
    }
    for (lane, start_ns) in [
        (1, 50),
        (1, 320),
        (1, 320),
        (1, 580),
        (1, 1_000),
        (7, 400),
        (4, 0),
    ] {
        case.open(OpenRecord {
            label_id: gemm,
            correlation_id: start_ns + 1,
            ..running(lane, start_ns)
        });
    }
    case
}

fn open_table_full() -> Case {
    let mut case = Case::of("open-table-full", [(0, 10, 5_000)]);
    for slot in 0..64 {
        case.open(running(slot % 3, 7 * u64::from(slot)));
    }
    case.capture.counters.open_refused = 5;
    case.losses = vec!["5 not shown while running"];
    case
}

fn only_an_open_region() -> Case {
    let mut case = Case::new("only-an-open-region", 8);
    case.open(running(1, 77));
    case
}

fn finished_with_an_open_region() -> Case {
    let mut case = Case::of("finished-with-an-open-region", [(0, 10, 50)]).finished(9_999);
    case.open(running(1, 20));
    case
}

fn overwritten() -> Case {
    let mut case = Case::new("overwritten", 8);
    for i in 0..1_234 {
        case.record(region(i as u32 % 3, 1_000 * i, 1_500));
    }
    case
}

fn overwritten_by_one() -> Case {
    let mut case = Case::new("overwritten-by-one", 2);
    for i in 0..3 {
        case.record(region(0, 100 * i, 100));
    }
    case
}

fn torn() -> Case {
    let mut case = Case::new("torn", 8);
    case.record(region(0, 0, 10));
    case.tear_in(0);
    case.record(region(0, 20, 10));
    case.tear_in(0);
    case.losses = vec!["2 torn"];
    case
}

fn losses_of_every_kind() -> Case {
    let mut case = Case::with("losses-of-every-kind", Geometry::new(8).ring_count(2));
    let readable = case.label("gemm");
    let damaged = case.damaged_label();
    for i in 0..12 {
        case.record(Record {
            label_id: if i % 2 == 0 { damaged } else { readable },
            ..region(1, 100 * i, 150)
        });
    }
    case.tear_in(0);
    case.record_unknown();
    case.tear_in(1);
    case.record_in(1, region(2, 700, 20));
    case.open(OpenRecord {
        label_id: damaged,
        ..running(2, 750)
    });
    let slot = case.capture.identity.open_slot(40);
    case.capture.damage(slot);
    case.capture.counters.rejected = 1_234;
    case.capture.counters.open_refused = 5;
    case.capture.counters.names_refused = 6;
    case.losses = vec![
        "2 torn",
        "1 of a kind unknown",
        "1,234 rejected, begun before the capture or with no handle left",
        "5 not shown while running",
        "1 torn in the open table",
        "6 without its name",
    ];
    case
}

fn several_rings() -> Case {
    let mut case = Case::with("several-rings", Geometry::new(16).ring_count(4));
    for i in 0..100 {
        // The last ring stays empty, and the first wraps.
        let ring = [0, 0, 0, 1, 2][i as usize % 5];
        case.record_in(
            ring,
            Record {
                thread_id: 100 + ring,
                ..region(i as u32 % 4, 100 * i, 350)
            },
        );
    }
    case
}

/// Values that do not fit a recorder's fields, and times near the largest integer.
fn saturated() -> Case {
    let mut case = Case::new("saturated", 16);
    let times = [
        (0, 5),
        (1 << 53, 1 << 20),
        (1 << 62, 0),
        ((1 << 62) - (1 << 40), 1 << 41),
        (1 << 63, 1 << 63),
        (5, u64::MAX),
        (u64::MAX, u64::MAX),
    ];
    for (start_ns, duration_ns) in times {
        case.record(Record {
            copied_bytes: u64::MAX,
            flags: FLAG_SATURATED | FLAG_FAILED,
            ..region(u32::MAX, start_ns, duration_ns)
        });
    }
    case.open(OpenRecord {
        flags: FLAG_SATURATED,
        ..running(u32::MAX, u64::MAX)
    });
    case
}

/// A few thousand random regions: dense overlaps, zero durations, ties, several wrapping rings, and some that never end.
pub fn storm(name: &str, seed: u64, span_ns: u64, duration_ns_max: u64) -> Case {
    const REGIONS: usize = 3_000;
    const LANES: [u32; 7] = [0, 1, 2, 3, 4, 1_000_000, u32::MAX];
    let mut random = Random(seed);
    let ring_count = 1 + random.below(3) as u32;
    let mut case = Case::with(
        name,
        Geometry::new(2_500 / u64::from(ring_count)).ring_count(ring_count),
    );
    let labels: Vec<u32> = ["", "gemm", "copy \"h2d\"", "😀", "π\n"]
        .map(|text| case.label(text))
        .into();
    let mut regions: Vec<_> = (0..REGIONS)
        .map(|_| {
            let duration_ns = random.below(duration_ns_max + 1) >> random.below(12);
            (random.below(span_ns), duration_ns)
        })
        .collect();
    regions.sort_by_key(|(start_ns, duration_ns)| start_ns + duration_ns);
    // Some are recorded late.
    for _ in 0..REGIONS / 10 {
        let at = random.below(REGIONS as u64 - 20) as usize;
        regions.swap(at, at + random.below(20) as usize);
    }
    for (start_ns, duration_ns) in regions {
        let flags = if random.below(10) == 0 {
            FLAG_FAILED
        } else {
            0
        };
        let ring = random.below(ring_count.into()) as u32;
        case.record_in(
            ring,
            Record {
                label_id: labels[random.below(5) as usize],
                copied_bytes: random.next() >> random.below(64),
                correlation_id: random.next() >> random.below(64),
                thread_id: random.below(3) as u32,
                status: if flags == 0 { 0 } else { random.next() as u32 },
                flags,
                ..region(LANES[random.below(7) as usize], start_ns, duration_ns)
            },
        );
    }
    for _ in 0..random.below(20) {
        case.open(OpenRecord {
            label_id: labels[random.below(5) as usize],
            correlation_id: random.next(),
            ..running(LANES[random.below(7) as usize], random.below(span_ns))
        });
    }
    case
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
