//! Products of bytes and halves, added up (`dp4a`, `dp2a`; PTX ISA 9.7.1.23, 9.7.1.24).

use warploom_ptx::ir::{Operand, ScalarType};

use super::function::{Val, Writer};
use super::names::Ty;

impl Writer<'_> {
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
        let lanes = sum.ty.lanes;
        let register = self.plan.machine().pairs.map(|bits| bits / 32);
        if let Some(register) = register.filter(|register| parts == 4 && lanes > 0 && lanes % register == 0) {
            return self.dot_by_pairs([&a, &b, &sum], [a_signed, b_signed], register);
        }
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

    /// `dp4a`, as processors multiply pairs of 16 bits and add both products: of the bytes at even places, and of those at odd ones. It stands in a function that is always
    /// inline: what is written for each gang of a team is to be short.
    fn dot_by_pairs(&mut self, operands: [&Val; 3], signed: [bool; 2], register: u32) -> Val {
        let ty = operands[2].ty;
        let signs = signed.map(|signed| if signed { 's' } else { 'u' }).iter().collect::<String>();
        let name = format!("@dot_{signs}{}", ty.lanes);
        self.plan.declare(dot_function(&name, ty, signed, register));
        let intrinsic = pairs(register);
        self.plan.declare(format!("declare <{register} x i32> {intrinsic}(<{0} x i16>, <{0} x i16>)", 2 * register));
        let operands = operands.map(|operand| format!("{} {}", ty.text(), operand.text));
        self.set(ty, format!("call {} {name}({})", ty.text(), operands.join(", ")))
    }
}

/// What multiplies pairs of a register.
fn pairs(register: u32) -> &'static str {
    if register == 16 { "@llvm.x86.avx512.pmaddw.d.512" } else { "@llvm.x86.avx2.pmadd.wd" }
}

fn dot_function(name: &str, ty: Ty, signed: [bool; 2], register: u32) -> String {
    let (words, halves) = (ty.text(), Ty::int(16, 2 * ty.lanes).text());
    let mut out = format!("define internal {words} {name}({words} %a, {words} %b, {words} %c) #1 {{\n");
    for (value, signed) in ["a", "b"].into_iter().zip(signed) {
        let shift = if signed { "ashr" } else { "lshr" };
        out += &format!(
            "  %{value}.all = bitcast {words} %{value} to {halves}\n  %{value}.up = shl {halves} %{value}.all, splat (i16 8)\n  \
             %{value}.even = {shift} {halves} %{value}.up, splat (i16 8)\n  %{value}.odd = {shift} {halves} %{value}.all, splat (i16 8)\n"
        );
    }
    let (one, half) = (Ty::int(32, register).text(), Ty::int(16, 2 * register).text());
    let mut parts = Vec::new();
    for first in (0..ty.lanes).step_by(register as usize) {
        let order = Ty::int(32, 2 * register).lanes((2 * first..2 * (first + register)).map(i64::from));
        for which in ["even", "odd"] {
            for value in ["a", "b"] {
                out += &format!(
                    "  %{value}.{which}{first} = shufflevector {halves} %{value}.{which}, {halves} poison, <{} x i32> {order}\n",
                    2 * register
                );
            }
            out += &format!(
                "  %{which}{first} = call {one} {}({half} %a.{which}{first}, {half} %b.{which}{first})\n",
                pairs(register)
            );
        }
        out += &format!("  %both{first} = add {one} %even{first}, %odd{first}\n");
        parts.push((format!("%both{first}"), register));
    }
    // Registers behind each other.
    while parts.len() > 1 {
        let joined = parts.chunks(2).map(|two| {
            let (lanes, name) = (2 * two[0].1, format!("{}.on", two[0].0));
            let part = Ty::int(32, two[0].1).text();
            let order = Ty::int(32, lanes).lanes((0..lanes).map(i64::from));
            out += &format!(
                "  {name} = shufflevector {part} {}, {part} {}, <{lanes} x i32> {order}\n",
                two[0].0, two[1].0
            );
            (name, lanes)
        });
        parts = joined.collect();
    }
    out + &format!("  %sum = add {words} %c, {}\n  ret {words} %sum\n}}", parts[0].0)
}
