//! Conversions from and to pairs of numbers, and formats of 19 bits and less (`.tf32`, `.e4m3x2`, `.e5m2x2`, ...; PTX ISA 9.7.9.21), as
//! `warploom_numerics::format` defines them.

use warploom_numerics::format::{Beyond, E2m1, E2m3, E3m2, E4m3, E5m2, Format, Tf32};
use warploom_ptx::ir::{Inst, Op, Rounding, ScalarType};

use super::function::{Val, Writer};
use super::names::Element;

/// The bits from one number of a pair to the next.
fn apart<F: Format>() -> i64 {
    if F::SIGN == 3 { 4 } else { 8 }
}

impl Writer<'_> {
    /// A conversion that is not between single numbers of types that arithmetic knows.
    pub(super) fn narrow_conversion(&mut self, inst: &Inst) -> Result<Val, String> {
        use ScalarType::{Bf16x2, E2m1x2, E2m3x2, E3m2x2, E4m3x2, E5m2x2, F16x2, F32, Tf32};
        let Op::Cvt { dst_ty, src_ty, .. } = &inst.op else { return Err(self.lacks(inst)) };
        match (dst_ty, src_ty) {
            (F16x2 | Bf16x2, F32) => self.pair_of_halves(inst, *dst_ty == Bf16x2),
            (Tf32, F32) => self.rounded_tf32(inst),
            (E4m3x2, F32 | F16x2) => self.narrow_pair::<E4m3>(inst),
            (E5m2x2, F32 | F16x2) => self.narrow_pair::<E5m2>(inst),
            (E2m3x2, F32) => self.narrow_pair::<E2m3>(inst),
            (E3m2x2, F32) => self.narrow_pair::<E3m2>(inst),
            (E2m1x2, F32) => self.narrow_pair::<E2m1>(inst),
            (F16x2, E4m3x2) => self.widened_pair::<E4m3>(inst),
            (F16x2, E5m2x2) => self.widened_pair::<E5m2>(inst),
            (F16x2, E2m3x2) => self.widened_pair::<E2m3>(inst),
            (F16x2, E3m2x2) => self.widened_pair::<E3m2>(inst),
            (F16x2, E2m1x2) => self.widened_pair::<E2m1>(inst),
            _ => Err(self.lacks(inst)),
        }
    }

    /// The two numbers that become a pair, the upper one first.
    fn numbers_of(&mut self, inst: &Inst) -> Result<[Val; 2], String> {
        let Op::Cvt { src_ty, relu, a, b, .. } = &inst.op else { return Err(self.lacks(inst)) };
        let (upper, lower) = match (src_ty, b) {
            (ScalarType::F32, Some(b)) => self.two_floats(*a, *b, ScalarType::F32)?,
            (ScalarType::F16x2, None) => {
                let pair = self.operand(*a, ScalarType::B32);
                let by = self.constant(pair.ty, 16);
                let upper = self.binary("lshr", &pair, &by);
                let [upper, lower] = [upper, pair].map(|half| {
                    let half = self.resize(&half, 16, false);
                    self.widened(&half, false)
                });
                (upper, lower)
            }
            _ => return Err(self.lacks(inst)),
        };
        Ok([upper, lower].map(|value| self.bounded_below(&value, *relu)))
    }

    fn pair_of_halves(&mut self, inst: &Inst, bf: bool) -> Result<Val, String> {
        let Op::Cvt { rnd, satfinite, .. } = &inst.op else { return Err(self.lacks(inst)) };
        let rnd = rnd.unwrap_or(Rounding::Rn);
        let parts = self.numbers_of(inst)?;
        let [upper, lower] = parts.map(|value| self.rounded_half(&value, bf, rnd, *satfinite));
        Ok(self.pair(&upper, &lower, 16))
    }

    /// Two numbers beside each other.
    pub(super) fn pair(&mut self, upper: &Val, lower: &Val, bits: i64) -> Val {
        let (upper, lower) = (self.resize(upper, 32, false), self.resize(lower, 32, false));
        let by = self.constant(upper.ty, bits);
        let upper = self.binary("shl", &upper, &by);
        let both = self.binary("or", &upper, &lower);
        self.resize(&both, 2 * bits as u32, false)
    }

    fn narrow_pair<F: Format>(&mut self, inst: &Inst) -> Result<Val, String> {
        let Op::Cvt { satfinite, .. } = &inst.op else { return Err(self.lacks(inst)) };
        let parts = self.numbers_of(inst)?;
        let [upper, lower] = parts.map(|value| self.narrow_number::<F>(&value, *satfinite));
        Ok(self.pair(&upper, &lower, apart::<F>()))
    }

    /// An `.f32` as the nearest number of a format, in 32 bits.
    fn narrow_number<F: Format>(&mut self, a: &Val, satfinite: bool) -> Val {
        let bits = self.bits_of_float(a);
        let ty = bits.ty;
        let magnitude = self.pattern(ty, 0x7fff_ffff);
        let magnitude = self.binary("and", &bits, &magnitude);
        // With a leading bit: the last place that stays is rounded, and the exponent counts from elsewhere.
        let by = self.pattern(ty, 23 - F::FRACTION);
        let one = self.pattern(ty, 1);
        let last = self.binary("lshr", &magnitude, &by);
        let last = self.binary("and", &last, &one);
        let half = self.pattern(ty, (1 << (22 - F::FRACTION)) - 1);
        let up = self.binary("add", &last, &half);
        let rounded = self.binary("add", &magnitude, &up);
        let rounded = self.binary("lshr", &rounded, &by);
        let biases = self.pattern(ty, ((127 - F::BIAS) as u32) << F::FRACTION);
        let normal = self.binary("sub", &rounded, &biases);
        // Without one: the sum with a number whose last place is the format's rounds to that.
        let middle = ((1 - F::BIAS - F::FRACTION as i32 + 23 + 127) as u32) << 23;
        let middle = self.pattern(ty, middle);
        let value = self.cast("bitcast", &magnitude, Element::F32);
        let place = self.cast("bitcast", &middle, Element::F32);
        let sum = self.binary("fadd", &value, &place);
        let sum = self.bits_of_float(&sum);
        let subnormal = self.binary("sub", &sum, &middle);
        let least = self.pattern(ty, ((128 - F::BIAS) as u32) << 23);
        let small = self.compare("ult", &magnitude, &least);
        let code = self.select(&small, &subnormal, &normal);
        let most = self.pattern(ty, F::MAX);
        let over = self.compare("ugt", &code, &most);
        let beyond = match F::BEYOND {
            _ if satfinite => F::MAX,
            Beyond::Infinity(pattern) => pattern,
            Beyond::Nan => F::NAN,
            Beyond::Nothing => F::MAX,
        };
        let beyond = self.pattern(ty, beyond);
        let code = self.select(&over, &beyond, &code);
        let down = self.pattern(ty, 31 - F::SIGN);
        let sign = self.pattern(ty, 1 << 31);
        let sign = self.binary("and", &bits, &sign);
        let sign = self.binary("lshr", &sign, &down);
        let code = self.binary("or", &code, &sign);
        let (nan, canonical) = (self.compare("uno", a, a), self.pattern(ty, F::NAN));
        self.select(&nan, &canonical, &code)
    }

    fn widened_pair<F: Format>(&mut self, inst: &Inst) -> Result<Val, String> {
        let Op::Cvt { src_ty, relu, a, .. } = &inst.op else { return Err(self.lacks(inst)) };
        let pair = self.operand(*a, *src_ty);
        let pair = self.resize(&pair, 32, false);
        let by = self.constant(pair.ty, apart::<F>());
        let upper = self.binary("lshr", &pair, &by);
        let [upper, lower] = [upper, pair].map(|code| {
            let value = self.widened_number::<F>(&code);
            let value = self.bounded_below(&value, *relu);
            self.rounded_half(&value, false, Rounding::Rn, false)
        });
        Ok(self.pair(&upper, &lower, 16))
    }

    /// The low bits as a number of a format, as `.f32`.
    fn widened_number<F: Format>(&mut self, code: &Val) -> Val {
        let ty = code.ty;
        let low = self.pattern(ty, (1 << F::SIGN) - 1);
        let magnitude = self.binary("and", code, &low);
        // Exponent and fraction in the place of f32's, then scaled by the difference of the biases, which also normalises subnormal numbers.
        let by = self.pattern(ty, 23 - F::FRACTION);
        let placed = self.binary("shl", &magnitude, &by);
        let placed = self.cast("bitcast", &placed, Element::F32);
        let scale = self.single(placed.ty, i64::from(254 - F::BIAS) << 23);
        let value = self.binary("fmul", &placed, &scale);
        let value = self.bits_of_float(&value);
        let sign = self.pattern(ty, 1 << F::SIGN);
        let sign = self.binary("and", code, &sign);
        let up = self.pattern(ty, 31 - F::SIGN);
        let sign = self.binary("shl", &sign, &up);
        let value = self.binary("or", &value, &sign);
        let value = match F::BEYOND {
            Beyond::Nothing => value,
            Beyond::Infinity(_) | Beyond::Nan => {
                let most = self.pattern(ty, F::MAX);
                let over = self.compare("ugt", &magnitude, &most);
                let nan = self.pattern(ty, 0x7fff_ffff);
                self.select(&over, &nan, &value)
            }
        };
        let value = match F::BEYOND {
            Beyond::Infinity(pattern) => {
                let pattern = self.pattern(ty, pattern);
                let is = self.compare("eq", &magnitude, &pattern);
                let infinity = self.pattern(ty, 0x7f80_0000);
                let infinity = self.binary("or", &infinity, &sign);
                self.select(&is, &infinity, &value)
            }
            Beyond::Nan | Beyond::Nothing => value,
        };
        self.cast("bitcast", &value, Element::F32)
    }

    /// `.tf32`: an `.f32` whose low 13 bits are zero.
    fn rounded_tf32(&mut self, inst: &Inst) -> Result<Val, String> {
        let Op::Cvt { rnd, satfinite, relu, a, .. } = &inst.op else { return Err(self.lacks(inst)) };
        let a = self.float_operand(*a, ScalarType::F32)?;
        let a = self.bounded_below(&a, *relu);
        let bits = self.bits_of_float(&a);
        let ty = bits.ty;
        let (low, sign) = (self.pattern(ty, 0x7fff_ffff), self.pattern(ty, 1 << 31));
        let (magnitude, sign) = (self.binary("and", &bits, &low), self.binary("and", &bits, &sign));
        let infinity = self.pattern(ty, 0x7f80_0000);
        let finite = self.compare("ult", &magnitude, &infinity);
        let up = match rnd.unwrap_or(Rounding::Rn) {
            Rounding::Rna => self.pattern(ty, 0x1000),
            Rounding::Rn => {
                let (by, one, half) = (self.pattern(ty, 13), self.pattern(ty, 1), self.pattern(ty, 0xfff));
                let last = self.binary("lshr", &magnitude, &by);
                let last = self.binary("and", &last, &one);
                self.binary("add", &last, &half)
            }
            Rounding::Rz => self.pattern(ty, 0),
            _ => return Err(self.lacks(inst)),
        };
        let sum = self.binary("add", &magnitude, &up);
        let rounded = self.select(&finite, &sum, &magnitude);
        let kept = self.pattern(ty, !0x1fff);
        let mut value = self.binary("and", &rounded, &kept);
        if *satfinite {
            let over = self.compare("eq", &value, &infinity);
            let most = self.pattern(ty, Tf32::MAX << 13);
            value = self.select(&over, &most, &value);
        }
        let value = self.binary("or", &value, &sign);
        if *rnd == Some(Rounding::Rna) {
            return Ok(value);
        }
        let (nan, canonical) = (self.compare("uno", &a, &a), self.pattern(ty, Tf32::NAN << 13));
        Ok(self.select(&nan, &canonical, &value))
    }
}
