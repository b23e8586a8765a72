//! A run directory from its creation to its end, and who may write it when.

use std::fs;

use super::fixture::{end, manifest, now, point, record, sample};
use crate::chain::Arm;
use crate::error::Kind;
use crate::record::{Manifest, RunDir, place, read_run};

#[test]
fn a_default_directory_is_named_by_time_and_never_taken_twice() {
    let root = tempfile::tempdir().unwrap();
    let results = root.path().join("results");
    let names = ["20261129T210500Z-sweep", "20261129T210500Z-sweep-2", "20261129T210500Z-sweep-3"];
    for name in names {
        assert_eq!(place::fresh(&results, "sweep", now()).unwrap(), results.join(name));
    }
}

#[test]
fn an_out_directory_that_holds_anything_is_refused_and_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let full = root.path().join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("thesis.tex"), "x").unwrap();
    let file = root.path().join("file");
    fs::write(&file, "x").unwrap();
    let below_file = file.join("run");
    let table = [
        (&full, Kind::Usage, "it exists and is not empty", "--resume"),
        (&file, Kind::Usage, "it is a file", "choose another directory"),
        (&below_file, Kind::Failed, "Not a directory", "--out"),
    ];
    for (path, kind, cause, remedy) in table {
        let error = RunDir::create(Some(path), "sweep", now()).unwrap_err();
        let text = error.to_string();
        let (first, second) = text.split_once('\n').unwrap();
        assert_eq!(error.kind(), kind, "{text}");
        assert!(first.contains(&path.display().to_string()) && first.contains(cause), "{text}");
        assert!(second.contains(remedy), "{text}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "x");
    assert_eq!(fs::read_dir(&full).unwrap().count(), 1);
}

#[test]
fn a_run_that_never_began_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let made = root.path().join("a/b");
    drop(RunDir::create(Some(&made), "sweep", now()).unwrap());
    assert!(!made.exists() && root.path().join("a").exists());
    let given = root.path().join("a");
    drop(RunDir::create(Some(&given), "sweep", now()).unwrap());
    assert_eq!(fs::read_dir(&given).unwrap().count(), 0, "an empty directory is given back");
}

#[test]
fn a_directory_in_which_a_run_was_killed_before_it_began_is_taken_again() {
    let header = crate::record::samples::header_line();
    // (samples.csv, points.jsonl, another file, taken)
    let cases: [(&str, Option<&str>, Option<&str>, bool); 8] = [
        ("", None, None, true),
        ("", Some(""), None, true),
        (&header, Some(""), None, true),
        (&header[..9], Some(""), Some(".manifest.json.77.tmp"), true),
        (&header, Some("{"), None, false),
        (&header, Some(""), Some("thesis.tex"), false),
        (&header, Some(""), Some("manifest.json"), false),
        (&format!("{header}p000,graph,50,0,0,1.5,1980,\n"), Some(""), None, false),
    ];
    for (samples, points, other, taken) in cases {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("samples.csv"), samples).unwrap();
        if let Some(points) = points {
            fs::write(root.path().join("points.jsonl"), points).unwrap();
        }
        if let Some(other) = other {
            fs::write(root.path().join(other), "x").unwrap();
        }
        let files = || fs::read_dir(root.path()).unwrap().count();
        let before = files();
        match RunDir::create(Some(root.path()), "sweep", now()) {
            Ok(mut run) => {
                assert!(taken, "{samples:?} {points:?} {other:?}");
                run.write_manifest(&manifest()).unwrap();
                run.append_sample(&sample(0)).unwrap();
                assert_eq!(read_run(root.path()).unwrap().samples, [sample(0)]);
            }
            Err(error) => {
                assert!(!taken && error.kind() == Kind::Usage, "{error}");
                assert_eq!(files(), before, "nothing is removed");
            }
        }
    }
}

#[test]
fn a_run_that_is_just_beginning_is_not_taken_from_under_it() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let mut first = RunDir::create(Some(&dir), "sweep", now()).unwrap();
    assert!(RunDir::create(Some(&dir), "sweep", now()).is_err());
    let error = read_run(&dir).unwrap_err().to_string();
    assert!(error.contains("cut short before it began"), "{error}");
    first.write_manifest(&manifest()).unwrap();
    assert!(RunDir::create(Some(&dir), "sweep", now()).is_err());
}

#[test]
fn two_processes_cannot_claim_one_empty_directory() {
    let root = tempfile::tempdir().unwrap();
    let mut first = RunDir::create(Some(root.path()), "sweep", now()).unwrap();
    assert!(RunDir::create(Some(root.path()), "sweep", now()).is_err());
    first.write_manifest(&manifest()).unwrap();
    first.append_sample(&sample(0)).unwrap();
    let error = RunDir::resume(root.path()).unwrap_err().to_string();
    assert!(error.contains("another process is writing this run"), "{error}");
    assert_eq!(read_run(root.path()).unwrap().samples, [sample(0)], "reading needs no lock");
}

