//! Correctness: comparison of a variant's output with a float64 reference.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::Number;

/// A digest of an input or output: the first 16 bytes of its SHA-256 in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Digest(pub String);

impl Digest {
    /// Returns the digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_parts([bytes])
    }

    /// Returns the digest of several byte strings, one after the other. Each is preceded by its length, so that moving
    /// a boundary changes the digest.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self::from_hash(hash)
    }

    /// Returns the digest of float64 values, bit for bit.
    pub fn of_f64(values: impl IntoIterator<Item = f64>) -> Self {
        let mut hash = Sha256::new();
        for value in values {
            hash.update(value.to_bits().to_le_bytes());
        }
        Self::from_hash(hash)
    }

    fn from_hash(hash: Sha256) -> Self {
        let digest = hash.finalize();
        Self(digest[..16].iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Allowed deviation of a value from its float64 reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// No deviation.
    Exact,
    /// |actual - reference| is at most this.
    Absolute(f64),
    /// |actual - reference| is at most this x max(|reference|, 1): relative for large values, absolute for small ones.
    Relative(f64),
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Whether the result is right.
    pub passed: bool,
    /// Largest deviation from the reference, in the terms of the tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Number>,
    /// Largest deviation that is still right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Number>,
    /// Number of NaN values in the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nan_count: Option<u64>,
    /// Digest of the checked input, equal for all variants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Digest>,
    /// Digest of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Digest>,
    /// Description of the error: which values are wrong, and where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Check {
    /// Compares values with their reference. They agree if the length is the same, NaN is exactly where the reference
    /// has NaN, and everything else is within the tolerance.
    pub fn compare(reference: &[f64], actual: &[f64], tolerance: Tolerance) -> Self {
        let (limit, scale): (f64, fn(f64) -> f64) = match tolerance {
            Tolerance::Exact => (0.0, |_| 1.0),
            Tolerance::Absolute(limit) => (limit, |_| 1.0),
            Tolerance::Relative(limit) => (limit, |reference| reference.abs().max(1.0)),
        };
        let mut check = Self {
            tolerance: Some(Number(limit)),
            nan_count: Some(actual.iter().filter(|v| v.is_nan()).count() as u64),
            output: Some(Digest::of_f64(actual.iter().copied())),
            ..Self::default()
        };
        if reference.len() != actual.len() {
            check.message = Some(format!("{} values instead of {}", actual.len(), reference.len()));
            return check;
        }
        let mut worst = 0.0_f64;
        for (i, (&r, &a)) in reference.iter().zip(actual).enumerate() {
            // Equal values include infinities of one sign, whose difference is NaN.
            let deviation = if r == a || (r.is_nan() && a.is_nan()) { 0.0 } else { (a - r).abs() / scale(r) };
            // `>` is false for NaN, so a NaN on one side only is handled here.
            if deviation.is_nan() || deviation > worst {
                worst = if deviation.is_nan() { f64::INFINITY } else { deviation };
                if worst > limit {
                    check.message = Some(format!("value {i} is {a} instead of {r}"));
                }
            }
        }
        check.error = Some(Number(worst));
        check.passed = worst <= limit;
        check
    }

    /// Compares bytes exactly.
    pub fn exact(reference: &[u8], actual: &[u8]) -> Self {
        let passed = reference == actual;
        let differs = || {
            let at = reference.iter().zip(actual).position(|(r, a)| r != a);
            match at {
                Some(at) => format!("byte {at} differs from the reference"),
                None => format!("{} bytes instead of {}", actual.len(), reference.len()),
            }
        };
        Self { passed, output: Some(Digest::of(actual)), message: (!passed).then(differs), ..Self::default() }
    }

    /// Creates a failed check for a reason that no number expresses.
    pub fn wrong(message: impl Into<String>) -> Self {
        Self { passed: false, message: Some(message.into()), ..Self::default() }
    }

    /// Adds the digest of the input.
    #[must_use]
    pub fn with_input(mut self, input: Digest) -> Self {
        self.input = Some(input);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f64 = f64::NAN;
    const INF: f64 = f64::INFINITY;

    #[test]
    fn equal_values_pass_whatever_they_are() {
        let values = [0.0, -1.5, 1e300, NAN, INF, -INF];
        let check = Check::compare(&values, &values, Tolerance::Exact);
        assert!(check.passed);
        assert_eq!(check.error, Some(Number(0.0)));
        assert_eq!(check.nan_count, Some(1));
    }

    #[test]
    fn a_nan_on_one_side_only_is_wrong() {
        assert!(!Check::compare(&[1.0], &[NAN], Tolerance::Absolute(1e9)).passed);
        assert!(!Check::compare(&[NAN], &[1.0], Tolerance::Absolute(1e9)).passed);
        assert!(!Check::compare(&[INF], &[-INF], Tolerance::Relative(1e9)).passed);
        assert!(!Check::compare(&[1.0], &[INF], Tolerance::Relative(1e9)).passed);
    }

    #[test]
    fn a_later_nan_is_not_hidden_by_an_earlier_deviation() {
        let check = Check::compare(&[1.0, 2.0], &[1.1, NAN], Tolerance::Absolute(0.5));
        assert!(!check.passed);
        assert_eq!(check.message.as_deref(), Some("value 1 is NaN instead of 2"));
    }

    #[test]
    fn tolerances_mean_what_they_say() {
        assert!(Check::compare(&[1000.0], &[1001.0], Tolerance::Relative(1e-3)).passed);
        assert!(!Check::compare(&[1000.0], &[1001.0], Tolerance::Absolute(1e-3)).passed);
        assert!(Check::compare(&[0.0], &[1e-3], Tolerance::Relative(1e-3)).passed);
        assert!(!Check::compare(&[0.0], &[1e-300], Tolerance::Exact).passed);
    }

    #[test]
    fn a_different_length_is_wrong() {
        assert!(!Check::compare(&[1.0], &[], Tolerance::Exact).passed);
        assert!(Check::compare(&[], &[], Tolerance::Exact).passed);
        assert!(!Check::exact(b"ab", b"abc").passed);
    }

    #[test]
    fn digests_tell_values_and_boundaries_apart() {
        assert_ne!(Digest::of_parts([b"ab".as_slice(), b"c"]), Digest::of_parts([b"a".as_slice(), b"bc"]));
        assert_ne!(Digest::of_f64([0.0]), Digest::of_f64([-0.0]));
    }
}
