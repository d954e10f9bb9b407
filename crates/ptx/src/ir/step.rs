//! Single instructions that one executor has another one run: what is handed over for each, and how.

use super::module::Inst;
use super::operand::{FunctionId, Reg};
use super::operands::Role;

/// An instruction, and the registers that it reads and writes, each once: they are handed over in this order, results behind operands, each in a place of
/// [`Step::PLACE_WORDS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The function in whose body it is.
    pub function: FunctionId,
    /// Its number there.
    pub inst: u32,
    /// What it reads, but its guard.
    pub reads: Vec<Reg>,
    /// What it writes.
    pub writes: Vec<Reg>,
    /// Of a product of matrices, whether the factors on the left and on the right are what they were in a step before: those are not handed over again.
    pub kept: [bool; 2],
}

impl Step {
    /// Words of 64 bits that a register takes where operands and results are handed over: one for each lane. Of a register with up to 32 bits the lanes'
    /// words of 32 bits stand one behind the other; a predicate is one word of 32 bits with a bit for each lane.
    pub const PLACE_WORDS: usize = 32;

    /// The step that is instruction `number` of a function's body.
    pub fn of(function: FunctionId, number: u32, inst: &Inst) -> Step {
        let mut step = Step { function, inst: number, reads: Vec::new(), writes: Vec::new(), kept: [false; 2] };
        for operand in inst.operands() {
            if operand.role == Role::Guard {
                continue;
            }
            if let Some(reg) = operand.read().filter(|reg| !step.reads.contains(reg)) {
                step.reads.push(reg);
            }
            if let Some(reg) = operand.def().filter(|reg| !step.writes.contains(reg)) {
                step.writes.push(reg);
            }
        }
        step
    }
}
