//! Between which bounds values lie.

use warploom_ptx::ir::{
    AddressTarget, Body, Inst, IntBinaryOp, LogicOp, MulMode, Op, Operand, ScalarType, SharedLayout, ShiftDirection,
    SpecialReg, TypeClass,
};

use crate::gang::Gangs;
use crate::values::{ValueId, Values, paired};

/// All whole numbers from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The least.
    pub low: i128,
    /// The greatest.
    pub high: i128,
}

impl Interval {
    /// From one number to another.
    pub const fn new(low: i128, high: i128) -> Interval {
        Interval { low, high }
    }

    /// One number.
    pub const fn single(number: i128) -> Interval {
        Interval { low: number, high: number }
    }

    /// What a type can hold, read with its sign.
    pub const fn of(ty: ScalarType) -> Interval {
        let bits = ty.bits();
        if ty.is_signed() {
            Interval { low: -(1 << (bits - 1)), high: (1 << (bits - 1)) - 1 }
        } else if bits < 127 {
            Interval { low: 0, high: (1 << bits) - 1 }
        } else {
            Interval { low: 0, high: i128::MAX }
        }
    }

    /// Whether it lies in another.
    pub const fn within(self, other: Interval) -> bool {
        other.low <= self.low && self.high <= other.high
    }

    /// The number, if it is only one.
    pub fn constant(self) -> Option<i128> {
        (self.low == self.high).then_some(self.low)
    }

    /// Both and what is between.
    pub fn hull(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Sums.
    pub fn plus(self, other: Interval) -> Interval {
        Interval { low: self.low.saturating_add(other.low), high: self.high.saturating_add(other.high) }
    }

    /// Differences.
    pub fn minus(self, other: Interval) -> Interval {
        Interval { low: self.low.saturating_sub(other.high), high: self.high.saturating_sub(other.low) }
    }

    /// Products.
    pub fn times(self, other: Interval) -> Interval {
        let products = [
            self.low.saturating_mul(other.low),
            self.low.saturating_mul(other.high),
            self.high.saturating_mul(other.low),
            self.high.saturating_mul(other.high),
        ];
        let [first, rest @ ..] = products;
        rest.into_iter().fold(Interval::single(first), |all, product| all.hull(Interval::single(product)))
    }
}

/// The bounds of values that are written once, computed forward: as the signed reading of the register, where no operation on the way
/// can wrap around.
#[derive(Clone, Debug)]
pub(crate) struct Ranges(Vec<Option<Interval>>);

impl Ranges {
    pub(crate) fn new(layout: &SharedLayout, body: &Body, values: &Values, gangs: &Gangs) -> Ranges {
        let mut ranges = Ranges(vec![None; values.len()]);
        for (number, inst) in body.insts.iter().enumerate() {
            let number = number as u32;
            if let (None, Some(value)) = (inst.guard, values.written(body, number)) {
                let known = values.get(value);
                if known.defs.len() == 1 && !known.undefined {
                    let ty = known.ty;
                    let range = ranges.result(layout, values, gangs, number, inst);
                    ranges.0[value.0 as usize] = range.filter(|range| range.within(signed(ty)));
                }
            }
        }
        ranges
    }

    /// Of a value.
    pub(crate) fn of(&self, value: ValueId) -> Option<Interval> {
        self.0[value.0 as usize]
    }

    /// Of an operand, read as `ty`.
    fn operand(&self, values: &Values, number: u32, inst: &Inst, operand: Operand, ty: ScalarType) -> Option<Interval> {
        let range = match operand {
            Operand::Imm(bits) => Interval::single(constant(bits, ty)),
            Operand::Reg(reg) => {
                let operands = inst.operands();
                let value = paired(&operands, values.of_inst(number)).find(|(o, _)| o.read() == Some(reg))?.1?;
                let wide = values.get(value).ty.bits() == ty.bits();
                self.of(value).filter(|range| wide || range.within(signed(ty)))?
            }
        };
        // A negative number is a large one to an unsigned operation.
        (ty.is_signed() || range.low >= 0 || ty.class() == TypeClass::Bits).then_some(range)
    }

