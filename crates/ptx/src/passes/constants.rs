//! Constants that exchanges between lanes take from registers are said by them.
//!
//! Compilers move a constant into a register first (`mov.u32 %r5, -1; shfl.sync.down.b32 ..., %r5`). Which lanes a shuffle names, and which take
//! part, decides how it is carried out; and hardware does not look whether a lane is among the members that a constant names, as it does with
//! a register that may hold anything (recorded: `tests/goldens/member_masks.json`).

use crate::ir::{Body, Inst, Module, Op, Operand, Param, PlaceMut, Reg, Storage};

/// Puts constants in place of registers that hold nothing else, in exchanges of all functions.
pub fn fill_in_constants(module: &mut Module) {
    for function in &mut module.functions {
        let Some(body) = &mut function.body else { continue };
        let is_exchange = |inst: &Inst| inst.op.membermask().is_some();
        if body.insts.iter().any(is_exchange) {
            let constants = Constants::find(body, function.params.iter().chain(&function.returns));
            body.insts.iter_mut().filter(|inst| is_exchange(inst)).for_each(|inst| constants.fill_in(inst));
        }
    }
}

/// By register: what it holds, if one instruction writes it, and that moves a constant there.
struct Constants(Vec<Option<u64>>);

impl Constants {
    fn find<'p>(body: &Body, params: impl Iterator<Item = &'p Param>) -> Constants {
        let mut writes = vec![0u32; body.regs.len()];
        for param in params {
            if let Storage::Register(Reg(reg)) = param.storage {
                writes[reg as usize] += 1;
            }
        }
        let mut constants = vec![None; body.regs.len()];
        let ends = body.blocks.iter().flat_map(|block| block.terminator.operands());
        for operand in body.insts.iter().flat_map(Inst::operands).chain(ends) {
            if let Some(Reg(reg)) = operand.def() {
                writes[reg as usize] += 1;
            }
        }
        for inst in body.insts.iter().filter(|inst| inst.guard.is_none()) {
            if let Op::Mov { dst: Reg(reg), src: Operand::Imm(value), .. } = inst.op
                && writes[reg as usize] == 1
            {
                constants[reg as usize] = Some(value);
            }
        }
        Constants(constants)
    }

    fn fill_in(&self, inst: &mut Inst) {
        for mut operand in inst.operands_mut() {
            if let PlaceMut::Value(place) = &mut operand.place
                && let Operand::Reg(Reg(reg)) = **place
                && let Some(value) = self.0[reg as usize]
            {
                **place = Operand::Imm(value);
            }
        }
    }
}
