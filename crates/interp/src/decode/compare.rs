//! Comparison and selection (PTX ISA 9.7.6, 9.7.7).

use warploom_ptx::ir::{BoolOp, Compare, Op as Ir, ScalarType};

use super::{Decoded, Decoder, Refused};
use crate::half::{Bf16, F16, FlushedF32};
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
                        let op = comparison(half, cmp, ftz)?;
                        self.compare(op, [a, b], combine, to);
                    }
                    return Ok(());
                }
                let op = comparison(ty, cmp, ftz)?;
                self.compare(op, [a, b], combine, Destination::Predicates(p, q));
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
                    let op = comparison(half, cmp, ftz)?;
                    let one = if matches!(dst_ty, ScalarType::U32 | ScalarType::S32) { 0xffff } else { one };
                    let parts = [0, 16].map(|shift| {
                        let (a, b, part) = (self.half(a, shift), self.half(b, shift), self.temporary32());
                        self.compare(op, [a, b], combine, Destination::Word(part, one));
                        part
                    });
                    self.emit(Op::lanes::<moves::Pack2x16>(), d, [parts[0], parts[1], 0], 0);
                    return Ok(());
                }
                let op = comparison(ty, cmp, ftz)?;
                self.compare(op, [a, b], combine, Destination::Word(d, one));
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

    fn compare(&mut self, op: Op, [a, b]: [u32; 2], combine: Option<(BoolOp, u32)>, to: Destination) {
        match (combine, to) {
            (None, Destination::Predicates(p, None)) => self.emit(op, p, [a, b, 0], PLAIN),
            _ => {
                let index = self.function.finishes.len() as u32;
                self.function.finishes.push(Finish { combine, to });
                self.emit(op, 0, [a, b, 0], index);
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

fn comparison(ty: ScalarType, cmp: Compare, ftz: bool) -> Decoded<Op> {
    Ok(match (ty, ty.bits(), ty.is_signed()) {
        (ScalarType::F32, ..) if ftz => by_relation::<FlushedF32>(cmp),
        (ScalarType::F32, ..) => by_relation::<f32>(cmp),
        (ScalarType::F64, ..) => by_relation::<f64>(cmp),
        (ScalarType::F16, ..) if ftz => by_relation::<crate::half::FlushedF16>(cmp),
        (ScalarType::F16, ..) => by_relation::<F16>(cmp),
        (ScalarType::Bf16, ..) => by_relation::<Bf16>(cmp),
        (_, 16, false) => by_relation::<u16>(cmp),
        (_, 16, true) => by_relation::<i16>(cmp),
        (_, 32, false) => by_relation::<u32>(cmp),
        (_, 32, true) => by_relation::<i32>(cmp),
        (_, 64, false) => by_relation::<u64>(cmp),
        (_, 64, true) => by_relation::<i64>(cmp),
        _ => return Err(Refused::Unsupported),
    })
}

fn by_relation<T: Lane + PartialOrd>(cmp: Compare) -> Op {
    match cmp {
        Compare::Eq => Op::lanes::<Comparison<T, ops::Eq>>(),
        Compare::Ne => Op::lanes::<Comparison<T, ops::Ne>>(),
        Compare::Lt => Op::lanes::<Comparison<T, ops::Lt>>(),
        Compare::Le => Op::lanes::<Comparison<T, ops::Le>>(),
        Compare::Gt => Op::lanes::<Comparison<T, ops::Gt>>(),
        Compare::Ge => Op::lanes::<Comparison<T, ops::Ge>>(),
        Compare::Equ => Op::lanes::<Comparison<T, ops::Equ>>(),
        Compare::Neu => Op::lanes::<Comparison<T, ops::Neu>>(),
        Compare::Ltu => Op::lanes::<Comparison<T, ops::Ltu>>(),
        Compare::Leu => Op::lanes::<Comparison<T, ops::Leu>>(),
        Compare::Gtu => Op::lanes::<Comparison<T, ops::Gtu>>(),
        Compare::Geu => Op::lanes::<Comparison<T, ops::Geu>>(),
        Compare::Num => Op::lanes::<Comparison<T, ops::Num>>(),
        Compare::Nan => Op::lanes::<Comparison<T, ops::Nan>>(),
    }
}
