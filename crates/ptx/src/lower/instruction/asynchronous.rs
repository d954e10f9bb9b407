//! Asynchronous copies (PTX ISA 9.7.9.25).

use super::super::body::{BodyLowering, Lower};
use super::super::operand::Value;
use super::Args;
use crate::diagnostic::Code;
use crate::ir::{AsyncOp, AtomicOp, Op, Operand, Regs, ScalarType, Space};
use crate::isa::{Modifiers, Opcode};
use crate::syntax::Span;
use crate::syntax::ast;

/// A space of shared or global memory.
pub(super) fn space_word(word: &str) -> Option<Space> {
    match word {
        "shared" | "shared::cta" => Some(Space::Shared),
        "shared::cluster" => Some(Space::SharedCluster),
        "global" => Some(Space::Global),
        _ => None,
    }
}

/// How many groups `cp.async.wait_group` leaves pending. Any number is taken: of 32 bits, as the assembler encodes it, 63 stand for all that
/// there can be and those below 0 count from 64 down.
fn pending_groups(count: u64) -> u32 {
    const MOST: i32 = 63;
    match count as u32 as i32 {
        below @ ..0 => (below & MOST) as u32,
        count => count.min(MOST) as u32,
    }
}

impl BodyLowering<'_, '_> {
    /// `cp.async.*` and `cp.reduce.async.bulk`.
    pub(super) fn asynchronous(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Option<Op>> {
        if m.has("tensor") {
            return self.tensor(m, args, span);
        }
        let op = match () {
            () if m.has("commit_group") && m.has("bulk") => AsyncOp::BulkCommitGroup,
            () if m.has("commit_group") => AsyncOp::CommitGroup,
            () if m.has("wait_group") && m.has("bulk") => {
                AsyncOp::BulkWaitGroup { read: m.has("read"), pending: self.count(args.constant(0), span)? }
            }
            () if m.has("wait_group") => AsyncOp::WaitGroup(Some(pending_groups(args.constant(0)))),
            () if m.has("wait_all") => AsyncOp::WaitGroup(None),
            () if m.has("mbarrier") => {
                let place = *args.place(0);
                let space = self.agree(super::space(m), &place)?;
                AsyncOp::MbarrierArrive { noinc: m.has("noinc"), space, addr: place.address }
            }
            () if m.has("bulk") && m.has("prefetch") => {
                let src = *args.place(0);
                self.access(Space::Global, &src)?;
                AsyncOp::BulkPrefetch { src: src.address, size: args.src(1), policy: args.optional(2) }
            }
            () if m.has("bulk") => self.bulk(m, args, span)?,
            () => self.copy(m, args, span)?,
        };
        Ok(Some(Op::Async(Box::new(op))))
    }

    /// `st.async` and `red.async` to the shared memory of a CTA of the cluster (9.7.9.12, 9.7.13.7). Those to global memory (`.mmio`) are stores and
    /// reductions like all others: an asynchronous one may be done when it is issued.
    pub(super) fn remote(&mut self, opcode: Opcode, m: &Modifiers, args: Args<'_>) -> Lower<Option<Op>> {
        let (dst, mbarrier) = (*args.place(0), *args.place(2));
        self.agree(Space::SharedCluster, &dst)?;
        self.agree(Space::SharedCluster, &mbarrier)?;
        let ty = super::ty(m);
        let (dst, mbarrier) = (dst.address, mbarrier.address);
        let op = match opcode {
            // Of 128 bits: both words of it.
            Opcode::St if ty == ScalarType::B128 => {
                let words = [(); 2].map(|()| self.fresh(ScalarType::B64));
                self.emit(Op::Unpack { ty, dst: Regs::from_slice(&words), src: args.src(1) });
                let (ty, src) = (ScalarType::B64, words.into_iter().map(Operand::Reg).collect());
                AsyncOp::Store { ty, from: ty, src, dst, mbarrier }
            }
            Opcode::St => {
                let (from, src) = self.stored(ty, args.srcs(1));
                AsyncOp::Store { ty, from, src, dst, mbarrier }
            }
            _ => {
                let op = m.find(AtomicOp::from_text).unwrap_or(AtomicOp::Add);
                AsyncOp::Reduce { op, ty, src: args.src(1), dst, mbarrier }
            }
        };
        Ok(Some(Op::Async(Box::new(op))))
    }

    /// `st.bulk` (9.7.9.13): the value must be zero.
    pub(super) fn clear(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Op> {
        let place = *args.place(0);
        let space = self.agree(super::space(m), &place)?;
        let Some(size) = args.raw(1).copied() else {
            return self.refuse(Code::Operand, span, "Arguments mismatch for instruction 'st.bulk'");
        };
        self.argument = 1;
        let size = self.source(&size, ScalarType::U64, false)?;
        self.check_constant(2, args.constant(2), 0..=0, span)?;
        Ok(Op::Async(Box::new(AsyncOp::Clear { dst: place.address, space, size })))
    }

    fn count(&mut self, value: u64, span: Span) -> Lower<u32> {
        match u32::try_from(value) {
            Ok(count) => Ok(count),
            Err(_) => self.refuse(Code::Operand, span, "Number of groups is out of range"),
        }
    }

    fn copy(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<AsyncOp> {
        let (dst, src) = (*args.place(0), *args.place(1));
        self.agree(Space::Shared, &dst)?;
        self.access(Space::Global, &src)?;
        let size = args.constant(2);
        let possible = if m.has("cg") { size == 16 } else { matches!(size, 4 | 8 | 16) };
        if !possible {
            return self.refuse(Code::Operand, span, format!("Copy size {size} is not possible for this 'cp.async'"));
        }
        let (mut src_size, mut ignore_src) = (None, None);
        // Behind the size: the bytes to read or a predicate; then, with `.L2::cache_hint`, the policy.
        let hints = usize::from(m.has("L2::cache_hint"));
        let written: Vec<ast::Operand> = (3..args.0.len()).filter_map(|index| args.raw(index).copied()).collect();
        if !(hints..=hints + 1).contains(&written.len()) {
            return self.mismatch(
                span,
                format_args!("{} operands behind the size, {hints} or {} expected", written.len(), hints + 1),
            );
        }
        if written.len() > hints
            && let Some(operand) = written.first()
        {
            self.argument = 3;
            if self.is_predicate(operand) {
                ignore_src = Some(self.predicate(operand)?);
            } else {
                src_size = Some(self.source(operand, ScalarType::U32, false)?);
            }
        }
        Ok(AsyncOp::Copy { dst: dst.address, src: src.address, size: size as u32, src_size, ignore_src })
    }

    fn is_predicate(&mut self, operand: &ast::Operand) -> bool {
        use super::super::scope::Symbol;
        match operand.kind {
            ast::OperandKind::Not(_) => true,
            ast::OperandKind::Name(name) => match self.symbol(name) {
                Some(Symbol::Reg(reg)) => self.body.regs[reg.0 as usize].ty == ScalarType::Pred,
                _ => false,
            },
            _ => false,
        }
    }

    fn bulk(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<AsyncOp> {
        self.check_order(m, span)?;
        let mut spaces = m.all(space_word);
        let (Some(dst_space), Some(src_space)) = (spaces.next(), spaces.next()) else {
            return self.refuse(Code::Modifier, span, "State spaces required for instruction 'cp.async.bulk'");
        };
        let (dst, src, size) = (*args.place(0), *args.place(1), args.src(2));
        self.access(dst_space, &dst)?;
        self.access(src_space, &src)?;
        if let Operand::Imm(bytes) = size
            && bytes % 16 != 0
        {
            return self.refuse(Code::Operand, span, format!("Size {bytes} of a bulk copy is no multiple of 16"));
        }
        let left_out = m.has("ignore_oob");
        let [left_out_before, left_out_behind] = [3, 4].map(|index| left_out.then(|| args.src(index)));
        for (index, operand) in [(3, left_out_before), (4, left_out_behind)] {
            if let Some(Operand::Imm(bytes)) = operand
                && bytes >= 16
            {
                let text = format!(
                    "Argument {index} of instruction 'cp.async.bulk': value '{bytes}' out of range, expected to be in range [0..15]"
                );
                return self.refuse(Code::Operand, span, text);
            }
        }
        // Where what follows these operands begins.
        let rest = if left_out { 5 } else { 3 };
        let mbarrier = match args.0.get(rest) {
            Some(Value::Place(place)) => {
                let place = *place;
                self.agree(Space::Shared, &place)?;
                Some(place.address)
            }
            _ => None,
        };
        let written: Vec<ast::Operand> = (rest..args.0.len()).filter_map(|index| args.raw(index).copied()).collect();
        let wanted = ["multicast::cluster", "L2::cache_hint", "cp_mask"].into_iter().filter(|word| m.has(word));
        let expected = wanted.clone().count();
        if !matches!(args.0.get(rest), Some(Value::Src(_))) && written.len() != expected {
            return self
                .mismatch(span, format_args!("{} operands for modifiers given, {expected} expected", written.len()));
        }
        let (mut multicast, mut byte_mask) = (None, None);
        for (word, operand) in wanted.zip(&written) {
            match word {
                "multicast::cluster" => multicast = Some(self.source(operand, ScalarType::B16, false)?),
                "cp_mask" => byte_mask = Some(self.source(operand, ScalarType::B16, false)?),
                _ => _ = self.source(operand, ScalarType::B64, false)?,
            }
        }
        let reduce = if m.has("reduce") { m.find(AtomicOp::from_text).zip(m.ty(0)) } else { None };
        let (dst, src) = (dst.address, src.address);
        Ok(AsyncOp::Bulk {
            reduce,
            scope: super::scope(m),
            dst_space,
            src_space,
            dst,
            src,
            size,
            mbarrier,
            multicast,
            byte_mask,
            left_out_before,
            left_out_behind,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::pending_groups;

    #[test]
    fn numbers_of_groups_are_those_that_ptxas_encodes() {
        // Each line: numbers for which ptxas 13.5 writes the same code.
        for equal in [&[63_i64, 64, 100, -1, 0xffff_ffff][..], &[0, -0x8000_0000, 0x8000_0000], &[62, -2], &[7]] {
            let groups: Vec<u32> = equal.iter().map(|number| pending_groups(*number as u64)).collect();
            assert!(groups.iter().all(|group| i64::from(*group) == equal[0]), "{equal:?}: {groups:?}");
        }
    }
}
