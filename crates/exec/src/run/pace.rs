//! How much a thread claims at once, and when it looks again at what waits.

use std::time::{Duration, Instant};

use super::LARGEST_CLAIM;

/// How long a claim should take: long enough that the counters which workers share do not matter, and so short that nobody waits long at the
/// end of the grid for a worker that had the longest units, or whose core was taken away.
const SHORT_CLAIM: Duration = Duration::from_micros(50);
const LONG_CLAIM: Duration = Duration::from_micros(150);

/// When CTAs that got nowhere should be asked again.
#[derive(Clone, Copy, Default)]
pub(super) enum Wakes {
    /// None was asked.
    #[default]
    Nobody,
    /// All of them sleep, the first one until then.
    At(Instant),
    /// One waits for what may happen any time.
    AtOnce,
}

impl Wakes {
    /// With one more that sleeps.
    pub(super) fn or(self, until: Instant) -> Wakes {
        match self {
            Wakes::Nobody => Wakes::At(until),
            Wakes::At(other) => Wakes::At(other.min(until)),
            Wakes::AtOnce => Wakes::AtOnce,
        }
    }

    pub(super) fn time(self) -> Option<Instant> {
        match self {
            Wakes::At(until) => Some(until),
            Wakes::Nobody | Wakes::AtOnce => None,
        }
    }
}

/// How many units a thread claims at once.
pub(super) struct Pace {
    pub(super) most: u64,
    /// When the last claim ended.
    last: Option<Instant>,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { most: 1, last: None }
    }
}

impl Pace {
    /// A claim of `count` units is done with: `at_once` if none of them waits. Where some do, smaller claims have more threads work for those that are
    /// waited for.
    pub(super) fn note(&mut self, count: u64, at_once: bool) {
        let now = Instant::now();
        if let Some(took) = self.last.replace(now).map(|last| now.duration_since(last)) {
            if took > LONG_CLAIM || !at_once {
                self.most = (count / 2).max(1);
            } else if took < SHORT_CLAIM && count == self.most {
                self.most = (2 * count).min(LARGEST_CLAIM);
            }
        }
    }
}
