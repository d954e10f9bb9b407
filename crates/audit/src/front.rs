//! Standing in front of a library of NVIDIA's that stays what it is: its functions lead through trampolines to the library of ours that is
//! asked, at the first call of any, which of them it wants to answer.
use std::ffi::CString;

use crate::elf_file::{Export, Reason};
use crate::explain;
use crate::exports::{self, Lead};
use crate::libraries::Libraries;
use crate::loaded::NewObject;
use crate::resolve::{Destination, Place};

/// Leads the functions of `object` whose names begin so through ours. The destination has to stay until the object is gone.
pub(crate) fn stand(object: &NewObject, names: &[&str], libraries: &Libraries) -> Option<Box<Destination>> {
    let name = object.display_name();
    match lead(object, names, libraries) {
        // A part of a compiler that nobody calls but itself.
        Ok(None) => None,
        Ok(Some(destination)) => {
            let (count, library) = (destination.names.len(), destination.library.to_string_lossy());
            explain::say(
                &name,
                format_args!(
                    "{count} functions lead through {library}: it compiles and links for compute_NN where sm_NN is asked for"
                ),
            );
            Some(destination)
        }
        Err(reason) => {
            explain::say(&name, format_args!("left alone: {reason}"));
            None
        }
    }
}

fn lead(object: &NewObject, names: &[&str], libraries: &Libraries) -> Result<Option<Box<Destination>>, Reason> {
    let file = object.file()?;
    let wanted = |export: &Export| names.iter().any(|start| export.name.starts_with(start.as_bytes()));
    let functions: Vec<Export> = file.exports()?.into_iter().filter(wanted).collect();
    let entries = || functions.iter().map(|function| function.entry);
    let (Some(first), Some(last)) = (entries().min(), entries().max()) else { return Ok(None) };
    let library =
        libraries.compilers.clone().ok_or_else(|| "warploom's library for compilers is not there".to_owned())?;
    let segment = file.loaded_segment(first, last + size_of::<u64>() as u64 - first);
    let segment = segment.ok_or_else(|| "is damaged: its symbol table is not loaded".to_owned())?;
    let start = object.address(first);
    let names: Result<Vec<CString>, _> =
        functions.iter().map(|function| CString::new(function.name.as_slice())).collect();
    let names = names.map_err(|error| error.to_string())?;
    let place = Place::InFront(functions.iter().map(|function| object.address(function.address)).collect());
    let destination = Destination::near(object, start..start + 1, true, names, library, place)?;
    let lead = |(index, function): (usize, &Export)| Lead {
        entry: object.address(function.entry),
        to: destination.trampolines.entry(index),
    };
    let leads: Vec<Lead> = functions.iter().enumerate().map(lead).collect();
    exports::write(object, segment, &leads)
        .map_err(|error| format!("its symbol table cannot be written to: {error}"))?;
    Ok(Some(destination))
}
