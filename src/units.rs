//! The only formatting of quantities: fixed decimals, units last, a dash for what is not a number.

/// What stands for a quantity that does not apply or was not measured.
pub const ABSENT: &str = "–";

/// A number with `decimals` fixed decimals; zero has no sign, [`ABSENT`] for what is not finite.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|b| b == b'0' || b == b'.') => digits.to_owned(),
        _ => text,
    }
}

/// The same with a sign, plus included, unless it rounds to zero.
pub fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    let zero = text.bytes().all(|b| b == b'0' || b == b'.');
    if value > 0.0 && value.is_finite() && !zero { format!("+{text}") } else { text }
}

/// Nanoseconds as microseconds with three decimals, without the unit: for columns.
pub fn us_number(ns: f64) -> String {
    fixed(ns / 1e3, 3)
}

/// Nanoseconds as microseconds: `4.120 µs`.
pub fn us(ns: f64) -> String {
    with_unit(us_number(ns), " µs")
}

/// A difference in nanoseconds as microseconds: `+1.234 µs`, `-0.050 µs`, `0.000 µs`.
pub fn signed_us(ns: f64) -> String {
    with_unit(signed(ns / 1e3, 3), " µs")
}

/// A ratio as a percentage: 0.005 is `0.5 %`.
pub fn percent(ratio: f64) -> String {
    with_unit(fixed(ratio * 100.0, 1), " %")
}

/// A change as a percentage with a sign: 0.031 is `+3.1 %`.
pub fn signed_percent(ratio: f64) -> String {
    with_unit(signed(ratio * 100.0, 1), " %")
}

/// A speed-up: `1.234×`.
pub fn speedup(ratio: f64) -> String {
    with_unit(fixed(ratio, 3), "×")
}

/// An interval of differences given in nanoseconds, in microseconds without the unit:
/// `+1.200 to +1.260`.
pub fn format_interval(lo_ns: f64, hi_ns: f64) -> String {
    format!("{} to {}", signed(lo_ns / 1e3, 3), signed(hi_ns / 1e3, 3))
}

/// A quantity that may be absent.
pub fn or_absent(value: Option<f64>, format: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), format)
}

fn with_unit(text: String, unit: &str) -> String {
    if text == ABSENT { text } else { text + unit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_fixed_decimals_and_differences_a_sign() {
        for (ns, plain, with_sign) in [
            (1234.4, "1.234 µs", "+1.234 µs"),
            (-50.0, "-0.050 µs", "-0.050 µs"),
            (-0.2, "0.000 µs", "0.000 µs"),
            (0.2, "0.000 µs", "0.000 µs"),
            (0.0, "0.000 µs", "0.000 µs"),
            (1e9, "1000000.000 µs", "+1000000.000 µs"),
            (f64::NAN, "–", "–"),
            (f64::INFINITY, "–", "–"),
        ] {
            assert_eq!(us(ns), plain);
            assert_eq!(signed_us(ns), with_sign);
        }
    }

    #[test]
    fn ratios_and_intervals() {
        assert_eq!(percent(0.005), "0.5 %");
        assert_eq!(signed_percent(-0.0312), "-3.1 %");
        assert_eq!(speedup(1.2345), "1.234×");
        assert_eq!(format_interval(-20.0, 1260.0), "-0.020 to +1.260");
        assert_eq!(or_absent(None, us), "–");
        assert_eq!(or_absent(Some(1500.0), us), "1.500 µs");
    }
}
