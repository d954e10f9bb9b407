//! Asynchronous copies of single threads as what they do: loads and stores.
//!
//! They may be done when they are issued (PTX ISA 9.7.9.25.3), and are in the interpreter too. What fills up with zeros stores them where nothing is to be
//! read; where a part is, it stays what it is.

use warploom_ptx::ir::{
    AsyncOp, Body, BoolOp, Compare, Inst, IntBinaryOp, LogicOp, Op, Operand, Predicate, Reg, RegDecl, ScalarType,
    Scope, Semantics, Space,
};

/// Puts loads and stores in place of `cp.async`.
pub(super) fn replace(body: &mut Body) {
    let copies = |inst: &Inst| matches!(&inst.op, Op::Async(op) if matches!(**op, AsyncOp::Copy { .. }));
    if !body.insts.iter().any(copies) {
        return;
    }
    let mut new = Expansion { insts: Vec::with_capacity(body.insts.len()), regs: std::mem::take(&mut body.regs) };
    for block in &mut body.blocks {
        let old = block.insts.start as usize..block.insts.end as usize;
        block.insts.start = new.insts.len() as u32;
        for inst in &body.insts[old] {
            match &inst.op {
                Op::Async(op) if matches!(**op, AsyncOp::Copy { .. }) => new.copy(inst, op),
                _ => new.insts.push(inst.clone()),
            }
        }
        block.insts.end = new.insts.len() as u32;
    }
    (body.insts, body.regs) = (new.insts, new.regs);
}

/// How much a copy reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    All,
    Nothing,
    /// As many bytes as the operand says, all of them at most.
    Said(Operand),
}

/// None of a part.
fn reads(size: u32, src_size: Option<Operand>) -> Option<Reads> {
    match src_size {
        None => Some(Reads::All),
        Some(Operand::Imm(bytes)) if bytes as u32 >= size => Some(Reads::All),
        Some(Operand::Imm(bytes)) => (bytes as u32 == 0).then_some(Reads::Nothing),
        Some(bytes) => Some(Reads::Said(bytes)),
    }
}

/// Whether nothing is left of a copy behind [`replace`] but loads and stores.
pub(crate) fn copies_whole_words(size: u32, src_size: Option<Operand>) -> bool {
    matches!(reads(size, src_size), Some(Reads::All | Reads::Nothing))
}

/// A body in which copies are replaced.
struct Expansion {
    insts: Vec<Inst>,
    regs: Vec<RegDecl>,
}

impl Expansion {
    fn copy(&mut self, inst: &Inst, op: &AsyncOp) {
        let AsyncOp::Copy { dst, src, size, src_size, ignore_src } = *op else { return };
        let Some(reads) = reads(size, src_size) else { return self.insts.push(inst.clone()) };
        let (ty, semantics, scope, cache) = (ScalarType::B32, Semantics::Weak, Scope::Sys, None);
        let words: Vec<Reg> = (0..size / 4).map(|_| self.register(ty)).collect();
        let always = reads == Reads::All && ignore_src.is_none();
        if !always {
            words.iter().for_each(|dst| self.push(inst, Op::Mov { ty, dst: *dst, src: Operand::Imm(0) }, None));
        }
        if reads != Reads::Nothing {
            let guard = match (reads, ignore_src) {
                (Reads::Said(bytes), _) => self.all_hold(inst, (Compare::Ge, bytes, size), ignore_src),
                (_, Some(_)) => self.all_hold(inst, (Compare::Eq, Operand::Imm(0), 0), ignore_src),
                _ => inst.guard,
            };
            let load = Op::Ld {
                space: Space::Global,
                ty,
                to: ty,
                semantics,
                scope,
                nc: false,
                cache,
                unified: false,
                dst: words.iter().copied().collect(),
                addr: src,
            };
            self.push(inst, load, guard);
        }
        let src = words.into_iter().map(Operand::Reg).collect();
        let store = Op::St { space: Space::Shared, ty, from: ty, semantics, scope, cache, src, addr: dst };
        self.push(inst, store, inst.guard);
        if let Reads::Said(bytes) = reads {
            let (ty, less) = (ScalarType::U32, self.register(ScalarType::U32));
            let one = Op::IntBinary {
                op: IntBinaryOp::Sub,
                ty,
                sat: false,
                relu: false,
                dst: less,
                a: bytes,
                b: Operand::Imm(1),
            };
            self.push(inst, one, None);
            let guard = self.all_hold(inst, (Compare::Lt, Operand::Reg(less), size - 1), ignore_src);
            self.push(inst, inst.op.clone(), guard);
        }
    }

    /// Where the instruction is carried out, nothing is ignored and a comparison of `.u32` holds.
    fn all_hold(
        &mut self,
        inst: &Inst,
        (cmp, a, b): (Compare, Operand, u32),
        ignored: Option<Predicate>,
    ) -> Option<Predicate> {
        let heeded = ignored.map(|ignored| Predicate { negated: !ignored.negated, ..ignored });
        let mut test = |with: Option<Predicate>| {
            let (ty, dst_p) = (ScalarType::U32, self.register(ScalarType::Pred));
            let combine = with.map(|with| (BoolOp::And, with));
            let op = Op::Setp { cmp, ftz: false, ty, combine, dst_p, dst_q: None, a, b: Operand::Imm(b.into()) };
            self.push(inst, op, None);
            dst_p
        };
        let reg = match (inst.guard, heeded) {
            (Some(guard), Some(heeded)) => {
                let [a, b] = [test(Some(guard)), test(Some(heeded))].map(Operand::Reg);
                let dst = self.register(ScalarType::Pred);
                self.push(inst, Op::Logic { op: LogicOp::And, ty: ScalarType::Pred, dst, a, b }, None);
                dst
            }
            (guard, heeded) => test(guard.or(heeded)),
        };
        Some(Predicate { reg, negated: false })
    }

    fn push(&mut self, inst: &Inst, op: Op, guard: Option<Predicate>) {
        self.insts.push(Inst { op, guard, ..inst.clone() });
    }

    fn register(&mut self, ty: ScalarType) -> Reg {
        self.regs.push(RegDecl { name: "".into(), ty });
        Reg(self.regs.len() as u32 - 1)
    }
}
