//! `--expect`: what a script expects of a capture, checked against the figures of the events that the filters select.
//!
//! An expectation is `FIGURE RELATION VALUE`, or `lane=LANE`, `lane!=LANE`, `label=LABEL`, `label!=LABEL`: that at least one region
//! of that lane or of that label is there, running ones included, or that none is. A figure that does not exist, such as the median of no
//! regions, meets no expectation. Of several captures, each has to meet every one. `--help` says the same to users.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, bail};

use crate::figures::digest::{Digest, Row};
use crate::input::filter::{duration_ns, lane_number};
use crate::text::names::lane_name;
use crate::text::words::{counted, short_text};

/// One expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    text: String,
    claim: Claim,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Claim {
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

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    One,
    Time,
    Bytes,
}

/// A figure: its name, its unit, and where it stands. None: it does not exist.
#[derive(Clone, Copy)]
struct Figure {
    name: &'static str,
    unit: Unit,
    of: fn(&Digest) -> Option<u64>,
}

const FIGURES: [Figure; 13] = [
    figure("count", Unit::One, |digest| Some(row(digest).count.0)),
    figure("failed", Unit::One, |digest| Some(row(digest).failed.0)),
    figure("unfinished", Unit::One, |digest| {
        Some(row(digest).unfinished.0)
    }),
    figure("total", Unit::Time, |digest| Some(row(digest).total_ns.0)),
    figure("mean", Unit::Time, |digest| Some(row(digest).mean_ns?.0)),
    figure("p50", Unit::Time, |digest| Some(row(digest).p50_ns?.0)),
    figure("p90", Unit::Time, |digest| Some(row(digest).p90_ns?.0)),
    figure("p99", Unit::Time, |digest| Some(row(digest).p99_ns?.0)),
    figure("max", Unit::Time, |digest| Some(row(digest).max_ns?.0)),
    figure("busy", Unit::Time, |digest| Some(row(digest).busy_ns.0)),
    figure("bytes", Unit::Bytes, |digest| {
        Some(row(digest).copied_bytes.0)
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

fn row<'digest>(digest: &'digest Digest<'_>) -> &'digest Row {
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

/// The longer before those that they begin with.
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
        let (name, rest) = text.split_at(
            at.context("expected a figure, a relation and a value, as failed=0, or lane=LANE")?,
        );
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
        let claim = match (name, wanted) {
            ("lane", Some(wanted)) => Claim::Lane {
                lane: lane_number(value).context("the lane")?,
                wanted,
            },
            ("label", Some(wanted)) => Claim::Label {
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
                    Unit::Time => duration_ns(value),
                    Unit::Bytes => bytes(value),
                };
                Claim::Figure {
                    figure,
                    relation,
                    value: value.with_context(|| format!("the value of {name}"))?,
                }
            }
        };
        Ok(Self {
            text: text.to_owned(),
            claim,
        })
    }
}

impl Expectation {
    /// None: the capture meets it. Else, what was found instead.
    pub fn unmet(&self, digest: &Digest) -> Option<String> {
        let (met, found) = match &self.claim {
            Claim::Lane { lane, wanted } => {
                let rows = digest
                    .lanes
                    .iter()
                    .filter(|found| found.lane == Some(*lane));
                let count = regions(rows.map(|lane| &lane.row));
                let found = format!("{} on lane {}", counted(count, "region"), lane_name(*lane));
                let others = digest.lanes.iter().any(|lane| lane.lane.is_none());
                known(count, *wanted, others, found)
            }
            Claim::Label { text, wanted } => {
                let labels = digest.lanes.iter().flat_map(|lane| &lane.labels);
                let rows = labels.filter(|label| label.label == *text);
                let count = regions(rows.map(|label| &label.row));
                let others = digest.lanes.iter().flat_map(|lane| &lane.labels);
                let others = others.into_iter().any(|label| label.label_id.is_none());
                known(
                    count,
                    *wanted,
                    others,
                    format!("{} of that label", counted(count, "region")),
                )
            }
            Claim::Figure {
                figure,
                relation,
                value,
            } => match (figure.of)(digest) {
                None => (false, format!("no region, so no {}", figure.name)),
                Some(found) => {
                    let text = match figure.unit {
                        Unit::One => found.to_string(),
                        Unit::Time if found < 1_000 => short_text(found),
                        Unit::Time => format!("{} ({found} ns)", short_text(found)),
                        Unit::Bytes => format!("{found} bytes"),
                    };
                    let found_text = format!("{} is {text}", figure.name);
                    (relation.holds(found, *value), found_text)
                }
            },
        };
        (!met).then(|| format!("expected {}, found: {found}", self.text))
    }
}

/// `others`: some have no figures of their own, and what is looked for may be among them.
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

/// Completed ones and running ones.
fn regions<'row>(rows: impl Iterator<Item = &'row Row>) -> u64 {
    rows.map(|row| row.count.0 + row.unfinished.0).sum()
}

fn bytes(text: &str) -> anyhow::Result<u64> {
    let number = text.trim_end_matches(|char: char| char.is_alphabetic());
    let scale: u64 = match text[number.len()..].trim() {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => bail!("expected a whole number of bytes, kB, MB, GB, TB, KiB, MiB, GiB or TiB"),
    };
    let number: u64 = number
        .trim()
        .parse()
        .ok()
        .context("expected a whole number")?;
    number.checked_mul(scale).context("more than 2^64 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Claim {
        text.parse::<Expectation>().unwrap().claim
    }

    fn refused(text: &str) -> String {
        format!("{:#}", text.parse::<Expectation>().unwrap_err())
    }

    #[test]
    fn the_grammar() {
        let lane = |lane, wanted| Claim::Lane { lane, wanted };
        assert_eq!(parsed("lane=npu"), lane(3, true));
        assert_eq!(parsed("lane != 17"), lane(17, false));
        let label = |text: &str, wanted| Claim::Label {
            text: text.to_owned(),
            wanted,
        };
        assert_eq!(parsed("label=a=b<c"), label("a=b<c", true));
        let figure = |name, relation, value| Claim::Figure {
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
