//! Integer arithmetic (PTX ISA 9.7.1), as far as it is more than the host's wrapping operators, `min`, `max`, `count_ones`,
//! `leading_zeros` and `reverse_bits`, which mean the same.

/// An integer type of PTX.
pub trait Integer: Copy + PartialEq {
    /// Width in bits.
    const BITS: u32;
    /// The high half of the product.
    fn mul_high(self, other: Self) -> Self;
    /// The quotient, rounded toward zero.
    fn div(self, other: Self) -> Self;
    /// The remainder, with the sign of the dividend.
    fn rem(self, other: Self) -> Self;
    /// The sum, clamped to the range of the type.
    fn add_sat(self, other: Self) -> Self;
    /// The difference, clamped to the range of the type.
    fn sub_sat(self, other: Self) -> Self;
    /// `c + |a - b|`
    fn sad(self, other: Self, c: Self) -> Self;
    /// How many bits lie above the most significant one that is not a sign.
    fn leading_signs(self) -> u32;
    /// Shift to the right by less than the width: arithmetic for signed types.
    fn shr(self, amount: u32) -> Self;
    /// Shift to the left by less than the width.
    fn shl(self, amount: u32) -> Self;
    /// What shifting everything out to the right leaves.
    fn fill(self) -> Self;
    /// The low bits of a value.
    fn truncate(value: u64) -> Self;
    /// Zero.
    const ZERO: Self;
}

macro_rules! integers {
    ($($ty:ty, $wide:ty, $signed:literal;)*) => {$(
        impl Integer for $ty {
            const BITS: u32 = <$ty>::BITS;
            const ZERO: Self = 0;

            #[inline(always)]
            fn mul_high(self, other: Self) -> Self {
                ((<$wide>::from(self) * <$wide>::from(other)) >> <$ty>::BITS) as $ty
            }

            #[inline(always)]
            fn div(self, other: Self) -> Self {
                // All ones for signed types too.
                if other == 0 { !0 } else { self.wrapping_div(other) }
            }

            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_rem(other) }
            }

            #[inline(always)]
            fn add_sat(self, other: Self) -> Self {
                self.saturating_add(other)
            }

            #[inline(always)]
            fn sub_sat(self, other: Self) -> Self {
                self.saturating_sub(other)
            }

            #[inline(always)]
            fn sad(self, other: Self, c: Self) -> Self {
                c.wrapping_add(self.abs_diff(other) as $ty)
            }

            #[inline(always)]
            fn leading_signs(self) -> u32 {
                (self ^ self.fill()).leading_zeros()
            }

            #[inline(always)]
            fn shr(self, amount: u32) -> Self {
                self >> amount
            }

            #[inline(always)]
            fn shl(self, amount: u32) -> Self {
                self << amount
            }

            #[inline(always)]
            fn fill(self) -> Self {
                if $signed { self >> (<$ty>::BITS - 1) } else { 0 }
            }

            #[inline(always)]
            fn truncate(value: u64) -> Self {
                value as $ty
            }
        }
    )*};
}

integers! {
    u16, u32, false;
    i16, i32, true;
    u32, u64, false;
    i32, i64, true;
    u64, u128, false;
    i64, i128, true;
}

/// `mul.hi`
#[inline(always)]
pub fn mul_high<T: Integer>(a: T, b: T) -> T {
    a.mul_high(b)
}

/// `add.sat`: in the range of its type, whatever its sign.
#[inline(always)]
pub fn add_sat<T: Integer>(a: T, b: T) -> T {
    a.add_sat(b)
}

/// `sub.sat`
#[inline(always)]
pub fn sub_sat<T: Integer>(a: T, b: T) -> T {
    a.sub_sat(b)
}

/// `mad.hi.sat.s32`: the sum saturates, the product cannot overflow.
#[inline(always)]
pub fn mad_high_sat(a: i32, b: i32, c: i32) -> i32 {
    mul_high(a, b).add_sat(c)
}

/// `div`. By zero all ones, as recorded on hardware: the manual leaves it open.
#[inline(always)]
pub fn div<T: Integer>(a: T, b: T) -> T {
    a.div(b)
}

/// `rem`. By zero all ones, as recorded on hardware: the manual leaves it open.
#[inline(always)]
pub fn rem<T: Integer>(a: T, b: T) -> T {
    a.rem(b)
}

/// `sad`
#[inline(always)]
pub fn sad<T: Integer>(a: T, b: T, c: T) -> T {
    a.sad(b, c)
}

/// `mul24.lo` and `.hi`: bits 0 to 31, or 16 to 47, of the product of the low 24 bits.
#[inline(always)]
pub fn mul24(a: u32, b: u32, signed: bool, high: bool) -> u32 {
    let low = |word: u32| if signed { i64::from((word << 8) as i32 >> 8) } else { i64::from(word & 0xff_ffff) };
    let product = low(a) * low(b);
    (if high { product >> 16 } else { product }) as u32
}

/// `mad24.hi.sat.s32`: the sum saturates.
#[inline(always)]
pub fn mad24_high_sat(a: u32, b: u32, c: i32) -> i32 {
    (mul24(a, b, true, true) as i32).add_sat(c)
}

