//! Any bytes parse; what was understood prints, and parses to the same tree again; every problem can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warploom_ptx::diagnostic::{APPLICATION_INPUT, error_log, excerpts};
use warploom_ptx::syntax::{dump, parse};

fuzz_target!(|text: &[u8]| {
    let parsed = parse(text);
    let source = parsed.module.source();
    error_log(source, APPLICATION_INPUT, &parsed.diagnostics);
    excerpts(source, "fuzz.ptx", &parsed.diagnostics, false);
    let printed = parsed.module.to_string();
    let again = parse(printed.as_bytes());
    assert_eq!(dump(&parsed.module), dump(&again.module), "{printed}");
});
