//! What a store that an observer is told of puts into memory, and what stands there: looked up where the observer asks.

use std::cell::RefCell;

use warploom_exec::fault::AccessKind;
use warploom_exec::observe::{At, CtaObserver, Proxy, Space, Stored};

use super::{AccessSite, classes, plain};
use crate::frame::{Row32, Row64};
use crate::machine::Machine;
use crate::memory::StateSpace;

/// Puts down what a lane stores, from a byte of its part on. False where that is not known.
pub(crate) type Values<'v> = &'v dyn Fn(&mut Machine<'_>, u32, u32, &mut [u8]) -> bool;

/// A store by the machine that tells of it.
pub(super) struct Pending<'p, 'm> {
    machine: RefCell<&'p mut Machine<'m>>,
    space: Space,
    addresses: &'p Row64,
    values: Values<'p>,
}

impl<'p, 'm> Pending<'p, 'm> {
    pub(super) fn new(
        machine: &'p mut Machine<'m>,
        (space, addresses): (Space, &'p Row64),
        values: Values<'p>,
    ) -> Pending<'p, 'm> {
        Pending { machine: RefCell::new(machine), space, addresses, values }
    }
}

impl Stored for Pending<'_, '_> {
    fn put(&self, lane: u32, from: u32, out: &mut [u8]) -> bool {
        (self.values)(&mut self.machine.borrow_mut(), lane, from, out)
    }

    fn stands(&self, lane: u32, from: u32, out: &mut [u8]) -> bool {
        let space = match self.space {
            Space::Global => StateSpace::Global,
            // Of any CTA of the cluster, as observers are told.
            Space::Shared => StateSpace::Cluster,
            Space::Local | Space::Param => return false,
        };
        let machine = &mut **self.machine.borrow_mut();
        let start = self.addresses[lane as usize].wrapping_add(from.into());
        let size = out.len() as u64;
        if size <= 16 && size.is_power_of_two() && start.is_multiple_of(size) {
            let Ok(value) = machine.load(space, start, size as u32, lane as usize) else { return false };
            out.copy_from_slice(&value.to_le_bytes()[..out.len()]);
            return true;
        }
        out.iter_mut().zip(start..).all(|(byte, address)| {
            let value = machine.load(space, address, 1, lane as usize);
            value.map(|value| *byte = value as u8).is_ok()
        })
    }
}

/// What lies in the registers of a store.
pub(super) fn in_slots(site: &AccessSite) -> impl Fn(&mut Machine<'_>, u32, u32, &mut [u8]) -> bool + '_ {
    |machine, lane, from, out| {
        let size = site.bytes / site.stored.len().max(1) as u32;
        out.iter_mut().zip(from..).all(|(byte, at)| match site.stored.get((at / size.max(1)) as usize) {
            Some(slot) => {
                *byte = (machine.lane(*slot, lane as usize) >> (8 * (at % size))) as u8;
                true
            }
            None => false,
        })
    }
}

impl Machine<'_> {
    pub(super) fn tell_tiles(&mut self, observer: &mut dyn CtaObserver, at: &At, index: usize, kind: AccessKind) {
        let tiles = &self.function.tiles[index];
        let addresses = self.addresses(tiles.base, tiles.offset);
        let site = plain(kind, tiles.space, 16, 16);
        // Eight rows to a tile, each the address of a lane.
        let mask = u32::MAX >> (32 - 8 * tiles.rows.len().clamp(1, 4));
        let row = |machine: &mut Machine<'_>, lane: u32, from: u32, out: &mut [u8]| {
            let row = tiles.stored_row(&machine.frame.r32, lane as usize);
            row.is_some_and(|row| element_bytes(&row, from, out))
        };
        let values = (kind == AccessKind::Store).then_some(&row as Values<'_>);
        let at = At { mask, ..*at };
        self.tell_lanes(&at, &site, &addresses, values, &mut |at, access| observer.access(at, access));
    }

    pub(super) fn tell_runs(&mut self, observer: &mut dyn CtaObserver, at: &At, index: usize, kind: AccessKind) {
        let runs = &self.function.fragments[index];
        let start = self.addresses(runs.base, runs.offset)[0];
        let stride = u64::from(self.frame.r32[runs.stride as usize][0]) * u64::from(runs.bits) / 8;
        let addresses = std::array::from_fn(|run| start.wrapping_add(run as u64 * stride));
        let site = plain(kind, runs.space, runs.run_bytes as u32, runs.align as u32);
        // All lanes access all runs together: each is put down to one of them.
        let mask = u32::MAX >> (32 - runs.runs.clamp(1, 32));
        let run = |machine: &mut Machine<'_>, lane: u32, from: u32, out: &mut [u8]| {
            let matrix = machine.fragment_matrix(runs);
            let start = lane as usize * runs.run_bytes;
            matrix.bytes().get(start..start + runs.run_bytes).is_some_and(|bytes| element_bytes(bytes, from, out))
        };
        let values = (kind == AccessKind::Store).then_some(&run as Values<'_>);
        let at = At { mask, ..*at };
        self.tell_lanes(&at, &site, &addresses, values, &mut |at, access| observer.access(at, access));
    }

    pub(super) fn tell_copy(&mut self, observer: &mut dyn CtaObserver, at: &At, index: usize) {
        let copy = &self.function.copies[index];
        let (to, from) = (self.addresses(copy.to.0, copy.to.1), self.addresses(copy.from.0, copy.from.1));
        let ignored = copy.ignores.map_or(0, |operand| self.predicate(operand));
        let whole = [copy.size; 32];
        let read = copy.read.map_or(&whole, |row| &self.frame.r32[row as usize]);
        let read: Row32 =
            std::array::from_fn(|lane| if ignored >> lane & 1 != 0 { 0 } else { read[lane].min(copy.size) });
        let told = |access: AccessSite| AccessSite { proxy: Proxy::Copy, ..access };
        for (mask, bytes) in classes(at.mask, &read).filter(|(_, bytes)| *bytes != 0) {
            let site = told(plain(AccessKind::Load, StateSpace::Global, bytes, copy.size));
            self.tell_lanes(&At { mask, ..*at }, &site, &from, None, &mut |at, access| observer.access(at, access));
        }
        let site = told(plain(AccessKind::Store, StateSpace::Shared, copy.size, copy.size));
        // What is not read is filled with zeros (PTX ISA 9.7.9.25.3.1).
        let copied = |machine: &mut Machine<'_>, lane: u32, start: u32, out: &mut [u8]| {
            let lane = lane as usize;
            out.fill(0);
            let there = read[lane].saturating_sub(start).min(out.len() as u32) as usize;
            let start = from[lane].wrapping_add(start.into());
            machine.view.read_bytes(start, &mut out[..there]).is_ok()
        };
        self.tell_lanes(at, &site, &to, Some(&copied), &mut |at, access| observer.access(at, access));
    }
}

/// A part of bytes. False if they have no such part.
pub(super) fn element_bytes(bytes: &[u8], from: u32, out: &mut [u8]) -> bool {
    let from = from as usize;
    bytes.get(from..from + out.len()).map(|part| out.copy_from_slice(part)).is_some()
}
