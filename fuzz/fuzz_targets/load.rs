//! Any text loads or is refused with something to say; what loads has an IR to show, and links.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warploom_ptx::diagnostic::Diagnostic;
use warploom_ptx::{Linker, Options, compile, load};

fuzz_target!(|text: &[u8]| {
    // Most inputs would fail at their first line; what follows it is of interest.
    let mut whole = b".version 9.0\n.target sm_90a\n.address_size 64\n".to_vec();
    whole.extend(text);
    let options = Options { driver_version: 13000, sm: 90 };
    for text in [text, &whole] {
        match load(text, &options) {
            Ok(module) => drop(module.to_string()),
            Err(failure) => assert!(failure.diagnostics.iter().any(Diagnostic::is_error)),
        }
        if let Ok(input) = compile(text, &options) {
            let mut linker = Linker::new();
            if linker.add("fuzz", input).is_ok() {
                drop(linker.complete());
            }
        }
    }
});
