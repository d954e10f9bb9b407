//! Bulk copies and reductions (PTX ISA 9.7.9.25.4), and single stores and reductions that an mbarrier counts: `st.async` (9.7.9.12),
//! `red.async` (9.7.13.7), `st.bulk` (9.7.9.13).
//!
//! Like all asynchronous copies they are done when they are issued: bytes arrive, and then the mbarrier counts them.

use std::ops::Range;

use warploom_exec::address::{SHARED_PER_CTA, shared_address};
use warploom_exec::fault::{AccessFault, AccessKind, FaultKind, Refusal};
use warploom_exec::memory::Order;
use warploom_exec::observe::Scope;
use warploom_ptx::ir::{AtomicOp, ScalarType};

use crate::machine::{Flow, Machine, lanes};
use crate::mbarrier::Object;
use crate::memory::{Base, Slot, StateSpace};
use crate::ops::atomic::updated;
use crate::program::Inst;

/// What bulk copies move at a time, and what their addresses are multiples of.
const PIECE: u64 = 16;
/// The bits that say how many bytes of a piece need not be there.
const LEFT_OUT: u16 = 15;

/// A place in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) space: StateSpace,
    pub(crate) base: Base,
    pub(crate) offset: i64,
}

/// The operands of a bulk copy or reduction; numbers are rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkSite {
    pub(crate) reduce: Option<(AtomicOp, ScalarType)>,
    /// Of `.relaxed`.
    pub(crate) scope: Option<Scope>,
    pub(crate) to: At,
    pub(crate) from: At,
    /// 32-bit row of the bytes.
    pub(crate) size: u32,
    pub(crate) mbarrier: Option<At>,
    /// 32-bit row of the mask of CTAs that get a copy.
    pub(crate) multicast: Option<u32>,
    /// 32-bit row of the mask of bytes that are copied of each 16, to global memory.
    pub(crate) byte_mask: Option<u32>,
    /// 32-bit rows of the bytes at the beginning and at the end that are neither read nor written.
    pub(crate) left_out: [Option<u32>; 2],
}

/// The operands of `st.async` and `red.async`.
#[derive(Clone, Debug)]
pub(crate) struct RemoteSite {
    /// Of `red.async`.
    pub(crate) reduce: Option<AtomicOp>,
    pub(crate) ty: ScalarType,
    pub(crate) src: Vec<Slot>,
    pub(crate) to: At,
    pub(crate) mbarrier: At,
}

/// The operands of `clusterlaunchcontrol.try_cancel`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CancelSite {
    pub(crate) to: At,
    pub(crate) mbarrier: At,
}

/// Which bytes of a lane's bulk copy come, and where to.
#[derive(Clone, Copy)]
struct Masks {
    /// CTAs that get a copy.
    targets: Option<u16>,
    /// Bytes of each 16 that are copied.
    bytes: Option<u16>,
    /// Bytes at the beginning and at the end that do not.
    left_out: [usize; 2],
}

impl Masks {
    /// Of so many bytes those that are copied, but for [`Masks::bytes`].
    fn range(self, size: usize) -> Range<usize> {
        let [before, behind] = self.left_out;
        let end = size.saturating_sub(behind);
        before.min(end)..end
    }
}

/// `cp.async.bulk`, `cp.reduce.async.bulk`: site `imm`.
pub(crate) fn bulk(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let site = &function.bulk_copies[inst.imm as usize];
    let (to, from) = (machine.places(site.to), machine.places(site.from));
    let mbarriers = site.mbarrier.map(|at| machine.places(at));
    for lane in lanes(mask) {
        let size = u64::from(machine.frame.r32[site.size as usize][lane]);
        let mask_in = |row: Option<u32>| row.map(|row| machine.frame.r32[row as usize][lane] as u16);
        let left_out = site.left_out.map(|row| mask_in(row).map_or(0, |bytes| usize::from(bytes & LEFT_OUT)));
        let masks = Masks { targets: mask_in(site.multicast), bytes: mask_in(site.byte_mask), left_out };
        let object = mbarriers.map(|row| row[lane]);
        let copied = machine.bulk_copy(site, [to[lane], from[lane]], size, object, (lane, masks));
        if let Err(kind) = copied {
            return machine.fail(1 << lane, kind);
        }
    }
    machine.stores += 1;
    Flow::Next
}

