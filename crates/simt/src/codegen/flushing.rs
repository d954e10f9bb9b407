//! Kernels whose arithmetic on `.f32` is `.ftz`, all but a little: their code runs in the processor's own mode in which subnormal numbers are zeros, as operands and as results.
//!
//! An operation is one instruction then, in place of a dozen that look at what goes in and what comes out. The processor flushes what is too small when it has been rounded with any exponent,
//! which is what `.ftz` does (`warploom_numerics::float`); and it flushes whatever is computed. A few operations without `.ftz` leave the mode for as long as they take; a kernel that has many, or
//! others that compute with subnormal numbers, has every operation flushed by itself.
//!
//! Code is entered and left in the mode that the executor has ([`entered`], [`around`]), but for what adds to sums, which are integers. LLVM is told of the mode; it may still take a number times 1 for the number itself, so what could be
//! such an operation has its operand flushed as in other kernels.

use warploom_ptx::ir::{AtomicOp, Body, FloatUnaryOp, MatrixOp, Op, Operand, Rounding, ScalarType, Space, TestpOp};

use super::function::{Val, Writer};
use super::mode;
use super::names::{Element, Ty};
use super::plan::Plan;
use crate::range::is_integer;
use crate::values::{ValueId, paired};

/// Flush to zero, and subnormal operands as zeros: bits of MXCSR.
pub(super) const MODE: u32 = 0x8040;

/// 1 and -1.
const ONES: [u32; 2] = [0x3f80_0000, 0xbf80_0000];
/// 0 and -0.
const ZEROS: [u32; 2] = [0, 0x8000_0000];

/// What an operation asks of the mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// It is better off in it.
    Flush,
    /// It means something else in it.
    Keep,
    /// So it does, and can leave it for as long as it takes.
    Leave,
    /// It is the same.
    Any,
}

/// So many operations that are better off make up for one that leaves the mode.
const WORTH: usize = 8;

/// Whether code of these bodies is to run in the mode.
pub(super) fn flushes<'b>(bodies: impl Iterator<Item = &'b Body>) -> bool {
    let (mut flush, mut leave) = (0, 0);
    for inst in bodies.flat_map(|body| &body.insts) {
        match wish(&inst.op) {
            Wish::Keep => return false,
            Wish::Flush => flush += 1,
            Wish::Leave => leave += WORTH,
            Wish::Any => {}
        }
    }
    flush > leave
}

fn wish(op: &Op) -> Wish {
    use ScalarType::{Bf16, Bf16x2, F16, F16x2, F32, F32x2, F64};
    // Subnormal halves are none as `.f32`, which is what they are computed as.
    let is_half = |ty: ScalarType| matches!(ty, F16 | F16x2);
    let unless = |kept: bool| if kept { Wish::Keep } else { Wish::Any };
    match *op {
        Op::FloatUnary { op: FloatUnaryOp::Neg | FloatUnaryOp::Abs, .. } => Wish::Any,
        // The approximate ones flush by themselves.
        Op::FloatUnary { op: FloatUnaryOp::Rcp | FloatUnaryOp::Sqrt, ty: F32, ftz: true, .. } => Wish::Flush,
        Op::FloatUnary { op: FloatUnaryOp::Rcp | FloatUnaryOp::Sqrt, ty: F32, rnd: Rounding::Rn, .. } => Wish::Leave,
        Op::FloatUnary { ty, ftz, .. } => unless(ty != F32 || !ftz),
        Op::FloatBinary { ty, a_ty, rnd, ftz, sat, .. } | Op::Fma { ty, a_ty, rnd, ftz, sat, .. } => match ty {
            F32 if a_ty == F32 && ftz => Wish::Flush,
            F32 if a_ty == F32 && rnd == Rounding::Rn && !sat => Wish::Leave,
            F32x2 if ftz => Wish::Flush,
            _ => unless(!is_half(ty) || a_ty != ty),
        },
        Op::FloatMinMax { ty, ftz, .. } | Op::Setp { ty, ftz, .. } | Op::Set { ty, ftz, .. } => {
            unless(!(is_integer(ty) || is_half(ty) || (ty == F32 && ftz)))
        }
        Op::Testp { op, .. } => unless(matches!(op, TestpOp::Normal | TestpOp::Subnormal)),
        Op::Slct { c_ty, ftz, .. } => unless(c_ty == F32 && !ftz),
        Op::Cvt { dst_ty, src_ty, rnd, ftz, sat, .. } => {
            let plain = rnd.is_none_or(|rnd| rnd == Rounding::Rn);
            // Of a subnormal number comes a zero of its sign.
            let inward = matches!(rnd, Some(Rounding::Rzi | Rounding::Rni));
            unless(match (src_ty, dst_ty) {
                (from, to) if is_integer(from) => !(is_integer(to) || matches!(to, F32 | F16)),
                (F32, to) if is_integer(to) => !ftz && !inward,
                (F16, to) if is_integer(to) => false,
                (F32, F32) => !ftz && (!inward || sat),
                (F32, F16 | F16x2 | Bf16 | Bf16x2) => !plain,
                (F16, F32) | (Bf16, F32) => false,
                _ => true,
            })
        }
        // Sums in shared memory keep subnormal numbers.
        Op::Atom { op: AtomicOp::Add, ty: F32, space, .. } => unless(space != Space::Global),
        Op::Atom { op: AtomicOp::Exch | AtomicOp::Cas, .. } => Wish::Any,
        Op::Atom { ty, .. } => unless(!(is_integer(ty) || is_half(ty) || ty == ScalarType::B128)),
        // Products of doubles are compiled, others are the executor's.
        Op::Matrix(ref op) => match &**op {
            MatrixOp::Mma(product) | MatrixOp::WmmaMma(product) => unless(product.a_ty == F64),
            _ => Wish::Any,
        },
        _ => Wish::Any,
    }
}

