//! What a kernel's template arguments say of its machine code.

use crate::sass::Code;

/// The enumerations of the C ABI, whose numbers stand in the names of kernels.
const HEADER: &str = include_str!("../../cuda/shim.h");
const TRIGGER: &str = "PDL_TRIGGER_";
const BODY: &str = "PDL_BODY_";

/// Names and numbers of the header's constants that begin with `prefix`, which is left out.
fn constants(prefix: &str) -> Vec<(&'static str, u32)> {
    let mut words = HEADER.split([' ', '\n', ',']).filter(|word| !word.is_empty());
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let Some(name) = word.strip_prefix(prefix) else { continue };
        if words.next() == Some("=") {
            let number = words.next().and_then(|number| number.parse().ok());
            found.push((name, number.expect("a constant has a number")));
        }
    }
    found
}

fn named(prefix: &str, number: u32) -> Option<&'static str> {
    constants(prefix).into_iter().find(|constant| constant.1 == number).map(|constant| constant.0)
}

/// Multiply-adds of one step of the preamble's and of the body's loop, in cuda/work.cuh.
const STEP_FMA: usize = 32;
/// Loads of one step of a streaming body, of one with few registers.
const STEP_LOADS: usize = 8;
const STEP_LOADS_NARROW: usize = 4;

/// The families of kernels that run nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Sync, and trigger where the name says: `AT_ENTRY` for PDL_TRIGGER_AT_ENTRY.
    Chain(&'static str),
    /// Neither.
    Native,
    /// Trigger at entry, a flag in place of the sync.
    Flags,
    /// Neither; a grid barrier.
    Persistent,
}

/// A kernel that runs nodes, by its template arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instance {
    pub family: Family,
    /// `FMA` for PDL_BODY_FMA.
    pub body: &'static str,
    pub stamped: bool,
}

impl Instance {
    /// From `_ZN3pdl5chainIL11pdl_trigger6EL8pdl_body2ELb0EEEv…`; `None` for other kernels.
    pub fn of(mangled: &str) -> Option<Instance> {
        let number = |key: &str| {
            let rest = &mangled[mangled.find(key)? + key.len()..];
            rest[..rest.find('E')?].parse::<u32>().ok()
        };
        let family = match mangled.strip_prefix("_ZN3pdl")? {
            rest if rest.starts_with("5chainI") => {
                Family::Chain(named(TRIGGER, number("pdl_trigger")?)?)
            }
            rest if rest.starts_with("6nativeI") => Family::Native,
            rest if rest.starts_with("5flagsI") => Family::Flags,
            rest if rest.starts_with("10persistentI") => Family::Persistent,
            _ => return None,
        };
        let stamped = number("Lb").unwrap_or(0) == 1;
        Some(Instance { family, body: named(BODY, number("pdl_body")?)?, stamped })
    }

    /// Every instance that the shim can launch.
    pub fn all() -> Vec<Instance> {
        let mut all = Vec::new();
        for (body, _) in constants(BODY) {
            for stamped in [false, true] {
                let triggers = constants(TRIGGER).into_iter().map(|constant| constant.0);
                let families = triggers.filter(|name| *name != "NATIVE").map(Family::Chain);
                for family in families.chain([Family::Native, Family::Flags]) {
                    all.push(Instance { family, body, stamped });
                }
            }
            all.push(Instance { family: Family::Persistent, body, stamped: false });
        }
        all
    }

    /// Grid dependency syncs in the code.
    pub fn syncs(&self) -> usize {
        usize::from(matches!(self.family, Family::Chain(_)))
    }

    /// Triggers in the code.
    pub fn triggers(&self) -> usize {
        let none =
            matches!(self.family, Family::Chain("IMPLICIT") | Family::Native | Family::Persistent);
        usize::from(!none)
    }

