//! The one-line shape that programs find in the JIT log buffers:
//! `ptxas application ptx input, line 5; error   : Unknown symbol '%r1'`.

use super::{Diagnostic, Severity};
use crate::syntax::LineIndex;

/// What the log calls PTX text that a program hands over without a name.
pub const APPLICATION_INPUT: &str = "application ptx input";

/// The error log of a text called `input`: a line for each error and the closing line; empty without errors.
/// Lines are separated, not ended, by line feeds, as in the log that a real driver writes.
pub fn error_log(source: &str, input: &str, diagnostics: &[Diagnostic]) -> String {
    let mut lines = lines(source, input, diagnostics, |diagnostic| diagnostic.is_error());
    if !lines.is_empty() {
        lines.push("ptxas fatal   : Ptx assembly aborted due to errors".to_owned());
    }
    lines.join("\n")
}

/// The info log of a text called `input`: a line for each warning and remark.
pub fn info_log(source: &str, input: &str, diagnostics: &[Diagnostic]) -> String {
    lines(source, input, diagnostics, |diagnostic| !diagnostic.is_error()).join("\n")
}

fn lines(source: &str, input: &str, diagnostics: &[Diagnostic], wanted: fn(&Diagnostic) -> bool) -> Vec<String> {
    let mut wanted = diagnostics.iter().filter(|diagnostic| wanted(diagnostic)).peekable();
    if wanted.peek().is_none() {
        return Vec::new();
    }
    let index = LineIndex::new(source);
    wanted
        .map(|diagnostic| {
            let line = index.position(diagnostic.span().start).line;
            let severity = match diagnostic.severity {
                Severity::Info => "info    ",
                Severity::Warning => "warning ",
                Severity::Error => "error   ",
                Severity::Fatal => "fatal   ",
            };
            format!("ptxas {input}, line {line}; {severity}: {}", diagnostic.message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;
    use crate::syntax::Span;

    #[test]
    fn the_log_has_the_assemblers_shape() {
        let source = "a\nb\nc";
        let unknown = Diagnostic::error(Code::Undeclared, Span::new(4, 5), "Unknown symbol 'c'");
        let odd = Diagnostic::warning(Code::Declaration, Span::new(2, 3), "odd");
        let all = [unknown, odd];
        assert_eq!(
            error_log(source, APPLICATION_INPUT, &all),
            "ptxas application ptx input, line 3; error   : Unknown symbol 'c'\n\
             ptxas fatal   : Ptx assembly aborted due to errors"
        );
        assert_eq!(info_log(source, "x.ptx", &all), "ptxas x.ptx, line 2; warning : odd");
        assert_eq!(error_log(source, "x.ptx", &all[1..]), "");
    }
}
