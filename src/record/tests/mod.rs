//! Tests of a run directory as a whole.

mod bad_input;
pub(crate) mod fixture;
mod full_disk;
mod killed;
mod lifecycle;
mod round_trip;
mod schema;
mod standing;
