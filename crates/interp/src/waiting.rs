//! Telling a warp that waits from one that works.
//!
//! A thread that waits for another one looks at memory again and again: with volatile or relaxed loads, or with atomics that leave
//! memory as it is (`atom.add` of 0, a `cas` that fails). Such an access is a *poll* if it finds the same values at the same addresses
//! as when its instruction last ran; nothing else is, however often it runs. A warp that polls and changes nothing gives way to others,
//! and one whose registers come back the same as well cannot go on by itself.

use crate::frame::Row64;
use crate::machine::{Machine, lanes};
use crate::warp::{Group, Wait, Warp};

/// Polls without anything new after which a warp gives way to the others of its CTA.
pub(crate) const POLLS: u32 = 32;

/// Accesses that a warp remembers: loops that wait look at a few places, each group of lanes for itself.
const REMEMBERED: usize = 64;

/// An access with which a thread may wait: the index of its site in the function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look {
    /// A volatile, relaxed or acquiring load.
    Load(u32),
    /// An atomic.
    Atomic(u32),
    /// A test of an mbarrier.
    Mbarrier(u32),
}

/// What an access met when it last ran.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    access: u64,
    values: u64,
}

/// What a warp has seen while it may be waiting.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    seen: Vec<Seen>,
    /// Where the next access goes that is not known yet.
    next: usize,
    /// Something was new in this time slice.
    moved: bool,
    /// Lanes, places and registers of the warp when it last gave way for its polls.
    state: Option<u64>,
}

/// What a time slice of a warp came to; later ones hide earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// It waits: as long as nobody else changes memory it will do the same again.
    Waited,
    /// It polls, and counts or sleeps meanwhile: nothing that others would see.
    Lingered,
    /// It got on.
    Progressed,
}

impl Watch {
    /// Forgets what another CTA has left.
    pub(crate) fn start(&mut self) {
        self.seen.clear();
        self.next = 0;
        self.moved = false;
        self.state = None;
    }

    /// Whether the warp had only polled when it last gave way.
    pub(crate) fn waits(&self) -> bool {
        self.state.is_some()
    }

    /// Notes what an access met; whether it met the same the last time.
    fn repeats(&mut self, access: u64, values: u64) -> bool {
        if let Some(seen) = self.seen.iter_mut().find(|seen| seen.access == access) {
            return std::mem::replace(&mut seen.values, values) == values;
        }
        let seen = Seen { access, values };
        if self.seen.len() < REMEMBERED {
            self.seen.push(seen);
        } else {
            self.seen[self.next % REMEMBERED] = seen;
            self.next += 1;
        }
        false
    }
}

/// Mixes `value` into a hash. Not for keys that an attacker chooses: who deceives it only slows a kernel down.
#[inline(always)]
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The hash of some rows of registers.
pub(crate) fn fingerprint(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, mix)
}

impl Machine<'_> {
    /// Notes an access that left memory as it was and found `values` at `addresses`.
    pub(crate) fn note_look(&mut self, look: Look, mask: u32, addresses: &Row64, values: &Row64) {
        let site = match look {
            Look::Load(access) => u64::from(access) << 2,
            Look::Atomic(site) => u64::from(site) << 2 | 1,
            Look::Mbarrier(site) => u64::from(site) << 2 | 2,
        };
        let access = mix(mix(site, u64::from(mask)), std::ptr::from_ref(self.function) as u64);
        let found = lanes(mask).fold(0, |hash, lane| mix(mix(hash, addresses[lane]), values[lane]));
        let repeated = self.warp.watch.repeats(access, found);
        self.looks += 1;
        if repeated && self.stores == 0 {
            self.polls += 1;
        } else {
            self.polls = 0;
            self.stores = 0;
            self.warp.watch.moved = true;
        }
    }

    /// Whether the warp has done nothing but poll for some time.
    #[inline(always)]
    pub(crate) fn only_polls(&self) -> bool {
        self.polls >= POLLS && self.stores == 0
    }

    /// What the time slice that ends came to.
    pub(crate) fn outcome(&mut self) -> Outcome {
        let moved = std::mem::take(&mut self.warp.watch.moved);
        if moved || self.polls == 0 || self.stores != 0 {
            self.warp.watch.state = None;
            return Outcome::Progressed;
        }
        let state = Some(state(&self.warp));
        if std::mem::replace(&mut self.warp.watch.state, state) == state { Outcome::Waited } else { Outcome::Lingered }
    }
}

/// The hash of all that decides what the warp does next, but for memory.
fn state(warp: &Warp) -> u64 {
    let of_group = |group: &Group| {
        let wait = match group.wait {
            Wait::Ready => 0,
            Wait::Sleep { .. } => 1,
            Wait::Rendezvous { .. } => 2,
            Wait::Barrier { .. } => 3,
            Wait::Warpgroup { .. } => 4,
            Wait::Cluster { .. } => 5,
        };
        let registers = match (&warp.activations[group.activation as usize].frame, wait) {
            (Some(frame), 0 | 1) => frame.fingerprint(),
            _ => 0,
        };
        fingerprint([group.activation.into(), group.pc.into(), group.mask.into(), wait, registers].into_iter())
    };
    // Turns change the order of the groups.
    warp.groups.iter().map(of_group).fold(0, u64::wrapping_add)
}
