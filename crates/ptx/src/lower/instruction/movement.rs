//! `mov` in all its shapes (PTX ISA 9.7.9.3, 9.7.9.4) and exchange among lanes (9.7.9.6, 9.7.13).

use super::super::body::{BodyLowering, Lower};
use super::{Args, ty};
use crate::diagnostic::Code;
use crate::ir::{Op, Operand, Operands, PrmtMode, ReduxOp, Reg, Regs, ScalarType, ShflMode, VoteMode};
use crate::isa::{Modifiers, Opcode};
use crate::syntax::Span;
use crate::syntax::ast::{self, OperandKind};

impl BodyLowering<'_, '_> {
    pub(super) fn mov(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Op> {
        let ty = ty(m);
        let (Some(dst), Some(src)) = (args.raw(0).copied(), args.raw(1).copied()) else {
            return self.refuse(Code::Operand, span, "Arguments mismatch for instruction 'mov'");
        };
        let count = m.vector();
        if count > 1 && ty == ScalarType::Pred {
            return self.refuse(Code::Modifier, span, "Vector qualifier is not allowed for instruction 'mov' of .pred");
        }
        if ty.bits() * count as u32 > 128 {
            return self.refuse(Code::Modifier, span, "Vector type too large, exceeds 128 bit limit");
        }
        if count > 1 {
            return self.mov_vector(ty, count, &dst, &src);
        }
        match (self.vector_register(&dst), self.vector_register(&src)) {
            (None, None) => {}
            (Some(regs), None) => {
                let element = self.part_type(ty, regs.len(), dst.span)?;
                let dst = self.all_of(&regs, element, false, dst.span)?;
                self.argument = 1;
                let src = self.source(&src, ty, false)?;
                return Ok(Op::Unpack { ty, dst, src });
            }
            (None, Some(regs)) => {
                let element = self.part_type(ty, regs.len(), src.span)?;
                self.argument = 0;
                let dst = self.destination(&dst, ty, false)?;
                let elements = self.all_of(&regs, element, false, src.span)?;
                return Ok(Op::Pack { ty, dst, elements: elements.into_iter().map(Operand::Reg).collect() });
            }
            (Some(_), Some(_)) => return self.mismatch(src.span, "a vector is moved as one: mov.v2, mov.v4"),
        }
        match (dst.kind, src.kind) {
            (OperandKind::Vector(elements), _) => {
                let place = dst.span;
                let element = self.part_type(ty, elements.len(), place)?;
                self.argument = 1;
                let src = self.source(&src, ty, false)?;
                let relaxed = element.bits() < 16;
                let dst: Regs =
                    self.elements(elements, place, element, |body, e, ty| body.destination(e, ty, relaxed))?;
                let dst = dst.into_iter().map(|reg| self.narrow_destination(element, reg)).collect();
                Ok(Op::Unpack { ty, dst, src })
            }
            (_, OperandKind::Vector(elements)) => {
                let element = self.part_type(ty, elements.len(), src.span)?;
                self.argument = 0;
                let dst = self.destination(&dst, ty, false)?;
                let relaxed = element.bits() < 16;
                // Constants alone are not packed as bits (ptxas 13.5).
                let ast = self.l.ast;
                let has_register = ast[elements].iter().any(|element| self.named_register(element).is_some());
                let values: Operands =
                    self.elements(elements, src.span, element, |body, e, ty| match has_register {
                        true => body.element_source(e, ty, relaxed),
                        false => body.source(e, ty, relaxed),
                    })?;
                let elements = values.into_iter().map(|value| self.narrow_source(element, value)).collect();
                Ok(Op::Pack { ty, dst, elements })
            }
            _ => {
                self.argument = 0;
                let dst = self.destination(&dst, ty, false)?;
                self.argument = 1;
                let src = self.source(&src, ty, false)?;
                Ok(self.retarget(dst, src).unwrap_or(Op::Mov { ty, dst, src }))
            }
        }
    }

    /// If `src` is a fresh register that the last instruction reads a special register or an address into, takes that
    /// instruction back and gives it with `dst` as its destination.
    fn retarget(&mut self, dst: Reg, src: Operand) -> Option<Op> {
        let fresh = src.reg().filter(|reg| reg.0 as usize + 1 == self.body.regs.len())?;
        let insts = &mut self.blocks.last_mut()?.insts;
        let op = match &insts.last()?.op {
            Op::ReadSpecial { ty, dst: written, reg } if *written == fresh => {
                Op::ReadSpecial { ty: *ty, dst, reg: *reg }
            }
            Op::AddressOf { ty, dst: written, target, offset } if *written == fresh => {
                Op::AddressOf { ty: *ty, dst, target: *target, offset: *offset }
            }
            _ => return None,
        };
        insts.pop();
        self.body.regs.pop();
        Some(op)
    }

    /// The type of the elements that a value of `ty` is packed from.
    fn part_type(&mut self, ty: ScalarType, count: usize, span: Span) -> Lower<ScalarType> {
        let element = match (ty, count) {
            (ScalarType::B16, 2) | (ScalarType::B32, 4) => ScalarType::B8,
            (ScalarType::B32, 2) | (ScalarType::B64, 4) => ScalarType::B16,
            (ScalarType::B64, 2) | (ScalarType::B128, 4) => ScalarType::B32,
            (ScalarType::B128, 2) => ScalarType::B64,
            (_, count) => {
                return self.mismatch(span, format_args!("{count} elements do not make a .{ty}"));
            }
        };
        Ok(element)
    }

    /// `mov.v4.u32 {a, b, c, d}, {e, f, g, h}`, or `%tid` as the source: one move per element.
    fn mov_vector(&mut self, ty: ScalarType, count: usize, dst: &ast::Operand, src: &ast::Operand) -> Lower<Op> {
        let special = match src.kind {
            OperandKind::Name(name) => self.l.text(name).strip_prefix('%'),
            _ => None,
        };
        self.argument = 0;
        let dsts = self.destinations(dst, ty, count, false)?;
        self.argument = 1;
        let specials: Option<Vec<_>> = special.and_then(|text| {
            let part = |axis| crate::ir::SpecialReg::from_text(&format!("{text}.{axis}"));
            ["x", "y", "z"].into_iter().map(part).collect()
        });
        let values: Vec<Operand> = match specials {
            Some(specials) => (0..count)
                .map(|at| match specials.get(at) {
                    Some(reg) => {
                        let dst = self.fresh(ty);
                        self.emit(Op::ReadSpecial { ty, dst, reg: *reg });
                        Operand::Reg(dst)
                    }
                    // The fourth component of %tid and the like is zero.
                    None => Operand::Imm(0),
                })
                .collect(),
            None => {
                // Sources are read before destinations are written.
                let sources = self.sources(src, ty, count, false)?;
                sources
                    .into_iter()
                    .map(|src| {
                        let dst = self.fresh(ty);
                        self.emit(Op::Mov { ty, dst, src });
                        Operand::Reg(dst)
                    })
                    .collect()
            }
        };
        // None of them is a predicate, so that the guard stays what it is.
        let mut moves = dsts.into_iter().zip(values).map(|(dst, src)| Op::Mov { ty, dst, src });
        let last = moves.next_back();
        for op in moves {
            self.emit(op);
        }
        last.map_or_else(|| self.mismatch(dst.span, "a vector is required"), Ok)
    }

    /// Instructions that exchange values among the lanes of a warp, and `prmt`.
    pub(super) fn exchange(&mut self, opcode: Opcode, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Op> {
        let sync = m.has("sync");
        let all = Operand::Imm(u64::from(u32::MAX));
        // PTX ISA 9.7.9.5: gone from 6.4 on for sm_70 and later.
        if matches!(opcode, Opcode::Shfl | Opcode::Vote)
            && !sync
            && self.l.module.target.sm >= 70
            && self.l.module.version >= (6, 4)
        {
            let message = format!(
                "Instruction '{}' without '.sync' is not supported on .target sm_70 and higher from PTX ISA version 6.4",
                self.opcode()
            );
            return self.refuse(Code::Requirement, span, message);
        }
        Ok(match opcode {
            Opcode::Shfl => {
                let mode = m.find(ShflMode::from_text).unwrap_or(ShflMode::Idx);
                let (dst, dst_p) = args.pair(0);
                let membermask = if sync { args.src(4) } else { all };
                Op::Shfl { mode, sync, dst, dst_p, a: args.src(1), b: args.src(2), c: args.src(3), membermask }
            }
            Opcode::Prmt => {
                let mode = m.find(PrmtMode::from_text).unwrap_or(PrmtMode::Index);
                Op::Prmt { mode, dst: args.dst(0), a: args.src(1), b: args.src(2), selector: args.src(3) }
            }
            Opcode::Vote => {
                let mode = m.find(VoteMode::from_text).unwrap_or(VoteMode::All);
                let membermask = if sync { args.src(2) } else { all };
                Op::Vote { mode, sync, dst: args.dst(0), src: args.pred(1), membermask }
            }
            Opcode::Match => {
                let is_all = m.has("all");
                let (dst, dst_p) = if is_all { args.pair(0) } else { (args.dst(0), None) };
                Op::Match { all: is_all, ty: ty(m), dst, dst_p, a: args.src(1), membermask: args.src(2) }
            }
            Opcode::Redux => {
                let op = m.find(ReduxOp::from_text).unwrap_or(ReduxOp::Add);
                let (abs, nan) = (m.has("abs"), m.has("NaN"));
                Op::Redux { op, ty: ty(m), abs, nan, dst: args.dst(0), a: args.src(1), membermask: args.src(2) }
            }
            Opcode::Elect => {
                let (dst, dst_p) = args.pair(0);
                let dst_p = dst_p.unwrap_or_else(|| self.fresh(ScalarType::Pred));
                Op::Elect { dst, dst_p, membermask: args.src(1) }
            }
            _ => Op::Activemask { dst: args.dst(0) },
        })
    }
}
