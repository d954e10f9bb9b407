//! Places in streams.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use super::Shared;

/// A place in a stream: an event as recorded.
#[derive(Clone)]
pub struct Marker {
    pub(super) mark: Arc<Mark>,
}

pub(super) struct Mark {
    /// Gone only after the mark was reached: what is queued keeps its stream.
    pub(super) stream: Weak<Shared>,
    pub(super) number: u64,
    /// Nanoseconds after [`epoch`], plus 1; 0 until reached.
    pub(super) time: AtomicU64,
}

/// The origin of marker times.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

impl Marker {
    /// Whether the work before it has ended.
    pub fn is_done(&self) -> bool {
        self.mark.time.load(Ordering::Acquire) != 0
    }

    /// The same for who asks until it is so (`cuEventQuery`): where no worker could start, the calling thread does a part of the work.
    pub fn has_been_reached(&self) -> bool {
        if !self.is_done()
            && let Some(stream) = self.mark.stream.upgrade()
        {
            stream.engine.pool.stand_in();
        }
        self.is_done()
    }

    /// Waits until the work before it has ended.
    pub fn wait(&self) {
        if !self.is_done()
            && let Some(stream) = self.mark.stream.upgrade()
        {
            stream.wait_for(self.mark.number);
        }
    }

    /// When it was reached, on a clock that all markers share.
    pub fn time(&self) -> Option<Duration> {
        let time = self.mark.time.load(Ordering::Acquire);
        time.checked_sub(1).map(Duration::from_nanos)
    }
}

impl Mark {
    pub(super) fn reach(&self) {
        self.time.store(epoch().elapsed().as_nanos() as u64 + 1, Ordering::Release);
    }
}
