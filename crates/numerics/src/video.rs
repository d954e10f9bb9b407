//! Video instructions, scalar and SIMD (PTX ISA 9.7.18). Lanes of an operand are extended by the operand's type and computed without
//! loss; only then saturated, truncated, merged or accumulated.

use crate::compare::{Relation, holds};

/// A part of a 32-bit operand or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// All 32 bits.
    Word,
    /// `.b0` to `.b3`
    Byte(u8),
    /// `.h0`, `.h1`
    Half(u8),
}

impl Part {
    const fn bits(self) -> u32 {
        match self {
            Part::Word => 32,
            Part::Byte(_) => 8,
            Part::Half(_) => 16,
        }
    }

    const fn position(self) -> u32 {
        match self {
            Part::Word => 0,
            Part::Byte(index) => 8 * index as u32,
            Part::Half(index) => 16 * index as u32,
        }
    }
}

/// What a video instruction computes of two extended operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    /// `vavrg2`, `vavrg4`: half of the sum, rounded away from zero.
    Average,
    /// The amount clamps at 32, or wraps.
    Shl {
        wrap: bool,
    },
    /// As `Shl`.
    Shr {
        wrap: bool,
    },
    Set(Relation),
}

impl Kind {
    #[inline(always)]
    fn apply(self, a: i64, b: i64) -> i128 {
        let amount = |wrap: bool| if wrap { b as u32 & 31 } else { (b as u64).min(32) as u32 };
        match self {
            Kind::Add => i128::from(a + b),
            Kind::Sub => i128::from(a - b),
            Kind::AbsDiff => i128::from((a - b).abs()),
            Kind::Min => i128::from(a.min(b)),
            Kind::Max => i128::from(a.max(b)),
            Kind::Average => i128::from((a + b + i64::from(a + b >= 0)) >> 1),
            Kind::Shl { wrap } => i128::from(a) << amount(wrap),
            Kind::Shr { wrap } => i128::from(a >> amount(wrap)),
            Kind::Set(relation) => i128::from(holds(relation, a, b)),
        }
    }
}

/// What is done with the result and operand `c` of a scalar instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Second {
    None,
    Add,
    Min,
    Max,
    /// Replaces a part of `c`.
    Merge(Part),
}

/// How the operands and the result are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Types {
    pub d_signed: bool,
    pub a_signed: bool,
    pub b_signed: bool,
    /// `.sat`
    pub sat: bool,
}

/// The part of `word` that lies at `position`, extended.
#[inline(always)]
fn extend(word: u64, position: u32, bits: u32, signed: bool) -> i64 {
    let top = (word >> position) << (64 - bits);
    if signed { top as i64 >> (64 - bits) } else { (top >> (64 - bits)) as i64 }
}

#[inline(always)]
fn saturate(value: i128, bits: u32, signed: bool) -> i128 {
    let (low, high) = if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    value.clamp(low, high)
}

/// `.sat` of a scalar instruction, as recorded on hardware, where it is less than the manual promises:
/// - above `.u32` the result wraps, except for shifts, whose value has 34 bits;
/// - bytes and halves saturate the value as a 32-bit unsigned number unless both operands are signed.
#[inline(always)]
fn saturate_scalar(kind: Kind, types: Types, target: Part, exact: i128) -> i128 {
    let shifted = matches!(kind, Kind::Shl { .. } | Kind::Shr { .. });
    let value = if shifted { (exact << 94) >> 94 } else { exact };
    match target {
        Part::Word if types.d_signed || shifted => saturate(value, 32, types.d_signed),
        Part::Word => value.max(0),
        _ if types.a_signed && types.b_signed => saturate(value, target.bits(), types.d_signed),
        _ => saturate(i128::from(value as u32), target.bits(), types.d_signed),
    }
}

/// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`, `vset`.
#[inline(always)]
pub fn scalar(kind: Kind, types: Types, parts: [Part; 2], second: Second, a: u32, b: u32, c: u32) -> u32 {
    let a = extend(a.into(), parts[0].position(), parts[0].bits(), types.a_signed);
    let b = extend(b.into(), parts[1].position(), parts[1].bits(), types.b_signed);
    let target = if let Second::Merge(part) = second { part } else { Part::Word };
    let exact = kind.apply(a, b);
    let wide = if types.sat { saturate_scalar(kind, types, target, exact) } else { exact };
    let value = wide as u32;
    // A negative value lies above every unsigned `c`.
    let (unsigned, other) = (wide as u64, u64::from(c));
    match second {
        Second::None => value,
        Second::Add => c.wrapping_add(value),
        Second::Min if types.d_signed => (value as i32).min(c as i32) as u32,
        Second::Min => unsigned.min(other) as u32,
        Second::Max if types.d_signed => (value as i32).max(c as i32) as u32,
        Second::Max => unsigned.max(other) as u32,
        // The hardware does not move the value to the upper half: that half of the value itself goes there.
        Second::Merge(Part::Half(1)) => c & 0xffff | value & 0xffff_0000,
        Second::Merge(part) => {
            let mask = (u32::MAX >> (32 - part.bits())) << part.position();
            c & !mask | value << part.position() & mask
        }
    }
}

/// Modifiers of `vmad`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mad {
    /// 0, 7 or 15: the result is shifted right.
    pub shift: u32,
    /// `.po`: adds one.
    pub plus_one: bool,
    /// The product counts negative.
    pub negate_product: bool,
    /// `c` counts negative.
    pub negate_c: bool,
}

/// `vmad`, as recorded on hardware: whole words count as signed, whatever their type. The result saturates as unsigned only if all operands are
/// unsigned and none counts negative; if it is also shifted, then as a 64-bit unsigned number.
#[inline(always)]
pub fn mad(how: Mad, types: Types, parts: [Part; 2], a: u32, b: u32, c: u32) -> u32 {
    let operand = |word: u32, part: Part, signed: bool| {
        i128::from(extend(word.into(), part.position(), part.bits(), signed | (part == Part::Word)))
    };
    let product = operand(a, parts[0], types.a_signed) * operand(b, parts[1], types.b_signed);
    let product = if how.negate_product { -product } else { product };
    let c = operand(c, Part::Word, true);
    let c = if how.negate_c { -c } else { c };
    let sum = product + c + i128::from(how.plus_one);
    let signed = types.a_signed | types.b_signed | how.negate_product | how.negate_c;
    let shifted = sum >> how.shift;
    let saturated = if signed || how.shift == 0 {
        saturate(shifted, 32, signed)
    } else {
        i128::from(sum as u64 >> how.shift).min(u32::MAX.into())
    };
    (if types.sat { saturated } else { shifted }) as u32
}

/// A SIMD instruction on two halves or four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Simd {
    /// 2 or 4.
    pub lanes: u32,
    /// What is computed.
    pub kind: Kind,
    /// How lanes are read and written.
    pub types: Types,
    /// Which lane of `b:a` each lane of the first operand is, lane 0 first.
    pub a_lanes: [u8; 4],
    /// The same for the second operand.
    pub b_lanes: [u8; 4],
    /// Lanes that are written, or accumulated.
    pub mask: u8,
    /// `.add`: the lanes' results are added to `c`; else they replace lanes of `c`.
    pub accumulate: bool,
}

/// `vadd2` to `vset4`
#[inline(always)]
pub fn simd(how: &Simd, a: u32, b: u32, c: u32) -> u32 {
    let bits = 32 / how.lanes;
    let pool = u64::from(b) << 32 | u64::from(a);
    let mut merged = c;
    let mut total = c;
    for lane in 0..how.lanes {
        if how.mask >> lane & 1 == 0 {
            continue;
        }
        let x = extend(pool, u32::from(how.a_lanes[lane as usize]) * bits, bits, how.types.a_signed);
        let y = extend(pool, u32::from(how.b_lanes[lane as usize]) * bits, bits, how.types.b_signed);
        let exact = how.kind.apply(x, y);
        let value = if how.types.sat { saturate(exact, bits, how.types.d_signed) } else { exact } as u32;
        total = total.wrapping_add(value);
        let mask = (u32::MAX >> (32 - bits)) << (lane * bits);
        merged = merged & !mask | value << (lane * bits) & mask;
    }
    if how.accumulate { total } else { merged }
}
