//! Copies of parts of tensors (PTX ISA 5.5, 9.7.9.25.5) and changes of tensor maps (9.7.9.26, 9.7.9.27).
//!
//! A part is a list of *rows*: runs of elements of the first dimension. In shared memory they lie one behind the other; in the tensor each has
//! a place, or lies outside. `parts` makes the list, for boxes and for columns of images; here they are copied, and counted.

use std::ops::Range;

use warploom_exec::address::SHARED_PER_CTA;
use warploom_exec::fault::{AccessKind, FaultKind};
use warploom_exec::tensor_map::{ElementType, MOST_DIMENSIONS, Part, TENSOR_MAP_BYTES, TensorMap};
use warploom_ptx::ir::{AtomicOp, ScalarType, TensormapField};

use crate::machine::{Flow, Machine, lanes};
use crate::memory::{Slot, StateSpace};
use crate::ops::bulk::{At, aligned};
use crate::ops::parts::{Row, in_pieces, rows};
use crate::program::Inst;

/// What the addresses of tensor copies in shared memory are multiples of.
const SHARED_ALIGN: u64 = 128;
/// What the address of a map is a multiple of.
const MAP_ALIGN: u64 = 64;
/// Elements outside of a tensor that are filled with not-a-number read as these 16 bits over and over, whatever their type (recorded).
const NAN: [u8; 2] = 0x7ff7_u16.to_le_bytes();

/// The operands of a tensor copy.
#[derive(Clone, Debug)]
pub(crate) struct TensorSite {
    pub(crate) transfer: Transfer,
    pub(crate) im2col: bool,
    /// Coordinates are those of the first dimension, and of four rows.
    pub(crate) rows_apart: bool,
    pub(crate) map: At,
    /// 32-bit rows.
    pub(crate) coordinates: Vec<u32>,
    /// 32-bit rows.
    pub(crate) offsets: Vec<u32>,
}

/// Which way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Transfer {
    /// To shared memory; `multicast` is the 32-bit row of the mask of CTAs.
    Load { to: At, mbarrier: At, multicast: Option<u32> },
    /// From shared memory.
    Store { reduce: Option<AtomicOp>, from: At },
}

/// A change of a tensor map.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MapChange {
    /// `tensormap.replace`
    Replace { field: TensormapField, ordinal: u32, map: At, value: Slot },
    /// `tensormap.cp_fenceproxy`
    Copy { to: At, from: At },
}

/// `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`: site `imm`.
pub(crate) fn tensor(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let function = machine.function;
    let site = &function.tensors[inst.imm as usize];
    for lane in lanes(mask) {
        if let Err(kind) = machine.tensor_copy(site, lane) {
            return machine.fail(1 << lane, kind);
        }
    }
    machine.stores += 1;
    Flow::Next
}

/// `tensormap.*`: change `imm`. The lanes of a warp that copy a map do it together.
pub(crate) fn change_map(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let change = machine.function.map_changes[inst.imm as usize];
    for lane in lanes(mask) {
        let done = match change {
            MapChange::Copy { to, from } => machine.copy_map(machine.places(to)[lane], machine.places(from)[lane]),
            MapChange::Replace { field, ordinal, map, value } => {
                let value = machine.lane(value, lane) as u64;
                machine.replace_in_map(field, ordinal as usize, (map.space, machine.places(map)[lane]), value)
            }
        };
        if let Err(kind) = done {
            return machine.fail(1 << lane, kind);
        }
    }
    machine.stores += 1;
    Flow::Next
}

/// That a place in shared memory is one for tensors.
fn check_target(address: u64) -> Result<(), FaultKind> {
    match address.is_multiple_of(SHARED_ALIGN) {
        true => Ok(()),
        false => Err(FaultKind::MisalignedInSpace { space: ".shared", address, size: SHARED_ALIGN }),
    }
}

fn illegal(why: impl Into<String>) -> FaultKind {
    FaultKind::IllegalInstruction(why.into())
}

