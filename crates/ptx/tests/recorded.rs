//! Which texts load, held against what an H200's driver (580.159.04, CUDA 13.0) answered.

use std::path::Path;
use warploom_ptx::{FailureClass, Options, load};

const OPTIONS: Options = Options { driver_version: 13000, sm: 90 };

/// Undoes the escapes of a C string literal as the recording prints it.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => out.push(match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            }),
            (c, false) => out.push(c),
        }
    }
    out
}

fn answer(text: &str) -> &'static str {
    match load(text.as_bytes(), &OPTIONS) {
        Ok(_) => "CUDA_SUCCESS",
        Err(failure) => match failure.class {
            FailureClass::InvalidPtx => "CUDA_ERROR_INVALID_PTX",
            FailureClass::InvalidImage => "CUDA_ERROR_INVALID_IMAGE",
            FailureClass::UnsupportedPtxVersion => "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        },
    }
}

/// Every module text of the recording gets the recorded answer.
#[test]
fn texts_load_as_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/c/answers/answers.golden");
    let golden = std::fs::read_to_string(path).expect("recording");
    let section = golden.split("== ").find(|section| section.starts_with("ptx_texts\n")).expect("section");
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in section.lines().skip(1) {
        let (call, expected) = line.rsplit_once(" = ").expect("result");
        let quoted = |call: &str| call.rsplit_once('"').map(|(text, _)| unescape(text));
        let text = if let Some(rest) = call.strip_prefix("one(\"") {
            format!(".version 7.0\n.target sm_52\n.address_size 64\n{}", quoted(rest).expect("text"))
        } else {
            quoted(call.split_once('"').expect("text").1).expect("text")
        };
        count += 1;
        let got = answer(&text);
        if got != expected {
            wrong.push(format!("{call}: {got}, recorded {expected}"));
        }
    }
    assert!(count > 50, "only {count} texts in the recording");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
