//! Flags of commands that run on the simulated device.

use std::path::PathBuf;

use clap::Args;

use super::BackendChoice;
use crate::error::{Error, Result};
use crate::profile::Model;

/// What the simulated device is made of.
#[derive(Clone, Debug, Default, Args)]
pub struct SimulatedArgs {
    /// Profile of the simulated device, or of the one to predict (TOML) [default: an H200's, built in]
    #[arg(long, env = "PDL_PROFILE", value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// How the simulated device, or a prediction, computes times
    #[arg(long, value_enum, default_value_t, env = "PDL_MODEL")]
    pub model: Model,
}

impl SimulatedArgs {
    /// A profile says nothing to a GPU.
    ///
    /// # Errors
    /// Usage, where a profile is given for one.
    pub fn check(&self, backend: BackendChoice) -> Result<()> {
        match &self.profile {
            Some(path) if backend != BackendChoice::Sim => Err(Error::usage(
                format!("use --profile {}", path.display()),
                "a profile is what the simulated device is made of",
            )
            .remedy("add --backend sim")),
            _ => Ok(()),
        }
    }
}