/// `st.async`, `red.async`: site `imm`.
pub(crate) fn remote(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let site = &function.remotes[inst.imm as usize];
    let (to, mbarriers) = (machine.places(site.to), machine.places(site.mbarrier));
    for lane in lanes(mask) {
        let size = site.ty.bytes() as usize;
        if site.reduce.is_some() {
            machine.tell_async(AccessKind::Atomic, None, (site.to.space, to[lane]), size * site.src.len(), lane);
        } else if machine.cta.observer.is_some() {
            let value = |slot: &Slot| machine.lane(*slot, lane).to_le_bytes();
            let bytes: Vec<u8> = site.src.iter().flat_map(|slot| value(slot).into_iter().take(size)).collect();
            machine.tell_async_store(None, (site.to.space, to[lane]), &bytes, lane);
        }
        if let Err(kind) = machine.remote_one(site, to[lane], mbarriers[lane], lane) {
            return machine.fail(1 << lane, kind);
        }
    }
    machine.stores += 1;
    Flow::Next
}

/// `st.bulk` of zeros: place `imm`, bytes in the 64-bit row `a`.
pub(crate) fn clear(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let at = machine.function.cleared[inst.imm as usize];
    let places = machine.places(at);
    for lane in lanes(mask) {
        let size = machine.frame.r64[inst.a as usize][lane] as usize;
        machine.tell_clear(at.space, places[lane], size, lane);
        match machine.shared_bytes(at.space, places[lane], size, 8, AccessKind::Store) {
            Ok(bytes) => bytes.fill(0),
            Err(kind) => return machine.fail(1 << lane, kind),
        }
    }
    machine.stores += 1;
    Flow::Next
}

/// Bytes of the response to a cancellation.
const RESPONSE: usize = 16;

/// `clusterlaunchcontrol.try_cancel`: site `imm`, and `a` is 1 if all CTAs of the cluster get the response (PTX ISA 9.7.13.16). Every cluster of a grid counts as
/// started: the response, zeros, says so.
pub(crate) fn try_cancel(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let site = machine.function.cancels[inst.imm as usize];
    let (to, mbarriers) = (machine.places(site.to), machine.places(site.mbarrier));
    for lane in lanes(mask) {
        if let Err(kind) = machine.respond(site, [to[lane], mbarriers[lane]], inst.a == 1, lane) {
            return machine.fail(1 << lane, kind);
        }
    }
    machine.stores += 1;
    Flow::Next
}

/// That a global address is a multiple of `align`.
pub(crate) fn aligned(address: u64, align: u64, kind: AccessKind) -> Result<(), FaultKind> {
    if address.is_multiple_of(align) {
        return Ok(());
    }
    let refusal = Refusal::Misaligned;
    Err(FaultKind::Access(AccessFault { address, size: align, kind, refusal, lane: 0, nearest: None }))
}

