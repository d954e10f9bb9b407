//! What calls have returned so far, by type: the handles and addresses that later calls are given, dead ones included.

use std::collections::HashMap;

use fastrand::Rng;

/// Handles and addresses by the name of their type.
#[derive(Default)]
pub(crate) struct Pool {
    known: HashMap<&'static str, Vec<u64>>,
}

impl Pool {
    /// Remembers a value that a call returned.
    pub(crate) fn add(&mut self, kind: &'static str, value: u64) {
        let known = self.known.entry(kind).or_default();
        if value != 0 && !known.contains(&value) {
            known.push(value);
        }
    }

    /// All of a kind, oldest first.
    pub(crate) fn all(&self, kind: &str) -> &[u64] {
        self.known.get(kind).map_or(&[], Vec::as_slice)
    }

    /// One of a kind, young ones more often: they are more often alive.
    pub(crate) fn one(&self, kind: &str, rng: &mut Rng) -> Option<u64> {
        let known = self.all(kind);
        let reach = if rng.u8(..4) == 0 { known.len() } else { known.len().min(6) };
        (reach > 0).then(|| known[known.len() - 1 - rng.usize(..reach)])
    }

    /// One of any other kind.
    pub(crate) fn foreign(&self, kind: &str, rng: &mut Rng) -> Option<u64> {
        // In the order of their names: that of the table is another one in each process.
        let mut kinds: Vec<&str> = self.known.keys().copied().filter(|other| *other != kind).collect();
        kinds.sort_unstable();
        self.one(rng.choice(kinds)?, rng)
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
    }
}