impl Machine<'_> {
    /// The bytes of a tensor map, wherever it is.
    fn map_bytes(&mut self, space: StateSpace, address: u64, lane: usize) -> Result<[u8; TENSOR_MAP_BYTES], FaultKind> {
        aligned(address, MAP_ALIGN, AccessKind::Load)?;
        let mut bytes = [0; TENSOR_MAP_BYTES];
        for (part, place) in bytes.chunks_exact_mut(16).zip((address..).step_by(16)) {
            part.copy_from_slice(&self.load(space, place, 16, lane)?.to_le_bytes());
        }
        Ok(bytes)
    }

    fn copy_map(&mut self, to: u64, from: u64) -> Result<(), FaultKind> {
        aligned(to, MAP_ALIGN, AccessKind::Store)?;
        let mut bytes = [0; TENSOR_MAP_BYTES];
        let source = self.shared_bytes(StateSpace::Shared, from, TENSOR_MAP_BYTES, MAP_ALIGN, AccessKind::Load)?;
        bytes.copy_from_slice(source);
        self.view.write_bytes(to, &bytes).map_err(|fault| FaultKind::Access(*fault))
    }

    fn replace_in_map(
        &mut self,
        field: TensormapField,
        ordinal: usize,
        (space, address): (StateSpace, u64),
        value: u64,
    ) -> Result<(), FaultKind> {
        let bytes = self.map_bytes(space, address, 0)?;
        // One that was never made is filled field by field.
        let mut map = TensorMap::from_bytes(&bytes).unwrap_or_default();
        replace(&mut map, field, ordinal, value).ok_or_else(|| {
            illegal(format!("{value:#x} is no value of field .{field} of a tensor map of rank {}", map.rank))
        })?;
        for (part, place) in map.to_bytes().chunks_exact(16).zip((address..).step_by(16)) {
            let value = part.iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte));
            self.store(space, place, 16, 0, value)?;
        }
        Ok(())
    }

    fn tensor_copy(&mut self, site: &TensorSite, lane: usize) -> Result<(), FaultKind> {
        let address = self.places(site.map)[lane];
        let bytes = self.map_bytes(site.map.space, address, lane)?;
        let map = TensorMap::from_bytes(&bytes).ok_or_else(|| illegal(format!("{address:#x} is no tensor map")))?;
        let dimensions = if site.rows_apart { 2 } else { site.coordinates.len() };
        if usize::from(map.rank) != dimensions {
            let rank = map.rank;
            return Err(illegal(format!("a copy in {dimensions} dimensions of a tensor of {rank}")));
        }
        if matches!(map.part, Part::Columns { .. }) != site.im2col {
            return Err(illegal("the tensor map is for the other one of tile and im2col mode"));
        }
        let mut start = [0; MOST_DIMENSIONS];
        for (at, row) in start.iter_mut().zip(&site.coordinates) {
            *at = i64::from(self.frame.r32[*row as usize][lane] as i32);
        }
        let mut offsets = [0; MOST_DIMENSIONS];
        for (offset, row) in offsets.iter_mut().zip(&site.offsets) {
            *offset = i64::from(self.frame.r32[*row as usize][lane] as u16);
        }
        if start[0] * i64::from(map.unit()) % 16 != 0 {
            return Err(illegal(format!("coordinate {} is at no multiple of 16 bytes", start[0])));
        }
        if !is_in_frame(&map, &start) {
            return Err(illegal(format!("coordinates {start:?} outside of the frame that pixels are in")));
        }
        let rows = if site.rows_apart {
            let row = |&index: &i64| rows(&map, [start[0], index, 0, 0, 0], offsets).into_iter().next();
            start[1..].iter().filter_map(row).collect()
        } else {
            rows(&map, start, offsets)
        };
        let rows = if let Transfer::Store { .. } = site.transfer { in_pieces(&map, rows) } else { rows };
        self.tell_tensor(site, &map, &rows, lane);
        match site.transfer {
            Transfer::Load { to, mbarrier, multicast } => {
                let (to_at, object) = (self.places(to)[lane], self.places(mbarrier)[lane]);
                match multicast.map(|row| self.frame.r32[row as usize][lane] as u16) {
                    None => self.load_part(&map, &rows, (to.space, to_at), (object, lane)),
                    Some(targets) => Self::in_each(targets, to_at).try_for_each(|address| {
                        let object = Self::in_each(1 << (address / SHARED_PER_CTA), object).next().unwrap_or(object);
                        self.load_part(&map, &rows, (StateSpace::Cluster, address), (object, lane))
                    }),
                }
            }
            Transfer::Store { reduce, from } => {
                if start[..site.coordinates.len()].iter().any(|&at| at < 0) {
                    return Err(illegal(format!("coordinates {start:?} before the start of a tensor that is written")));
                }
                if site.im2col && !has_no_frame(&map) {
                    return Err(illegal("a tensor map with corners for a copy to the tensor"));
                }
                let from = self.places(from)[lane];
                self.store_part(&map, &rows, from, reduce)
            }
        }
    }

    /// Tells an observer what a copy of these rows accesses.
    fn tell_tensor(&mut self, site: &TensorSite, map: &TensorMap, rows: &[Row], lane: usize) {
        if self.cta.observer.is_none() {
            return;
        }
        let unit = map.unit() as usize;
        let (shared, targets, kinds) = match site.transfer {
            Transfer::Load { to, multicast, .. } => {
                let targets = multicast.map(|row| self.frame.r32[row as usize][lane] as u16);
                (to, targets, [AccessKind::Load, AccessKind::Store])
            }
            Transfer::Store { reduce: None, from } => (from, None, [AccessKind::Store, AccessKind::Load]),
            Transfer::Store { reduce: Some(_), from } => (from, None, [AccessKind::Atomic, AccessKind::Load]),
        };
        for (address, inside) in rows.iter().filter_map(|row| row.inside.as_ref()) {
            self.tell_async(kinds[0], None, (StateSpace::Global, *address), inside.len() * unit, lane);
        }
        let start = self.places(shared)[lane];
        let bytes: usize = rows.iter().map(|row| row.len * unit).sum();
        match targets {
            Some(targets) => Self::in_each(targets, start)
                .for_each(|address| self.tell_async(kinds[1], None, (StateSpace::Cluster, address), bytes, lane)),
            None => self.tell_async(kinds[1], None, (shared.space, start), bytes, lane),
        }
    }

    fn load_part(
        &mut self,
        map: &TensorMap,
        rows: &[Row],
        (space, to): (StateSpace, u64),
        (mbarrier, lane): (u64, usize),
    ) -> Result<(), FaultKind> {
        check_target(to)?;
        let unit = map.unit() as usize;
        let mut line = Vec::new();
        let mut count = 0;
        for (row, place) in rows.iter().zip((to..).step_by(pitch(map, rows))) {
            line.clear();
            line.resize(row.len * unit, 0);
            if map.nan {
                line.chunks_exact_mut(NAN.len()).for_each(|half| half.copy_from_slice(&NAN));
            }
            if let Some((address, inside)) = &row.inside {
                let bytes = &mut line[inside.start * unit..inside.end * unit];
                self.view.read_bytes(*address, bytes).map_err(|fault| FaultKind::Access(*fault))?;
                if matches!(map.ty, ElementType::Tf32 | ElementType::Tf32Ftz) {
                    bytes.chunks_exact_mut(4).for_each(round_to_tf32);
                }
            }
            count += line.len() as u32;
            for (piece, at) in pieces(map, place, line.len()) {
                match self.shared_bytes(space, at, piece.len(), 1, AccessKind::Store) {
                    Ok(bytes) => bytes.copy_from_slice(&line[piece]),
                    Err(FaultKind::CtaHasExited { .. }) => return Ok(()),
                    Err(kind) => return Err(kind),
                }
            }
        }
        self.count_bytes(mbarrier, count, lane)
    }

    fn store_part(
        &mut self,
        map: &TensorMap,
        rows: &[Row],
        from: u64,
        reduce: Option<AtomicOp>,
    ) -> Result<(), FaultKind> {
        check_target(from)?;
        let unit = map.unit() as usize;
        let reduce = match reduce {
            Some(op) => Some((op, reduced(op, map.ty).ok_or_else(|| illegal(format!("{op} of {:?}", map.ty)))?)),
            None => None,
        };
        let flushes = matches!(map.ty, ElementType::F32Ftz | ElementType::Tf32Ftz);
        let mut line = Vec::new();
        for (row, place) in rows.iter().zip((from..).step_by(pitch(map, rows))) {
            line.clear();
            line.resize(row.len * unit, 0);
            for (piece, at) in pieces(map, place, line.len()) {
                let bytes = self.shared_bytes(StateSpace::Shared, at, piece.len(), 1, AccessKind::Load)?;
                line[piece].copy_from_slice(bytes);
            }
            let Some((address, inside)) = &row.inside else { continue };
            let bytes = &line[inside.start * unit..inside.end * unit];
            match reduce {
                None => self.view.write_bytes(*address, bytes).map_err(|fault| FaultKind::Access(*fault))?,
                Some((op, ty)) => self.reduce_global((op, ty, flushes), *address, bytes)?,
            }
        }
        Ok(())
    }
}

