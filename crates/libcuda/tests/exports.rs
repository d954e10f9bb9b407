//! The library exports exactly the symbols of the registry, and calling any of them with nothing but zeros is answered.
#[path = "generated/exports.rs"]
mod generated;
#[path = "support/library.rs"]
mod library;
#[path = "support/process.rs"]
mod process;

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::process::Command;

use generated::{EXPORTS, Export};
use libloading::Library;
use warploom_abi::{CUcontext, CUresult, pfn};

/// What `nm` says that the library defines for others.
fn dynamic_symbols() -> BTreeSet<String> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library::library()).output().expect("nm starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names are ASCII");
    text.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect()
}

#[test]
fn the_dynamic_symbols_are_those_of_the_registry() {
    let list = include_str!("generated/symbols.txt").lines().filter(|line| !line.starts_with('#'));
    let registry: BTreeSet<String> = list.map(str::to_owned).collect();
    let library = dynamic_symbols();
    let missing: Vec<&String> = registry.difference(&library).collect();
    let extra: Vec<&String> = library.difference(&registry).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing: {missing:?}\nnot in the registry: {extra:?}");
}

fn initialized() -> Library {
    // SAFETY: the library has no initialisers of its own that could fail.
    let library = unsafe { Library::new(library::library()) }.expect("our own library loads");
    // SAFETY: the type is the symbol's.
    let result = unsafe { library.get::<pfn::PFN_cuInit_v2000>(b"cuInit").map(|init| init(0)) };
    assert_eq!(result.expect("cuInit is exported"), CUresult::CUDA_SUCCESS);
    library
}

#[test]
fn a_symbol_without_a_handler_answers_not_supported_or_what_is_wrong_with_zeros() {
    let library = initialized();
    let unsupported = EXPORTS.iter().filter(|export| !export.handled).filter(|export| {
        let result = call(&library, export);
        assert_ne!(result, CUresult::CUDA_SUCCESS, "{}", export.symbol);
        result == CUresult::CUDA_ERROR_NOT_SUPPORTED
    });
    assert!(unsupported.count() > 20);
}

/// Calls a function with zeros.
fn call(library: &Library, export: &Export) -> CUresult {
    // SAFETY: what is found is not used as anything but an address.
    let address = unsafe { library.get::<*mut c_void>(export.symbol.as_bytes()) }.expect(export.symbol);
    (export.call)(*address)
}

/// What calling every function that has a handler with zeros gives; `before` runs before each call.
fn call_all_with_zeros(library: &Library, before: impl Fn()) {
    for export in EXPORTS.iter().filter(|export| export.handled) {
        before();
        let result = call(library, export);
        assert!(result.name().is_some(), "{} answers {}", export.symbol, result.0);
        assert_ne!(result, CUresult::CUDA_ERROR_UNKNOWN, "{} fails within", export.symbol);
    }
}

#[test]
fn a_symbol_with_a_handler_answers_zeros_with_a_result_code() {
    let test = "a_symbol_with_a_handler_answers_zeros_with_a_result_code";
    process::with_settings(test, &[], || call_all_with_zeros(&initialized(), || {}));
}

#[test]
fn a_symbol_with_a_handler_answers_zeros_under_a_context() {
    let test = "a_symbol_with_a_handler_answers_zeros_under_a_context";
    process::with_settings(test, &[], || {
        let library = initialized();
        // SAFETY: the type is the symbol's.
        let create = unsafe { library.get::<pfn::PFN_cuCtxCreate_v3020>(b"cuCtxCreate_v2") };
        let create = create.expect("cuCtxCreate_v2 is exported");
        call_all_with_zeros(&library, || {
            let mut context = CUcontext::NULL;
            // SAFETY: `context` outlives the call.
            assert_eq!(unsafe { create(&mut context, 0, 0) }, CUresult::CUDA_SUCCESS);
        });
    });
}
