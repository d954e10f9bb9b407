//! What a library says on standard error.

use std::any::Any;
use std::io::Write as _;

/// A line on standard error. A program may have closed it, or nobody may read it any more: then the line is lost, and the program goes on.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "warploom: {line}");
}

/// What to say of a defect of ours in the function `symbol`, of which a panic told.
pub fn internal_error(symbol: &str, panic: &(dyn Any + Send)) -> String {
    let what = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    format!("internal error in {symbol}: {what}; please report it with the program that shows it")
}

/// What `WARPLOOM_LOG` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// Every call.
    pub calls: bool,
    /// Every call that fails.
    pub errors: bool,
}

impl LogSettings {
    /// What a text says: `calls`, `errors`, or both with a comma.
    ///
    /// # Errors
    /// What is expected instead.
    pub fn parse(text: &str) -> Result<LogSettings, String> {
        let mut log = LogSettings::default();
        for part in text.split(',').map(str::trim) {
            match part {
                "calls" => log.calls = true,
                "errors" => log.errors = true,
                _ => return Err("calls, errors, or both with a comma are expected".to_owned()),
            }
        }
        Ok(log)
    }

    /// Whether any call is printed; those that fail are in either case.
    pub fn traces(self) -> bool {
        self.calls || self.errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_told_with_their_message() {
        let panics: [(Box<dyn Any + Send>, &str); 3] =
            [(Box::new("a"), "a"), (Box::new("b".to_owned()), "b"), (Box::new(7), "no message")];
        for (panic, message) in panics {
            let said = internal_error("cuInit", &*panic);
            assert!(said.starts_with(&format!("internal error in cuInit: {message}; ")), "{said}");
        }
    }

    #[test]
    fn logs_are_asked_for_by_name() {
        assert_eq!(LogSettings::parse("calls, errors"), Ok(LogSettings { calls: true, errors: true }));
        assert_eq!(LogSettings::parse("errors"), Ok(LogSettings { calls: false, errors: true }));
        assert!(["1", "all", "calls,,", "Errors"].into_iter().all(|text| LogSettings::parse(text).is_err()));
    }
}
