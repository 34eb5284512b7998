//! measureme, rustc's self-profiler: binary events in buffered pages, lost with the process. It reads the clock itself, twice per event.

use std::fs;
use std::path::Path;

use anyhow::{Result, anyhow};
use measureme::{EventId, EventIdBuilder, Profiler, StringId};

use crate::measuring::contender::{Contender, Fields};

pub struct Measureme {
    profiler: Profiler,
    kind: StringId,
    label: StringId,
    /// Whether each event carries the bytes as an argument, which is a string there.
    arguments: bool,
}

impl Measureme {
    pub fn new(path: &Path, arguments: bool) -> Result<Self> {
        let profiler = Profiler::new(path).map_err(|error| anyhow!("measureme: {error}"))?;
        fs::remove_file(path.with_extension("mm_profdata"))?;
        let kind = profiler.alloc_string("region");
        let label = profiler.alloc_string("native region");
        Ok(Self {
            profiler,
            kind,
            label,
            arguments,
        })
    }
}

impl Contender for Measureme {
    type Thread<'a> = u32;

    fn thread(&self, index: usize) -> u32 {
        index as u32
    }

    #[inline]
    fn event(&self, thread: &mut u32, fields: &Fields) {
        let event = if self.arguments {
            let mut digits = [0; 20];
            let argument = self
                .profiler
                .alloc_string(decimal(fields.copied_bytes, &mut digits));
            EventIdBuilder::new(&self.profiler).from_label_and_arg(self.label, argument)
        } else {
            EventId::from_label(self.label)
        };
        drop(
            self.profiler
                .start_recording_interval_event(self.kind, event, *thread),
        );
    }
}

/// `number` in decimal digits, without an allocation that would be counted against measureme.
fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &str {
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    std::str::from_utf8(&digits[first..]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn decimal_prints_as_display_does() {
        for number in [0, 7, 10, 4096, usize::MAX] {
            assert_eq!(decimal(number, &mut [0; 20]), number.to_string());
        }
    }
}
