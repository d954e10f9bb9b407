//! What waits for a worker, in order: urgent entries before all others.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::attention::Watch;
use crate::interprocess::activity::DeviceActivity;
use crate::run::{Run, UNLISTED};

pub(crate) enum Entry {
    Grid(Arc<Run>),
    Task(Box<dyn FnOnce() + Send>),
    /// Looked at until it is true.
    Condition(Box<dyn FnMut() -> bool + Send>, Box<dyn FnOnce() + Send>),
}

/// The entries, and the grids in flight. Lives behind one lock.
pub(crate) struct Queue {
    urgent: VecDeque<Entry>,
    others: VecDeque<Entry>,
    /// Grids in flight, queued or not.
    runs: Vec<Arc<Run>>,
    pub(crate) shutdown: bool,
    activity: Option<DeviceActivity>,
}

impl Queue {
    /// An empty queue; other processes see in `activity` when grids are in flight.
    pub(crate) fn new(activity: Option<DeviceActivity>) -> Queue {
        Queue { urgent: VecDeque::new(), others: VecDeque::new(), runs: Vec::new(), shutdown: false, activity }
    }

    /// Adds an entry at the end.
    pub(crate) fn push(&mut self, entry: Entry, urgent: bool, watch: &Watch) {
        if let Entry::Grid(run) = &entry {
            run.grid.queued.store(true, Ordering::Release);
        }
        if urgent { &mut self.urgent } else { &mut self.others }.push_back(entry);
        self.count(watch);
    }

    /// Adds a grid that has work. One that was found to wait goes behind all others, so that an urgent grid does not keep out what it
    /// waits for.
    pub(crate) fn push_grid(&mut self, run: &Arc<Run>, watch: &Watch) {
        self.push(Entry::Grid(run.clone()), run.grid.urgent && !run.waits.load(Ordering::Relaxed), watch);
    }

    /// Takes the entry whose turn it is, of those that a worker may take; `None` for a thread that may take any.
    pub(crate) fn pop(&mut self, worker: Option<u32>, watch: &Watch) -> Option<Entry> {
        let entry = first_for(&mut self.urgent, worker).or_else(|| first_for(&mut self.others, worker))?;
        match &entry {
            // Back at once: others that wake for it find it there.
            Entry::Grid(run) if run.work_for_more(1) != 0 => self.push_grid(run, watch),
            Entry::Grid(run) => {
                // In this order, so that no grid takes its own entry for somebody else's.
                self.count(watch);
                run.grid.queued.store(false, Ordering::Release);
            }
            Entry::Task(_) | Entry::Condition(..) => self.count(watch),
        }
        Some(entry)
    }

    fn count(&self, watch: &Watch) {
        watch.set_waiting(self.urgent.len() + self.others.len(), self.urgent.len());
    }

    /// Enters a grid that starts.
    pub(crate) fn list(&mut self, run: &Arc<Run>) {
        run.listed.store(self.runs.len(), Ordering::Relaxed);
        if self.runs.is_empty()
            && let Some(activity) = &self.activity
        {
            activity.run();
        }
        self.runs.push(run.clone());
    }

    /// Forgets a grid that has ended. What the queue still holds of it goes too if it lies near the end, so that grids which threads of the
    /// program have run do not pile up there.
    pub(crate) fn unlist(&mut self, run: &Run, watch: &Watch) {
        /// How far from the end it may lie: the end of a grid starts what follows in its stream, which is in the queue by now.
        const NEAR: usize = 4;
        if run.grid.queued.load(Ordering::Relaxed) {
            let is_it = |entry: &Entry| matches!(entry, Entry::Grid(other) if std::ptr::eq(&**other, run));
            for entries in [&mut self.urgent, &mut self.others] {
                if let Some(behind) = entries.iter().rev().take(NEAR).position(is_it) {
                    entries.remove(entries.len() - 1 - behind);
                    run.grid.queued.store(false, Ordering::Release);
                }
            }
            self.count(watch);
        }
        let index = run.listed.swap(UNLISTED, Ordering::Relaxed);
        if index != UNLISTED {
            self.runs.swap_remove(index);
            if let Some(moved) = self.runs.get(index) {
                moved.listed.store(index, Ordering::Relaxed);
            }
            if self.runs.is_empty()
                && let Some(activity) = &self.activity
            {
                activity.rest();
            }
        }
    }

    /// Grids that were never entered have run for so long, all in all.
    pub(crate) fn note_brief(&self, time: Duration) {
        if self.runs.is_empty()
            && let Some(activity) = &self.activity
        {
            activity.ran(time);
        }
    }

    /// The grids in flight.
    pub(crate) fn runs(&self) -> &[Arc<Run>] {
        &self.runs
    }
}

fn first_for(entries: &mut VecDeque<Entry>, worker: Option<u32>) -> Option<Entry> {
    let may = |entry: &Entry| match (entry, worker) {
        (Entry::Grid(run), Some(worker)) => run.grid.launch.workers.contains(worker),
        _ => true,
    };
    let index = entries.iter().position(may)?;
    entries.remove(index)
}
