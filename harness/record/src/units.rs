//! Figures with units chosen for people: three significant digits, and counts as they are.

use jiff::Timestamp;

/// A value in a metric's unit.
pub fn value(unit: &str, value: f64) -> String {
    match unit {
        "ns" => duration(value),
        "bytes" => bytes(value),
        "count" => count(value),
        "instructions" => format!("{} {unit}", count(value.round())),
        "share" => percent(value),
        "Hz" => format!("{}Hz", scaled(value)),
        "/s" => format!("{}/s", scaled(value)),
        _ if unit.ends_with("/s") => format!("{} {unit}", scaled(value)),
        _ => format!("{} {unit}", digits(value)),
    }
}

/// A duration given in ns.
pub fn duration(ns: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    with_unit(ns, &UNITS, "ns")
}

/// A size given in bytes, in powers of 1000.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [(f64, &str); 5] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
    with_unit(bytes, &UNITS, "B")
}

fn with_unit(value: f64, units: &[(f64, &str)], smallest: &str) -> String {
    // 999.7 rounds to 1000 of the smaller unit, so that it belongs to the larger one.
    let unit = units.iter().find(|(size, _)| value.abs() >= size * 0.9995);
    match unit {
        Some((size, name)) if value.is_finite() => format!("{} {name}", digits(value / size)),
        Some(_) | None => format!("{} {smallest}", digits(value)),
    }
}

/// A count: whole numbers in full with separators, small others with three digits.
pub fn count(value: f64) -> String {
    // From a thousand on, a fraction says less than separators do.
    if (value.fract() == 0.0 || value.abs() >= 1000.0) && value.abs() < 1e15 {
        let text = format!("{}", value.abs().round() as u64);
        let mut grouped = String::new();
        for (i, digit) in text.chars().enumerate() {
            if i > 0 && (text.len() - i).is_multiple_of(3) {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        if value < 0.0 { format!("-{grouped}") } else { grouped }
    } else {
        digits(value)
    }
}

/// A count with its noun: `1 case`, `2 cases`.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(number as f64), if number == 1 { "" } else { "s" })
}

fn scaled(value: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")];
    let unit = UNITS.iter().find(|(size, _)| value.abs() >= size * 0.9995);
    unit.map_or_else(|| digits(value), |(size, name)| format!("{}{name}", digits(value / size)))
}

/// Three significant digits.
pub fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor();
    // Rounding may carry into the next magnitude: 9.999 has the digits of 10.0.
    let step = 10f64.powf(magnitude - 2.0);
    let rounded = (value / step).round() * step;
    let magnitude = rounded.abs().log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 12.0) as usize;
    if magnitude > 8.0 { format!("{rounded:.2e}") } else { format!("{rounded:.decimals$}") }
}

/// Formats a factor.
pub fn factor(value: f64) -> String {
    format!("{}×", digits(value))
}

/// A ratio as a signed change.
pub fn relative(ratio: f64) -> String {
    // From here on, how many times says more than how many percent.
    if ratio >= 10.0 {
        return factor(ratio);
    }
    let percent = percent(ratio - 1.0);
    if percent.starts_with('-') || percent == self::percent(0.0) { percent } else { format!("+{percent}") }
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() >= 99.95 && percent.abs() < 100.0 {
        // 99.98 % is not 100 %.
        format!("{percent:.2} %")
    } else {
        format!("{} %", if percent.abs() < 0.005 { "0".into() } else { digits(percent) })
    }
}

/// A moment of RFC 3339 to the minute; as it is where it is none.
pub fn minute(instant: &str) -> String {
    match instant.parse::<Timestamp>() {
        Ok(at) => at.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        Err(_) => instant.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_a_unit_that_fits() {
        let cases = [
            (0.5, "0.500 ns"),
            (12.0, "12.0 ns"),
            (999.7, "1.00 µs"),
            (1_234.0, "1.23 µs"),
            (13_100_000.0, "13.1 ms"),
            (2.5e9, "2.50 s"),
            (3.6e12, "3600 s"),
            (0.0, "0 ns"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration(ns), text);
        }
        assert_eq!(duration(f64::NAN), "NaN ns");
    }

    #[test]
    fn counts_are_exact_and_grouped() {
        assert_eq!(count(1000.0), "1,000");
        assert_eq!(count(1_234_567.0), "1,234,567");
        assert_eq!(count(0.0), "0");
        assert_eq!(count(2.5), "2.50");
        assert_eq!(count(-1000.0), "-1,000");
        assert_eq!(count(54_000.5), "54,001");
    }

    #[test]
    fn bytes_and_rates_are_scaled() {
        assert_eq!(bytes(980.0), "980 B");
        assert_eq!(bytes(4_720_000.0), "4.72 MB");
        assert_eq!(value("records/s", 76_300.0), "76.3 k records/s");
        assert_eq!(value("dB", 3.0), "3.00 dB");
        assert_eq!(value("share", 0.35), "35.0 %");
        assert_eq!(value("Hz", 1.98e9), "1.98 GHz");
    }

    #[test]
    fn nearly_all_is_not_all() {
        assert_eq!(percent(0.98), "98.0 %");
        assert_eq!(percent(0.9998), "99.98 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(-2.0), "-200 %");
    }

    #[test]
    fn rounding_up_to_the_next_magnitude_keeps_three_digits() {
        assert_eq!(digits(9.999), "10.0");
        assert_eq!(digits(99.96), "100");
        assert_eq!(digits(0.012_345), "0.0123");
    }
}
