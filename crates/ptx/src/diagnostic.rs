//! What went wrong and where: problems of a PTX text, kept as data. `log` and `excerpt` say how they read.

mod code;
mod excerpt;
mod log;

pub use code::Code;
pub use excerpt::excerpts;
pub use log::{APPLICATION_INPUT, error_log, info_log};

use crate::syntax::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; goes to the info log.
    Info,
    /// The module loads, and something in it is suspicious.
    Warning,
    /// The module does not load.
    Error,
    /// The module does not load, and NVIDIA's assembler would say nothing more behind this.
    Fatal,
}

/// A place and what is to say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The text; may be empty.
    pub text: String,
}

/// A problem of a PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// Which kind of problem.
    pub code: Code,
    /// One sentence without a full stop, which makes sense without the labels.
    pub message: String,
    /// Places; the first is where it went wrong.
    pub labels: Vec<Label>,
    /// What helps, one sentence each.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, span, message)
    }

    /// An error at `span` behind which NVIDIA's assembler stops: the grammar and the module's head.
    pub fn fatal(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Fatal, code, span, message)
    }

    /// A warning at `span`.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, span, message)
    }

    /// A problem at `span`.
    pub fn new(severity: Severity, code: Code, span: Span, message: impl Into<String>) -> Self {
        let labels = vec![Label { span, text: String::new() }];
        Self { severity, code, message: message.into(), labels, notes: Vec::new() }
    }

    /// Says something about the place where it went wrong.
    #[must_use]
    pub fn at(mut self, text: impl Into<String>) -> Self {
        if let Some(label) = self.labels.first_mut() {
            label.text = text.into();
        }
        self
    }

    /// Points to another place.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a sentence that helps.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Where it went wrong.
    pub fn span(&self) -> Span {
        self.labels.first().map_or(Span::default(), |label| label.span)
    }

    /// Whether the module cannot load because of it.
    pub fn is_error(&self) -> bool {
        self.severity >= Severity::Error
    }
}
