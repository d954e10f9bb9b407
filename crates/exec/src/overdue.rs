//! Notices grids that do not end: for reports of those of which no CTA ends for long, and to end those that run too long.
//!
//! Nothing is noted while all goes well. Now and then a thread that runs the grid comes back from the executor and looks at two counters;
//! what they read the last time tells since when nothing has happened.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Looks in the time after which a grid is reported.
const LOOKS: u32 = 8;
/// How long after its limit a grid still has time to say where it is.
const GRACE: Duration = Duration::from_millis(20);

pub(crate) struct Overdue {
    /// When somebody first asked: no launch reads the time, and one that is over at once never does.
    started: OnceLock<Instant>,
    patience: Duration,
    limit: Option<Duration>,
    /// Microseconds after the start when somebody should look.
    next: AtomicU64,
    seen: Mutex<Seen>,
}

/// What the last look saw, and since when it has been so, after the start.
#[derive(Default)]
struct Seen {
    ended: (u64, Duration),
    moves: (u64, Duration),
    /// When it last waited for something that is not the kernel's.
    awaited: Duration,
    said: Option<Verdict>,
}

/// What is to be said about a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No CTA has ended for so long.
    Runs(Duration),
    /// Nothing but waiting has happened for so long.
    Stuck(Duration),
    /// No CTA has ended for so long, and what has not begun waits for something that is not the kernel's.
    Awaits(Duration),
    /// It has run for longer than it may.
    TooLong,
}

impl Overdue {
    /// For a grid that starts: reported after `patience`, ended after `limit`.
    pub(crate) fn new(patience: Duration, limit: Option<Duration>) -> Overdue {
        let overdue = Overdue {
            started: OnceLock::new(),
            patience,
            limit,
            next: AtomicU64::new(0),
            seen: Mutex::new(Seen::default()),
        };
        overdue.set_next(Duration::ZERO);
        overdue
    }

