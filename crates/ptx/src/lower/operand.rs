//! Operands: what is written, checked against what the form expects.

use super::address::Place;
use super::array::Element;
use super::body::{BodyLowering, Lower, Reported};
use super::constant::{self, Folded};
use super::scope::{ELEMENTS, Symbol, element};
use crate::diagnostic::Code;
use crate::ir::{
    AddressTarget, IntBinaryOp, Op, Operand, Operands, Predicate, Reg, Regs, ScalarType, SpecialReg, TypeClass,
};
use crate::isa::{Count, Modifiers, OperandKind as Spec, OperandSpec, TypeRef};
use crate::syntax::ast::{self, List, OperandKind};
use crate::syntax::{Name, Span};
use smallvec::SmallVec;

/// An operand as the form understood it.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Missing,
    Dst(Reg),
    Pair(Reg, Option<Reg>),
    Src(Operand),
    Pred(Predicate),
    Const(u64),
    Place(Place),
    Dsts(Regs),
    Srcs(Operands),
    /// For the lowering of the instruction to look at.
    Raw(ast::Operand),
}

/// The operands of one instruction.
pub(super) type Values = SmallVec<[Value; 6]>;

/// Whether a register of type `reg` can be an operand of type `ty` (PTX ISA 9.4, 9.4.1).
fn fits(reg: ScalarType, ty: ScalarType, relaxed: bool) -> bool {
    let size = if relaxed { reg.bits() >= ty.bits() } else { reg.bits() == ty.bits() };
    let is_int = |class| matches!(class, TypeClass::Unsigned | TypeClass::Signed);
    size && match (reg.class(), ty.class()) {
        (TypeClass::Predicate, other) | (other, TypeClass::Predicate) => other == TypeClass::Predicate && reg == ty,
        (TypeClass::Bits, _) | (_, TypeClass::Bits) => true,
        (a, b) if is_int(a) && is_int(b) => true,
        // A register for a pair of halves is one without a type for integers (ptxas 13.0).
        (_, b) if matches!(reg, ScalarType::F16x2 | ScalarType::Bf16x2) && is_int(b) => true,
        _ => reg == ty,
    }
}

