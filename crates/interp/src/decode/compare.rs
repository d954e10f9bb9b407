//! Comparison and selection (PTX ISA 9.7.6, 9.7.7).

use warploom_ptx::ir::{BoolOp, Compare, Op as Ir, ScalarType};

use super::{Decoded, Decoder, Refused, enter};
use crate::frame::FULL;
use crate::half::{Bf16, F16, FlushedF16, FlushedF32};
use crate::isa::Op;
use crate::lane::Lane;
use crate::ops::compare::{self as ops, Comparison, Destination, Finish, PLAIN};
use crate::ops::moves;

impl Decoder<'_> {
    pub(super) fn comparison(&mut self, op: &Ir) -> Decoded {
        match *op {
            Ir::Setp { cmp, ftz, ty, combine, dst_p, dst_q, a, b } => {
                let p = self.predicate_out(dst_p);
                let q = dst_q.map(|q| self.predicate_out(q));
                let mut combine = combine.map(|(op, c)| (op, self.predicate(c)));
                let (a, b) = (self.source(ty, a), self.source(ty, b));
                if let Some(half) = half_of(ty) {
                    // Packed types give one predicate for each half; the second half is compared under what held before the first.
                    self.guard = self.latched(self.guard, p);
                    combine = combine.map(|(op, c)| (op, self.latched(c, p)));
                    for (part, p) in [(Some(0), Some(p)), (Some(16), q)] {
                        let (Some(shift), Some(p)) = (part, p) else { continue };
                        let (a, b) = (self.half(a, shift), self.half(b, shift));
                        let to = Destination::Predicates(p, None);
                        let how = comparison(half, cmp, ftz)?;
                        self.compare(how, [a, b], combine, to);
                    }
                    return Ok(());
                }
                let how = comparison(ty, cmp, ftz)?;
                self.compare(how, [a, b], combine, Destination::Predicates(p, q));
            }
            Ir::Set { cmp, ftz, dst_ty, ty, combine, dst, a, b } => {
                let combine = combine.map(|(op, c)| (op, self.predicate(c)));
                let (a, b) = (self.source(ty, a), self.source(ty, b));
                let d = self.word_out(dst, dst_ty.is_signed());
                let one = match dst_ty {
                    ScalarType::F32 => 1.0f32.to_bits(),
                    ScalarType::F16 | ScalarType::F16x2 => 0x3c00,
                    ScalarType::Bf16 | ScalarType::Bf16x2 => 0x3f80,
                    ScalarType::U16 | ScalarType::S16 => 0xffff,
                    _ => u32::MAX,
                };
                if let Some(half) = half_of(ty) {
                    let how = comparison(half, cmp, ftz)?;
                    let one = if matches!(dst_ty, ScalarType::U32 | ScalarType::S32) { 0xffff } else { one };
                    let parts = [0, 16].map(|shift| {
                        let (a, b, part) = (self.half(a, shift), self.half(b, shift), self.temporary32());
                        self.compare(how, [a, b], combine, Destination::Word(part, one));
                        part
                    });
                    self.emit(Op::lanes::<moves::Pack2x16>(), d, [parts[0], parts[1], 0], 0);
                    return Ok(());
                }
                let how = comparison(ty, cmp, ftz)?;
                self.compare(how, [a, b], combine, Destination::Word(d, one));
            }
            Ir::Selp { ty, dst, a, b, c } => {
                let c = self.predicate(c);
                let (a, b, d) = (self.source(ty, a), self.source(ty, b), self.out(ty, dst));
                let op = if ty.bits() > 32 { Op::lanes::<moves::Selp<u64>>() } else { Op::lanes::<moves::Selp<u32>>() };
                self.emit(op, d, [a, b, c], 0);
            }
            Ir::Slct { ty, c_ty, ftz, dst, a, b, c } => {
                let op = match (ty.bits() > 32, c_ty, ftz) {
                    (false, ScalarType::F32, false) => Op::lanes::<moves::SelectF32>(),
                    (false, ScalarType::F32, true) => Op::lanes::<moves::SelectFtzF32>(),
                    (true, ScalarType::F32, false) => Op::lanes::<moves::SelectF64>(),
                    (true, ScalarType::F32, true) => Op::lanes::<moves::SelectFtzF64>(),
                    (false, ..) => Op::lanes::<moves::Select32>(),
                    (true, ..) => Op::lanes::<moves::Select64>(),
                };
                let sources = [self.source(ty, a), self.source(ty, b), self.word(c)];
                let d = self.out(ty, dst);
                self.emit(op, d, sources, 0);
            }
            _ => return Err(Refused::Unsupported),
        }
        Ok(())
    }

    fn compare(&mut self, how: Compared, [a, b]: [u32; 2], combine: Option<(BoolOp, u32)>, to: Destination) {
        let Compared { op, swapped, complement } = how;
        let [a, b] = if swapped { [b, a] } else { [a, b] };
        let complement = if complement { FULL } else { 0 };
        match (combine, to) {
            (None, Destination::Predicates(p, None)) => self.emit(op, p, [a, b, complement], PLAIN),
            _ => {
                let index = enter(&mut self.function.finishes, Finish { combine, to });
                self.emit(op, 0, [a, b, complement], index);
            }
        }
    }

    /// One half of a packed register.
    pub(super) fn half(&mut self, slot: u32, shift: u32) -> u32 {
        let out = self.temporary32();
        self.emit(Op::lanes::<moves::Element16Of32>(), out, [slot, 0, 0], shift);
        out
    }
}