/// Bytes from one row in shared memory to the next: those of a span, where pieces change places in spans.
fn pitch(map: &TensorMap, rows: &[Row]) -> usize {
    let len = rows.first().map_or(0, |row| row.len) * map.unit() as usize;
    match map.span() as usize {
        span if span > 0 && map.interleave == 0 => span,
        _ => len.max(1),
    }
}

/// The pieces of a row of `len` bytes at `place`, and where each lies: within 128 bytes times the pieces of a span, some bits of the number of a
/// piece are changed by those of the number of its 128 bytes (PTX ISA 5.5.6).
fn pieces(map: &TensorMap, place: u64, len: usize) -> impl Iterator<Item = (Range<usize>, u64)> {
    let span = u64::from(map.span());
    let size = if span == 0 { len.max(1) } else { 16 };
    (0..len).step_by(size).map(move |start| {
        let at = place + start as u64;
        let changed = if span == 0 { 0 } else { (at >> 7 & (span / 16 - 1)) << 4 };
        (start..(start + size).min(len), at ^ changed)
    })
}

/// To 10 bits behind the point, to the nearest and the even one; every not-a-number becomes one (recorded).
fn round_to_tf32(element: &mut [u8]) {
    let bits = element.iter().rev().fold(0, |bits, &byte| bits << 8 | u32::from(byte));
    let rounded = match bits & 0x7fff_ffff {
        0x7f80_0001.. => 0x7fff_e000,
        _ => (bits + 0xfff + (bits >> 13 & 1)) & !0x1fff,
    };
    element.copy_from_slice(&rounded.to_le_bytes());
}

