//! Statistics of paired samples. Pure: slices in, numbers out, no clock and no randomness.
//!
//! **The primary method is the median of paired differences, with an interval from order
//! statistics and the sign test's p-value.** The alternative, Hodges–Lehmann with signed ranks,
//! needs differences that are symmetric about their median and estimates the pseudo-median.
//! Differences of durations are not symmetric: one arm may be preempted, throttled or evicted in
//! a few rounds and only ever be slower. Order statistics assume nothing about the shape, estimate
//! the very median that the tables name, and pair with the sign test. The price is width: about
//! 1.25 times that of a mean's interval where the differences are gaussian.
//!
//! Rounds follow one another in time, so their differences may be correlated. Every interval and
//! p-value is computed for the effective number of rounds; see `serial`.

mod batches;
mod family;
mod interval;
mod order;
mod proportion;
mod serial;
mod sign;
mod two_sample;

pub use batches::batch_p_value;
pub use family::holm;
pub use interval::{
    CONFIDENCE, ExactInterval, Interval, MedianEstimate, Ranked, estimate_median,
    exact_median_interval,
};
pub use order::{at_rank, median, quantile};
pub use proportion::{never_seen_bound, proportion};
pub use serial::{MIN_ROUNDS, Serial, serial};
pub use sign::sign_p_value;
pub use two_sample::{MedianDifference, beyond_p_value, median_difference};

#[cfg(test)]
mod coverage;
