//! Places in streams, of this process or another: events as recorded.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use super::{Group, Shared};
use crate::interprocess::SharedEvent;
use crate::observe::{HostEvent, Observer, StreamPlace};

/// A place in a stream: an event as recorded.
#[derive(Clone)]
pub struct Marker {
    pub(super) place: Where,
}

#[derive(Clone)]
pub(super) enum Where {
    Here(Arc<Mark>),
    /// Wherever an event was recorded, by the number of the record.
    Elsewhere(Arc<SharedEvent>, u32),
}

pub(super) struct Mark {
    /// Gone only after the mark was reached: what is queued keeps its stream.
    pub(super) stream: Weak<Shared>,
    pub(super) place: StreamPlace,
    observer: Option<Arc<dyn Observer>>,
    /// Nanoseconds after [`epoch`], plus 1; 0 until reached.
    time: AtomicU64,
}

/// The origin of marker times.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

impl Marker {
    /// The place of the last record of an event, in a stream of any process; None if it was never recorded.
    pub fn of_shared(event: &Arc<SharedEvent>) -> Option<Marker> {
        let number = event.last();
        (number != 0).then(|| Marker { place: Where::Elsewhere(Arc::clone(event), number) })
    }

    /// Whether the work before it has ended.
    pub fn is_done(&self) -> bool {
        match &self.place {
            Where::Here(mark) => mark.is_reached(),
            Where::Elsewhere(event, number) => event.has_ended(*number),
        }
    }

    /// The same for who asks until it is so (`cuEventQuery`): where no worker could start, the calling thread does a part of the work.
    pub fn has_been_reached(&self) -> bool {
        if let Where::Here(mark) = &self.place
            && !mark.is_reached()
            && let Some(stream) = mark.stream.upgrade()
        {
            stream.engine.pool.stand_in();
        }
        let done = self.is_done();
        if done && let Where::Here(mark) = &self.place {
            mark.tell_waited();
        }
        done
    }

    /// Waits until the work before it has ended; for work of another process, until `give_up` says that it is time to.
    pub fn wait(&self, give_up: impl Fn() -> bool) {
        match &self.place {
            Where::Here(mark) if !mark.is_reached() => {
                if let Some(stream) = mark.stream.upgrade() {
                    stream.wait_for(mark.place.number);
                }
            }
            Where::Here(_) => {}
            Where::Elsewhere(event, number) => event.wait(*number, give_up),
        }
        if let Where::Here(mark) = &self.place {
            mark.tell_waited();
        }
    }

    /// Tells the observer that all streams of a group are to wait for it, those to come too.
    pub fn tell_held_back(&self, group: &Group) {
        if let Where::Here(mark) = &self.place
            && let Some(observer) = &mark.observer
        {
            observer.host(&HostEvent::GroupAfter { group: group.id(), other: mark.place });
        }
    }

    /// When it was reached, on a clock that all markers of this process share.
    pub fn time(&self) -> Option<Duration> {
        match &self.place {
            Where::Here(mark) => mark.time.load(Ordering::Acquire).checked_sub(1).map(Duration::from_nanos),
            Where::Elsewhere(..) => None,
        }
    }
}

impl Mark {
    pub(super) fn new(stream: &Arc<Shared>, number: u64) -> Mark {
        Mark {
            stream: Arc::downgrade(stream),
            place: StreamPlace { stream: stream.id, number },
            observer: stream.engine.pool.observer().cloned(),
            time: AtomicU64::new(0),
        }
    }

    /// The calling thread has seen that it is reached.
    fn tell_waited(&self) {
        if let Some(observer) = &self.observer {
            observer.host(&HostEvent::Waited(self.place));
        }
    }

    pub(super) fn is_reached(&self) -> bool {
        self.time.load(Ordering::Acquire) != 0
    }

    pub(super) fn reach(&self) {
        self.time.store(epoch().elapsed().as_nanos() as u64 + 1, Ordering::Release);
    }
}
