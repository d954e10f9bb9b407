//! The thread that compiles.
//!
//! There is one at most, from the first need on until nothing has been asked for a while. It is no slower than others: kernels wait for what it does.
//! A compilation cannot be interrupted. At the end of the process nothing new begins; an LLVM that takes itself apart then, which ours does not, is
//! waited for. A forked process has no such thread, and nobody there who could ask for one.
//!
//! LLVM is called on this thread only. Where it meets what it cannot go on from, it says so and expects not to be returned to: the thread then stays
//! where it is for good ([`lose`]), whoever waits for the job hears why, and another thread goes on with what is left.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use warploom_exec::masks::Blocked;

/// LLVM walks expressions and control flow by recursion.
const STACK: usize = 16 << 20;
/// After so long without work the thread ends.
const IDLE: Duration = Duration::from_secs(2);
/// Longest time that the end of the process waits.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// What the thread is to do.
pub(crate) struct Job {
    pub(crate) run: Box<dyn FnOnce() + Send>,
    /// Called with the reason if it will never end.
    pub(crate) lost: Lost,
}

type Lost = Box<dyn FnOnce(&str) + Send>;

struct Queue {
    jobs: VecDeque<Job>,
    has_thread: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { jobs: VecDeque::new(), has_thread: false });
static WAKE: Condvar = Condvar::new();
/// The thread is at a job.
static BUSY: AtomicBool = AtomicBool::new(false);
/// Who is to hear if the job that runs is lost.
static RUNNING: Mutex<Option<Lost>> = Mutex::new(None);
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Whose thread it is, by the number of the process.
static OWNER: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static IS_COMPILER: Cell<bool> = const { Cell::new(false) };
}

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a job done, before all others if somebody waits for it. False if that cannot be.
pub(crate) fn submit(job: Job, awaited: bool) -> bool {
    let mut queue = queue();
    if CLOSED.load(Ordering::SeqCst) {
        return false;
    }
    if !has_thread(&mut queue) {
        return false;
    }
    if awaited {
        queue.jobs.push_front(job);
    } else {
        queue.jobs.push_back(job);
    }
    WAKE.notify_one();
    true
}

/// Has a job done, and waits for what comes of it.
///
/// # Errors
/// Those of the job; why it could not be done.
pub(crate) fn call<T: Send + 'static>(job: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    let (answer, answered) = mpsc::channel();
    let lost = answer.clone();
    // Nobody hears who does not wait any more.
    let run = Box::new(move || drop(answer.send(job())));
    let lost = Box::new(move |why: &str| drop(lost.send(Err(why.to_owned()))));
    submit(Job { run, lost }, true);
    answered.recv().unwrap_or_else(|_| Err("there is no thread to compile on".to_owned()))
}

/// Sees to it that there is a thread.
fn has_thread(queue: &mut Queue) -> bool {
    if !queue.has_thread {
        let _signals = Blocked::block();
        OWNER.store(std::process::id(), Ordering::SeqCst);
        let started = thread::Builder::new().name("warploom-jit".to_owned()).stack_size(STACK).spawn(work);
        queue.has_thread = started.is_ok();
    }
    queue.has_thread
}

fn running() -> MutexGuard<'static, Option<Lost>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The job that runs on the calling thread cannot go on and cannot be left: nor can the thread. Comes back only where no job runs.
pub(crate) fn lose(why: &str) {
    if !IS_COMPILER.get() {
        return;
    }
    if let Some(lost) = running().take() {
        // Nothing must unwind from here.
        let _ = catch_unwind(AssertUnwindSafe(|| lost(why)));
    }
    BUSY.store(false, Ordering::SeqCst);
    {
        let mut queue = queue();
        queue.has_thread = false;
        if !queue.jobs.is_empty() && !has_thread(&mut queue) {
            // They are told by being dropped.
            queue.jobs.clear();
        }
    }
    loop {
        thread::park();
    }
}

fn work() {
    IS_COMPILER.set(true);
    let mut waiting = queue();
    loop {
        if let Some(Job { run, lost }) = waiting.jobs.pop_front() {
            drop(waiting);
            BUSY.store(true, Ordering::SeqCst);
            if !CLOSED.load(Ordering::SeqCst) {
                *running() = Some(lost);
                // Who asked is told by what the job has left behind, or by its being dropped.
                let _ = catch_unwind(AssertUnwindSafe(run));
                let _ended = running().take();
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

/// Whether no job begins any more.
pub(crate) fn is_closed() -> bool {
    CLOSED.load(Ordering::SeqCst)
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
