//! What a sweep leaves on disk and prints, and what `report` makes of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::program::{SMALL, names, pdl, run, small_copy, small_run, succeed};

/// The columns of summary.csv that users rely on.
const COLUMNS: &str = "point,arm,submission,dependency,trigger,nodes,grid_blocks,block_threads,\
    shared_bytes,cluster_blocks,trigger_by,preamble_kind,preamble_ns,body_kind,body_ns,l2,mode,\
    samples,period_ns,period_lo_ns,period_hi_ns,marginal_ns,baseline,saved_ns,saved_lo_ns,\
    saved_hi_ns,speedup,speedup_lo,speedup_hi,code_cost_ns,primary_slowed_ns,verdict,proof,correct,\
    launch_gap_ns,hop_latency_ns,useful_ns,parked_ns,limit_ns,backend,device,\
    reason,contamination,contamination_lo,contamination_hi,limit_by,constants,exposed_ns,exposed_by,\
    exposed_launch_ns,exposed_placement_ns,exposed_preamble_ns,exposed_flush_ns,exposed_release_ns,\
    exposed_drain_ns,exposed_contention_ns,exposed_ends_ns,exposed_unexplained_ns,predicted_ns,\
    predicted_saved_ns,error_pct,not_predicted";
const SAMPLE_COLUMNS: &str = "point,arm,nodes,round,order,duration_ns,sm_mhz,sample_flags";

/// Every file that is derived from the raw ones.
fn derived(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let charts = names(&dir.join("charts")).into_iter().map(|name| format!("charts/{name}"));
    let files = charts.chain(["summary.csv".to_owned(), "report.html".to_owned()]);
    files.map(|name| (name.clone(), fs::read(dir.join(&name)).unwrap())).collect()
}

#[test]
fn a_sweep_leaves_a_run_directory_and_prints_its_table() {
    let (dir, said) = small_run();
    let run = dir.path().join("run");
    let expected = [
        "charts",
        "end.json",
        "manifest.json",
        "points.jsonl",
        "report.html",
        "samples.csv",
        "summary.csv",
    ];
    assert_eq!(names(&run), expected);
    assert!(names(&run.join("charts")).iter().all(|name| name.ends_with(".svg")));
    for text in ["SIMULATED", "graph trigger", "stream trigger", "4/8", "A/A floor"] {
        assert!(said.stdout.contains(text), "no '{text}' in {}", said.stdout);
    }
    assert!(said.stderr.lines().any(|line| line == "pdl: run"), "{said:?}");
    let end: serde_json::Value =
        serde_json::from_slice(&fs::read(run.join("end.json")).unwrap()).unwrap();
    assert_eq!(end["reason"], "done");
}

/// Rows of a CSV file whose cells need no quotes.
fn cells(bytes: &[u8]) -> Vec<Vec<String>> {
    let text = std::str::from_utf8(bytes).unwrap();
    assert!(text.ends_with('\n') && !text.contains('\r') && !text.contains("\n\n"));
    let rows: Vec<Vec<String>> =
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    rows
}

/// A number with exactly this many decimals, in plain notation, without a negative zero.
fn is_fixed(text: &str, decimals: usize) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole_and_part = digits.split_once('.');
    whole_and_part.is_some_and(|(whole, part)| {
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let zero = digits.bytes().all(|byte| matches!(byte, b'0' | b'.'));
        !whole.is_empty()
            && all_digits(whole)
            && all_digits(part)
            && part.len() == decimals
            && !(zero && text.starts_with('-'))
    })
}

