//! Units that may be issued in any order, in a stretch for each worker. What a core has run of a grid it runs of the next grid as well, as long as all have as much to do: what that reads and writes
//! is in its own caches then, and not in another core's. Who has come to the end of its own takes from the ends of the others'.
//!
//! Stretches are parts of windows: a window is begun when all units of the one before are claimed. GPUs begin CTAs in ascending order, thousands at a time, and programs were tested so: one whose
//! CTAs read what those of the grid's row before have written, which nothing promises, is right there.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::CLAIMS;

/// Stretches at most; with more workers, some have one in common.
const MOST: usize = 7;
/// Units of a stretch at least.
const FEW: u64 = 8;
/// Units of a window; the last one has what is left.
const WINDOW: u64 = 8192;
/// Units at least that are claimed at once in others than the last one: nobody waits for the end of a window.
const SOME: u64 = WINDOW / 64;

/// None where units are issued in ascending order.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    /// What is left of each stretch in its window; behind the last one there is none.
    left: [AtomicU64; MOST],
    /// How many there are.
    count: u32,
    units: u32,
}

/// The units that a stretch holds: the first, and the one behind the last.
fn bounds(stretch: u64) -> Range<u64> {
    (stretch & u64::from(u32::MAX))..stretch >> 32
}

fn stretch(units: &Range<u64>) -> u64 {
    units.start | units.end << 32
}

fn length(units: &Range<u64>) -> u64 {
    units.end - units.start
}

impl Stretches {
    /// None if there are too few units, or too many.
    pub(super) fn new(units: u64, workers: u64) -> Stretches {
        let count = workers.min(MOST as u64).min(units / FEW) as u32;
        let mut out = Stretches::default();
        if count >= 2 && units < u64::from(u32::MAX) {
            (out.count, out.units) = (count, units as u32);
            for at in 0..count as usize {
                out.left[at] = AtomicU64::new(stretch(&out.from(at, 0)));
            }
        }
        out
    }

    /// Whether there are none.
    pub(super) fn are_none(&self) -> bool {
        self.count == 0
    }

    fn places(&self) -> &[AtomicU64] {
        &self.left[..self.count as usize]
    }

    fn units(&self) -> u64 {
        u64::from(self.units)
    }

    fn last_window(&self) -> u64 {
        (self.units() - 1) / WINDOW
    }

    /// The units of a window that belong to stretch `at`.
    fn part(&self, at: usize, window: u64) -> Range<u64> {
        let first = window * WINDOW;
        let (all, at, count) = (WINDOW.min(self.units() - first), at as u64, u64::from(self.count));
        first + all * at / count..first + all * (at + 1) / count
    }

    /// The units of a stretch in a window, or in the first one behind it in which it has some; else none, behind all units.
    fn from(&self, at: usize, window: u64) -> Range<u64> {
        let mut parts = (window..=self.last_window()).map(|window| self.part(at, window));
        parts.find(|part| !part.is_empty()).unwrap_or(self.units()..self.units())
    }

    /// Units that a stretch has in windows behind the one that it is in.
    fn behind(&self, at: usize, left: &Range<u64>) -> u64 {
        let (now, last) = (left.start / WINDOW, self.last_window());
        match last.saturating_sub(now) {
            0 => 0,
            windows => (windows - 1) * length(&self.part(at, now)) + length(&self.part(at, last)),
        }
    }

    fn all_left(&self, stretches: impl Iterator<Item = u64>) -> u64 {
        stretches.map(bounds).enumerate().map(|(at, left)| length(&left) + self.behind(at, &left)).sum()
    }

    /// Units that nobody has claimed.
    pub(super) fn left(&self) -> u64 {
        self.all_left(self.places().iter().map(|place| place.load(Ordering::SeqCst)))
    }