/// The type in which a reduction of a tensor is done; none if it cannot be (recorded).
fn reduced(op: AtomicOp, ty: ElementType) -> Option<ScalarType> {
    use AtomicOp::{Add, And, Dec, Inc, Max, Min, Or, Xor};
    use ElementType as E;
    Some(match (ty, op) {
        (E::U32, Add | Min | Max | Inc | Dec | And | Or | Xor) => ScalarType::U32,
        (E::S32, Add | Min | Max | And | Or | Xor) => ScalarType::S32,
        (E::U64, Add | Min | Max | And | Or | Xor) => ScalarType::U64,
        (E::S64, Min | Max) => ScalarType::S64,
        (E::F16, Add | Min | Max) => ScalarType::F16,
        (E::Bf16, Add | Min | Max) => ScalarType::Bf16,
        (E::F32 | E::F32Ftz | E::Tf32 | E::Tf32Ftz, Add) => ScalarType::F32,
        (E::F64, Add) => ScalarType::F64,
        _ => return None,
    })
}

/// Whether a copy of columns begins at a pixel of the frame (recorded).
fn is_in_frame(map: &TensorMap, start: &[i64; MOST_DIMENSIONS]) -> bool {
    let Part::Columns { lower, upper, .. } = map.part else { return true };
    map.spatial().zip(lower.iter().zip(&upper)).all(|(axis, (lower, upper))| {
        (i64::from(*lower)..=i64::from(map.last[axis]) + i64::from(*upper)).contains(&start[axis])
    })
}