impl<'a> BodyLowering<'_, 'a> {
    /// Converts all operands of an instruction.
    pub(super) fn values(
        &mut self,
        specs: &[OperandSpec],
        modifiers: &Modifiers,
        operands: List<ast::Operand>,
    ) -> Lower<Values> {
        let ast = self.l.ast;
        let written = &ast[operands];
        let mut values = Values::new();
        let mut failed = false;
        for (index, spec) in specs.iter().enumerate() {
            if spec.kind == Spec::Rest {
                values.extend(written[index.min(written.len())..].iter().map(|operand| Value::Raw(*operand)));
                break;
            }
            let Some(operand) = written.get(index) else {
                values.push(Value::Missing);
                continue;
            };
            self.argument = index;
            match self.value(spec, modifiers, operand) {
                Ok(value) => values.push(value),
                Err(Reported) => failed = true,
            }
        }
        if failed { Err(Reported) } else { Ok(values) }
    }

    fn value(&mut self, spec: &OperandSpec, modifiers: &Modifiers, operand: &ast::Operand) -> Lower<Value> {
        let count = match spec.count {
            Count::Scalar => 0,
            Count::Fixed(count) => usize::from(count),
            Count::Modifier => modifiers.vector(),
        };
        match spec.kind {
            Spec::Dst { ty, second } => {
                let ty = self.operand_type(ty, modifiers);
                if count > 0 {
                    return self.destinations(operand, ty, count, spec.relaxed).map(Value::Dsts);
                }
                self.check_discard(operand)?;
                let Some((second_ty, may_miss)) = second else {
                    return self.destination(operand, ty, spec.relaxed).map(Value::Dst);
                };
                let second_ty = self.operand_type(second_ty, modifiers);
                match operand.kind {
                    OperandKind::Pair(first, second) => {
                        let ast = self.l.ast;
                        let first = self.destination(&ast[first], ty, spec.relaxed)?;
                        let second = self.destination(&ast[second], second_ty, false)?;
                        Ok(Value::Pair(first, Some(second)))
                    }
                    _ if may_miss => Ok(Value::Pair(self.destination(operand, ty, spec.relaxed)?, None)),
                    _ => self.mismatch(operand.span, "a second destination `|p` is required"),
                }
            }
            Spec::Src(ty) => {
                let ty = self.operand_type(ty, modifiers);
                if count > 0 {
                    return self.sources(operand, ty, count, spec.relaxed).map(Value::Srcs);
                }
                self.source(operand, ty, spec.relaxed).map(Value::Src)
            }
            Spec::Pred => self.predicate(operand).map(Value::Pred),
            Spec::Const => self.integer(operand).map(Value::Const),
            Spec::Address => self.place(operand).map(Value::Place),
            Spec::Any | Spec::Rest => Ok(Value::Raw(*operand)),
        }
    }

    fn operand_type(&self, ty: TypeRef, modifiers: &Modifiers) -> ScalarType {
        match ty {
            TypeRef::Fixed(ty) => ty,
            TypeRef::Captured(index) => modifiers.ty(usize::from(index)).unwrap_or(ScalarType::B32),
            TypeRef::Wide(index) => match modifiers.ty(usize::from(index)) {
                Some(ScalarType::U16) => ScalarType::U32,
                Some(ScalarType::S16) => ScalarType::S32,
                Some(ScalarType::U32) => ScalarType::U64,
                _ => ScalarType::S64,
            },
        }
    }

    /// Checks that a result may be left out: `_` stands in vectors and pairs, and alone where the instruction does more than
    /// give a result.
    pub(super) fn check_discard(&mut self, operand: &ast::Operand) -> Lower<()> {
        if operand.kind != OperandKind::Sink || matches!(self.opcode(), "atom" | "match" | "mbarrier" | "setp") {
            return Ok(());
        }
        let message = format!("Result discard mode is not allowed for instruction '{}'", self.opcode());
        self.l.error(Code::Operand, operand.span, message);
        Err(Reported)
    }

    /// Reports that the operand does not fit the instruction.
    pub(super) fn mismatch<T>(&mut self, span: Span, reason: impl std::fmt::Display) -> Lower<T> {
        let message = format!("Arguments mismatch for instruction '{}': {reason}", self.opcode());
        self.l.error(Code::Operand, span, message);
        Err(Reported)
    }

    pub(super) fn unknown<T>(&mut self, span: Span, text: &str) -> Lower<T> {
        self.l.error(Code::Undeclared, span, format!("Unknown symbol '{text}'"));
        Err(Reported)
    }

    /// Reports undeclared registers among the operands of an instruction that is not understood itself.
    pub(super) fn report_undeclared(&mut self, operands: &[ast::Operand]) {
        let ast = self.l.ast;
        for operand in operands {
            match operand.kind {
                OperandKind::Name(name) => {
                    let text = self.l.text(name);
                    if text.starts_with('%') && self.symbol(name).is_none() && self.special(operand).is_none() {
                        self.l.error(Code::Undeclared, operand.span, format!("Unknown symbol '{text}'"));
                    }
                }
                OperandKind::Vector(list) | OperandKind::Arguments(list) => self.report_undeclared(&ast[list]),
                OperandKind::Address(address) => self.report_undeclared(&[ast[ast[address].base]]),
                OperandKind::Not(inner) | OperandKind::Minus(inner) => self.report_undeclared(&[ast[inner]]),
                OperandKind::Pair(first, second) => self.report_undeclared(&[ast[first], ast[second]]),
                _ => {}
            }
        }
    }

    /// What a name stands for; makes the register if it is the first use of one of a range.
    pub(super) fn symbol(&mut self, name: Name) -> Option<Symbol> {
        let ast = self.l.ast;
        match self.l.scopes.find(name, || super::split_register(ast, name))? {
            super::scope::Found::Symbol(symbol) => Some(symbol),
            super::scope::Found::New(new) => {
                let symbol = self.make_register(ast.name(name), new.ty, new.vector);
                self.l.scopes.bind_range(name, new, symbol);
                Some(symbol)
            }
        }
    }

    /// The register that an operand names, if it names one: `%r1`, `%v.x`.
    pub(super) fn named_register(&mut self, operand: &ast::Operand) -> Option<Reg> {
        match operand.kind {
            OperandKind::Name(name) => match self.symbol(name)? {
                Symbol::Reg(reg) => Some(reg),
                _ => None,
            },
            OperandKind::Member(name, member) => match self.symbol(name)? {
                Symbol::Vector { first, count } => {
                    let index = element(self.l.text(member))?;
                    (index < u32::from(count)).then_some(Reg(first.0 + index))
                }
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn check_register(&mut self, reg: Reg, ty: ScalarType, relaxed: bool, span: Span) -> Lower<Reg> {
        let declared = self.body.regs[reg.0 as usize].ty;
        if fits(declared, ty, relaxed) {
            return Ok(reg);
        }
        let name = self.body.regs[reg.0 as usize].name.clone();
        let argument = self.argument;
        self.mismatch(span, format_args!("argument {argument} '{name}' is .{declared}, expected .{ty}"))
    }

    pub(super) fn destination(&mut self, operand: &ast::Operand, ty: ScalarType, relaxed: bool) -> Lower<Reg> {
        if operand.kind == OperandKind::Sink {
            return Ok(self.fresh(ty));
        }
        if let Some(reg) = self.named_register(operand) {
            return self.check_register(reg, ty, relaxed, operand.span);
        }
        if let OperandKind::Name(name) = operand.kind {
            let text = self.l.text(name);
            if self.symbol(name).is_none() && SpecialReg::from_text(text.trim_start_matches('%')).is_none() {
                return self.unknown(operand.span, text);
            }
        }
        let message = format!("Result register required for instruction '{}'", self.opcode());
        self.l.error(Code::Operand, operand.span, message);
        Err(Reported)
    }

    /// A register or a constant.
    pub(super) fn source(&mut self, operand: &ast::Operand, ty: ScalarType, relaxed: bool) -> Lower<Operand> {
        if let Some(reg) = self.named_register(operand) {
            return self.check_register(reg, ty, relaxed, operand.span).map(Operand::Reg);
        }
        match operand.kind {
            OperandKind::Literal(literal) => self.immediate(literal, ty, operand.span),
            OperandKind::Expr(expr) => {
                let folded = self.fold(expr)?;
                match folded.symbol {
                    None => self.immediate(folded.value, ty, operand.span),
                    Some(symbol) => self.sum(symbol.name, folded.value, ty, relaxed, operand.span),
                }
            }
            OperandKind::Name(name) if self.l.text(name) == "WARP_SZ" => {
                self.immediate(ast::Literal::Int(32), ty, operand.span)
            }
            OperandKind::Name(name) if self.symbol(name).is_some() => {
                self.address_value(name, ast::Literal::Int(0), ty, operand.span)
            }
            OperandKind::Name(_) | OperandKind::Member(..) => self.special_value(operand, ty, relaxed),
            OperandKind::Element(name, address) => match self.element(name, address, operand.span)? {
                Element::Offset(offset) => self.address_value(name, ast::Literal::Int(offset), ty, operand.span),
                Element::Computed(offset) => {
                    let start = self.address_value(name, ast::Literal::Int(0), ScalarType::U64, operand.span)?;
                    Ok(Operand::Reg(self.element_address(start, offset, ty)))
                }
            },
            OperandKind::Not(inner) if ty == ScalarType::Pred => {
                let inner = self.l.ast[inner];
                let a = self.source(&inner, ty, false)?;
                let dst = self.fresh(ScalarType::Pred);
                self.emit(Op::IntUnary { op: crate::ir::IntUnaryOp::Not, ty, dst, a });
                Ok(Operand::Reg(dst))
            }
            OperandKind::Vector(_) => {
                let message = format!("Vector operand is not allowed for instruction '{}'", self.opcode());
                self.l.error(Code::Operand, operand.span, message);
                Err(Reported)
            }
            _ => {
                let argument = self.argument;
                self.mismatch(
                    operand.span,
                    format_args!("argument {argument} must be a register or a constant of type .{ty}"),
                )
            }
        }
    }

    fn immediate(&mut self, literal: ast::Literal, ty: ScalarType, span: Span) -> Lower<Operand> {
        match constant::immediate(ty, literal) {
            Some(bits) => Ok(Operand::Imm(bits)),
            None => {
                let argument = self.argument;
                self.mismatch(span, format_args!("argument {argument} is a constant that is no .{ty}"))
            }
        }
    }

    pub(super) fn fold(&mut self, expr: ast::Id<ast::Expr>) -> Lower<Folded> {
        constant::fold(self.l.ast, expr).map_err(|error| {
            self.l.report(error);
            Reported
        })
    }

    /// The address of a variable or function as a value: only `mov` and `cvta` take one (PTX ISA 6.4).
    fn address_value(&mut self, name: Name, offset: ast::Literal, ty: ScalarType, span: Span) -> Lower<Operand> {
        if !matches!(self.opcode(), "mov" | "cvta") {
            let message = format!("Argument {} of instruction '{}': must be register", self.argument, self.opcode());
            self.l.error(Code::Operand, span, message);
            return Err(Reported);
        }
        self.variable_address(name, offset, ty, span)
    }

    /// `r+8` or `variable+8` as a value: any instruction takes one, of a register that holds an integer, whose width the sum has, and of a variable the address.
    /// The manual has it for addresses only (PTX ISA 6.4); NVIDIA's assembler takes it everywhere, as recorded on an H200 (of a register for floats the driver ends the process).
    fn sum(&mut self, name: Name, addend: ast::Literal, ty: ScalarType, relaxed: bool, span: Span) -> Lower<Operand> {
        let Some(Symbol::Reg(reg)) = self.symbol(name) else {
            return self.variable_address(name, addend, ty, span);
        };
        let a = self.check_register(reg, ty, relaxed, span)?;
        let own = self.body.regs[a.0 as usize].ty;
        let integer = matches!(own.class(), TypeClass::Bits | TypeClass::Unsigned | TypeClass::Signed);
        let ty = ScalarType::integer(own.bits(), false);
        let (true, Some(b)) = (integer && matches!(own.bits(), 16 | 32 | 64), constant::immediate(ty, addend)) else {
            return self.mismatch(span, format_args!("a constant cannot be added to a register of type .{own}"));
        };
        let dst = self.fresh(own);
        let (a, b) = (Operand::Reg(a), Operand::Imm(b));
        self.emit(Op::IntBinary { op: IntBinaryOp::Add, ty, sat: false, relu: false, dst, a, b });
        Ok(Operand::Reg(dst))
    }

    /// An instruction that computes the address of a variable or function.
    pub(super) fn variable_address(
        &mut self,
        name: Name,
        offset: ast::Literal,
        ty: ScalarType,
        span: Span,
    ) -> Lower<Operand> {
        let argument = self.argument;
        let offset = constant::integer(offset).unwrap_or(0) as i64;
        let (target, place) = match self.symbol(name) {
            Some(Symbol::Global(id)) => (self.use_global(id).into(), 0),
            Some(Symbol::Function(id)) => (AddressTarget::Function(self.use_function(id)), 0),
            Some(Symbol::Local { offset, .. }) => (AddressTarget::LocalFrame, i64::from(offset)),
            Some(Symbol::Param(index)) => (AddressTarget::ParamFrame, i64::from(self.params[index as usize].offset)),
            Some(_) => return self.mismatch(span, format_args!("argument {argument} is no value")),
            None => {
                let text = self.l.text(name);
                return self.unknown(span, text);
            }
        };
        if !matches!(ty.bits(), 32 | 64) || ty.is_float() {
            return self.mismatch(span, format_args!("an address is .u64 or .u32, not .{ty}"));
        }
        let dst = self.fresh(ty);
        self.emit(Op::AddressOf { ty, dst, target, offset: offset.wrapping_add(place) });
        Ok(Operand::Reg(dst))
    }

    /// The special register that an operand names.
    pub(super) fn special(&self, operand: &ast::Operand) -> Option<SpecialReg> {
        match operand.kind {
            OperandKind::Name(name) => SpecialReg::from_text(self.l.text(name).strip_prefix('%')?),
            OperandKind::Member(name, member) => {
                let name = self.l.text(name).strip_prefix('%')?;
                let member = element(self.l.text(member)).map_or(self.l.text(member), |index| ELEMENTS[index as usize]);
                SpecialReg::from_text(&format!("{name}.{member}"))
            }
            _ => None,
        }
    }

    /// Whether it is the fourth element of a special register that is a vector: unused, and zero (PTX ISA 10.1).
    fn is_fourth(&self, operand: &ast::Operand) -> bool {
        let OperandKind::Member(name, member) = operand.kind else { return false };
        let first = |name: &str| SpecialReg::from_text(&format!("{name}.{}", ELEMENTS[0]));
        element(self.l.text(member)) == Some(3) && self.l.text(name).strip_prefix('%').and_then(first).is_some()
    }

    /// Special registers stand in `mov` and `cvt` only (PTX ISA 10).
    fn special_value(&mut self, operand: &ast::Operand, ty: ScalarType, relaxed: bool) -> Lower<Operand> {
        let Some(reg) = self.special(operand) else {
            if self.opcode() == "mov" && self.is_fourth(operand) {
                return self.immediate(ast::Literal::Int(0), ty, operand.span);
            }
            let text = self.l.ast.text(operand.span).to_owned();
            return self.unknown(operand.span, &text);
        };
        if !matches!(self.opcode(), "mov" | "cvt") {
            let message = format!("Special register argument not allowed for instruction '{}'", self.opcode());
            self.l.error(Code::Operand, operand.span, message);
            return Err(Reported);
        }
        let own = reg.ty();
        // A 16-bit move takes the low half of a 32-bit register.
        let narrows = own.bits() == 32 && ty.bits() == 16 && !ty.is_float();
        if !narrows && !fits(own, ty, relaxed) {
            return self.mismatch(operand.span, format_args!("'%{reg}' is .{own}, expected .{ty}"));
        }
        let read = if narrows { ty } else { own };
        let dst = self.fresh(read);
        self.emit(Op::ReadSpecial { ty: read, dst, reg });
        Ok(Operand::Reg(dst))
    }

    fn constant_predicate(&mut self, operand: &ast::Operand) -> Lower<Option<ast::Literal>> {
        Ok(match operand.kind {
            OperandKind::Literal(literal) => Some(literal),
            OperandKind::Expr(expr) => Some(self.fold(expr)?).filter(|f| f.symbol.is_none()).map(|f| f.value),
            OperandKind::Name(name) if self.l.text(name) == "WARP_SZ" => Some(ast::Literal::Int(32)),
            _ => None,
        })
    }

    /// `p` or `!p`.
    pub(super) fn predicate(&mut self, operand: &ast::Operand) -> Lower<Predicate> {
        let (inner, negated) = match operand.kind {
            OperandKind::Not(inner) => (self.l.ast[inner], true),
            _ => (*operand, false),
        };
        if let Some(reg) = self.named_register(&inner) {
            if self.body.regs[reg.0 as usize].ty == ScalarType::Pred {
                return Ok(Predicate { reg, negated });
            }
        } else if let Some(literal) = self.constant_predicate(&inner)? {
            // A constant predicate: put it into a register.
            let src = self.immediate(literal, ScalarType::Pred, inner.span)?;
            let reg = self.fresh(ScalarType::Pred);
            self.emit(Op::Mov { ty: ScalarType::Pred, dst: reg, src });
            return Ok(Predicate { reg, negated });
        } else if let Some(special) = self.special(&inner).filter(|s| s.ty() == ScalarType::Pred) {
            let reg = self.fresh(ScalarType::Pred);
            self.emit(Op::ReadSpecial { ty: ScalarType::Pred, dst: reg, reg: special });
            return Ok(Predicate { reg, negated });
        } else if let OperandKind::Name(name) = inner.kind
            && self.symbol(name).is_none()
        {
            let text = self.l.text(name);
            return self.unknown(inner.span, text);
        }
        self.l.error(Code::Operand, operand.span, "Predicate expression expected");
        Err(Reported)
    }

    /// An integer constant.
    pub(super) fn integer(&mut self, operand: &ast::Operand) -> Lower<u64> {
        let literal = match operand.kind {
            OperandKind::Literal(literal) => Some(literal),
            OperandKind::Expr(expr) => Some(self.fold(expr)?).filter(|f| f.symbol.is_none()).map(|f| f.value),
            OperandKind::Name(name) if self.l.text(name) == "WARP_SZ" => Some(ast::Literal::Int(32)),
            _ => None,
        };
        match literal.and_then(constant::integer) {
            Some(value) => Ok(value),
            None => {
                let argument = self.argument;
                self.mismatch(operand.span, format_args!("argument {argument} must be an integer constant"))
            }
        }
    }
}
