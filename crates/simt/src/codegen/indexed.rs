//! Addresses that are a base, which all lanes have in common, plus a 32-bit index times a factor: gathers take such indices as they are, and one comparison
//! of 32 bits tells whether all of them lie inside.

use warploom_ptx::ir::{Body, Inst, IntBinaryOp, MulMode, Op, Operand, ScalarType, ShiftDirection};

use crate::info::KernelInfo;
use crate::values::ValueId;

/// An address in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Indexed {
    /// 64 bits that all lanes have in common.
    pub(super) base: ValueId,
    /// 32 bits.
    pub(super) index: ValueId,
    pub(super) scale: u32,
    /// How the index is widened.
    pub(super) signed: bool,
}

/// The parts of an address that an instruction reads, if they hold what they held when it was computed.
pub(super) fn indexed(
    info: &KernelInfo<'_>,
    body: &Body,
    block_of: &[u32],
    inst: u32,
    address: ValueId,
) -> Option<Indexed> {
    let find = Find { info, body, block_of, inst };
    let sum = find.def(address)?;
    let parts = match &body.insts[sum as usize].op {
        Op::IntBinary { op: IntBinaryOp::Add, ty, sat: false, a, b, .. } if ty.bits() == 64 => {
            let (a, b) = (find.operand(sum, *a)?, find.operand(sum, *b)?);
            let parts = |base: ValueId, wide: ValueId| {
                let (index, scale, signed) = find.widened(wide).filter(|_| find.is_common(base))?;
                Some(Indexed { base, index, scale, signed })
            };
            parts(a, b).or_else(|| parts(b, a))?
        }
        Op::Mad { mode: MulMode::Wide, ty, sat: false, a, b: Operand::Imm(by), c, .. } if ty.bits() == 32 => {
            let (index, base) = (find.operand(sum, *a)?, find.operand(sum, *c)?);
            Indexed { base, index, scale: u32::try_from(*by).ok()?, signed: ty.is_signed() }
        }
        _ => return None,
    };
    // What the lanes of a gang have in common is one address; a thread by itself has nothing else.
    let fits = find.is_common(parts.base)
        && (info.gangs.width == 1 || !find.is_common(parts.index))
        && info.values.get(parts.base).ty.bits() == 64
        && info.values.get(parts.index).ty.bits() == 32
        && find.holds(sum, parts.base)
        && parts.scale.is_power_of_two()
        && parts.scale <= 8;
    fits.then_some(parts)
}

struct Find<'k> {
    info: &'k KernelInfo<'k>,
    body: &'k Body,
    block_of: &'k [u32],
    /// Where the parts are to be read.
    inst: u32,
}

impl Find<'_> {
    /// The one instruction that writes a value, before the access in its block.
    fn def(&self, value: ValueId) -> Option<u32> {
        let known = self.info.values.get(value);
        let (&[def], false) = (&known.defs[..], known.undefined) else { return None };
        let near = def < self.inst && self.block_of[def as usize] == self.block_of[self.inst as usize];
        (near && self.body.insts[def as usize].guard.is_none()).then_some(def)
    }

    fn operand(&self, inst: u32, operand: Operand) -> Option<ValueId> {
        self.info.values.read(self.body, inst, operand)
    }

    fn is_common(&self, value: ValueId) -> bool {
        self.info.shape(value).is_uniform()
    }

    /// Nothing writes a value from where it was read to the access.
    fn holds(&self, from: u32, value: ValueId) -> bool {
        self.info.values.get(value).defs.iter().all(|def| !(from..self.inst).contains(def))
    }

    /// A 64-bit value that is an index of 32 bits times a factor.
    fn widened(&self, value: ValueId) -> Option<(ValueId, u32, bool)> {
        let def = self.def(value)?;
        let inst: &Inst = &self.body.insts[def as usize];
        let (index, scale, signed) = match &inst.op {
            Op::Mul { mode: MulMode::Wide, ty, a, b: Operand::Imm(by), .. } if ty.bits() == 32 => {
                (self.operand(def, *a)?, u32::try_from(*by).ok()?, ty.is_signed())
            }
            Op::Shift { direction: ShiftDirection::Left, ty, a, amount: Operand::Imm(by), .. }
                if ty.bits() == 64 && *by < 4 =>
            {
                let widening = self.def(self.operand(def, *a)?)?;
                let (index, signed) = self.converted(widening)?;
                return self.holds(widening, index).then_some((index, 1 << by, signed));
            }
            Op::Cvt { .. } => {
                let (index, signed) = self.converted(def)?;
                (index, 1, signed)
            }
            _ => return None,
        };
        self.holds(def, index).then_some((index, scale, signed))
    }

    /// The 32 bits that an instruction converts to 64, and whether they have a sign.
    fn converted(&self, inst: u32) -> Option<(ValueId, bool)> {
        match &self.body.insts[inst as usize].op {
            Op::Cvt { to, from, dst_ty, src_ty, sat: false, a, b: None, .. }
                if [to.bits(), dst_ty.bits()] == [64; 2] && is_word(*from) && is_word(*src_ty) =>
            {
                Some((self.operand(inst, *a)?, src_ty.is_signed()))
            }
            _ => None,
        }
    }
}

fn is_word(ty: ScalarType) -> bool {
    ty.bits() == 32 && crate::range::is_integer(ty)
}
