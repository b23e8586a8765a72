//! Values that a chain file may write in more than one way.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::expr::{Axes, evaluate};

/// A whole number, or an expression over axes.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Number(i64),
    /// `"M * HIDDEN"`.
    Text(String),
}

impl Expr {
    /// Its value with these axes.
    ///
    /// # Errors
    /// Those of [`evaluate`].
    pub fn value(&self, axes: &Axes) -> Result<i64, String> {
        match self {
            Expr::Number(value) => Ok(*value),
            Expr::Text(text) => evaluate(text, axes),
        }
    }
}

/// Elements of a buffer, or the address of one of its elements.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// The address of element `offset` of a buffer.
    Buffer {
        /// Name of the buffer.
        name: String,
        /// Elements from its start.
        offset: Expr,
    },
    /// A whole number of so many bytes, signed or not.
    Integer {
        /// Bytes: 1, 2, 4 or 8.
        bytes: usize,
        /// Whether it is signed.
        signed: bool,
        /// The number.
        value: Expr,
    },
    /// A floating-point number of 4 or 8 bytes.
    Float {
        /// Bytes.
        bytes: usize,
        /// The number.
        value: f64,
    },
    /// A struct by value, as its bytes.
    Bytes(Vec<u8>),
    /// A struct by value, member by member, laid out as C lays it out.
    Struct(Vec<Arg>),
}

impl fmt::Display for Arg {
    /// As messages name it: `buffer x`, else its type.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Arg::Buffer { name, .. } => write!(f, "buffer {name}"),
            Arg::Integer { bytes, signed, .. } => {
                write!(f, "{}{}", if *signed { 'i' } else { 'u' }, 8 * bytes)
            }
            Arg::Float { bytes, .. } => write!(f, "f{}", 8 * bytes),
            Arg::Bytes(_) => f.write_str("bytes"),
            Arg::Struct(_) => f.write_str("struct"),
        }
    }
}

/// One table of an argument, of which exactly one kind may be given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArgTable {
    buffer: Option<String>,
    offset: Option<Expr>,
    i8: Option<Expr>,
    u8: Option<Expr>,
    i16: Option<Expr>,
    u16: Option<Expr>,
    i32: Option<Expr>,
    u32: Option<Expr>,
    i64: Option<Expr>,
    u64: Option<Expr>,
    f32: Option<f64>,
    f64: Option<f64>,
    bytes: Option<String>,
    #[serde(rename = "struct")]
    members: Option<Vec<Arg>>,
}

impl ArgTable {
    fn arg(self) -> Result<Arg, String> {
        let mut given = Vec::new();
        let offset = self.offset;
        let offset_alone = offset.is_some() && self.buffer.is_none();
        if let Some(name) = self.buffer {
            given.push(Arg::Buffer { name, offset: offset.unwrap_or(Expr::Number(0)) });
        }
        let integers = [
            (1, true, self.i8),
            (1, false, self.u8),
            (2, true, self.i16),
            (2, false, self.u16),
            (4, true, self.i32),
            (4, false, self.u32),
            (8, true, self.i64),
            (8, false, self.u64),
        ];
        for (bytes, signed, value) in integers {
            given.extend(value.map(|value| Arg::Integer { bytes, signed, value }));
        }
        for (bytes, value) in [(4, self.f32), (8, self.f64)] {
            given.extend(value.map(|value| Arg::Float { bytes, value }));
        }
        if let Some(text) = self.bytes {
            given.push(Arg::Bytes(hex(&text)?));
        }
        given.extend(self.members.map(Arg::Struct));
        match given.len() {
            1 if !offset_alone => Ok(given.remove(0)),
            1 => Err("an offset goes with a buffer".into()),
            0 => Err("an argument is one of buffer, i8 … u64, f32, f64, bytes, struct".into()),
            _ => Err("an argument is one value, and more are given".into()),
        }
    }
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace() && *b != b'_').collect();
    let pairs = digits.chunks(2).map(|pair| {
        let text = std::str::from_utf8(pair).ok().filter(|text| text.len() == 2)?;
        text.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u8::from_str_radix(text, 16).ok())?
    });
    let bytes: Option<Vec<u8>> = pairs.collect();
    bytes.filter(|bytes| !bytes.is_empty()).ok_or_else(|| {
        "bytes are pairs of hexadecimal digits, lowest address first (\"00 00 80 3f\")".into()
    })
}

