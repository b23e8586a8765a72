//! Runs whose files were changed at random: whatever is in them, readers neither panic nor hang,
//! and an error names the file. Seconds in a test run; `MUTATE_SECONDS=600` looks for longer, from
//! the seed in `MUTATE_SEED`. What it found stands in `found`.

mod change;
mod found;
mod read;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use change::Files;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Changed runs that a plain test run reads.
const RUNS: u64 = 300;
/// A run of some hundred rows that takes longer than this hangs.
const LONGEST: Duration = Duration::from_secs(20);

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Not the compile-time path: a test that travels would carry it along.
fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from)
}

#[test]
fn no_changed_run_makes_a_reader_panic_or_hang() {
    let whole = read::with_summary(&Files::of(&root().join("tests/old-runs/1.0")));
    let began = Instant::now();
    let seconds = number("MUTATE_SECONDS").map(Duration::from_secs);
    let first = number("MUTATE_SEED").unwrap_or(0);
    let (mut done, mut readable) = (0, 0);
    for seed in first.. {
        if seconds.map_or(done == RUNS, |seconds| began.elapsed() > seconds) {
            break;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let changed = change::change(&whole, &mut rng);
        let started = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| read::everything(&changed, &whole)));
        let Ok(outcome) = outcome else {
            let kept = std::env::temp_dir().join(format!("pdl-mutate-{seed}"));
            changed.write(&kept);
            panic!("MUTATE_SEED={seed}: panicked; the run is kept in {}", kept.display());
        };
        assert!(started.elapsed() < LONGEST, "MUTATE_SEED={seed}: took {:?}", started.elapsed());
        readable += u64::from(outcome);
        done += 1;
    }
    println!("{done} changed runs from seed {first}, {readable} of them could be read");
    assert!(readable > done / 20, "{readable} of {done}: what is never read tests nothing");
    assert!(readable < done, "{readable} of {done}: changes that change nothing test nothing");
}
