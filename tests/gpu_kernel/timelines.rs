//! The timeline of a chain file.

use serde_json::Value;

use super::{CHAIN, SOURCE, gpu, pdl};

#[test]
fn moments_that_kernels_name_are_on_the_timeline() {
    let Some((gpu, _nvcc, _turn)) = gpu() else { return };
    drop(gpu);
    let folder = tempfile::tempdir().unwrap();
    let source = SOURCE
        .replace(
            "const unsigned long long until",
            "PDL_STAMP(spin); const unsigned long long until",
        )
        .replace(
            "if (i < n) out[i] = value + 1;",
            "PDL_STAMP(store); if (i < n) out[i] = value + 1;",
        );
    std::fs::write(folder.path().join("kernels.cu"), source).unwrap();
    std::fs::write(folder.path().join("chain.toml"), CHAIN).unwrap();
    let arguments = ["kernel", "chain.toml", "--timeline", "--out", "t", "--trigger", "site-2"];
    let done = pdl(folder.path()).args(arguments).assert().success();
    let told = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(told.contains("graph-pdl step: spin 2"), "{told}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join("t").join(name)).unwrap();
    let csv = read("stamps.csv");
    assert!(csv.lines().next().unwrap().ends_with("body_cycles,spin_ns,store_ns"), "{csv}");
    // Three arms of eight nodes of 32 blocks.
    assert_eq!(csv.lines().count(), 1 + 3 * 8 * 32);
    let svg = read("timeline.svg");
    assert!(svg.contains("spin") && svg.contains("begin of what a kernel names"));
    let trace: Value = serde_json::from_str(&read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let spins: Vec<f64> = events
        .iter()
        .filter(|event| event["cat"] == "named" && event["name"] == "spin")
        .map(|event| event["dur"].as_f64().unwrap())
        .collect();
    assert_eq!(spins.len(), 3 * 8);
    // Each spins for 20 µs.
    assert!(spins.iter().all(|us| (18.0..30.0).contains(us)), "{spins:?}");
    let json: Value = serde_json::from_str(&read("timeline.json")).unwrap();
    let arms: Vec<&str> =
        json["arms"].as_array().unwrap().iter().map(|a| a["arm"].as_str().unwrap()).collect();
    assert_eq!(arms, ["graph-full", "graph-pdl", "stream-pdl"]);
}
