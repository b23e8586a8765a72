//! A measured sweep in one file: of every row what the models are given and what they are held
//! against, under a header that says where it comes from. Raw samples and stamps are not in it.
//!
//! ```text
//! # pdl measured sweep 1.0
//! # command: pdl sweep --grid 88,176 …
//! # device: NVIDIA H200
//! …
//! point,group,arm,trigger,grid_blocks,…,period_ns,period_lo_ns,period_hi_ns,verdict,in_plateau
//! ```
//!
//! A column that is not there has, in every row, the value of the default sweep.

use serde::{Deserialize, Serialize};

use super::sweep::{Measured, Provenance, Sweep};
use crate::chain::{
    Arm, Body, BodyKind, Chain, L2, Mode, Preamble, PreambleKind, Shape, Target, Trigger, TriggerBy,
};
use crate::record::Verdict;

const MAGIC: &str = "# pdl measured sweep 1.0";
/// Groups of a sweep: numbers of several that stand together stay far from any end.
const MAX_GROUPS: u32 = 100_000;

/// A row as the file has it.
#[derive(Serialize, Deserialize)]
struct Line {
    point: String,
    group: u32,
    arm: Arm,
    trigger: Option<Trigger>,
    #[serde(default = "default_nodes")]
    nodes: u32,
    grid_blocks: u32,
    block_threads: u32,
    #[serde(default)]
    shared_bytes: u32,
    #[serde(default = "default_cluster")]
    cluster_blocks: u32,
    #[serde(default)]
    trigger_by: TriggerBy,
    preamble_kind: PreambleKind,
    preamble_units: u64,
    body_kind: BodyKind,
    body_units: u64,
    #[serde(default)]
    l2: L2,
    #[serde(default)]
    mode: Mode,
    period_ns: f64,
    period_lo_ns: Option<f64>,
    period_hi_ns: Option<f64>,
    verdict: Option<Verdict>,
    in_plateau: Option<bool>,
}

/// Columns that are left out where every row has this.
const DEFAULTS: [(&str, &str); 6] = [
    ("nodes", "50"),
    ("shared_bytes", "0"),
    ("cluster_blocks", "1"),
    ("trigger_by", "thread"),
    ("l2", "hot"),
    ("mode", "isolated"),
];

fn default_nodes() -> u32 {
    Chain::default().nodes
}

fn default_cluster() -> u32 {
    Shape::default().cluster_blocks
}

impl Sweep {
    /// The file: header, then one row a point and arm.
    pub fn to_csv(&self) -> String {
        let mut text = format!("{MAGIC}\n");
        for (key, value) in self.provenance.fields() {
            if !value.is_empty() {
                text += &format!("# {key}: {}\n", value.replace(['\n', '\r'], " "));
            }
        }
        text += "# left out: stamps and single samples; verdict and in_plateau are derived from \
                 these\n";
        text + &table(&self.rows)
    }

    pub(super) fn parse(name: &str, text: &str) -> std::result::Result<Sweep, String> {
        let Some(body) = text.strip_prefix(MAGIC) else {
            return Err(format!("it does not begin with '{MAGIC}'"));
        };
        let mut provenance = Provenance::default();
        for line in body.lines().skip(1).take_while(|line| line.starts_with('#')) {
            if let Some((key, value)) = line[1..].split_once(':') {
                provenance.set(key.trim(), value.trim())?;
            }
        }
        if provenance.device.is_empty() || provenance.sm_count == 0 {
            return Err("its header names no device and sm_count".to_owned());
        }
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        let mut rows = Vec::new();
        for line in reader.deserialize::<Line>() {
            let line = line.map_err(|error| error.to_string())?;
            rows.push(line.checked().map_err(|cause| format!("row {}: {cause}", rows.len() + 1))?);
        }
        Ok(Sweep { name: name.to_owned(), provenance, rows })
    }
}

