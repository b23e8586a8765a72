//! Axes of an experiment as they are typed: lists and inclusive ranges, whose product is measured.

use std::str::FromStr;

/// The most values that one axis may have: a product of such axes is no sweep but a mistake.
const MAX_VALUES: usize = 4096;

/// The values of one axis: `1,2,4`, `0.5..4:0.5` (inclusive), or a mixture.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis<T>(pub Vec<T>);

/// A number that can stand on an axis.
pub trait Number: Copy + PartialOrd + FromStr {
    /// The number as a float, to count steps.
    fn float(self) -> f64;
    /// The number nearest to a float.
    fn nearest(value: f64) -> Self;
    /// Whether it is one that is expected; parsing alone lets NaN and infinity pass.
    fn allowed(self) -> bool {
        true
    }
    /// What is expected, for messages.
    const EXPECTED: &'static str;
}

impl Number for u32 {
    fn float(self) -> f64 {
        f64::from(self)
    }
    fn nearest(value: f64) -> Self {
        value.round() as u32
    }
    const EXPECTED: &'static str = "a whole number from 0 to 4294967295";
}

impl Number for u64 {
    fn float(self) -> f64 {
        self as f64
    }
    fn nearest(value: f64) -> Self {
        value.round() as u64
    }
    const EXPECTED: &'static str = "a whole number from 0 to 18446744073709551615";
}

impl Number for f64 {
    fn float(self) -> f64 {
        self
    }
    fn nearest(value: f64) -> Self {
        value
    }
    fn allowed(self) -> bool {
        self.is_finite() && self >= 0.0
    }
    const EXPECTED: &'static str = "a finite number from 0 up";
}

impl<T: Number> FromStr for Axis<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut values = Vec::new();
        for part in text.split(',').map(str::trim) {
            if part.is_empty() {
                return Err(format!(
                    "'{text}' has an empty value: give at least one, as 1,2 or 1..8:1"
                ));
            }
            match part.split_once("..") {
                Some((from, rest)) => range(part, from, rest, &mut values)?,
                None => values.push(number(part)?),
            }
            if values.len() > MAX_VALUES {
                return Err(format!("'{text}' has more than {MAX_VALUES} values"));
            }
        }
        Ok(Axis(values))
    }
}

fn number<T: Number>(text: &str) -> Result<T, String> {
    let value = text.parse().ok().filter(|value: &T| value.allowed());
    value.ok_or_else(|| format!("'{text}' is not {}", T::EXPECTED))
}

/// `from..to:step`, both ends included; the step is 1 when left out.
fn range<T: Number>(part: &str, from: &str, rest: &str, values: &mut Vec<T>) -> Result<(), String> {
    let (to, step) = rest.split_once(':').unwrap_or((rest, "1"));
    let (first, last): (T, T) = (number(from)?, number(to)?);
    let step: f64 = number::<f64>(step)?;
    if step == 0.0 || last < first {
        return Err(format!("'{part}' is empty: a range goes up by a step above zero, as 1..8:1"));
    }
    // The end belongs to the range even where steps do not add up to it bit for bit.
    let steps = ((last.float() - first.float()) / step + 1e-9).floor();
    if steps >= MAX_VALUES as f64 {
        return Err(format!("'{part}' has more than {MAX_VALUES} values"));
    }
    values.extend((0..=steps as u64).map(|i| T::nearest(first.float() + i as f64 * step)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_make_values() {
        let cases: [(&str, &[f64]); 5] = [
            ("4", &[4.0]),
            ("0.5,1, 2", &[0.5, 1.0, 2.0]),
            ("1..3", &[1.0, 2.0, 3.0]),
            ("0.1..0.4:0.1,9", &[0.1, 0.2, 0.1 + 2.0 * 0.1, 0.4, 9.0]),
            ("2..5:2", &[2.0, 4.0]),
        ];
        for (text, expected) in cases {
            let axis: Axis<f64> = text.parse().unwrap();
            assert_eq!(axis.0.len(), expected.len(), "{text}");
            for (value, expected) in axis.0.iter().zip(expected) {
                assert!((value - expected).abs() < 1e-12, "{text}: {value}");
            }
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "",
            ",",
            "1,,2",
            "-1",
            "nan",
            "inf",
            "1e999",
            "x",
            "3..1",
            "1..2:0",
            "0..1e9:1e-9",
            "1..2:-1",
        ] {
            assert!(text.parse::<Axis<f64>>().is_err(), "{text}");
        }
        for text in ["-1", "1.5", "4294967296", "1e3"] {
            assert!(text.parse::<Axis<u32>>().is_err(), "{text}");
        }
    }
}
