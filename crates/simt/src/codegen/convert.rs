//! `cvt` (PTX ISA 9.7.9.21) and `cvt.pack` (9.7.9.22), as `warploom_numerics::convert` defines them; narrow formats are in `narrow`.

use warploom_ptx::ir::{Inst, Op, Operand, Rounding, ScalarType};

use super::atomic_half::halves;
use super::function::{Val, Writer};
use super::names::{Element, Ty};
use crate::range::is_integer;

/// 2^48, by which results are scaled that may have been below the normal numbers before they were rounded.
const SCALE: i64 = 0x42f0_0000_0000_0000;

/// The direction of a conversion to integral numbers.
fn integral(rnd: Option<Rounding>) -> Option<&'static str> {
    Some(match rnd? {
        Rounding::Rni => "roundeven",
        Rounding::Rzi => "trunc",
        Rounding::Rmi => "floor",
        Rounding::Rpi => "ceil",
        _ => return None,
    })
}

/// Whether it is a floating-point type of one number that arithmetic knows.
fn is_number(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F16 | ScalarType::Bf16 | ScalarType::F32 | ScalarType::F64)
}

impl Writer<'_> {
    /// Result and whether it is extended with its sign.
    pub(super) fn converted(&mut self, inst: &Inst) -> Result<(Val, bool), String> {
        let Op::Cvt { dst_ty, src_ty, rnd, ftz, sat, a, b, .. } = &inst.op else { return Err(self.lacks(inst)) };
        let (from, to, sat) = (*src_ty, *dst_ty, *sat);
        if is_integer(from) && is_integer(to) {
            let a = self.operand(*a, from);
            let (value, signed) = if sat { self.within_type(&a, from, to) } else { (a, from.is_signed()) };
            return Ok((self.resize(&value, to.bits(), signed), to.is_signed()));
        }
        if b.is_some() || !(is_integer(to) || is_number(to)) || !(is_integer(from) || is_number(from)) {
            return Ok((self.narrow_conversion(inst)?, false));
        }
        if is_integer(from) {
            let a = self.operand(*a, from);
            return Ok((self.float_of_integer(inst, &a, from)?, false));
        }
        let a = self.number_operand(*a, from)?;
        // On an `.f16` it has no effect: its subnormal numbers are none as `.f32`, and as a result they stay.
        let a = if *ftz && to != ScalarType::F16 { self.flush(&a, true) } else { a };
        if is_integer(to) {
            let name = integral(*rnd).ok_or_else(|| self.lacks(inst))?;
            let whole = self.intrinsic(name, &[&a]);
            let value = self.saturated_integer(&whole, to.bits(), to.is_signed());
            if from != ScalarType::F64 && to.bits() < 64 {
                return Ok((value, to.is_signed()));
            }
            // No number gives the top bit.
            let nan = self.compare("uno", &a, &a);
            let top = self.constant(value.ty, i64::MIN >> (64 - to.bits()));
            return Ok((self.select(&nan, &top, &value), to.is_signed()));
        }
        let (a, rnd) = match integral(*rnd) {
            Some(name) => (self.intrinsic(name, &[&a]), Rounding::Rn),
            None => (a, rnd.unwrap_or(Rounding::Rn)),
        };
        Ok((self.between_numbers(inst, &a, rnd)?, false))
    }

    /// From `.f32` or `.f64`, to which halves were widened, to a floating-point type.
    fn between_numbers(&mut self, inst: &Inst, a: &Val, rnd: Rounding) -> Result<Val, String> {
        let Op::Cvt { dst_ty, ftz, sat, satfinite, relu, .. } = &inst.op else { return Err(self.lacks(inst)) };
        let value = match (a.ty.element, dst_ty) {
            (Element::F32, ScalarType::F64) => {
                let a = self.saturate(a, *sat);
                return Ok(self.cast("fpext", &a, Element::F64));
            }
            (Element::F64, ScalarType::F32) => self.rounded_single(a, rnd, *ftz),
            (_, ScalarType::F16 | ScalarType::Bf16) => {
                let a = self.bounded_below(a, *relu);
                let a = self.saturate(&a, *sat);
                let bf = *dst_ty == ScalarType::Bf16;
                let value = self.rounded_half(&a, bf, rnd, *satfinite);
                return Ok(if a.ty.element == Element::F64 { self.with_nan_of(&value, &a, bf) } else { value });
            }
            _ => a.clone(),
        };
        Ok(self.saturate(&value, *sat))
    }

    /// A floating-point operand, a half as `.f32`.
    fn number_operand(&mut self, operand: Operand, ty: ScalarType) -> Result<Val, String> {
        let Some((1, bf)) = halves(ty) else { return self.float_operand(operand, ty) };
        let bits = self.operand(operand, ty);
        Ok(self.widened(&bits, bf))
    }

    /// Within the range of another integer type, of the wider one's bits; and whether it may be negative.
    fn within_type(&mut self, a: &Val, from: ScalarType, to: ScalarType) -> (Val, bool) {
        let signed = from.is_signed();
        let wide = self.resize(a, from.bits().max(to.bits()), signed);
        let bits = wide.ty.element.bits();
        let most = if to.is_signed() { i64::MAX >> (64 - to.bits()) } else { (u64::MAX >> (64 - to.bits())) as i64 };
        // The greatest number of the type is one of the source's.
        let bounded = if to.bits() < bits || (to.is_signed() && !signed && to.bits() == bits) {
            let most = self.constant(wide.ty, most);
            self.intrinsic(if signed { "smin" } else { "umin" }, &[&wide, &most])
        } else {
            wide
        };
        if !signed {
            return (bounded, false);
        }
        let least = if to.is_signed() { i64::MIN >> (64 - to.bits()) } else { 0 };
        let least = self.constant(bounded.ty, least);
        (self.intrinsic("smax", &[&bounded, &least]), to.is_signed())
    }

    fn float_of_integer(&mut self, inst: &Inst, a: &Val, from: ScalarType) -> Result<Val, String> {
        let Op::Cvt { dst_ty, rnd, sat, .. } = &inst.op else { return Err(self.lacks(inst)) };
        let rnd = rnd.unwrap_or(Rounding::Rn);
        let name = if from.is_signed() { "sitofp" } else { "uitofp" };
        // Numbers of 32 bits are `.f64` numbers, of which any rounding leaves the same.
        let exact = from.bits() <= 32;
        let value = match dst_ty {
            ScalarType::F32 if rnd == Rounding::Rn => self.cast(name, a, Element::F32),
            ScalarType::F64 if exact || rnd == Rounding::Rn => self.cast(name, a, Element::F64),
            ScalarType::F32 | ScalarType::F16 | ScalarType::Bf16 => {
                let value = if exact { self.cast(name, a, Element::F64) } else { self.double_of(a, from.is_signed()) };
                if *dst_ty != ScalarType::F32 {
                    let value = self.saturate(&value, *sat);
                    return Ok(self.rounded_half(&value, *dst_ty == ScalarType::Bf16, rnd, false));
                }
                self.rounded_single(&value, rnd, false)
            }
            _ => return Err(self.lacks(inst)),
        };
        Ok(self.saturate(&value, *sat))
    }

    /// An integer of 64 bits as an `.f64` that can be rounded once more: what it has no place for is one bit of its last ones.
    fn double_of(&mut self, a: &Val, signed: bool) -> Val {
        let zero = self.constant(a.ty, 0);
        let negative = self.compare("slt", a, &zero);
        let opposite = self.binary("sub", &zero, a);
        let magnitude = if signed { self.select(&negative, &opposite, a) } else { a.clone() };
        let (low, place, large) =
            (self.constant(a.ty, 0x7ff), self.constant(a.ty, 0x800), self.constant(a.ty, 1 << 53));
        let rest = self.binary("and", &magnitude, &low);
        let high = self.binary("xor", &magnitude, &rest);
        let exact = self.compare("eq", &rest, &zero);
        let sticky = self.select(&exact, &zero, &place);
        let high = self.binary("or", &high, &sticky);
        let fits = self.compare("ult", &magnitude, &large);
        let kept = self.select(&fits, &magnitude, &high);
        let value = self.cast("uitofp", &kept, Element::F64);
        if !signed {
            return value;
        }
        let minus = self.set(value.ty, format!("fneg {} {}", value.ty.text(), value.text));
        self.select(&negative, &minus, &value)
    }

    /// An `.f64` as `.f32`.
    fn rounded_single(&mut self, a: &Val, rnd: Rounding, ftz: bool) -> Val {
        let rounded = |this: &mut Self, a: &Val| {
            let (single, lost) = this.single_and_loss(a);
            let bits = this.bits_of_float(&single);
            let bits = this.turned(&bits, &lost, rnd);
            this.cast("bitcast", &bits, Element::F32)
        };
        let value = rounded(self, a);
        if !ftz {
            return value;
        }
        let scale = self.constant(a.ty, SCALE);
        let scaled = self.binary("fmul", a, &scale);
        let scaled = rounded(self, &scaled);
        self.flush_tiny(&value, &scaled)
    }

    /// An `.f32` or `.f64` as a half.
    pub(super) fn rounded_half(&mut self, a: &Val, bf: bool, rnd: Rounding, satfinite: bool) -> Val {
        let a = if a.ty.element == Element::F64 { self.odd_single(a) } else { a.clone() };
        let mut value = self.narrowed(&a, bf);
        if rnd != Rounding::Rn {
            let back = self.widened(&value, bf);
            let lost = self.binary("fsub", &a, &back);
            value = self.turned(&value, &lost, rnd);
        }
        if satfinite {
            let infinity = if bf { 0x7f80 } else { 0x7c00 };
            let (magnitude, infinity) = (self.constant(value.ty, 0x7fff), self.constant(value.ty, infinity));
            let magnitude = self.binary("and", &value, &magnitude);
            let over = self.compare("eq", &magnitude, &infinity);
            let one = self.constant(value.ty, 1);
            // The greatest number stands before infinity.
            let most = self.binary("sub", &value, &one);
            value = self.select(&over, &most, &value);
        }
        value
    }

    /// A half that an `.f64` became, NaN with the sign and the top of the payload of the one that it was.
    fn with_nan_of(&mut self, value: &Val, a: &Val, bf: bool) -> Val {
        let (fraction, infinity) = if bf { (7, 0x7f80) } else { (10, 0x7c00) };
        let bits = self.bits_of_float(a);
        let (by, top) = (self.constant(bits.ty, 52 - fraction), self.constant(bits.ty, 48));
        let (payload, sign) = (self.binary("lshr", &bits, &by), self.binary("lshr", &bits, &top));
        let (payload, sign) = (self.resize(&payload, 16, false), self.resize(&sign, 16, false));
        let ty = value.ty;
        let (low, high) = (self.constant(ty, (1 << fraction) - 1), self.constant(ty, 0x8000));
        let (payload, sign) = (self.binary("and", &payload, &low), self.binary("and", &sign, &high));
        let quiet = self.constant(ty, infinity | 1 << (fraction - 1));
        let nan = self.binary("or", &payload, &sign);
        let nan = self.binary("or", &nan, &quiet);
        let is = self.compare("uno", a, a);
        self.select(&is, &nan, value)
    }

    /// Zero for what is not above it, where `relu` asks for it.
    pub(super) fn bounded_below(&mut self, a: &Val, relu: bool) -> Val {
        if !relu {
            return a.clone();
        }
        let zero = self.constant(a.ty, 0);
        let below = self.compare("ole", a, &zero);
        self.select(&below, &zero, a)
    }

    /// `cvt.pack`
    pub(super) fn packed(&mut self, ty: ScalarType, [a, b]: [Operand; 2], c: Option<Operand>) -> Val {
        let word = ScalarType::B32;
        let (a, b) = (self.operand(a, word), self.operand(b, word));
        let c = self.operand(c.unwrap_or(Operand::Imm(0)), word);
        let (a, b, c) = self.alike3(a, b, c);
        let bits = i64::from(ty.bits());
        let (least, most) =
            if ty.is_signed() { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        let (least, most) = (self.constant(a.ty, least), self.constant(a.ty, most));
        let mask = self.constant(a.ty, (1 << bits) - 1);
        let mut element = |value: &Val| {
            let value = self.intrinsic("smax", &[value, &least]);
            let value = self.intrinsic("smin", &[&value, &most]);
            self.binary("and", &value, &mask)
        };
        let (a, b) = (element(&a), element(&b));
        let by = self.constant(a.ty, bits);
        let a = self.binary("shl", &a, &by);
        let both = self.binary("or", &a, &b);
        if bits == 16 {
            return both;
        }
        let by = self.constant(c.ty, 2 * bits);
        let rest = self.binary("shl", &c, &by);
        self.binary("or", &rest, &both)
    }

    /// An `.f16`'s bits as an `.f32`.
    pub(super) fn widened_half(&mut self, a: &Val) -> Val {
        let half = self.cast("bitcast", a, Element::F16);
        let wide = self.cast("fpext", &half, Element::F32);
        // Without it LLVM makes comparisons of these comparisons of halves: lane by lane, where the processor has none, and where it has, LLVM 19 exchanges the
        // operands of masked ones (`vcmpph`) that come from the stack, and not the relation.
        self.intrinsic("arithmetic.fence", &[&wide])
    }

    /// An `.f32` as the bits of the nearest `.f16`.
    pub(super) fn narrowed_half(&mut self, a: &Val) -> Val {
        let half = self.cast("fptrunc", a, Element::F16);
        let bits = self.bits_of_float(&half);
        // Of the halves, which are in half as many registers.
        let (nan, canonical) = (self.is_half_nan(&bits, false), self.constant(bits.ty, 0x7fff));
        self.select(&nan, &canonical, &bits)
    }

    /// A word that is the same in all lanes.
    pub(super) fn pattern(&self, like: Ty, bits: u32) -> Val {
        self.constant(like.with(Element::Int(32)), i64::from(bits))
    }
}
