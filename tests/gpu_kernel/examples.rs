//! The race check against every folder of `examples/`, and against the same kernels with one sync
//! removed: by the header's marks, by a macro of the hook, or by an export without Triton's wait.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use pdl_lab::attach::{Options, Residence};
use pdl_lab::chain::Trigger;
use pdl_lab::chain_file::{read, sites};
use pdl_lab::compile::{Cache, Nvcc};
use pdl_lab::device::Device;
use pdl_lab::gpu::{Gpu, RaceSubject, UserChains};
use pdl_lab::kernel::{Build, Code, EdgeRace, Target};
use serde_json::Value;

use super::{gpu, pdl};

/// What the check says of an edge: the place of its consumer, its form, and the verdict.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Said {
    node: u64,
    secondary: String,
    form: String,
    verdict: String,
    residence: String,
    reason: String,
}

impl Said {
    fn of(found: &EdgeRace) -> Said {
        Said::read(&serde_json::to_value(found).unwrap())
    }

    fn read(found: &Value) -> Said {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Said {
            node: found["node"].as_u64().unwrap(),
            secondary: text(&found["secondary"]),
            form: text(&found["submission"]),
            verdict: text(&found["race"]["verdict"]),
            residence: text(&found["race"]["residence"]),
            reason: text(&found["race"]["reason"]),
        }
    }

    fn early(&self) -> bool {
        matches!(self.verdict.as_str(), "reads-early" | "writes-early")
    }
}

/// As it is, every edge is clean, with proof that the consumer was there, or not tested for a reason.
fn assert_sound(example: &str, all: &[Said]) {
    assert!(!all.is_empty(), "{example} has no edge");
    for said in all {
        let proved = said.residence == "all-blocks" || said.residence == "some-blocks";
        let good = match said.verdict.as_str() {
            "clean" => proved,
            "not-tested" => !said.reason.is_empty(),
            _ => false,
        };
        assert!(good, "{example}: {said:?}");
        let Said { secondary, form, verdict, residence, reason, .. } = said;
        eprintln!("{example}: {secondary} in a {form}: {verdict}, {residence}, {reason}");
    }
}

/// The edges into consumers for which `removed` holds are caught in both forms, and no other is.
fn assert_caught(example: &str, all: &[Said], removed: impl Fn(&Said) -> bool) {
    let forms: BTreeSet<&str> =
        all.iter().filter(|said| removed(said)).map(|said| said.form.as_str()).collect();
    assert_eq!(forms, BTreeSet::from(["graph", "stream"]), "{example}: {all:?}");
    for said in all {
        assert_eq!(said.early(), removed(said), "{example}: {said:?}");
    }
}

fn folders() -> Vec<PathBuf> {
    let root = std::env::current_dir().unwrap().join("examples");
    let entries = std::fs::read_dir(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.is_dir());
    all.sort();
    all
}

fn holds(folder: &Path, file: &str) -> bool {
    folder.join(file).is_file()
}

#[test]
fn a_consumer_of_an_example_without_its_sync_is_caught() {
    let Some((gpu, nvcc, _turn)) = gpu() else { return };
    let gpu = Rc::new(gpu);
    let mut seen = Vec::new();
    for folder in folders() {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if holds(&folder, "kernels.cu") {
            chain(&gpu, Some(&nvcc), &folder, &name);
        } else if holds(&folder, "export.py") {
            if !triton(&folder, &name) {
                continue;
            }
        } else if holds(&folder, "CMakeLists.txt") {
            hook(&gpu, &nvcc, &folder, &name);
        } else {
            // Programs in Rust.
            assert!(holds(&folder, "main.rs"), "{name}: no way to try it is known");
            continue;
        }
        seen.push(name);
    }
    assert!(seen.len() >= 6, "{seen:?}");
}

/// A chain file with marks: each node in turn is given code without a sync.
fn chain(gpu: &Rc<Gpu>, nvcc: Option<&Nvcc>, folder: &Path, name: &str) {
    let loaded = read(&folder.join("chain.toml")).unwrap();
    let triggers = loaded.triggers(sites(&loaded.marks().unwrap())).unwrap();
    let trigger: Trigger = triggers[0];
    let capability = gpu.facts().capability;
    let arch = format!("sm_{}{}", capability.0, capability.1);
    let cubins = tempfile::tempdir().unwrap();
    let cache = Cache::open(Some(cubins.path())).unwrap();
    let codes = [Code::Off, Code::at(trigger), Code::without_sync(trigger)];
    let target = Target { arch, capability };
    let build = Build::new(&loaded, &codes, &target, nvcc, &cache).unwrap();
    let device = UserChains::new(gpu, &loaded, &build);
    let variants = BTreeSet::from([0, build.variants.len() - 1]);
    for variant in variants {
        let races = |without_sync: Option<usize>| -> Vec<Said> {
            let subject = RaceSubject { variant, trigger, without_sync };
            let found = device.races(gpu, &subject, &Options::default()).unwrap();
            found.iter().map(Said::of).collect()
        };
        let example = format!("{name}, {:?}", build.variants[variant].axes);
        assert_sound(&example, &races(None));
        for node in 0..build.variants[variant].nodes.len() {
            assert!(device.may_lose_sync(variant, trigger, node), "{example}: node {node}");
            let all = races(Some(node));
            assert_caught(&example, &all, |said| said.node == node as u64);
            // The first node of every example reads inputs of the chain alone: without a sync it
            // writes too early. The others read what the node before them writes.
            if node > 0 {
                let into = all.iter().filter(|said| said.node == node as u64);
                into.for_each(|said| {
                    assert_eq!(said.verdict, "reads-early", "{example}: {said:?}")
                });
            }
        }
    }
}

