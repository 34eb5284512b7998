//! `--expect`: what a script expects of a capture, checked against the figures of the events that the filters select.
//!
//! An expectation is `FIGURE RELATION VALUE`; or `lane=LANE`, `lane!=LANE`, `label=LABEL`, `label!=LABEL`, which expect at least one region of that
//! lane or label, running or completed, or none. A figure that does not exist, such as the median of no regions, meets no expectation. Every
//! capture has to meet every expectation. `--help` explains the same to users.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, bail};
use indicatif::HumanCount;

use crate::figures::digest::{Digest, RegionFigures};
use crate::input::option_values::{DurationNs, byte_count, lane_number};
use crate::text::names::lane_name;
use crate::text::quantities::{counted, short_text};

/// One expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    text: String,
    condition: Condition,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    Lane {
        lane: u32,
        wanted: bool,
    },
    Label {
        text: String,
        wanted: bool,
    },
    Figure {
        figure: Figure,
        relation: Relation,
        value: u64,
    },
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

const FIGURES: [Figure; 13] = [
    figure("count", Unit::One, |digest| Some(regions(digest).count.0)),
    figure("failed", Unit::One, |digest| Some(regions(digest).failed.0)),
    figure("unfinished", Unit::One, |digest| {
        Some(regions(digest).unfinished.0)
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

impl PartialEq for Figure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Figure {}

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
    fn holds(self, found: u64, value: u64) -> bool {
        match self {
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
        let at = text.find(['=', '!', '<', '>']);
        let (name, rest) = text.split_at(at.context(
            "expected a figure, a relation and a value, such as failed=0, or lane=LANE",
        )?);
        let (relation, value) = RELATIONS
            .iter()
            .find_map(|(sign, relation)| Some((*relation, rest.strip_prefix(sign)?)))
            .context("expected one of the relations = != < <= > >=")?;
        let (name, value) = (name.trim(), value.trim());
        let wanted = match relation {
            Relation::Equal => Some(true),
            Relation::NotEqual => Some(false),
            _ => None,
        };
        let condition = match (name, wanted) {
            ("lane", Some(wanted)) => Condition::Lane {
                lane: lane_number(value).context("the lane")?,
                wanted,
            },
            ("label", Some(wanted)) => Condition::Label {
                text: value.to_owned(),
                wanted,
            },
            ("lane" | "label", None) => bail!("expected {name}= or {name}!="),
            _ => {
                let figure = FIGURES.iter().find(|figure| figure.name == name);
                let figure = *figure.with_context(|| {
                    let names = FIGURES.map(|figure| figure.name).join(", ");
                    format!("found '{name}', expected lane, label or a figure: {names}")
                })?;
                let value = match figure.unit {
                    Unit::One => value.parse().ok().context("expected a whole number"),
                    Unit::Time => value.parse().map(|DurationNs(ns)| ns),
                    Unit::Bytes => byte_count(value),
                };
                Condition::Figure {
                    figure,
                    relation,
                    value: value.with_context(|| format!("the value of {name}"))?,
                }
            }
        };
        Ok(Self {
            text: text.to_owned(),
            condition,
        })
    }
}

impl Expectation {
    /// None if the capture meets it, otherwise a message with what was found instead.
    pub fn unmet(&self, digest: &Digest) -> Option<String> {
        let (met, found) = match &self.condition {
            Condition::Lane { lane, wanted } => {
                let lanes = digest
                    .lanes
                    .iter()
                    .filter(|found| found.lane == Some(*lane));
                let count = region_count(lanes.map(|lane| &lane.figures));
                let found = format!("{} on lane {}", counted(count, "region"), lane_name(*lane));
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

    fn parsed(text: &str) -> Condition {
        text.parse::<Expectation>().unwrap().condition
    }

    fn refused(text: &str) -> String {
        format!("{:#}", text.parse::<Expectation>().unwrap_err())
    }

    #[test]
    fn the_grammar() {
        let lane = |lane, wanted| Condition::Lane { lane, wanted };
        assert_eq!(parsed("lane=npu"), lane(3, true));
        assert_eq!(parsed("lane != 17"), lane(17, false));
        let label = |text: &str, wanted| Condition::Label {
            text: text.to_owned(),
            wanted,
        };
        assert_eq!(parsed("label=a=b<c"), label("a=b<c", true));
        let figure = |name, relation, value| Condition::Figure {
            figure: *FIGURES.iter().find(|figure| figure.name == name).unwrap(),
            relation,
            value,
        };
        assert_eq!(parsed("failed=0"), figure("failed", Relation::Equal, 0));
        assert_eq!(
            parsed("count>=5"),
            figure("count", Relation::GreaterOrEqual, 5)
        );
        assert_eq!(
            parsed("p99 < 1.5ms"),
            figure("p99", Relation::Less, 1_500_000)
        );
        assert_eq!(
            parsed("bytes<=4KiB"),
            figure("bytes", Relation::LessOrEqual, 4_096)
        );
        assert_eq!(
            parsed("max!=2s"),
            figure("max", Relation::NotEqual, 2_000_000_000)
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(refused("npu").starts_with("expected a figure, a relation and a value"));
        assert!(
            refused("cuont=5")
                .starts_with("found 'cuont', expected lane, label or a figure: count,")
        );
        assert!(refused("lane=gpu").starts_with("the lane: expected a number or one of upload,"));
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
