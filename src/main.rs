//! The `pdl` binary.

fn main() {}
