//! Does `compare` find a change that is really there, on a device? One arm's bodies are made longer
//! behind the device seam, where no record shows it; runs of the unchanged device must claim
//! nothing. On the simulated device always, on a GPU where there is one: `PDL_REQUIRE=gpu` makes
//! its absence a failure.

mod device;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard};

use device::{Longer, measured, plan};
use pdl_lab::chain::{Arm, BodyKind};
use pdl_lab::compare::{
    Change, Comparison, MARGIN_RATIO, MARGIN_US, Options, Row, Side, compare_runs,
};
use pdl_lab::device::Device;
use pdl_lab::sim::SimDevice;

fn compare(a: &Side, b: &Side) -> Comparison {
    let options = Options {
        margin_us: MARGIN_US,
        margin_ratio: MARGIN_RATIO,
        arms: Vec::new(),
        accept_mismatch: None,
    };
    compare_runs(("A", a), ("B", b), &options).unwrap()
}

fn claims(comparison: &Comparison) -> Vec<&Row> {
    let claims = |row: &&Row| matches!(row.verdict, Change::Regression | Change::Improvement);
    comparison.rows.iter().filter(claims).collect()
}

/// 2 % of a body of 4 µs: 0.08 µs a node.
const RATIO: f64 = 1.02;

/// A run, the same again, and the same with one arm's bodies longer by 2 %.
fn finds_what_is_there_and_nothing_else(device: &dyn Device) {
    let arm = Arm::GraphPdl;
    let first = plan(device, BodyKind::Fma);
    let a = measured(device, &first, 1);
    let again = first.clone().with_work(&a.points);
    let a = Side::of(a);
    let same = compare(&a, &Side::of(measured(device, &again, 2)));
    assert!(claims(&same).is_empty(), "nothing changed: {:#?}", claims(&same));
    assert!(same.count(Change::Equivalent) > 0);

    let longer = Longer { inner: device, arm, ratio: RATIO };
    let changed = compare(&a, &Side::of(measured(&longer, &again, 3)));
    for row in claims(&changed) {
        assert_eq!((row.arm, row.verdict), (arm, Change::Regression), "{row:#?}");
    }
    let rows: Vec<&Row> = changed.rows.iter().filter(|row| row.arm == arm).collect();
    for row in &rows {
        eprintln!(
            "{} {:?}: {:?} ns a hop, {:?} {:?}",
            row.arm, row.trigger, row.change_ns, row.verdict, row.reasons
        );
    }
    // Where chains take several courses the allowance is as wide as they spread.
    // Nor is a row counted whose verdict only the correction for many comparisons withholds.
    let open = |row: &&&Row| row.reasons.iter().any(|why| why == "unsettled" || why == "holm");
    let settled = rows.iter().filter(|row| !open(row));
    let (found, all) = settled.fold((0, 0), |(found, all), row| {
        (found + usize::from(row.verdict == Change::Regression), all + 1)
    });
    assert!(all >= 3 && found == all, "{found} of {all} settled rows were found");
}

#[test]
fn on_the_simulated_device() {
    for seed in 1..=3 {
        finds_what_is_there_and_nothing_else(&SimDevice::quick(seed));
    }
}

/// One test at a time: they share the device and time things.
static DEVICE: Mutex<()> = Mutex::new(());

#[cfg(feature = "cuda")]
fn gpu() -> Option<(Box<dyn Device>, MutexGuard<'static, ()>)> {
    let turn = DEVICE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let reason = match pdl_lab::gpu::open() {
        Ok(Ok(gpu)) => return Some((Box::new(gpu), turn)),
        Ok(Err(absence)) => format!("{absence:?}"),
        Err(error) => error.to_string(),
    };
    let required = std::env::var("PDL_REQUIRE").is_ok_and(|all| all.split(',').any(|r| r == "gpu"));
    assert!(!required, "PDL_REQUIRE=gpu: {reason}");
    eprintln!("skipped: {reason}");
    None
}

#[cfg(not(feature = "cuda"))]
fn gpu() -> Option<(Box<dyn Device>, MutexGuard<'static, ()>)> {
    let _ = &DEVICE;
    eprintln!("skipped: built without the cuda feature");
    None
}

#[test]
fn on_a_gpu() {
    let Some((device, _turn)) = gpu() else { return };
    finds_what_is_there_and_nothing_else(device.as_ref());
}

/// Where the program is: as cargo or a pack says, else beside this test.
fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("CARGO_BIN_EXE_pdl") {
        return path.into();
    }
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("pdl")
}

/// Two default sweeps of two processes, and a repetition of the first: no verdict may differ.
#[test]
fn default_sweeps_of_two_processes_claim_nothing_on_a_gpu() {
    let Some((device, _turn)) = gpu() else { return };
    drop(device);
    let dir = tempfile::tempdir().unwrap();
    let pdl = |arguments: &[&str]| {
        let mut command = Command::new(program());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PDL_") {
                command.env_remove(name);
            }
        }
        command.args(arguments).current_dir(dir.path()).stdin(Stdio::null()).output().unwrap()
    };
    let sweeps: [&[&str]; 3] = [
        &["sweep", "--backend=gpu", "--seed=1", "--out=a"],
        &["sweep", "--backend=gpu", "--seed=2", "--out=b"],
        &["sweep", "--backend=gpu", "--seed=3", "--repeat=a", "--out=again"],
    ];
    for sweep in sweeps {
        let output = pdl(sweep);
        assert!(output.status.success(), "{sweep:?}: {output:?}");
    }
    for (a, b) in [("a", "b"), ("a", "again"), ("again", "a"), ("b", "again")] {
        let output = pdl(&["compare", a, b, "--format=json", "--fail-on=nothing"]);
        assert!(output.status.success(), "{a} {b}: {output:?}");
        let comparison: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        eprintln!("{a} {b}: {}", comparison["counts"]);
        let rows = comparison["rows"].as_array().unwrap();
        let claims = |row: &&serde_json::Value| {
            ["regression", "improvement", "wrong"].contains(&row["verdict"].as_str().unwrap())
        };
        let claimed: Vec<_> = rows.iter().filter(claims).collect();
        assert!(claimed.is_empty(), "{a} {b}: {claimed:#?}");
        let equivalent = rows.iter().filter(|row| row["verdict"] == "equivalent").count();
        assert!(equivalent > 20, "{a} {b}: {}", comparison["counts"]);
    }
}
