//! Whether anybody has touched a page of memory: what the kernel of the host keeps of it.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes of a page of the host.
pub(super) const PAGE: u64 = 4096;
/// Set in the eight bytes of a page that is there, or has been moved out (proc_pid_pagemap(5)).
const THERE: u64 = 0b11 << 62;

/// Whether the page of an address was touched since it was mapped. Where that cannot be told it was.
pub(super) fn is_touched(address: u64) -> bool {
    let mut bytes = [0; 8];
    let found = File::open("/proc/self/pagemap").and_then(|map| map.read_exact_at(&mut bytes, address / PAGE * 8));
    found.is_err() || u64::from_ne_bytes(bytes) & THERE != 0
}

#[cfg(test)]
mod tests {
    use super::{PAGE, is_touched};

    #[test]
    fn pages_are_touched_one_by_one() {
        // Large enough to come from the system, untouched, and not in large pages as a whole.
        let mut memory: Vec<u8> = vec![0; 1 << 20];
        let start = (memory.as_ptr().addr() as u64).next_multiple_of(PAGE);
        let at = |page: u64| start + page * PAGE + 100;
        let before = is_touched(at(40));
        let index = (at(20) - memory.as_ptr().addr() as u64) as usize;
        memory[index] = 1;
        assert!(is_touched(at(20)));
        assert_eq!(is_touched(at(40)), before);
        assert!(!before, "a page that nobody has touched");
    }
}
