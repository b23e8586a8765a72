//! The table of the first set of axis values, as soon as it is measured: a run of several sets goes on
//! for seconds.

use std::path::Path;
use std::time::Instant;

use super::super::{table, terminal};
use crate::analysis::summarise;
use crate::record::{Run, read_run};

/// What tells of the first of `sets`, in a process that began at `began`.
pub fn teller(sets: usize, began: Instant) -> Box<dyn Fn(&Path)> {
    Box::new(move |path| {
        // What cannot be read now will be said when the whole run is.
        let Ok(run) = read_run(path) else { return };
        let run = only_first(run);
        let summary = summarise(&run.manifest, &run.points, &run.samples);
        terminal::note(format_args!(
            "the first of {sets} sets of axis values, {:.1} s after the start; the whole table \
             corrects its verdicts for all of them",
            began.elapsed().as_secs_f64()
        ));
        terminal::raw(&table::summary(&summary, &run));
    })
}

/// The run as if its first set were all of it.
fn only_first(mut run: Run) -> Run {
    run.manifest.plan.points.retain(|point| point.group == 0);
    if let Some(kernel) = &mut run.manifest.kernel {
        kernel.variants.truncate(1);
    }
    let own: Vec<String> =
        run.manifest.plan.points.iter().map(|point| point.point.clone()).collect();
    run.points.retain(|record| record.group == 0);
    run.samples.retain(|sample| own.iter().any(|point| **point == *sample.point));
    run
}
