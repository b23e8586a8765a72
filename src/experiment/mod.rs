//! Experiments: from axes to a plan of points. They know nothing of files, charts or terminals.

pub mod calibration;
mod sweep;

pub use sweep::{Axes, Grid, chains, default_arms, plan, plan_of};
