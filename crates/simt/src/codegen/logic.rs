//! Logic and shifts that are more than one instruction of LLVM's (PTX ISA 9.7.8), and `prmt` (9.7.9.7), as `warploom_numerics::logic` defines them.

use warploom_ptx::ir::{ClampMode, Inst, Op, Operand, PrmtMode, ScalarType, ShiftDirection};

use super::function::{Val, Writer};
use super::names::Element;

/// Words of a register that AVX-512 has an instruction for `lop3` for.
const WORDS: u32 = 16;

impl Writer<'_> {
    /// `lop3`, and whether its result is not 0 where that is asked for.
    pub(super) fn lop3(&mut self, inst: &Inst) -> Result<(), String> {
        let Op::Lop3 { lut, dst, dst_p, combine, a, b, c } = &inst.op else { return Err(self.lacks(inst)) };
        let word = ScalarType::B32;
        let (a, b, c) = (self.operand(*a, word), self.operand(*b, word), self.operand(*c, word));
        let (a, b, c) = self.alike3(a, b, c);
        let wide = self.plan.has_wide_vectors() && a.ty.lanes >= WORDS;
        let words = [&a, &b, &c];
        let value = if wide {
            // The instruction's table is PTX's.
            self.by_registers("pternlog.d", u32::from(*lut), &words, WORDS)
        } else {
            self.sum_of_rows(*lut, words)
        };
        let holds = dst_p.is_some().then(|| {
            let zero = self.constant(value.ty, 0);
            let holds = self.compare("ne", &value, &zero);
            self.combined(holds, *combine)
        });
        let mut at = 0;
        if dst.is_some() {
            self.write(inst, at, &value, false)?;
            at += 1;
        }
        holds.map_or(Ok(()), |holds| self.write(inst, at, &holds, false))
    }

    /// As operations of two words, of which LLVM makes fewer.
    fn sum_of_rows(&mut self, lut: u8, values: [&Val; 3]) -> Val {
        let [a, b, c] = values;
        let ones = self.constant(a.ty, -1);
        let rest = values.map(|value| self.binary("xor", value, &ones));
        let mut sum: Option<Val> = None;
        for row in (0..8u8).filter(|row| lut >> row & 1 != 0) {
            let pick = |yes: &Val, no: &Val, bit: u8| if row >> bit & 1 != 0 { yes.clone() } else { no.clone() };
            let (x, y, z) = (pick(a, &rest[0], 2), pick(b, &rest[1], 1), pick(c, &rest[2], 0));
            let both = self.binary("and", &x, &y);
            let all = self.binary("and", &both, &z);
            sum = Some(match sum {
                None => all,
                Some(sum) => self.binary("or", &sum, &all),
            });
        }
        sum.unwrap_or_else(|| self.constant(a.ty, 0))
    }

    pub(super) fn funnel(
        &mut self,
        direction: ShiftDirection,
        mode: ClampMode,
        [low, high, amount]: [Operand; 3],
    ) -> Val {
        let word = ScalarType::B32;
        let (low, high, amount) = (self.operand(low, word), self.operand(high, word), self.operand(amount, word));
        let (low, high, amount) = self.alike3(low, high, amount);
        let left = direction == ShiftDirection::Left;
        let shifted = self.intrinsic(if left { "fshl" } else { "fshr" }, &[&high, &low, &amount]);
        if mode == ClampMode::Wrap {
            return shifted;
        }
        let limit = self.constant(amount.ty, 32);
        let over = self.compare("uge", &amount, &limit);
        self.select(&over, if left { &low } else { &high }, &shifted)
    }

    /// `prmt`
    pub(super) fn chosen_bytes(&mut self, mode: PrmtMode, [a, b, selector]: [Operand; 3]) -> Val {
        match (mode, selector) {
            (PrmtMode::Index, Operand::Imm(selector)) => self.permuted_bytes(a, b, selector),
            _ => self.bytes_by_lane(mode, [a, b, selector]),
        }
    }

    /// With a selector that is known.
    fn permuted_bytes(&mut self, a: Operand, b: Operand, selector: u64) -> Val {
        let word = ScalarType::B32;
        let (a, b) = (self.operand(a, word), self.operand(b, word));
        let (a, b) = self.alike(a, b);
        let mut all = self.constant(a.ty, 0);
        for place in 0..4u32 {
            let nibble = (selector >> (4 * place)) as u32 & 15;
            let source = if nibble & 4 == 0 { &a } else { &b };
            // To the top, and down to its place; what replicates the sign goes down as that.
            let up = self.constant(a.ty, i64::from(24 - 8 * (nibble & 3)));
            let top = self.binary("shl", source, &up);
            let byte = if nibble & 8 != 0 {
                let by = self.constant(a.ty, 31);
                self.binary("ashr", &top, &by)
            } else {
                top
            };
            let high = self.constant(a.ty, 0xff00_0000);
            let byte = self.binary("and", &byte, &high);
            let down = self.constant(a.ty, i64::from(24 - 8 * place));
            let byte = self.binary("lshr", &byte, &down);
            all = self.binary("or", &all, &byte);
        }
        all
    }

    /// With a selector of each lane's own: bytes of both words as one number are moved down one by one.
    fn bytes_by_lane(&mut self, mode: PrmtMode, [a, b, selector]: [Operand; 3]) -> Val {
        let word = ScalarType::B32;
        let (a, b, selector) = (self.operand(a, word), self.operand(b, word), self.operand(selector, word));
        let (a, b, selector) = self.alike3(a, b, selector);
        let (low, high) = (self.resize(&a, 64, false), self.resize(&b, 64, false));
        let by = self.constant(high.ty, 32);
        let high = self.binary("shl", &high, &by);
        let source = self.binary("or", &low, &high);
        let selector = self.resize(&selector, 64, false);
        let ty = selector.ty;
        let constant = |this: &Self, number: u32| this.constant(ty, i64::from(number));
        let (three, one) = (constant(self, 3), constant(self, 1));
        let first = self.binary("and", &selector, &three);
        let half = self.binary("and", &selector, &one);
        let half = self.binary("add", &half, &half);
        let mut all = constant(self, 0);
        for place in 0..4u32 {
            let at = constant(self, place);
            let index = match mode {
                PrmtMode::Index => {
                    let by = constant(self, 4 * place);
                    self.binary("lshr", &selector, &by)
                }
                PrmtMode::F4e => self.binary("add", &first, &at),
                PrmtMode::B4e => self.binary("sub", &first, &at),
                PrmtMode::Rc8 => first.clone(),
                PrmtMode::Ecl => self.intrinsic("umax", &[&first, &at]),
                PrmtMode::Ecr => self.intrinsic("umin", &[&first, &at]),
                PrmtMode::Rc16 => {
                    let upper = constant(self, place & 1);
                    self.binary("add", &half, &upper)
                }
            };
            let (seven, eight) = (constant(self, 7), constant(self, 3));
            let number = self.binary("and", &index, &seven);
            let by = self.binary("shl", &number, &eight);
            let byte = self.binary("lshr", &source, &by);
            let mask = constant(self, 0xff);
            let mut byte = self.binary("and", &byte, &mask);
            if mode == PrmtMode::Index {
                let (sign, top, zero) = (constant(self, 0x80), constant(self, 8), constant(self, 0));
                let sign = self.binary("and", &byte, &sign);
                let negative = self.compare("ne", &sign, &zero);
                let spread = self.select(&negative, &mask, &zero);
                let replicates = self.binary("and", &index, &top);
                let replicates = self.compare("ne", &replicates, &zero);
                byte = self.select(&replicates, &spread, &byte);
            }
            let up = constant(self, 8 * place);
            let byte = self.binary("shl", &byte, &up);
            all = self.binary("or", &all, &byte);
        }
        self.resize(&all, 32, false)
    }

    /// 1 of zero, 0 of others.
    pub(super) fn is_nothing(&mut self, a: &Val) -> Val {
        let zero = self.constant(a.ty, 0);
        let is = self.compare("eq", a, &zero);
        self.cast("zext", &is, Element::Int(a.ty.element.bits()))
    }
}
