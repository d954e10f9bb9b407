//! From a matched form and its operands to an [`Op`], one file per family.

mod arithmetic;
mod asynchronous;
mod compare;
mod convert;
mod hints;
mod launch_control;
mod matrix;
mod memory;
mod movement;
mod synchronization;
mod tensor;
mod texture;
mod unexecuted;
mod video;
mod warpgroup;

pub(super) use hints::is_hint;

use super::address::Place;
use super::body::{BodyLowering, Lower};
use super::operand::{Value, Values};
use crate::diagnostic::Code;
use crate::ir::{HintOp, Op, Operand, Operands, Predicate, Reg, Regs, Rounding, ScalarType, Scope, Semantics, Space};
use crate::isa::{Modifiers, Opcode};
use crate::syntax::Span;
use crate::syntax::ast;
use std::ops::RangeInclusive;

/// The operands of an instruction, read as its form says. The tables of [`crate::isa`] fix the kinds, so a mismatch here is a
/// mistake in them, which the test that lowers every form finds.
#[derive(Clone, Copy)]
struct Args<'v>(&'v Values);

impl Args<'_> {
    fn wrong(&self, index: usize) -> ! {
        panic!("the instruction table and its lowering disagree about operand {index}: {:?}", self.0.get(index))
    }

    fn dst(&self, index: usize) -> Reg {
        match self.0.get(index) {
            Some(Value::Dst(reg) | Value::Pair(reg, None)) => *reg,
            _ => self.wrong(index),
        }
    }

    fn pair(&self, index: usize) -> (Reg, Option<Reg>) {
        match self.0.get(index) {
            Some(Value::Pair(first, second)) => (*first, *second),
            Some(Value::Dst(reg)) => (*reg, None),
            _ => self.wrong(index),
        }
    }

    fn src(&self, index: usize) -> Operand {
        match self.0.get(index) {
            Some(Value::Src(operand)) => *operand,
            _ => self.wrong(index),
        }
    }

    fn optional(&self, index: usize) -> Option<Operand> {
        match self.0.get(index) {
            Some(Value::Src(operand)) => Some(*operand),
            _ => None,
        }
    }

    fn pred(&self, index: usize) -> Predicate {
        match self.0.get(index) {
            Some(Value::Pred(predicate)) => *predicate,
            _ => self.wrong(index),
        }
    }

    fn optional_pred(&self, index: usize) -> Option<Predicate> {
        match self.0.get(index) {
            Some(Value::Pred(predicate)) => Some(*predicate),
            _ => None,
        }
    }

    fn constant(&self, index: usize) -> u64 {
        match self.0.get(index) {
            Some(Value::Const(value)) => *value,
            _ => self.wrong(index),
        }
    }

    fn place(&self, index: usize) -> &Place {
        match self.0.get(index) {
            Some(Value::Place(place)) => place,
            _ => self.wrong(index),
        }
    }

    fn dsts(&self, index: usize) -> Regs {
        match self.0.get(index) {
            Some(Value::Dsts(regs)) => regs.clone(),
            Some(Value::Dst(reg)) => Regs::from_slice(&[*reg]),
            _ => self.wrong(index),
        }
    }

    fn srcs(&self, index: usize) -> Operands {
        match self.0.get(index) {
            Some(Value::Srcs(operands)) => operands.clone(),
            Some(Value::Src(operand)) => Operands::from_slice(&[*operand]),
            _ => self.wrong(index),
        }
    }

    fn raw(&self, index: usize) -> Option<&ast::Operand> {
        match self.0.get(index) {
            Some(Value::Raw(operand)) => Some(operand),
            _ => None,
        }
    }
}

/// The captured type 0; every form that asks for it captures one.
fn ty(modifiers: &Modifiers) -> ScalarType {
    modifiers.ty(0).unwrap_or(ScalarType::B32)
}

/// The rounding of arithmetic: to nearest even by default.
fn rounding(modifiers: &Modifiers) -> Rounding {
    modifiers.find(Rounding::from_text).unwrap_or(Rounding::Rn)
}

/// The state space that the modifiers name.
fn space(modifiers: &Modifiers) -> Space {
    let read = |word: &str| match word {
        "shared::cta" => Some(Space::Shared),
        "param::entry" | "param::func" => Some(Space::Param),
        word => Space::from_text(word),
    };
    modifiers.find(read).unwrap_or(Space::Generic)
}

fn scope(modifiers: &Modifiers) -> Option<Scope> {
    modifiers.find(Scope::from_text)
}

/// The first of the ordering words: `.mmio` stands before the `.relaxed` that it implies.
fn semantics(modifiers: &Modifiers) -> Option<Semantics> {
    modifiers.all(Semantics::from_text).next()
}

impl BodyLowering<'_, '_> {
    /// Checks that a constant operand is in its range.
    fn check_constant(&mut self, argument: usize, value: u64, range: RangeInclusive<u64>, span: Span) -> Lower<u64> {
        if range.contains(&value) {
            return Ok(value);
        }
        let message = format!(
            "Argument {argument} of instruction '{}': value '{value}' out of range, expected to be in range [{}..{}]",
            self.opcode(),
            range.start(),
            range.end()
        );
        self.refuse(Code::Operand, span, message)
    }

    /// Constant positions and lengths of `bfe` and `bfi` have eight bits (PTX ISA 9.7.1.19).
    fn check_bit_field(&mut self, opcode: Opcode, args: Args<'_>, span: Span) -> Lower<()> {
        let first = if opcode == Opcode::Bfe { 2 } else { 3 };
        for argument in [first, first + 1] {
            if let Operand::Imm(value) = args.src(argument) {
                self.check_constant(argument, value, 0..=255, span)?;
            }
        }
        Ok(())
    }

