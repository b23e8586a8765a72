//! The attribution: each kind alone, each left out of all, then one coordinate after the other,
//! then edge by edge, and what was chosen once more in rounds of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::choice::{Unit, units};
use super::compose::compose;
use super::ledger::{Handle, Ledger, floor};
use super::listing::Listing;
use super::options::{Options, Progress};
use super::race::Race;
use super::report::{Effect, Origin, Report, verdict_name};
use super::trials::{Flips, Rounds, Trials};
use crate::error::Result;
use crate::record::Verdict;
use crate::stats::median;

/// Variants that are instantiated at once; a batch holds the original twice beside them.
const BATCH: usize = 40;
/// Fewest rounds that are worth running: an interval of 95 % needs six independent ones.
const ROUNDS_MIN: u32 = 12;
/// Most passes of the coordinate search.
const PASSES: u32 = 6;
/// Part of the budget that is kept for the last comparison.
const RESERVE: f64 = 0.1;

/// A comparison to be made: what it is of, and the two variants.
#[derive(Clone, Debug)]
struct Wish {
    baseline: Flips,
    variant: Flips,
}

/// What the attribution knows so far.
pub(super) struct Attribution<'a> {
    pub listing: &'a Listing,
    pub options: &'a Options,
    pub races: &'a BTreeMap<u32, Race>,
    pub units: Vec<Unit>,
    pub ledger: Ledger,
    /// Units that gave wrong outputs, and how.
    pub wrong: BTreeMap<u32, String>,
    /// Edges that gave wrong outputs in timed rounds.
    pub wrong_edges: BTreeSet<u32>,
    pub alone: BTreeMap<u32, Handle>,
    pub in_all: BTreeMap<u32, Handle>,
    pub unit_in_chosen: BTreeMap<u32, Handle>,
    pub edge_in_chosen: BTreeMap<u32, Handle>,
    pub all: Option<Handle>,
    pub chosen: Option<Handle>,
    pub chosen_flips: Flips,
    pub baseline_ns: Vec<f64>,
    pub out_of_budget: bool,
    pub warnings: Vec<String>,
    seed: u64,
    /// Seconds that one sample and one new variant cost, from what has been run.
    sample_s: f64,
    trials: &'a mut dyn Trials,
}

/// Attributes the edges of a graph. `races` are the race checks that were run.
///
/// # Errors
/// The device's, or an interruption.
pub fn attribute(
    listing: &Listing,
    races: &BTreeMap<u32, Race>,
    options: &Options,
    origin: &Origin,
    trials: &mut dyn Trials,
) -> Result<Report> {
    let mut attribution = Attribution::new(listing, races, options, trials);
    attribution.verify()?;
    if attribution.units.is_empty() {
        attribution.original_alone()?;
    } else {
        let start = attribution.kinds()?;
        let chosen = attribution.coordinates(start)?;
        let refined = if options.refine { attribution.edges(&chosen)? } else { chosen.clone() };
        attribution.confirm(chosen, refined)?;
    }
    let elapsed_s = attribution.trials.elapsed_s();
    Ok(compose(attribution, origin, elapsed_s))
}

