//! Builds the CUDA shim and its bindings.
fn main() {}