/// The checks of the program, read from what it prints.
fn checked(arguments: &[&str], code: i32) -> Vec<Said> {
    let folder = tempfile::tempdir().unwrap();
    let done = pdl(folder.path()).args(arguments).args(["--check", "--format", "json"]).assert();
    let done = done.code(code);
    let all: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    all["edges"].as_array().unwrap().iter().map(|edge| Said::read(&edge["found"])).collect()
}

/// Cubins without marks: exported again without the wait of one kernel. False where Triton is not.
fn triton(folder: &Path, name: &str) -> bool {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("export.py");
    std::fs::copy(folder.join("export.py"), &script).unwrap();
    let export = |without: &[&str]| {
        let mut command = Command::new("python3");
        command.arg(&script);
        if !without.is_empty() {
            command.arg("--without-wait").args(without);
        }
        command.output()
    };
    let there = Command::new("python3").args(["-c", "import torch, triton"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        let required = std::env::var("PDL_REQUIRE").is_ok_and(|all| all.contains("triton"));
        assert!(!required, "PDL_REQUIRE=triton: python3 finds no torch and triton");
        eprintln!("{name}: skipped: python3 finds no torch and triton");
        return false;
    }
    let file = place.path().join("chain.toml").display().to_string();
    let arguments = ["kernel", &file, "--unsafe-no-sync"];
    for without in [None, Some("scale"), Some("add")] {
        let output = export(without.as_slice()).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let all = checked(&arguments, if without.is_some() { 4 } else { 0 });
        match without {
            None => assert_sound(name, &all),
            Some(kernel) => assert_caught(name, &all, |said| said.secondary == kernel),
        }
        let add = all.iter().filter(|said| without == Some("add") && said.secondary == "add");
        add.for_each(|said| assert_eq!(said.verdict, "reads-early", "{said:?}"));
    }
    true
}

/// A launch hook: built once a sync site, without that site.
fn hook(gpu: &Gpu, nvcc: &Nvcc, folder: &Path, name: &str) {
    let source = folder.join(format!("{name}.cu"));
    let text = std::fs::read_to_string(&source).unwrap();
    let site = |n: u32| text.contains(&format!("PDL_SYNC_SITE({n})"));
    let marked: Vec<u32> = (0..32).filter(|&n| site(n)).collect();
    assert!(!marked.is_empty(), "{name} has no sync site");
    let build = tempfile::tempdir().unwrap();
    let library = build.path().join("libhook.so");
    let root = folder.parent().and_then(Path::parent).unwrap();
    let (major, minor) = gpu.facts().capability;
    let compile = |syncs: u32| {
        let output = Command::new(&nvcc.path)
            .args(["-shared", "-Xcompiler", "-fPIC", "-std=c++17", "--no-compress"])
            .arg(format!("-arch=sm_{major}{minor}"))
            .arg(format!("-DPDL_SYNC_SITES={syncs:#x}"))
            .arg("-I")
            .arg(root.join("include"))
            .arg("-I")
            .arg(root.join("cuda"))
            .arg("-o")
            .arg(&library)
            .arg(&source)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let path = library.display().to_string();
    let arguments = ["kernel", "--library", &path];
    compile(u32::MAX);
    assert_sound(name, &checked(&arguments, 0));
    for &site in &marked {
        compile(!(1 << site));
        let all = checked(&arguments, 4);
        let caught = all.iter().find(|said| said.early()).map(|said| said.secondary.clone());
        let caught = caught.unwrap_or_else(|| panic!("{name}, site {site}: {all:?}"));
        assert_caught(&format!("{name}, site {site}"), &all, |said| said.secondary == caught);
        let early = all.iter().filter(|said| said.early());
        early.for_each(|said| assert_eq!(said.verdict, "reads-early", "{said:?}"));
    }
}

#[test]
fn clean_needs_proof_that_the_consumer_was_there() {
    let (none, all) = (Residence::NotSeen, Residence::AllBlocks);
    let said = |verdict: &str, residence: Residence| Said {
        node: 0,
        secondary: "k".into(),
        form: "graph".into(),
        verdict: verdict.into(),
        residence: serde_json::to_value(residence).unwrap().as_str().unwrap().into(),
        reason: String::new(),
    };
    assert_sound("one", &[said("clean", all)]);
    let unproved = std::panic::catch_unwind(|| assert_sound("one", &[said("clean", none)]));
    assert!(unproved.is_err());
}