/// The entry of a module, with so many words behind the context: what it calls has the same parameters.
pub(super) fn entered(plan: &Plan<'_>, words: u32) -> String {
    let mut all = "ptr %context".to_owned();
    (0..words).for_each(|at| all += &format!(", i32 %a{at}"));
    let (before, behind) = mode::changed(plan, 0, MODE);
    format!(
        "define i32 @cta({all}) #2 {{\n{before}  %result = call i32 @flushing({all})\n{behind}  ret i32 %result\n}}\n\n"
    )
}

/// What is written around a call of the executor, in a function of its own: it has the mode that it left.
pub(super) fn around(plan: &Plan<'_>) -> (String, &'static str) {
    if plan.flushes() { mode::changed(plan, MODE, 0) } else { (String::new(), "") }
}

/// A call of one of the executor's functions, with these arguments: it runs in its own mode, for which there is a function of this name around it.
pub(super) fn call(plan: &Plan<'_>, name: &str, function: &str, arguments: &[(&str, String)]) -> String {
    let given: Vec<String> = arguments.iter().map(|(ty, value)| format!("{ty} {value}")).collect();
    let given = given.join(", ");
    if !plan.flushes() {
        return format!("call i32 {function}({given})");
    }
    let (before, behind) = around(plan);
    let all: Vec<String> = arguments.iter().enumerate().map(|(at, (ty, _))| format!("{ty} %a{at}")).collect();
    let all = all.join(", ");
    plan.declare(format!(
        "define internal i32 @{name}(ptr %function, {all}) #2 {{\n{before}  %answer = call i32 %function({all})\n{behind}  ret i32 %answer\n}}"
    ));
    format!("call i32 @{name}(ptr {function}, {given})")
}

