//! What a profile must hold beyond its shape. Every message begins with the field's path.

use super::{Origin, PROFILE_SCHEMA, Profile};

type Checked = std::result::Result<(), String>;

/// The version comes first: a later one may hold anything.
pub(super) fn version(table: &toml::Table) -> Checked {
    let Some(version) = table.get("schema_version") else {
        return Err("schema_version is missing".into());
    };
    let (major, minor) = PROFILE_SCHEMA;
    let parts = version.as_str().and_then(|text| text.split_once('.'));
    let parts = parts.and_then(|(a, b)| Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?)));
    match parts {
        None => Err(format!("schema_version {version} is no version; this is \"{major}.{minor}\"")),
        Some(found) if found > PROFILE_SCHEMA => Err(format!(
            "schema_version {version} is later than {major}.{minor}, the last that this program reads"
        )),
        Some((found, _)) if found < major => {
            Err(format!("schema_version {version} is too old; this program reads {major}.x"))
        }
        Some(_) => Ok(()),
    }
}

impl Profile {
    /// Checks numbers and what they say together.
    ///
    /// # Errors
    /// The path of the first field that is wrong, and why.
    pub fn validate(&self) -> Checked {
        if self.name.trim().is_empty() {
            return Err("name is empty".into());
        }
        let table = toml::Table::try_from(self).map_err(|error| error.to_string())?;
        for (key, value) in &table {
            walk(key, value, self.origin)?;
        }
        self.facts()?;
        knots("hops.graph", self.hops.graph.iter().map(|knot| knot.blocks))?;
        knots("hops.stream", self.hops.stream.iter().map(|knot| knot.blocks))?;
        knots("hops.bounds", self.hops.bounds.iter().map(|knot| knot.blocks))?;
        self.shares()
    }

    /// Paths of the constants that say they are assumed, in order.
    pub fn assumed(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (key, value) in toml::Table::try_from(self).unwrap_or_default() {
            collect_assumed(&key, &value, &mut names);
        }
        names
    }

    fn facts(&self) -> Checked {
        let device = &self.device;
        let counts = [
            ("sm_count", u64::from(device.sm_count)),
            ("sm_threads", u64::from(device.sm_threads)),
            ("sm_blocks", u64::from(device.sm_blocks)),
            ("sm_registers", u64::from(device.sm_registers)),
            ("sm_shared_bytes", u64::from(device.sm_shared_bytes)),
            ("block_shared_bytes", u64::from(device.block_shared_bytes)),
            ("cluster_blocks", u64::from(device.cluster_blocks)),
            ("sm_schedulers", u64::from(device.sm_schedulers)),
            ("sm_mhz", u64::from(device.sm_mhz)),
            ("l2_bytes", device.l2_bytes),
            ("memory_bytes", device.memory_bytes),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(format!("device.{name} is 0"));
        }
        if device.cluster_sms.iter().sum::<u32>() != device.sm_count {
            return Err(format!(
                "device.cluster_sms add up to {}, and device.sm_count is {}",
                device.cluster_sms.iter().sum::<u32>(),
                device.sm_count
            ));
        }
        let held = device.block_shared_bytes.saturating_add(device.reserved_shared_bytes);
        if held > device.sm_shared_bytes {
            return Err(format!(
                "device.block_shared_bytes with device.reserved_shared_bytes is {held}, more than \
                 device.sm_shared_bytes {}",
                device.sm_shared_bytes
            ));
        }
        let registers = self.block.thread_registers;
        if registers == 0 || registers.saturating_mul(32) > device.sm_registers {
            return Err(format!("block.thread_registers {registers}: not one warp fits an SM"));
        }
        Ok(())
    }

