//! The one error type: what could not be done, why, and what to do about it.

use std::fmt;
use std::process::ExitCode;

/// What kind of failure this is; it decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something failed, unreadable input included: exit code 1.
    Failed,
    /// The command line asks for what no GPU could do: exit code 2.
    Usage,
    /// No suitable GPU: exit code 3.
    NoGpu,
    /// Wrong results, a race, or a denied finding: exit code 4.
    Wrong,
    /// A regression was found: exit code 5.
    Regression,
    /// A comparison was refused, or stayed inconclusive where a verdict was demanded: exit code 6.
    Refused,
    /// Interrupted by the user: exit code 130.
    Interrupted,
    /// This GPU cannot run the point that was asked for: the point becomes a skipped row.
    Unsupported,
}

/// An error as the user reads it: `cannot {action}: {cause}`, then the remedy on its own line.
#[derive(Clone, Debug)]
pub struct Error {
    kind: Kind,
    action: String,
    cause: String,
    remedy: Option<String>,
}

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind`: `action` is a verb phrase that follows "cannot".
    pub fn new(kind: Kind, action: impl Into<String>, cause: impl fmt::Display) -> Self {
        Error { kind, action: action.into(), cause: one_line(&cause.to_string()), remedy: None }
    }

    /// A failure while doing `action`.
    pub fn failed(action: impl Into<String>, cause: impl fmt::Display) -> Self {
        Self::new(Kind::Failed, action, cause)
    }

    /// A request that no GPU could serve.
    pub fn usage(action: impl Into<String>, cause: impl fmt::Display) -> Self {
        Self::new(Kind::Usage, action, cause)
    }

    /// A point that this GPU cannot run.
    pub fn unsupported(action: impl Into<String>, cause: impl fmt::Display) -> Self {
        Self::new(Kind::Unsupported, action, cause)
    }

    /// The same error, saying at which point and arm it happened.
    pub fn at(mut self, place: &str) -> Self {
        self.action = format!("{} at {place}", self.action);
        self
    }

    /// The same error, ending with what to do about it.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The cause alone, one line.
    pub fn cause(&self) -> &str {
        &self.cause
    }

    /// The exit code of a process that ends with this error.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// The same as a number.
    pub fn code(&self) -> u8 {
        match self.kind {
            Kind::Failed | Kind::Unsupported => 1,
            Kind::Usage => 2,
            Kind::NoGpu => 3,
            Kind::Wrong => 4,
            Kind::Regression => 5,
            Kind::Refused => 6,
            Kind::Interrupted => 130,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.action, self.cause)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n     {remedy}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// Causes come from drivers, parsers and file systems; the user gets one line of each.
fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(str::trim).filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_as_one_line_and_a_remedy() {
        let error = Error::failed("open the device", "first\n  second").remedy("update the driver");
        assert_eq!(
            error.to_string(),
            "cannot open the device: first second\n     update the driver"
        );
    }
}
