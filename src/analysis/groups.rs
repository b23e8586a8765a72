//! Where the groups of a run stand, and what they are called: by the axes of a sweep, or by those of
//! the user's own chain.

use std::collections::BTreeMap;

use crate::chain::Chain;
use crate::coordinates::{Coordinate, coordinates, short_names};
use crate::record::Manifest;

/// The chain of each group, before calibration; its trigger means nothing.
pub(super) fn chains(manifest: &Manifest) -> BTreeMap<u32, &Chain> {
    let mut chains = BTreeMap::new();
    for point in &manifest.plan.points {
        chains.entry(point.group).or_insert(&point.chain);
    }
    chains
}

/// Where a group stands.
pub(super) fn place(manifest: &Manifest, chain: &Chain) -> Vec<Coordinate> {
    let variant = manifest.kernel.as_ref().and_then(|kernel| kernel.variant(chain));
    let Some(variant) = variant else { return coordinates(chain) };
    let own = variant.axes.iter().map(|(name, &value)| Coordinate {
        axis: name.clone().into(),
        text: format!("{name} = {value}"),
        rank: value as f64,
        quantity: true,
        telling: true,
    });
    // Shapes and work follow from the axes; how chains follow one another does not.
    let shared = coordinates(chain).into_iter().filter(|one| ["mode", "L2"].contains(&&*one.axis));
    own.chain(shared).collect()
}

/// A short name of each group of the plan.
pub fn group_names(manifest: &Manifest) -> BTreeMap<u32, String> {
    let chains = chains(manifest);
    let places: Vec<_> = chains.values().map(|chain| place(manifest, chain)).collect();
    let own = manifest.kernel.as_ref();
    let axes = chains.values().map(|chain| {
        let variant = own?.variant(chain)?;
        let text = variant.axes_text();
        Some(if text.is_empty() { own?.name.clone() } else { text })
    });
    let names = short_names(&places, None);
    let named = axes.zip(names).map(|(axes, name)| axes.unwrap_or(name));
    chains.keys().copied().zip(named).collect()
}
