//! What the host says of addresses outside the window, for reports.

/// Whether the process has memory at `address`.
pub(super) fn is_mapped(address: u64) -> bool {
    let mut byte = 0_u8;
    let here = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let there = libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address as usize), iov_len: 1 };
    // SAFETY: the kernel copies one byte into `byte`, or fails where nothing is mapped; no memory is accessed otherwise.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
    copied == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_is_mapped_and_the_null_page_is_not() {
        let here = 1;
        assert!(is_mapped(std::ptr::from_ref(&here).addr() as u64));
        assert!(!is_mapped(8) && !is_mapped(u64::MAX));
    }
}