    /// Checks all that is said of the code.
    pub fn check(&self, code: &Code) -> Result<(), String> {
        let at = Places::of(code);
        self.check_counts(code, &at)?;
        self.check_loads(code, &at)?;
        self.check_body(code, &at)?;
        match self.family {
            Family::Chain(trigger) => {
                check_sync(code, &at)?;
                self.check_trigger(trigger, code, &at)
            }
            Family::Native => Ok(()),
            Family::Flags => {
                order("trigger", &at.triggers, "preamble", &code.places("FFMA"))?;
                check_hand_over(code, &at, &code.places("STG.STRONG.GPU"))
            }
            Family::Persistent => check_hand_over(code, &at, &code.places("REDG.STRONG.GPU")),
        }
    }

    fn check_counts(&self, code: &Code, at: &Places) -> Result<(), String> {
        demand(at.syncs.len() == self.syncs(), || format!("{} syncs", at.syncs.len()))?;
        let triggers = at.triggers.len();
        demand(triggers == self.triggers(), || format!("{triggers} triggers"))?;
        let local = code.places("LDL").len() + code.places("STL").len();
        demand(local == 0, || format!("{local} accesses of local memory"))
    }

    /// A load through the read-only path may see what was there before the sync.
    fn check_loads(&self, code: &Code, at: &Places) -> Result<(), String> {
        let constant = code.places("LDG.CONSTANT").len();
        match self.family {
            Family::Native => demand(constant == at.loads.len() && constant > 0, || {
                format!("{constant} of {} loads are through the read-only path", at.loads.len())
            }),
            _ => demand(constant == 0, || format!("{constant} loads through the read-only path")),
        }
    }

    /// The body's own work is there, behind the load of the primary's value.
    fn check_body(&self, code: &Code, at: &Places) -> Result<(), String> {
        let value = at.first_value_load()?;
        // The assembler drops a preamble whose sum nobody reads.
        let multiply_adds = code.places("FFMA").len();
        demand(multiply_adds >= STEP_FMA, || format!("{multiply_adds} multiply-adds"))?;
        let (work, least) = self.work(code);
        let behind = work.iter().filter(|&&place| place > value && place < at.stores[0]).count();
        demand(behind >= least, || format!("{behind} instructions of the body's work"))
    }

    /// The instructions that the body consists of (the preamble may have such too), and how many a
    /// body has at least.
    fn work(&self, code: &Code) -> (Vec<usize>, usize) {
        match self.body {
            "FMA" => (code.places("FFMA"), STEP_FMA),
            "STREAM" => (code.places("LDG.128"), STEP_LOADS),
            "STREAM_NARROW" => (code.places("LDG.128"), STEP_LOADS_NARROW),
            "SPIN" => (code.timer_reads(), 2),
            "NONE" => (Vec::new(), 0),
            other => panic!("no rule for a body of the kind {other}"),
        }
    }

    fn check_trigger(&self, trigger: &str, code: &Code, at: &Places) -> Result<(), String> {
        let Places { syncs, triggers, loads, stores, .. } = at;
        let value = &stores[..1];
        match trigger {
            "IMPLICIT" => Ok(()),
            "AT_ENTRY" => {
                order("trigger", triggers, "preamble", &code.places("FFMA"))?;
                order("trigger", triggers, "sync", syncs)
            }
            "AFTER_SYNC" => {
                order("sync", syncs, "trigger", triggers)?;
                order("trigger", triggers, "load of the body", loads)
            }
            "IN_BODY" => {
                order("load of the primary's value", &loads[..1], "trigger", triggers)?;
                order("trigger", triggers, "store of the value", value)?;
                self.check_parts(code, at)
            }
            "BEFORE_STORE" => {
                // A stamped trigger is followed by a read of the timer, as a spin's are.
                let stamp = self.stamped && self.body == "SPIN";
                let work = self.work(code).0.into_iter();
                let work = work.filter(|place| *place < stores[0] && !stamp);
                order("load of the body", loads, "trigger", triggers)?;
                order("work of the body", &work.collect::<Vec<_>>(), "trigger", triggers)?;
                order("trigger", triggers, "store of the value", value)
            }
            "AFTER" => {
                order("store of the value", value, "trigger", triggers)?;
                order("trigger", triggers, "store of the stamps", &stores[1..])
            }
            other => panic!("no rule for a trigger {other}"),
        }
    }