#[test]
fn summary_csv_has_the_columns_and_the_notation_that_others_rely_on() {
    let bytes = fs::read(small_run().0.path().join("run/summary.csv")).unwrap();
    let rows = cells(&bytes);
    assert_eq!(rows[0].join(","), COLUMNS);
    let words: [(&str, &[&str]); 6] = [
        ("verdict", &["helps", "hurts", "equivalent", "inconclusive", "skipped", "wrong", ""]),
        ("proof", &["active", "armed", "inactive", ""]),
        ("correct", &["true", ""]),
        ("backend", &["sim"]),
        ("submission", &["stream", "graph"]),
        ("dependency", &["full", "programmatic", "launch-completion"]),
    ];
    let mut measured = 0;
    for row in &rows[1..] {
        for (column, cell) in rows[0].iter().zip(row) {
            let decimals = match column.as_str() {
                name if name.ends_with("_ns") => Some(1),
                "speedup" | "speedup_lo" | "speedup_hi" => Some(4),
                name if name.starts_with("contamination") => Some(4),
                _ => None,
            };
            if let Some(decimals) = decimals.filter(|_| !cell.is_empty()) {
                assert!(is_fixed(cell, decimals), "{column}: {cell}");
                measured += 1;
            }
            if column == "correct" {
                assert_eq!(cell.is_empty(), row[1] == "sentinel", "it alone computes no values");
            }
            if let Some((_, allowed)) = words.iter().find(|(name, _)| name == column) {
                assert!(allowed.contains(&cell.as_str()), "{column}: {cell}");
            }
        }
    }
    assert_eq!(rows.len() - 1, 5 + 3 * 4, "arms without a trigger, and three triggers of four");
    assert!(measured > 100, "{measured} numbers were looked at");
}

#[test]
fn samples_csv_holds_every_arm_once_a_round() {
    let bytes = fs::read(small_run().0.path().join("run/samples.csv")).unwrap();
    let rows = cells(&bytes);
    assert_eq!(rows[0].join(","), SAMPLE_COLUMNS);
    let mut rounds: BTreeMap<(&str, &str), Vec<(String, String)>> = BTreeMap::new();
    for row in &rows[1..] {
        let duration: f64 = row[5].parse().unwrap();
        assert!(duration.is_finite() && duration > 0.0, "{row:?}");
        assert_eq!(row[7], "", "the simulated device flags nothing at this length");
        let round = rounds.entry((&row[2], &row[3])).or_default();
        round.push((row[0].clone(), row[1].clone()));
    }
    let arms = 5 + 3 * 4;
    let mut orders = Vec::new();
    for (round, mut members) in rounds {
        orders.push(members.clone());
        members.sort();
        members.dedup();
        assert_eq!(members.len(), arms, "{round:?}");
    }
    assert!(orders.windows(2).any(|pair| pair[0] != pair[1]), "rounds are shuffled");
}

#[test]
fn report_rebuilds_every_derived_file_byte_for_byte() {
    let dir = small_copy();
    let path = dir.path().join("run");
    let before = derived(&path);
    assert!(before.len() >= 4, "{:?}", before.keys());
    fs::remove_file(path.join("summary.csv")).unwrap();
    fs::remove_dir_all(path.join("charts")).unwrap();
    let said = succeed(&mut pdl(dir.path(), ["report", "run"]));
    let after = derived(&path);
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    for (name, bytes) in &after {
        assert!(*bytes == before[name], "{name} differs");
    }
    assert_eq!(said.stdout, small_run().1.stdout, "the same table");
    assert_eq!(said.stderr, "");
}

#[test]
fn the_same_seed_gives_the_same_simulated_samples_and_another_seed_others() {
    let dir = tempfile::tempdir().unwrap();
    let samples = |out: &str, seed: &str| {
        succeed(pdl(dir.path(), SMALL).args(["--out", out, "--seed", seed]));
        fs::read(dir.path().join(out).join("samples.csv")).unwrap()
    };
    let first = samples("a", "5");
    assert!(first == samples("b", "5"));
    assert!(first != samples("c", "6"));
}

fn printed(format: &str) -> String {
    succeed(&mut pdl(small_copy().path(), ["report", "run", "--format", format])).stdout
}

#[test]
fn every_format_prints_what_a_program_can_read() {
    let csv = fs::read(small_run().0.path().join("run/summary.csv")).unwrap();
    let rows = cells(&csv).len() - 1;
    assert_eq!(printed("csv").as_bytes(), csv);

    let json: serde_json::Value = serde_json::from_str(&printed("json")).unwrap();
    let listed = json["summary"]["rows"].as_array().unwrap();
    assert_eq!(listed.len(), rows);
    assert!(listed.iter().all(|row| row["period_ns"].is_number()));
    assert_eq!(json["manifest"]["facts"]["backend"], "sim");

    let xml = printed("junit");
    let document = roxmltree::Document::parse(&xml).unwrap();
    let named = |name: &'static str| document.descendants().filter(move |n| n.has_tag_name(name));
    assert_eq!(named("testcase").count(), rows);
    assert_eq!(named("failure").count() + named("skipped").count(), 0);
    let suite = named("testsuite").next().unwrap();
    assert!(suite.attribute("name").unwrap().contains("SIMULATED"));
    assert_eq!(suite.attribute("tests"), Some(rows.to_string().as_str()));
}

