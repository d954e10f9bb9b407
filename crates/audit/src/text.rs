//! Writing jumps into the code of an object that no thread runs yet.
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};

use object::LittleEndian;
use object::elf::{PF_R, PF_W, PF_X, ProgramHeader64};

use crate::elf_file::ElfFile;
use crate::embedded::RuntimeFunction;
use crate::loaded::NewObject;
use crate::trampolines::{ENDBR64, PAGE, protect};

/// `jmp` with a 32-bit distance.
const JUMP: usize = 5;

/// A jump to be written over the beginning of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jump {
    /// The function's first byte.
    pub(crate) function: usize,
    pub(crate) to: usize,
}

/// Whether a function has room for the jump. It lies in the code of its object.
pub(crate) fn has_room(object: &NewObject, function: &RuntimeFunction) -> bool {
    let start = object.address(function.address);
    // SAFETY: the function is mapped, and at least as long as what is read of it.
    let skipped = || unsafe { skipped(start) };
    function.size >= (ENDBR64.len() + JUMP) as u64 || function.size >= JUMP as u64 && skipped() == 0
}

/// How much of the beginning of a function stays: what an indirect jump may lead to says so in its first instruction, where the processor
/// checks that.
///
/// # Safety
/// `function` is the address of code that is mapped and at least as long as a jump.
unsafe fn skipped(function: usize) -> usize {
    // SAFETY: as the caller promises.
    let start = unsafe { *std::ptr::with_exposed_provenance::<[u8; ENDBR64.len()]>(function) };
    if start == ENDBR64 { ENDBR64.len() } else { 0 }
}

/// The jump from `from`, if it reaches.
fn encode(from: usize, to: usize) -> Option<[u8; JUMP]> {
    let distance = (to as i64).checked_sub(from as i64 + JUMP as i64)?;
    let [a, b, c, d] = i32::try_from(distance).ok()?.to_le_bytes();
    Some([0xe9, a, b, c, d])
}

/// Writes all `jumps`, or none, into `segment` of `object`, which comes from `file`. The functions have room, and lie in the segment.
pub(crate) fn write(
    object: &NewObject,
    file: &ElfFile,
    segment: &ProgramHeader64<LittleEndian>,
    jumps: &[Jump],
) -> io::Result<()> {
    let mut encoded = Vec::with_capacity(jumps.len());
    for jump in jumps {
        // SAFETY: the function is mapped and has room.
        let from = jump.function + unsafe { skipped(jump.function) };
        let bytes = encode(from, jump.to).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        encoded.push((from, bytes));
    }
    let (Some((first, _)), Some((last, _))) = (encoded.first(), encoded.last()) else { return Ok(()) };
    let start = first & !(PAGE - 1);
    let size = (last + JUMP).next_multiple_of(PAGE) - start;
    // SAFETY: no thread runs this code; it is not executable for a moment, and never writable and executable at once.
    unsafe {
        protect(start, size, libc::PROT_READ | libc::PROT_WRITE)?;
        for (from, bytes) in encoded {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), std::ptr::with_exposed_provenance_mut(from), JUMP);
        }
        protect(start, size, protection(segment)).or_else(|error| {
            // A system that does not let changed code be executed. The file has it unchanged.
            let distance = start - (object.address(segment.p_vaddr.get(LittleEndian)) & !(PAGE - 1));
            let offset = (segment.p_offset.get(LittleEndian) as usize & !(PAGE - 1)) + distance;
            map_again(file, start, size, offset, protection(segment))?;
            Err(error)
        })
    }
}

/// Maps pages of a file over those at `start`.
///
/// # Safety
/// Nobody relies on what is mapped there.
unsafe fn map_again(file: &ElfFile, start: usize, size: usize, offset: usize, protection: i32) -> io::Result<()> {
    let descriptor = file.as_fd().as_raw_fd();
    let (place, flags) = (std::ptr::with_exposed_provenance_mut(start), libc::MAP_PRIVATE | libc::MAP_FIXED);
    // SAFETY: as the caller promises.
    match unsafe { libc::mmap(place, size, protection, flags, descriptor, offset as libc::off_t) } {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// What may be done with the pages of a segment.
pub(crate) fn protection(segment: &ProgramHeader64<LittleEndian>) -> i32 {
    let flags = segment.p_flags.get(LittleEndian);
    [(PF_R, libc::PROT_READ), (PF_W, libc::PROT_WRITE), (PF_X, libc::PROT_EXEC)]
        .into_iter()
        .filter(|(flag, _)| flags & flag != 0)
        .fold(libc::PROT_NONE, |protection, (_, allowed)| protection | allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_reach_two_gibibytes() {
        assert_eq!(encode(0x1000, 0x1005), Some([0xe9, 0, 0, 0, 0]));
        assert_eq!(encode(0x2000, 0x1000), Some([0xe9, 0xfb, 0xef, 0xff, 0xff]));
        assert!(encode(0x1000, 0x1005 + i32::MAX as usize).is_some());
        assert!(encode(0x1000, 0x1006 + i32::MAX as usize).is_none());
    }
}
