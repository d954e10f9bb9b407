//! Reports for other programs: JSON, and the XML of JUnit that CI services read.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::registry::Check;
use crate::render::render;
use crate::report::Severity;
use crate::sink::Counted;

/// What the JSON file holds.
#[derive(Serialize)]
struct File<'a> {
    /// Of this format.
    version: u32,
    checks: &'a [Check],
    errors: u64,
    reports: &'a [Counted],
}

/// Writes JSON, or JUnit's XML to a name that ends in `.xml`.
///
/// # Errors
/// Why the file cannot be written.
pub(crate) fn write(path: &Path, checks: &[Check], reports: &[Counted]) -> Result<(), String> {
    let is_xml = path.extension().is_some_and(|extension| extension == "xml");
    let text = if is_xml { junit(checks, reports) } else { json(checks, reports) };
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn json(checks: &[Check], reports: &[Counted]) -> String {
    let errors = reports.iter().filter(|counted| counted.severity == Severity::Error).map(|counted| counted.count);
    let errors = errors.sum();
    let file = File { version: 1, checks, errors, reports };
    serde_json::to_string_pretty(&file).expect("plain data") + "\n"
}

/// A suite for each check, with a case for each report, or one that has passed.
fn junit(checks: &[Check], reports: &[Counted]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for check in checks {
        let found: Vec<_> = reports.iter().filter(|counted| counted.report.check == *check).collect();
        let failures = found.iter().filter(|counted| counted.severity == Severity::Error).count();
        let (name, count) = (check.name(), failures);
        let tests = found.len().max(1);
        let _ = writeln!(text, "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{count}\">");
        if found.is_empty() {
            let _ = writeln!(text, "    <testcase classname=\"{name}\" name=\"{name}\"/>");
        }
        for Counted { report, severity, count } in found {
            let kernel = report.thread.as_ref().map_or("host", |thread| thread.kernel.as_str());
            let (kernel, kind, message) = (escaped(kernel), escaped(report.kind), escaped(&report.message));
            let _ = writeln!(text, "    <testcase classname=\"{name}.{kernel}\" name=\"{kind}\">");
            // A case with output alone has passed.
            let (begin, end) = match severity {
                Severity::Error => (format!("failure type=\"{kind}\" message=\"{message}\""), "failure"),
                Severity::Info => ("system-out".to_owned(), "system-out"),
            };
            let _ = write!(text, "      <{begin}>");
            let _ = writeln!(text, "{}({count} times)</{end}>\n    </testcase>", escaped(&render(report)));
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            // XML 1.0 has no other control characters.
            control if control.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