#[test]
fn markdown_is_headings_and_whole_tables() {
    let text = printed("markdown");
    assert!(text.starts_with("### ") && text.contains("SIMULATED"), "{text}");
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    let width = |line: &str| line.matches('|').count();
    assert!(table.len() > 6);
    assert!(table.iter().all(|line| line.ends_with('|') && width(line) == width(table[0])));
    let rules = table.iter().filter(|line| line.contains("---")).count();
    let heads = table.iter().filter(|line| line.contains("µs/node")).count();
    assert_eq!((rules, heads), (2, 2), "one table a submission: {text}");
}

#[test]
fn pipelined_chains_show_how_much_they_are_contaminated() {
    let dir = tempfile::tempdir().unwrap();
    // Twelve rounds are too few to tell a contamination for certain.
    let longer = SMALL.map(|flag| if flag == "--rounds-max=12" { "--rounds-max=40" } else { flag });
    let said = succeed(pdl(dir.path(), longer).args(["--out", "run", "--mode", "pipelined"]));
    let text = &said.stdout;
    assert!(text.contains(": 10 nodes, isolated,") && text.contains(": 10 nodes, pipelined,"));
    assert!(text.contains("contamination index 0.") && text.contains("Quote the isolated time"));
    let page = fs::read_to_string(dir.path().join("run/report.html")).unwrap();
    assert!(page.contains("contamination</th>") && page.contains("Quote the isolated time"));
    let bytes = fs::read(dir.path().join("run/summary.csv")).unwrap();
    let rows = cells(&bytes);
    let column = |name: &str| rows[0].iter().position(|column| column == name).unwrap();
    let (mode, index) = (column("mode"), column("contamination"));
    let (lo, hi) = (column("contamination_lo"), column("contamination_hi"));
    let (mut indices, mut intervals) = (0, 0);
    for row in rows[1..].iter().filter(|row| !row[index].is_empty()) {
        let number = |at: usize| row[at].parse::<f64>().unwrap();
        assert!(row[mode] == "pipelined" && number(index) < 1.01, "{row:?}");
        indices += 1;
        // Few rounds that depend on one another have no interval.
        if !row[lo].is_empty() {
            assert!(number(lo) <= number(index) && number(index) <= number(hi), "{row:?}");
            intervals += 1;
        }
    }
    // Full controls and subjects of both submissions at three triggers, and the A/A arms.
    assert!(indices == 4 * 3 + 2 && intervals > 6, "{indices} {intervals}");
}

/// A value that a stranger changed to be wrong is a wrong result: exit code 4, no speed-up.
#[test]
fn a_wrong_result_is_exit_code_4_and_has_no_speed() {
    let dir = small_copy();
    let path = dir.path().join("run/points.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let mut changed = 0;
    let lines = text.lines().map(|line| {
        let mut point: serde_json::Value = serde_json::from_str(line).unwrap();
        if point["arm"] == "graph-pdl" && point["trigger"] == "4/8" {
            point["verification"]["mismatches"] = 3.into();
            changed += 1;
        }
        point.to_string() + "\n"
    });
    let text: String = lines.collect();
    assert_eq!(changed, 1);
    fs::write(&path, text).unwrap();
    // It contradicts what the raw files say now, and would not be replaced.
    fs::remove_file(dir.path().join("run/summary.csv")).unwrap();
    let said = run(&mut pdl(dir.path(), ["report", "run", "--format", "junit"]));
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.stderr.starts_with("pdl: cannot trust the run: "), "{said:?}");
    let document = roxmltree::Document::parse(&said.stdout).unwrap();
    let failures = document.descendants().filter(|node| node.has_tag_name("failure"));
    assert_eq!(failures.count(), 1);
    let rows = pdl_lab::record::read_summary(&dir.path().join("run/summary.csv")).unwrap();
    let wrong: Vec<_> = rows.iter().filter(|row| row.correct == Some(false)).collect();
    assert_eq!(wrong.len(), 1);
    assert_eq!(wrong[0].verdict, Some(pdl_lab::record::Verdict::Wrong));
    assert_eq!((wrong[0].speedup, wrong[0].saved_ns, wrong[0].period_ns), (None, None, None));
}