impl Provenance {
    fn fields(&self) -> [(&'static str, String); 8] {
        [
            ("command", self.command.clone()),
            ("device", self.device.clone()),
            ("sm_count", self.sm_count.to_string()),
            ("uuid", self.uuid.clone()),
            ("driver", self.driver.clone()),
            ("program", self.program.clone()),
            ("date", self.date.clone()),
            ("note", self.note.clone()),
        ]
    }

    /// Takes a line of the header; what is not known is for readers of text.
    fn set(&mut self, key: &str, value: &str) -> std::result::Result<(), String> {
        let field = match key {
            "command" => &mut self.command,
            "device" => &mut self.device,
            "uuid" => &mut self.uuid,
            "driver" => &mut self.driver,
            "program" => &mut self.program,
            "date" => &mut self.date,
            "note" => &mut self.note,
            "sm_count" => {
                let wrong = |_| format!("sm_count '{value}' is no number");
                self.sm_count = value.parse().map_err(wrong)?;
                return Ok(());
            }
            _ => return Ok(()),
        };
        value.clone_into(field);
        Ok(())
    }
}

impl Line {
    fn of(row: &Measured) -> Line {
        let (chain, shape) = (&row.chain, &row.chain.shape);
        Line {
            point: row.point.clone(),
            group: row.group,
            arm: row.arm,
            trigger: row.trigger,
            nodes: chain.nodes,
            grid_blocks: shape.grid_blocks,
            block_threads: shape.block_threads,
            shared_bytes: shape.shared_bytes,
            cluster_blocks: shape.cluster_blocks,
            trigger_by: chain.trigger_by,
            preamble_kind: chain.preamble.kind,
            preamble_units: chain.preamble.units,
            body_kind: chain.body.kind,
            body_units: chain.body.units,
            l2: chain.l2,
            mode: chain.mode,
            period_ns: row.period_ns,
            period_lo_ns: row.period_lo_ns,
            period_hi_ns: row.period_hi_ns,
            verdict: row.verdict,
            in_plateau: row.in_plateau,
        }
    }

    fn checked(self) -> std::result::Result<Measured, String> {
        if self.group >= MAX_GROUPS {
            return Err(format!(
                "group {} is none: a sweep has fewer than {MAX_GROUPS}",
                self.group
            ));
        }
        let ends = [Some(self.period_ns), self.period_lo_ns, self.period_hi_ns];
        if let Some(wrong) = ends.iter().flatten().find(|ns| !(ns.is_finite() && **ns > 0.0)) {
            return Err(format!("a period of {wrong} ns is none"));
        }
        let chain = Chain {
            nodes: self.nodes,
            shape: Shape {
                grid_blocks: self.grid_blocks,
                block_threads: self.block_threads,
                shared_bytes: self.shared_bytes,
                cluster_blocks: self.cluster_blocks,
            },
            preamble: Preamble {
                kind: self.preamble_kind,
                target_ns: 0.0,
                units: self.preamble_units,
            },
            body: Body { kind: self.body_kind, target: Target::Ns(0.0), units: self.body_units },
            trigger: self.trigger.unwrap_or(Trigger::Implicit),
            trigger_by: self.trigger_by,
            l2: self.l2,
            mode: self.mode,
        };
        chain.validate().map_err(|error| error.to_string().replace('\n', ";"))?;
        Ok(Measured {
            point: self.point,
            group: self.group,
            arm: self.arm,
            trigger: self.trigger,
            chain,
            period_ns: self.period_ns,
            period_lo_ns: self.period_lo_ns,
            period_hi_ns: self.period_hi_ns,
            verdict: self.verdict,
            in_plateau: self.in_plateau,
        })
    }
}

/// Header and rows, without the columns that say nothing.
fn table(rows: &[Measured]) -> String {
    const IN_MEMORY: &str = "memory takes all that is written";
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().for_each(|row| writer.serialize(Line::of(row)).expect(IN_MEMORY));
    let whole = writer.into_inner().expect(IN_MEMORY);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(whole.as_slice());
    let records: Vec<csv::StringRecord> =
        reader.records().map(|record| record.expect("it was just written")).collect();
    let Some((header, lines)) = records.split_first() else { return String::new() };
    let told = |column: usize| {
        let default = DEFAULTS.iter().find(|(name, _)| *name == &header[column]);
        default.is_none_or(|(_, value)| lines.iter().any(|line| &line[column] != *value))
    };
    let kept: Vec<usize> = (0..header.len()).filter(|column| told(*column)).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in &records {
        writer.write_record(kept.iter().map(|column| &record[*column])).expect(IN_MEMORY);
    }
    String::from_utf8(writer.into_inner().expect(IN_MEMORY)).expect("all cells are text")
}
