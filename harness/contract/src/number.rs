//! Numbers on the wire.

use serde::de::{Error as _, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A float64 that survives JSON. Finite values are JSON numbers (integers without a fraction, so that exact counts stay
/// exact up to 2^53); the others, which JSON lacks, are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Number(pub f64);

/// Largest value up to which integers are exact in a float64.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.0;
        if value.is_nan() {
            serializer.serialize_str("NaN")
        } else if value.is_infinite() {
            serializer.serialize_str(if value > 0.0 { "Infinity" } else { "-Infinity" })
        } else if value.fract() == 0.0 && value.abs() <= EXACT {
            serializer.serialize_i64(value as i64)
        } else {
            serializer.serialize_f64(value)
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;
        impl Visitor<'_> for NumberVisitor {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"NaN\", \"Infinity\" or \"-Infinity\"")
            }
            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Number, E> {
                match text {
                    "NaN" => Ok(Number(f64::NAN)),
                    "Infinity" => Ok(Number(f64::INFINITY)),
                    "-Infinity" => Ok(Number(f64::NEG_INFINITY)),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(NumberVisitor).map_err(D::Error::custom)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Number {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Number".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A float64; values that JSON has no number for are strings.",
            "anyOf": [{ "type": "number" }, { "enum": ["NaN", "Infinity", "-Infinity"] }]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_float_survives_json() {
        for value in [0.0, -0.5, 1e300, 5e-324, 1000.0, EXACT, f64::INFINITY, f64::NEG_INFINITY] {
            let text = serde_json::to_string(&Number(value)).unwrap();
            assert_eq!(serde_json::from_str::<Number>(&text).unwrap().0, value, "{text}");
        }
        let text = serde_json::to_string(&Number(f64::NAN)).unwrap();
        assert_eq!(text, "\"NaN\"");
        assert!(serde_json::from_str::<Number>(&text).unwrap().0.is_nan());
        assert_eq!(serde_json::to_string(&Number(1000.0)).unwrap(), "1000");
    }

    #[test]
    fn other_texts_are_not_numbers() {
        assert!(serde_json::from_str::<Number>("\"12\"").is_err());
        assert!(serde_json::from_str::<Number>("null").is_err());
    }
}
