//! What is said of a grid: its fault, that it is stuck or still runs, and what its CTAs do.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Parked, Run, guard};
use crate::fault::{Cause, Fault, FaultKind, SiteInfo, Trap};
use crate::grid::Grid;
use crate::kernel::Cta;
use crate::overdue::Verdict;

/// Where the thread is that reports.
#[derive(Clone, Copy)]
pub(crate) enum Seen<'a> {
    /// Between CTAs.
    Nowhere,
    /// It has just come back from this one.
    Left(&'a Cta),
    /// In the middle of the one with this id, in code that does not note where it is.
    Inside([u32; 3]),
}

/// The report of a trap of the unit that starts with `cta`.
pub(crate) fn fault_of(grid: &Grid, trap: Trap, cta: [u32; 3]) -> Fault {
    let kernel = &*grid.launch.kernel;
    // What an executor says about its code may be as wrong as the code.
    let info = trap.site.map_or_else(SiteInfo::default, |site| guard(|| kernel.site(site)).unwrap_or_default());
    let kind = match (trap.cause, info.access) {
        (Cause::Known(kind), _) => kind,
        (Cause::Access(address), Some((kind, size))) => match grid.memory().explain(address, size, kind) {
            Some(access) => FaultKind::Access(*access),
            None => {
                FaultKind::Internal(format!("a {kind} of {size} bytes at {address:#x} was refused that is allowed"))
            }
        },
        (Cause::Access(address), None) => {
            FaultKind::Internal(format!("an access of {address:#x} by an instruction that accesses nothing"))
        }
    };
    let fault = Fault::new(kind, kernel.name());
    Fault { cta: Some(trap.cta.unwrap_or(cta)), thread: trap.thread, place: info.place, ..fault }
}

/// The report of a defect of a grid's executor, in the unit that starts with `cta`.
pub(crate) fn defect_of(grid: &Grid, cta: [u32; 3], what: String) -> Fault {
    let fault = Fault::new(FaultKind::Internal(what), grid.launch.kernel.name());
    Fault { cta: Some(cta), ..fault }
}

impl Run {
    /// Ends the grid because of a defect of its executor.
    pub(super) fn fail_at(&self, cta: [u32; 3], what: String) {
        self.cancel(Some(Arc::new(defect_of(&self.grid, cta, what))));
    }

    /// Ends the grid because it has run too long.
    pub(super) fn time_out(&self, seen: Seen<'_>) {
        let (ended, moves, awaited) = self.seen();
        if let Some(verdict) = self.grid.overdue.last_look(ended, moves, awaited.is_some()) {
            self.say(verdict, awaited, seen);
        }
        let after_ms = self.grid.overdue.elapsed().as_millis() as u64;
        let mut state = self.describe(seen);
        if let Some(what) = awaited {
            let _ = write!(state, "\n  those that have not begun wait for {what}");
        }
        let kind = FaultKind::LaunchTimeout { after_ms, state };
        self.cancel(Some(Arc::new(Fault::new(kind, self.grid.launch.kernel.name()))));
    }

    /// When it is time to: says what is to be said about a grid that does not end, and ends it if it has run too long.
    pub(crate) fn attend(&self, seen: Seen<'_>) {
        if !self.grid.overdue.is_due(Instant::now()) {
            return;
        }
        if let Seen::Inside(_) = seen {
            // What waits for others is never left in the middle.
            self.counts.moves.fetch_add(1, Ordering::Relaxed);
        }
        let (ended, moves, awaited) = self.seen();
        match self.grid.overdue.look(ended, moves, awaited.is_some()) {
            None => {}
            Some(Verdict::TooLong) => self.time_out(seen),
            Some(verdict) => self.say(verdict, awaited, seen),
        }
    }

    /// How many CTAs have ended, how often others got on, and what those wait for that have not begun.
    fn seen(&self) -> (u64, u64, Option<&'static str>) {
        let [ended, moves] = [&self.counts.finished, &self.counts.moves].map(|count| count.load(Ordering::Relaxed));
        (ended, moves, self.grid.launch.kernel.awaits(&self.grid))
    }

    /// Tells people about a grid that does not end.
    fn say(&self, verdict: Verdict, awaited: Option<&str>, seen: Seen<'_>) {
        let (name, state) = (self.grid.launch.kernel.name(), self.describe(seen));
        let seconds = |time: Duration| (time.as_secs_f64() * 10.0).round() / 10.0;
        let text = match verdict {
            Verdict::Awaits(time) => {
                let (time, what) = (seconds(time), awaited.unwrap_or_default());
                format!("kernel {name} waits for {what}: no CTA has ended for {time} s; {state}")
            }
            Verdict::Stuck(time) => {
                format!("kernel {name} is stuck: all that is left has waited for {} s; {state}", seconds(time))
            }
            Verdict::Runs(time) => {
                format!("kernel {name} is still running: no CTA has ended for {} s; {state}", seconds(time))
            }
            Verdict::TooLong => return,
        };
        (self.report)(&text);
    }

    /// What the unfinished CTAs do, as far as they are known: for reports.
    fn describe(&self, seen: Seen<'_>) -> String {
        const SHOWN: usize = 4;
        let kernel = &self.grid.launch.kernel;
        let mut text = format!("{} of {} CTAs have ended", self.counts.finished.load(Ordering::Relaxed), self.units);
        if let Seen::Inside([x, y, z]) = seen {
            let _ = write!(text, "\n  CTA ({x}, {y}, {z})\n    runs compiled code");
        }
        let parked = self.parked();
        let begun = parked.iter().filter_map(|work| match work {
            Parked::Cta(cta) => Some(cta),
            Parked::Units(..) => None,
        });
        let left = if let Seen::Left(cta) = seen { Some(cta) } else { None };
        let all: Vec<&Cta> = left.into_iter().chain(begun).collect();
        for cta in all.iter().take(SHOWN) {
            let [x, y, z] = cta.id;
            let _ = write!(text, "\n  CTA ({x}, {y}, {z})");
            let state = guard(|| kernel.describe(cta));
            for line in state.unwrap_or_else(|panic| panic).lines() {
                let _ = write!(text, "\n    {line}");
            }
        }
        if all.len() > SHOWN {
            let _ = write!(text, "\n  and {} more that have begun", all.len() - SHOWN);
        }
        text
    }
}
