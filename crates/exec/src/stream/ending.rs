//! The end of a context: its work ends, but for what waits for somebody outside who does not come.
//!
//! A wait for a value in memory, a semaphore or an event of another process may last for ever. The end of its context does not: once
//! nothing of the context goes on any more, and each of its waits has been looked at once more in vain, the waits are given up, and what
//! comes behind them is dropped, as it would work on what is not there.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::{Group, Shared, Stream};

/// How often the end of a context looks at what it waits for.
const LOOK: Duration = Duration::from_millis(1);

/// Counts the ends of contexts that have asked for one more look at waits.
static ROUND: AtomicU64 = AtomicU64::new(1);

/// What the streams of a context and those beside them share.
#[derive(Default)]
pub(super) struct Ending {
    given_up: AtomicBool,
    /// Groups of streams beside those of the context.
    beside: Mutex<Vec<Weak<Group>>>,
}

impl Ending {
    /// Whether waits are given up, and what has not begun is dropped.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::SeqCst)
    }

    pub(super) fn enter_beside(&self, group: &Arc<Group>) {
        let mut beside = self.beside();
        beside.retain(|group| group.strong_count() != 0);
        beside.push(Arc::downgrade(group));
    }

    fn beside(&self) -> MutexGuard<'_, Vec<Weak<Group>>> {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What holds a stream up that does nothing but wait.
#[derive(Default)]
pub(super) enum Held {
    /// It goes on, or has nothing to do.
    #[default]
    Not,
    /// Somebody outside.
    Outside,
    /// The operation of another stream with this number.
    By(Weak<Shared>, u64),
}

/// When a wait for somebody outside has been looked at in vain.
#[derive(Default)]
pub(super) struct Looks {
    /// The round in which the present look began.
    begun: AtomicU64,
    /// The round in which the last look in vain began.
    in_vain: AtomicU64,
}

impl Looks {
    /// A wait begins.
    pub(super) fn start(&self) {
        self.in_vain.store(0, Ordering::SeqCst);
        self.begun.store(ROUND.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    /// A look was in vain, and the next begins.
    fn next(&self) {
        let begun = self.begun.swap(ROUND.load(Ordering::SeqCst), Ordering::SeqCst);
        self.in_vain.store(begun, Ordering::SeqCst);
    }
}

impl Shared {
    /// Called behind a look at what it waits for that was in vain: whether to wait no longer. After a fault nobody comes.
    pub(super) fn gives_up(&self) -> bool {
        self.looks.next();
        self.engine.fault.get().is_some() || self.engine.pool.is_closed() || self.group.ending.is_given_up()
    }

    /// The stream whose wait for somebody outside holds this one up, itself or one that it waits for; None if it goes on or is idle.
    fn held_by(self: &Arc<Self>) -> Option<Arc<Shared>> {
        let mut stream = Arc::clone(self);
        loop {
            let next = match &stream.state().held {
                Held::Not => return None,
                Held::Outside => None,
                Held::By(other, number) => {
                    Some(other.upgrade().filter(|other| other.completed.load(Ordering::Acquire) < *number)?)
                }
            };
            match next {
                Some(next) => stream = next,
                None => return Some(stream),
            }
        }
    }

    /// Ends its wait for a stream that is not given up with it.
    fn leave_others(self: &Arc<Self>) {
        let held = match &self.state().held {
            Held::By(other, number) => other.upgrade().map(|other| (other, *number)),
            Held::Not | Held::Outside => None,
        };
        let Some((other, number)) = held.filter(|(other, _)| !other.is_beside(self)) else { return };
        let found = {
            let mut state = other.state();
            let is_it = |(waits_for, stream): &(u64, Arc<Shared>)| *waits_for == number && Arc::ptr_eq(stream, self);
            let place = state.waiters.iter().position(is_it);
            place.map(|place| state.waiters.swap_remove(place))
        };
        // Else the other one has got there, and ends the wait itself.
        if found.is_some() {
            super::drive(super::Step::Finish(Arc::clone(self)));
        }
    }

    /// Whether both end with the same context.
    pub(super) fn is_beside(&self, other: &Shared) -> bool {
        Arc::ptr_eq(&self.group.ending, &other.group.ending)
    }
}

impl Group {
    /// Waits until everything put into its streams has ended, and those beside them; what waits for somebody outside who does not come is
    /// given up. Nothing is put into them afterwards.
    pub fn end(&self) {
        loop {
            let busy = self.busy_and_beside();
            let Some(first) = busy.first() else { return };
            let engine = Arc::clone(&first.shared.engine);
            if let Some(stream) = busy.iter().find(|stream| stream.shared.held_by().is_none()) {
                let shared = &stream.shared;
                shared.wait(|| shared.is_idle() || shared.held_by().is_some(), Some(LOOK));
            } else if self.ending.is_given_up() {
                busy.iter().for_each(|stream| stream.shared.leave_others());
                nap(first);
            } else if nothing_comes(&busy) {
                self.ending.given_up.store(true, Ordering::SeqCst);
                let streams = if busy.len() == 1 {
                    "a stream of it waits".to_owned()
                } else {
                    format!("{} of its streams wait", busy.len())
                };
                engine.pool.report(&format!(
                    "a context ends while {streams} for a value in memory, a semaphore or another process that nothing of the context brings on: the \
                     waits are given up, and the work behind them is dropped"
                ));
            }
        }
    }

    fn busy_and_beside(&self) -> Vec<Stream> {
        let beside: Vec<Arc<Group>> = self.ending.beside().iter().filter_map(Weak::upgrade).collect();
        self.busy().into_iter().chain(beside.iter().flat_map(|group| group.busy())).collect()
    }
}

/// Lets the calling thread rest for a moment, or work where there are no workers.
fn nap(stream: &Stream) {
    if !stream.shared.engine.pool.stand_in() {
        std::thread::sleep(LOOK);
    }
}

/// Of streams that are all held up: whether nothing has moved in any of them until all that they wait for was looked at once more in vain.
fn nothing_comes(held: &[Stream]) -> bool {
    let completed = |stream: &Arc<Shared>| stream.completed.load(Ordering::SeqCst);
    let mut seen = Vec::new();
    for stream in held {
        let Some(outside) = stream.shared.held_by() else { return false };
        seen.push((Arc::clone(&stream.shared), completed(&stream.shared)));
        seen.push((Arc::clone(&outside), completed(&outside)));
    }
    let round = ROUND.fetch_add(1, Ordering::SeqCst) + 1;
    let has_moved = |(stream, before): &(Arc<Shared>, u64)| completed(stream) != *before || stream.held_by().is_none();
    let waits = |(stream, _): &(Arc<Shared>, u64)| {
        matches!(stream.state().held, Held::Outside) && stream.looks.in_vain.load(Ordering::SeqCst) < round
    };
    loop {
        if seen.iter().any(has_moved) {
            return false;
        }
        if !seen.iter().any(waits) {
            return !seen.iter().any(has_moved);
        }
        nap(&held[0]);
    }
}