    /// Ratios, and rates and steps by which something is divided.
    fn shares(&self) -> Checked {
        let parts = [
            ("noise.shared_ratio", &self.noise.shared_ratio),
            ("noise.memory_ratio", &self.noise.memory_ratio),
            ("memory.beside_alu_ratio", &self.memory.beside_alu_ratio),
            ("issue.elder_ratio", &self.issue.elder_ratio),
            ("placement.stream_bytes_spread", &self.placement.stream_bytes_spread),
            ("issue.wide_peer_ratio", &self.issue.wide_peer_ratio),
            ("issue.gap_exit_per_warp", &self.issue.gap_exit_per_warp),
            ("issue.gap_quick_chance", &self.issue.gap_quick_chance),
            ("issue.gap_lost_per_warp", &self.issue.gap_lost_per_warp),
        ];
        if let Some((name, part)) = parts.iter().find(|(_, part)| part.value > 1.0) {
            return Err(format!("{name} {} is above 1", part.value));
        }
        let positive = [
            ("issue.lone_warp_cycles", &self.issue.lone_warp_cycles),
            ("issue.busy_warp_cycles", &self.issue.busy_warp_cycles),
            ("issue.elder_ratio", &self.issue.elder_ratio),
            ("issue.wide_peer_ratio", &self.issue.wide_peer_ratio),
            ("issue.gap_quick_chance", &self.issue.gap_quick_chance),
            ("memory.hbm_bytes_per_ns", &self.memory.hbm_bytes_per_ns),
            ("memory.hbm_latency_ns", &self.memory.hbm_latency_ns),
            ("memory.l2_bytes_per_ns", &self.memory.l2_bytes_per_ns),
            ("memory.l2_latency_ns", &self.memory.l2_latency_ns),
            ("issue.few_straggler_warps", &self.issue.few_straggler_warps),
            ("issue.straggler_warps", &self.issue.straggler_warps),
            ("issue.many_straggler_warps", &self.issue.many_straggler_warps),
            ("memory.sm_bytes_per_ns", &self.memory.sm_bytes_per_ns),
            ("memory.hbm_sm_bytes_per_ns", &self.memory.hbm_sm_bytes_per_ns),
            ("memory.beside_alu_ratio", &self.memory.beside_alu_ratio),
            ("memory.thread_in_flight_bytes", &self.memory.thread_in_flight_bytes),
            ("instruments.timer_step_ns", &self.instruments.timer_step_ns),
            ("instruments.queue_depth", &self.instruments.queue_depth),
        ];
        match positive.iter().find(|(_, constant)| constant.value <= 0.0) {
            Some((name, _)) => Err(format!("{name} is 0")),
            None => Ok(()),
        }
    }
}

fn collect_assumed(path: &str, value: &toml::Value, names: &mut Vec<String>) {
    match value {
        toml::Value::Table(table)
            if table.get("assumed").and_then(toml::Value::as_bool) == Some(true) =>
        {
            names.push(path.to_owned());
        }
        toml::Value::Table(table) => {
            table.iter().for_each(|(key, v)| collect_assumed(&format!("{path}.{key}"), v, names));
        }
        toml::Value::Array(array) => {
            let numbered = array.iter().enumerate();
            numbered.for_each(|(n, v)| collect_assumed(&format!("{path}[{n}]"), v, names));
        }
        _ => {}
    }
}

/// Visits every constant: a table that has a value.
fn walk(path: &str, value: &toml::Value, origin: Origin) -> Checked {
    match value {
        toml::Value::Table(table) if table.contains_key("value") => constant(path, table, origin),
        toml::Value::Table(table) => {
            table.iter().try_for_each(|(key, value)| walk(&format!("{path}.{key}"), value, origin))
        }
        toml::Value::Array(array) => {
            let mut numbered = array.iter().enumerate();
            numbered.try_for_each(|(index, value)| walk(&format!("{path}[{index}]"), value, origin))
        }
        _ => Ok(()),
    }
}

fn constant(path: &str, table: &toml::Table, origin: Origin) -> Checked {
    let number = |field: &str| table.get(field).and_then(toml::Value::as_float);
    for field in ["value", "lo", "hi"] {
        match number(field) {
            Some(found) if !found.is_finite() => {
                return Err(format!("{path}.{field} {found} is no number"));
            }
            Some(found) if found < 0.0 => {
                return Err(format!("{path}.{field} {found} is negative"));
            }
            _ => {}
        }
    }
    let text = table.get("experiment").and_then(toml::Value::as_str).unwrap_or_default();
    if text.trim().is_empty() {
        return Err(format!("{path}.experiment is empty: it says where the number comes from"));
    }
    let assumed = table.get("assumed").and_then(toml::Value::as_bool) == Some(true);
    match (number("value"), number("lo"), number("hi")) {
        (Some(value), Some(lo), _) if lo > value => {
            Err(format!("{path}.lo {lo} is above its value {value}"))
        }
        (Some(value), _, Some(hi)) if hi < value => {
            Err(format!("{path}.hi {hi} is below its value {value}"))
        }
        (_, Some(_), None) => Err(format!("{path}.hi is missing, and lo is there")),
        (_, None, Some(_)) => Err(format!("{path}.lo is missing, and hi is there")),
        (_, None, None) if origin == Origin::Measured && !assumed => Err(format!(
            "{path}.lo and {path}.hi are missing: a measured constant has an interval, or says \
             assumed = true"
        )),
        _ => Ok(()),
    }
}

/// At least two, so that there is a line, and in order.
fn knots(path: &str, blocks: impl Iterator<Item = u32>) -> Checked {
    let blocks: Vec<u32> = blocks.collect();
    if blocks.len() < 2 {
        return Err(format!("{path} has {} knots, and a line needs two", blocks.len()));
    }
    if blocks[0] == 0 {
        return Err(format!("{path}[0].blocks is 0"));
    }
    match blocks.windows(2).position(|pair| pair[0] >= pair[1]) {
        Some(at) => Err(format!(
            "{path}[{}].blocks {} does not come after {}: knots are in order of blocks",
            at + 1,
            blocks[at + 1],
            blocks[at]
        )),
        None => Ok(()),
    }
}
