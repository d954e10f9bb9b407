//! Reports as data.

use std::str::FromStr;

use serde::Serialize;
use warploom_exec::fault::Place;

use crate::registry::Check;

/// Something that a check has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Who has found it.
    pub check: Check,
    /// What it is, as a word for other programs: `out-of-bounds`.
    pub kind: &'static str,
    /// What it is, as a sentence without a full stop.
    pub message: String,
    /// The thread that did it; none for the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<Thread>,
    /// What else is involved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// How much a report weighs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It makes no difference to what the program computed.
    Info,
    /// Something is wrong.
    #[default]
    Error,
}

impl Severity {
    /// As it is asked for.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Error => "error",
        }
    }
}

impl FromStr for Severity {
    type Err = String;

    fn from_str(name: &str) -> Result<Severity, String> {
        let known = [Severity::Info, Severity::Error];
        let found = known.into_iter().find(|severity| severity.name() == name);
        found.ok_or_else(|| format!("'{name}' is no severity: info and error are"))
    }
}

impl Report {
    /// Writes of the same value are told on request only.
    pub fn severity(&self) -> Severity {
        match self.kind {
            "shared-same-value" | "global-same-value" => Severity::Info,
            _ => Severity::Error,
        }
    }
}

/// A thread of a grid, at an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Thread {
    /// Its kernel.
    pub kernel: String,
    /// `%gridid`.
    pub grid: u64,
    /// `%ctaid`.
    pub cta: [u32; 3],
    /// `%tid`.
    pub thread: [u32; 3],
    /// The instruction.
    #[serde(flatten)]
    pub place: At,
}

/// Where an instruction comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct At {
    /// File and line, if the code says them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// In the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Line of the PTX text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptx_line: Option<u32>,
    /// The function, unless it is the kernel itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

impl From<Place> for At {
    fn from(place: Place) -> At {
        let (file, line) = place.source.unzip();
        At { file, line, ptx_line: place.ptx_line, function: place.function }
    }
}

/// Something that has to do with a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// What it is.
    pub text: String,
    /// The thread that did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<Thread>,
    /// The calls of the host that led to it, innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<String>,
}

impl Note {
    /// A note that is about no thread.
    pub fn new(text: impl Into<String>) -> Note {
        Note { text: text.into(), thread: None, frames: Vec::new() }
    }

    /// A note about what a thread did.
    pub fn by(thread: Thread, text: impl Into<String>) -> Note {
        Note { text: text.into(), thread: Some(thread), frames: Vec::new() }
    }
}

/// So many of something, in words.
pub(crate) fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
