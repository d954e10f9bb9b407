//! Python modules that Cython made with a runtime library of NVIDIA's in them that lies in no known way, and no symbol table: those of cuda-bindings.
//!
//! Where the runtime's functions are cannot be told there, as it can where a [layout](layouts) is found. But such a module is a library for other modules: each function that wraps one of
//! the runtime's is handed out in a dictionary, by name, in a capsule with its C signature (Cython's "sharing declarations between
//! modules"). The module puts them there with `PyDict_SetItemString`; what it calls by that name is led to a library of ours, which changes the
//! capsules.
use std::ffi::{CStr, CString};

use crate::elf_file::Reason;
use crate::exports::{self, Lead};
use crate::libraries::Libraries;
use crate::loaded::{LinkMap, NewObject};
use crate::resolve::{Destination, Place};
use crate::{embedded, explain, layouts};

/// What the module calls to hand a function out.
const HANDS_OUT: &CStr = c"PyDict_SetItemString";
/// Defined by all modules that Cython makes; the module's name follows.
const MADE_BY_CYTHON: &[u8] = b"__pyx_module_is_main_";

/// Whether an object that opens libraries may be such a module, as its symbols say.
pub(crate) fn may_be(object: &LinkMap) -> bool {
    object.has_symbol(HANDS_OUT) && object.has_symbol_with(MADE_BY_CYTHON)
}

/// Leads what `object` hands out to ours. The destination has to stay until the object is gone.
pub(crate) fn lead(object: &NewObject, libraries: &Libraries) -> Option<Box<Destination>> {
    let name = object.display_name();
    match stand_between(object, libraries) {
        Ok(None) => None,
        Ok(Some((destination, version))) => {
            let what = "that it hands to other modules are warploom's";
            explain::say(&name, format_args!("the functions of the CUDA {version} runtime {what}"));
            Some(destination)
        }
        Err(reason) => {
            explain::say(&name, format_args!("left alone: {reason}"));
            None
        }
    }
}

fn stand_between(
    object: &NewObject,
    libraries: &Libraries,
) -> Result<Option<(Box<Destination>, embedded::Version)>, Reason> {
    let file = object.file()?;
    if file.symbols()?.is_some() {
        return Ok(None);
    }
    let Some(version) = embedded::version_in_code(&file)? else { return Ok(None) };
    // Where its functions can be told they are led themselves: many a module of Cython's uses the runtime and hands nothing of it out.
    if layouts::find(&file)?.is_some() {
        return Ok(None);
    }
    let Some(import) = file.import(HANDS_OUT.to_bytes())? else { return Ok(None) };
    let runtime = libraries.runtime(version.major()).ok_or_else(|| {
        format!("the CUDA {version} runtime is linked into it, and warploom has none of that major version")
    })?;
    let library =
        libraries.compilers.clone().ok_or_else(|| "warploom's library for Python modules is not there".to_owned())?;
    let segment = file.loaded_segment(import.entry, import.size());
    let segment = segment.ok_or_else(|| "is damaged: its symbol table is not loaded".to_owned())?;
    let start = object.address(import.entry);
    let names = vec![export(runtime.major, &file_stem(object))];
    let destination = Destination::near(object, start..start + 1, true, names, library, Place::Instead)?;
    // A symbol that others do not see is the object's own: the dynamic linker takes its value and looks no further.
    let lead = Lead { entry: object.address(import.value()), to: destination.trampolines.entry(0) };
    let visibility = object.address(import.visibility());
    exports::take_as_own(object, segment, lead, visibility)
        .map_err(|error| format!("its symbol table cannot be written to: {error}"))?;
    Ok(Some((destination, version)))
}

/// The name of the module.
fn file_stem(object: &NewObject) -> String {
    let name = object.path().file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// The function that changes capsules, for a module with a runtime of this major version. A module of functions whose NULL stream is the
/// thread's has the name that NVIDIA's headers give these.
fn export(major: u32, module: &str) -> CString {
    let ending = if module.ends_with("_ptds") { "_ptds" } else { "" };
    CString::new(format!("warploom_python_{major}{ending}")).expect("no zero in it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_module_is_told_by_its_name() {
        assert_eq!(export(13, "cyruntime").to_bytes(), b"warploom_python_13");
        assert_eq!(export(12, "runtime_ptds").to_bytes(), b"warploom_python_12_ptds");
    }
}
