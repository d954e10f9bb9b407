//! Products of polynomials over two elements (`clmad`, PTX ISA 9.7.1), as `warploom_numerics::integer::carryless` defines them.

use warploom_ptx::ir::{Operand, ScalarType};

use super::function::{Val, Writer};
use super::names::Ty;

impl Writer<'_> {
    /// `clmad`: the lower or upper half of the product, and `c` added to it.
    pub(super) fn without_carries(&mut self, high: bool, [a, b, c]: [Operand; 3]) -> Val {
        let [a, b, c] = [a, b, c].map(|operand| self.operand(operand, ScalarType::B64));
        let (a, b, c) = self.alike3(a, b, c);
        let register = self.plan.machine().carryless.map(|bits| bits / 64);
        let product = match register {
            Some(register) => self.by_carryless_registers(high, &a, &b, register),
            None => self.sum_of_multiples(high, &a, &b),
        };
        self.binary("xor", &product, &c)
    }

    /// By the processor's instruction, which multiplies the first or the second element of each pair.
    fn by_carryless_registers(&mut self, high: bool, a: &Val, b: &Val, register: u32) -> Val {
        let whole = a.ty;
        let register = register.min(whole.lanes.next_power_of_two()).max(2);
        let one = Ty { lanes: register, ..whole };
        let llvm = match register {
            2 => "@llvm.x86.pclmulqdq".to_owned(),
            _ => format!("@llvm.x86.pclmulqdq.{}", register * 64),
        };
        let text = one.text();
        self.plan.declare(format!("declare {text} {llvm}({text}, {text}, i8)"));
        if whole.lanes == 0 {
            let first = |writer: &mut Self, value: &Val| {
                writer.set(one, format!("insertelement {text} poison, i64 {}, i64 0", value.text))
            };
            let (a, b) = (first(self, a), first(self, b));
            let product = self.set(one, format!("call {text} {llvm}({text} {}, {text} {}, i8 0)", a.text, b.text));
            return self.set(whole, format!("extractelement {text} {}, i64 {}", product.text, u32::from(high)));
        }
        let mut parts = Vec::new();
        for first in (0..whole.lanes).step_by(register as usize) {
            let [a, b] = [a, b].map(|value| self.shuffled(value, (first..first + register).map(i64::from)));
            let [even, odd] = [0, 0x11].map(|elements| {
                self.set(one, format!("call {text} {llvm}({text} {}, {text} {}, i8 {elements})", a.text, b.text))
            });
            // The half that is asked for of each product, in the order of the factors.
            let half = i64::from(high);
            let order = (0..i64::from(register))
                .map(|at| if at % 2 == 0 { at + half } else { i64::from(register) + at - 1 + half });
            parts.push(self.of_two(&even, &odd, order));
        }
        self.joined_in_pairs(parts)
    }

    /// Where it has none: the multiples of one factor by the bits of the other.
    fn sum_of_multiples(&mut self, high: bool, a: &Val, b: &Val) -> Val {
        let mut sum = self.constant(a.ty, 0);
        let top = self.constant(a.ty, 63);
        for bit in i64::from(high)..64 {
            let up = self.constant(a.ty, 63 - bit);
            let taken = self.binary("shl", a, &up);
            let taken = self.binary("ashr", &taken, &top);
            let places = self.constant(a.ty, if high { 64 - bit } else { bit });
            let multiple = self.binary(if high { "lshr" } else { "shl" }, b, &places);
            let multiple = self.binary("and", &multiple, &taken);
            sum = self.binary("xor", &sum, &multiple);
        }
        sum
    }
}
