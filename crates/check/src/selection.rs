//! Which kernels are reported on, by name: all of them, but for a list of words.
//!
//! A word is `KEY=TEXT`: `kernel_name` (`kne`) is a whole name as the linker knows it, `kernel_substring` (`kns`) a part of one, and `kernel_regex`
//! (`kre`) a regular expression for a part of one. A `!` before it leaves those kernels out. What the host does is reported in any case.

use regex_lite::Regex;

use crate::report::Report;

/// The words of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    wanted: Vec<Pattern>,
    unwanted: Vec<Pattern>,
}

#[derive(Clone, Debug)]
enum Pattern {
    Name(String),
    Part(String),
    Regex(Regex),
}

impl Pattern {
    fn parse(word: &str) -> Result<Pattern, String> {
        let (key, text) = word.split_once('=').ok_or_else(|| format!("'{word}' is no kernel: KEY=TEXT is expected"))?;
        match key {
            "kernel_name" | "kne" => Ok(Pattern::Name(text.to_owned())),
            "kernel_substring" | "kns" => Ok(Pattern::Part(text.to_owned())),
            "kernel_regex" | "kre" => {
                let regex = Regex::new(text).map_err(|why| format!("'{text}' is no regular expression: {why}"))?;
                Ok(Pattern::Regex(regex))
            }
            _ => Err(format!("'{key}' is no key: kernel_name, kernel_substring and kernel_regex are")),
        }
    }

    fn holds(&self, name: &str) -> bool {
        match self {
            Pattern::Name(whole) => name == whole,
            Pattern::Part(part) => name.contains(part.as_str()),
            Pattern::Regex(regex) => regex.is_match(name),
        }
    }
}

impl Selection {
    /// # Errors
    /// Which word cannot be understood, and why.
    pub(crate) fn parse(words: &[String]) -> Result<Selection, String> {
        let mut selection = Selection::default();
        for word in words {
            match word.strip_prefix('!') {
                Some(word) => selection.unwanted.push(Pattern::parse(word)?),
                None => selection.wanted.push(Pattern::parse(word)?),
            }
        }
        Ok(selection)
    }

    /// Whether a report is one of those that are wanted.
    pub(crate) fn holds(&self, report: &Report) -> bool {
        let Some(thread) = &report.thread else { return true };
        let name = thread.kernel.as_str();
        (self.wanted.is_empty() || self.wanted.iter().any(|pattern| pattern.holds(name)))
            && !self.unwanted.iter().any(|pattern| pattern.holds(name))
    }
}

#[cfg(test)]
mod tests {
    use super::Selection;
    use crate::registry::Check;
    use crate::report::{At, Report, Thread};

    fn holds(words: &[&str], kernel: &str) -> bool {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let place = At::default();
        let thread = Thread { kernel: kernel.to_owned(), grid: 1, cta: [0; 3], thread: [0; 3], place };
        let report = Report {
            check: Check::Memory,
            kind: "misaligned",
            message: String::new(),
            thread: Some(thread),
            notes: Vec::new(),
        };
        Selection::parse(&words).expect("words").holds(&report)
    }

    #[test]
    fn kernels_are_selected_by_name() {
        assert!(holds(&[], "scale"));
        assert!(holds(&["kne=scale"], "scale") && !holds(&["kernel_name=scale"], "scale2"));
        assert!(holds(&["kns=cal", "kne=x"], "scale2") && !holds(&["kernel_substring=cal"], "add"));
        assert!(holds(&["kre=^s.*[0-9]$"], "scale2") && !holds(&["kernel_regex=^s.*[0-9]$"], "scale"));
        assert!(!holds(&["!kns=cal"], "scale") && holds(&["kns=s", "!kne=scale"], "scale2"));
        for wrong in ["scale", "name=scale", "kre=("] {
            assert!(Selection::parse(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
