//! Cubins in the memory of this process.

use std::collections::HashMap;

use crate::machine_code::Counts;

pub(super) fn search() -> HashMap<(u32, String), Counts> {
    HashMap::new()
}
