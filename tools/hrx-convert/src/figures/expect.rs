//! `--expect`: what a script expects of a capture, checked against the figures of the events that the filters select.
//!
//! An expectation is `FIGURE RELATION VALUE`; `last:LABEL RELATION NUMBER`, and `least` or `most` of a value; `ending=ENDING`; or `lane=LANE`,
//! `label=LABEL`, `mark=LABEL`, which expect at least one region of that lane or label, running or completed, or a mark; with `!=` none. A figure that does not
//! exist, such as the median of no regions, meets no expectation. Every capture has to meet every expectation. `--help` explains the same to users.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, bail};
use hrx_trace_reader::Ending;
use indicatif::HumanCount;

use crate::figures::digest::{Digest, LaneDigest, RegionFigures, ValueDigest};
use crate::input::choice::Choice;
use crate::input::option_values::{DurationNs, byte_count};
use crate::text::names::lane_name;
use crate::text::quantities::{counted, short_text};

/// One expectation.
#[derive(Clone, Debug)]
pub struct Expectation {
    text: String,
    condition: Condition,
}

#[derive(Clone, Debug)]
enum Condition {
    Lane {
        lane: Choice,
        wanted: bool,
    },
    Label {
        text: String,
        wanted: bool,
    },
    Mark {
        text: String,
        wanted: bool,
    },
    Ending {
        ending: Ending,
        wanted: bool,
    },
    Figure {
        figure: Figure,
        relation: Relation,
        value: u64,
    },
    Value {
        part: ValuePart,
        label: String,
        relation: Relation,
        value: f64,
    },
}

/// What of a value's samples: its name, and how to get it.
#[derive(Clone, Copy)]
struct ValuePart {
    name: &'static str,
    of: fn(&ValueDigest) -> f64,
}

const VALUE_PARTS: [ValuePart; 3] = [
    ValuePart {
        name: "last",
        of: |value| value.last,
    },
    ValuePart {
        name: "least",
        of: |value| value.least,
    },
    ValuePart {
        name: "most",
        of: |value| value.most,
    },
];