impl<'a> Attribution<'a> {
    fn new(
        listing: &'a Listing,
        races: &'a BTreeMap<u32, Race>,
        options: &'a Options,
        trials: &'a mut dyn Trials,
    ) -> Attribution<'a> {
        Attribution {
            listing,
            options,
            races,
            units: units(listing, races, options),
            ledger: Ledger::new(options),
            wrong: BTreeMap::new(),
            wrong_edges: BTreeSet::new(),
            alone: BTreeMap::new(),
            in_all: BTreeMap::new(),
            unit_in_chosen: BTreeMap::new(),
            edge_in_chosen: BTreeMap::new(),
            all: None,
            chosen: None,
            chosen_flips: Flips::none(),
            baseline_ns: Vec::new(),
            out_of_budget: false,
            warnings: Vec::new(),
            seed: options.seed,
            sample_s: 0.0,
            trials,
        }
    }

    /// Every unit alone, then joined by the others: those with a wrong byte are left out.
    fn verify(&mut self) -> Result<()> {
        let (mut kept, mut together) = (Vec::new(), Flips::none());
        let all = std::mem::take(&mut self.units);
        let of = all.len() as u32;
        for (done, unit) in all.into_iter().enumerate() {
            self.tell("verify kinds of edges", done as u32, of)?;
            let alone = Flips::of(unit.edges.iter().copied());
            let wrong = self.trials.wrong_bytes(&alone)?;
            if wrong > 0 {
                let why = format!("{wrong} bytes of the outputs differ when its kind is flipped");
                self.wrong.insert(unit.kind, why);
                continue;
            }
            let joined = together.toggled(&unit.edges);
            let wrong = if together.is_empty() { 0 } else { self.trials.wrong_bytes(&joined)? };
            if wrong > 0 {
                let why = format!(
                    "{wrong} bytes of the outputs differ when its kind is flipped beside others"
                );
                self.wrong.insert(unit.kind, why);
                continue;
            }
            together = joined;
            kept.push(unit);
        }
        self.units = kept;
        Ok(())
    }

    fn everything(&self) -> Flips {
        Flips::of(self.units.iter().flat_map(|unit| unit.edges.iter().copied()))
    }

    /// Nothing may be flipped: the original's duration and the floor are still worth knowing.
    fn original_alone(&mut self) -> Result<()> {
        self.compare("time the original graph", &[], self.options.rounds)?;
        Ok(())
    }

    /// Leave one in and leave one out, kind by kind. Returns where the search starts.
    fn kinds(&mut self) -> Result<Flips> {
        let (none, all) = (Flips::none(), self.everything());
        let mut wishes = vec![Wish { baseline: none.clone(), variant: all.clone() }];
        for unit in &self.units {
            wishes.push(Wish { baseline: none.clone(), variant: none.toggled(&unit.edges) });
        }
        if self.units.len() > 1 {
            for unit in &self.units {
                wishes.push(Wish { baseline: all.toggled(&unit.edges), variant: all.clone() });
            }
        }
        let step = "time each kind alone and left out";
        let handles = self.compare(step, &wishes, self.options.rounds)?;
        let count = self.units.len();
        self.all = handles.first().copied().flatten();
        let kinds: Vec<u32> = self.units.iter().map(|unit| unit.kind).collect();
        for (place, &kind) in kinds.iter().enumerate() {
            let alone = handles.get(1 + place).copied().flatten();
            let in_all = handles.get(1 + count + place).copied().flatten().or(alone);
            self.alone.extend(alone.map(|handle| (kind, handle)));
            self.in_all.extend(in_all.map(|handle| (kind, handle)));
        }
        // What helps beside the others, and what helps by itself: the others decide later.
        let helps = |handle: Option<&Handle>| {
            let effect = handle.map(|&handle| self.ledger.family(&[handle]).remove(0));
            effect.is_some_and(|effect| effect.saved_lo_ns.is_some_and(|lo| lo > 0.0))
        };
        let start = self
            .units
            .iter()
            .filter(|unit| helps(self.in_all.get(&unit.kind)) || helps(self.alone.get(&unit.kind)));
        Ok(Flips::of(start.flat_map(|unit| unit.edges.iter().copied())))
    }

    /// From `start`, turns round the one kind that gains most, until none gains for certain.
    fn coordinates(&mut self, start: Flips) -> Result<Flips> {
        let mut chosen = start;
        for pass in 1..=PASSES {
            let units = self.units.clone();
            let wishes: Vec<Wish> = units.iter().map(|unit| toggle(&chosen, &unit.edges)).collect();
            let step = format!("turn kinds round, pass {pass}");
            let handles = self.compare(&step, &wishes, self.options.rounds)?;
            self.unit_in_chosen = units
                .iter()
                .zip(&handles)
                .filter_map(|(unit, handle)| Some((unit.kind, (*handle)?)))
                .collect();
            let known: Vec<(usize, Handle)> =
                handles.iter().enumerate().filter_map(|(i, h)| Some((i, (*h)?))).collect();
            let family =
                self.ledger.family(&known.iter().map(|&(_, handle)| handle).collect::<Vec<_>>());
            // An effect is that of flipping: for what is flipped already, turning round undoes it.
            let best = known
                .iter()
                .zip(&family)
                .filter_map(|(&(place, _), effect)| {
                    let edges = &units[place].edges;
                    let gain = gain(effect, chosen.edges().contains(&edges[0]))?;
                    Some((place, gain * edges.len() as f64))
                })
                .max_by(|a, b| a.1.total_cmp(&b.1));
            let Some((place, _)) = best else { break };
            if self.out_of_budget {
                break;
            }
            chosen = chosen.toggled(&units[place].edges);
        }
        Ok(self.without_idle(chosen))
    }

    /// Without the kinds that bring nothing: an edge that is not flipped obliges to nothing.
    fn without_idle(&self, chosen: Flips) -> Flips {
        let mut kept = chosen.clone();
        for unit in &self.units {
            let Some(&handle) = self.unit_in_chosen.get(&unit.kind) else { continue };
            let effect = self.ledger.family(&[handle]).remove(0);
            let idle = effect.verdict == Verdict::Equivalent
                || effect.saved_ns.is_some_and(|saved| saved <= 0.0);
            if idle && chosen.edges().contains(&unit.edges[0]) {
                kept = kept.toggled(&unit.edges);
            }
        }
        kept
    }

    /// Every edge turned round by itself. Returns the set without those that hurt and with those
    /// that help.
    fn edges(&mut self, chosen: &Flips) -> Result<Flips> {
        let several = self.units.iter().filter(|unit| unit.edges.len() > 1);
        let edges: Vec<u32> = several.flat_map(|unit| unit.edges.iter().copied()).collect();
        if edges.is_empty() {
            return Ok(chosen.clone());
        }
        let wishes: Vec<Wish> = edges.iter().map(|&edge| toggle(chosen, &[edge])).collect();
        let handles = self.compare("turn edges round", &wishes, self.options.rounds)?;
        let known: Vec<(u32, Handle)> =
            edges.iter().zip(&handles).filter_map(|(&e, h)| Some((e, (*h)?))).collect();
        let family = self.ledger.family(&known.iter().map(|&(_, h)| h).collect::<Vec<_>>());
        let mut refined = chosen.clone();
        for (&(edge, _), effect) in known.iter().zip(&family) {
            if effect.verdict == Verdict::Wrong {
                self.wrong_edges.insert(edge);
            }
            if gain(effect, chosen.edges().contains(&edge)).is_some() {
                refined = refined.toggled(&[edge]);
            }
        }
        self.edge_in_chosen = known.into_iter().collect();
        Ok(refined)
    }

    /// The candidates and everything, against the original in rounds of their own: what was chosen
    /// by its samples must not be judged by them.
    fn confirm(&mut self, chosen: Flips, refined: Flips) -> Result<()> {
        let none = Flips::none();
        if chosen.is_empty() && refined.is_empty() {
            return Ok(());
        }
        let mut wishes = vec![Wish { baseline: none.clone(), variant: refined.clone() }];
        if chosen != refined {
            wishes.push(Wish { baseline: none.clone(), variant: chosen.clone() });
            wishes.push(Wish { baseline: chosen.clone(), variant: refined.clone() });
        }
        let everything = self.everything();
        let all_again = everything != refined && everything != chosen;
        if all_again {
            wishes.push(Wish { baseline: none, variant: everything });
        }
        let handles = self.compare("time what was chosen", &wishes, 2 * self.options.rounds)?;
        if all_again {
            self.all = handles.last().copied().flatten().or(self.all);
        }
        let better = match handles.get(2).copied().flatten().filter(|_| chosen != refined) {
            Some(handle) => {
                let effect = self.ledger.family(&[handle]).remove(0);
                effect.saved_ns.is_some_and(|saved| saved > 0.0)
            }
            None => true,
        };
        let (flips, handle) = match better {
            true => (refined, handles.first().copied().flatten()),
            false => (chosen, handles.get(1).copied().flatten()),
        };
        let effect = handle.map(|handle| self.ledger.family(&[handle]).remove(0));
        self.chosen = handle;
        if effect.as_ref().is_some_and(|effect| effect.verdict == Verdict::Helps) {
            self.chosen_flips = flips;
        } else if let Some(effect) = effect {
            self.warnings.push(format!(
                "no set of edges is recommended: the best candidate, {} edges, is {}",
                flips.len(),
                verdict_name(effect.verdict)
            ));
        }
        Ok(())
    }

    /// Makes comparisons in batches that each hold the original twice. `None` where the budget
    /// left no room.
    fn compare(&mut self, step: &str, wishes: &[Wish], rounds: u32) -> Result<Vec<Option<Handle>>> {
        let mut handles = Vec::new();
        let mut rest = wishes;
        loop {
            let (batch, taken) = Batch::fill(rest);
            self.tell(step, handles.len() as u32, wishes.len() as u32)?;
            match self.affordable(batch.variants.len(), rounds) {
                Some(rounds) => handles.extend(self.run(&batch, rounds)?.into_iter().map(Some)),
                None => {
                    self.out_of_budget = true;
                    handles.extend(vec![None; taken]);
                }
            }
            rest = &rest[taken..];
            if rest.is_empty() {
                return Ok(handles);
            }
        }
    }

    /// Rounds that fit into what is left of the budget.
    fn affordable(&self, variants: usize, rounds: u32) -> Option<u32> {
        let left_s = self.options.budget_s - self.trials.elapsed_s();
        let reserve_s = self.options.budget_s * RESERVE;
        let left_s = if rounds > self.options.rounds { left_s } else { left_s - reserve_s };
        if self.sample_s == 0.0 {
            return Some(rounds.max(ROUNDS_MIN));
        }
        // The first launch of each is a round more.
        let fit = left_s / (self.sample_s * variants as f64) - 1.0;
        (fit >= f64::from(ROUNDS_MIN)).then_some(rounds.max(ROUNDS_MIN).min(fit as u32))
    }

    fn run(&mut self, batch: &Batch, rounds: u32) -> Result<Vec<Handle>> {
        self.seed = self.seed.wrapping_add(1);
        let before_s = self.trials.elapsed_s();
        let found = self.trials.rounds(&batch.variants, rounds, self.seed)?;
        let samples = (rounds + 1) as f64 * batch.variants.len() as f64;
        self.sample_s = self.sample_s.max((self.trials.elapsed_s() - before_s) / samples);
        let floor_ns = floor(&found, 0, 1);
        self.ledger.floor_ns = floor_ns.into_iter().chain(self.ledger.floor_ns).reduce(f64::max);
        self.remember(&found);
        let pairs = batch.pairs.iter();
        Ok(pairs.map(|&(pair, hops)| self.ledger.note(&found, pair, hops, floor_ns)).collect())
    }

    fn remember(&mut self, found: &Rounds) {
        self.baseline_ns.extend(found.durations_ns[0].iter().flatten());
        let nodes = self.listing.nodes.len().max(1) as f64;
        self.ledger.period_ns = median(&self.baseline_ns).map(|duration| duration / nodes);
    }

    fn tell(&mut self, step: &str, done: u32, of: u32) -> Result<()> {
        self.trials.tell(&Progress { step: step.to_owned(), done, of })
    }
}

