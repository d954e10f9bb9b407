//! Logic and shifts (PTX ISA 9.7.8), and `prmt` (9.7.9.7), which is the same kind of thing.

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
    Lop3(a: u32, b: u32, c: u32; table) -> u32 { lookup3(a, b, c, table) }

    Shl16(a: u16, b: u32) -> u16 { if b > 15 { 0 } else { a << b } }
    Shl32(a: u32, b: u32) -> u32 { if b > 31 { 0 } else { a << b } }
    Shl64(a: u64, b: u32) -> u64 { if b > 63 { 0 } else { a << b } }
    ShrU16(a: u16, b: u32) -> u16 { if b > 15 { 0 } else { a >> b } }
    ShrU32(a: u32, b: u32) -> u32 { if b > 31 { 0 } else { a >> b } }
    ShrU64(a: u64, b: u32) -> u64 { if b > 63 { 0 } else { a >> b } }
    ShrS16(a: i16, b: u32) -> i16 { a >> b.min(15) }
    ShrS32(a: i32, b: u32) -> i32 { a >> b.min(31) }
    ShrS64(a: i64, b: u32) -> i64 { a >> b.min(63) }
    ShfLClamp(a: u32, b: u32, c: u32) -> u32 { (pair(a, b) << c.min(32) >> 32) as u32 }
    ShfLWrap(a: u32, b: u32, c: u32) -> u32 { (pair(a, b) << (c % 32) >> 32) as u32 }
    ShfRClamp(a: u32, b: u32, c: u32) -> u32 { (pair(a, b) >> c.min(32)) as u32 }
    ShfRWrap(a: u32, b: u32, c: u32) -> u32 { (pair(a, b) >> (c % 32)) as u32 }

    Prmt(a: u32, b: u32, c: u32) -> u32 {
        let source = pair(a, b);
        (0..4).fold(0, |out, index| out | prmt_byte(source, c >> (4 * index)) << (8 * index))
    }
    PrmtF4e(a: u32, b: u32, c: u32) -> u32 { (pair(a, b) >> (8 * (c & 3))) as u32 }
    PrmtB4e(a: u32, b: u32, c: u32) -> u32 { backward4(pair(a, b), c & 3) }
    PrmtRc8(a: u32, b: u32, c: u32) -> u32 { (pair(a, b) >> (8 * (c & 3)) & 0xff) as u32 * 0x0101_0101 }
    PrmtEcl(a: u32, b: u32, c: u32) -> u32 { edge_clamp(pair(a, b), c & 3, true) }
    PrmtEcr(a: u32, b: u32, c: u32) -> u32 { edge_clamp(pair(a, b), c & 3, false) }
    PrmtRc16(a: u32, b: u32, c: u32) -> u32 { (pair(a, b) >> (16 * (c & 1)) & 0xffff) as u32 * 0x0001_0001 }
}

/// Two registers as one 64-bit value.
#[inline(always)]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// One byte of `prmt`: three bits choose it, the fourth one replicates its sign.
#[inline(always)]
fn prmt_byte(source: u64, selector: u32) -> u32 {
    let byte = (source >> (8 * (selector & 7))) as u8;
    if selector & 8 != 0 { u32::from(((byte as i8) >> 7) as u8) } else { u32::from(byte) }
}

/// `prmt.b4e`: four bytes downward from byte `first`, wrapping around.
#[inline(always)]
fn backward4(source: u64, first: u32) -> u32 {
    (0..4).fold(0, |out, index: u32| {
        out | ((source >> (8 * (first.wrapping_sub(index) & 7))) as u8 as u32) << (8 * index)
    })
}

/// `prmt.ecl` and `.ecr`: bytes clamped to the left or right of byte `edge`.
#[inline(always)]
fn edge_clamp(source: u64, edge: u32, left: bool) -> u32 {
    (0..4).fold(0, |out, index: u32| {
        let chosen = if left { index.max(edge) } else { index.min(edge) };
        out | ((source >> (8 * chosen)) as u8 as u32) << (8 * index)
    })
}

/// `lop3`: bit `4a + 2b + c` of the table.
#[inline(always)]
fn lookup3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let pick = |index: u32| if table >> index & 1 != 0 { u32::MAX } else { 0 };
    let low = |base: u32| (!c & pick(base)) | (c & pick(base + 1));
    let mid = |base: u32| (!b & low(base)) | (b & low(base + 2));
    (!a & mid(0)) | (a & mid(4))
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
