//! Any bytes are told apart; fat binaries and containers come apart or are refused, and never cost more than they hold.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warploom_ptx::image::{Fatbin, identify, read_container};

fuzz_target!(|bytes: &[u8]| {
    identify(bytes);
    if let Ok(fatbin) = Fatbin::parse(bytes) {
        fatbin.entries_for(90);
        for entry in &fatbin.entries {
            drop(entry.content());
        }
    }
    drop(read_container(bytes));
});
