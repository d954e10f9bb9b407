//! Leading functions that an object exports elsewhere: another address in its dynamic symbol table, before anybody was bound to it. Whoever
//! asks for the function then, from another object, with `dlsym`, or to have its address, gets that.
use std::io;

use object::LittleEndian;
use object::elf::{ProgramHeader64, STV_HIDDEN};

use crate::loaded::NewObject;
use crate::text::protection;
use crate::trampolines::{PAGE, protect};

/// A word of the symbol table, and the address of a function that is to stand there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lead {
    /// Where the word is in memory.
    pub(crate) entry: usize,
    pub(crate) to: usize,
}

/// Makes an import of `object` a symbol of its own that no other object sees (`STV_HIDDEN`), before the object itself was bound to it: its
/// calls go to the lead. The byte at `visibility` is that of the same entry of the symbol table, which is in `segment`.
pub(crate) fn take_as_own(
    object: &NewObject,
    segment: &ProgramHeader64<LittleEndian>,
    lead: Lead,
    visibility: usize,
) -> io::Result<()> {
    write(object, segment, &[lead])?;
    let (start, size) = (visibility & !(PAGE - 1), PAGE);
    // SAFETY: as in `write`; the byte is the entry's own.
    unsafe {
        protect(start, size, libc::PROT_READ | libc::PROT_WRITE)?;
        *std::ptr::with_exposed_provenance_mut::<u8>(visibility) = STV_HIDDEN;
        protect(start, size, protection(segment))
    }
}

/// Writes all `leads` into the symbol table of `object`, which is in `segment`.
pub(crate) fn write(object: &NewObject, segment: &ProgramHeader64<LittleEndian>, leads: &[Lead]) -> io::Result<()> {
    let entries = || leads.iter().map(|lead| lead.entry);
    let (Some(first), Some(last)) = (entries().min(), entries().max()) else { return Ok(()) };
    let start = first & !(PAGE - 1);
    let size = (last + size_of::<usize>()).next_multiple_of(PAGE) - start;
    // The dynamic linker adds where the object was loaded.
    let mut values: Vec<usize> = leads.iter().map(|lead| lead.to.wrapping_sub(object.address(0))).collect();
    let mut swap = || {
        for (lead, value) in leads.iter().zip(&mut values) {
            let word = std::ptr::with_exposed_provenance_mut::<usize>(lead.entry);
            // SAFETY: the word is the object's own, can be written to here, and only the dynamic linker reads it, which waits for us.
            *value = unsafe { std::mem::replace(&mut *word, *value) };
        }
    };
    // SAFETY: what is in these pages can be read all the time, and no code runs there yet.
    unsafe {
        protect(start, size, libc::PROT_READ | libc::PROT_WRITE)?;
        swap();
        protect(start, size, protection(segment)).inspect_err(|_| swap())
    }
}
