//! Whole-number expressions over axis variables: exact, and checked against overflow.

use std::collections::BTreeMap;

/// Values of the axes, by name.
pub type Axes = BTreeMap<String, i64>;

/// Deepest nesting of parentheses and calls.
const DEEPEST: u32 = 64;

/// Evaluates `text`: numbers (decimal, or hexadecimal after `0x`; `_` may stand between digits),
/// axis variables, `+ - * / %`, parentheses, and `ceil_div(a, b)`, `min(a, b)`, `max(a, b)`.
/// Division rounds toward zero.
///
/// # Errors
/// What is wrong with the text, or the operation that overflows or divides by zero.
pub fn evaluate(text: &str, axes: &Axes) -> Result<i64, String> {
    let mut parser = Parser { rest: text, axes, depth: 0 };
    let value = parser.sum()?;
    match parser.peek() {
        None => Ok(value),
        Some(c) => Err(format!("'{text}': '{c}' was not expected there")),
    }
}

struct Parser<'a> {
    rest: &'a str,
    axes: &'a Axes,
    depth: u32,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.take(wanted) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".to_owned(), |c| format!("'{c}'"));
        Err(format!("'{wanted}' was expected, {found} was found"))
    }

    fn sum(&mut self) -> Result<i64, String> {
        let mut value = self.product()?;
        loop {
            value = if self.take('+') {
                apply("+", value, self.product()?, i64::checked_add)?
            } else if self.take('-') {
                apply("-", value, self.product()?, i64::checked_sub)?
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut value = self.factor()?;
        loop {
            value = if self.take('*') {
                apply("*", value, self.factor()?, i64::checked_mul)?
            } else if self.take('/') {
                apply("/", value, self.factor()?, i64::checked_div)?
            } else if self.take('%') {
                apply("%", value, self.factor()?, i64::checked_rem)?
            } else {
                return Ok(value);
            }
        }
    }

    fn factor(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("it is nested more than {DEEPEST} deep"));
        }
        let value = match self.peek() {
            Some('-') => {
                self.take('-');
                let value = self.factor()?;
                value.checked_neg().ok_or_else(|| format!("-({value}) overflows"))
            }
            Some('(') => {
                self.take('(');
                let value = self.sum()?;
                self.expect(')').map(|()| value)
            }
            Some(c) if c.is_ascii_digit() => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.name(),
            Some(c) => Err(format!("'{c}' begins neither a number nor a name")),
            None => Err("a number or a name was expected at the end".into()),
        };
        self.depth -= 1;
        value
    }

    fn word(&mut self) -> String {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word.to_owned()
    }

    fn number(&mut self) -> Result<i64, String> {
        let word = self.word();
        let digits = word.replace('_', "");
        let value = match digits.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        value.map_err(|error| format!("'{word}': {error}"))
    }

    fn name(&mut self) -> Result<i64, String> {
        let word = self.word();
        if self.peek() != Some('(') {
            let names: Vec<&str> = self.axes.keys().map(String::as_str).collect();
            let known = || super::nearest::suggestion_of("axes", &word, &names);
            return self
                .axes
                .get(&word)
                .copied()
                .ok_or_else(|| format!("'{word}' is no axis{}", known()));
        }
        self.take('(');
        let a = self.sum()?;
        self.expect(',')?;
        let b = self.sum()?;
        self.expect(')')?;
        match word.as_str() {
            "min" => Ok(a.min(b)),
            "max" => Ok(a.max(b)),
            "ceil_div" => apply("ceil_div", a, b, ceil_div),
            _ => {
                let known = super::nearest::suggestion(&word, ["min", "max", "ceil_div"]);
                Err(format!("'{word}' is no function{known}"))
            }
        }
    }
}

fn ceil_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    let up = a.checked_rem(b)? != 0 && (a < 0) == (b < 0);
    quotient.checked_add(up.into())
}

fn apply(
    name: &str,
    a: i64,
    b: i64,
    operation: impl Fn(i64, i64) -> Option<i64>,
) -> Result<i64, String> {
    operation(a, b).ok_or_else(|| match (name, b) {
        ("/" | "%" | "ceil_div", 0) => format!("{a} {name} 0 divides by zero"),
        _ => format!("{a} {name} {b} overflows"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes() -> Axes {
        [("M", 3), ("HIDDEN", 4096), ("BIG", i64::MAX)]
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    #[test]
    fn expressions_have_the_values_of_arithmetic() {
        for (text, expected) in [
            ("7", 7),
            ("1_024", 1024),
            ("0x10", 16),
            ("M * HIDDEN", 12_288),
            ("2 + 3 * 4 - 6 / 4", 13),
            ("(2 + 3) * 4 % 7", 6),
            ("-M + -(2)", -5),
            ("10 - 3 - 2", 5),
            ("ceil_div(M * 5, 4)", 4),
            ("ceil_div(-7, 2)", -3),
            ("ceil_div(8, 4)", 2),
            ("min(M, 2) + max(M, 9)", 11),
            ("BIG", i64::MAX),
        ] {
            assert_eq!(evaluate(text, &axes()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_evaluated_says_why() {
        let deep = "(".repeat(100);
        for (text, expected) in [
            ("", "a number or a name was expected"),
            ("2 +", "a number or a name was expected"),
            ("2 3", "'3' was not expected"),
            ("(2", "')' was expected, the end was found"),
            ("HIDEN", "'HIDEN' is no axis, did you mean HIDDEN"),
            ("mim(1, 2)", "'mim' is no function, did you mean min"),
            ("min(1)", "',' was expected, ')' was found"),
            ("M / (M - 3)", "3 / 0 divides by zero"),
            ("ceil_div(1, 0)", "divides by zero"),
            ("BIG + 1", "overflows"),
            ("BIG * M", "overflows"),
            ("(-BIG - 1) / -1", "overflows"),
            ("99999999999999999999", "number too large"),
            ("1e3", "invalid digit"),
            ("2 & 1", "'&' was not expected"),
            (deep.as_str(), "nested more than 64 deep"),
        ] {
            let error = evaluate(text, &axes()).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
