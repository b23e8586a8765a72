//! Machine code of the shim: syncs and triggers are where the kernels' template arguments say, in
//! every architecture that is shipped. Needs the disassembler of the CUDA toolkit; without it the
//! tests skip with a reason, and `PDL_REQUIRE=codegen` makes that a failure.

mod rules;
mod sass;
mod sites;

#[cfg(feature = "cuda")]
mod actors;
mod checks;
#[cfg(feature = "cuda")]
mod mistakes;
#[cfg(feature = "cuda")]
mod replay;
#[cfg(feature = "cuda")]
mod shipped;