/// The element type of a packed half type.
pub(super) fn half_of(ty: ScalarType) -> Option<ScalarType> {
    match ty {
        ScalarType::F16x2 => Some(ScalarType::F16),
        ScalarType::Bf16x2 => Some(ScalarType::Bf16),
        _ => None,
    }
}

/// A comparison by the operations that there are.
#[derive(Clone, Copy)]
struct Compared {
    op: Op,
    /// With the operands in the other order.
    swapped: bool,
    /// It holds where the operation does not.
    complement: bool,
}

fn comparison(ty: ScalarType, cmp: Compare, ftz: bool) -> Decoded<Compared> {
    Ok(match (ty, ty.bits(), ty.is_signed()) {
        (ScalarType::F32, ..) if ftz => partial::<FlushedF32>(cmp),
        (ScalarType::F32, ..) => partial::<f32>(cmp),
        (ScalarType::F64, ..) => partial::<f64>(cmp),
        (ScalarType::F16, ..) if ftz => partial::<FlushedF16>(cmp),
        (ScalarType::F16, ..) => partial::<F16>(cmp),
        (ScalarType::Bf16, ..) => partial::<Bf16>(cmp),
        (_, 16, false) => total::<u16>(cmp)?,
        (_, 16, true) => total::<i16>(cmp)?,
        (_, 32, false) => total::<u32>(cmp)?,
        (_, 32, true) => total::<i32>(cmp)?,
        (_, 64, false) => total::<u64>(cmp)?,
        (_, 64, true) => total::<i64>(cmp)?,
        _ => return Err(Refused::Unsupported),
    })
}

/// The comparison of floating-point values: both operands may be on neither side of each other.
fn partial<T: Lane + PartialOrd>(cmp: Compare) -> Compared {
    let (op, swapped, complement) = match cmp {
        Compare::Eq => (Op::lanes::<Comparison<T, ops::Eq>>(), false, false),
        Compare::Neu => (Op::lanes::<Comparison<T, ops::Eq>>(), false, true),
        Compare::Ne => (Op::lanes::<Comparison<T, ops::Ne>>(), false, false),
        Compare::Equ => (Op::lanes::<Comparison<T, ops::Ne>>(), false, true),
        Compare::Lt => (Op::lanes::<Comparison<T, ops::Lt>>(), false, false),
        Compare::Geu => (Op::lanes::<Comparison<T, ops::Lt>>(), false, true),
        Compare::Gt => (Op::lanes::<Comparison<T, ops::Lt>>(), true, false),
        Compare::Leu => (Op::lanes::<Comparison<T, ops::Lt>>(), true, true),
        Compare::Le => (Op::lanes::<Comparison<T, ops::Le>>(), false, false),
        Compare::Gtu => (Op::lanes::<Comparison<T, ops::Le>>(), false, true),
        Compare::Ge => (Op::lanes::<Comparison<T, ops::Le>>(), true, false),
        Compare::Ltu => (Op::lanes::<Comparison<T, ops::Le>>(), true, true),
        Compare::Num => (Op::lanes::<Comparison<T, ops::Num>>(), false, false),
        Compare::Nan => (Op::lanes::<Comparison<T, ops::Num>>(), false, true),
    };
    Compared { op, swapped, complement }
}

/// The comparison of integers.
fn total<T: Lane + PartialOrd>(cmp: Compare) -> Decoded<Compared> {
    let (op, swapped, complement) = match cmp {
        Compare::Eq => (Op::lanes::<Comparison<T, ops::Eq>>(), false, false),
        Compare::Ne => (Op::lanes::<Comparison<T, ops::Eq>>(), false, true),
        Compare::Lt => (Op::lanes::<Comparison<T, ops::Lt>>(), false, false),
        Compare::Ge => (Op::lanes::<Comparison<T, ops::Lt>>(), false, true),
        Compare::Gt => (Op::lanes::<Comparison<T, ops::Lt>>(), true, false),
        Compare::Le => (Op::lanes::<Comparison<T, ops::Lt>>(), true, true),
        _ => return Err(Refused::Unsupported),
    };
    Ok(Compared { op, swapped, complement })
}
