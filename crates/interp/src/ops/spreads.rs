//! Looking ahead at how addresses lie that stay the same for a launch or a CTA.

use std::marker::PhantomData;

use warploom_exec::memory::spread;

use crate::frame::Word;
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine};
use crate::program::Inst;

/// Remembers in slot `d` how the addresses in row `a` lie for accesses of `imm` bytes.
pub(crate) struct Look<B>(PhantomData<B>);

impl<B: Word + Into<u64>> LaneOp for Look<B> {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, _: u32) -> Flow {
        machine.frame.spreads[inst.d as usize] = spread(B::row(&machine.frame, inst.a), u64::from(inst.imm));
        Flow::Next
    }
}
