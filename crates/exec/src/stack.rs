//! How much stack the calling thread has left.

use std::cell::Cell;
use std::ops::Range;

thread_local! {
    /// Addresses of the thread's stack; empty if unknown.
    static STACK: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

/// Bytes between here and the end of the thread's stack; 0 if the host does not say, and on a stack of the program's own making (a
/// fibre, a signal stack), of which nobody knows the end.
pub(crate) fn room() -> usize {
    let local = 0u8;
    let here = &raw const local as usize;
    let (lowest, end) = STACK.get().unwrap_or_else(|| {
        let Range { start, end } = ask();
        STACK.set(Some((start, end)));
        (start, end)
    });
    if here < end { here.saturating_sub(lowest) } else { 0 }
}

/// Asks the C library once for each thread: for the first one of a process that means reading a file.
#[cold]
fn ask() -> Range<usize> {
    // SAFETY: the attributes are initialised by `pthread_getattr_np`, used only if it succeeds, and destroyed once.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return 0..0;
        }
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        let known = libc::pthread_attr_getstack(&attributes, &mut lowest, &mut size) == 0;
        libc::pthread_attr_destroy(&mut attributes);
        if known { lowest as usize..lowest as usize + size } else { 0..0 }
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

    #[test]
    fn a_stack_that_the_program_made_has_no_known_room() {
        extern "C" fn on_own_stack() {
            SEEN.set(room());
        }
        thread_local! {
            static SEEN: Cell<usize> = const { Cell::new(usize::MAX) };
        }
        assert!(room() > 0);
        // Both below and above the thread's own stack: the address space above a thread's stack holds the older threads' ones.
        let mut stacks = [vec![0u8; 256 << 10], vec![0u8; 64 << 20]];
        for stack in &mut stacks {
            // SAFETY: the context is initialised by `getcontext` before use; the stack outlives the switch; the function returns to
            // `back` and does not unwind.
            unsafe {
                let mut back: libc::ucontext_t = std::mem::zeroed();
                let mut fibre: libc::ucontext_t = std::mem::zeroed();
                assert_eq!(libc::getcontext(&mut fibre), 0);
                fibre.uc_stack.ss_sp = stack.as_mut_ptr().cast();
                fibre.uc_stack.ss_size = stack.len();
                fibre.uc_link = &raw mut back;
                libc::makecontext(&mut fibre, on_own_stack, 0);
                assert_eq!(libc::swapcontext(&mut back, &fibre), 0);
            }
            assert_eq!(SEEN.get(), 0);
        }
    }
}
