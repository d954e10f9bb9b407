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
        let signs: String = signed.iter().map(|signed| if *signed { 's' } else { 'u' }).collect();
        let (name, vector) = (format!("@dot_{signs}{}", ty.lanes), ty.text());
        let body = self.written_apart(|this| {
            let [a, b, c] = ["%a", "%b", "%c"].map(|text| Val { ty, text: text.to_owned() });
            let factors = [(&a, signed[0]), (&b, signed[1])].map(|(value, signed)| this.bytes_by_place(value, signed));
            let mut sum = c;
            for place in 0..2 {
                let factors = factors.each_ref().map(|places| &places[place]);
                let products = this.products_of_pairs(factors, register);
                sum = this.binary("add", &sum, &products);
            }
            this.line(format!("ret {vector} {}", sum.text));
        });
        self.plan
            .declare(format!("define internal {vector} {name}({vector} %a, {vector} %b, {vector} %c) #1 {{\n{body}}}"));
        let operands = operands.map(|operand| format!("{vector} {}", operand.text));
        self.set(ty, format!("call {vector} {name}({})", operands.join(", ")))
    }

    /// Bytes of words as numbers of 16 bits: those at even places, and those at odd ones.
    fn bytes_by_place(&mut self, words: &Val, signed: bool) -> [Val; 2] {
        let ty = Ty::int(16, 2 * words.ty.lanes);
        let all = self.set(ty, format!("bitcast {} {} to {}", words.ty.text(), words.text, ty.text()));
        let eight = self.constant(ty, 8);
        let up = self.binary("shl", &all, &eight);
        [up, all].map(|high| self.binary(if signed { "ashr" } else { "lshr" }, &high, &eight))
    }

    /// Both products of each pair added up, register by register.
    fn products_of_pairs(&mut self, factors: [&Val; 2], register: u32) -> Val {
        let name = if register == 16 { "@llvm.x86.avx512.pmaddw.d.512" } else { "@llvm.x86.avx2.pmadd.wd" };
        let (words, halves) = (Ty::int(32, register), Ty::int(16, 2 * register).text());
        self.plan.declare(format!("declare {} {name}({halves}, {halves})", words.text()));
        let mut parts = Vec::new();
        for first in (0..factors[0].ty.lanes).step_by(2 * register as usize) {
            let own = i64::from(first)..i64::from(first + 2 * register);
            let [a, b] = factors.map(|factor| self.shuffled(factor, own.clone()).text);
            parts.push(self.set(words, format!("call {} {name}({halves} {a}, {halves} {b})", words.text())));
        }
        self.joined_in_pairs(parts)
    }
}
