//! `--dry-run`: the whole plan, and nothing else happens.

use crate::program::{SMALL, names, pdl, run, small_run, succeed};

fn dry(arguments: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let fixed = ["sweep", "--backend", "sim", "--dry-run"];
    let said = succeed(pdl(dir.path(), fixed).args(arguments));
    assert_eq!(said.stderr, "", "{arguments:?}");
    assert_eq!(names(dir.path()), [""; 0], "{arguments:?} wrote something");
    said.stdout
}

/// Point, trigger, arms of each line that is a point.
fn points(text: &str) -> Vec<(String, String, Vec<String>)> {
    let mut points = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("  p")) {
        let line = line.replace("no trigger", "none");
        let mut words = line.split_whitespace().map(str::to_owned);
        points.push((words.next().unwrap(), words.next().unwrap(), words.collect()));
    }
    points
}

#[test]
fn the_default_sweep_is_twelve_triggers_of_two_bodies_with_controls() {
    let text = dry(&[]);
    assert!(text.starts_with("NVIDIA H200 SIMULATED\n"), "{text}");
    let triggers = "none at-entry 0/8 1/8 2/8 3/8 4/8 5/8 6/8 7/8 8/8 after implicit";
    let expected: Vec<&str> = triggers.split(' ').chain(triggers.split(' ')).collect();
    let points = points(&text);
    assert_eq!(points.iter().map(|point| point.1.as_str()).collect::<Vec<_>>(), expected);
    for (number, (point, trigger, arms)) in points.iter().enumerate() {
        assert_eq!(*point, format!("p{number:03}"));
        let expected: &[&str] = match trigger.as_str() {
            "none" => &["stream", "stream-aa", "graph", "graph-aa", "sentinel"],
            _ => &["stream-full", "stream-pdl", "graph-full", "graph-pdl"],
        };
        assert_eq!(arms, expected, "{point}");
    }
    let groups: Vec<&str> = text.lines().filter(|line| line.starts_with("group")).collect();
    assert_eq!(
        groups,
        [
            "group 0: 50 nodes, 132 blocks × 128 threads, body fma 4.000 µs, preamble alu 2.000 µs, L2 hot, triggered by thread, \
             isolated",
            "group 1: 50 nodes, 132 blocks × 128 threads, body hbm 4.000 µs, preamble alu 2.000 µs, L2 hot, triggered by thread, \
             isolated",
        ]
    );
    assert_eq!(text.matches("  53 points × arms\n").count(), 2, "5 + 12 × 4");
}

#[test]
fn every_arm_brings_its_baseline_its_control_and_the_noise_floor() {
    let floor = "graph graph-aa sentinel";
    let table = [
        ("stream", "stream stream-aa graph graph-aa sentinel", ""),
        ("stream-full", "stream stream-aa graph graph-aa sentinel", "stream-full"),
        ("stream-pdl", "stream stream-aa graph graph-aa sentinel", "stream-full stream-pdl"),
        ("stream-aa", "stream stream-aa graph graph-aa sentinel", ""),
        ("graph", floor, ""),
        ("graph-aa", floor, ""),
        ("graph-full", floor, "graph-full"),
        ("graph-pdl", floor, "graph-full graph-pdl"),
        ("flags", "graph graph-aa flags sentinel", ""),
        ("persistent", "graph graph-aa persistent sentinel", ""),
        ("sentinel", floor, ""),
    ];
    for (arm, without, with) in table {
        let text = dry(&["--arm", arm, "--trigger", "1/2", "--body-kind", "fma"]);
        let mut expected = vec![("p000", "none", without)];
        if !with.is_empty() {
            expected.push(("p001", "1/2", with));
        }
        let points = points(&text);
        let found: Vec<(&str, &str, String)> =
            points.iter().map(|p| (p.0.as_str(), p.1.as_str(), p.2.join(" "))).collect();
        let found: Vec<(&str, &str, &str)> =
            found.iter().map(|p| (p.0, p.1, p.2.as_str())).collect();
        assert_eq!(found, expected, "{arm}");
    }
    // Its control is the implicit one, whatever is swept.
    let text = dry(&["--arm=graph-completion", "--trigger=1/2", "--body-kind=fma"]);
    let points = points(&text);
    assert_eq!(points[0].2.join(" "), "graph graph-aa graph-completion sentinel");
    assert_eq!(points[1..], [("p001".into(), "implicit".into(), vec!["graph-full".into()])]);
}