#[test]
fn what_could_not_be_read_back_is_not_written() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let mut run = RunDir::create(Some(&dir), "sweep", now()).unwrap();
    assert!(run.append_sample(&sample(0)).unwrap_err().cause().contains("no manifest"));
    let twice = |name: &str| {
        let mut manifest = manifest();
        manifest.plan.points[1].point = name.into();
        manifest
    };
    for name in ["p000", "", "p,1", "p\n", "../p"] {
        let error = run.write_manifest(&twice(name)).unwrap_err();
        assert!(error.cause().contains("not a plain name used once"), "{name}: {error}");
    }
    let other = Manifest { schema: "2.0".into(), ..manifest() };
    assert!(run.write_manifest(&other).is_err());
    run.write_manifest(&manifest()).unwrap();
    assert!(run.write_manifest(&manifest()).unwrap_err().cause().contains("once"));

    for duration_ns in [f64::NAN, f64::INFINITY, -0.5] {
        let mut row = sample(0);
        row.duration_ns = duration_ns;
        let error = run.append_sample(&row).unwrap_err();
        assert!(error.cause().contains("its duration is"), "{error}");
    }
    let mut row = sample(0);
    row.point = "p999".into();
    assert!(run.append_sample(&row).unwrap_err().cause().contains("no point of the plan"));
    let mut record = point("p000", Arm::Graph);
    record.chain.preamble.target_ns = f64::NAN;
    assert!(run.append_point(&record).unwrap_err().cause().contains("read back"));
    record = point("p000", Arm::Graph);
    record.proof.kernel = "x".repeat(70_000);
    assert!(run.append_point(&record).unwrap_err().cause().contains("read back"));

    let read = read_run(&dir).unwrap();
    assert!(read.samples.is_empty() && read.points.is_empty());
}

#[test]
fn a_complete_run_is_not_resumed_and_an_interrupted_one_keeps_its_end() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    record(&dir, 2).unwrap().write_end(&end("first")).unwrap();
    for (n, reason, next) in [(1, "first", "second"), (2, "second", "third")] {
        fs::write(dir.join("summary.csv"), "of the part before").unwrap();
        let (mut run, before) = RunDir::resume(&dir).unwrap();
        assert!(!dir.join("summary.csv").exists(), "it would contradict what is added");
        assert_eq!(before.end, Some(end(reason)));
        assert_eq!(read_run(&dir).unwrap().end, None, "it goes on");
        let aside = fs::read_to_string(dir.join(format!("end-{n}.json"))).unwrap();
        assert!(aside.contains(reason), "{aside}");
        run.write_end(&end(next)).unwrap();
    }
    let (mut run, _) = RunDir::resume(&dir).unwrap();
    run.append_sample(&sample(2)).unwrap();
    run.write_end(&end("done")).unwrap();
    drop(run);
    let error = RunDir::resume(&dir).unwrap_err();
    assert_eq!(error.kind(), Kind::Usage);
    assert!(error.to_string().contains("the run is complete\n     read it with pdl report"));
    assert_eq!(read_run(&dir).unwrap().samples.len(), 3);
}

#[test]
fn only_a_run_of_this_layout_is_resumed() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let error = RunDir::resume(&dir).unwrap_err().to_string();
    assert!(error.contains("no such directory"), "{error}");
    fs::create_dir(&dir).unwrap();
    let error = RunDir::resume(&dir).unwrap_err().to_string();
    assert!(error.contains("no manifest.json"), "{error}");
    fs::remove_dir(&dir).unwrap();

    drop(record(&dir, 2).unwrap());
    let edit = |name: &str, from: &str, to: &str| {
        let path = dir.join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from));
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    };
    edit("manifest.json", "\"1.1\"", "\"1.7\"");
    let error = RunDir::resume(&dir).unwrap_err().to_string();
    assert!(error.contains("its schema is 1.7, not 1.1"), "{error}");
    edit("manifest.json", "\"1.7\"", "\"1.1\"");
    edit("samples.csv", "round,order", "order,round");
    assert_eq!(read_run(&dir).unwrap().samples.len(), 2, "it can be read all the same");
    let before = fs::read(dir.join("samples.csv")).unwrap();
    let error = RunDir::resume(&dir).unwrap_err().to_string();
    assert!(error.contains("other columns"), "{error}");
    assert_eq!(fs::read(dir.join("samples.csv")).unwrap(), before);
}