fn has_no_frame(map: &TensorMap) -> bool {
    matches!(map.part, Part::Columns { lower, upper, .. } if lower.iter().chain(&upper).all(|&corner| corner == 0))
}

/// The numbers of element types in a map's field, which are not those of the driver (PTX ISA 9.7.9.26).
const FIELD_TYPES: [ElementType; 13] = {
    use ElementType::*;
    [U8, U16, U32, S32, U64, S64, F16, F32, F32Ftz, F64, Bf16, Tf32, Tf32Ftz]
};

/// Puts a value into a field; none if it cannot be one.
fn replace(map: &mut TensorMap, field: TensormapField, ordinal: usize, value: u64) -> Option<()> {
    use TensormapField as F;
    match field {
        F::GlobalAddress => map.address = value,
        F::Rank => map.rank = u8::try_from(value).ok().filter(|rank| usize::from(*rank) < MOST_DIMENSIONS)? + 1,
        F::BoxDim => {
            let Part::Box(extents) = &mut map.part else { return None };
            *extents.get_mut(ordinal)? = u16::try_from(value).ok().filter(|extent| (1..=256).contains(extent))?;
        }
        F::GlobalDim => *map.last.get_mut(ordinal)? = (value as u32).wrapping_sub(1),
        F::GlobalStride => *map.strides.get_mut(ordinal)? = value,
        F::ElementStride => {
            *map.steps.get_mut(ordinal)? = u8::try_from(value).ok().filter(|step| (1..=8).contains(step))?;
        }
        F::Elemtype => map.ty = *FIELD_TYPES.get(value as usize)?,
        F::InterleaveLayout => map.interleave = u8::try_from(value).ok().filter(|value| *value <= 2)?,
        F::SwizzleMode => map.swizzle = u8::try_from(value).ok().filter(|value| *value <= 3)?,
        // There is one here, that of 16 bytes.
        F::SwizzleAtomicity => (value == 0).then_some(())?,
        F::FillMode => map.nan = value == 1,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{pieces, round_to_tf32};
    use warploom_exec::tensor_map::TensorMap;

    #[test]
    fn pieces_change_places_in_their_span() {
        let order = |swizzle, place, len| -> Vec<u64> {
            pieces(&TensorMap { swizzle, ..TensorMap::default() }, place, len).map(|(_, at)| at / 16).collect()
        };
        assert_eq!(order(0, 128, 64), [8]);
        assert_eq!(order(3, 0, 128), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(order(3, 128, 128), [9, 8, 11, 10, 13, 12, 15, 14]);
        assert_eq!(order(2, 256, 64), [18, 19, 16, 17]);
        assert_eq!(order(1, 128, 32), [9, 8]);
    }

    #[test]
    fn tf32_is_rounded_to_even_as_recorded() {
        let recorded = [
            (0x3f80_0001, 0x3f80_0000),
            (0x3f80_1000, 0x3f80_0000),
            (0x3f80_3000, 0x3f80_4000),
            (0x7f7f_ffff, 0x7f80_0000),
            (0x7f80_0001, 0x7fff_e000),
            (0xffc1_2345, 0x7fff_e000),
            (0x8000_1fff, 0x8000_2000_u32),
            (0xff80_0000, 0xff80_0000),
        ];
        for (before, after) in recorded {
            let mut element = u32::to_le_bytes(before);
            round_to_tf32(&mut element);
            assert_eq!(u32::from_le_bytes(element), after, "{before:#x}");
        }
    }
}
