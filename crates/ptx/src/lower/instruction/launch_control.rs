//! `clusterlaunchcontrol` (PTX ISA 9.7.13.16, 9.7.13.17).
//!
//! A response has four words: the first CTA's coordinates, and whether its cluster was cancelled.

use super::super::body::{BodyLowering, Lower};
use super::Args;
use crate::ir::{AsyncOp, Compare, Op, Operand, Reg, Regs, ScalarType};
use crate::isa::Modifiers;

impl BodyLowering<'_, '_> {
    pub(super) fn launch_control(&mut self, m: &Modifiers, args: Args<'_>) -> Lower<Op> {
        if m.has("try_cancel") {
            let (dst, mbarrier) = (*args.place(0), *args.place(1));
            let space = self.agree(super::space(m), &dst)?;
            self.agree(super::space(m), &mbarrier)?;
            let (dst, mbarrier) = (dst.address, mbarrier.address);
            let multicast = m.has("multicast::cluster::all");
            return Ok(Op::Async(Box::new(AsyncOp::TryCancel { space, dst, mbarrier, multicast })));
        }
        let response = args.src(1);
        let words = |words: [Reg; 4]| Op::Unpack { ty: ScalarType::B128, dst: Regs::from_slice(&words), src: response };
        let fresh = [(); 4].map(|()| self.fresh(ScalarType::B32));
        if m.has("is_canceled") {
            self.emit(words(fresh));
            return Ok(Op::Setp {
                cmp: Compare::Ne,
                ftz: false,
                ty: ScalarType::B32,
                combine: None,
                dst_p: args.dst(0),
                dst_q: None,
                a: Operand::Reg(fresh[3]),
                b: Operand::Imm(0),
            });
        }
        let coordinate = ["get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z"];
        match coordinate.iter().position(|word| m.has(word)) {
            Some(axis) => {
                let mut to = fresh;
                to[axis] = args.dst(0);
                Ok(words(to))
            }
            None => Ok(Op::Unpack { ty: ScalarType::B128, dst: args.dsts(0), src: response }),
        }
    }
}
