//! Runs of chain files from the command line.

use std::path::Path;

use super::{CHAIN, SOURCE, gpu, pdl};

fn place() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.cu"), SOURCE).unwrap();
    let chain =
        CHAIN.replace("N = 4096", "N = [2048, 4096]").replace("SPIN = 20000", "SPIN = 2000");
    std::fs::write(folder.path().join("chain.toml"), chain).unwrap();
    folder
}

fn run(folder: &Path, arguments: &[&str], code: i32) -> (String, String) {
    let done =
        pdl(folder).args(["kernel", "chain.toml", "--quick"]).args(arguments).assert().code(code);
    let output = done.get_output();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Rows of samples.csv.
fn samples(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("run/samples.csv")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Rounds of all sets: each begins with the sentinel.
fn rounds(samples: &[String]) -> usize {
    samples.iter().filter(|row| row.contains(",sentinel,")).count()
}

#[test]
fn the_first_set_is_told_before_the_others_are_measured() {
    let Some((gpu, _nvcc, _turn)) = gpu() else { return };
    drop(gpu);
    let folder = place();
    let (out, said) = run(folder.path(), &["--out", "run"], 0);
    let first = said.split("the first of 2 sets of axis values").nth(1).expect(&said);
    assert!(first.contains("N = 2048") && !first.contains("N = 4096"), "{first}");
    assert!(out.contains("N = 2048") && out.contains("N = 4096"), "{out}");
    // 24 rounds a set, each with every arm once: the fewest that verdicts need.
    assert_eq!(rounds(&samples(folder.path())), 2 * 24);
}

#[test]
fn a_run_that_was_cut_short_goes_on_and_another_chain_does_not() {
    let Some((gpu, _nvcc, _turn)) = gpu() else { return };
    drop(gpu);
    let folder = place();
    run(folder.path(), &["--out", "run"], 0);
    let whole = samples(folder.path());
    // As a kill in the second set leaves it.
    let kept = &whole[..whole.len() * 3 / 4];
    std::fs::write(folder.path().join("run/samples.csv"), kept.join("\n") + "\n").unwrap();
    std::fs::remove_file(folder.path().join("run/end.json")).unwrap();
    let file = folder.path().join("chain.toml");
    let chain = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, chain.replace("SPIN = 2000", "SPIN = 3000")).unwrap();
    let (_, said) = run(folder.path(), &["--resume", "run"], 6);
    let expected =
        "cannot resume run: the chain file, its sources or the compiler have changed since";
    assert!(said.contains(expected), "{said}");
    std::fs::write(&file, chain).unwrap();
    run(folder.path(), &["--resume", "run"], 0);
    let again = samples(folder.path());
    assert_eq!(again[..kept.len()], *kept, "what was there stays");
    assert_eq!(rounds(&again), 2 * 24);
    assert!(again.last().unwrap().contains("resumed"), "{:?}", again.last());
}

#[test]
fn chains_back_to_back_stand_beside_isolated_ones_where_they_can_be_run_again() {
    let Some((gpu, _nvcc, _turn)) = gpu() else { return };
    drop(gpu);
    let folder = place();
    let arguments =
        ["--mode", "pipelined", "--set", "N=2048", "--trigger", "site-2", "--out", "run"];
    run(folder.path(), &arguments, 0);
    let rows = std::fs::read_to_string(folder.path().join("run/summary.csv")).unwrap();
    let of = |mode: &str| rows.lines().filter(|row| row.contains(mode)).collect::<Vec<_>>();
    // Stream, graph, their repeats, completion, sentinel, and four arms of the site.
    assert_eq!((of(",isolated,").len(), of(",pipelined,").len()), (10, 10), "{rows}");
    let pdl = of(",pipelined,").into_iter().find(|row| row.contains(",graph-pdl,")).unwrap();
    assert!(!pdl.contains("skipped"), "{pdl}");

    // What a run leaves in place of its input makes the next one another: isolated chains start from
    // the fills, those back to back are not measured.
    let folder = place();
    let grows = SOURCE.replace("out[i] = value + 1;", "out[i] += value + 1;");
    std::fs::write(folder.path().join("kernels.cu"), grows).unwrap();
    let (said, _) = run(folder.path(), &arguments, 0);
    assert!(said.contains("a second run computes something else"), "{said}");
    let rows = std::fs::read_to_string(folder.path().join("run/summary.csv")).unwrap();
    let skipped = |mode: &str| {
        let of = rows.lines().filter(|row| row.contains(mode));
        (of.clone().count(), of.filter(|row| row.contains("skipped")).count())
    };
    // All but the sentinel, a kernel of the program.
    assert_eq!((skipped(",isolated,"), skipped(",pipelined,")), ((10, 0), (10, 9)), "{rows}");
}
