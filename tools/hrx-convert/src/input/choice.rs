//! What a user chooses by number, name or glob: a lane, a thread, a group.

use std::convert::Infallible;
use std::str::FromStr;

use globset::{Glob, GlobBuilder, GlobMatcher};

/// A choice as it was typed. Every character of it counts, spaces too.
#[derive(Clone, Debug)]
pub struct Choice {
    text: String,
    number: Option<u32>,
    /// Of a text that is no pattern, that text alone.
    matcher: GlobMatcher,
    is_pattern: bool,
}

impl FromStr for Choice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let build = |text: &str| GlobBuilder::new(text).case_insensitive(true).build();
        let is_pattern = text.contains(['*', '?', '[', '{']);
        let glob = build(text).or_else(|_| build(&globset::escape(text)));
        // An escaped text is always a pattern.
        let glob = glob.unwrap_or_else(|_| Glob::new("").expect("the empty pattern"));
        Ok(Self {
            text: text.to_owned(),
            number: text.parse().ok(),
            matcher: glob.compile_matcher(),
            is_pattern,
        })
    }
}

impl Choice {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it can only mean a thing of exactly this name.
    pub fn is_name(&self) -> bool {
        self.number.is_none() && !self.is_pattern
    }

    /// Whether it chooses the thing of this number.
    pub fn is_number(&self, number: u32) -> bool {
        self.number == Some(number)
    }

    /// Whether it chooses what is called so.
    pub fn is_called(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_names_and_globs() {
        let choice = |text: &str| text.parse::<Choice>().unwrap();
        assert!(choice("3").is_number(3) && !choice("3").is_number(4));
        assert!(choice("3").is_called("3") && choice("npu").is_called("NPU"));
        assert!(
            choice("stream *").is_called("stream 3") && !choice("stream *").is_called("stream")
        );
        assert!(choice("nccl/*").is_called("nccl/ring/0"));
        // A space counts.
        assert!(!choice("lead").is_called(" lead") && choice(" lead").is_called(" lead"));
        assert!(choice("gpu").is_name() && !choice("gpu?").is_name() && !choice("7").is_name());
        // What is no pattern means itself.
        assert!(choice("a[").is_called("a["));
    }
}
