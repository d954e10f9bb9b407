//! Loads, stores, atomics and address conversion (PTX ISA 9.7.9.8 to 9.7.9.24, 9.7.13.5).

use super::super::address::Place;
use super::super::body::{BodyLowering, Lower, ParamRole};
use super::super::scope::Symbol;
use super::{Args, scope, semantics, space, ty};
use crate::diagnostic::Code;
use crate::ir::{
    Address, AtomicOp, Base, CacheHint, CacheOp, Op, Operand, Operands, PolicySource, ScalarType, Scope, Semantics,
    Space,
};
use crate::isa::{Modifiers, Opcode};
use crate::syntax::Span;
use crate::syntax::ast::OperandKind;

impl BodyLowering<'_, '_> {
    pub(super) fn memory(&mut self, opcode: Opcode, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Option<Op>> {
        let op = match opcode {
            Opcode::St if m.has("bulk") => return self.clear(m, args, span).map(Some),
            Opcode::St | Opcode::Red if m.has("mbarrier::complete_tx::bytes") => return self.remote(opcode, m, args),
            Opcode::Ld | Opcode::Ldu => {
                let place = *args.place(1);
                let space = self.access(space(m), &place)?;
                self.check_guard(&place)?;
                self.check_function_param(m, &place)?;
                let (semantics, scope) = self.order(m, span)?;
                self.check_width(m, space, span)?;
                let (nc, cache) = (m.has("nc"), m.find(CacheOp::from_text));
                let (ty, addr, unified) = (ty(m), place.address, place.unified);
                let (to, dst) = self.loaded(ty, args.dsts(0));
                Op::Ld { space, ty, to, semantics, scope, nc, cache, unified, dst, addr }
            }
            Opcode::St => {
                let place = *args.place(0);
                let space = self.access(space(m), &place)?;
                self.check_store(space, &place)?;
                self.check_guard(&place)?;
                self.check_function_param(m, &place)?;
                self.check_width(m, space, span)?;
                let (semantics, scope) = self.order(m, span)?;
                let (ty, cache) = (ty(m), m.find(CacheOp::from_text));
                let (from, all) = self.stored(ty, args.srcs(1));
                let store = |(src, addr)| Op::St { space, ty, from, semantics, scope, cache, src, addr };
                let mut parts = stored_parts(&all, self.left_out, ty, place.address).into_iter().map(store);
                let first = parts.next();
                self.after.extend(parts);
                return Ok(first);
            }
            Opcode::Prefetch | Opcode::Prefetchu | Opcode::Applypriority | Opcode::Discard => {
                let place = *args.place(0);
                let space = self.access(space(m), &place)?;
                let kind = match opcode {
                    Opcode::Prefetch => CacheHint::Prefetch,
                    Opcode::Prefetchu => CacheHint::PrefetchUniform,
                    Opcode::Applypriority => CacheHint::ApplyPriority,
                    _ => CacheHint::Discard,
                };
                if matches!(opcode, Opcode::Applypriority | Opcode::Discard) {
                    self.check_constant(1, args.constant(1), 128..=128, span)?;
                }
                Op::CacheHint { kind, space, addr: place.address }
            }
            Opcode::Createpolicy => {
                let source = Box::new(self.policy(m, args, span)?);
                Op::CreatePolicy { source, dst: args.dst(0) }
            }
            Opcode::Isspacep => {
                let Some(operand) = args.raw(1).copied() else {
                    return self.refuse(Code::Operand, span, "Arguments mismatch for instruction 'isspacep'");
                };
                let narrow = matches!(operand.kind, OperandKind::Name(name)
                    if matches!(self.symbol(name), Some(Symbol::Reg(reg)) if self.body.regs[reg.0 as usize].ty.bits() == 32));
                let ty = if narrow { ScalarType::U32 } else { ScalarType::U64 };
                let a = self.source(&operand, ty, false)?;
                Op::Isspacep { space: space(m), ty, dst: args.dst(0), a }
            }
            Opcode::Cvta => {
                let (to_generic, space, ty) = (!m.has("to"), space(m), ty(m));
                Op::Cvta { to_generic, space, ty, dst: args.dst(0), a: args.src(1) }
            }
            Opcode::Mapa => {
                Op::Mapa { space: space(m), ty: ty(m), dst: args.dst(0), a: args.src(1), rank: args.src(2) }
            }
            Opcode::Getctarank => Op::GetCtaRank { space: space(m), ty: ty(m), dst: args.dst(0), a: args.src(1) },
            _ => return self.atomic(opcode, m, args).map(Some),
        };
        Ok(Some(op))
    }

    fn policy(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<PolicySource> {
        if m.has("cvt") {
            return Ok(PolicySource::Convert { property: args.src(1) });
        }
        if m.has("fractional") {
            return Ok(PolicySource::Fractional { fraction: args.optional(1) });
        }
        let place = *args.place(1);
        self.access(space(m), &place)?;
        let (Some(primary), Some(total)) = (args.raw(2).copied(), args.raw(3).copied()) else {
            return self.refuse(Code::Operand, span, "Arguments mismatch for instruction 'createpolicy'");
        };
        self.argument = 2;
        let primary = self.source(&primary, ScalarType::U32, false)?;
        self.argument = 3;
        let total = self.source(&total, ScalarType::U32, false)?;
        Ok(PolicySource::Range { addr: place.address, primary, total })
    }

    /// The space of an access, checked against the variable and the register that stand in its address.
    pub(super) fn access(&mut self, space: Space, place: &Place) -> Lower<Space> {
        let space = self.agree(space, place)?;
        if place.address.base == Base::Absolute && space != Space::Local {
            let message = "Immediate addresses allowed only for .local state space";
            return self.refuse(Code::Operand, place.span, message);
        }
        if let Address { base: Base::Reg(reg), .. } = place.address
            && matches!(space, Space::Generic | Space::Global)
            && self.body.regs[reg.0 as usize].ty.bits() == 32
            && self.l.module.address_size == 64
        {
            let message = "32-bit address in a 64-bit address space: the register must be .u64";
            return self.refuse(Code::Operand, place.span, message);
        }
        Ok(space)
    }

    fn check_store(&mut self, space: Space, place: &Place) -> Lower<()> {
        if space == Space::Const {
            return self.refuse(
                Code::Operand,
                place.span,
                "State space incorrect for instruction 'st': .const cannot be written",
            );
        }
        if let OperandKind::Name(name) = place.base.kind
            && let Some(Symbol::Param(index)) = self.symbol(name)
            && self.params[index as usize].role == ParamRole::Input
        {
            let text = self.l.text(name);
            let message = format!("Illegal to write to function input parameter '{text}'");
            return self.refuse(Code::Operand, place.span, message);
        }
        Ok(())
    }

    /// Arguments and results of a call are there for all threads that call (PTX ISA 5.1.6.3).
    fn check_guard(&mut self, place: &Place) -> Lower<()> {
        if self.guard.is_some()
            && let OperandKind::Name(name) = place.base.kind
            && let Some(Symbol::Param(index)) = self.symbol(name)
            && self.params[index as usize].role == ParamRole::Local
        {
            let text = self.l.text(name);
            let message = format!("Illegal to predicate instruction '{}.param' with operand '{text}'", self.opcode());
            return self.refuse(Code::Operand, place.span, message);
        }
        Ok(())
    }

    /// `.param::func` reaches variables by name only.
    fn check_function_param(&mut self, m: &Modifiers, place: &Place) -> Lower<()> {
        if m.has("param::func") && place.space.is_none() {
            let message =
                format!("Illegal state space for address operand '::func' with instruction '{}'", self.opcode());
            return self.refuse(Code::Operand, place.span, message);
        }
        Ok(())
    }

    /// Vectors have at most 128 bits; 256 in global memory, at generic addresses too, from PTX ISA 8.8 and sm_100 on (PTX ISA 9.7.9.8).
    fn check_width(&mut self, m: &Modifiers, space: Space, span: Span) -> Lower<()> {
        let (count, ty) = (m.vector() as u32, ty(m));
        if count == 1 || count * ty.bits() <= 128 {
            return Ok(());
        }
        if !matches!(space, Space::Global | Space::Generic) || ty.bits() < 32 {
            return self.refuse(Code::Modifier, span, "Vector type too large, exceeds 128 bit limit");
        }
        if m.has("nc") && space != Space::Global {
            return self.refuse(Code::Modifier, span, "Modifier '.nc' requires .global space");
        }
        if self.l.module.version < (8, 8) {
            let message = "Feature '256 bit wide load/store' requires PTX ISA .version 8.8 or later";
            return self.refuse(Code::Requirement, span, message);
        }
        if self.l.module.target.sm < 100 {
            let message = "Feature '256 bit wide load/store' requires .target sm_100 or higher";
            return self.refuse(Code::Requirement, span, message);
        }
        Ok(())
    }

    /// Memory order and scope of a load or store (PTX ISA 8.7).
    fn order(&mut self, m: &Modifiers, span: Span) -> Lower<(Semantics, Scope)> {
        let (semantics, scope) = (semantics(m).unwrap_or(Semantics::Weak), scope(m));
        match (semantics, scope) {
            (Semantics::Weak | Semantics::Volatile, Some(_)) => {
                let message = format!(
                    "Scope modifier requires '.relaxed', '.acquire' or '.release' for instruction '{}'",
                    self.opcode()
                );
                self.refuse(Code::Modifier, span, message)
            }
            (Semantics::Weak | Semantics::Volatile, None) => Ok((semantics, Scope::Sys)),
            (_, Some(scope)) => Ok((semantics, scope)),
            (_, None) => {
                let message =
                    format!("Scope modifier required for instruction '{}' with '.{semantics}'", self.opcode());
                self.refuse(Code::Modifier, span, message)
            }
        }
    }

    fn atomic(&mut self, opcode: Opcode, m: &Modifiers, args: Args<'_>) -> Lower<Op> {
        let at = usize::from(opcode == Opcode::Atom);
        let place = *args.place(at);
        let space = self.access(space(m), &place)?;
        if matches!(space, Space::Const | Space::Local | Space::Param) {
            let message = format!("State space incorrect for instruction '{}'", self.opcode());
            return self.refuse(Code::Operand, place.span, message);
        }
        let op = m.find(AtomicOp::from_text).unwrap_or(AtomicOp::Add);
        let semantics = semantics(m).unwrap_or(Semantics::Relaxed);
        let c: Option<Operand> = if op == AtomicOp::Cas { args.optional(at + 2) } else { None };
        Ok(Op::Atom {
            op,
            space,
            ty: ty(m),
            semantics,
            scope: scope(m).unwrap_or(Scope::Gpu),
            noftz: m.has("noftz"),
            dst: (opcode == Opcode::Atom).then(|| args.dsts(0)),
            addr: place.address,
            b: args.srcs(at + 1),
            c,
        })
    }

    /// `alloca.type ptr, size {, align}` (PTX ISA 9.7.17.3).
    pub(super) fn alloca(&mut self, m: &Modifiers, args: Args<'_>, span: Span) -> Lower<Op> {
        let ty = ty(m);
        let Some(size) = args.raw(1).copied() else {
            return self.refuse(Code::Operand, span, "Arguments mismatch for instruction 'alloca'");
        };
        self.argument = 1;
        let size = self.source(&size, ty, false)?;
        let align = match args.0.get(2) {
            Some(super::Value::Const(align)) => *align,
            _ => 8,
        };
        match u32::try_from(align).ok().filter(|align| align.is_power_of_two()) {
            Some(align) => Ok(Op::Alloca { ty, dst: args.dst(0), size, align }),
            None => self.refuse(Code::Operand, span, format!("Alignment must be a power of two, not {align}")),
        }
    }
}

/// What is stored of a vector with elements `left_out`, and where: vectors of as many elements as stand together, each at a multiple of its size.
fn stored_parts(all: &Operands, left_out: u8, ty: ScalarType, address: Address) -> Vec<(Operands, Address)> {
    if left_out == 0 {
        return vec![(all.clone(), address)];
    }
    let is_there = |index: usize| left_out & 1 << index == 0;
    let mut parts = Vec::new();
    let mut at = 0;
    while at < all.len() {
        if !is_there(at) {
            at += 1;
            continue;
        }
        let fits = |size: &usize| {
            at.is_multiple_of(*size) && (at..at + size).all(|index| index < all.len() && is_there(index))
        };
        let size = [4, 2].into_iter().find(fits).unwrap_or(1);
        let offset = address.offset + at as i64 * i64::from(ty.bytes());
        parts.push((Operands::from_slice(&all[at..at + size]), Address { offset, ..address }));
        at += size;
    }
    parts
}
