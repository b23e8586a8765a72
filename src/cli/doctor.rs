//! Flags of `pdl doctor`.

use clap::Args;

use super::BackendChoice;

/// Arguments of `pdl doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Device to look at
    #[arg(long, value_enum, default_value_t, env = "PDL_BACKEND")]
    pub backend: BackendChoice,
}