/// What a buffer holds when a chain begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// Bytes 0xff: floats are NaN. For what the chain writes.
    Poison,
    /// Zeros.
    Zeros,
    /// Element `i` is `i`, wrapped to the type.
    Iota,
    /// Seeded, uniform over [low, high) for floats and over [low, high] for integers.
    Random {
        /// Seed.
        seed: u64,
        /// Lowest.
        low: f64,
        /// Highest.
        high: f64,
    },
    /// The elements of a `.npy` file of the chain file's folder.
    Npy(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FillTable {
    npy: Option<String>,
    random: Option<RandomTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RandomTable {
    #[serde(default)]
    seed: u64,
    low: Option<f64>,
    high: Option<f64>,
}

impl Fill {
    /// Random without a range: [−1, 1).
    const RANDOM: Fill = Fill::Random { seed: 0, low: -1.0, high: 1.0 };
}

/// A list of one to three, or one value for the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Dims(pub Vec<Expr>);

/// A list, or one value.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisValues(pub Vec<i64>);

/// Which sites are chosen, as a file writes it: `2`, `"1+4"`, or `"implicit"` for none.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteText(pub String);

struct OneOrMany<T> {
    expecting: &'static str,
    make: fn(One) -> Result<T, String>,
}

/// What stands in the file.
enum One {
    Number(i64),
    Text(String),
    Expressions(Vec<Expr>),
    Arg(Box<ArgTable>),
    Fill(FillTable),
}

struct AnyVisitor<T> {
    rule: OneOrMany<T>,
    table: Table,
}

#[derive(Clone, Copy, PartialEq)]
enum Table {
    None,
    Arg,
    Fill,
}

impl<'de, T> Visitor<'de> for AnyVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.rule.expecting)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        (self.rule.make)(One::Number(value)).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        let value = i64::try_from(value).map_err(E::custom)?;
        self.visit_i64(value)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.rule.make)(One::Text(text.to_owned())).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<T, A::Error> {
        let mut all = Vec::new();
        while let Some(next) = list.next_element()? {
            all.push(next);
        }
        (self.rule.make)(One::Expressions(all)).map_err(de::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let map = MapAccessDeserializer::new(map);
        let one = match self.table {
            Table::Arg => One::Arg(Box::new(ArgTable::deserialize(map)?)),
            Table::Fill => One::Fill(FillTable::deserialize(map)?),
            Table::None => {
                return Err(de::Error::custom(format!("expected {}", self.rule.expecting)));
            }
        };
        (self.rule.make)(one).map_err(de::Error::custom)
    }
}

macro_rules! readable {
    ($kind:ty, $table:expr, $expecting:expr, $make:expr) => {
        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let rule = OneOrMany { expecting: $expecting, make: $make };
                deserializer.deserialize_any(AnyVisitor { rule, table: $table })
            }
        }
    };
}

readable!(Expr, Table::None, "a whole number or an expression over axes", |one| match one {
    One::Number(value) => Ok(Expr::Number(value)),
    One::Text(text) => Ok(Expr::Text(text)),
    _ => Err("a whole number or an expression was expected".into()),
});
readable!(Dims, Table::None, "one to three whole numbers or expressions", |one| match one {
    One::Number(value) => Ok(Dims(vec![Expr::Number(value)])),
    One::Text(text) => Ok(Dims(vec![Expr::Text(text)])),
    One::Expressions(all) if (1..=3).contains(&all.len()) => Ok(Dims(all)),
    _ => Err("one to three whole numbers or expressions were expected".into()),
});
readable!(AxisValues, Table::None, "a whole number or a list of them", |one| match one {
    One::Number(value) => Ok(AxisValues(vec![value])),
    One::Expressions(all) if !all.is_empty() => {
        let numbers = all.iter().map(|expr| match expr {
            Expr::Number(value) => Ok(*value),
            Expr::Text(text) => Err(format!("'{text}' is no whole number")),
        });
        numbers.collect::<Result<_, _>>().map(AxisValues)
    }
    _ => Err("a whole number or a list of them was expected".into()),
});
readable!(SiteText, Table::None, "a site (2), sites (\"1+4\") or \"implicit\"", |one| match one {
    One::Number(value) => Ok(SiteText(value.to_string())),
    One::Text(text) => Ok(SiteText(text)),
    _ => Err("a site (2), sites (\"1+4\") or \"implicit\" was expected".into()),
});
readable!(Arg, Table::Arg, "a buffer's name or one typed value", |one| match one {
    One::Text(name) => Ok(Arg::Buffer { name, offset: Expr::Number(0) }),
    One::Arg(table) => table.arg(),
    One::Number(value) => Err(format!("{value} has no type: write {{ i32 = {value} }}")),
    _ => Err("a buffer's name or one typed value was expected".into()),
});
readable!(
    Fill,
    Table::Fill,
    "poison, zeros, iota, random, { npy = … } or { random = … }",
    |one| {
        match one {
            One::Text(text) => match text.as_str() {
                "poison" => Ok(Fill::Poison),
                "zeros" => Ok(Fill::Zeros),
                "iota" => Ok(Fill::Iota),
                "random" => Ok(Fill::RANDOM),
                _ => {
                    let known = ["poison", "zeros", "iota", "random"];
                    let near = super::nearest::suggestion(&text, known);
                    Err(format!("'{text}' is no fill{near}: {}", known.join(", ")))
                }
            },
            One::Fill(FillTable { npy: Some(file), random: None }) => Ok(Fill::Npy(file)),
            One::Fill(FillTable { npy: None, random: Some(range) }) => {
                let (low, high) = (range.low.unwrap_or(-1.0), range.high.unwrap_or(1.0));
                if !(low.is_finite() && high.is_finite() && low < high) {
                    return Err("random needs finite numbers, low below high".into());
                }
                Ok(Fill::Random { seed: range.seed, low, high })
            }
            _ => Err("a fill is one of poison, zeros, iota, random, npy".into()),
        }
    }
);
