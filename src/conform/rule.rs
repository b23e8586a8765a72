//! A rule: a statement, where it comes from, and the cases that put it to the test.

use serde::{Deserialize, Serialize};

use super::{Asserted, Scene};

/// How a scene reaches the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Launched into a stream, behind a gate.
    Stream,
    /// One launch of a graph.
    Graph,
}

impl Form {
    /// Both.
    pub const ALL: [Form; 2] = [Form::Stream, Form::Graph];

    /// The name used in every file and table.
    pub fn name(self) -> &'static str {
        match self {
            Form::Stream => "stream",
            Form::Graph => "graph",
        }
    }
}

/// The forms that a case has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forms {
    /// Stream and graph.
    Both,
    /// A graph alone.
    GraphOnly,
}

impl Forms {
    /// Whether `form` is among them.
    pub fn include(self, form: Form) -> bool {
        self == Forms::Both || form == Form::Graph
    }
}

/// A scene and what is claimed of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is special about it.
    pub name: String,
    /// What runs.
    pub scene: Scene,
    /// What is claimed.
    pub claims: Vec<Asserted>,
    /// Forms.
    pub forms: Forms,
}

/// How a rule is tested.
#[derive(Clone, Debug)]
pub enum Test {
    /// By scenes.
    Scenes(Vec<Case>),
    /// By asking for edges without edge data.
    LossyQuery,
    /// By launching one graph many times.
    ManyLaunches,
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The name that `--only` takes.
    pub id: &'static str,
    /// The rule, as a sentence.
    pub statement: &'static str,
    /// Where it is documented, or that it is not.
    pub source: &'static str,
    /// How it is tested.
    pub test: Test,
}

impl Rule {
    /// A rule that is tested by scenes.
    pub fn scenes(
        id: &'static str,
        statement: &'static str,
        source: &'static str,
        cases: Vec<Case>,
    ) -> Rule {
        Rule { id, statement, source, test: Test::Scenes(cases) }
    }

    /// Its cases; none where it is tested otherwise.
    pub fn cases(&self) -> &[Case] {
        match &self.test {
            Test::Scenes(cases) => cases,
            Test::LossyQuery | Test::ManyLaunches => &[],
        }
    }
}