impl fmt::Debug for ValuePart {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

const ENDINGS: [Ending; 9] = [
    Ending::Finished,
    Ending::Live,
    Ending::Ending,
    Ending::LeftByExit,
    Ending::EndedWithoutFinish,
    Ending::WriterDied,
    Ending::ReplacedByExec,
    Ending::CannotTell,
    Ending::NotFinished,
];

/// An ending as JSON has it.
fn ending_name(ending: Ending) -> String {
    let name = serde_json::to_value(ending).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    One,
    Time,
    Bytes,
}

/// A figure: its name, its unit, and how to get it from a digest; None if it does not exist.
#[derive(Clone, Copy)]
struct Figure {
    name: &'static str,
    unit: Unit,
    of: fn(&Digest) -> Option<u64>,
}

const FIGURES: [Figure; 18] = [
    figure("count", Unit::One, |digest| Some(regions(digest).count.0)),
    figure("failed", Unit::One, |digest| Some(regions(digest).failed.0)),
    figure("unfinished", Unit::One, |digest| {
        Some(regions(digest).unfinished.0)
    }),
    figure("cancelled", Unit::One, |digest| {
        Some(regions(digest).cancelled.0)
    }),
    figure("waiting", Unit::One, |digest| {
        let open = &digest.facts.open_regions;
        Some(open.iter().filter(|region| region.waiting).count() as u64)
    }),
    figure("hidden", Unit::One, |digest| {
        Some(digest.facts.account.hidden_now.0)
    }),
    figure("marks", Unit::One, |digest| {
        let counted = digest.mark_counts.iter().map(|mark| mark.count.0);
        Some(counted.sum::<u64>() + digest.other_marks.0)
    }),
    figure("samples", Unit::One, |digest| {
        let counted = digest.values.iter().map(|value| value.samples.0);
        Some(counted.sum::<u64>() + digest.other_samples.0)
    }),
    figure("total", Unit::Time, |digest| {
        Some(regions(digest).total_ns.0)
    }),
    figure("mean", Unit::Time, |digest| {
        Some(regions(digest).mean_ns?.0)
    }),
    figure("p50", Unit::Time, |digest| Some(regions(digest).p50_ns?.0)),
    figure("p90", Unit::Time, |digest| Some(regions(digest).p90_ns?.0)),
    figure("p99", Unit::Time, |digest| Some(regions(digest).p99_ns?.0)),
    figure("max", Unit::Time, |digest| Some(regions(digest).max_ns?.0)),
    figure("busy", Unit::Time, |digest| Some(regions(digest).busy_ns.0)),
    figure("bytes", Unit::Bytes, |digest| {
        Some(regions(digest).copied_bytes.0)
    }),
    figure("overwritten", Unit::One, |digest| {
        Some(digest.facts.account.tickets.overwritten.0)
    }),
    figure("torn", Unit::One, |digest| {
        Some(digest.facts.account.tickets.torn.0)
    }),
];

const fn figure(name: &'static str, unit: Unit, of: fn(&Digest) -> Option<u64>) -> Figure {
    Figure { name, unit, of }
}

fn regions<'digest>(digest: &'digest Digest<'_>) -> &'digest RegionFigures {
    &digest.regions
}

impl fmt::Debug for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Longer signs come before those that are their beginnings.
const RELATIONS: [(&str, Relation); 6] = [
    ("!=", Relation::NotEqual),
    ("<=", Relation::LessOrEqual),
    (">=", Relation::GreaterOrEqual),
    ("=", Relation::Equal),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

impl Relation {
    /// What is no number has no relation to any.
    fn holds<Number: PartialOrd>(self, found: Number, value: Number) -> bool {
        match self {
            _ if found.partial_cmp(&value).is_none() => false,
            Self::Equal => found == value,
            Self::NotEqual => found != value,
            Self::Less => found < value,
            Self::LessOrEqual => found <= value,
            Self::Greater => found > value,
            Self::GreaterOrEqual => found >= value,
        }
    }
}

impl FromStr for Expectation {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (name, relation, value) = match value_part(text) {
            // A name can contain the sign of a relation, and a number cannot.
            Some(_) => split(text, text.rfind(['=', '!', '<', '>'])),
            None => split(text, text.find(['=', '!', '<', '>'])),
        }?;
        let wanted = match relation {
            Relation::Equal => Some(true),
            Relation::NotEqual => Some(false),
            _ => None,
        };
        let condition = match (name.trim(), wanted) {
            ("lane", Some(wanted)) => Condition::Lane {
                lane: value.trim().parse()?,
                wanted,
            },
            // Every character of a name counts, spaces too.
            ("label", Some(wanted)) => Condition::Label {
                text: value.to_owned(),
                wanted,
            },
            ("mark", Some(wanted)) => Condition::Mark {
                text: value.to_owned(),
                wanted,
            },
            ("ending", Some(wanted)) => Condition::Ending {
                ending: ending(value.trim())?,
                wanted,
            },
            (name @ ("lane" | "label" | "mark" | "ending"), None) => {
                bail!("expected {name}= or {name}!=")
            }
            (trimmed, _) => match value_part(name) {
                Some((part, label)) => Condition::Value {
                    part,
                    label: label.to_owned(),
                    relation,
                    value: number(value.trim()).with_context(|| {
                        format!("what {} of {label} is held against", part.name)
                    })?,
                },
                None => figure_condition(trimmed, relation, value.trim())?,
            },
        };
        Ok(Self {
            text: text.to_owned(),
            condition,
        })
    }
}

/// The parts of an expectation whose relation is at `at`, or whose sign ends there.
fn split(text: &str, at: Option<usize>) -> anyhow::Result<(&str, Relation, &str)> {
    let mut at =
        at.context("expected a figure, a relation and a value, such as failed=0, or lane=LANE")?;
    if text[at..].starts_with('=') && text[..at].ends_with(['!', '<', '>']) {
        at -= 1;
    }
    let (name, rest) = text.split_at(at);
    let (relation, value) = RELATIONS
        .iter()
        .find_map(|(sign, relation)| Some((*relation, rest.strip_prefix(sign)?)))
        .context("expected one of the relations = != < <= > >=")?;
    Ok((name, relation, value))
}

/// The part that `text` begins with, as in `last:LABEL`, and the rest.
fn value_part(text: &str) -> Option<(ValuePart, &str)> {
    let (name, rest) = text.split_once(':')?;
    let part = VALUE_PARTS.iter().find(|part| part.name == name.trim())?;
    Some((*part, rest))
}

/// A number such as 1.5 or -3e9, or a number of bytes such as 8GiB.
fn number(text: &str) -> anyhow::Result<f64> {
    match text.parse::<f64>() {
        Ok(number) if !number.is_nan() => Ok(number),
        _ => Ok(byte_count(text).context("expected a number")? as f64),
    }
}

fn ending(text: &str) -> anyhow::Result<Ending> {
    let named = ENDINGS
        .into_iter()
        .find(|ending| ending_name(*ending) == text);
    named.with_context(|| {
        let names = ENDINGS.map(ending_name).join(", ");
        format!("the ending: found '{text}', expected one of {names}")
    })
}

fn figure_condition(name: &str, relation: Relation, value: &str) -> anyhow::Result<Condition> {
    let figure = FIGURES.iter().find(|figure| figure.name == name);
    let figure = *figure.with_context(|| {
        let names = FIGURES.map(|figure| figure.name).join(", ");
        format!(
            "found '{name}', expected lane, label, mark, ending, last:LABEL, least:LABEL, most:LABEL or a figure: {names}"
        )
    })?;
    let value = match figure.unit {
        Unit::One => value.parse().ok().context("expected a whole number"),
        Unit::Time => value.parse().map(|DurationNs(ns)| ns),
        Unit::Bytes => byte_count(value),
    };
    Ok(Condition::Figure {
        figure,
        relation,
        value: value.with_context(|| format!("the value of {name}"))?,
    })
}

impl Expectation {
    /// None if the capture meets it, otherwise a message with what was found instead.
    pub fn unmet(&self, digest: &Digest) -> Option<String> {
        let (met, found) = match &self.condition {
            Condition::Lane { lane, wanted } => {
                let is_chosen = |found: &&LaneDigest| {
                    found.lane.is_some_and(|number| lane.is_number(number))
                        || lane.is_called(&found.bare_name)
                        || lane.is_called(&found.name)
                };
                let lanes: Vec<&LaneDigest> = digest.lanes.iter().filter(is_chosen).collect();
                let count = region_count(lanes.iter().map(|lane| &lane.figures));
                let name = match (lanes.as_slice(), lane.text().parse()) {
                    ([lane, ..], _) => lane.name.clone(),
                    ([], Ok(number)) => lane_name(number),
                    ([], Err(_)) => lane.text().to_owned(),
                };
                let found = format!("{} on lane {name}", counted(count, "region"));
                let others = digest.lanes.iter().any(|lane| lane.lane.is_none());
                known(count, *wanted, others, found)
            }
            Condition::Label { text, wanted } => {
                let labels = digest.lanes.iter().flat_map(|lane| &lane.labels);
                let labels = labels.filter(|label| label.label == *text);
                let count = region_count(labels.map(|label| &label.figures));
                let others = digest.lanes.iter().flat_map(|lane| &lane.labels);
                let others = others.into_iter().any(|label| label.label_id.is_none());
                known(
                    count,
                    *wanted,
                    others,
                    format!("{} of that label", counted(count, "region")),
                )
            }
            Condition::Mark { text, wanted } => {
                let marks = digest.mark_counts.iter().filter(|mark| mark.label == *text);
                let count = marks.map(|mark| mark.count.0).sum();
                let found = format!("{} of that label", counted(count, "mark"));
                known(count, *wanted, digest.other_marks.0 > 0, found)
            }
            Condition::Ending { ending, wanted } => {
                let found = digest.facts.ending;
                ((found == *ending) == *wanted, ending_name(found))
            }
            Condition::Value {
                part,
                label,
                relation,
                value,
            } => {
                // Labels of several groups can have one text.
                let found: Vec<f64> = digest
                    .values
                    .iter()
                    .filter(|value| value.label == *label)
                    .map(part.of)
                    .collect();
                let unmet = found.iter().find(|found| !relation.holds(**found, *value));
                match unmet.or(found.first()) {
                    None => (
                        false,
                        format!("no value of that label, so no {}", part.name),
                    ),
                    Some(found) => (unmet.is_none(), format!("{} is {found}", part.name)),
                }
            }
            Condition::Figure {
                figure,
                relation,
                value,
            } => match (figure.of)(digest) {
                None => (false, format!("no region, so no {}", figure.name)),
                Some(found) => {
                    let text = match figure.unit {
                        Unit::One => HumanCount(found).to_string(),
                        Unit::Time if found < 1_000 => short_text(found),
                        Unit::Time => format!("{} ({} ns)", short_text(found), HumanCount(found)),
                        Unit::Bytes => counted(found, "byte"),
                    };
                    let found_text = format!("{} is {text}", figure.name);
                    (relation.holds(found, *value), found_text)
                }
            },
        };
        (!met).then(|| format!("expected {}, found: {found}", self.text))
    }
}

/// Whether a lane or label is there as wanted, and what was found. With `others`, some have no figures of their own, and the one wanted may be among
/// them.
fn known(count: u64, wanted: bool, others: bool, found: String) -> (bool, String) {
    match (count, others) {
        (0, true) => (
            false,
            format!(
                "{found} among those with figures of their own; select it with --lane or --label"
            ),
        ),
        _ => ((count > 0) == wanted, found),
    }
}

/// Completed and running regions.
fn region_count<'figures>(of: impl Iterator<Item = &'figures RegionFigures>) -> u64 {
    of.map(|figures| figures.count.0 + figures.unfinished.0)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        format!("{:?}", text.parse::<Expectation>().unwrap().condition)
    }

    fn refused(text: &str) -> String {
        format!("{:#}", text.parse::<Expectation>().unwrap_err())
    }

    #[test]
    fn the_grammar() {
        let figure = |name: &str, relation: Relation, value: u64| {
            format!("Figure {{ figure: {name}, relation: {relation:?}, value: {value} }}")
        };
        for (text, expected) in [
            ("failed=0", figure("failed", Relation::Equal, 0)),
            ("count>=5", figure("count", Relation::GreaterOrEqual, 5)),
            ("p99 < 1.5ms", figure("p99", Relation::Less, 1_500_000)),
            ("bytes<=4KiB", figure("bytes", Relation::LessOrEqual, 4_096)),
            ("max!=2s", figure("max", Relation::NotEqual, 2_000_000_000)),
        ] {
            assert_eq!(parsed(text), expected);
        }
        for (text, expected) in [
            ("label=a=b<c", r#"Label { text: "a=b<c", wanted: true }"#),
            ("mark!=oops", r#"Mark { text: "oops", wanted: false }"#),
            (
                "ending = writer-died",
                "Ending { ending: WriterDied, wanted: true }",
            ),
            (
                "last:gpu bytes<8GiB",
                r#"Value { part: last, label: "gpu bytes", relation: Less, value: 8589934592.0 }"#,
            ),
            (
                "most: a=b >=-1.5e3",
                r#"Value { part: most, label: " a=b ", relation: GreaterOrEqual, value: -1500.0 }"#,
            ),
        ] {
            assert_eq!(parsed(text), expected);
        }
        assert!(parsed("lane != stream *").contains("stream *"));
    }

    /// The bug: `label!= lead` was met by a capture with a label " lead", because spaces around the value were dropped. Found by labels that begin with one.
    #[test]
    fn spaces_of_a_name_count() {
        assert_eq!(
            parsed("label!= lead"),
            r#"Label { text: " lead", wanted: false }"#
        );
        assert_eq!(
            parsed("mark=trail "),
            r#"Mark { text: "trail ", wanted: true }"#
        );
    }

    #[test]
    fn what_is_no_number_meets_nothing() {
        assert!(!Relation::NotEqual.holds(f64::NAN, 1.0));
        assert!(!Relation::Less.holds(f64::NAN, 1.0));
        assert!(Relation::Less.holds(f64::NEG_INFINITY, 1.0));
    }

    #[test]
    fn endings() {
        for ending in ENDINGS {
            assert_eq!(
                parsed(&format!("ending={}", ending_name(ending))),
                format!("Ending {{ ending: {ending:?}, wanted: true }}")
            );
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(refused("npu").starts_with("expected a figure, a relation and a value"));
        assert!(
            refused("cuont=5")
                .starts_with("found 'cuont', expected lane, label, mark, ending, last:LABEL, ")
        );
        assert!(
            refused("ending=died").starts_with("the ending: found 'died', expected one of fini")
        );
        assert!(refused("last:x<many").starts_with("what last of x is held against: expected a"));
        assert_eq!(refused("lane<3"), "expected lane= or lane!=");
        assert_eq!(
            refused("count=many"),
            "the value of count: expected a whole number"
        );
        assert!(refused("p99<2").starts_with("the value of p99: expected a number and a unit"));
        assert_eq!(
            refused("count!5"),
            "expected one of the relations = != < <= > >="
        );
        assert_eq!(
            refused("bytes>99999999TB"),
            "the value of bytes: more than 2^64 bytes"
        );
    }
}