    /// The stretch that is in the earliest window, of several `own`, or the next one behind it; and what is left of it.
    fn earliest(&self, own: usize) -> Option<(usize, Range<u64>)> {
        let places = self.places();
        let left = (own..own + places.len()).map(|at| at % places.len());
        let mut left =
            left.map(|at| (at, bounds(places[at].load(Ordering::SeqCst)))).filter(|(_, left)| !left.is_empty());
        if self.last_window() == 0 { left.next() } else { left.min_by_key(|(_, left)| left.start / WINDOW) }
    }

    /// Claims `most` units at most: of the stretch of the core that this thread runs on, or from the end of another one if that is in an earlier window.
    pub(super) fn claim(&self, most: u64) -> Option<(u64, u64)> {
        let own = core() % self.places().len();
        loop {
            let (at, left) = self.earliest(own)?;
            let window = left.start / WINDOW;
            let least = if window == self.last_window() { 1 } else { SOME.min(length(&left)) };
            let some = (length(&left) / CLAIMS).max(least).min(most);
            let (claimed, rest) = if at == own {
                (left.start..left.start + some, left.start + some..left.end)
            } else {
                (left.end - some..left.end, left.start..left.end - some)
            };
            let rest = if rest.is_empty() { self.from(at, window + 1) } else { rest };
            let (before, after) = (stretch(&left), stretch(&rest));
            if self.left[at].compare_exchange(before, after, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return Some((claimed.start, claimed.end));
            }
        }
    }

    /// Takes all that is left, and says how much that was.
    pub(super) fn drain(&self) -> u64 {
        let none = stretch(&(self.units()..self.units()));
        self.all_left(self.places().iter().map(|place| place.swap(none, Ordering::SeqCst)))
    }
}

/// The core that this thread runs on now.
fn core() -> usize {
    // SAFETY: it takes nothing, and gives a number, or -1.
    #[cfg(target_os = "linux")]
    let core = unsafe { libc::sched_getcpu() };
    #[cfg(not(target_os = "linux"))]
    let core = 0;
    core.max(0) as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn all_units_are_claimed_once() {
        for (units, workers, most) in [
            (16, 2, 1),
            (17, 2, 1024),
            (1000, 3, 5),
            (100_000, 64, 1024),
            (56, 7, 2),
            (WINDOW + 1, 2, 64),
            (3 * WINDOW + 2, 7, 100),
        ] {
            let stretches = Stretches::new(units, workers);
            assert!(!stretches.are_none());
            assert_eq!(stretches.left(), units);
            let seen = Mutex::new(vec![0u8; units as usize]);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        while let Some((first, end)) = stretches.claim(most) {
                            assert!(first < end && end - first <= most);
                            let mut seen = seen.lock().expect("no panic");
                            seen[first as usize..end as usize].iter_mut().for_each(|unit| *unit += 1);
                        }
                    });
                }
            });
            assert!(seen.into_inner().expect("no panic").iter().all(|count| *count == 1));
            assert_eq!((stretches.left(), stretches.drain()), (0, 0));
        }
    }

    /// Whether a window is begun before all units of the one before are claimed.
    #[test]
    fn windows_follow_each_other() {
        let stretches = Stretches::new(20_000, 3);
        let mut seen = vec![false; 20_000];
        while let Some((first, end)) = stretches.claim(700) {
            seen[first as usize..end as usize].fill(true);
            let before = first / WINDOW * WINDOW;
            assert!(seen[..before as usize].iter().all(|unit| *unit), "{first}");
        }
        assert!(seen.iter().all(|unit| *unit));
    }

    #[test]
    fn what_is_drained_is_not_claimed() {
        let stretches = Stretches::new(100, 2);
        let (first, end) = stretches.claim(8).expect("units are left");
        assert_eq!(end - first, 8);
        assert_eq!(stretches.drain(), 92);
        assert_eq!(stretches.claim(8), None);
        assert!(!stretches.are_none());
    }

    #[test]
    fn few_units_and_one_worker_go_in_ascending_order() {
        assert!(Stretches::new(15, 2).are_none());
        assert!(Stretches::new(1000, 1).are_none());
        assert!(Stretches::new((1 << 32) - 1, 2).are_none());
    }
}
