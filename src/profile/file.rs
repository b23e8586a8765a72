//! Profiles as files.

use std::path::Path;
use std::sync::LazyLock;

use super::Profile;
use crate::error::{Error, Result};

const H200: &str = include_str!("../../devices/h200.toml");

/// The profile that is built in: one H200.
pub static BUILT_IN: LazyLock<Profile> =
    LazyLock::new(|| H200.parse().expect("a test reads the built-in profile"));

/// Reads a profile.
///
/// # Errors
/// A file that cannot be read, or a profile with a missing, unknown, negative or contradictory
/// field, or of a later version; the field is named.
pub fn read(path: &Path) -> Result<Profile> {
    let action = || format!("use the profile {}", path.display());
    let text = std::fs::read_to_string(path).map_err(|cause| Error::failed(action(), cause))?;
    Profile::parse(&text).map_err(|cause| {
        Error::failed(action(), cause)
            .remedy("schema/profile-1.0.json says what a profile holds; devices/h200.toml is one")
    })
}

impl std::str::FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Profile, String> {
        Profile::parse(text)
    }
}

impl Profile {
    /// Parses and validates a profile.
    fn parse(text: &str) -> std::result::Result<Profile, String> {
        let table: toml::Table = text.parse().map_err(described)?;
        super::validate::version(&table)?;
        let profile: Profile = toml::from_str(text).map_err(described)?;
        profile.validate()?;
        Ok(profile)
    }

    /// The profile as TOML: one constant a line.
    pub fn to_toml(&self) -> String {
        let value = toml::Table::try_from(self).expect("a profile is a table of plain values");
        let mut text = String::new();
        let mut tables = Vec::new();
        for (key, value) in &value {
            match value {
                toml::Value::Table(table) => tables.push((key, table)),
                _ => text += &format!("{key} = {value}\n"),
            }
        }
        for (key, table) in tables {
            let (lists, fields): (Vec<_>, Vec<_>) = table.iter().partition(|(_, v)| is_list(v));
            if !fields.is_empty() {
                text += &format!("\n[{key}]\n");
            }
            fields.iter().for_each(|(name, value)| text += &format!("{name} = {value}\n"));
            for (name, knots) in lists {
                for knot in knots.as_array().into_iter().flatten() {
                    text += &format!("\n[[{key}.{name}]]\n");
                    let fields = knot.as_table().into_iter().flatten();
                    fields.for_each(|(name, value)| text += &format!("{name} = {value}\n"));
                }
            }
        }
        text
    }
}

/// An array of tables, as knots are.
fn is_list(value: &toml::Value) -> bool {
    value.as_array().is_some_and(|array| array.iter().all(toml::Value::is_table))
}

/// What the parser says, with the line in place of an excerpt.
fn described(error: toml::de::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().and_then(|first| first.split("line ").nth(1));
    let line = line.and_then(|rest| rest.split(',').next());
    match line {
        Some(line) => format!("line {line}: {}", error.message()),
        None => error.message().to_owned(),
    }
}
