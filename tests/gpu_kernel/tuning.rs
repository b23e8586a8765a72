//! A race of the sites of a chain file.

use serde_json::Value;

use super::{CHAIN, SOURCE, gpu, pdl};

#[test]
fn sites_race_and_the_run_can_be_reported_again() {
    let Some((gpu, _nvcc, _turn)) = gpu() else { return };
    drop(gpu);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.cu"), SOURCE).unwrap();
    std::fs::write(folder.path().join("chain.toml"), CHAIN).unwrap();
    let arguments = ["kernel", "chain.toml", "--tune", "--format", "json", "--out", "t"];
    let done = pdl(folder.path()).args(arguments).assert().success();
    let told: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    for race in told["races"].as_array().unwrap() {
        let number = |name: &str| race[name].as_u64().unwrap();
        println!("{} of {} samples", number("samples"), number("sweep_samples"));
        assert!(2 * number("samples") < number("sweep_samples"), "{race}");
        // Edges that wait for completion are never the best of small kernels.
        let winner = &race["winner"];
        let early = ["graph-pdl", "stream-pdl", "graph-completion"];
        assert!(early.contains(&winner["arm"].as_str().unwrap()), "{winner}");
        assert!(winner["saved_ns"].as_f64().unwrap() > 0.0, "{winner}");
        let work = race["work"].as_str().unwrap();
        assert!(work.contains("step"), "{work}");
    }
    let report = pdl(folder.path()).args(["report", "t"]).assert().success();
    let table = String::from_utf8_lossy(&report.get_output().stdout).into_owned();
    assert!(table.contains("site-"), "{table}");
}