#[test]
fn lists_and_ranges_make_a_product_and_a_value_given_twice_counts_once() {
    let groups = |arguments: &[&str]| dry(arguments).matches("\ngroup ").count();
    let table: [(&[&str], usize); 12] = [
        (&[], 2),
        // Beside pipelined chains isolated ones run: what the contamination index is measured by.
        (&["--mode=pipelined", "--body-kind=fma"], 2),
        (&["--body-kind=fma"], 1),
        (&["--nodes=2,4"], 4),
        (&["--nodes=2..10:4", "--block=32,64", "--body-kind=fma"], 6),
        (&["--grid=1,2,4", "--preamble-us=0..1:0.5", "--l2=hot,rotated"], 36),
        (&["--waves=0.5..2:0.5", "--mode=isolated,pipelined"], 16),
        (&["--body-kind=hbm,l2", "--preamble-kind=none,prefetch-l2", "--body-bytes=4096,65536"], 8),
        (&["--cluster=1,2,4", "--shared-kib=0,64", "--trigger-by=thread,block"], 24),
        (&["--nodes=50,50,50"], 2),
        (&["--nodes=2..4,4..6", "--body-kind=fma,fma"], 5),
        (&["--body-us=1,1.0,1e0", "--preamble-us=2,2.0"], 2),
    ];
    for (arguments, expected) in table {
        assert_eq!(groups(arguments), expected, "{arguments:?}");
    }
}

#[test]
fn points_are_numbered_through_all_groups_and_every_trigger_stands_once() {
    let text = dry(&["--nodes=2,3,4", "--trigger=after,0/2,after, 2/2", "--arm=graph-pdl"]);
    let points = points(&text);
    assert_eq!(points.len(), 3 * 2 * (1 + 3));
    for (number, (point, trigger, _)) in points.iter().enumerate() {
        assert_eq!(*point, format!("p{number:03}"));
        assert_eq!(trigger, ["none", "after", "0/2", "2/2"][number % 4]);
    }
}

#[test]
fn more_work_is_expected_to_take_longer() {
    // With the fewest rounds and with the most.
    let range = |arguments: &[&str]| -> (f64, f64) {
        let text = dry(arguments);
        let line = text.lines().last().unwrap();
        let numbers = line.strip_prefix("expected: ").and_then(|rest| rest.strip_suffix(" s"));
        let numbers = numbers.unwrap_or_else(|| panic!("{line}"));
        let (least, most) = numbers.split_once(" to ").unwrap_or((numbers, numbers));
        (least.parse().unwrap(), most.parse().unwrap())
    };
    let seconds = |arguments: &[&str]| range(arguments).1;
    let (least, usual) = range(&[]);
    assert!(least > 1.0 && least < usual && usual < 60.0, "{least} {usual}");
    // Rounds and budget bound it from both sides.
    let (least, most) = range(&["--rounds-min=40", "--rounds-max=40"]);
    assert_eq!(least, most);
    assert!(range(&["--rounds-max=31"]).1 < usual);
    assert!(range(&["--rounds-max=100000"]).1 <= 2.0 * 20.0 + 5.0);
    assert!(range(&["--rounds-max=100000", "--budget-s=2"]).1 < 12.0);
    assert!(seconds(&["--quick"]) < usual);
    assert!(seconds(&["--nodes=50,100"]) > usual);
    assert!(seconds(&["--body-us=40"]) > usual);
    assert!(seconds(&["--trigger=0/8"]) < usual);
}

#[test]
fn what_is_announced_is_what_is_measured() {
    let dir = small_run().0.path();
    let announced = succeed(pdl(dir, SMALL).arg("--dry-run")).stdout;
    let announced = points(&announced);
    let rows = pdl_lab::record::read_summary(&dir.join("run/summary.csv")).unwrap();
    let mut expected = Vec::new();
    for (point, _, arms) in &announced {
        expected.extend(arms.iter().map(|arm| (point.clone(), arm.clone())));
    }
    let measured: Vec<(String, String)> =
        rows.iter().map(|row| (row.point.clone(), row.arm.name())).collect();
    assert_eq!(measured, expected);
}

#[test]
fn a_plan_is_printed_as_json_or_refused_and_never_ignored() {
    let text = dry(&["--format", "json", "--trigger", "0/8"]);
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["points"].as_array().unwrap().len(), 2 * 2);
    assert!(found["expected_s"][0].as_f64().unwrap() > 0.0, "{found}");
    let dir = tempfile::tempdir().unwrap();
    for (command, format, code) in [
        ("sweep", "csv", 2),
        ("sweep", "markdown", 2),
        ("sweep", "junit", 2),
        ("calibrate", "markdown", 2),
        ("calibrate", "json", 0),
    ] {
        let said = run(&mut pdl(
            dir.path(),
            [command, "--backend", "sim", "--dry-run", "--format", format],
        ));
        assert_eq!(said.code, Some(code), "{command} {format}: {said:?}");
        assert_eq!(said.stderr.contains("use --format table or json"), code == 2, "{said:?}");
    }
    let said = run(&mut pdl(dir.path(), ["sweep", "--resume", "x", "--dry-run"]));
    assert_eq!(said.code, Some(2), "{said:?}");
}
