//! What a store puts into memory: whether it is what stands there, and whether the lanes that write to one place agree.
//!
//! Nothing is looked up before a store is in a race with another one, or comes behind one of its own grid that not all know of.

use std::cell::OnceCell;

use warploom_exec::fault::AccessKind;
use warploom_exec::observe::{Access as Told, At, Proxy, Space, Stored};

use super::note::Conflict;
use super::pieces::lanes;

/// Bytes that are compared at once.
const PART: usize = 16;

/// A store that is told of.
pub(super) struct Store<'a> {
    pub(super) told: &'a Told<'a>,
    mask: u32,
    changes: OnceCell<bool>,
    agrees: OnceCell<bool>,
}

/// What a place holds, as somebody knows it who is asked for a lane, a byte of its part and the address.
pub(super) type Standing<'s> = dyn FnMut(u32, u32, u64) -> Option<u8> + 's;

impl<'a> Store<'a> {
    pub(super) fn new(at: &At, told: &'a Told<'a>) -> Store<'a> {
        Store { told, mask: at.mask, changes: OnceCell::new(), agrees: OnceCell::new() }
    }

    /// Who knows the values. Of asynchronous stores to global memory nobody tells when they are there.
    fn values(&self) -> Option<&'a dyn Stored> {
        let known = self.told.kind == AccessKind::Store
            && (self.told.space == Space::Shared || self.told.proxy == Proxy::Generic);
        self.told.stored.filter(|_| known)
    }

    fn lanes(&self) -> impl Iterator<Item = u32> + use<> {
        lanes(self.mask)
    }

    /// The parts of what a lane stores.
    fn parts(&self) -> impl Iterator<Item = (u32, usize)> + use<> {
        let bytes = self.told.bytes as usize;
        (0..bytes).step_by(PART).map(move |from| (from as u32, PART.min(bytes - from)))
    }

    /// Whether some lane puts other bytes than stand there, or it is not known.
    pub(super) fn changes(&self) -> bool {
        let same = |values: &dyn Stored, lane: u32| {
            self.parts().all(|(from, len)| {
                let (mut put, mut stands) = ([0; PART], [0; PART]);
                let known = values.put(lane, from, &mut put[..len]) && values.stands(lane, from, &mut stands[..len]);
                known && put == stands
            })
        };
        let found = || self.values().is_none_or(|values| !self.lanes().all(|lane| same(values, lane)));
        *self.changes.get_or_init(found)
    }

    /// Whether the lanes that write from the same address on put the same there.
    pub(super) fn agrees(&self) -> bool {
        let same = |values: &dyn Stored, lane: u32, other: u32| {
            self.parts().all(|(from, len)| {
                let mut put = [[0; PART]; 2];
                values.put(lane, from, &mut put[0][..len])
                    && values.put(other, from, &mut put[1][..len])
                    && put[0] == put[1]
            })
        };
        let found = || {
            let Some(values) = self.values() else { return false };
            let first = |lane: u32| {
                let address = self.told.addresses[lane as usize];
                self.lanes().find(|&other| self.told.addresses[other as usize] == address)
            };
            self.lanes().all(|lane| first(lane).is_none_or(|other| other == lane || same(values, lane, other)))
        };
        *self.agrees.get_or_init(found)
    }

    /// Whether all bytes that a store has in common with the one before it are the same. `standing`: what that has put there.
    pub(super) fn is_same(&self, conflict: &Conflict, standing: &mut Standing<'_>) -> bool {
        let Some(values) = self.values() else { return false };
        let both = conflict.note.bytes & conflict.bytes;
        let mut lanes = self.lanes().filter(|lane| conflict.later >> lane & 1 != 0);
        lanes.all(|lane| {
            (0..4).filter(|byte| both >> byte & 1 != 0).all(|byte| {
                let address = conflict.address + byte;
                let from = address.wrapping_sub(self.told.addresses[lane as usize]);
                if from >= self.told.bytes.into() {
                    return true;
                }
                let mut put = [0];
                values.put(lane, from as u32, &mut put) && standing(lane, from as u32, address) == Some(put[0])
            })
        })
    }

    /// What stands in memory.
    pub(super) fn standing(&self, lane: u32, from: u32) -> Option<u8> {
        let mut byte = [0];
        self.values()?.stands(lane, from, &mut byte).then_some(byte[0])
    }

    /// What each lane puts where.
    pub(super) fn put(&self) -> Vec<(u64, Vec<u8>)> {
        let Some(values) = self.values() else { return Vec::new() };
        let of = |lane: u32| {
            let mut bytes = vec![0; self.told.bytes as usize];
            values.put(lane, 0, &mut bytes).then(|| (self.told.addresses[lane as usize], bytes))
        };
        self.lanes().filter_map(of).collect()
    }
}