    /// `mad.f32` without rounding is `mad.rn.f32`, up to PTX ISA 3.1 and for targets before sm_20 (PTX ISA 9.7.3.7).
    fn check_mad_rounding(&mut self, m: &Modifiers, span: Span) -> Lower<()> {
        let legacy = self.l.module.version < (3, 2) || self.l.module.target.sm < 20;
        if ty(m) == ScalarType::F32 && m.find(Rounding::from_text).is_none() && !legacy {
            return self.refuse(Code::Modifier, span, "Rounding modifier required for instruction 'mad'");
        }
        Ok(())
    }

    /// The operation of an instruction that does not end a block.
    pub(super) fn operation(
        &mut self,
        opcode: Opcode,
        modifiers: &Modifiers,
        values: &Values,
        span: Span,
    ) -> Lower<Op> {
        let op = self.known_operation(opcode, modifiers, values, span)?;
        Ok(op.unwrap_or_else(|| {
            let words: Vec<&str> = modifiers.words().collect();
            let named = Box::new(self.unexecuted(opcode, &words, values));
            // A library for several devices has it in functions that one without multicast objects and endpoints never comes to.
            if matches!(opcode, Opcode::Multimem | Opcode::Fabric) {
                Op::Multicast(named)
            } else {
                Op::Unexecuted(named)
            }
        }))
    }

    /// The same; `None` if the IR has no variant for it.
    fn known_operation(
        &mut self,
        opcode: Opcode,
        modifiers: &Modifiers,
        values: &Values,
        span: Span,
    ) -> Lower<Option<Op>> {
        use Opcode::*;
        let args = Args(values);
        let op = match opcode {
            Add | Addc | Sub | Subc | Mul | Mad | Madc | Clmad | Mul24 | Mad24 | Sad | Div | Rem | Abs | Neg | Min
            | Max | Popc | Clz | Bfind | Fns | Brev | Bfe | Bfi | Szext | Bmsk | Dp4a | Dp2a | Testp | Copysign
            | Fma | Rcp | Sqrt | Rsqrt | Sin | Cos | Lg2 | Ex2 | Tanh => {
                if matches!(opcode, Bfe | Bfi) {
                    self.check_bit_field(opcode, args, span)?;
                }
                if opcode == Mad {
                    self.check_mad_rounding(modifiers, span)?;
                }
                let carry_in = matches!(opcode, Addc | Subc | Madc).then(|| self.condition_code());
                let carry_out = modifiers.has("cc").then(|| self.condition_code());
                arithmetic::operation(opcode, modifiers, args, (carry_in, carry_out))
            }
            Set | Setp | Selp | Slct | And | Or | Xor | Not | Cnot | Lop3 | Shf | Shl | Shr => {
                return self.comparison(opcode, modifiers, args, span).map(Some);
            }
            Mov => return self.mov(modifiers, args, span).map(Some),
            Cvt => return self.convert(modifiers, args, span),
            Shfl | Prmt | Vote | Match | Activemask | Redux | Elect => {
                return self.exchange(opcode, modifiers, args, span).map(Some);
            }
            Ld | Ldu | St | Prefetch | Prefetchu | Applypriority | Discard | Createpolicy | Isspacep | Cvta | Mapa
            | Getctarank | Atom | Red => return self.memory(opcode, modifiers, args, span),
            Bar | Barrier | Membar | Fence | Mbarrier => return self.synchronization(opcode, modifiers, args, span),
            Wmma | Mma | Ldmatrix | Stmatrix | Movmatrix | Wgmma => return self.matrix(opcode, modifiers, args, span),
            Cp => return self.asynchronous(modifiers, args, span),
            Clusterlaunchcontrol => return self.launch_control(modifiers, args).map(Some),
            Tensormap => return self.tensormap(modifiers, args, span),
            Tex | Tld4 | Txq | Istypep | Suld | Sust | Sured | Suq => {
                return self.texture(opcode, modifiers, args, span);
            }
            Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vshl | Vshr | Vmad | Vset | Vadd2 | Vsub2 | Vavrg2 | Vabsdiff2
            | Vmin2 | Vmax2 | Vset2 | Vadd4 | Vsub4 | Vavrg4 | Vabsdiff4 | Vmin4 | Vmax4 | Vset4 => {
                return self.video(opcode, modifiers, args, span).map(Some);
            }
            Stacksave => Op::StackSave { ty: ty(modifiers), dst: args.dst(0) },
            Stackrestore => Op::StackRestore { ty: ty(modifiers), src: args.src(0) },
            Alloca => return self.alloca(modifiers, args, span).map(Some),
            Brkpt => Op::Brkpt,
            Nanosleep => Op::Nanosleep { duration: args.src(0) },
            Pmevent if modifiers.has("mask") => {
                let mask = self.check_constant(0, args.constant(0), 0..=0xffff, span)?;
                Op::Hint(HintOp::Pmevent { mask: mask as u16 })
            }
            Pmevent => {
                let event = self.check_constant(0, args.constant(0), 0..=15, span)?;
                Op::Hint(HintOp::Pmevent { mask: 1 << event })
            }
            Setmaxnreg => {
                self.check_constant(0, args.constant(0), 24..=256, span)?;
                Op::Hint(HintOp::SetMaxNReg)
            }
            Griddepcontrol if modifiers.has("wait") => Op::Hint(HintOp::WaitDependencies),
            Griddepcontrol => Op::Hint(HintOp::LaunchDependents),
            _ => return Ok(None),
        };
        Ok(Some(op))
    }
}