    /// A trigger in the body has work of the body on both its sides.
    fn check_parts(&self, code: &Code, at: &Places) -> Result<(), String> {
        let (trigger, value, store) = (at.triggers[0], at.first_value_load()?, at.stores[0]);
        let (work, least) = self.work(code);
        let within = |from: usize, to: usize| {
            work.iter().filter(|&&place| place > from && place < to).count()
        };
        let parts = match self.body {
            "NONE" => return Ok(()),
            // The trigger is inside the one loop: a whole step follows it.
            "STREAM" | "STREAM_NARROW" => vec![within(trigger, store) / least],
            "SPIN" => {
                let stamp = usize::from(self.stamped);
                vec![within(value, trigger), within(trigger, store).saturating_sub(stamp)]
            }
            _ => vec![within(value, trigger) / least, within(trigger, store) / least],
        };
        demand(parts.iter().all(|&part| part > 0), || {
            format!("work before and after the trigger in the body: {parts:?}")
        })
    }
}

/// Where the instructions are whose order has a meaning.
struct Places {
    syncs: Vec<usize>,
    triggers: Vec<usize>,
    /// From global memory into registers.
    loads: Vec<usize>,
    /// To global memory; the first is that of the value.
    stores: Vec<usize>,
}

impl Places {
    fn of(code: &Code) -> Places {
        Places {
            syncs: code.places("ACQBULK"),
            triggers: code.places("PREEXIT"),
            loads: code.places("LDG"),
            stores: code.places("STG"),
        }
    }

    fn first_value_load(&self) -> Result<usize, String> {
        match (self.loads.first(), self.stores.is_empty()) {
            (Some(&load), false) => Ok(load),
            _ => Err("no load or no store".to_owned()),
        }
    }
}

/// The preamble stands before the sync; whatever the primary writes is read, and written, after.
fn check_sync(code: &Code, at: &Places) -> Result<(), String> {
    let multiply_adds = code.places("FFMA");
    let before = multiply_adds.iter().filter(|&&place| place < at.syncs[0]).count();
    demand(before >= STEP_FMA, || format!("{before} multiply-adds before the sync"))?;
    order("copy of the preamble", &code.places("LDGSTS"), "sync", &at.syncs)?;
    order("prefetch of the preamble", &code.places("CCTL.PF2"), "sync", &at.syncs)?;
    order("sync", &at.syncs, "load", &at.loads)?;
    order("sync", &at.syncs, "store", &at.stores)
}

/// Acquire, read, write, release: what stands in for the sync.
fn check_hand_over(code: &Code, at: &Places, releases: &[usize]) -> Result<(), String> {
    let acquires: Vec<usize> = code
        .places("LDG.STRONG.GPU")
        .into_iter()
        .filter(|p| !code.places("LDG.128").contains(p))
        .collect();
    let plain: Vec<usize> =
        at.loads.iter().copied().filter(|place| !acquires.contains(place)).collect();
    demand(!acquires.is_empty() && !releases.is_empty(), || {
        format!("{} acquires and {} releases", acquires.len(), releases.len())
    })?;
    order("acquire", &acquires, "load", &plain)?;
    let fences = code.places("MEMBAR");
    demand(!fences.is_empty(), || "no fence of the release".to_owned())?;
    order("store of the value", &at.stores[..1], "fence", &fences)?;
    order("fence", &fences, "release", releases)
}

/// All of `first` stand before all of `second`.
fn order(first: &str, earlier: &[usize], second: &str, later: &[usize]) -> Result<(), String> {
    match (earlier.iter().max(), later.iter().min()) {
        (Some(a), Some(b)) => demand(a < b, || format!("{first} at {a}, {second} at {b}")),
        _ => Ok(()),
    }
}

fn demand(holds: bool, found: impl Fn() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(found()) }
}
