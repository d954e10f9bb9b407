//! What threads of a CTA find together at a barrier (`barrier.red`, PTX ISA 9.7.13.1): it hangs on the predicates of all of them, unless one of them
//! decides it alone.

use super::registers::{Origin, Undefined};

/// A phase of a barrier to which predicates were given.
struct Phase {
    /// The CTA's rank in its cluster, the barrier and its phase.
    key: (u32, u32, u64),
    /// Threads that have given theirs and have not got the result.
    threads: u32,
    /// Where one comes from that nobody has written.
    undefined: Option<Origin>,
    /// Whether one is false, and whether one is true, that somebody has written.
    written: [bool; 2],
}

/// Those that threads wait for.
#[derive(Default)]
pub(super) struct Votes(Vec<Phase>);

impl Votes {
    /// Lanes of a mask give predicates that hold in some of them, of which nobody has written what `undefined` says.
    pub(super) fn give(&mut self, key: (u32, u32, u64), mask: u32, holds: u32, undefined: Option<&Undefined>) {
        let index = self.0.iter().position(|phase| phase.key == key).unwrap_or_else(|| {
            self.0.push(Phase { key, threads: 0, undefined: None, written: [false; 2] });
            self.0.len() - 1
        });
        let phase = &mut self.0[index];
        let written = mask & !undefined.map_or(0, |undefined| undefined.lanes);
        phase.threads += mask.count_ones();
        phase.undefined = phase.undefined.or(undefined.map(|undefined| undefined.origin));
        phase.written[0] |= written & !holds != 0;
        phase.written[1] |= written & holds != 0;
    }

    /// What lanes get of which nobody has written something; `decided` is the predicate that says alone what it is.
    pub(super) fn get(&mut self, key: (u32, u32, u64), mask: u32, decided: Option<bool>) -> Option<Undefined> {
        let index = self.0.iter().position(|phase| phase.key == key)?;
        let phase = &mut self.0[index];
        phase.threads -= mask.count_ones();
        let open = !decided.is_some_and(|holds| phase.written[usize::from(holds)]);
        let undefined = phase.undefined.filter(|_| open).map(|origin| Undefined::whole(mask, origin));
        if phase.threads == 0 {
            self.0.swap_remove(index);
        }
        undefined
    }
}