impl Writer<'_> {
    /// An operation with subnormal numbers, in a kernel of which the processor flushes others.
    pub(super) fn in_usual_mode(&mut self, name: &str, operands: &[&Val]) -> Val {
        self.in_mode(name, &format!("{name}_kept"), (MODE, 0), operands)
    }

    /// Whether arithmetic without `.ftz` has to leave the mode.
    pub(super) fn leaves_mode(&self, ty: Ty, ftz: bool) -> bool {
        !ftz && self.plan.flushes() && ty.element == Element::F32
    }

    /// An operand of `.ftz` arithmetic: zero of its sign if it is subnormal. `identity` says whether what it is computed with may leave it as it is.
    pub(super) fn taken(
        &mut self,
        operand: Operand,
        value: &Val,
        ftz: bool,
        identity: impl FnOnce(&Self) -> bool,
    ) -> Val {
        /// Copies and selections that are looked through.
        const DEPTH: u32 = 5;
        if !ftz || value.ty.element != Element::F32 || self.is_flushed(self.inst, operand, DEPTH) {
            return value.clone();
        }
        if self.plan.flushes() && !identity(self) { value.clone() } else { self.flush(value, true) }
    }

    /// Whether what an instruction reads is known to be no subnormal number.
    fn is_flushed(&self, inst: u32, operand: Operand, depth: u32) -> bool {
        let values = &self.plan.info.values;
        let Some(value) = values.read(self.body(), inst, operand) else {
            return matches!(operand, Operand::Imm(bits) if !is_subnormal(bits as u32));
        };
        let from = |def: u32, operand| self.is_flushed(def, operand, depth - 1);
        depth > 0
            && values.get(value).defs.iter().all(|def| match self.body().insts[*def as usize].op {
                Op::FloatBinary { ty: ScalarType::F32, ftz: true, .. }
                | Op::Fma { ty: ScalarType::F32, ftz: true, .. }
                | Op::FloatMinMax { ty: ScalarType::F32, ftz: true, .. }
                | Op::FloatUnary { ty: ScalarType::F32, ftz: true, .. } => true,
                Op::Cvt { dst_ty: ScalarType::F32, src_ty, .. } => is_integer(src_ty) || src_ty == ScalarType::F16,
                Op::Mov { ty, src, .. } => ty.bits() == 32 && from(*def, src),
                Op::Selp { ty, a, b, .. } => ty.bits() == 32 && from(*def, a) && from(*def, b),
                _ => false,
            })
    }

    /// Whether LLVM may see that an operand is 1 or -1.
    pub(super) fn may_be_one(&self, operand: Operand) -> bool {
        self.may_be(self.inst, operand, &ONES, &mut Vec::new())
    }

    /// Whether LLVM may see that an operand is 0 or -0.
    pub(super) fn may_be_zero(&self, operand: Operand) -> bool {
        self.may_be(self.inst, operand, &ZEROS, &mut Vec::new())
    }

    /// Whether LLVM may see that what an instruction reads is one of these. What is worked out of constants alone may be any.
    fn may_be(&self, inst: u32, operand: Operand, bits: &[u32], seen: &mut Vec<ValueId>) -> bool {
        match operand {
            Operand::Imm(number) => bits.contains(&(number as u32)),
            Operand::Reg(_) => {
                let value = self.plan.info.values.read(self.body(), inst, operand);
                value.is_none_or(|value| self.may_be_value(value, bits, seen))
            }
        }
    }

    fn may_be_value(&self, value: ValueId, bits: &[u32], seen: &mut Vec<ValueId>) -> bool {
        /// Values that are looked at.
        const PATIENCE: usize = 32;
        if seen.contains(&value) || seen.len() >= PATIENCE {
            return true;
        }
        seen.push(value);
        let values = &self.plan.info.values;
        let known = values.get(value);
        known.undefined
            || known.defs.iter().any(|def| {
                let inst = &self.body().insts[*def as usize];
                match inst.op {
                    Op::Mov { src: Operand::Imm(number), .. } => bits.contains(&(number as u32)),
                    // Either of two.
                    Op::Selp { a, b, .. } => self.may_be(*def, a, bits, seen) || self.may_be(*def, b, bits, seen),
                    Op::Ld { .. } | Op::Atom { .. } | Op::Texture(_) | Op::ReadSpecial { .. } | Op::Shfl { .. } => {
                        false
                    }
                    _ => {
                        let operands = inst.operands();
                        let mut read = paired(&operands, values.of_inst(*def)).filter(|(of, _)| of.read().is_some());
                        read.all(|(_, value)| value.is_none_or(|value| self.may_be_value(value, bits, seen)))
                    }
                }
            })
    }
}

fn is_subnormal(bits: u32) -> bool {
    bits & 0x7f80_0000 == 0 && bits & 0x7f_ffff != 0
}