/// `bfind`: the position of the most significant bit that is not a sign, or, with `.shiftamt`, how far it is from the top; all ones if
/// there is none.
#[inline(always)]
pub fn bfind<T: Integer>(a: T, shiftamt: bool) -> u32 {
    let above = a.leading_signs();
    let found = if shiftamt { above } else { (T::BITS - 1).wrapping_sub(above) };
    if above == T::BITS { u32::MAX } else { found }
}

/// `fns`: from position `base` the `offset`-th set bit of `mask`, upward or downward; with 0 the bit at `base` itself. All ones if there
/// is none.
#[inline(always)]
pub fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    if offset == 0 {
        return if mask >> base & 1 != 0 { base } else { u32::MAX };
    }
    // Downward is upward in the mirror.
    let mut left = if offset > 0 { mask & u32::MAX << base } else { mask.reverse_bits() & u32::MAX << (31 - base) };
    for _ in 1..offset.unsigned_abs().min(33) {
        left &= left.wrapping_sub(1);
    }
    match (left, offset > 0) {
        (0, _) => u32::MAX,
        (_, true) => left.trailing_zeros(),
        (_, false) => 31 - left.trailing_zeros(),
    }
}

/// `count` ones.
#[inline(always)]
fn ones(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// `bfe`: `length` bits of `a` from `position` on. The low 8 bits of both count, but all of them for 64-bit types, as recorded on hardware.
/// For signed types the field's sign, or that of `a` where the field passes the top, fills the rest.
#[inline(always)]
pub fn bfe<T: Integer>(a: T, position: u32, length: u32) -> T {
    let counts = if T::BITS == 64 { u32::MAX } else { 0xff };
    let (position, length) = (position & counts, length & counts);
    let shifted = if position < T::BITS { a.shr(position) } else { a.fill() };
    let unused = T::BITS - length.min(T::BITS);
    if length == 0 {
        T::ZERO
    } else if position.saturating_add(length) >= T::BITS {
        shifted
    } else {
        shifted.shl(unused).shr(unused)
    }
}

/// `bfi.b32`: the low `length` bits of `a` replace those of `b` from `position` on. The low 8 bits of both count.
#[inline(always)]
pub fn bfi32(a: u32, b: u32, position: u32, length: u32) -> u32 {
    bfi64(a.into(), b.into(), position & 0xff, length & 0xff) as u32
}

/// `bfi.b64`: as [`bfi32`], but all bits of `position` and `length` count, as recorded on hardware.
#[inline(always)]
pub fn bfi64(a: u64, b: u64, position: u32, length: u32) -> u64 {
    let field = if position < 64 { ones(length) << position } else { 0 };
    (a << (position & 63)) & field | b & !field
}

/// `szext`: the low `width` bits, extended. Above 31 the width is 32, or wraps.
#[inline(always)]
pub fn szext(a: u32, width: u32, signed: bool, wrap: bool) -> u32 {
    let width = if wrap { width & 31 } else { width.min(32) };
    let unused = 32 - width;
    let top = u64::from(a) << unused << 32;
    (if signed { (top as i64 >> 32 >> unused) as u64 } else { top >> 32 >> unused }) as u32
}

/// `bmsk`: `width` ones from `position` on. Above 31 both are 32, or wrap.
#[inline(always)]
pub fn bmsk(position: u32, width: u32, wrap: bool) -> u32 {
    let limit = |amount: u32| if wrap { amount & 31 } else { amount.min(32) };
    (ones(limit(width)) << limit(position)) as u32
}

#[inline(always)]
fn extended_byte(word: u32, index: u32, signed: bool) -> u32 {
    let byte = (word >> (8 * index)) as u8;
    if signed { byte as i8 as u32 } else { u32::from(byte) }
}

/// `dp4a`: `c` plus the products of the four bytes.
#[inline(always)]
pub fn dp4a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    (0..4).fold(c, |sum, index| {
        sum.wrapping_add(extended_byte(a, index, a_signed).wrapping_mul(extended_byte(b, index, b_signed)))
    })
}

/// `dp2a`: `c` plus the products of the two halves of `a` with the two lower, or upper, bytes of `b`.
#[inline(always)]
pub fn dp2a(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool, high: bool) -> u32 {
    let bytes = if high { b >> 16 } else { b };
    (0..2).fold(c, |sum, index| {
        let half = (a >> (16 * index)) as u16;
        let half = if a_signed { half as i16 as u32 } else { u32::from(half) };
        sum.wrapping_add(half.wrapping_mul(extended_byte(bytes, index, b_signed)))
    })
}

/// Applies `operation` to the bytes of `.u8x4` or `.s8x4` operands.
#[inline(always)]
pub fn bytes(a: u32, b: u32, operation: impl Fn(u8, u8) -> u8) -> u32 {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    u32::from_le_bytes(std::array::from_fn(|index| operation(a[index], b[index])))
}

/// The product of polynomials whose coefficients are bits, added without carries (`clmad`).
#[inline(always)]
pub fn carryless(a: u64, b: u64) -> u128 {
    (0..64).fold(0, |sum, bit| {
        let taken = u128::from(a >> bit & 1).wrapping_neg();
        sum ^ u128::from(b) << bit & taken
    })
}

/// Applies `operation` to the halves of `.u16x2` or `.s16x2` operands.
#[inline(always)]
pub fn halves(a: u32, b: u32, operation: impl Fn(u16, u16) -> u16) -> u32 {
    crate::half::pair2(a, b, operation)
}
