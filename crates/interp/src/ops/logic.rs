//! Logic and shifts (PTX ISA 9.7.8), and `prmt` (9.7.9.7), which is the same kind of thing.

use warploom_numerics::logic::{self, Permute};

use crate::lane::lane_ops;
use crate::machine::{Flow, Machine};
use crate::program::Inst;

lane_ops! {
    And32(a: u32, b: u32) -> u32 { a & b }
    Or32(a: u32, b: u32) -> u32 { a | b }
    Xor32(a: u32, b: u32) -> u32 { a ^ b }
    And64(a: u64, b: u64) -> u64 { a & b }
    Or64(a: u64, b: u64) -> u64 { a | b }
    Xor64(a: u64, b: u64) -> u64 { a ^ b }
    Not16(a: u16) -> u16 { !a }
    Not32(a: u32) -> u32 { !a }
    Not64(a: u64) -> u64 { !a }
    Cnot32(a: u32) -> u32 { u32::from(a == 0) }
    Cnot64(a: u64) -> u64 { u64::from(a == 0) }
    Lop3(a: u32, b: u32, c: u32; table) -> u32 { logic::lop3(a, b, c, table as u8) }

    Shl16(a: u16, b: u32) -> u16 { logic::shl(a, b) }
    Shl32(a: u32, b: u32) -> u32 { logic::shl(a, b) }
    Shl64(a: u64, b: u32) -> u64 { logic::shl(a, b) }
    ShrU16(a: u16, b: u32) -> u16 { logic::shr(a, b) }
    ShrU32(a: u32, b: u32) -> u32 { logic::shr(a, b) }
    ShrU64(a: u64, b: u32) -> u64 { logic::shr(a, b) }
    ShrS16(a: i16, b: u32) -> i16 { logic::shr(a, b) }
    ShrS32(a: i32, b: u32) -> i32 { logic::shr(a, b) }
    ShrS64(a: i64, b: u32) -> i64 { logic::shr(a, b) }
    ShfLClamp(a: u32, b: u32, c: u32) -> u32 { logic::shf(a, b, c, true, false) }
    ShfLWrap(a: u32, b: u32, c: u32) -> u32 { logic::shf(a, b, c, true, true) }
    ShfRClamp(a: u32, b: u32, c: u32) -> u32 { logic::shf(a, b, c, false, false) }
    ShfRWrap(a: u32, b: u32, c: u32) -> u32 { logic::shf(a, b, c, false, true) }

    Prmt(a: u32, b: u32, c: u32) -> u32 { logic::prmt(a, b, c, Permute::Index) }
    PrmtF4e(a: u32, b: u32, c: u32) -> u32 { logic::prmt(a, b, c, Permute::Forward4) }
    PrmtB4e(a: u32, b: u32, c: u32) -> u32 { logic::prmt(a, b, c, Permute::Backward4) }
    PrmtRc8(a: u32, b: u32, c: u32) -> u32 { logic::prmt(a, b, c, Permute::Replicate8) }
    PrmtEcl(a: u32, b: u32, c: u32) -> u32 { logic::prmt(a, b, c, Permute::EdgeClampLeft) }
    PrmtEcr(a: u32, b: u32, c: u32) -> u32 { logic::prmt(a, b, c, Permute::EdgeClampRight) }
    PrmtRc16(a: u32, b: u32, c: u32) -> u32 { logic::prmt(a, b, c, Permute::Replicate16) }
}

/// `and.pred`, `or.pred`, `xor.pred`, `not.pred`, `mov.pred` and what else combines predicates: `imm` is a truth table of `a`, `b`.
pub(crate) fn predicate_table(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let (a, b) = (machine.predicate(inst.a), machine.predicate(inst.b));
    let pick = |index: u32| if inst.imm >> index & 1 != 0 { u32::MAX } else { 0 };
    let value = (!a & !b & pick(0)) | (!a & b & pick(1)) | (a & !b & pick(2)) | (a & b & pick(3));
    machine.put_predicate(inst.d, mask, value);
    Flow::Next
}

/// `lop3.BoolOp`: the result differs from zero, combined with a predicate (PTX ISA 9.7.8.6).
pub(crate) fn nonzero(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    let row = &machine.frame.r32[inst.a as usize];
    let differs = (0..32).fold(0, |out, lane| out | u32::from(row[lane] != 0) << lane);
    let q = machine.predicate(inst.b);
    let value = match inst.imm {
        0 => differs | q,
        1 => differs & q,
        _ => differs ^ q,
    };
    machine.put_predicate(inst.d, mask, value);
    Flow::Next
}
