//! Everything that was found: what the table, the page and the JSON object are made of.

use serde::{Deserialize, Serialize};

use super::{Form, Outcome, Rule, Verdict, combine};

/// The device that the rules were tested on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Product name.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Driver, as NVML prints it; empty when unknown.
    pub driver: String,
    /// CUDA version that the driver serves, 1000 × major + 10 × minor.
    pub driver_cuda: u32,
    /// CUDA version of the runtime.
    pub runtime_cuda: u32,
    /// Step of the global timer, ns.
    pub timer_step_ns: u64,
    /// Its largest offset between SMs, ns; `None` when unknown.
    pub timer_skew_ns: Option<u64>,
    /// Differences below this prove nothing, ns.
    pub margin_ns: u64,
}

/// A rule in one form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormVerdict {
    /// Stream or graph.
    pub form: Form,
    /// Verdict over all claims.
    pub verdict: Verdict,
    /// What became of each claim.
    pub outcomes: Vec<Outcome>,
}

/// A rule and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleFinding {
    /// The name that `--only` takes.
    pub id: String,
    /// The rule, as a sentence.
    pub statement: String,
    /// Where it is documented, or that it is not.
    pub source: String,
    /// Its forms; one without a case in a form lacks it.
    pub forms: Vec<FormVerdict>,
}

impl RuleFinding {
    /// From the outcomes of each form.
    pub fn new(rule: &Rule, forms: impl IntoIterator<Item = (Form, Vec<Outcome>)>) -> RuleFinding {
        let form = |(form, outcomes): (Form, Vec<Outcome>)| FormVerdict {
            form,
            verdict: combine(outcomes.iter().map(|outcome| outcome.verdict)),
            outcomes,
        };
        RuleFinding {
            id: rule.id.to_owned(),
            statement: rule.statement.to_owned(),
            source: rule.source.to_owned(),
            forms: forms.into_iter().filter(|(_, all)| !all.is_empty()).map(form).collect(),
        }
    }

    /// Verdict over all forms.
    pub fn verdict(&self) -> Verdict {
        combine(self.forms.iter().map(|form| form.verdict))
    }

    /// All outcomes with their form.
    pub fn outcomes(&self) -> impl Iterator<Item = (Form, &Outcome)> {
        self.forms.iter().flat_map(|form| form.outcomes.iter().map(move |o| (form.form, o)))
    }
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// The device.
    pub device: DeviceFacts,
    /// Version of this program.
    pub version: String,
    /// Revision of its sources.
    pub revision: String,
    /// Seed of the jitter.
    pub seed: u64,
    /// Whether this was `--quick`.
    pub quick: bool,
    /// How long it took, s.
    pub wall_s: f64,
    /// The rules.
    pub rules: Vec<RuleFinding>,
    /// Rules whose test did not come to an end.
    #[serde(default)]
    pub unfinished: Vec<Unfinished>,
}

/// A rule whose test hung or faulted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unfinished {
    /// The name that `--only` takes.
    pub id: String,
    /// What happened.
    pub reason: String,
}

impl Findings {
    /// Outcomes that contradict the documentation.
    pub fn violations(&self) -> impl Iterator<Item = (&RuleFinding, Form, &Outcome)> {
        self.rules.iter().flat_map(|rule| {
            let violated = |(_, outcome): &(Form, &Outcome)| outcome.verdict == Verdict::Violated;
            rule.outcomes().filter(violated).map(move |(form, outcome)| (rule, form, outcome))
        })
    }
}
