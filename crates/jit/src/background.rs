//! The thread that compiles.
//!
//! There is one at most, from the first need on until nothing has been asked for a while. It yields to the threads that run kernels and the program's own.
//! A compilation cannot be interrupted. At the end of the process nothing new begins; an LLVM that takes itself apart then, which ours does not, is
//! waited for. A forked process has no such thread, and nobody there who could ask for one.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use warploom_exec::masks::Blocked;

/// How much lower than the program's the thread's priority is.
const NICER: libc::c_int = 5;
/// LLVM walks expressions and control flow by recursion.
const STACK: usize = 16 << 20;
/// After so long without work the thread ends.
const IDLE: Duration = Duration::from_secs(2);
/// Longest time that the end of the process waits.
const LAST_WAIT: Duration = Duration::from_secs(10);

pub(crate) type Job = Box<dyn FnOnce() + Send>;

struct Queue {
    jobs: VecDeque<Job>,
    has_thread: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { jobs: VecDeque::new(), has_thread: false });
static WAKE: Condvar = Condvar::new();
/// The thread is at a job.
static BUSY: AtomicBool = AtomicBool::new(false);
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Whose thread it is, by the number of the process.
static OWNER: AtomicU32 = AtomicU32::new(0);

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a job done, before all others if somebody waits for it. False if that cannot be.
pub(crate) fn submit(job: Job, awaited: bool) -> bool {
    let mut queue = queue();
    if CLOSED.load(Ordering::SeqCst) {
        return false;
    }
    if !queue.has_thread {
        let _signals = Blocked::block();
        OWNER.store(std::process::id(), Ordering::SeqCst);
        let started = thread::Builder::new().name("warploom-jit".to_owned()).stack_size(STACK).spawn(work);
        if started.is_err() {
            return false;
        }
        queue.has_thread = true;
    }
    if awaited {
        queue.jobs.push_front(job);
    } else {
        queue.jobs.push_back(job);
    }
    WAKE.notify_one();
    true
}

fn work() {
    // SAFETY: of the calling thread, as Linux has it; where it is refused, the priority stays.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, libc::getpriority(libc::PRIO_PROCESS, 0) + NICER) };
    let mut waiting = queue();
    loop {
        if let Some(job) = waiting.jobs.pop_front() {
            drop(waiting);
            BUSY.store(true, Ordering::SeqCst);
            if !CLOSED.load(Ordering::SeqCst) {
                // Who asked is told by what the job has left behind, or by its being dropped.
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
            BUSY.store(false, Ordering::SeqCst);
            waiting = queue();
            continue;
        }
        let (again, timeout) = WAKE.wait_timeout(waiting, IDLE).unwrap_or_else(PoisonError::into_inner);
        waiting = again;
        if timeout.timed_out() && waiting.jobs.is_empty() {
            waiting.has_thread = false;
            return;
        }
    }
}

/// No job begins any more, for the end of the process. Here and in [`finish`] no lock is taken, as the calling thread may have been interrupted while it
/// held one.
pub(crate) fn close() {
    CLOSED.store(true, Ordering::SeqCst);
}

/// Waits for the job that runs, after [`close`].
pub(crate) extern "C" fn finish() {
    close();
    let start = Instant::now();
    while OWNER.load(Ordering::SeqCst) == std::process::id()
        && BUSY.load(Ordering::SeqCst)
        && start.elapsed() < LAST_WAIT
    {
        thread::sleep(Duration::from_micros(200));
    }
}
