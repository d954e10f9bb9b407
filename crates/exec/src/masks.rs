//! Which signals the threads of the device take.
//!
//! A signal to the process goes to any thread that does not block it, and handlers belong on the program's own threads. So ours block
//! all, but for what their own instructions raise: the program's handler for faults hears of those as if its own code had run.
//! One thread, the clock, also takes what would end the process, as long as the program has no handler for it: otherwise a process
//! whose own threads have ended would not hear of it. What the program blocked before the first launch stays blocked everywhere.

use std::mem::MaybeUninit;

/// Raised by an instruction of the thread itself, or by `abort`.
const OWN: [i32; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT];
/// Sent from outside; ends a process that does not handle it (signal(7)).
const ENDING: [i32; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGALRM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGXCPU,
    libc::SIGVTALRM,
];

/// The calling thread's signals blocked until dropped: threads started meanwhile inherit it.
pub struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    /// Blocks them.
    #[must_use = "they are let through again when it is dropped"]
    pub fn block() -> Blocked {
        let mut all = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: both sets are local; `sigfillset` initialises the first, `pthread_sigmask` the second.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            for signal in OWN {
                libc::sigdelset(all.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Blocked { before: before.assume_init() }
        }
    }

    /// What is blocked outside.
    pub(crate) fn before(&self) -> libc::sigset_t {
        self.before
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: restores what `block` found.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

/// Lets the calling thread take what ends the process by default, and nothing that the program handles now. `program` is what the
/// program blocks.
pub(crate) fn take_what_ends_the_process(program: &libc::sigset_t) {
    let [mut open, mut closed] = [MaybeUninit::uninit(); 2];
    // SAFETY: both sets are initialised by `sigemptyset` before use, the action by `sigaction` if it succeeds.
    unsafe {
        libc::sigemptyset(open.as_mut_ptr());
        libc::sigemptyset(closed.as_mut_ptr());
        for signal in ENDING {
            let mut action = MaybeUninit::<libc::sigaction>::uninit();
            let known = libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0;
            let by_default = known && action.assume_init_ref().sa_sigaction == libc::SIG_DFL;
            let blocked = libc::sigismember(program, signal) == 1;
            let set = if by_default && !blocked { &mut open } else { &mut closed };
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, closed.as_ptr(), std::ptr::null_mut());
        libc::pthread_sigmask(libc::SIG_UNBLOCK, open.as_ptr(), std::ptr::null_mut());
    }
}
