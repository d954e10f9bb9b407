//! How much stack the calling thread has left.

use std::cell::Cell;

/// What an executor may need: threads of the program with less do not help with grids.
pub(crate) const ROOM_TO_HELP: usize = 256 << 10;

thread_local! {
    /// Lowest address of the thread's stack; 0 until asked, `usize::MAX` if unknown.
    static LOWEST: Cell<usize> = const { Cell::new(0) };
}

/// Bytes between here and the end of the stack, 0 if the host does not say.
pub(crate) fn room() -> usize {
    let local = 0u8;
    let here = &raw const local as usize;
    let lowest = LOWEST.get();
    let lowest = if lowest == 0 { ask() } else { lowest };
    LOWEST.set(lowest);
    here.saturating_sub(lowest)
}

/// Asks the C library once for each thread: for the first one of a process that means reading a file.
#[cold]
fn ask() -> usize {
    // SAFETY: the attributes are initialised by `pthread_getattr_np`, used only if it succeeds, and destroyed once.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return usize::MAX;
        }
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        let known = libc::pthread_attr_getstack(&attributes, &mut lowest, &mut size) == 0;
        libc::pthread_attr_destroy(&mut attributes);
        if known { lowest as usize } else { usize::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn deeper() -> usize {
        let frame = std::hint::black_box([1u8; 32 << 10]);
        room() + usize::from(frame[7]) - 1
    }

    #[test]
    fn room_is_what_the_thread_was_given_less_what_it_uses() {
        for size in [256 << 10, 2 << 20] {
            // The C library may give more: it reuses stacks of threads that have ended.
            let thread = std::thread::Builder::new().stack_size(size).spawn(|| (room(), deeper())).unwrap();
            let (here, deeper) = thread.join().unwrap();
            assert!(here > size / 2, "{here} of {size}");
            assert!(deeper + (32 << 10) <= here, "{deeper} below {here}");
        }
    }
}