/// Variants to be timed together, the original first and second, and pairs of them.
struct Batch {
    variants: Vec<Flips>,
    pairs: Vec<((usize, usize), u32)>,
}

impl Batch {
    /// As many wishes as fit, from the first on.
    fn fill(wishes: &[Wish]) -> (Batch, usize) {
        let mut batch = Batch { variants: vec![Flips::none(), Flips::none()], pairs: Vec::new() };
        for wish in wishes {
            if batch.variants.len() + 2 > BATCH {
                break;
            }
            let pair = (batch.place(&wish.baseline), batch.place(&wish.variant));
            let hops = wish.baseline.edges().symmetric_difference(wish.variant.edges()).count();
            batch.pairs.push((pair, hops as u32));
        }
        let taken = batch.pairs.len();
        (batch, taken)
    }

    fn place(&mut self, flips: &Flips) -> usize {
        let known = self.variants.iter().position(|variant| variant == flips);
        known.unwrap_or_else(|| {
            self.variants.push(flips.clone());
            self.variants.len() - 1
        })
    }
}

/// The comparison that says what flipping `edges` brings beside the rest of `chosen`.
fn toggle(chosen: &Flips, edges: &[u32]) -> Wish {
    let other = chosen.toggled(edges);
    match edges.first().is_some_and(|edge| chosen.edges().contains(edge)) {
        true => Wish { baseline: other, variant: chosen.clone() },
        false => Wish { baseline: chosen.clone(), variant: other },
    }
}

/// What turning round would gain for certain, ns a hop: the effect is that of flipping.
fn gain(effect: &Effect, flipped: bool) -> Option<f64> {
    match (effect.verdict, flipped) {
        (Verdict::Helps, false) => effect.saved_ns,
        (Verdict::Hurts, true) => effect.saved_ns.map(|saved| -saved),
        (Verdict::Wrong, true) => Some(f64::INFINITY),
        _ => None,
    }
}
