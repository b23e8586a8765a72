//! How one value is written in a cell of a CSV file, and read back.

use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::Serialize;
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

/// Why a row cannot be read: the column, if it is one column's fault, and the cause.
#[derive(Debug, PartialEq)]
pub(super) struct Bad {
    column: Option<&'static str>,
    cause: String,
}

impl Bad {
    pub(super) fn row(cause: impl Into<String>) -> Bad {
        Bad { column: None, cause: cause.into() }
    }

    pub(super) fn column(column: &'static str, cause: impl Into<String>) -> Bad {
        Bad { column: Some(column), cause: cause.into() }
    }
}

impl Display for Bad {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.column {
            Some(column) => write!(f, "column {column}: {}", self.cause),
            None => f.write_str(&self.cause),
        }
    }
}

/// One value as text.
pub(super) trait Cell<T> {
    fn write(value: &T) -> String;
    fn read(text: &str) -> Result<T, String>;
}

/// As `Display` and `FromStr` have it: text, whole numbers, truth.
pub(super) struct Plain;

impl<T> Cell<T> for Plain
where
    T: Display + FromStr,
    T::Err: Display,
{
    fn write(value: &T) -> String {
        value.to_string()
    }

    fn read(text: &str) -> Result<T, String> {
        text.parse().map_err(|error| format!("'{}': {error}", shown(text)))
    }
}

/// The name that serde gives a variant: the same in CSV and JSON.
pub(super) struct Name;

impl<T: Serialize + DeserializeOwned> Cell<T> for Name {
    fn write(value: &T) -> String {
        match serde_json::to_value(value) {
            Ok(serde_json::Value::String(name)) => name,
            other => unreachable!("a named variant serialises to its name, not to {other:?}"),
        }
    }

    fn read(text: &str) -> Result<T, String> {
        let name: StrDeserializer<'_, ValueError> = text.into_deserializer();
        T::deserialize(name).map_err(|error| escaped(&error.to_string()))
    }
}

/// A finite number with a fixed count of decimals. One that is not finite is written as nothing:
/// it was not measured.
pub(super) struct Fixed<const DECIMALS: usize>;

impl<const DECIMALS: usize> Cell<f64> for Fixed<DECIMALS> {
    fn write(value: &f64) -> String {
        let text = if value.is_finite() { format!("{value:.DECIMALS$}") } else { String::new() };
        // A rounded −0.04 is zero, and zero has no sign.
        match text.strip_prefix('-') {
            Some(digits) if digits.bytes().all(|b| matches!(b, b'0' | b'.')) => digits.to_owned(),
            _ => text,
        }
    }

    fn read(text: &str) -> Result<f64, String> {
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(format!("'{}' is not a finite number", shown(text))),
        }
    }
}

/// An empty cell is `None`: not applicable, or not measured.
pub(super) struct Maybe<C>(PhantomData<C>);

impl<T, C: Cell<T>> Cell<Option<T>> for Maybe<C> {
    fn write(value: &Option<T>) -> String {
        value.as_ref().map(C::write).unwrap_or_default()
    }

    fn read(text: &str) -> Result<Option<T>, String> {
        if text.is_empty() { Ok(None) } else { C::read(text).map(Some) }
    }
}

/// What stands in a file, fit to stand in an error: short, and without control characters.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", escaped(&text[..end])),
        None => escaped(text),
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Arm, Trigger};

    #[test]
    fn numbers_have_fixed_decimals_and_no_negative_zero() {
        let table = [
            (0.0, "0.0"),
            (-0.0, "0.0"),
            (-0.04, "0.0"),
            (-0.06, "-0.1"),
            (1980.25, "1980.2"),
            (1e15, "1000000000000000.0"),
            (f64::NAN, ""),
            (f64::NEG_INFINITY, ""),
        ];
        for (value, expected) in table {
            assert_eq!(Fixed::<1>::write(&value), expected);
        }
        assert_eq!(Fixed::<4>::write(&1.23456), "1.2346");
    }

    #[test]
    fn only_finite_numbers_are_read() {
        for bad in ["NaN", "inf", "-infinity", "1e999", "", " 1", "1,5", "0x10", "12.3.4"] {
            assert!(Fixed::<1>::read(bad).unwrap_err().contains("finite"), "{bad}");
        }
        assert_eq!(Fixed::<1>::read("-12.5"), Ok(-12.5));
    }

    #[test]
    fn names_are_those_of_the_command_line() {
        assert_eq!(Name::write(&Arm::GraphPdl), "graph-pdl");
        assert_eq!(<Name as Cell<Arm>>::read("graph-aa"), Ok(Arm::GraphAa));
        assert_eq!(Name::write(&Trigger::Segment { at: 4, of: 8 }), "4/8");
        assert_eq!(Maybe::<Name>::read(""), Ok(None::<Trigger>));
        let error = <Name as Cell<Arm>>::read("graph\u{1b}[31m").unwrap_err();
        assert!(error.contains("graph-pdl") && !error.contains('\u{1b}'), "{error}");
    }

    #[test]
    fn a_hostile_cell_is_shown_short_and_harmless() {
        assert_eq!(shown("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(shown(&"é".repeat(100)).chars().count(), 41);
    }
}
