//! What a program says about a span or an event in its fields.

use std::fmt::Debug;

use hrx_trace::Recorder;
use tracing_core::field::{self, Visit};

use crate::fields::{Field, Fields, Text};
use crate::sites::{Meaning, Site};

/// What was said.
#[derive(Debug)]
pub struct Said {
    pub lane: Option<usize>,
    pub correlation_id: Option<u64>,
    pub copied_bytes: Option<u64>,
    pub status: Option<u32>,
    pub failed: bool,
    /// The other fields, and those whose value does not fit what their name means.
    pub fields: Fields,
}

impl Said {
    pub const fn nothing() -> Self {
        Self {
            lane: None,
            correlation_id: None,
            copied_bytes: None,
            status: None,
            failed: false,
            fields: Fields::none(),
        }
    }
}

/// Notes the fields of a callsite.
pub struct Visitor<'a, 'said> {
    pub site: &'a Site,
    pub recorder: &'a Recorder,
    /// Whether arguments and texts are wanted.
    pub values: bool,
    pub said: &'said mut Said,
}

impl Visitor<'_, '_> {
    fn note(&mut self, field: &field::Field, value: Field<'_>) {
        let (meaning, key) = self.site.field(field);
        let said = &mut *self.said;
        match (meaning, value) {
            (Meaning::Lane, Field::Text(name)) if self.values => {
                said.lane = Some(self.recorder.lane(name));
            }
            (Meaning::Lane, Field::U64(number)) => {
                said.lane = Some(usize::try_from(number).unwrap_or(usize::MAX));
            }
            (Meaning::CorrelationId, Field::U64(id)) => said.correlation_id = Some(id),
            (Meaning::CopiedBytes, Field::U64(bytes)) => said.copied_bytes = Some(bytes),
            (Meaning::Status, Field::U64(status)) if u32::try_from(status).is_ok() => {
                said.status = Some(status as u32);
            }
            (meaning, value) => {
                said.failed |= meaning == Meaning::Error && !matches!(value, Field::Bool(false));
                if self.values {
                    said.fields.push(key, value);
                }
            }
        }
    }
}

impl Visit for Visitor<'_, '_> {
    fn record_f64(&mut self, field: &field::Field, value: f64) {
        self.note(field, Field::F64(value));
    }

    /// Numbers are of this type where the program did not say which.
    fn record_i64(&mut self, field: &field::Field, value: i64) {
        match u64::try_from(value) {
            Ok(number) if self.site.field(field).0 != Meaning::Argument => {
                self.note(field, Field::U64(number));
            }
            _ => self.note(field, Field::I64(value)),
        }
    }

    fn record_u64(&mut self, field: &field::Field, value: u64) {
        self.note(field, Field::U64(value));
    }

    fn record_bool(&mut self, field: &field::Field, value: bool) {
        self.note(field, Field::Bool(value));
    }

    fn record_str(&mut self, field: &field::Field, value: &str) {
        self.note(field, Field::Text(value));
    }

    fn record_debug(&mut self, field: &field::Field, value: &dyn Debug) {
        if self.values {
            self.note(field, Field::Text(Text::of(value).as_str()));
        } else {
            self.note(field, Field::Text(""));
        }
    }
}
