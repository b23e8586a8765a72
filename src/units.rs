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

/// A number without trailing zeros, at most four decimals: `4`, `0.25`.
pub fn plain(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e7).contains(&value.abs()) {
        return format!("{value:.1e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number of bytes in the largest unit that it fills: `512 B`, `1.5 KiB`, `60 MiB`.
pub fn bytes(count: u64) -> String {
    let count = count as f64;
    let rounded = |units: f64| plain((units * 100.0).round() / 100.0);
    match count {
        c if c >= 1073741824.0 => format!("{} GiB", rounded(c / 1073741824.0)),
        c if c >= 1048576.0 => format!("{} MiB", rounded(c / 1048576.0)),
        c if c >= 1024.0 => format!("{} KiB", rounded(c / 1024.0)),
        c => format!("{c} B"),
    }
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

    #[test]
    fn plain_numbers_and_bytes_have_no_trailing_zeros() {
        for (value, text) in
            [(4.0, "4"), (0.25, "0.25"), (132.0, "132"), (0.0, "0"), (1e9, "1.0e9")]
        {
            assert_eq!(plain(value), text);
        }
        for (count, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (62_914_560, "60 MiB"),
            (150_109_880_320, "139.8 GiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }
}
