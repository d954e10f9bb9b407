//! What was done, one line each on standard error, if `WARPLOOM_EXPLAIN` is set.
use std::fmt;
use std::io::Write as _;
use std::sync::OnceLock;

/// `warploom run --explain` sets it; its value does not matter.
const VARIABLE: &str = "WARPLOOM_EXPLAIN";

/// Whether somebody wants to know.
pub(crate) fn wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| std::env::var_os(VARIABLE).is_some_and(|value| !value.is_empty()))
}

/// Tells what was done with `object`.
pub(crate) fn say(object: &str, what: fmt::Arguments<'_>) {
    if wanted() {
        write(format_args!("warploom: explain: {object}: {what}\n"));
    }
}

/// Tells why the process cannot go on, wanted or not.
pub(crate) fn complain(what: fmt::Arguments<'_>) {
    write(format_args!("warploom: error: {what}\n"));
}

/// One write, so that lines of processes that start at the same time stay whole.
fn write(line: fmt::Arguments<'_>) {
    // A program may have closed its standard error; then nobody reads this.
    let _ = std::io::stderr().write_all(line.to_string().as_bytes());
}
