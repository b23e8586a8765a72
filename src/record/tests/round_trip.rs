//! What is written is what is read, bit for bit.

use std::fs;

use clap::ValueEnum;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::fixture::{manifest, now, point, summary_row};
use crate::chain::{Arm, BodyKind, PreambleKind, Trigger};
use crate::device::Flag;
use crate::record::{
    PointRecord, ProofVerdict, RunDir, SUMMARY_COLUMNS, SampleRow, SummaryRow, Verdict, read_run,
    read_summary, write_summary,
};

fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![-1e9..1e9, any::<f64>().prop_filter("finite", |v| v.is_finite())]
}

fn ns() -> impl Strategy<Value = Option<f64>> {
    option::of((-1e9..1e9_f64).prop_map(|v| (v * 10.0).round() / 10.0 + 0.0))
}

fn ratio() -> impl Strategy<Value = Option<f64>> {
    option::of((0.0..100.0_f64).prop_map(|v| (v * 1e4).round() / 1e4))
}

fn arm() -> impl Strategy<Value = Arm> {
    proptest::sample::select(Arm::value_variants())
}

fn sample_row() -> impl Strategy<Value = SampleRow> {
    let flags = proptest::sample::subsequence(&Flag::ALL[..], 0..=Flag::ALL.len());
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), option::of(any::<u32>()));
    ("p00[01]", arm(), numbers, 0.0..1e12_f64, flags).prop_map(
        |(point, arm, (nodes, round, order, sm_mhz), duration_ns, flags)| SampleRow {
            point: point.into(),
            arm,
            nodes,
            round,
            order,
            duration_ns: SampleRow::stored_ns(duration_ns),
            sm_mhz,
            flags,
        },
    )
}

fn point_record() -> impl Strategy<Value = PointRecord> {
    let names = ("p00[01]", any::<String>(), option::of(any::<String>()));
    let numbers = (option::of(finite()), option::of(finite()), finite(), any::<u64>());
    (names, arm(), numbers).prop_map(|((name, kernel, skipped), arm, (body, gap, asked, units))| {
        let mut record = PointRecord { skipped, body_ns: body, ..point(&name, arm) };
        record.proof.kernel = kernel;
        record.chain.preamble.target_ns = asked;
        record.chain.body.units = units;
        record.stamps.as_mut().unwrap().launch_gap_ns = gap;
        record
    })
}

