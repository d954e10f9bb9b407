//! Floating-point arithmetic (PTX ISA 9.7.3 to 9.7.5) and conversions (9.7.9.21, 9.7.9.22).

use warploom_ptx::ir::{FloatBinaryOp, Op as Ir, Rounding, ScalarType};

use super::{Decoded, Decoder, Refused};
use crate::isa::Op;
use crate::ops::float as ops;

impl Decoder<'_> {
    pub(super) fn float(&mut self, op: &Ir) -> Decoded {
        match *op {
            Ir::FloatBinary {
                op, ty: ScalarType::F32, rnd: Rounding::Rn, ftz: false, sat: false, dst, a, b, ..
            } => {
                let op = match op {
                    FloatBinaryOp::Add => Op::lanes::<ops::AddF32>(),
                    FloatBinaryOp::Sub => Op::lanes::<ops::SubF32>(),
                    FloatBinaryOp::Mul => Op::lanes::<ops::MulF32>(),
                    _ => return Err(Refused::Unsupported),
                };
                let (a, b, d) = (self.word(a), self.word(b), self.word_out(dst, false));
                self.emit(op, d, [a, b, 0], 0);
            }
            Ir::Fma { ty: ScalarType::F32, dst, a, b, c, .. } => {
                self.three(Op::lanes::<ops::FmaF32>(), ScalarType::F32, dst, [a, b, c]);
            }
            _ => return Err(Refused::Unsupported),
        }
        Ok(())
    }

    pub(super) fn conversion(&mut self, _: &Ir) -> Decoded {
        Err(Refused::Unsupported)
    }
}
