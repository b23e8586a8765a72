//! Offsets of the global timer between SMs, from round trips of a token.

use std::collections::HashMap;

/// The shortest round trip between block 0's SM and another block's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// The other block's SM.
    pub sm: u32,
    /// Its timer − that of block 0 in the middle of the trip, ns.
    pub offset_ns: i64,
    /// Length of the trip, ns; 0 for block 0 itself, `u64::MAX` for a block that never answered.
    pub trip_ns: u64,
}

/// The largest difference between the offsets of any two SMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skew {
    /// The difference, ns.
    pub offset_ns: u64,
    /// No offset is known better than this, ns: a trip of length t bounds its error by t / 2.
    pub error_ns: u64,
}

/// The skew that the trips of one launch tell; `None` where a block did not answer, or where two
/// blocks shared an SM, so that others were left out.
pub fn largest(trips: &[Trip]) -> Option<Skew> {
    let by_sm: HashMap<u32, &Trip> = trips.iter().map(|trip| (trip.sm, trip)).collect();
    let answered = trips.iter().all(|trip| trip.trip_ns != u64::MAX);
    if trips.is_empty() || by_sm.len() < trips.len() || !answered {
        return None;
    }
    let lowest = trips.iter().map(|trip| trip.offset_ns).min()?;
    let highest = trips.iter().map(|trip| trip.offset_ns).max()?;
    let longest = trips.iter().map(|trip| trip.trip_ns).max()?;
    Some(Skew { offset_ns: highest.abs_diff(lowest), error_ns: longest.div_ceil(2) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trip(sm: u32, offset_ns: i64, trip_ns: u64) -> Trip {
        Trip { sm, offset_ns, trip_ns }
    }

    #[test]
    fn the_skew_spans_all_sms_and_is_unknown_where_one_is_missing() {
        let own = trip(5, 0, 0);
        let cases = [
            (vec![own, trip(1, -40, 900), trip(2, 60, 1001)], Some((100, 501))),
            (vec![own], Some((0, 0))),
            (vec![own, trip(1, -40, u64::MAX)], None),
            (vec![own, trip(5, 30, 900)], None),
            (vec![], None),
        ];
        for (trips, expected) in cases {
            let found = largest(&trips).map(|skew| (skew.offset_ns, skew.error_ns));
            assert_eq!(found, expected, "{trips:?}");
        }
    }
}