prop_compose! {
    fn summary()(
        arm in arm(),
        times in vec(ns(), 14),
        ratios in vec(ratio(), 6),
        device in any::<String>(),
        reason in "[a-z|,\"\r\n ]{0,12}",
        count in any::<u32>(),
        trigger in option::of(proptest::sample::select(Trigger::defaults())),
        preamble_kind in proptest::sample::select(PreambleKind::value_variants()),
        body_kind in proptest::sample::select(BodyKind::value_variants()),
        verdict in option::of(proptest::sample::select(&[
            Verdict::Helps, Verdict::Hurts, Verdict::Equivalent,
            Verdict::Inconclusive, Verdict::Skipped, Verdict::Wrong,
        ][..])),
        proof in option::of(proptest::sample::select(&[
            ProofVerdict::Active, ProofVerdict::Armed, ProofVerdict::Inactive,
        ][..])),
        correct in option::of(any::<bool>()),
    ) -> SummaryRow {
        SummaryRow {
            arm, trigger, preamble_kind, body_kind, verdict, proof, correct, device, reason,
            samples: count,
            submission: arm.submission(),
            dependency: arm.dependency(),
            baseline: arm.baseline(),
            preamble_ns: times[0], body_ns: times[1], period_ns: times[2],
            period_lo_ns: times[3], period_hi_ns: times[4], marginal_ns: times[5],
            saved_ns: times[6], saved_lo_ns: times[7], saved_hi_ns: times[8],
            code_cost_ns: times[9], launch_gap_ns: times[10], hop_latency_ns: times[11],
            useful_ns: times[12], limit_ns: times[13],
            speedup: ratios[0], speedup_lo: ratios[1], speedup_hi: ratios[2],
            exposed_ns: times[3], exposed_unexplained_ns: times[4], predicted_ns: times[5],
            error_pct: ratios[1].map(|ratio| (ratio * 100.0).round() / 100.0),
            contamination: ratios[3], contamination_lo: ratios[4], contamination_hi: ratios[5],
            ..summary_row()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_run(
        rows in vec(sample_row(), 0..20),
        points in vec(point_record(), 0..6),
        text in any::<String>(),
        number in finite(),
    ) {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        let mut manifest = manifest();
        manifest.argv.push(text);
        manifest.plan.group_budget_s = number;
        let mut run = RunDir::create(Some(&dir), "sweep", now()).unwrap();
        run.write_manifest(&manifest).unwrap();
        for record in &points { run.append_point(record).unwrap(); }
        for row in &rows { run.append_sample(row).unwrap(); }
        let read = read_run(&dir).unwrap();
        prop_assert_eq!(read.manifest, manifest);
        prop_assert_eq!(read.points, points);
        prop_assert_eq!(read.samples, rows);
        prop_assert_eq!(read.notes, Vec::<String>::new());
    }

    #[test]
    fn a_summary(rows in vec(summary(), 0..8)) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("summary.csv");
        let bytes = write_summary(&rows);
        fs::write(&path, &bytes).unwrap();
        let read = read_summary(&path).unwrap();
        prop_assert_eq!(&read, &rows);
        prop_assert_eq!(write_summary(&read), bytes);
    }

    /// Numbers of any precision settle after one writing.
    #[test]
    fn a_summary_of_unrounded_numbers(value in any::<f64>()) {
        let row = SummaryRow {
            saved_ns: Some(value), speedup: Some(value), period_ns: Some(value), ..summary_row()
        };
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("summary.csv");
        let bytes = write_summary(&[row]);
        prop_assert!(!String::from_utf8_lossy(&bytes).contains("NaN"));
        fs::write(&path, &bytes).unwrap();
        prop_assert_eq!(write_summary(&read_summary(&path).unwrap()), bytes);
    }

    #[test]
    fn no_file_makes_the_reader_panic(
        bytes in vec(any::<u8>(), 0..400),
        text in "[a-z0-9,.\"|\n\r-]{0,200}",
    ) {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        drop(super::fixture::record(&dir, 1).unwrap());
        let text = text.as_bytes();
        for (name, bytes) in
            [("samples.csv", &bytes[..]), ("points.jsonl", &bytes), ("samples.csv", text)]
        {
            let kept = fs::read(dir.join(name)).unwrap();
            fs::write(dir.join(name), [&kept[..], bytes].concat()).unwrap();
            let _ = read_run(&dir);
            fs::write(dir.join(name), bytes).unwrap();
            let _ = read_run(&dir);
            let _ = read_summary(&dir.join(name));
            fs::write(dir.join(name), kept).unwrap();
        }
    }
}

#[test]
fn a_summary_reads_as_the_contract_has_it() {
    let empty = SummaryRow {
        trigger: None,
        saved_ns: Some(f64::NAN),
        speedup: None,
        baseline: None,
        verdict: None,
        device: "H200".into(),
        ..summary_row()
    };
    let text = String::from_utf8(write_summary(&[summary_row(), empty])).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], SUMMARY_COLUMNS.join(","));
    assert_eq!(
        lines[1],
        "p001,graph-pdl,graph,programmatic,4/8,50,132,128,0,1,thread,alu,1998.7,fma,4012.3,hot,\
         isolated,40,4210.5,4210.5,4210.5,4210.5,graph,-0.3,-1.2,0.6,1.2345,1.2000,1.3000,0.0,12.5,\
         helps,active,true,-1873.1,412.0,1500.0,373.1,4012.3,sim,\
         \"H200, \"\"SXM\"\" SIMULATED\",a|b,0.9712,0.9600,0.9800,release,h200 (measured),12.3,stamps,12.3,12.3,12.3,12.3,12.3,\
         12.3,12.3,12.3,12.3,12.3,12.3,12.30,no SM"
    );
    assert_eq!(
        lines[2],
        "p001,graph-pdl,graph,programmatic,,50,132,128,0,1,thread,alu,1998.7,fma,4012.3,hot,\
         isolated,40,4210.5,4210.5,4210.5,4210.5,,,-1.2,0.6,,1.2000,1.3000,0.0,12.5,\
         ,active,true,-1873.1,412.0,1500.0,373.1,4012.3,sim,H200,a|b,0.9712,0.9600,0.9800,release,h200 (measured),12.3,stamps,12.3,12.3,12.3,12.3,12.3,\
         12.3,12.3,12.3,12.3,12.3,12.3,12.30,no SM"
    );
    assert_eq!(text.matches('\r').count(), 0);
}

#[test]
fn the_summary_of_an_earlier_version_has_what_it_lacks_empty() {
    let text = String::from_utf8(write_summary(&[summary_row()])).unwrap();
    let kept = SUMMARY_COLUMNS.iter().position(|column| *column == "contamination").unwrap();
    // No cell before it holds a comma.
    let row = SummaryRow { device: "H200".into(), ..summary_row() };
    let own = String::from_utf8(write_summary(&[row])).unwrap();
    let cut = |line: &str| line.split(',').take(kept).collect::<Vec<_>>().join(",") + "\n";
    let older: String = own.lines().map(cut).collect();
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("summary.csv");
    fs::write(&path, older).unwrap();
    let read = read_summary(&path).unwrap().remove(0);
    assert_eq!((read.period_ns, read.limit_ns), (summary_row().period_ns, summary_row().limit_ns));
    assert_eq!((read.contamination, read.exposed_ns, &*read.constants), (None, None, ""));
    // A column that every version has is missed.
    fs::write(&path, text.replacen("limit_ns,", "limit,", 1)).unwrap();
    assert!(read_summary(&path).unwrap_err().to_string().contains("lacks limit_ns"));
}