impl Machine<'_> {
    pub(crate) fn places(&self, at: At) -> [u64; 32] {
        self.addresses(at.base, at.offset)
    }

    /// Some bytes of a lane's copy have come to the shared memory that an mbarrier lies in.
    pub(crate) fn count_bytes(&mut self, address: u64, bytes: u32, lane: usize) -> Result<(), FaultKind> {
        match self.mbarrier(StateSpace::Cluster, address) {
            Ok(object) => self.bytes_have_come(StateSpace::Cluster, address, object, (bytes, lane)),
            Err(FaultKind::CtaHasExited { .. }) => Ok(()),
            Err(kind) => Err(kind),
        }
    }

    fn bytes_have_come(
        &mut self,
        space: StateSpace,
        address: u64,
        mut object: Object,
        (bytes, lane): (u32, usize),
    ) -> Result<(), FaultKind> {
        self.tell_bytes(space, address, bytes, lane);
        object.complete_bytes(bytes);
        self.set_mbarrier(space, address, object)
    }

    /// The addresses in the shared memory of the CTAs of a mask that are as far from their starts as `address` is.
    pub(crate) fn in_each(targets: u16, address: u64) -> impl Iterator<Item = u64> {
        let offset = (address & (SHARED_PER_CTA - 1)) as u32;
        (0..u16::BITS).filter(move |rank| targets >> rank & 1 != 0).map(move |rank| shared_address(rank, offset).into())
    }

    fn bulk_copy(
        &mut self,
        site: &BulkSite,
        [to, from]: [u64; 2],
        size: u64,
        mbarrier: Option<u64>,
        (lane, masks): (usize, Masks),
    ) -> Result<(), FaultKind> {
        // Of a size that is no multiple of 16 what is beyond one is left, as recorded.
        let size = size & !(PIECE - 1);
        let mut bytes = vec![0; size as usize];
        let range = masks.range(bytes.len());
        let start = range.start as u64;
        self.tell_async(AccessKind::Load, site.scope, (site.from.space, from + start), range.len(), lane);
        if site.from.space == StateSpace::Global {
            aligned(from, PIECE, AccessKind::Load)?;
            let read = self.view.read_bytes(from + start, &mut bytes[range.clone()]);
            read.map_err(|fault| FaultKind::Access(*fault))?;
        } else {
            let space = site.from.space;
            bytes.copy_from_slice(self.shared_bytes(space, from, size as usize, PIECE, AccessKind::Load)?);
        }
        let stores = |machine: &mut Self, space: StateSpace, address: u64, bytes: &[u8]| match site.reduce {
            Some(_) => machine.tell_async(AccessKind::Atomic, site.scope, (space, address), bytes.len(), lane),
            None => machine.tell_async_store(site.scope, (space, address), bytes, lane),
        };
        match (masks.targets, masks.bytes) {
            (Some(targets), _) => {
                Self::in_each(targets, to).for_each(|address| stores(self, StateSpace::Cluster, address, &bytes));
            }
            (None, Some(mask)) => {
                masked(bytes.len(), mask).for_each(|at| stores(self, site.to.space, to + at as u64, &bytes[at..=at]))
            }
            (None, None) => stores(self, site.to.space, to + start, &bytes[range.clone()]),
        }
        if site.to.space == StateSpace::Global {
            aligned(to, PIECE, AccessKind::Store)?;
            return match site.reduce {
                None if masks.bytes.is_some() => self.write_masked(to, &bytes, masks.bytes.unwrap_or_default()),
                None => self.view.write_bytes(to, &bytes).map_err(|fault| FaultKind::Access(*fault)),
                Some((op, ty)) => self.reduce_global((op, ty, false), to, &bytes),
            };
        }
        match masks.targets {
            None => self.arrive_in(site, to, (&bytes, range), (mbarrier, lane)),
            Some(targets) => Self::in_each(targets, to).try_for_each(|address| {
                let object =
                    mbarrier.and_then(|mbarrier| Self::in_each(1 << (address / SHARED_PER_CTA), mbarrier).next());
                self.arrive_in(site, address, (&bytes, range.clone()), (object, lane))
            }),
        }
    }

    fn respond(
        &mut self,
        site: CancelSite,
        [to, mbarrier]: [u64; 2],
        everywhere: bool,
        lane: usize,
    ) -> Result<(), FaultKind> {
        self.tell_async_store(None, (site.to.space, to), &[0; RESPONSE], lane);
        let bytes = self.shared_bytes(site.to.space, to, RESPONSE, PIECE, AccessKind::Store)?;
        bytes.fill(0);
        if !everywhere {
            let object = self.mbarrier(site.mbarrier.space, mbarrier)?;
            return self.bytes_have_come(site.mbarrier.space, mbarrier, object, (RESPONSE as u32, lane));
        }
        let ranks = self.cta.cluster.as_ref().map_or(1, |cluster| cluster.size());
        for rank in 0..ranks {
            let in_rank = |address: u64| Self::in_each(1 << rank, address).next().unwrap_or(address);
            self.tell_async_store(None, (StateSpace::Cluster, in_rank(to)), &[0; RESPONSE], lane);
            match self.shared_bytes(StateSpace::Cluster, in_rank(to), RESPONSE, PIECE, AccessKind::Store) {
                Ok(bytes) => bytes.fill(0),
                Err(FaultKind::CtaHasExited { .. }) => continue,
                Err(kind) => return Err(kind),
            }
            self.count_bytes(in_rank(mbarrier), RESPONSE as u32, lane)?;
        }
        Ok(())
    }

    /// Of each 16 bytes those that the mask has, as `.cp_mask`: the others stay what they are.
    fn write_masked(&mut self, to: u64, bytes: &[u8], mask: u16) -> Result<(), FaultKind> {
        for at in masked(bytes.len(), mask) {
            let written = self.view.write_bytes(to + at as u64, &bytes[at..=at]);
            written.map_err(|fault| FaultKind::Access(*fault))?;
        }
        Ok(())
    }

    /// A range of the bytes of a lane's bulk copy come to a CTA's shared memory, whose mbarrier counts all.
    fn arrive_in(
        &mut self,
        site: &BulkSite,
        to: u64,
        (bytes, range): (&[u8], Range<usize>),
        (mbarrier, lane): (Option<u64>, usize),
    ) -> Result<(), FaultKind> {
        match self.shared_bytes(StateSpace::Cluster, to, bytes.len(), PIECE, AccessKind::Store) {
            Ok(place) => match site.reduce {
                None => place[range.clone()].copy_from_slice(&bytes[range]),
                Some((op, ty)) => reduce_shared(op, ty, place, bytes),
            },
            Err(FaultKind::CtaHasExited { .. }) => return Ok(()),
            Err(kind) => return Err(kind),
        }
        mbarrier.map_or(Ok(()), |address| self.count_bytes(address, bytes.len() as u32, lane))
    }

    /// Each element an atomic operation of its own, ordered with nothing. Sums of `.f32` keep subnormal numbers, as those of one element by `red` do not, unless they are
    /// of a tensor whose map `flushes` them (recorded on an H200).
    pub(crate) fn reduce_global(
        &mut self,
        (op, ty, flushes): (AtomicOp, ScalarType, bool),
        to: u64,
        bytes: &[u8],
    ) -> Result<(), FaultKind> {
        let size = ty.bytes() as usize;
        for (element, address) in bytes.chunks_exact(size).zip((to..).step_by(size)) {
            self.update_global((op, ty, flushes), Order::Relaxed, address, number(element), 0)
                .map_err(|fault| FaultKind::Access(*fault))?;
        }
        Ok(())
    }

    fn remote_one(&mut self, site: &RemoteSite, to: u64, mbarrier: u64, lane: usize) -> Result<(), FaultKind> {
        let size = site.ty.bytes() as usize;
        let len = size * site.src.len();
        let mut values = [0; 32];
        for (value, slot) in values.chunks_exact_mut(size).zip(&site.src) {
            value.copy_from_slice(&self.lane(*slot, lane).to_le_bytes()[..size]);
        }
        match self.shared_bytes(site.to.space, to, len, len as u64, AccessKind::Store) {
            Ok(place) => match site.reduce {
                None => place.copy_from_slice(&values[..len]),
                Some(op) => reduce_shared(op, site.ty, place, &values[..len]),
            },
            Err(FaultKind::CtaHasExited { .. }) => return Ok(()),
            Err(kind) => return Err(kind),
        }
        self.count_bytes(mbarrier, len as u32, lane)
    }
}

/// Which of so many bytes a mask has, which says it of each 16.
fn masked(len: usize, mask: u16) -> impl Iterator<Item = usize> {
    (0..len).filter(move |at| mask >> (at % PIECE as usize) & 1 != 0)
}

/// An element's bits.
fn number(element: &[u8]) -> u128 {
    element.iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte))
}

/// Each element of shared memory becomes what the operation makes of it and of the one that comes.
fn reduce_shared(op: AtomicOp, ty: ScalarType, place: &mut [u8], bytes: &[u8]) {
    let size = ty.bytes() as usize;
    for (old, new) in place.chunks_exact_mut(size).zip(bytes.chunks_exact(size)) {
        let value = updated(op, ty, false, number(old), number(new), 0);
        old.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}
