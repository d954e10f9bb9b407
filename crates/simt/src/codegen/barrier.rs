//! What threads tell each other at a barrier: `bar.red` (PTX ISA 9.7.13.1). Each gang adds its part to a place of the CTA, and reads the sum behind the barrier.

use warploom_ptx::ir::{BarrierOp, BarrierReduction, Op};

use super::context;
use super::function::{Val, Writer};
use super::names::Ty;

impl Writer<'_> {
    /// In front of a barrier: how many lanes it is true for, or for `.and` false.
    pub(super) fn add_reduction(&mut self, barrier: u32) -> Result<(), String> {
        let Some(offset) = self.plan.reduction(barrier) else { return Ok(()) };
        let inst = &self.body().insts[barrier as usize];
        let Op::Barrier(BarrierOp::Reduce { op, src, .. }) = &inst.op else { return Err(self.lacks(inst)) };
        let holds = self.predicate(*src);
        let mut holds = self.splat(&holds);
        if *op == BarrierReduction::And {
            let ones = self.constant(holds.ty, 1);
            holds = self.binary("xor", &holds, &ones);
        }
        let mask = self.mask_value();
        let both = self.binary("and", &mask, &holds);
        let bits = self.bits_of(&both.text);
        let bits = self.resize(&bits, 32, false);
        let count = self.intrinsic("ctpop", &[&bits]);
        let frames = self.pointer(context::FRAMES);
        let at = self.offset(&frames, offset);
        let before = self.set(Ty::int(32, 0), format!("load i32, ptr {at}, !tbaa !9"));
        let sum = self.binary("add", &before, &count);
        self.line(format!("store i32 {}, ptr {at}, !tbaa !9", sum.text));
        Ok(())
    }

    /// Behind it: what came of it.
    pub(super) fn reduced_value(&mut self, barrier: u32) -> Result<(), String> {
        if self.plan.reduction(barrier).is_none() {
            return Ok(());
        }
        self.inst = barrier;
        self.values = self.plan.info.values.of_inst(barrier);
        let inst = &self.body().insts[barrier as usize];
        let Op::Barrier(BarrierOp::Reduce { op, .. }) = &inst.op else { return Err(self.lacks(inst)) };
        let sum = Val { ty: Ty::int(32, 0), text: "%reduced".to_owned() };
        let zero = self.constant(sum.ty, 0);
        let value = match op {
            BarrierReduction::Popc => sum,
            BarrierReduction::Or => self.compare("ne", &sum, &zero),
            BarrierReduction::And => self.compare("eq", &sum, &zero),
        };
        self.write(inst, 0, &value, false)
    }
}
