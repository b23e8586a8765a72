//! What a chain is compiled for.

use std::path::Path;

use crate::compile::Compiled;
use crate::error::{Error, Result};

/// The oldest architecture with programmatic launches.
const OLDEST: u32 = 90;

/// What is compiled for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// `sm_90`.
    pub arch: String,
    /// Major and minor capability of the device that runs it.
    pub capability: (u32, u32),
}

impl Target {
    /// The device that a name such as `sm_90` or `sm_100a` is of.
    ///
    /// # Errors
    /// Why it is of none that has programmatic launches.
    pub fn named(arch: &str) -> std::result::Result<Target, String> {
        let number = arch.strip_prefix("sm_").map(|rest| rest.trim_end_matches(['a', 'f']));
        let plain = number.filter(|number| number.bytes().all(|b| b.is_ascii_digit()));
        let number: Option<u32> = plain.and_then(|number| number.parse().ok());
        match number.filter(|&number| number >= 10) {
            Some(number) if number >= OLDEST => {
                Ok(Target { arch: arch.to_owned(), capability: (number / 10, number % 10) })
            }
            Some(_) => Err(format!(
                "programmatic launches need sm_{OLDEST} or newer: below it marks compile to \
                 nothing, and {arch} has neither sync nor trigger"
            )),
            None => Err(format!("'{arch}' is no architecture such as sm_90, sm_90a or sm_100")),
        }
    }

    /// Whether its device runs the machine code of `source`.
    ///
    /// # Errors
    /// It does not, and what to do.
    pub(super) fn demand(&self, source: &Path, cubin: &Compiled) -> Result<()> {
        let (major, minor) = self.capability;
        if cubin.arch / 10 == major && cubin.arch % 10 <= minor {
            return Ok(());
        }
        let cause = format!(
            "it is machine code for sm_{}, and what it is to run on is {major}.{minor}",
            cubin.arch
        );
        let remedy = match source.extension().is_some_and(|extension| extension == "cubin") {
            true => {
                "compile it for that device, or give its .cu or .ptx; in a dry run --arch names the \
                 device"
            }
            false => "leave --arch and the chain file's arch out: the device's own is taken",
        };
        Err(Error::failed(format!("use {}", source.display()), cause).remedy(remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_devices_with_programmatic_launches_are_targets() {
        for (arch, expected) in [
            ("sm_90", Ok((9, 0))),
            ("sm_90a", Ok((9, 0))),
            ("sm_100f", Ok((10, 0))),
            ("sm_121a", Ok((12, 1))),
            ("sm_89", Err("need sm_90 or newer")),
            ("sm_80", Err("need sm_90 or newer")),
            ("90", Err("no architecture")),
            ("compute_90", Err("no architecture")),
            ("sm_", Err("no architecture")),
            ("sm_9", Err("no architecture")),
            ("sm_90b", Err("no architecture")),
            ("sm_99999999999", Err("no architecture")),
        ] {
            match (Target::named(arch), expected) {
                (Ok(target), Ok(capability)) => assert_eq!(target.capability, capability),
                (Err(cause), Err(part)) => assert!(cause.contains(part), "{arch}: {cause}"),
                (found, _) => panic!("{arch}: {found:?}"),
            }
        }
    }
}
