//! The driver's log of failed calls, for `cuLogs*`: one line each, in the documented shape
//! `[time][thread][CUDA][E][function] reason` (CUDA programming guide, "Error Log Management").
use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use warploom_abi::CUlogsCallback;
use warploom_driver::{DriverError, ErrorCode};

use super::{HostAddress, callback};

/// How many lines are kept; together with [`LONGEST_LINE`] the documented 25600 bytes.
const CAPACITY: usize = 100;
/// Longer lines are cut off, in bytes without the line feed.
const LONGEST_LINE: usize = 255;

/// One failure.
#[derive(Clone, Debug)]
struct Line {
    symbol: &'static str,
    thread: libc::pid_t,
    at: SystemTime,
    error: DriverError,
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since_epoch = self.at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (hour, minute, second) = time_of_day(since_epoch);
        let (millis, thread) = (since_epoch.subsec_millis(), self.thread);
        write!(formatter, "[{hour:02}:{minute:02}:{second:02}.{millis:03}][{thread}][CUDA][E]")?;
        write!(formatter, "[{}] {}", self.symbol, self.error)
    }
}

/// Hour, minute and second where the process is.
fn time_of_day(since_epoch: Duration) -> (i32, i32, i32) {
    let seconds = libc::time_t::try_from(since_epoch.as_secs()).unwrap_or(libc::time_t::MAX);
    let mut broken = MaybeUninit::<libc::tm>::uninit();
    // SAFETY: both pointers are good; localtime_r fills the structure unless it answers NULL.
    let broken = unsafe {
        if libc::localtime_r(&seconds, broken.as_mut_ptr()).is_null() {
            return (0, 0, 0);
        }
        broken.assume_init()
    };
    (broken.tm_hour, broken.tm_min, broken.tm_sec)
}

impl Line {
    fn text(&self) -> String {
        let mut text = self.to_string();
        let mut end = LONGEST_LINE.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text
    }
}

static LINES: Mutex<VecDeque<Line>> = Mutex::new(VecDeque::new());
/// The number of the next line. Numbers count up over the life of the process, and wrap.
static NEXT: AtomicU32 = AtomicU32::new(0);

struct Listener {
    id: usize,
    callback: CUlogsCallback,
    data: HostAddress,
}

static LISTENERS: Mutex<Vec<Listener>> = Mutex::new(Vec::new());
static LISTENED_TO: AtomicBool = AtomicBool::new(false);

/// Keeps why `symbol` failed, and tells those who listen. `CUDA_ERROR_NOT_READY` is an answer, not a failure.
pub(super) fn record(symbol: &'static str, error: &DriverError) {
    if error.code() == ErrorCode::NotReady {
        return;
    }
    let line = Line { symbol, thread: thread_id(), at: SystemTime::now(), error: error.clone() };
    if LISTENED_TO.load(Ordering::Acquire) {
        let text = line.text();
        // Called without the lock: a listener may call the driver.
        let listeners: Vec<_> = LISTENERS.lock().iter().map(|listener| (listener.callback, listener.data)).collect();
        for (function, data) in listeners {
            callback::log_line(function, data, &text);
        }
    }
    let mut lines = LINES.lock();
    if lines.len() == CAPACITY {
        lines.pop_front();
    }
    lines.push_back(line);
    NEXT.fetch_add(1, Ordering::Relaxed);
}

/// The calling thread's number. Asked of the system once a thread, as programs let calls fail in loops; the only thread of a forked child has
/// another one than in its parent.
fn thread_id() -> libc::pid_t {
    static FORKS: AtomicU32 = AtomicU32::new(0);
    static HOOK: Once = Once::new();
    thread_local! {
        static KNOWN: Cell<Option<(u32, libc::pid_t)>> = const { Cell::new(None) };
    }
    unsafe extern "C" fn on_forked_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    let forks = FORKS.load(Ordering::Relaxed);
    if let Some((then, thread)) = KNOWN.get()
        && then == forks
    {
        return thread;
    }
    HOOK.call_once(|| {
        // SAFETY: the hook only adds to an atomic, which is allowed in a forked child; the library is linked with `-z nodelete`, so it
        // stays where it is for the life of the process.
        unsafe { libc::pthread_atfork(None, None, Some(on_forked_child)) };
    });
    // SAFETY: gettid has no conditions.
    let thread = unsafe { libc::gettid() };
    KNOWN.set(Some((forks, thread)));
    thread
}

/// Where the log ends now: the number of the next line.
pub(crate) fn end() -> u32 {
    NEXT.load(Ordering::Relaxed)
}

/// The kept lines from number `start` on, or all; each ends in a line feed. Says first if lines before those are gone.
pub(crate) fn text_since(start: Option<u32>) -> Vec<String> {
    let lines = LINES.lock();
    let kept = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    let wanted = start.map_or(kept, |start| end().wrapping_sub(start));
    let lost = wanted > kept && start.is_some();
    let note = lost.then(|| format!("{} older lines are no longer kept\n", wanted - kept));
    let skipped = kept.saturating_sub(wanted) as usize;
    note.into_iter().chain(lines.iter().skip(skipped).map(|line| line.text() + "\n")).collect()
}

/// Calls `callback` with `data` for each failure from now on. The number ends that.
pub(crate) fn listen(callback: CUlogsCallback, data: HostAddress) -> usize {
    static NEXT_ID: Mutex<usize> = Mutex::new(0x1_0000);
    let mut next = NEXT_ID.lock();
    // As handles are: multiples of 16 above 64 KiB, never used again.
    *next += 16;
    LISTENERS.lock().push(Listener { id: *next, callback, data });
    LISTENED_TO.store(true, Ordering::Release);
    *next
}

/// Ends what [`listen`] began; false if nothing of this number listens.
pub(crate) fn unlisten(id: usize) -> bool {
    let mut listeners = LISTENERS.lock();
    let before = listeners.len();
    listeners.retain(|listener| listener.id != id);
    LISTENED_TO.store(!listeners.is_empty(), Ordering::Release);
    listeners.len() < before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_documented_shape_and_length() {
        let error = DriverError::invalid_value("é".repeat(200));
        let line = Line { symbol: "cuInit", thread: 42, at: UNIX_EPOCH + Duration::from_millis(1234), error };
        let text = line.text();
        assert!(text.len() <= LONGEST_LINE && text.len() > LONGEST_LINE - 2);
        assert!(text.contains(":01.234][42][CUDA][E][cuInit] é"), "{text}");
    }
}