    fn set_next(&self, now: Duration) {
        let next = (now + self.patience / LOOKS).min(self.limit.unwrap_or(Duration::MAX));
        self.next.store(u64::try_from(next.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Whether somebody should look.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let elapsed = now.saturating_duration_since(self.started()).as_micros();
        elapsed >= u128::from(self.next.load(Ordering::Relaxed))
    }

    fn started(&self) -> Instant {
        *self.started.get_or_init(Instant::now)
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started().elapsed()
    }

    /// Whether the grid has had more time than it may, and some more to come back.
    pub(crate) fn is_lost(&self, now: Instant) -> bool {
        self.limit.is_some_and(|limit| now.saturating_duration_since(self.started()) >= limit.saturating_add(GRACE))
    }

    /// A look: `ended` counts CTAs that have ended, `moves` when others got on. None if there is nothing to say, or has been said.
    /// `awaits` says that what has not begun waits for something that is not the kernel's.
    pub(crate) fn look(&self, ended: u64, moves: u64, awaits: bool) -> Option<Verdict> {
        let mut seen = match self.seen.try_lock() {
            Ok(seen) => seen,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            // Another thread looks now.
            Err(TryLockError::WouldBlock) => return None,
        };
        let now = self.elapsed();
        if self.limit.is_some_and(|limit| now >= limit) {
            return Some(Verdict::TooLong);
        }
        self.set_next(now);
        let verdict = seen.judge(now, self.patience, (ended, moves, awaits))?;
        let rank = |verdict| match verdict {
            Verdict::Awaits(_) => 1,
            Verdict::Runs(_) => 2,
            Verdict::Stuck(_) | Verdict::TooLong => 3,
        };
        // Worse may still come, and is said then.
        if seen.said.is_some_and(|said| rank(said) >= rank(verdict)) {
            return None;
        }
        seen.said = Some(verdict);
        Some(verdict)
    }

    /// The look before a grid ends that has run too long: what was never said of it. Nobody may have looked between its patience and its
    /// limit, where the machine had no time for those who look.
    pub(crate) fn last_look(&self, ended: u64, moves: u64, awaits: bool) -> Option<Verdict> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.said.is_some() {
            return None;
        }
        seen.said = seen.judge(self.elapsed(), self.patience, (ended, moves, awaits));
        seen.said
    }
}

impl Seen {
    /// Notes what there is to see now, and tells what to think of it: nothing if something has happened within `patience`.
    fn judge(
        &mut self,
        now: Duration,
        patience: Duration,
        (ended, moves, awaits): (u64, u64, bool),
    ) -> Option<Verdict> {
        for (was, is) in [(&mut self.ended, ended), (&mut self.moves, moves)] {
            if was.0 != is {
                *was = (is, now);
            }
        }
        if awaits {
            self.awaited = now;
        }
        let since = if awaits { self.ended.1 } else { self.ended.1.max(self.awaited) };
        let quiet = now - since;
        // Looks come late by up to their distance: half the time is enough to tell what waits from what runs.
        let still = quiet.min(now - self.moves.1);
        match () {
            () if quiet < patience => None,
            () if awaits => Some(Verdict::Awaits(quiet)),
            () if still >= patience / 2 => Some(Verdict::Stuck(still)),
            () => Some(Verdict::Runs(quiet)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_that_only_waits_is_stuck_and_one_that_moves_runs() {
        let patience = Duration::from_millis(40);
        let [stuck, runs, awaits, ends] = [(); 4].map(|()| Overdue::new(patience, None));
        let mut said = [None; 4];
        let start = Instant::now();
        let mut count = 0;
        while start.elapsed() < 2 * patience {
            count += 1;
            let verdicts = [
                stuck.look(3, 5, false),
                runs.look(3, count, false),
                awaits.look(0, 0, true),
                ends.look(count, 0, false),
            ];
            for (said, verdict) in said.iter_mut().zip(verdicts) {
                assert!(said.is_none() || verdict.is_none(), "said twice");
                *said = said.or(verdict);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(matches!(said[0], Some(Verdict::Stuck(_))), "{said:?}");
        assert!(matches!(said[1], Some(Verdict::Runs(_))), "{said:?}");
        assert!(matches!(said[2], Some(Verdict::Awaits(_))), "{said:?}");
        assert_eq!(said[3], None);
        // What it waited for has come. Only if it does not get on all the same is there something to say.
        assert_eq!(awaits.look(0, 0, false), None);
        std::thread::sleep(patience);
        assert!(matches!(awaits.look(0, 0, false), Some(Verdict::Stuck(_))));
    }

    #[test]
    fn a_limit_ends_a_grid_that_gets_on() {
        let overdue = Overdue::new(Duration::from_secs(1000), Some(Duration::from_millis(5)));
        assert!(overdue.look(1, 1, false).is_none());
        std::thread::sleep(Duration::from_millis(6));
        assert!(overdue.is_due(Instant::now()));
        assert!(matches!(overdue.look(2, 2, false), Some(Verdict::TooLong)));
    }

    #[test]
    fn what_nobody_had_time_to_say_is_said_at_the_end() {
        let patience = Duration::from_millis(5);
        let [unseen, said, moved] =
            [10, 1_000_000, 10].map(|limit| Overdue::new(patience, Some(Duration::from_millis(limit))));
        assert!([&unseen, &said, &moved].into_iter().all(|overdue| overdue.look(0, 0, false).is_none()));
        std::thread::sleep(2 * patience);
        assert_eq!(unseen.look(0, 0, false), Some(Verdict::TooLong));
        assert!(matches!(unseen.last_look(0, 0, false), Some(Verdict::Stuck(_))));
        assert_eq!(unseen.last_look(0, 0, false), None, "said twice");
        assert!(matches!(said.look(0, 0, false), Some(Verdict::Stuck(_))));
        assert_eq!(said.last_look(0, 0, false), None, "said twice");
        assert_eq!(moved.last_look(1, 0, false), None, "a CTA has ended");
    }
}
