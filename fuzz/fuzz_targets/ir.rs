//! Any text of the IR is read or refused with its place; what is read prints and reads to the same module, and passes keep it sound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warploom_ptx::ir::{Liveness, Module, check_module};
use warploom_ptx::passes::promote_parameters;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // Most inputs would fail at their first line; what follows it is of interest.
    let whole = format!("version 9.0 target sm_90a\n{text}");
    for text in [text, &whole] {
        let Ok(mut module) = Module::read(text) else { continue };
        let printed = module.to_string();
        assert!(Module::read(&printed).expect("what was printed") == module, "{printed}");
        promote_parameters(&mut module);
        check_module(&module).unwrap_or_else(|broken| panic!("{broken}\n{printed}"));
        for function in &module.functions {
            if let Some(body) = &function.body {
                Liveness::new(function, body).pressure(function, body);
            }
        }
    }
});
