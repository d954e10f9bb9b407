//! What starts and finishes operations, on whatever thread something has ended.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use super::{Shared, Step};

/// The thread that starts an operation.
#[derive(Clone, Copy)]
pub(super) struct Starter {
    /// It has nothing else to start.
    pub(super) alone: bool,
    /// Nor anything else to do: a worker is free next.
    pub(super) returns: bool,
}

/// Streams whose operation is to be finished; none outside of calls of [`drive`].
type Later = RefCell<Option<Vec<Arc<Shared>>>>;

thread_local! {
    /// Those that the call of [`drive`] is to finish that the thread is in. Without a destructor, as destructors of the program's own objects launch when a thread
    /// ends, behind ours: outside of calls there is nothing to drop.
    static LATER: ManuallyDrop<Later> = const { ManuallyDrop::new(RefCell::new(None)) };
}

fn with_later<T>(use_later: impl FnOnce(&mut Option<Vec<Arc<Shared>>>) -> T) -> T {
    LATER.with(|later| use_later(&mut later.borrow_mut()))
}

/// Finishes the operation of a stream. Where grids have launched others in a long row, each finishes the one before: not inside of each
/// other's calls.
pub(super) fn finish_of_family(stream: Arc<Shared>) {
    let left = with_later(|later| match later {
        Some(later) => {
            later.push(stream);
            None
        }
        None => Some(stream),
    });
    if let Some(stream) = left {
        drive(Step::Finish(stream));
    }
}

/// The outermost call of [`drive`] of a thread.
struct Outermost;

impl Outermost {
    fn enter() -> Option<Outermost> {
        with_later(|later| {
            let first = later.is_none();
            first.then(|| *later = Some(Vec::new()))
        })?;
        Some(Outermost)
    }

    fn next(&self) -> Option<Step> {
        with_later(|later| later.as_mut()?.pop()).map(Step::Finish)
    }
}

impl Drop for Outermost {
    fn drop(&mut self) {
        // Dropped when nobody borrows it: what ends then may come here.
        drop(with_later(Option::take));
    }
}

/// Starts and finishes operations until nothing can be started any more, in the order in which they became ready: those who wait for
/// a stream start before what follows in it.
pub(super) fn drive(first: Step) {
    let outermost = Outermost::enter();
    // What has ended here was all that the thread had to do.
    let returns = matches!(first, Step::Finish(_)) && outermost.is_some();
    let mut steps = VecDeque::new();
    let mut step = Some(first);
    while let Some(present) = step {
        match present {
            Step::Start(stream, operation) => {
                let alone = steps.is_empty();
                if stream.start(operation, Starter { alone, returns: alone && returns }) {
                    stream.finish(&mut steps, returns);
                }
            }
            Step::Finish(stream) => stream.finish(&mut steps, returns),
        }
        step = steps.pop_front().or_else(|| outermost.as_ref()?.next());
    }
}
