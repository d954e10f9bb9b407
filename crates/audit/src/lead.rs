//! Leading the functions of a runtime library that is linked into an object to ours.
use std::ffi::{CStr, CString};

use crate::elf_file::{ElfFile, Reason};
use crate::embedded::{self, Embedded, RuntimeFunction, Version};
use crate::explain;
use crate::layouts;
use crate::libraries::{Libraries, Runtime};
use crate::loaded::NewObject;
use crate::resolve::{Destination, Place};
use crate::text::{self, Jump};

/// What an object must import to be looked into: a static runtime opens the driver at run time.
pub(crate) const TELLING_IMPORT: &CStr = c"dlopen";

/// Leads the functions of `object`'s runtime to ours. The destination has to stay until the object is gone.
pub(crate) fn lead(object: &NewObject, libraries: &Libraries) -> Option<Box<Destination>> {
    let name = object.display_name();
    match look(object, libraries) {
        Ok(Found::Nothing) => None,
        Ok(Found::Left(why)) => {
            explain::say(&name, format_args!("left alone: {why}"));
            None
        }
        Ok(Found::Led(led)) => {
            explain::say(&name, format_args!("{led}"));
            Some(led.destination)
        }
        Err(reason) => {
            explain::say(&name, format_args!("left alone: {reason}"));
            None
        }
    }
}

enum Found {
    Nothing,
    Left(String),
    Led(Led),
}

/// What was done, for those who want to know.
struct Led {
    destination: Box<Destination>,
    version: Version,
    /// Functions whose calls still reach NVIDIA's code.
    left: Vec<String>,
}

impl std::fmt::Display for Led {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Led { destination, version, left } = self;
        let (count, library) = (destination.names.len(), destination.library.to_string_lossy());
        write!(formatter, "{count} functions of the CUDA {version} runtime that is linked into it lead to {library}")?;
        if left.is_empty() { Ok(()) } else { write!(formatter, "; left alone: {}", left.join(", ")) }
    }
}

fn look(object: &NewObject, libraries: &Libraries) -> Result<Found, Reason> {
    let file = object.file()?;
    Ok(match embedded::find(&file)? {
        Embedded::Nothing => Found::Nothing,
        Embedded::Ours => Found::Left("warploom's CUDA runtime is linked into it".to_owned()),
        Embedded::Stripped => Found::Left(format!(
            "it has no symbol table (it was stripped), and the CUDA runtime that seems to be linked into it is none of those whose layout is \
             known ({}); link it with -cudart shared or with warploom's libcudart_static.a, or do not strip it",
            layouts::versions()
        )),
        Embedded::UnknownVersion => {
            Found::Left("the version of the CUDA runtime that is linked into it cannot be told".to_owned())
        }
        Embedded::Runtime { version, functions } => match libraries.runtime(version.major()) {
            None => Found::Left(format!(
                "the CUDA {version} runtime is linked into it, and warploom has none of that major version"
            )),
            Some(runtime) => Found::Led(lead_to(object, &file, runtime, version, functions)?),
        },
    })
}

fn lead_to(
    object: &NewObject,
    file: &ElfFile,
    runtime: &Runtime,
    version: Version,
    functions: Vec<RuntimeFunction>,
) -> Result<Led, Reason> {
    let (functions, left) = choose(object, file, runtime, functions)?;
    let (Some(first), Some(last)) = (functions.first(), functions.last()) else {
        return Err("none of the functions of its CUDA runtime can be led elsewhere".to_owned());
    };
    let segment = file.code_segment(first.address, last.address + last.size - first.address);
    let segment = segment.ok_or_else(|| "has its CUDA runtime in several segments".to_owned())?;
    let code = object.address(first.address)..object.address(last.address + last.size);
    let mut names = Vec::with_capacity(functions.len());
    for function in &functions {
        names.push(CString::new(function.name.as_slice()).map_err(|error| error.to_string())?);
    }
    let library = runtime.c_path.clone();
    let destination = Destination::near(object, code, !object.is_program(), names, library, Place::Instead)?;
    let trampolines = &destination.trampolines;
    let jumps: Vec<Jump> = functions
        .iter()
        .enumerate()
        .map(|(index, function)| Jump { function: object.address(function.address), to: trampolines.entry(index) })
        .collect();
    text::write(object, file, segment, &jumps).map_err(|error| format!("its code cannot be written to: {error}"))?;
    Ok(Led { destination, version, left })
}

/// The functions that can be led to ours, by address, none of which reaches into the next; and the names of the others, with the reason.
fn choose(
    object: &NewObject,
    file: &ElfFile,
    runtime: &Runtime,
    mut functions: Vec<RuntimeFunction>,
) -> Result<(Vec<RuntimeFunction>, Vec<String>), Reason> {
    functions.sort_by_key(|function| function.address);
    let mut chosen: Vec<RuntimeFunction> = Vec::with_capacity(functions.len());
    let mut left = Vec::new();
    for function in functions {
        // The program's own functions may be called cuda-something, too, and nvcc makes some that are.
        if runtime.names().binary_search(&function.name).is_err() {
            if looks_public(&function.name) {
                left.push(format!("{} (not in warploom's)", String::from_utf8_lossy(&function.name)));
            }
            continue;
        }
        if file.code_segment(function.address, function.size).is_none() {
            return Err("is damaged: its symbol table has functions outside its code".to_owned());
        }
        // A second name for the same code.
        let end = chosen.last().map_or(0, |last| last.address + last.size);
        let room = text::has_room(object, &function);
        if function.address < end || !room {
            let why = if room { "within another" } else { "too short" };
            left.push(format!("{} ({why})", String::from_utf8_lossy(&function.name)));
        } else {
            chosen.push(function);
        }
    }
    Ok((chosen, left))
}

/// `cudaMalloc`, and not `__cudaUnregisterBinaryUtil` or `cuda_helper`.
fn looks_public(name: &[u8]) -> bool {
    name.strip_prefix(b"cuda").and_then(|rest| rest.first()).is_some_and(u8::is_ascii_uppercase)
}
