//! How the lanes of a gang access memory.

use smallvec::SmallVec;
use warploom_ptx::ir::{Address, Base, Body, Linkage, Module, Op, Operand, SharedLayout, Space};

use crate::alignment::Alignments;
use crate::lanes::Lanes;
use crate::range::{Interval, Ranges};
use crate::shape::{Extent, Shape};
use crate::values::{ValueId, Values};

/// What an instruction does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AccessKind {
    Load,
    Store,
    Atomic,
}

/// Where the lanes go.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// All to one address.
    Same(Extent),
    /// Each to the place behind that of the lane before.
    Contiguous,
    /// So many bytes from lane to lane.
    Strided(i64),
    /// To places that are known relative to the first lane's.
    Known(Lanes),
    /// To places that are known but for factors which all lanes have in common.
    Scaled {
        /// The known part.
        lanes: Lanes,
        /// The parts to be multiplied.
        directions: SmallVec<[Lanes; 1]>,
    },
    /// Anywhere.
    Anywhere(ValueId),
}

/// An instruction that accesses memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Which.
    pub inst: u32,
    /// What it does.
    pub kind: AccessKind,
    /// In which state space.
    pub space: Space,
    /// Bytes of each lane.
    pub bytes: u32,
    /// Where.
    pub pattern: Pattern,
    /// Instructions that tell whether the pattern holds: see [`Affine::told_by`](crate::Affine::told_by).
    pub told_by: SmallVec<[u32; 1]>,
    /// Wherever the lanes go, it is aligned and in the variables of the kernel's shared memory, or in the one variable that is accessed.
    pub proven: bool,
}

impl Access {
    /// Whether it needs no look: its pattern holds, and leads nowhere else.
    pub(crate) fn is_always_allowed(&self) -> bool {
        self.proven && self.told_by.is_empty()
    }

    /// The least and the greatest that lanes of a known pattern add to the address of the first; 0 of others.
    pub(crate) fn reach(&self, width: i64) -> (i64, i64) {
        let ends = |step: i64| ((step * (width - 1)).min(0), (step * (width - 1)).max(0));
        match &self.pattern {
            Pattern::Contiguous => ends(i64::from(self.bytes)),
            Pattern::Strided(step) => ends(*step),
            Pattern::Known(lanes) => lanes.bounds(),
            Pattern::Same(_) | Pattern::Scaled { .. } | Pattern::Anywhere(_) => (0, 0),
        }
    }
}

/// What is known of addresses.
pub(crate) struct Known<'k> {
    pub(crate) ranges: &'k Ranges,
    pub(crate) alignments: &'k Alignments,
    pub(crate) layout: &'k SharedLayout,
}

impl Known<'_> {
    fn proves(&self, module: &Module, space: Space, bytes: u32, address: Address, value: Option<ValueId>) -> bool {
        let aligned = |offset: i64| offset.rem_euclid(i64::from(bytes)) == 0;
        let shared = Interval::new(0, i128::from(self.layout.size) - i128::from(bytes));
        match (address.base, value) {
            (Base::Global(id), _) if space == Space::Shared => {
                let start = self.layout.offsets.get(&id).map(|start| i64::from(*start) + address.offset);
                start.is_some_and(|start| aligned(start) && Interval::single(i128::from(start)).within(shared))
            }
            (Base::Global(id), _) => {
                let global = &module.globals[id.0 as usize];
                let inside = Interval::new(0, i128::from(global.size) - i128::from(bytes));
                let there = Interval::single(i128::from(address.offset)).within(inside);
                there && aligned(address.offset) && global.align >= bytes && global.linkage != Linkage::Extern
            }
            (Base::Reg(_), Some(value)) if space == Space::Shared => {
                let range = self.ranges.of(value).map(|range| range.plus(Interval::single(address.offset.into())));
                let low = 1i64 << self.alignments.of(value).min(4);
                range.is_some_and(|range| range.within(shared)) && low >= i64::from(bytes) && aligned(address.offset)
            }
            _ => false,
        }
    }
}

/// All loads, stores and atomics of a body but those of parameters by name.
pub(crate) fn accesses(
    module: &Module,
    body: &Body,
    values: &Values,
    shapes: &[Shape],
    known: &Known<'_>,
) -> Vec<Access> {
    let ranges = known.ranges;
    let mut out = Vec::new();
    for (number, inst) in body.insts.iter().enumerate() {
        let number = number as u32;
        let (kind, space, bytes, address) = match &inst.op {
            Op::Ld { space, ty, dst, addr, .. } => (AccessKind::Load, *space, ty.bytes() * dst.len() as u32, addr),
            Op::St { space, ty, src, addr, .. } => (AccessKind::Store, *space, ty.bytes() * src.len() as u32, addr),
            Op::Atom { space, ty, b, addr, .. } => {
                (AccessKind::Atomic, *space, ty.bytes() * b.len().max(1) as u32, addr)
            }
            _ => continue,
        };
        if address.base == Base::ParamFrame {
            continue;
        }
        let value = match *address {
            Address { base: Base::Reg(reg), .. } => values.read(body, number, Operand::Reg(reg)),
            _ => None,
        };
        let mut told_by = SmallVec::new();
        let pattern = match value.map(|value| (value, &shapes[value.0 as usize])) {
            None | Some((_, Shape::Unwritten)) => Pattern::Same(Extent::Cta),
            Some((_, Shape::Uniform(extent))) => Pattern::Same(*extent),
            Some((value, Shape::Varying(_))) => Pattern::Anywhere(value),
            Some((value, Shape::Affine(affine))) => {
                told_by.extend_from_slice(&affine.told_by);
                // An address of 32 bits is extended with zeros.
                let short = values.get(value).ty.bits() < 64;
                let narrow = |range: crate::Interval| range.low >= 0 && range.high < 1 << 31;
                if short && !(affine.is_constant() && ranges.of(value).is_some_and(narrow)) {
                    told_by.push(number);
                }
                match affine.lanes.stride() {
                    _ if !affine.is_constant() => {
                        Pattern::Scaled { lanes: affine.lanes.clone(), directions: affine.directions.clone() }
                    }
                    Some(step) if step == i64::from(bytes) => Pattern::Contiguous,
                    Some(step) => Pattern::Strided(step),
                    None => Pattern::Known(affine.lanes.clone()),
                }
            }
        };
        let plain = kind != AccessKind::Atomic || space == Space::Shared;
        let proven = plain && known.proves(module, space, bytes, *address, value);
        out.push(Access { inst: number, kind, space, bytes, pattern, told_by, proven });
    }
    out
}
