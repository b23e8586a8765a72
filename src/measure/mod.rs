//! The protocol: calibrate the work, prepare and verify every arm, warm up, then sample all arms in
//! shuffled rounds. Knows devices and records; nothing of files, charts or terminals.

mod calibrate;

pub use calibrate::{Calibrated, calibrate};
