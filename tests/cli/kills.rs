//! Kills at random moments: no finished sample is lost, and every run is taken up again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use pdl_lab::device::Flag;
use pdl_lab::record::{End, read_run, read_summary};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::program::{pdl, run, succeed};

/// Two groups of 14 arms and triggers.
const SWEEP: [&str; 13] = [
    "sweep",
    "--backend=sim",
    "--out=run",
    "--trigger=0/8,4/8",
    "--nodes=8",
    "--grid=4",
    "--body-kind=fma",
    "--body-us=2,4",
    "--rounds-min=150",
    "--rounds-max=150",
    "--margin-us=0",
    "--margin-percent=0",
    "--seed=9",
];
const ROUNDS: u32 = 150;
const CELLS: usize = 2 * (5 + 2 * 4);

/// What became of the kills.
#[derive(Debug, Default)]
struct Tally {
    kills: u32,
    runs: u32,
    /// Kills by what they met: before the manifest, between points and samples, after the end.
    unbegun: u32,
    preparing: u32,
    measuring: u32,
    deriving: u32,
    /// Lines cut short, which were dropped.
    torn: u32,
}

fn begin(dir: &Path, arguments: &[&str]) -> Child {
    pdl(dir, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The whole lines of a file that may be cut short, and whether it is.
fn whole_lines(path: &Path) -> (Vec<u8>, bool) {
    let mut bytes = fs::read(path).unwrap_or_default();
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let torn = whole < bytes.len();
    bytes.truncate(whole);
    (bytes, torn)
}

/// One run that is killed again and again, each time after up to `most`, and then left to end.
fn one_run(rng: &mut ChaCha8Rng, most: Duration, kills: u32, tally: &mut Tally) {
    let dir = tempfile::tempdir().unwrap();
    let files = dir.path().join("run");
    let samples = files.join("samples.csv");
    let mut kept: Vec<u8> = Vec::new();
    // Where the resumed parts begin.
    let mut taken_up: Vec<usize> = Vec::new();
    let mut child = begin(dir.path(), &SWEEP);
    let mut killed = 0;
    while killed < kills {
        std::thread::sleep(most.mul_f64(rng.random()));
        if child.try_wait().unwrap().is_some() {
            break; // It was faster.
        }
        child.kill().unwrap();
        if child.wait().unwrap().code().is_some() {
            break;
        }
        killed += 1;
        tally.kills += 1;
        let (found, torn) = whole_lines(&samples);
        tally.torn += u32::from(torn);
        assert!(found.starts_with(&kept), "rows were lost");
        let begun = files.join("manifest.json").exists();
        let ended = files.join("end.json").exists();
        let new_rows = found.len() > kept.len();
        match (begun, ended) {
            (false, _) => tally.unbegun += 1,
            (true, true) => tally.deriving += 1,
            (true, false) if new_rows => tally.measuring += 1,
            (true, false) => tally.preparing += 1,
        }
        kept = found;
        if ended {
            // Measured in full: what is derived is made again without measuring.
            assert_eq!(run(&mut pdl(dir.path(), ["sweep", "--resume=run"])).code, Some(2));
            break;
        }
        if begun {
            taken_up.push(kept.len());
            child = begin(dir.path(), &["sweep", "--resume=run"]);
        } else {
            // Nothing was measured: the same command is given again.
            assert!(kept.iter().filter(|&&byte| byte == b'\n').count() <= 1);
            kept.clear();
            child = begin(dir.path(), &SWEEP);
        }
    }
    let ended = child.wait().unwrap();
    assert!(ended.success() || files.join("end.json").exists(), "{ended}");
    tally.runs += 1;
    check(dir.path(), &kept, &taken_up, killed);
}

fn check(dir: &Path, kept: &[u8], taken_up: &[usize], kills: u32) {
    let printed = succeed(&mut pdl(dir, ["report", "run"])).stdout;
    let files = dir.join("run");
    assert!(fs::read(files.join("samples.csv")).unwrap().starts_with(kept), "rows were lost");
    let found = read_run(&files).unwrap();
    assert_eq!(found.notes, Vec::<String>::new());
    assert_eq!(found.end.as_ref().map(|end| end.reason.as_str()), Some(End::DONE));

    // Every sample once, and every cell in every round but those that a kill cut off.
    let mut seen = BTreeSet::new();
    let mut cells = std::collections::BTreeMap::<_, u32>::new();
    let mut read_bytes = 0;
    let text = fs::read_to_string(files.join("samples.csv")).unwrap();
    let mut lines = text.lines();
    read_bytes += lines.next().unwrap().len() + 1;
    let first_taken_up = taken_up.first().copied().unwrap_or(usize::MAX);
    for (sample, line) in found.samples.iter().zip(lines) {
        let key = (sample.point.to_string(), sample.arm, sample.nodes, sample.round);
        assert!(seen.insert(key), "{line} is there twice");
        let resumed = sample.flags.contains(&Flag::Resumed);
        assert_eq!(resumed, read_bytes >= first_taken_up, "{line}");
        read_bytes += line.len() + 1;
        if sample.nodes == 8 {
            *cells.entry((sample.point.to_string(), sample.arm)).or_default() += 1;
        }
    }
    assert_eq!(cells.len(), CELLS);
    for (cell, &rounds) in &cells {
        assert!(rounds + kills >= ROUNDS && rounds <= ROUNDS, "{cell:?}: {rounds} rounds");
    }

    // One row a cell, in the order of the plan, each with its samples and its verdict.
    let rows = read_summary(&files.join("summary.csv")).unwrap();
    let planned: Vec<_> = found
        .manifest
        .plan
        .points
        .iter()
        .flat_map(|point| point.arms.iter().map(|&arm| (point.point.clone(), arm)))
        .collect();
    assert_eq!(rows.iter().map(|row| (row.point.clone(), row.arm)).collect::<Vec<_>>(), planned);
    for row in &rows {
        let cell = (row.point.clone(), row.arm);
        assert_eq!(row.samples, cells[&cell], "{cell:?}");
        let judged = row.baseline.is_some() && !row.arm.is_again();
        assert_eq!(row.verdict.is_some(), judged, "{cell:?}");
    }
    // It reads as resumed where a sample was measured after a kill.
    let resumed = found.samples.iter().any(|sample| sample.flags.contains(&Flag::Resumed));
    assert_eq!(printed.contains("warning [resumed]"), resumed, "{printed}");
    assert_eq!(resumed, read_bytes > first_taken_up && !taken_up.is_empty());
    // What is complete is not measured again.
    assert_eq!(run(&mut pdl(dir, ["sweep", "--resume=run"])).code, Some(2));
}

fn kill(kills: u32, seed: u64) -> Tally {
    let dir = tempfile::tempdir().unwrap();
    let began = Instant::now();
    succeed(&mut pdl(dir.path(), SWEEP));
    let whole = began.elapsed();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut tally = Tally::default();
    while tally.kills < kills {
        // Some runs die young again and again, some are nearly done.
        let most = whole.mul_f64(if rng.random::<bool>() { 0.1 } else { 0.7 });
        let left = (kills - tally.kills).min(12);
        one_run(&mut rng, most, left, &mut tally);
    }
    tally
}

#[test]
fn twenty_kills_at_random_moments_lose_nothing() {
    println!("{:?}", kill(20, 1));
}

#[test]
#[ignore = "takes minutes: cargo test --release --test cli -- --ignored --nocapture thousand"]
fn a_thousand_kills_at_random_moments_lose_nothing() {
    println!("{:?}", kill(1000, 2));
}
