//! Units that may be issued in any order, in a stretch for each worker. What a core has run of a grid it runs of the next grid as well, as long as all have as much to do: what that reads and writes
//! is in its own caches then, and not in another core's. Who has come to the end of its own takes from the ends of the others'.

use std::sync::atomic::{AtomicU64, Ordering};

use super::CLAIMS;

/// Stretches at most; with more workers, some have one in common.
const MOST: usize = 7;
/// Units of a stretch at least.
const FEW: u64 = 8;

/// None where units are issued in ascending order.
#[derive(Debug, Default)]
pub(super) struct Stretches([AtomicU64; MOST]);

/// The first unit that is left of a stretch, and the one behind the last.
fn bounds(stretch: u64) -> (u64, u64) {
    ((stretch & u64::from(u32::MAX)).saturating_sub(1), (stretch >> 32).saturating_sub(1))
}

/// Counted from 1, so that an empty one is not none.
fn stretch(first: u64, end: u64) -> u64 {
    (first + 1) | (end + 1) << 32
}

/// Units that are left of a stretch.
fn left(stretch: u64) -> u64 {
    let (first, end) = bounds(stretch);
    end - first
}

impl Stretches {
    /// None if there are too few units, or too many.
    pub(super) fn new(units: u64, workers: u64) -> Stretches {
        let out = Stretches::default();
        let count = workers.min(MOST as u64).min(units / FEW);
        if count < 2 || units >= u64::from(u32::MAX) {
            return out;
        }
        for (at, place) in (0..count).zip(&out.0) {
            place.store(stretch(units * at / count, units * (at + 1) / count), Ordering::Relaxed);
        }
        out
    }

    /// Whether there are none.
    pub(super) fn are_none(&self) -> bool {
        self.0[0].load(Ordering::Relaxed) == 0
    }

    fn places(&self) -> &[AtomicU64] {
        let count = self.0.iter().position(|place| place.load(Ordering::Relaxed) == 0).unwrap_or(MOST);
        &self.0[..count]
    }

    /// Units that nobody has claimed.
    pub(super) fn left(&self) -> u64 {
        self.0.iter().map(|place| left(place.load(Ordering::SeqCst))).sum()
    }

    /// Claims `most` units at most: of the stretch of the core that this thread runs on, or from the end of another one.
    pub(super) fn claim(&self, most: u64) -> Option<(u64, u64)> {
        let places = self.places();
        let own = core() % places.len();
        (own..own + places.len()).find_map(|at| {
            let of = |place: u64| {
                let (first, end) = bounds(place);
                let count = (left(place) / CLAIMS).clamp(1, most);
                match left(place) {
                    0 => None,
                    _ if at == own => Some((stretch(first + count, end), (first, first + count))),
                    _ => Some((stretch(first, end - count), (end - count, end))),
                }
            };
            let place = &places[at % places.len()];
            let before = place.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| Some(of(now)?.0)).ok()?;
            Some(of(before)?.1)
        })
    }

    /// Takes all that is left, and says how much that was.
    pub(super) fn drain(&self) -> u64 {
        self.places().iter().map(|place| left(place.swap(stretch(0, 0), Ordering::SeqCst))).sum()
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
        for (units, workers, most) in [(16, 2, 1), (17, 2, 1024), (1000, 3, 5), (100_000, 64, 1024), (56, 7, 2)] {
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
