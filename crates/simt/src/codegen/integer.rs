//! Integer arithmetic that is more than one instruction of LLVM's (PTX ISA 9.7.1), as `warploom_numerics::integer` defines it.

use warploom_ptx::ir::{Inst, Op, Operand, ScalarType};

use super::function::{Val, Writer};
use super::names::Element;

impl Writer<'_> {
    /// Quotient or remainder, of whole vectors: of up to 32 bits in double precision, which holds both without rounding. By zero all ones.
    pub(super) fn divided(&mut self, remainder: bool, ty: ScalarType, a: Operand, b: Operand) -> Val {
        let signed = ty.is_signed();
        let by_constant = match b {
            Operand::Imm(number) => {
                let bits = number << (64 - ty.bits()) >> (64 - ty.bits());
                bits != 0 && !(signed && bits == u64::MAX >> (64 - ty.bits()))
            }
            Operand::Reg(_) => false,
        };
        let (a, b) = (self.operand(a, ty), self.operand(b, ty));
        let (a, b) = self.alike(a, b);
        let name = match (signed, remainder) {
            (true, false) => "sdiv",
            (true, true) => "srem",
            (false, false) => "udiv",
            (false, true) => "urem",
        };
        if by_constant {
            return self.binary(name, &a, &b);
        }
        let (zero, one, ones) = (self.constant(a.ty, 0), self.constant(a.ty, 1), self.constant(a.ty, -1));
        let by_zero = self.compare("eq", &b, &zero);
        // What would overflow is the negative, or leaves nothing.
        let by_minus_one = self.compare("eq", &b, &ones);
        let special = if signed { self.binary("or", &by_zero, &by_minus_one) } else { by_zero.clone() };
        let safe = self.select(&special, &one, &b);
        let value = if a.ty.lanes == 0 || ty.bits() > 32 {
            self.binary(name, &a, &safe)
        } else {
            let (to, from) = if signed { ("sitofp", "fptosi") } else { ("uitofp", "fptoui") };
            let (x, y) = (self.cast(to, &a, Element::F64), self.cast(to, &safe, Element::F64));
            let quotient = self.binary("fdiv", &x, &y);
            let quotient = self.cast(from, &quotient, Element::Int(a.ty.element.bits()));
            if remainder {
                let product = self.binary("mul", &quotient, &safe);
                self.binary("sub", &a, &product)
            } else {
                quotient
            }
        };
        let value = if signed {
            let negative = if remainder { zero } else { self.binary("sub", &zero, &a) };
            self.select(&by_minus_one, &negative, &value)
        } else {
            value
        };
        self.select(&by_zero, &ones, &value)
    }

    /// `bfe`
    pub(super) fn extracted(&mut self, ty: ScalarType, a: Operand, pos: Operand, len: Operand) -> Val {
        let a = self.operand(a, ty);
        let (pos, len) = (self.operand(pos, ScalarType::U32), self.operand(len, ScalarType::U32));
        let (a, pos, len) = self.alike3(a, pos, len);
        let bits = ty.bits();
        let signed = ty.is_signed();
        let counts = self.constant(pos.ty, if bits == 64 { -1 } else { 0xff });
        let (pos, len) = (self.binary("and", &pos, &counts), self.binary("and", &len, &counts));
        let (top, whole) = (self.constant(pos.ty, i64::from(bits) - 1), self.constant(pos.ty, i64::from(bits)));
        let shift = if signed { "ashr" } else { "lshr" };
        let within = self.compare("ult", &pos, &whole);
        let bounded = self.intrinsic("umin", &[&pos, &top]);
        let bounded = self.resize(&bounded, bits, false);
        let shifted = self.binary(shift, &a, &bounded);
        let zero = self.constant(a.ty, 0);
        let shifted = if signed { shifted } else { self.select(&within, &shifted, &zero) };
        let most = self.intrinsic("umin", &[&len, &whole]);
        let unused = self.binary("sub", &whole, &most);
        // An empty field is chosen below, and would be shifted too far.
        let unused = self.intrinsic("umin", &[&unused, &top]);
        let unused = self.resize(&unused, bits, false);
        let up = self.binary("shl", &shifted, &unused);
        let field = self.binary(shift, &up, &unused);
        let end = self.intrinsic("uadd.sat", &[&pos, &len]);
        let beyond = self.compare("uge", &end, &whole);
        let field = self.select(&beyond, &shifted, &field);
        let none = self.constant(len.ty, 0);
        let empty = self.compare("eq", &len, &none);
        self.select(&empty, &zero, &field)
    }

    /// `bfi`
    pub(super) fn inserted(&mut self, ty: ScalarType, [a, b, pos, len]: [Operand; 4]) -> Val {
        let bits = ty.bits();
        let (a, b) = (self.operand(a, ty), self.operand(b, ty));
        let (pos, len) = (self.operand(pos, ScalarType::U32), self.operand(len, ScalarType::U32));
        let (a, pos, len) = self.alike3(a, pos, len);
        let (a, b) = self.alike(a, b);
        let (a, pos, len) = self.alike3(a, pos, len);
        let counts = self.constant(pos.ty, if bits == 64 { -1 } else { 0xff });
        let (pos, len) = (self.binary("and", &pos, &counts), self.binary("and", &len, &counts));
        let (a, b) = (self.resize(&a, 64, false), self.resize(&b, 64, false));
        let (pos, len) = (self.resize(&pos, 64, false), self.resize(&len, 64, false));
        let (ones, zero) = (self.constant(a.ty, -1), self.constant(a.ty, 0));
        let (limit, top) = (self.constant(a.ty, 64), self.constant(a.ty, 63));
        let all = self.compare("uge", &len, &limit);
        let bounded = self.intrinsic("umin", &[&len, &top]);
        let rest = self.binary("shl", &ones, &bounded);
        let field = self.binary("xor", &rest, &ones);
        let field = self.select(&all, &ones, &field);
        let there = self.compare("ult", &pos, &limit);
        let at = self.binary("and", &pos, &top);
        let field = self.binary("shl", &field, &at);
        let field = self.select(&there, &field, &zero);
        let moved = self.binary("shl", &a, &at);
        let inside = self.binary("and", &moved, &field);
        let outside = self.binary("xor", &field, &ones);
        let outside = self.binary("and", &b, &outside);
        let value = self.binary("or", &inside, &outside);
        self.resize(&value, bits, false)
    }

    /// `mul24`, and the product of `mad24`.
    pub(super) fn product24(&mut self, high: bool, ty: ScalarType, a: Operand, b: Operand) -> Val {
        let signed = ty.is_signed();
        let (a, b) = (self.operand(a, ty), self.operand(b, ty));
        let (a, b) = self.alike(a, b);
        let low = |this: &mut Self, value: &Val| {
            let by = this.constant(value.ty, 8);
            let up = this.binary("shl", value, &by);
            let low = this.binary(if signed { "ashr" } else { "lshr" }, &up, &by);
            this.resize(&low, 64, signed)
        };
        let (a, b) = (low(self, &a), low(self, &b));
        let product = self.binary("mul", &a, &b);
        let by = self.constant(product.ty, if high { 16 } else { 0 });
        let product = self.binary("lshr", &product, &by);
        self.resize(&product, 32, false)
    }

    /// `sad`
    pub(super) fn distance(&mut self, ty: ScalarType, [a, b, c]: [Operand; 3]) -> Val {
        let (a, b, c) = (self.operand(a, ty), self.operand(b, ty), self.operand(c, ty));
        let (a, b, c) = self.alike3(a, b, c);
        let kind = if ty.is_signed() { "s" } else { "u" };
        let high = self.intrinsic(&format!("{kind}max"), &[&a, &b]);
        let low = self.intrinsic(&format!("{kind}min"), &[&a, &b]);
        let apart = self.binary("sub", &high, &low);
        self.binary("add", &apart, &c)
    }

    /// `dp4a` and `dp2a`: parts of `a` of so many bits, and bytes of `b` from one on.
    pub(super) fn dot(
        &mut self,
        [a, b, c]: [Operand; 3],
        [a_signed, b_signed]: [bool; 2],
        parts: u32,
        first_byte: u32,
    ) -> Val {
        let word = ScalarType::B32;
        let (a, b, c) = (self.operand(a, word), self.operand(b, word), self.operand(c, word));
        let (a, b, mut sum) = self.alike3(a, b, c);
        let part = |this: &mut Self, value: &Val, at: u32, bits: u32, signed: bool| {
            let up = this.constant(value.ty, i64::from(32 - bits * (at + 1)));
            let down = this.constant(value.ty, i64::from(32 - bits));
            let up = this.binary("shl", value, &up);
            this.binary(if signed { "ashr" } else { "lshr" }, &up, &down)
        };
        for at in 0..parts {
            let x = part(self, &a, at, 32 / parts, a_signed);
            let y = part(self, &b, first_byte + at, 8, b_signed);
            let product = self.binary("mul", &x, &y);
            sum = self.binary("add", &sum, &product);
        }
        sum
    }

    /// `add`, `sub`, `mad` with a carry in and out (PTX ISA 9.7.2), in twice the width.
    pub(super) fn extended(&mut self, inst: &Inst) -> Result<(), String> {
        let (sub, carry_in, carry_out, ty, high, terms) = match &inst.op {
            Op::AddCarry { sub, carry_in, carry_out, ty, a, b, .. } => {
                (*sub, carry_in, carry_out, *ty, None, [*a, *b, Operand::Imm(0)])
            }
            Op::MadCarry { mode, carry_in, carry_out, ty, a, b, c, .. } => {
                (false, carry_in, carry_out, *ty, Some(*mode == warploom_ptx::ir::MulMode::Hi), [*a, *b, *c])
            }
            _ => return Err(self.lacks(inst)),
        };
        let bits = ty.bits();
        if bits > 32 {
            return self.stepped(inst);
        }
        let wide = |this: &mut Self, operand: Operand, signed: bool| {
            let value = this.operand(operand, ty);
            this.resize(&value, 2 * bits, signed)
        };
        let (mut a, mut b) = {
            let signed = high.is_some() && ty.is_signed();
            (wide(self, terms[0], signed), wide(self, terms[1], signed))
        };
        (a, b) = self.alike(a, b);
        if let Some(high) = high {
            let product = self.binary("mul", &a, &b);
            let by = self.constant(product.ty, i64::from(if high { bits } else { 0 }));
            let product = self.binary("lshr", &product, &by);
            let low = self.constant(product.ty, (1i64 << bits) - 1);
            a = self.binary("and", &product, &low);
            b = wide(self, terms[2], false);
            (a, b) = self.alike(a, b);
        }
        let mut sum = self.binary(if sub { "sub" } else { "add" }, &a, &b);
        if let Some(carry) = carry_in {
            let carry = self.operand(Operand::Reg(*carry), ScalarType::Pred);
            let carry = self.resize(&carry, 2 * bits, false);
            let (all, carry) = self.alike(sum, carry);
            sum = self.binary(if sub { "sub" } else { "add" }, &all, &carry);
        }
        let by = self.constant(sum.ty, i64::from(bits));
        let over = self.binary("lshr", &sum, &by);
        let over = self.resize(&over, 1, false);
        let low = self.resize(&sum, bits, false);
        let Some(carry) = carry_out else { return self.write(inst, 0, &low, ty.is_signed()) };
        // In the order in which the operands are listed.
        let defs: Vec<_> = inst.operands().iter().filter_map(|operand| operand.def()).collect();
        for (at, def) in defs.iter().enumerate() {
            let value = if def == carry { &over } else { &low };
            self.write(inst, at, value, ty.is_signed() && def != carry)?;
        }
        Ok(())
    }

    /// A number of up to 64 bits, of an integral one: saturated, NaN becoming 0.
    pub(super) fn saturated_integer(&mut self, a: &Val, bits: u32, signed: bool) -> Val {
        let double = a.ty.element == Element::F64;
        let number = |value: f64| if double { value.to_bits() as i64 } else { i64::from((value as f32).to_bits()) };
        let power = 2f64.powi(bits as i32 - i32::from(signed));
        let over = self.constant(a.ty, number(power));
        let over = self.compare("oge", a, &over);
        let (least, most) = match signed {
            true => (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)),
            false => (0, -1),
        };
        let bound = self.constant(a.ty, number(if signed { -power } else { 0.0 }));
        let under = self.compare("ole", a, &bound);
        let nan = self.compare("uno", a, a);
        // More bits than are asked for, where the processor has no conversion to fewer.
        let through = if bits < 32 { 32 } else { bits };
        let value = self.cast(if signed || bits < 32 { "fptosi" } else { "fptoui" }, a, Element::Int(through));
        let value = self.set(value.ty, format!("freeze {} {}", value.ty.text(), value.text));
        let value = self.resize(&value, bits, false);
        let (least, most, zero) =
            (self.constant(value.ty, least), self.constant(value.ty, most), self.constant(value.ty, 0));
        let value = self.select(&over, &most, &value);
        let value = self.select(&under, &least, &value);
        self.select(&nan, &zero, &value)
    }
}
