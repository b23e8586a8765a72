//! A library with a launch hook.

use std::path::Path;

use crate::cli::KernelArgs;
use crate::error::{Error, Result};

pub fn run(_args: &KernelArgs, library: &Path) -> Result<()> {
    Err(Error::failed(format!("use {}", library.display()), "not built"))
}
