//! Launches, and those of them that the calling thread runs before it goes on (decision 30).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::drive::drive;
use super::{Shared, Step, Stream};
use crate::fault::Fault;
use crate::grid::Launch;
use crate::pool::{Brief, Unfinished};

/// How much later than a launch that has run a grid itself the program hears of its fault. On the recorded hardware a program calls nine functions more before it
/// does (`tests/c/answers`, `legacy_launch`); here it may lose its processor meanwhile.
const TOLD: Duration = Duration::from_millis(10);

impl Stream {
    /// Starts a kernel. If its grid is brief and nothing comes before it, it has ended when this comes back.
    pub fn launch(&self, launch: Launch) {
        // It is handed on from here to where it ends.
        let mut launch = Box::new(launch);
        self.await_peers();
        let brief = self.shared.engine.pool.is_brief(&mut launch);
        let Some(launch) = self.shared.line_up(launch) else { return };
        if let Some(launch) = if brief { self.shared.run_brief(launch) } else { Some(launch) } {
            drive(Step::Start(Arc::clone(&self.shared), launch.into()));
        }
    }
}

impl Shared {
    /// Runs a brief grid, the operation in flight. Gives it back where it is not to run, or not on this thread.
    fn run_brief(self: &Arc<Self>, launch: Box<Launch>) -> Option<Box<Launch>> {
        let engine = &self.engine;
        if engine.fault.get().is_some() || self.group.ending.is_given_up() {
            return Some(launch);
        }
        match engine.pool.run_brief(launch, self.urgent) {
            Ok(Brief::Ended) => {
                let mut next = VecDeque::new();
                self.finish(&mut next, false);
                while let Some(step) = next.pop_front() {
                    drive(step);
                }
            }
            Ok(Brief::Faulted(fault)) => self.tell_later(fault),
            Ok(Brief::Unfinished(unfinished)) => self.go_on_with(*unfinished),
            Err(launch) => return Some(launch),
        }
        None
    }

    #[cold]
    fn tell_later(self: &Arc<Self>, fault: Arc<Fault>) {
        let (told, stream) = (Instant::now() + TOLD, Arc::clone(self));
        let tell = move || stream.end_grid(Some(fault), None, None);
        self.engine.pool.when(Box::new(move || Instant::now() >= told), Box::new(tell));
    }

    /// The grid goes on as others do.
    #[cold]
    fn go_on_with(self: &Arc<Self>, Unfinished { mut grid, next, stopped }: Unfinished) {
        let (engine, stream) = (&self.engine, Arc::clone(self));
        let local = grid.launch.local.take();
        let done = Box::new(move |fault| stream.end_grid(fault, local, None));
        let grid = self.enter_grid(|| engine.pool.enter_begun(grid, next, engine.device, done));
        engine.pool.go_on_with(&grid, stopped);
    }
}
