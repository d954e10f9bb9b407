//! Trampolines: what the functions of an object jump to, mapped near it, as a relative jump reaches 2 GiB. They work as a procedure linkage
//! table does: each jumps where its slot says, which at first is the code that looks the function up in our runtime.
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::loaded::{mappings, read_mappings};
use crate::resolve;

/// The size of a page on x86-64.
pub(crate) const PAGE: usize = 4096;
/// Bytes of code for each trampoline, and in front of them for what they share.
const STRIDE: usize = 32;
/// `endbr64`: an indirect jump may lead here, where the processor checks that.
pub(crate) const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// Words in front of the slots: what is handed to the resolver, and its address.
const HEADER_WORDS: usize = 2;

/// The mapping: pages of code, which cannot be written to, and pages with the slots, which cannot be executed.
#[derive(Debug)]
pub(crate) struct Trampolines {
    start: usize,
    size: usize,
    code_size: usize,
    count: usize,
}

impl Trampolines {
    /// Maps `count` trampolines so that jumps from all of `code` reach them. They are not above the program itself, whose heap grows there.
    pub(crate) fn near(code: std::ops::Range<usize>, above_too: bool, count: usize) -> io::Result<Trampolines> {
        let code_size = ((count + 1) * STRIDE).next_multiple_of(PAGE);
        let size = code_size + ((HEADER_WORDS + count) * 8).next_multiple_of(PAGE);
        let start = map_near(code, above_too, size)?;
        Ok(Trampolines { start, size, code_size, count })
    }

    /// The code that leads through slot `index`.
    pub(crate) fn entry(&self, index: usize) -> usize {
        self.start + (index + 1) * STRIDE
    }

    /// Writes code and slots, and makes the code executable. `context` is what [`resolve::enter`] gets with the index of a trampoline whose
    /// slot does not lead to a function yet.
    pub(crate) fn write(&self, context: usize) -> io::Result<()> {
        let code = code(self.count, self.code_size);
        // SAFETY: the mapping is ours, of this size, writable, and nobody else knows of it yet.
        unsafe {
            let start = std::ptr::with_exposed_provenance_mut::<u8>(self.start);
            std::ptr::copy_nonoverlapping(code.as_ptr(), start, code.len());
            let words = std::ptr::with_exposed_provenance_mut::<usize>(self.start + self.code_size);
            words.write(context);
            words.add(1).write(resolve::entry());
            for index in 0..self.count {
                words.add(HEADER_WORDS + index).write(self.entry(index) + LAZY);
            }
            protect(self.start, self.code_size, libc::PROT_READ | libc::PROT_EXEC)
        }
    }

    /// From now on trampoline `index` leads to `address`.
    pub(crate) fn set(&self, index: usize, address: usize) {
        assert!(index < self.count, "trampoline {index} of {}", self.count);
        let slot = self.start + self.code_size + (HEADER_WORDS + index) * 8;
        // SAFETY: the slot is a word in our mapping, which is only ever read and written as a whole.
        let slot = unsafe { &*std::ptr::with_exposed_provenance::<AtomicUsize>(slot) };
        slot.store(address, Ordering::Release);
    }
}

impl Drop for Trampolines {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever drops this knows that no code leads here any more.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(self.start), self.size) };
    }
}

/// Where in a trampoline its slot leads at first.
const LAZY: usize = 6;

/// The code for `count` trampolines, with the words behind it at `code_size`.
fn code(count: usize, code_size: usize) -> Vec<u8> {
    // A distance from the end of an instruction to a word or to other code; both are in the same small mapping.
    let distance = |from: usize, to: usize| (to as i32 - from as i32).to_le_bytes();
    let word = |index: usize| code_size + index * 8;
    let mut code = Vec::with_capacity((count + 1) * STRIDE);
    // push context(%rip); jmp *resolver(%rip)
    code.extend([0xff, 0x35]);
    code.extend(distance(6, word(0)));
    code.extend([0xff, 0x25]);
    code.extend(distance(12, word(1)));
    for index in 0..count {
        let start = (index + 1) * STRIDE;
        // int3, which nothing reaches.
        code.resize(start, 0xcc);
        // jmp *slot(%rip)
        code.extend([0xff, 0x25]);
        code.extend(distance(start + LAZY, word(HEADER_WORDS + index)));
        // endbr64; push $index; jmp to the beginning
        code.extend(ENDBR64);
        code.push(0x68);
        code.extend((index as i32).to_le_bytes());
        code.push(0xe9);
        code.extend(distance(start + LAZY + 14, 0));
    }
    code
}

