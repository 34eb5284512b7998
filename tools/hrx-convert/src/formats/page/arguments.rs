//! The arguments of the timeline's events, as text: the newest [`ARGUMENTS_BYTES_MAX`] of it, in an unnamed temporary file that is overwritten in a circle.
//!
//! A text holds an event's arguments one after the other, parted by [`BETWEEN`]: the name, [`IS`] or [`IS_TEXT`], the value. At its end, after [`NOTE`],
//! may be what is not in it. Names and values have no control characters: they are spelt out, as the page shows them.

use std::fmt::Write;
use std::io;

use hrx_trace_reader::{Argument, ArgumentValue, Trace};

use crate::figures::arguments::{Keys, value_text};
use crate::output::printable::printable;
use crate::output::scratch::ScratchFile;

/// Text of the arguments, of all events together.
const ARGUMENTS_BYTES_MAX: u64 = 64 << 20;
/// Text of one event's arguments.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Text that is written at once.
const HELD_BYTES: usize = 256 << 10;

const BETWEEN: char = '\u{1e}';
const IS: char = '\u{1f}';
const IS_TEXT: char = '\u{1d}';
const NOTE: char = '\u{1c}';

/// Where the text of an event's arguments is. Without bytes, the event has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TextPlace {
    /// Counts all texts ever written.
    pub at: u64,
    pub bytes: u32,
}

/// The texts.
#[derive(Debug, Default)]
pub struct ArgumentTexts {
    file: Option<ScratchFile>,
    /// What is not in the file yet.
    held: Vec<u8>,
    /// All bytes in the file, those overwritten too.
    filed: u64,
    text: String,
}

impl ArgumentTexts {
    /// Adds the arguments of an event.
    pub fn put(
        &mut self,
        trace: &Trace,
        keys: &mut Keys,
        arguments: &[Argument],
        lost: u64,
    ) -> io::Result<TextPlace> {
        if arguments.is_empty() && lost == 0 {
            return Ok(TextPlace::default());
        }
        self.text.clear();
        let mut left = arguments.len();
        for argument in arguments {
            if self.text.len() > TEXT_BYTES_MAX {
                break;
            }
            left -= 1;
            self.part();
            let is = match argument.value {
                ArgumentValue::Text(_) => IS_TEXT,
                _ => IS,
            };
            self.text
                .push_str(&printable(&keys.name(trace, argument.key)));
            self.text.push(is);
            self.text.push_str(&printable(&value_text(argument)));
        }
        for (count, what) in [(left as u64, "more"), (lost, "lost")] {
            if count > 0 {
                self.part();
                let _ = write!(self.text, "{NOTE}{count} {what}");
            }
        }
        let place = TextPlace {
            at: self.filed + self.held.len() as u64,
            bytes: self.text.len() as u32,
        };
        self.held.extend_from_slice(self.text.as_bytes());
        if self.held.len() >= HELD_BYTES {
            self.put_held()?;
        }
        Ok(place)
    }

    fn part(&mut self) {
        if !self.text.is_empty() {
            self.text.push(BETWEEN);
        }
    }

    /// The text there; None if newer ones have overwritten it.
    pub fn get(&mut self, place: TextPlace) -> io::Result<Option<String>> {
        self.put_held()?;
        if place.at + ARGUMENTS_BYTES_MAX < self.filed {
            return Ok(None);
        }
        let mut text = vec![0; place.bytes as usize];
        let (first, wrapped) = text.split_at_mut(before_the_wrap(place.at, place.bytes as usize));
        if let Some(file) = &self.file {
            file.read_exact_at(first, place.at % ARGUMENTS_BYTES_MAX)?;
            file.read_exact_at(wrapped, 0)?;
        }
        String::from_utf8(text).map(Some).map_err(io::Error::other)
    }

    fn put_held(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(ScratchFile::new()?),
        };
        let (first, wrapped) = self
            .held
            .split_at(before_the_wrap(self.filed, self.held.len()));
        file.write_all_at(first, self.filed % ARGUMENTS_BYTES_MAX)?;
        file.write_all_at(wrapped, 0)?;
        self.filed += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }
}

/// How many of the bytes that begin at `at` lie before the end of the circle.
fn before_the_wrap(at: u64, bytes: usize) -> usize {
    let room = ARGUMENTS_BYTES_MAX - at % ARGUMENTS_BYTES_MAX;
    usize::try_from(room).map_or(bytes, |room| room.min(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::captures::Captures;
    use hrx_trace_tests::capture::Capture as Made;

    fn text(key: u32, text: &str) -> Argument {
        let mut argument = Argument::default();
        argument.key = key;
        argument.value = ArgumentValue::Text(text.to_owned());
        argument
    }

    #[test]
    fn texts_and_what_is_not_in_them() {
        let mut made = Made::new(1);
        let [batch, path] = ["batch", "a\u{1f}b"].map(|key| made.key(key));
        let captures = Captures::of_bytes([made.bytes()]);
        let trace = &captures[0].trace;
        let (mut texts, mut keys) = (ArgumentTexts::default(), Keys::default());
        let mut number = Argument::default();
        (number.key, number.value) = (batch, ArgumentValue::U64(u64::MAX));
        let mut put = |arguments: &[Argument], lost| {
            let place = texts
                .put(trace, &mut keys, arguments, lost)
                .expect("a file");
            texts.get(place).expect("a file").expect("the text")
        };
        assert_eq!(
            put(&[number, text(path, "x\u{1e}\n🚀")], 2),
            "batch\u{1f}18446744073709551615\u{1e}a\\u{1f}b\u{1d}x\\u{1e}\\n🚀\u{1e}\u{1c}2 lost"
        );
        assert_eq!(put(&[], 3), "\u{1c}3 lost");
        assert_eq!(put(&[], 0), "");
        let many: Vec<Argument> = (0..10_000).map(|_| text(batch, "0123456789")).collect();
        let long = put(&many, 0);
        assert!(long.len() < TEXT_BYTES_MAX + 100);
        let shown = long.split(BETWEEN).count() - 1;
        assert!(long.ends_with(&format!("\u{1c}{} more", many.len() - shown)));
    }

    /// The newest texts are there, whichever place they have in the circle.
    #[test]
    fn newer_texts_overwrite_the_oldest() {
        let captures = Captures::of_bytes([Made::new(1).bytes()]);
        let trace = &captures[0].trace;
        let (mut texts, mut keys) = (ArgumentTexts::default(), Keys::default());
        let content = |i: u64| format!("{i:05000}");
        let count = ARGUMENTS_BYTES_MAX / 5_000 + 100;
        let places: Vec<TextPlace> = (0..count)
            .map(|i| {
                let arguments = [text(0, &content(i))];
                texts.put(trace, &mut keys, &arguments, 0).expect("a file")
            })
            .collect();
        for (i, place) in (0..).zip(places) {
            let found = texts.get(place).expect("a file");
            let expected = format!("unnamed{IS_TEXT}{}", content(i));
            match found {
                Some(found) => assert_eq!(found, expected),
                None => assert!(place.at + ARGUMENTS_BYTES_MAX < texts.filed, "{i}"),
            }
        }
    }
}