    fn result(
        &self,
        layout: &SharedLayout,
        values: &Values,
        gangs: &Gangs,
        number: u32,
        inst: &Inst,
    ) -> Option<Interval> {
        let of = |operand: &Operand, ty: ScalarType| self.operand(values, number, inst, *operand, ty);
        // Sums and low products are the same for both readings.
        let either = |operand: &Operand, ty: ScalarType| of(operand, ty).or_else(|| of(operand, ty.to_bits()));
        let modular = |range: Interval, ty: ScalarType| range.within(signed(ty)).then_some(range);
        match &inst.op {
            Op::Mov { ty, src, .. } => either(src, *ty),
            Op::Cvt { to, from, dst_ty, src_ty, a, sat: false, .. } if is_integer(*dst_ty) && is_integer(*src_ty) => {
                // What does not fit into the source's type is cut to it.
                let range = either(a, *from).filter(|range| range.within(Interval::of(*src_ty)));
                let range = range.unwrap_or(Interval::of(*src_ty));
                (range.within(Interval::of(*dst_ty)) && range.within(signed(*to))).then_some(range)
            }
            Op::IntBinary { op: IntBinaryOp::Add, ty, sat: false, a, b, .. } if is_integer(*ty) => {
                modular(either(a, *ty)?.plus(either(b, *ty)?), *ty)
            }
            Op::IntBinary { op: IntBinaryOp::Sub, ty, sat: false, a, b, .. } if is_integer(*ty) => {
                modular(either(a, *ty)?.minus(either(b, *ty)?), *ty)
            }
            Op::Mul { mode: MulMode::Lo, ty, a, b, .. } => modular(either(a, *ty)?.times(either(b, *ty)?), *ty),
            Op::Mul { mode: MulMode::Wide, ty, a, b, .. } => Some(of(a, *ty)?.times(of(b, *ty)?)),
            Op::Mad { mode: MulMode::Lo, ty, sat: false, a, b, c, .. } => {
                modular(either(a, *ty)?.times(either(b, *ty)?).plus(either(c, *ty)?), *ty)
            }
            Op::Mad { mode: MulMode::Wide, ty, sat: false, a, b, c, .. } => {
                modular(of(a, *ty)?.times(of(b, *ty)?).plus(either(c, ty.doubled())?), ty.doubled())
            }
            Op::Shift { direction: ShiftDirection::Left, ty, a, amount, .. } => {
                let by = of(amount, ScalarType::U32)?.constant().filter(|by| (0..63).contains(by))?;
                modular(either(a, *ty)?.times(Interval::single(1 << by)), *ty)
            }
            Op::Shift { direction: ShiftDirection::Right, ty, a, amount, .. } => {
                let by = of(amount, ScalarType::U32)?.constant().filter(|by| (0..63).contains(by))?;
                let range = either(a, *ty).filter(|range| range.low >= 0).unwrap_or(Interval::of(*ty));
                Some(Interval::new(range.low >> by, range.high >> by))
            }
            Op::Bfe { ty, len, .. } if !ty.is_signed() => {
                // Of the length, its lowest byte (PTX ISA 9.7.1.19).
                let len = (of(len, ScalarType::U32)?.constant()? & 0xff).min(i128::from(ty.bits()));
                Some(Interval::new(0, (1 << len) - 1))
            }
            Op::Logic { op: LogicOp::And, ty, a, b, .. } if *ty != ScalarType::Pred => {
                let masks = [either(a, *ty), either(b, *ty)];
                let most = masks.iter().flatten().filter(|range| range.low >= 0).map(|range| range.high).min()?;
                Some(Interval::new(0, most))
            }
            // No bit above the highest of both.
            Op::Logic { op: LogicOp::Or | LogicOp::Xor, ty, a, b, .. } if *ty != ScalarType::Pred => {
                let both = either(a, *ty)?.hull(either(b, *ty)?);
                (both.low >= 0).then(|| Interval::new(0, (1 << (i128::BITS - both.high.leading_zeros())) - 1))
            }
            Op::ReadSpecial { reg, .. } => special(gangs, *reg),
            Op::AddressOf { target: AddressTarget::Global(id), offset, .. } => {
                let start = layout.offsets.get(id)?;
                Some(Interval::single(i128::from(*start) + i128::from(*offset)))
            }
            Op::Ld { ty, to, dst, .. } if dst.len() == 1 && is_integer(*ty) && ty.bits() < to.bits() => {
                Some(Interval::of(*ty))
            }
            Op::Selp { ty, a, b, .. } => Some(either(a, *ty)?.hull(either(b, *ty)?)),
            _ => None,
        }
    }
}

/// The bounds of a special register.
fn special(gangs: &Gangs, reg: SpecialReg) -> Option<Interval> {
    use SpecialReg::*;
    let tid = |axis: usize| Interval::new(0, i128::from(gangs.cta[axis]) - 1);
    let ntid = |axis: usize| Interval::single(i128::from(gangs.cta[axis]));
    // There is one more CTA along an axis than the last one's number.
    let nctaid = |axis: usize| gangs.ctaid_range(axis).plus(Interval::single(1));
    Some(match reg {
        TidX => tid(0),
        TidY => tid(1),
        TidZ => tid(2),
        NtidX => ntid(0),
        NtidY => ntid(1),
        NtidZ => ntid(2),
        CtaidX => gangs.ctaid_range(0),
        CtaidY => gangs.ctaid_range(1),
        CtaidZ => gangs.ctaid_range(2),
        NctaidX => nctaid(0),
        NctaidY => nctaid(1),
        NctaidZ => nctaid(2),
        Laneid => Interval::new(0, 31),
        Warpid | Nwarpid => Interval::new(0, 32),
        _ => return None,
    })
}

/// What a register of a type can hold, read with a sign.
pub(crate) fn signed(ty: ScalarType) -> Interval {
    let bits = ty.bits().clamp(1, 64);
    Interval::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
}

/// A constant as a type reads it.
pub(crate) fn constant(bits: u64, ty: ScalarType) -> i128 {
    let unused = 64 - ty.bits().clamp(1, 64);
    if ty.is_signed() || ty.class() == TypeClass::Bits {
        i128::from((bits << unused) as i64 >> unused)
    } else {
        i128::from(bits << unused >> unused)
    }
}

/// Whether a type is one whole number.
pub(crate) fn is_integer(ty: ScalarType) -> bool {
    use ScalarType::*;
    matches!(ty, B8 | U8 | S8 | B16 | U16 | S16 | B32 | U32 | S32 | B64 | U64 | S64)
}
