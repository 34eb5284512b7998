//! The values of options as users type them: durations, times, lanes, numbers of bytes.

use std::str::FromStr;

use anyhow::{Context, bail};

/// A duration such as 1.5ms, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DurationNs(pub u64);

impl FromStr for DurationNs {
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
        // Fractions of a nanosecond are dropped.
        let ns = whole
            .checked_mul(unit_ns)
            .and_then(|ns| ns.checked_add(fraction * unit_ns / scale))
            .with_context(too_long)?;
        Ok(Self(u64::try_from(ns).with_context(too_long)?))
    }
}

/// A time on the common timeline, counted from its start or back from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBound {
    AfterStart(DurationNs),
    BeforeEnd(DurationNs),
}

impl FromStr for TimeBound {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text.strip_prefix("end") {
            Some("") => Ok(Self::BeforeEnd(DurationNs(0))),
            Some(rest) => {
                let duration = rest
                    .strip_prefix('-')
                    .context("expected a time as end-2s")?;
                Ok(Self::BeforeEnd(duration.parse()?))
            }
            None => Ok(Self::AfterStart(text.parse()?)),
        }
    }
}

/// A number of bytes such as 4096, 4KiB or 2GB.
pub fn byte_count(text: &str) -> anyhow::Result<u64> {
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

    #[test]
    fn durations() {
        let ns = |text: &str| text.parse::<DurationNs>().map(|duration| duration.0).ok();
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
    fn times_and_lanes() {
        let time = |text: &str| text.parse::<TimeBound>().ok();
        assert_eq!(
            time("2s"),
            Some(TimeBound::AfterStart(DurationNs(2_000_000_000)))
        );
        assert_eq!(time("end"), Some(TimeBound::BeforeEnd(DurationNs(0))));
        assert_eq!(
            time("end-1us"),
            Some(TimeBound::BeforeEnd(DurationNs(1_000)))
        );
        assert_eq!([time("end1s"), time("end-"), time("-1s")], [None; 3]);
    }
}
