//! What a model says of every row of a recorded run.

use std::collections::BTreeMap;

use super::predict;
use crate::chain::{Arm, BodyKind};
use crate::profile::{Model, Profile};
use crate::record::{Manifest, PREDICTION_SCHEMA, PointRecord, PredictedRow, Prediction};

/// What `model` over `profile` says of the rows that `points` record. It is given the shape, the
/// trigger and the amounts of work, and no time that was measured. The sentinel has no chain and no
/// row.
pub fn forecast(
    profile: &Profile,
    model: Model,
    manifest: &Manifest,
    points: &[PointRecord],
) -> Prediction {
    let program = format!("{} {}", env!("CARGO_PKG_VERSION"), env!("PDL_REVISION"));
    // A resumed run prepares a point again: the later record holds.
    let mut latest: BTreeMap<(&str, Arm), &PointRecord> = BTreeMap::new();
    let chains = points.iter().filter(|record| record.arm != Arm::Sentinel);
    latest.extend(chains.map(|record| ((record.point.as_str(), record.arm), record)));
    let mut rows = Vec::with_capacity(latest.len());
    for place in &manifest.plan.points {
        for &arm in &place.arms {
            let Some(record) = latest.remove(&(place.point.as_str(), arm)) else { continue };
            let said = said(profile, model, record);
            let (period_ns, not_covered) = match said {
                Ok(period_ns) => (Some(period_ns), None),
                Err(cause) => (None, Some(cause)),
            };
            rows.push(PredictedRow { point: record.point.clone(), arm, period_ns, not_covered });
        }
    }
    Prediction {
        schema: PREDICTION_SCHEMA.to_owned(),
        program: program.trim().to_owned(),
        model,
        profile: profile.name.clone(),
        origin: profile.origin,
        provenance: profile.provenance.clone(),
        rows,
    }
}

/// What the model says of one row, or why it says nothing.
fn said(profile: &Profile, model: Model, record: &PointRecord) -> Result<f64, String> {
    if let Some(reason) = &record.skipped {
        return Err(reason.clone());
    }
    if record.chain.body.kind == BodyKind::Kernel {
        return Err("the kernels are your own: what work they do is not known".to_owned());
    }
    let chain = record.chain.with_trigger(record.trigger.unwrap_or(record.chain.trigger));
    predict(profile, model, &chain, record.arm).map_err(|error| error.cause().to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::SimDevice;
    use super::*;
    use crate::analysis::fixture::Fixture;
    use crate::chain::{Body, Target, Trigger};
    use crate::device::Device;
    use crate::profile::BUILT_IN;

    fn fixture() -> Fixture {
        let triggers = [Trigger::AtEntry, Trigger::Implicit];
        Fixture::new(&triggers, 4, 0.0, &|_, _| 0.0)
    }

    fn of<'a>(prediction: &'a Prediction, point: &str, arm: Arm) -> &'a PredictedRow {
        prediction.rows.iter().find(|row| row.point == point && row.arm == arm).unwrap()
    }

    #[test]
    fn the_model_gets_the_amounts_of_work_and_nothing_that_was_measured() {
        let mut fixture = fixture();
        fixture.points.iter_mut().for_each(|record| record.chain.body.units = 2000);
        let said = forecast(&BUILT_IN, Model::Closed, &fixture.manifest, &fixture.points);
        assert!(said.rows.iter().all(|row| row.not_covered.is_none() && row.arm != Arm::Sentinel));
        let graph = of(&said, "p000", Arm::Graph).period_ns.unwrap();
        for record in &mut fixture.points {
            record.stamps = None;
            record.body_ns = record.body_ns.map(|ns| 3.0 * ns);
            record.preamble_ns = None;
        }
        let same = forecast(&BUILT_IN, Model::Closed, &fixture.manifest, &fixture.points);
        assert_eq!(said, same);
        fixture.points.iter_mut().for_each(|record| record.chain.body.units = 4000);
        let longer = forecast(&BUILT_IN, Model::Closed, &fixture.manifest, &fixture.points);
        assert!(of(&longer, "p000", Arm::Graph).period_ns.unwrap() > graph + 500.0);
    }

    #[test]
    fn what_is_not_covered_is_said_and_not_guessed() {
        let mut fixture = fixture();
        for record in &mut fixture.points {
            record.chain.shape.shared_bytes = 300 << 10;
        }
        let said = forecast(&BUILT_IN, Model::Events, &fixture.manifest, &fixture.points);
        assert!(said.rows.iter().all(|row| row.period_ns.is_none() && row.not_covered.is_some()));
        for record in &mut fixture.points {
            record.chain.shape.shared_bytes = 0;
            record.chain.body = Body { kind: BodyKind::L2, units: 400_000, ..record.chain.body };
        }
        let said = forecast(&BUILT_IN, Model::Events, &fixture.manifest, &fixture.points);
        let cause = of(&said, "p000", Arm::Graph).not_covered.clone().unwrap();
        assert!(cause.contains("stays in L2 in part"), "{cause}");
    }

    #[test]
    fn a_run_of_the_model_itself_is_foretold() {
        let mut fixture = fixture();
        let device = SimDevice::new(BUILT_IN.clone(), Model::Closed, 3);
        let mut chain = fixture.points[0].chain;
        chain.body.target = Target::Ns(fixture.points[0].body_ns.unwrap());
        chain.preamble.target_ns = fixture.points[0].preamble_ns.unwrap_or(0.0);
        let chain = crate::measure::calibrate(&device, &chain).unwrap().chain;
        let sample = device.prepare(&chain, Arm::Graph).unwrap().sample().unwrap();
        let period_ns = sample.duration_ns / f64::from(chain.nodes);
        let same =
            |record: &mut PointRecord| record.chain = chain.with_trigger(record.chain.trigger);
        fixture.points.iter_mut().for_each(same);
        let said = forecast(&BUILT_IN, Model::Closed, &fixture.manifest, &fixture.points);
        let off = of(&said, "p000", Arm::Graph).period_ns.unwrap() / period_ns - 1.0;
        assert!(off.abs() < 0.01, "{off}");
    }
}
