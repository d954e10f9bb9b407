//! Reports that are not to be made, by kernel and line: a file with a rule to each line.
//!
//! A rule is `CHECK KERNEL PLACE`. `CHECK` is the name of a check, or of a check and a kind of report (`memory/out-of-bounds`); `KERNEL` the name of a
//! kernel; `PLACE` is `FILE:LINE`, of which the file may be the end of a path, or `ptx:LINE`. `*` stands for any of them, and at the end of a kernel's
//! name for any rest. A place that is left out is any. What follows a `#` is a comment.

use crate::registry::Check;
use crate::report::{At, Report};

/// The rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suppressions {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    check: String,
    kernel: String,
    place: String,
}

impl Suppressions {
    /// The rules of a text.
    ///
    /// # Errors
    /// The line that is no rule, and why.
    pub(crate) fn parse(text: &str) -> Result<Suppressions, String> {
        let mut rules = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            let rule =
                |place: &str| Rule { check: words[0].to_owned(), kernel: words[1].to_owned(), place: place.to_owned() };
            match words.len() {
                0 => {}
                2 | 3 if !is_check(words[0]) => {
                    return Err(format!("line {number}: '{}' is no check, and no kind of report of one", words[0]));
                }
                2 => rules.push(rule("*")),
                3 => rules.push(rule(words[2])),
                _ => return Err(format!("line {number}: a check, a kernel and a place are expected, not '{line}'")),
            }
        }
        Ok(Suppressions { rules })
    }

    /// Whether a report is not to be made.
    pub(crate) fn hold(&self, report: &Report) -> bool {
        self.rules.iter().any(|rule| rule.holds(report))
    }
}

impl Rule {
    fn holds(&self, report: &Report) -> bool {
        let check = report.check.name();
        let named = self.check == "*" || self.check == check || self.check == format!("{check}/{}", report.kind);
        named
            && match &report.thread {
                Some(thread) => is_kernel(&self.kernel, &thread.kernel) && is_place(&self.place, &thread.place),
                None => self.kernel == "*" && self.place == "*",
            }
    }
}

/// Whether there are reports that a rule with this word could hold for.
fn is_check(word: &str) -> bool {
    let (check, kind) = word.split_once('/').map_or((word, None), |(check, kind)| (check, Some(kind)));
    let known = |check: &Check| kind.is_none_or(|kind| check.kinds().contains(&kind));
    word == "*" || check.parse().is_ok_and(|check: Check| known(&check))
}

fn is_kernel(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

fn is_place(pattern: &str, place: &At) -> bool {
    if pattern == "*" {
        return true;
    }
    let Some((file, line)) = pattern.rsplit_once(':') else { return false };
    let Ok(line) = line.parse() else { return false };
    if file == "ptx" {
        return place.ptx_line == Some(line);
    }
    let ends = |path: &String| path == file || path.ends_with(&format!("/{file}"));
    place.line == Some(line) && place.file.as_ref().is_some_and(ends)
}

#[cfg(test)]
mod tests {
    use super::Suppressions;
    use crate::registry::Check;
    use crate::report::{At, Report, Thread};

    fn report() -> Report {
        let place = At { file: Some("/src/a.cu".into()), line: Some(7), ptx_line: Some(30), function: None };
        let thread = Thread { kernel: "scale_f32".into(), grid: 1, cta: [0; 3], thread: [0; 3], place };
        Report {
            check: Check::Memory,
            kind: "out-of-bounds",
            message: "m".into(),
            thread: Some(thread),
            notes: Vec::new(),
        }
    }

    #[test]
    fn rules_name_checks_kernels_and_places() {
        let holds = |text: &str| Suppressions::parse(text).expect("rules").hold(&report());
        for rule in [
            "* *",
            "memory scale_f32",
            "memory/out-of-bounds scale*  # known",
            "memory scale_f32 a.cu:7",
            "* * src/a.cu:7",
            "* * ptx:30",
        ] {
            assert!(holds(rule), "{rule}");
        }
        for rule in
            ["", "# * *", "leak *", "memory/misaligned *", "* scale", "* * a.cu:8", "* * b/a.cu:7", "* * ptx:31"]
        {
            assert!(!holds(rule), "{rule}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_with_its_line() {
        let wrong = Suppressions::parse("* *\nmemory\n").unwrap_err();
        assert_eq!(wrong, "line 2: a check, a kernel and a place are expected, not 'memory'");
        for (rule, word) in [("memory/out-of-bound *", "memory/out-of-bound"), ("memry * *", "memry")] {
            let wrong = Suppressions::parse(rule).unwrap_err();
            assert_eq!(wrong, format!("line 1: '{word}' is no check, and no kind of report of one"));
        }
    }
}
