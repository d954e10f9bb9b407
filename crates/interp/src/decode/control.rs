//! Control flow (PTX ISA 9.7.12) and miscellaneous instructions (9.7.19).

use warploom_ptx::ir::{BlockId, CallArg, CallTarget, FunctionKind, Op as Ir, Operand, Terminator, TerminatorKind};

use super::{Decoded, Decoder, Refused, enter};
use crate::isa::Op;
use crate::machine::NO_GUARD;
use crate::ops::{call, control};
use crate::program::{CallSite, Callee, ValuePlace};

impl Decoder<'_> {
    pub(super) fn terminator(&mut self, terminator: &Terminator) -> Decoded {
        let following = BlockId(self.starts.len() as u32);
        match &terminator.kind {
            TerminatorKind::Next => {}
            TerminatorKind::Bra { target, .. } => {
                if terminator.guard.is_some() || *target != following {
                    self.jump(*target);
                }
            }
            TerminatorKind::BrxIdx { index, targets, .. } => {
                let a = self.word(*index);
                let table = self.table_fixups.len() as u32;
                self.table_fixups.push(targets.clone());
                self.emit(Op::control(control::brx), 0, [a, 0, 0], table);
            }
            TerminatorKind::Ret { .. } if self.source.kind == FunctionKind::Device => {
                self.emit(Op::control(call::ret), 0, [0; 3], 0);
            }
            TerminatorKind::Ret { .. } | TerminatorKind::Exit => self.emit(Op::control(control::exit), 0, [0; 3], 0),
            TerminatorKind::Trap => self.emit(Op::control(control::trap), 0, [0; 3], 0),
        }
        if let Some(next) = terminator.next
            && next != following
        {
            self.guard = NO_GUARD;
            self.jump(next);
        }
        Ok(())
    }

    fn jump(&mut self, target: BlockId) {
        self.fixups.push((self.function.code.len(), target));
        self.emit(Op::control(control::bra), 0, [0; 3], 0);
    }

    pub(super) fn control(&mut self, op: &Ir) -> Decoded {
        match op {
            Ir::Call { target, returns, args, .. } => {
                let arguments = args.iter().map(|arg| self.argument(arg)).collect::<Decoded<_>>()?;
                let results = returns.iter().map(|arg| self.argument(arg)).collect::<Decoded<_>>()?;
                let callee = match &**target {
                    CallTarget::Indirect { address, .. } => Callee::Indirect(self.double(Operand::Reg(*address))),
                    CallTarget::Direct(id) => match self.context.module.functions[id.0 as usize].builtin {
                        Some(builtin) => Callee::Builtin(builtin),
                        None => Callee::Function(*self.context.functions.get(id).ok_or(Refused::Unsupported)?),
                    },
                };
                let site = enter(&mut self.function.calls, CallSite { callee, arguments, results });
                self.emit(Op::control(call::call), 0, [0; 3], site);
            }
            Ir::Brkpt => self.emit(Op::control(control::trap), 0, [0; 3], 0),
            Ir::Multicast(_) => self.emit(Op::control(control::no_multicast), 0, [0; 3], 0),
            Ir::Nanosleep { duration } => {
                let a = self.word(*duration);
                self.emit(Op::control(control::nanosleep), 0, [a, 0, 0], 0);
            }
            // No effect on results: nothing is left of them.
            Ir::Hint(_) => {}
            _ => return Err(Refused::Unsupported),
        }
        Ok(())
    }

    fn argument(&mut self, arg: &CallArg) -> Decoded<ValuePlace> {
        Ok(match *arg {
            CallArg::Param { offset, size } => ValuePlace::Bytes(offset.wrapping_add(self.param_base()), size),
            CallArg::Value { value: Operand::Reg(reg), .. } => self.register_place(reg),
            CallArg::Value { value: Operand::Imm(value), .. } => ValuePlace::Constant(value),
        })
    }
}
