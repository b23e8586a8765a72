//! Where a chain stands on every axis of a sweep other than the trigger: what tells groups apart.

use std::borrow::Cow;

use crate::chain::{Chain, PreambleKind, Target};
use crate::units::{bytes, plain};

/// One axis of a sweep: its name, its value as text, and a number to sort by.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinate {
    /// Name of the axis.
    pub axis: Cow<'static, str>,
    /// Its value in this group.
    pub text: String,
    /// Sorts values of one axis; in ns, bytes, or a count.
    pub rank: f64,
    /// Whether the value is a quantity, so that there is a more and a less of it.
    pub quantity: bool,
    /// Whether it has to be said when it does not vary.
    pub telling: bool,
}

/// Where a chain stands on every axis; always the same axes in the same order, but for the body,
/// whose amount is a length or a number of bytes.
pub fn coordinates(chain: &Chain) -> Vec<Coordinate> {
    let of = |axis: &'static str, text: String, rank: f64, quantity| Coordinate {
        axis: axis.into(),
        text,
        rank,
        quantity,
        telling: true,
    };
    let named = |axis, text: String| of(axis, text, 0.0, false);
    let number = |axis, value: f64| of(axis, plain(value), value, true);
    let body = match chain.body.target {
        Target::Ns(ns) => of("body length", body_text(chain), ns, true),
        Target::Bytes(count) => of("body bytes", body_text(chain), count as f64, true),
    };
    let preamble = chain.preamble;
    let preamble_us = format!("{} µs", plain(preamble.target_ns / 1e3));
    let idle = preamble.kind == PreambleKind::None;
    let shape = chain.shape;
    let (shared, cluster) = (f64::from(shape.shared_bytes), f64::from(shape.cluster_blocks));
    vec![
        named("body kind", chain.body.kind.to_string()),
        body,
        named("preamble kind", preamble.kind.to_string()),
        Coordinate {
            telling: !idle,
            ..of("preamble length", preamble_us, preamble.target_ns, true)
        },
        number("blocks", shape.grid_blocks.into()),
        number("threads a block", shape.block_threads.into()),
        Coordinate {
            telling: shared > 0.0,
            ..of("shared a block", bytes(shape.shared_bytes.into()), shared, true)
        },
        Coordinate { telling: cluster > 1.0, ..number("blocks a cluster", cluster) },
        number("nodes", chain.nodes.into()),
        named("mode", chain.mode.to_string()),
        named("L2", chain.l2.to_string()),
        named("trigger by", chain.trigger_by.to_string()),
    ]
}

/// The amount of a body as it was asked for.
pub fn body_text(chain: &Chain) -> String {
    match chain.body.target {
        Target::Ns(ns) => format!("{} µs", plain(ns / 1e3)),
        Target::Bytes(count) => bytes(count),
    }
}

/// Sets of places that differ in one axis alone, of two places or more: the axis, and which places,
/// in order of its value.
pub fn families(places: &[Vec<Coordinate>]) -> Vec<(String, Vec<usize>)> {
    let count = places.first().map_or(0, Vec::len);
    let mut families = Vec::new();
    for axis in 0..count {
        let mut sets: Vec<(Vec<&Coordinate>, Vec<usize>)> = Vec::new();
        for (at, place) in places.iter().enumerate().filter(|(_, place)| place.len() == count) {
            let mut others: Vec<_> = place.iter().collect();
            others.remove(axis);
            match sets.iter_mut().find(|(key, _)| *key == others) {
                Some((_, members)) => members.push(at),
                None => sets.push((others, vec![at])),
            }
        }
        for (_, mut members) in sets.into_iter().filter(|(_, members)| members.len() > 1) {
            let value = |at: usize| &places[at][axis];
            members.sort_by(|&a, &b| {
                let ranks = value(a).rank.total_cmp(&value(b).rank);
                ranks.then_with(|| value(a).text.cmp(&value(b).text))
            });
            families.push((places[members[0]][axis].axis.to_string(), members));
        }
    }
    families
}

/// A short name of each place: the body, and what else differs among them. What `except` names, an
/// axis that is told elsewhere, is left out.
pub fn short_names(places: &[Vec<Coordinate>], except: Option<&str>) -> Vec<String> {
    let varies = |axis: usize| places.iter().any(|place| place.get(axis) != places[0].get(axis));
    let name = |place: &Vec<Coordinate>| {
        let told = |one: &&Coordinate| except != Some(&*one.axis);
        // Kind and amount of the body are always said.
        let body = |one: &&Coordinate| one.axis.starts_with("body ");
        let bodies: Vec<_> = place.iter().filter(body).filter(told).collect();
        let texts: Vec<&str> = bodies.iter().map(|one| one.text.as_str()).collect();
        let mut parts = vec![texts.join(" ")];
        parts.retain(|text| !text.is_empty());
        let others = place.iter().enumerate().filter(|(axis, one)| !body(one) && varies(*axis));
        parts.extend(others.map(|(_, one)| one).filter(told).map(|one| match &*one.axis {
            "preamble kind" | "preamble length" => format!("preamble {}", one.text),
            "trigger by" => format!("triggered by {}", one.text),
            "L2" => format!("L2 {}", one.text),
            "mode" => one.text.clone(),
            axis => format!("{} {axis}", one.text),
        }));
        parts.join(", ")
    };
    places.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Mode;

    fn chain() -> Chain {
        Chain::default()
    }

    fn named(chains: &[&Chain], except: Option<&str>) -> Vec<String> {
        let places: Vec<_> = chains.iter().map(|chain| coordinates(chain)).collect();
        short_names(&places, except)
    }

    #[test]
    fn a_short_name_says_the_body_and_what_differs() {
        let mut wide = chain();
        wide.shape.grid_blocks = 264;
        let mut pipelined = wide;
        pipelined.mode = Mode::Pipelined;
        assert_eq!(named(&[&chain()], None), ["fma 4 µs"]);
        assert_eq!(
            named(&[&chain(), &wide], None),
            ["fma 4 µs, 132 blocks", "fma 4 µs, 264 blocks"]
        );
        assert_eq!(
            named(&[&wide, &pipelined], None),
            ["fma 4 µs, isolated", "fma 4 µs, pipelined"]
        );
        let mut bytes = chain();
        bytes.body.target = Target::Bytes(3 << 20);
        assert_eq!(named(&[&chain(), &bytes], None), ["fma 4 µs", "fma 3 MiB"]);
        assert_eq!(
            named(&[&chain(), &wide], Some("body length")),
            ["fma, 132 blocks", "fma, 264 blocks"]
        );
        assert_eq!(named(&[], None), [""; 0]);
    }

    #[test]
    fn a_family_differs_in_one_axis_and_is_in_its_order() {
        let mut long = chain();
        long.body.target = Target::Ns(8000.0);
        let mut short = chain();
        short.body.target = Target::Ns(500.0);
        let mut other = short;
        other.nodes = 10;
        let places = [&long, &chain(), &short, &other].map(coordinates);
        let found = families(&places);
        let expected = [("body length", vec![2, 1, 0]), ("nodes", vec![3, 2])];
        assert_eq!(found, expected.map(|(axis, at)| (axis.to_owned(), at)));
    }
}
