//! The last failures of the process, for `cuLogs*`: one sentence each.
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use warploom_driver::{DriverError, ErrorCode};

/// How many lines are kept: the documented size of the driver's log buffer.
const CAPACITY: usize = 100;

/// One failure.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Counts up from 0 over the life of the process.
    pub(crate) number: u64,
    symbol: &'static str,
    at: SystemTime,
    error: DriverError,
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (seconds, millis) = (at.as_secs(), at.subsec_millis());
        write!(formatter, "[{seconds}.{millis:03}][CUDA][E] {}: {}", self.symbol, self.error.reason())
    }
}

static LOG: Mutex<VecDeque<Line>> = Mutex::new(VecDeque::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Keeps why `symbol` failed. `CUDA_ERROR_NOT_READY` is an answer, not a failure.
pub(super) fn record(symbol: &'static str, error: &DriverError) {
    if error.code() == ErrorCode::NotReady {
        return;
    }
    let mut lines = LOG.lock();
    if lines.len() == CAPACITY {
        lines.pop_front();
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    lines.push_back(Line { number, symbol, at: SystemTime::now(), error: error.clone() });
}

/// The number that the next failure gets.
pub(crate) fn next_number() -> u64 {
    NEXT.load(Ordering::Relaxed)
}

/// The kept lines from `number` on, oldest first.
pub(crate) fn since(number: u64) -> Vec<Line> {
    LOG.lock().iter().filter(|line| line.number >= number).cloned().collect()
}
