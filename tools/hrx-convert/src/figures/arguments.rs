//! Arguments of events, as a JSON object.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use hrx_trace_reader::{Argument, ArgumentValue, Name, Trace};
use serde::{Serialize, Serializer};

use crate::figures::exact::Exact;
use crate::text::names::key_text;

/// What stands for the rest of a text that was cut, or whose rest is lost.
const CUT: char = '…';

/// Names that are kept: more than programs use.
const NAMES_MAX: usize = 1 << 10;

/// The names of the arguments of one trace, each read once.
#[derive(Default)]
pub struct Keys {
    names: HashMap<u32, String>,
}

impl Keys {
    /// The name of an argument.
    pub fn name(&mut self, trace: &Trace, key: u32) -> Cow<'_, str> {
        let kept = self.names.len() < NAMES_MAX;
        match self.names.entry(key) {
            Entry::Occupied(known) => known.into_mut().as_str().into(),
            // A name that is still being written may be complete the next time.
            Entry::Vacant(new) if kept && trace.key(key) != Name::Unreadable => {
                new.insert(key_text(trace, key)).as_str().into()
            }
            Entry::Vacant(_) => key_text(trace, key).into(),
        }
    }

    /// The arguments as a JSON object.
    pub fn object<'event>(
        &mut self,
        trace: &Trace,
        arguments: &'event [Argument],
        integers: Integers,
    ) -> ArgumentsObject<'event> {
        let mut object = ArgumentsObject::new();
        for argument in arguments {
            let name = self.name(trace, argument.key).into_owned();
            let values = object.entry(name).or_default();
            values.0.push(JsonValue { argument, integers });
        }
        object
    }
}

/// How JSON holds integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integers {
    /// As numbers, whatever their size.
    AsNumbers,
    /// As strings, if doubles do not hold them: beyond 2^53.
    Exact,
}

/// Arguments by their names, as JSON: `{"batch":64,"path":"x"}`. Of several with one name, the values are an array. A number that is not finite is a
/// string: JSON has none. A text that was cut, or whose rest is lost, ends in `…`.
pub type ArgumentsObject<'event> = BTreeMap<String, JsonValues<'event>>;

/// The values of the arguments with one name.
#[derive(Debug, Default)]
pub struct JsonValues<'event>(Vec<JsonValue<'event>>);

impl Serialize for JsonValues<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [value] => value.serialize(serializer),
            values => serializer.collect_seq(values),
        }
    }
}

#[derive(Debug)]
struct JsonValue<'event> {
    argument: &'event Argument,
    integers: Integers,
}

impl JsonValue<'_> {
    /// Whether a number that is this far from 0 is a number in the JSON.
    fn fits(&self, distance: u64) -> bool {
        self.integers == Integers::AsNumbers || distance <= Exact::NUMBER_MAX
    }
}

impl Serialize for JsonValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.argument.value {
            ArgumentValue::U64(value) if self.fits(*value) => serializer.serialize_u64(*value),
            ArgumentValue::I64(value) if self.fits(value.unsigned_abs()) => {
                serializer.serialize_i64(*value)
            }
            ArgumentValue::F64(value) if value.is_finite() => serializer.serialize_f64(*value),
            ArgumentValue::Bool(value) => serializer.serialize_bool(*value),
            _ => serializer.serialize_str(&value_text(self.argument)),
        }
    }
}

/// The value of an argument as text.
pub fn value_text(argument: &Argument) -> Cow<'_, str> {
    match &argument.value {
        ArgumentValue::U64(value) => value.to_string().into(),
        ArgumentValue::I64(value) => value.to_string().into(),
        ArgumentValue::F64(value) => format!("{value:?}").into(),
        ArgumentValue::Bool(value) => value.to_string().into(),
        ArgumentValue::Text(text) if argument.cut || argument.incomplete => {
            format!("{text}{CUT}").into()
        }
        ArgumentValue::Text(text) => text.into(),
        _ => "of a type that this version does not know".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::captures::Captures;
    use hrx_trace_tests::capture::Capture as Made;

    fn argument(key: u32, value: ArgumentValue, cut: bool, incomplete: bool) -> Argument {
        let mut argument = Argument::default();
        (argument.key, argument.value) = (key, value);
        (argument.cut, argument.incomplete) = (cut, incomplete);
        argument
    }

    #[test]
    fn every_value_in_json() {
        let mut made = Made::new(1);
        let [batch, path] = ["batch", "a \"path\""].map(|text| made.key(text));
        let captures = Captures::of_bytes([made.bytes()]);
        let text = |text: &str| ArgumentValue::Text(text.to_owned());
        let arguments = [
            argument(batch, ArgumentValue::U64(u64::MAX), false, false),
            argument(batch, ArgumentValue::I64(i64::MIN), false, false),
            argument(batch, ArgumentValue::U64(1 << 53), false, false),
            argument(batch, ArgumentValue::I64(-5), false, false),
            argument(batch, ArgumentValue::F64(0.1), false, false),
            argument(batch, ArgumentValue::F64(1e300), false, false),
            argument(batch, ArgumentValue::F64(f64::NAN), false, false),
            argument(batch, ArgumentValue::F64(f64::NEG_INFINITY), false, false),
            argument(batch, ArgumentValue::Bool(true), false, false),
            argument(path, text("64 \n\u{1f680}"), false, false),
            argument(0, text("cut"), true, false),
            argument(99, text(""), false, true),
        ];
        let mut keys = Keys::default();
        let mut json = |integers| {
            let object = keys.object(&captures[0].trace, &arguments, integers);
            serde_json::to_string(&object).expect("JSON")
        };
        assert_eq!(
            json(Integers::AsNumbers),
            r#"{"a \"path\"":"64 \n🚀","batch":[18446744073709551615,-9223372036854775808,9007199254740992,-5,0.1,1e+300,"NaN","-inf",true],"key 99 (unreadable)":"…","unnamed":"cut…"}"#
        );
        assert!(
            json(Integers::Exact)
                .contains(r#"["18446744073709551615","-9223372036854775808",9007199254740992,-5,"#)
        );
        assert_eq!(keys.name(&captures[0].trace, batch), "batch");
    }
}