/// Maps `size` bytes from where all of `code` is within reach of a relative jump.
fn map_near(code: std::ops::Range<usize>, above_too: bool, size: usize) -> io::Result<usize> {
    const REACH: usize = (i32::MAX as usize) - PAGE;
    let start = code.start & !(PAGE - 1);
    let end = code.end.next_multiple_of(PAGE);
    // The nearest places first, then ever further away.
    let gaps = std::iter::once(0).chain((16..31).map(|bits| 1_usize << bits));
    let below = gaps.clone().filter_map(|gap| start.checked_sub(gap + size));
    let above = gaps.filter(|_| above_too).filter_map(|gap| end.checked_add(gap));
    // Among large libraries that stand close together all of these may be taken.
    let free = std::iter::once_with(|| free_places(start, above_too, size)).flatten();
    let mut last = io::Error::from_raw_os_error(libc::ENOMEM);
    for place in below.chain(above).chain(free) {
        if place == 0 || end.abs_diff(place) > REACH || start.abs_diff(place + size) > REACH {
            continue;
        }
        let address = std::ptr::with_exposed_provenance_mut(place);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: an anonymous mapping where nothing is mapped touches no memory in use.
        let mapped = unsafe { libc::mmap(address, size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if mapped == address {
            return Ok(place);
        }
        if mapped == libc::MAP_FAILED {
            last = io::Error::last_os_error();
        } else {
            // SAFETY: a kernel that does not know the flag has mapped elsewhere; this is ours.
            unsafe { libc::munmap(mapped, size) };
        }
    }
    Err(last)
}

/// Where nothing is mapped, the places next to something, from the nearest to `start` on: below it, and, if `above_too`, above.
fn free_places(start: usize, above_too: bool, size: usize) -> Vec<usize> {
    let maps = read_mappings().unwrap_or_default();
    let (mut places, mut last) = (Vec::new(), 0);
    for (range, _) in mappings(&maps) {
        if range.start.saturating_sub(last) >= size {
            places.push(if range.start <= start { range.start - size } else { last });
        }
        last = range.end;
    }
    places.retain(|place| above_too || *place < start);
    places.sort_unstable_by_key(|place| place.abs_diff(start));
    places
}

/// Changes what may be done with whole pages.
///
/// # Safety
/// Nobody relies on what is taken away.
pub(crate) unsafe fn protect(start: usize, size: usize, protection: i32) -> io::Result<()> {
    // SAFETY: as the caller promises; the range is checked by the kernel.
    match unsafe { libc::mprotect(std::ptr::with_exposed_provenance_mut(start), size, protection) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_place_that_is_free_is_found() {
        // More than a jump reaches, all taken but for three pages.
        const TAKEN: usize = 5 << 30;
        const HOLE: usize = 3 * PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping at a place that the kernel chooses.
        let taken = unsafe { libc::mmap(std::ptr::null_mut(), TAKEN, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(taken, libc::MAP_FAILED);
        let start = taken.expose_provenance();
        let code = start + TAKEN / 2..start + TAKEN / 2 + 10 * PAGE;
        for hole in [code.start - 0x1234 * PAGE, code.end + 0x4321 * PAGE] {
            // SAFETY: these pages are the test's own.
            assert_eq!(unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(hole), HOLE) }, 0);
            let found = map_near(code.clone(), true, 2 * PAGE).expect("there is room");
            assert!((hole..=hole + PAGE).contains(&found), "{found:#x} for {hole:#x}");
            assert_eq!(map_near(code.clone(), true, 2 * PAGE).map_err(|_| ()), Err(()), "there is no more room");
            // SAFETY: what was mapped is the test's, and nobody else has mapped in the rest of the hole.
            unsafe {
                let flags = flags | libc::MAP_FIXED;
                let again =
                    libc::mmap(std::ptr::with_exposed_provenance_mut(hole), HOLE, libc::PROT_NONE, flags, -1, 0);
                assert_ne!(again, libc::MAP_FAILED);
            }
        }
        // SAFETY: all of it is the test's.
        assert_eq!(unsafe { libc::munmap(taken, TAKEN) }, 0);
    }
}
